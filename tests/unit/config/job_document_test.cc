// What a job document's members become, and which are refused.
#include "runtime/config/job_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kWhole[] = R"({
  "properties": "executes=x\ntony.worker.instances=3\nmain.args=-conf a=b\n",
  "spec": {"name": "base", "conf": {"tony.ps.memory": "1g"}, "tasks": {"ps": {"completion": "tracked"}}},
  "name": "n", "framework": "jax", "queue": "q", "executes": "train.py", "task_params": "--lr 1", "src_dir": "src",
  "python_venv": "venv.zip", "python_binary_path": "bin/python", "tags": ["a", "b"], "resources": ["x::y", "z#archive"],
  "env": {"LR": 1e-05, "ON": true, "NO": null, "TEXT": "\u00e4\ud83d\ude00"}, "conf": {"tony.am.memory": "1g"},
  "tasks": {"worker": {"instances": 2, "memory": 4096, "vcores": "2", "gpus": 0, "max_instances": 4, "command": "c",
            "resources": ["f"], "max_restarts": 5, "min_failed": 2, "restart_scope": "task", "completion": "untracked"}, "none": null}
})";

// The key's last value among those that the document's members set.
std::string Set(const SubmitFlags& flags, const std::string& key) {
  std::string found = "not set";
  for (const auto& setting : flags.conf) {
    if (setting.key == key) found = StrCat(setting.property.value, " from ", setting.property.origin);
  }
  return found;
}

std::string Text(const Property& property) { return StrCat(property.value, " from ", property.origin); }

std::string ErrorOf(const std::string& text) {
  const auto document = ReadJobDocument(text, "doc");
  if (document.ok()) return "accepted";
  EXPECT_EQ(document.error().code, ErrorCode::kInvalid) << text;
  EXPECT_EQ(document.error().message.find_first_of("\n\r"), std::string::npos) << document.error().message;
  return document.error().message;
}

TEST(JobDocumentTest, EveryMemberBecomesAKeyOrAFlagThatSaysWhereItIsFrom) {
  const auto document = ReadJobDocument(kWhole, "doc");
  ASSERT_TRUE(document.ok()) << document.error().message;
  const SubmitFlags& flags = document->members;
  EXPECT_EQ(Set(flags, "tony.application.name"), "n from name");
  EXPECT_EQ(Set(flags, "tony.application.framework"), "jax from framework");
  EXPECT_EQ(Set(flags, "tony.yarn.queue"), "q from queue");
  EXPECT_EQ(Set(flags, "tony.application.tags"), "a,b from tags");
  EXPECT_EQ(Set(flags, "tony.containers.resources"), "x::y,z#archive from resources");
  EXPECT_EQ(Set(flags, "tony.worker.instances"), "2 from tasks.worker.instances");
  EXPECT_EQ(Set(flags, "tony.worker.memory"), "4096 from tasks.worker.memory");
  EXPECT_EQ(Set(flags, "tony.worker.vcores"), "2 from tasks.worker.vcores");
  EXPECT_EQ(Set(flags, "tony.worker.gpus"), "0 from tasks.worker.gpus");
  EXPECT_EQ(Set(flags, "tony.worker.max-instances"), "4 from tasks.worker.max_instances");
  EXPECT_EQ(Set(flags, "tony.worker.command"), "c from tasks.worker.command");
  EXPECT_EQ(Set(flags, "tony.worker.resources"), "f from tasks.worker.resources");
  EXPECT_EQ(Set(flags, "tony.worker.restart.budget"), "5 from tasks.worker.max_restarts");
  EXPECT_EQ(Set(flags, "tony.worker.min-failed"), "2 from tasks.worker.min_failed");
  EXPECT_EQ(Set(flags, "tony.worker.restart.scope"), "task from tasks.worker.restart_scope");
  EXPECT_EQ(Set(flags, "tony.am.memory"), "1g from conf");
  EXPECT_EQ(Text(flags.executes), "train.py from executes");
  EXPECT_EQ(Text(flags.task_params), "--lr 1 from task_params");
  EXPECT_EQ(Text(flags.src_dir), "src from src_dir");
  EXPECT_EQ(Text(flags.python_venv), "venv.zip from python_venv");
  EXPECT_EQ(Text(flags.python_binary_path), "bin/python from python_binary_path");
  EXPECT_EQ(flags.shell_env.size(), 3u);
  EXPECT_EQ(Text(flags.shell_env.at("LR")), "1e-05 from env.LR");
  EXPECT_EQ(Text(flags.shell_env.at("ON")), "true from env.ON");
  EXPECT_EQ(flags.shell_env.at("TEXT").value, "\xC3\xA4\xF0\x9F\x98\x80");
  EXPECT_EQ(Text(*document->base.Find("tony.application.name")), "base from spec.name");
  EXPECT_EQ(Text(*document->base.Find("tony.ps.memory")), "1g from spec.conf");
  EXPECT_EQ(Text(*document->properties.Find("tony.worker.instances")), "3 from properties:2");
}

TEST(JobDocumentTest, PropertiesAreAJobFilesTextAHadoopXmlOrAnObject) {
  const auto xml = ReadJobDocument(
      R"({"properties": "\ufeff \n<configuration><property><name>a</name><value>1</value></property></configuration>"})",
      "doc");
  ASSERT_TRUE(xml.ok()) << xml.error().message;
  EXPECT_FALSE(xml->has_step_properties);
  EXPECT_EQ(Text(*xml->properties.Find("a")), "1 from properties:2");
  const auto object = ReadJobDocument(R"({"properties": {"executes": "x", "n": 7, "none": null}})", "doc");
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_TRUE(object->has_step_properties);
  EXPECT_EQ(Text(*object->properties.Find("executes")), "x from properties");
  EXPECT_EQ(Text(*object->properties.Find("n")), "7 from properties");
  EXPECT_EQ(object->properties.Find("none"), nullptr);
  EXPECT_EQ(ErrorOf(R"({"properties": ["a=1"]})"),
            "doc: properties: expected a text or an object KEY: value, not a list");
  EXPECT_EQ(ErrorOf(R"({"properties": "a=1\nb=\\uD800"})"),
            "doc: properties:2: half of a surrogate pair in \\u escapes");
  EXPECT_EQ(ErrorOf(R"({"properties": "a=1\n\u0000"})"), "doc: properties:2: a NUL character");
  EXPECT_THAT(ErrorOf(R"({"properties": "<a>"})"), StartsWith("doc: properties:1: malformed XML"));
}

TEST(JobDocumentTest, NullIsNotGiven) {
  EXPECT_EQ(ErrorOf(R"({"properties": null, "spec": null, "name": null, "executes": null, "tags": null, "env": null,
      "conf": null, "tasks": null})"),
            "accepted");
  EXPECT_EQ(ErrorOf(R"({"tasks": {"worker": {"instances": null, "completion": null, "resources": null}}})"),
            "accepted");
  EXPECT_EQ(ErrorOf(R"({"tags": [null]})"), "doc: tags[0]: expected a text, a number, true or false, not null");
}

TEST(JobDocumentTest, ANumberIsTheTextThatItIsWrittenAs) {
  for (const char* number : {"0", "-0", "1.50", "1e3", "1E+3", "0.1e-7", "9223372036854775808",
                             "123456789012345678901234567890.12345678901234567890e5"}) {
    const auto alone = ReadJobDocument(StrCat(R"({"env": {"N": )", number, "}}"), "doc");
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    EXPECT_EQ(alone->members.shell_env.at("N").value, number);
  }
}

TEST(JobDocumentTest, WhatIsNoJsonIsRefusedWithItsPlace) {
  EXPECT_EQ(ErrorOf("{\n \"name\": nope}"), "doc:2: not JSON: syntax error, at byte 10 of the line");
  EXPECT_EQ(ErrorOf("{\"name\": \"a\""), "doc:1: not JSON: incomplete JSON, at byte 13 of the line");
  EXPECT_THAT(ErrorOf("{} {}"), StartsWith("doc:1: not JSON: "));
  EXPECT_THAT(ErrorOf("{\"name\": NaN}"), StartsWith("doc:1: not JSON: "));
  EXPECT_THAT(ErrorOf("{\"name\": 'a'}"), StartsWith("doc:1: not JSON: "));
  EXPECT_THAT(ErrorOf("{\"name\": \"a\",}"), StartsWith("doc:1: not JSON: "));
  EXPECT_THAT(ErrorOf("{/**/}"), StartsWith("doc:1: not JSON: "));
  EXPECT_THAT(ErrorOf("{\"name\": \"\\ud800\"}"), StartsWith("doc:1: not JSON: "));
  EXPECT_EQ(ErrorOf("{\n\"name\": \"\xFF\"}"), "doc:2: not valid UTF-8");
  EXPECT_EQ(ErrorOf(std::string("{}\0", 3)), "doc:1: a NUL character");
  EXPECT_EQ(ErrorOf("\xEF\xBB\xBF{}"), "accepted") << "an editor's byte order mark";
  EXPECT_EQ(ErrorOf("[]"), "doc: expected an object, not a list");
  EXPECT_EQ(ErrorOf("null"), "doc: expected an object, not null");
}

TEST(JobDocumentTest, AMemberThatIsThereTwiceIsRefused) {
  EXPECT_EQ(ErrorOf("{\"name\": 1,\n \"name\": 2}"), "doc:2: member \"name\" twice, at byte 7 of the line");
  EXPECT_THAT(ErrorOf(R"({"env": {"A": 1, "\u0041": 2}})"), HasSubstr("member \"A\" twice"));
  EXPECT_EQ(ErrorOf(R"({"spec": {"name": 1}, "name": 2})"), "accepted") << "another object";
}

TEST(JobDocumentTest, DepthAndNumberOfValuesAreBounded) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"tags\":[";
  EXPECT_THAT(ErrorOf(deep), StartsWith("doc:1: nested more than 8 deep"));
  std::string wide = "{\"tags\":[1";
  for (int i = 0; i < 20'000; ++i) wide += ",1";
  EXPECT_THAT(ErrorOf(wide + "]}"), StartsWith("doc:1: more than 20000 values"));
}

TEST(JobDocumentTest, AnUnknownMemberIsNamedWithThoseThatAreKnown) {
  EXPECT_EQ(ErrorOf(R"({"nmae": 1})"),
            "doc: unknown member \"nmae\"; known: conf, env, executes, framework, name, properties, "
            "python_binary_path, python_venv, queue, resources, secrets, spec, src_dir, tags, task_params, tasks");
  EXPECT_EQ(ErrorOf(R"({"spec": {"spec": {}}})"),
            "doc: unknown member \"spec\" of spec; known: conf, env, executes, framework, name, python_binary_path, "
            "python_venv, queue, resources, src_dir, tags, task_params, tasks");
  EXPECT_THAT(ErrorOf(R"({"spec": {"properties": ""}})"), HasSubstr("unknown member \"properties\" of spec"));
  EXPECT_EQ(ErrorOf(R"({"spec": {"tasks": {"worker": {"memroy": null}}}})"),
            "doc: unknown member \"memroy\" of spec.tasks.worker; known: command, completion, gpus, instances, "
            "max_instances, max_restarts, memory, min_failed, min_succeeded, resources, restart_scope, vcores");
}

TEST(JobDocumentTest, AValueOfAnotherKindIsNamedByItsMember) {
  EXPECT_EQ(ErrorOf(R"({"name": {}})"), "doc: name: expected a text, a number, true or false, not an object");
  EXPECT_EQ(ErrorOf(R"({"tags": "a"})"), "doc: tags: expected a list of texts, not a text");
  EXPECT_EQ(ErrorOf(R"({"tags": ["a", {}]})"), "doc: tags[1]: expected a text, a number, true or false, not an object");
  EXPECT_EQ(ErrorOf(R"({"resources": ["a,b"]})"), "doc: resources[0]: \"a,b\": expected a text without a comma");
  EXPECT_EQ(ErrorOf(R"({"env": [1]})"), "doc: env: expected an object NAME: value, not a list");
  EXPECT_EQ(ErrorOf(R"({"spec": 7})"), "doc: spec: expected an object, not a number");
  EXPECT_EQ(ErrorOf(R"({"tasks": true})"), "doc: tasks: expected an object ROLE: {...}, not true or false");
  EXPECT_EQ(ErrorOf(R"({"tasks": {"worker": 2}})"), "doc: tasks.worker: expected an object, not a number");
  EXPECT_EQ(ErrorOf(R"({"tasks": {"worker": {"memory": []}}})"),
            "doc: tasks.worker.memory: expected a text, a number, true or false, not a list");
  EXPECT_EQ(ErrorOf(R"({"tasks": {"worker": {"completion": "maybe\n"}}})"),
            "doc: tasks.worker.completion: \"maybe?\": expected tracked, untracked or sidecar");
  EXPECT_EQ(ErrorOf(R"({"name": "\u0000"})"), "doc: name: expected a text without a NUL character");
}

TEST(JobDocumentTest, RolesAndNamesOfAnotherFormAreRefused) {
  EXPECT_EQ(ErrorOf(R"({"tasks": {"Worker": {}}})"),
            "doc: tasks: \"Worker\": a role's name has lower-case letters only");
  for (const char* name : {"worker-1", "worker.x", "w\\u00f6rker", "a b"})
    EXPECT_THAT(ErrorOf(StrCat(R"({"tasks": {")", name, R"(": {}}})")), HasSubstr("lower-case letters only"));
  EXPECT_EQ(ErrorOf(R"({"tasks": {"am": {}}})"),
            "doc: tasks: \"am\" cannot be a role: tony.am.* keys mean something else");
  EXPECT_EQ(ErrorOf(R"({"tasks": {"": {}}})"), "doc: tasks.\"\": expected a name, without control characters");
  EXPECT_EQ(ErrorOf(R"({"conf": {"": 1}})"), "doc: conf.\"\": expected a name, without control characters");
  EXPECT_EQ(ErrorOf(R"({"env": {"A\nB": 1}})"), "doc: env.\"A?B\": expected a name, without control characters");
  EXPECT_EQ(ErrorOf(R"({"\u0000": 1})"), "doc: \"?\": expected a name, without control characters");
}

TEST(JobDocumentTest, NoMessageHoldsAVariablesValueOrAKeys) {
  for (const char* text :
       {R"({"env": "DB_PASSWORD=hush"})", R"({"env": {"API_TOKEN": ["hush"]}})",
        R"({"env": {"API_TOKEN": "hush\u0000"}})", R"({"conf": {"tony.keytab.password": {"a": "hush"}}})",
        R"({"properties": {"worker_env.KEY": ["hush"]}})", R"({"properties": [["hush"]]})", R"({"spec": "hush"})",
        R"({"env": {"SECRET": "hush"}, "env": {}})"}) {
    EXPECT_THAT(ErrorOf(text), Not(HasSubstr("hush"))) << text;
    EXPECT_THAT(ErrorOf(text), StartsWith("doc:")) << text;
  }
}

TEST(JobDocumentTest, AMutatedDocumentIsReadOrRefusedInOneLine) {
  std::mt19937 random(20261121);
  const auto below = [&random](size_t n) { return n == 0 ? 0 : random() % n; };
  const std::vector<std::string> pieces = {"{",    "}",     "[",     "]",       ":",    ",",         "\"",   "null",
                                           "true", "1e999", "\\u00", "\\ud83d", "\xFF", "\"spec\":", "-1.5", "\n"};
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = kWhole;
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      const size_t at = below(text.size());
      switch (below(6)) {
        case 0:
          if (!text.empty()) text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, below(20));
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), below(40)));
          break;
        case 3:
          text.insert(at, pieces[below(pieces.size())]);
          break;
        case 4:
          if (!text.empty()) text[at] = static_cast<char>('a' + below(26));
          break;
        default:
          if (below(4) == 0) text.resize(at);
      }
    }
    const std::string error = ErrorOf(text);
    EXPECT_TRUE(IsUtf8(error));
    if (error == "accepted") {
      ++accepted;
    } else {
      EXPECT_THAT(error, StartsWith("doc:"));
    }
  }
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 2500);
}

}  // namespace
}  // namespace tony
