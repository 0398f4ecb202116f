// Fuzzes the specification of a job: a person's properties through the one parser, the lists of files, and the spec's
// JSON, which executors and the next master read. The first byte chooses the kind. A spec is written and read again
// with the same result.
#include "runtime/framework/framework.h"
#include "runtime/spec/job_spec_parser.h"
#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {
namespace {

void CheckRewritten(const JobSpec& spec) {
  const std::string text = ToJson(spec);
  const auto again = JobSpecFromJson(text);
  CHECK(again.ok() && ToJson(*again) == text);
}

void Parse(const Properties& properties) {
  const auto parsed = ParseJobSpec(properties, "/nonexistent");
  if (!parsed.ok()) return CHECK(!parsed.error().message.empty());
  CHECK(parsed->spec.TrackedTasks() > 0);
  CheckRewritten(parsed->spec);
  (void)ScopeWarnings(parsed->spec);
  (void)CheckEnvironment(parsed->spec, parsed->secrets);
  if (!CheckFramework(parsed->spec).ok()) return;
  for (const RoleSpec& role : parsed->spec.roles) (void)PortNames(parsed->spec, {role.name, 0});
}

Properties WithFiles(std::string_view list) {
  Properties properties;
  properties.Set("tony.worker.instances", "1", "job.properties");
  properties.Set("tony.worker.command", "true", "job.properties");
  properties.Set("tony.scheduler", "yarn", "job.properties");  // YARN accepts hdfs:// paths
  for (const char* key : {"tony.containers.resources", "tony.worker.resources", "tony.src-dir"})
    properties.Set(key, std::string(list), "job.properties");
  return properties;
}

}  // namespace

void Read(std::string_view input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  if (input.front() == 'j') {
    const auto spec = JobSpecFromJson(text);
    if (spec.ok()) CheckRewritten(*spec);
  } else if (input.front() == 'f') {
    Parse(WithFiles(text));
  } else if (const auto properties = ParseJavaProperties(text, "job.properties"); properties.ok()) {
    const auto expanded = ExpandVariables(*properties);
    if (expanded.ok()) Parse(*expanded);
  }
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = {"f/bin/sh::shell,/usr/share#archive",
                                    "f/etc/passwd,hdfs://n:9000/a/b.zip::c#archive",
                                    "f/bin/sh::a/b,file:///bin/sh,hdfs:///x"};
  for (const std::string& file : FilesOf("tests/corpus", ".properties")) {
    seeds.push_back("p" + file);
    const auto properties = ParseJavaProperties(file, "job.properties");
    const auto parsed = properties.ok() ? ParseJobSpec(*properties, "/nonexistent") : properties.error();
    if (parsed.ok()) seeds.push_back("j" + ToJson(parsed->spec));
  }
  return seeds;
}

}  // namespace tony::fuzz
