// Fuzzes descriptions of a job: a job document in JSON or YAML, properties as a person or Azkaban writes them, a
// tony.xml, and main.args. The first byte chooses the kind.
#include "runtime/config/job_document.h"
#include "runtime/config/properties.h"
#include "runtime/config/submit_flags.h"
#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {
namespace {

void Expand(const Result<Properties>& properties) {
  if (!properties.ok()) return;
  (void)ExpandVariables(*properties);
  (void)FlagsOfJobFile(*properties, "/nonexistent");
}

}  // namespace

void Read(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  switch (input.front()) {
    case 'd':
      (void)ReadJobDocument(text, "job.json");
      break;
    case 'y':
      (void)ReadJobDocument(text, "job.yaml", DocumentFormat::kYaml);
      break;
    case 'p':
      Expand(ParseJavaProperties(text, "job.properties"));
      break;
    case 's':
      Expand(ParseStepProperties(text, "step"));
      break;
    case 'x':
      Expand(ParseHadoopXml(text, "tony.xml"));
      break;
    case 'm':
      (void)ParseMainArgs({std::string(text), "main.args"});
      break;
    default:
      break;
  }
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = {
      R"(d{"name":"n","framework":"tensorflow","env":{"A":"b"},"tags":["t"],"conf":{"tony.worker.memory":"2g"},)"
      R"("tasks":{"worker":{"instances":2}},"spec":{"executes":"true"},"properties":"tony.ps.instances=1"})",
      "y---\nname: 'n'\ntags: [t, !!str 1]\nenv: &e {A: \"b\"}\ntasks:\n  worker: {instances: 2}\nspec:\n  env: *e\n"
      "  executes: >-\n    a\n    b\n",
      "m-src_dir src --executes 'a b' -conf=tony.worker.instances=2 -shell_env \"A=b c\"",
      "x<?xml version=\"1.0\"?><configuration><property><name>a</name><value>${b}</value><final>true</final>"
      "</property><property><name>b</name><value>c</value></property></configuration>"};
  for (const std::string& file : FilesOf("tests/corpus", ".properties")) {
    seeds.push_back("p" + file);
    seeds.push_back("s" + file);
  }
  for (const std::string& file : FilesOf("tests/corpus", ".xml")) seeds.push_back("x" + file);
  return seeds;
}

}  // namespace tony::fuzz
