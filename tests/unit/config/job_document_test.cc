// The keys that a job document's members set, the members that are refused, and the YAML that is read as JSON.
#include "runtime/config/job_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/base/strings.h"
#include "tests/support/mutated_text.h"
#include "tests/support/table_test.h"

namespace tony {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kWhole[] = R"({
  "properties": "executes=x\ntony.worker.instances=3\nmain.args=-conf a=b\n",
  "spec": {"name": "base", "conf": {"tony.ps.memory": "1g"}, "tasks": {"ps": {"completion": "tracked"}}},
  "name": "n", "framework": "jax", "queue": "q", "executes": "train.py", "task_params": "--lr 1", "src_dir": "src",
  "python_venv": "venv.zip", "python_binary_path": "bin/python", "tags": ["a", "b"], "resources": ["x::y", "z#archive"],
  "container": "train:1", "mounts": ["/a:/b", "/c:/d:ro"],
  "env": {"LR": 1e-05, "ON": true, "NO": null, "TEXT": "\u00e4\ud83d\ude00"}, "conf": {"tony.am.memory": "1g"},
  "tasks": {"worker": {"instances": 2, "memory": 4096, "vcores": "2", "gpus": 0, "max_instances": 4, "command": "c", "container": "own:1",
            "resources": ["f"], "max_restarts": 5, "min_failed": 2, "restart_scope": "task", "completion": "untracked"}, "none": null}
})";

// Returns the last value of the key among those that the document's members set.
std::string SetBy(const SubmitFlags& flags, const std::string& key) {
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

TEST(JobDocumentTest, TheOriginOfAKeyOrFlagNamesTheDocumentMemberThatSetsTheValue) {
  const auto document = ReadJobDocument(kWhole, "doc");
  ASSERT_TRUE(document.ok()) << document.error().message;
  const SubmitFlags& flags = document->members;
  for (const auto& [key, expected] :
       std::map<std::string, std::string>{{"tony.application.name", "n from name"},
                                          {"tony.application.framework", "jax from framework"},
                                          {"tony.yarn.queue", "q from queue"},
                                          {"tony.application.tags", "a,b from tags"},
                                          {"tony.containers.resources", "x::y,z#archive from resources"},
                                          {"tony.worker.instances", "2 from tasks.worker.instances"},
                                          {"tony.worker.memory", "4096 from tasks.worker.memory"},
                                          {"tony.worker.vcores", "2 from tasks.worker.vcores"},
                                          {"tony.worker.gpus", "0 from tasks.worker.gpus"},
                                          {"tony.worker.max-instances", "4 from tasks.worker.max_instances"},
                                          {"tony.worker.command", "c from tasks.worker.command"},
                                          {"tony.worker.resources", "f from tasks.worker.resources"},
                                          {"tony.worker.image", "own:1 from tasks.worker.container"},
                                          {"tony.containers.image", "train:1 from container"},
                                          {"tony.containers.mounts", "/a:/b,/c:/d:ro from mounts"},
                                          {"tony.worker.restart.budget", "5 from tasks.worker.max_restarts"},
                                          {"tony.worker.min-failed", "2 from tasks.worker.min_failed"},
                                          {"tony.worker.restart.scope", "task from tasks.worker.restart_scope"},
                                          {"tony.am.memory", "1g from conf"}})
    EXPECT_EQ(SetBy(flags, key), expected) << key;
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

TEST(JobDocumentTest, ThePropertiesMemberMayContainHadoopXmlOrAJsonObject) {
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
}

TEST(JobDocumentTest, ANumberInTheEnvironmentKeepsItsOriginalText) {
  for (const char* number : {"0", "-0", "1.50", "1e3", "1E+3", "0.1e-7", "9223372036854775808",
                             "123456789012345678901234567890.12345678901234567890e5"}) {
    const auto alone = ReadJobDocument(StrCat(R"({"env": {"N": )", number, "}}"), "doc");
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    EXPECT_EQ(alone->members.shell_env.at("N").value, number);
  }
}

std::string Repeated(int times, const std::string& text) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

const std::string kText = "expected a text, a number, true or false, not ";
const std::string kMembersOfSpec =
    "conf, container, env, executes, framework, mounts, name, python_binary_path, python_venv, queue, resources, "
    "src_dir, sweep, "
    "tags, task_params, tasks";

const TestRow kDocumentErrors[] = {
    {"AMalformedPropertiesMemberIsRefused",
     {{R"({"properties": ["a=1"]})", "doc: properties: expected a text or an object {KEY: value, ...}, not a list"},
      {R"({"properties": "a=1\nb=\\uD800"})", "doc: properties:2: half of a surrogate pair in \\u escapes"},
      {R"({"properties": "a=1\n\u0000"})", "doc: properties:2: the text contains a NUL character"},
      {R"({"properties": "<a>"})", "^doc: properties:1: malformed XML"}}},
    {"ANullMemberIsTreatedAsMissing",
     {{R"({"properties": null, "spec": null, "name": null, "executes": null, "tags": null, "env": null, "conf": null,
           "tasks": null})",
       "accepted"},
      {R"({"tasks": {"worker": {"instances": null, "completion": null, "resources": null}}})", "accepted"},
      {R"({"tags": [null]})", "doc: tags[0]: " + kText + "null"}}},
    {"InvalidJsonIsRefusedWithItsLineAndByte",
     {{"{\n \"name\": nope}", "doc:2: not JSON: syntax error, at byte 10 of the line"},
      {"{\"name\": \"a\"", "doc:1: not JSON: incomplete JSON, at byte 13 of the line"},
      {"{} {}", "^doc:1: not JSON: "},
      {"{\"name\": NaN}", "^doc:1: not JSON: "},
      {"{\"name\": 'a'}", "^doc:1: not JSON: "},
      {"{\"name\": \"a\",}", "^doc:1: not JSON: "},
      {"{/**/}", "^doc:1: not JSON: "},
      {"{\"name\": \"\\ud800\"}", "^doc:1: not JSON: "},
      {"{\n\"name\": \"\xFF\"}", "doc:2: not valid UTF-8"},
      {"{}\0"s, "doc:1: the text contains a NUL character"},
      {"\xEF\xBB\xBF{}", "accepted"},  // an editor's byte order mark
      {"[]", "doc: expected an object, not a list"},
      {"null", "doc: expected an object, not null"}}},
    {"ADuplicateMemberIsRefused",
     {{"{\"name\": 1,\n \"name\": 2}", "doc:2: member \"name\" occurs twice, at byte 7 of the line"},
      {R"({"env": {"A": 1, "\u0041": 2}})", "~member \"A\" occurs twice"},
      // Equal names in different objects are allowed.
      {R"({"spec": {"name": 1}, "name": 2})", "accepted"}}},
    {"AJsonDocumentDeeperThan8LevelsOrWithOver20000ValuesIsRefused",
     {{Repeated(100'000, "{\"tags\":["), "^doc:1: nested deeper than 8 levels"},
      {"{\"tags\":[1" + Repeated(20'000, ",1") + "]}", "^doc:1: the document has more than 20000 values"}}},
    {"AnUnknownMemberIsReportedWithTheListOfKnownMembers",
     {{R"({"nmae": 1})",
       "doc: unknown member \"nmae\"; known: conf, container, env, executes, framework, mounts, name, properties, "
       "python_binary_path, python_venv, queue, resources, secrets, spec, src_dir, sweep, tags, task_params, tasks"},
      {R"({"spec": {"spec": {}}})", "doc: unknown member \"spec\" of spec; known: " + kMembersOfSpec},
      {R"({"spec": {"properties": ""}})", "~unknown member \"properties\" of spec"},
      {R"({"spec": {"tasks": {"worker": {"memroy": null}}}})",
       "doc: unknown member \"memroy\" of spec.tasks.worker; known: command, completion, container, gpus, "
       "instances, max_instances, max_restarts, memory, min_failed, min_succeeded, parallel, resources, restart_scope, "
       "vcores"}}},
    {"AValueOfTheWrongTypeIsReportedWithItsMember",
     {{R"({"name": {}})", "doc: name: " + kText + "an object"},
      {R"({"tags": "a"})", "doc: tags: expected a list of texts, not a text"},
      {R"({"tags": ["a", {}]})", "doc: tags[1]: " + kText + "an object"},
      {R"({"resources": ["a,b"]})", "doc: resources[0]: \"a,b\": expected a text without a comma"},
      {R"({"env": [1]})", "doc: env: expected an object {NAME: value, ...}, not a list"},
      {R"({"spec": 7})", "doc: spec: expected an object, not a number"},
      {R"({"tasks": true})", "doc: tasks: expected an object {ROLE: {...}, ...}, not true or false"},
      {R"({"tasks": {"worker": 2}})", "doc: tasks.worker: expected an object, not a number"},
      {R"({"tasks": {"worker": {"memory": []}}})", "doc: tasks.worker.memory: " + kText + "a list"},
      {R"({"tasks": {"worker": {"completion": "maybe\n"}}})",
       "doc: tasks.worker.completion: \"maybe?\": expected tracked, untracked or sidecar"},
      {R"({"name": "\u0000"})", "doc: name: expected a text without a NUL character"}}},
    {"InvalidRoleNamesAndMemberNamesAreRefused",
     {{R"({"tasks": {"Worker": {}}})", "doc: tasks: \"Worker\": a role's name has lower-case letters only"},
      {R"({"tasks": {"worker-1": {}}})", "~lower-case letters only"},
      {R"({"tasks": {"worker.x": {}}})", "~lower-case letters only"},
      {R"({"tasks": {"w\u00f6rker": {}}})", "~lower-case letters only"},
      {R"({"tasks": {"a b": {}}})", "~lower-case letters only"},
      {R"({"tasks": {"am": {}}})", "doc: tasks: \"am\" cannot be a role: tony.am.* keys mean something else"},
      {R"({"tasks": {"": {}}})", "doc: tasks.\"\": expected a name that is not empty and has no control characters"},
      {R"({"conf": {"": 1}})", "doc: conf.\"\": expected a name that is not empty and has no control characters"},
      {R"({"env": {"A\nB": 1}})", "doc: env.\"A?B\": expected a name that is not empty and has no control characters"},
      {R"({"\u0000": 1})", "doc: \"?\": expected a name that is not empty and has no control characters"}}},
};
TABLE_TEST(JobDocumentTest, kDocumentErrors, Gives(ErrorOf));

TEST(JobDocumentTest, ErrorMessagesNeverShowTheValueOfAVariableOrKey) {
  for (const char* text :
       {R"({"env": "DB_PASSWORD=hush"})", R"({"env": {"API_TOKEN": ["hush"]}})",
        R"({"env": {"API_TOKEN": "hush\u0000"}})", R"({"conf": {"tony.keytab.password": {"a": "hush"}}})",
        R"({"properties": {"worker_env.KEY": ["hush"]}})", R"({"properties": [["hush"]]})", R"({"spec": "hush"})",
        R"({"env": {"SECRET": "hush"}, "env": {}})"}) {
    EXPECT_THAT(ErrorOf(text), Not(HasSubstr("hush"))) << text;
    EXPECT_THAT(ErrorOf(text), StartsWith("doc:")) << text;
  }
}

TEST(JobDocumentTest, AMutatedDocumentIsReadOrRefusedWithAOneLineError) {
  std::mt19937 random(20261121);
  const std::vector<std::string> pieces = {"{",    "}",     "[",     "]",       ":",    ",",         "\"",   "null",
                                           "true", "1e999", "\\u00", "\\ud83d", "\xFF", "\"spec\":", "-1.5", "\n"};
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string error = ErrorOf(MutatedText(kWhole, pieces, random));
    EXPECT_TRUE(IsUtf8(error));
    if (error == "accepted") ++accepted;
    if (error != "accepted") {
      EXPECT_THAT(error, StartsWith("doc:"));
    }
  }
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 2500);
}

// ---- YAML that is read, and YAML that is refused because other readers would read it otherwise

std::string Json(const DocumentNode& node) {
  if (node.kind == DocumentNode::Kind::kNull) return "null";
  if (node.kind == DocumentNode::Kind::kText) return StrCat('"', node.text, '"');
  if (node.kind == DocumentNode::Kind::kBool || node.kind == DocumentNode::Kind::kNumber) return node.text;
  const bool is_object = node.kind == DocumentNode::Kind::kObject;
  std::string inside;
  for (size_t i = 0; i < node.items.size(); ++i) {
    inside += StrCat(i == 0 ? "" : ", ", is_object ? StrCat('"', node.names[i], "\": ") : "", Json(node.items[i]));
  }
  return is_object ? StrCat('{', inside, '}') : StrCat('[', inside, ']');
}

// Returns the YAML as JSON, or "error: " and the reason.
std::string Read(const std::string& yaml) {
  const auto node = ParseDocumentYaml(yaml, "job.yaml");
  if (node.ok()) return Json(*node);
  EXPECT_EQ(node.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(node.error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(node.error().message.starts_with("job.yaml:"));
  return "error: " + node.error().message.substr(9);
}

std::string Laughs() {
  std::string laughs = "- &a0 [" + Repeated(9, "lol, ") + "lol]\n";
  for (int i = 1; i < 5; ++i) laughs += StrCat("- &a", i, " [", Repeated(10, StrCat("*a", i - 1, ", ")), "]\n");
  return laughs;
}

const TestRow kYaml[] = {
    {"AYamlDocumentIsReadLikeTheEquivalentJsonDocument",
     {{"# a job\nname: my job\nframework: \"tensorflow\"\ntags: [a, 'b']\ntasks:\n  worker:\n    instances: 2\n    "
       "command: >-\n      python train.py\n      --lr 0.1\nenv:\n  NO: \"no\"\n  URL: http://h:1/\n",
       R"({"name": "my job", "framework": "tensorflow", "tags": ["a", "b"], "tasks": {"worker": {"instances": 2, )"
       R"("command": "python train.py --lr 0.1"}}, "env": {"NO": "no", "URL": "http://h:1/"}})"},
      {"\xEF\xBB\xBF{\"a\": [1, null, true, \"\\u00e4\"]}", "{\"a\": [1, null, true, \"\xC3\xA4\"]}"},
      {"--- {}\n...\n", "{}"}}},
    {"YamlNullAndTrueAreAcceptedAndYesNoOnAndOffAreRefused",
     {{"{~|null|Null|NULL|--- \n}", "null"},
      {"{true|True|TRUE}", "true"},
      {"{yes|No|ON|off}", "~write true or false"}}},
    {"AYamlAliasIsReplacedByTheValueOfItsAnchor",
     {{"a: &x {m: 1g, l: [&y t]}\nb: *x\nc: *y",
       R"({"a": {"m": "1g", "l": ["t"]}, "b": {"m": "1g", "l": ["t"]}, "c": "t"})"},
      {"a: *x", "error: 1: *x: this alias has no earlier anchor &x"},
      {"a: &x [*x]", "error: 1: *x: this alias has no earlier anchor &x"},
      {"a: &x {}\nb:\n  <<: *x",
       "error: 3: << is a merge key, which YAML 1.2 does not have; write each member out, or repeat the "
       "whole object by an anchor (&NAME) and an alias (*NAME)"}}},
    {"AYamlDocumentDeeperThan8LevelsOrWithOver20000ValuesIsRefused",
     {{Laughs(), "error: 5: the document has more than 20000 values"},
      {"a: &a [[[[[[1]]]]]]\nb: [*a]", "{\"a\": [[[[[[1]]]]]], \"b\": [[[[[[[1]]]]]]]}"},
      {"a: &a [[[[[[1]]]]]]\nb: [[*a]]", "error: 2: nested deeper than 8 levels"},
      {std::string(100'000, '['), "error: 1: nested deeper than 8 levels"},
      {"[[[[[[[[[1]]]]]]]]]", "error: 1: nested deeper than 8 levels"}}},
    {"AYamlErrorIsReportedWithItsLine",
     {{"a: 1\nb: 2\na: 3", "error: 3: member \"a\" occurs twice"},
      {"a: 1\n[b]: 2", "error: 2: a member's name must be a text"},
      {"a: !!int 1",
       "error: 1: the tag \"tag:yaml.org,2002:int\" is not accepted; the only accepted tag is !!str (a "
       "text)"},
      {"a: !x {}", "error: 1: the tag \"!x\" is not accepted; the only accepted tag is !!str (a text)"},
      {"a: 1\n---\nb: 1", "error: 2: the file has a second document; a job is one document"},
      {"# nothing\n", "error: 2: the document is empty"},
      {"a: 1\n\tb: 2", "^error: 2: not YAML: "},
      {"a: [1\nb: 2", "^error: 2: not YAML: "},
      {"a: \"x", "^error: 1: not YAML: "},
      {"a: 1\nb: \x01", "^error: 2: not YAML: "},
      {"a: \xFF", "^error: 1"},
      {"a: \0"s, "^error: 1: the text contains a NUL character"}}},
};
TABLE_TEST(DocumentYamlTest, kYaml, Gives(Read));

TEST(DocumentYamlTest, AnUnquotedYamlTextWithAnAmbiguousTypeIsRefused) {
  for (const char* text :
       {"2g", "10.0.0.1", "a:b", "1-2", "-x", "y", "e5", "trueish", "yEs", "tRue", "0xg", ".", "..", "1_a"})
    EXPECT_EQ(Read(text), StrCat('"', text, '"'));
  for (const char* number : {"0", "-0", "1.50", "1e3", "0.1e-7", "12345678901234567890123"})
    EXPECT_EQ(Read(number), number);
  for (const char* text : {"+1", "010", "0o17", "0x1F", "0b1", "1_000", ".5", "1.", "-.5", "1:30", "190:20:30.15",
                           ".inf", "-.INF", ".NaN", "2026-01-31", "2026-1-31T00:00:00Z", "+1e3", "1_0e3"}) {
    EXPECT_THAT(Read(text), StartsWith(StrCat("error: 1: \"", text, "\" without quotes: "))) << text;
    EXPECT_EQ(Read(StrCat('\'', text, '\'')), StrCat('"', text, '"'));
    EXPECT_EQ(Read(StrCat("!!str ", text)), StrCat('"', text, '"'));
    EXPECT_EQ(Read(StrCat(text, ": {}")), StrCat("{\"", text, "\": {}}"));
  }
}

}  // namespace
}  // namespace tony
