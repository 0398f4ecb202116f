// Who goes before whom: a job document's parts, the site's file and the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/config/properties.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class JobDocumentLayersTest : public ::testing::Test {
 protected:
  JobDocumentLayersTest() { unsetenv("TONY_CONF_DIR"); }
  ~JobDocumentLayersTest() override { unsetenv("TONY_CONF_DIR"); }

  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  void WriteSite(const std::string& key, const std::string& value) {
    Write("tony-site.xml", StrCat("<configuration><property><name>", key, "</name><value>", value,
                                  "</value></property></configuration>"));
    setenv("TONY_CONF_DIR", folder_.c_str(), 1);
  }
  Result<Properties> Load(const std::string& document) {
    Write("job.json", document);
    options_.spec_file = "job.json";
    return LoadProperties(options_, folder_);
  }
  std::string ValueOf(const std::string& key, const std::string& document) {
    const auto loaded = Load(document);
    if (!loaded.ok()) return "error: " + loaded.error().message;
    const Property* property = loaded->Find(key);
    return property ? property->value + " from " + property->origin : "not set";
  }

  const TempFolder temp_;
  const std::filesystem::path folder_ = temp_.path();
  SubmitOptions options_;
};

TEST_F(JobDocumentLayersTest, TheLayersOfAKeyFromTheLowestToTheHighest) {
  const std::string key = "tony.worker.memory";
  const std::string task = R"("tasks": {"worker": {"memory": "TASK"}})";
  const std::string spec = R"("spec": {"tasks": {"worker": {"memory": "1g"}}})";
  EXPECT_EQ(ValueOf(key, StrCat("{", spec, "}")), "1g from spec.tasks.worker.memory");
  EXPECT_EQ(ValueOf(key, R"({"spec": {"conf": {"tony.worker.memory": 2}, "tasks": {"worker": {"memory": 1}}}})"),
            "2 from spec.conf");
  const std::string file = StrCat(spec, R"(, "properties": "\ntony.worker.memory=3g")");
  EXPECT_EQ(ValueOf(key, StrCat("{", file, "}")), "3g from properties:2");
  WriteSite(key, "4g");
  EXPECT_THAT(ValueOf(key, StrCat("{", file, "}")), HasSubstr("4g from /"));
  const std::string step = R"("spec": {"name": 1}, "properties": {"main.args": "-conf tony.worker.memory=5g"})";
  EXPECT_EQ(ValueOf(key, StrCat("{", step, "}")), "5g from main.args (from properties), -conf");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, R"(, "tasks": {"worker": {"memory": "6g"}}})")),
            "6g from tasks.worker.memory");
  const std::string all =
      StrCat("{", step, R"(, "conf": {"tony.worker.memory": "7g"}, "tasks": {"worker": {"memory": 6}}})");
  EXPECT_EQ(ValueOf(key, all), "7g from conf");
  options_.conf = {"tony.worker.memory=8g"};
  EXPECT_EQ(ValueOf(key, all), "8g from -conf");
}

TEST_F(JobDocumentLayersTest, TheLayersOfAVariable) {
  const std::string key = "tony.execution.env.A";
  const std::string spec = R"("spec": {"env": {"A": 1}})";
  EXPECT_EQ(ValueOf(key, StrCat("{", spec, "}")), "1 from spec.env.A");
  EXPECT_EQ(ValueOf(key, R"({"spec": {"env": {"A": 1}, "conf": {"tony.execution.env.A": 2}}})"), "2 from spec.conf");
  EXPECT_EQ(ValueOf(key, StrCat("{", spec, R"(, "properties": {"tony.execution.env.A": 3}})")), "3 from properties");
  WriteSite(key, "4");
  EXPECT_THAT(ValueOf(key, StrCat("{", spec, "}")), HasSubstr("4 from /"));
  const std::string step = StrCat(spec, R"(, "properties": "worker_env.A=5")");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, "}")), "5 from properties:1");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, R"(, "env": {"A": 6}})")), "6 from env.A");
  const std::string all = StrCat("{", step, R"(, "env": {"A": 6}, "conf": {"tony.execution.env.A": 7}})");
  EXPECT_EQ(ValueOf(key, all), "7 from conf");
  options_.conf = {"tony.execution.env.A=8"};
  EXPECT_EQ(ValueOf(key, all), "8 from -conf");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, R"(, "env": {"A": 6}})")), "8 from -conf");
  options_.shell_env = {"A=9"};
  EXPECT_EQ(ValueOf(key, all), "9 from -shell_env");
}

TEST_F(JobDocumentLayersTest, TheLayersOfTheCommand) {
  const std::string key = "tony.containers.command";
  const std::string spec = R"("spec": {"executes": "spec", "task_params": "sp"})";
  EXPECT_EQ(ValueOf(key, StrCat("{", spec, "}")), "spec sp from spec.executes");
  const std::string file = StrCat(spec, R"(, "properties": {"tony.containers.command": "file"})");
  EXPECT_EQ(ValueOf(key, StrCat("{", file, "}")), "file from properties");
  EXPECT_EQ(ValueOf(key, R"({"spec": {"executes": "spec", "conf": {"tony.containers.command": "conf"}}})"),
            "conf from spec.conf");
  EXPECT_EQ(ValueOf(key, StrCat("{", spec, R"(, "properties": "main.args=-conf tony.containers.command=args"})")),
            "args from main.args (from properties:1), -conf");
  const std::string step = StrCat(spec, R"(, "properties": "executes=step\ntask_params=st")");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, "}")), "step st from properties:1");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, R"(, "executes": "mine"})")), "mine st from executes");
  const std::string all = StrCat("{", step, R"(, "executes": "mine", "conf": {"tony.containers.command": "conf"}})");
  EXPECT_EQ(ValueOf(key, all), "conf from conf");
  options_.conf = {"tony.containers.command=line"};
  EXPECT_EQ(ValueOf(key, StrCat("{", step, R"(, "executes": "mine"})")), "line from -conf");
  EXPECT_EQ(ValueOf(key, all), "line from -conf");
  options_.executes = "flag";
  EXPECT_EQ(ValueOf(key, all), "flag from -executes");
}

TEST_F(JobDocumentLayersTest, AnOptionOfTheSpecIsJoinedWithThoseAboveIt) {
  EXPECT_EQ(ValueOf("tony.containers.command",
                    R"({"spec": {"executes": "train.py", "python_binary_path": "bin/python", "python_venv": "v.zip"},
                        "properties": "task_params=--file", "task_params": "--day 7"})"),
            "venv/bin/python train.py --day 7 from spec.executes");
  EXPECT_EQ(ValueOf("tony.containers.command", R"({"task_params": "x"})"),
            "error: task_params (from task_params) without executes: there is no command to add them to");
  EXPECT_EQ(ValueOf("tony.python-venv", R"({"spec": {"python_venv": "a"}, "properties": {"tony.python-venv": "b"}})"),
            "b from properties");
}

TEST_F(JobDocumentLayersTest, TheDefaultSourceOfAStepIsBehindAllThatNameOne) {
  std::filesystem::create_directory(folder_ / "src");
  const std::string key = "tony.src-dir", step = R"("properties": "type=tony")";
  EXPECT_EQ(ValueOf(key, StrCat("{", step, "}")), "src from properties:1");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, R"(, "spec": {"src_dir": "code"}})")), "code from spec.src_dir");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, R"(, "src_dir": "code"})")), "code from src_dir");
  EXPECT_EQ(ValueOf(key, StrCat("{", step, R"(, "conf": {"tony.src-dir": "code"}})")), "code from conf");
  EXPECT_EQ(ValueOf(key, R"({"src_dir": "a", "conf": {"tony.src-dir": "b"}})"), "b from conf");
}

TEST_F(JobDocumentLayersTest, ListsAreReplacedAndResourcesAdded) {
  const std::string lists = R"("properties": {"tony.application.tags": "a", "tony.containers.resources": "x"})";
  EXPECT_EQ(ValueOf("tony.application.tags", StrCat("{", lists, R"(, "tags": ["b"]})")), "b from tags");
  EXPECT_EQ(ValueOf("tony.application.tags", StrCat("{", lists, R"(, "tags": []})")), " from tags");
  EXPECT_EQ(ValueOf("tony.containers.resources", StrCat("{", lists, R"(, "resources": ["y", "z"]})")),
            "x,y,z from properties and resources");
  EXPECT_EQ(ValueOf("tony.containers.resources", StrCat("{", lists, R"(, "resources": []})")), "x from properties");
  EXPECT_EQ(ValueOf("tony.containers.resources", R"({"spec": {"resources": ["x"]}, "resources": ["y"]})"),
            "x,y from spec.resources and resources");
}

TEST_F(JobDocumentLayersTest, ACompletionChangesTheListsAndLeavesOtherRolesAlone) {
  const std::string untracked = "tony.application.untracked.jobtypes", sidecar = "tony.application.sidecar.jobtypes";
  const auto with = [](const std::string& completion, const std::string& more) {
    return StrCat(R"({"tasks": {"ps": {"instances": 1}, "worker": {"completion": ")", completion, "\"}}", more, "}");
  };
  EXPECT_EQ(ValueOf(untracked, with("untracked", "")), "ps,worker from tasks.worker.completion") << "the default stays";
  EXPECT_EQ(ValueOf(sidecar, with("sidecar", "")), "worker from tasks.worker.completion")
      << "of the default only roles that the job has";
  EXPECT_EQ(ValueOf(untracked, with("tracked", "")), "not set") << "nothing to change";
  const std::string listed = R"(, "properties": {"tony.application.untracked.jobtypes": "eval, worker"})";
  EXPECT_EQ(ValueOf(untracked, with("tracked", listed)), "eval from properties and tasks.worker.completion");
  EXPECT_EQ(ValueOf(untracked, with("untracked", listed)), "eval, worker from properties");
  EXPECT_EQ(ValueOf(untracked, with("sidecar", listed)), "eval from properties and tasks.worker.completion");
  EXPECT_EQ(ValueOf(untracked, R"({"tasks": {"ps": {"instances": 1, "completion": "tracked"}}})"),
            " from tasks.ps.completion")
      << "also out of the default";
  const std::string conf = R"(, "conf": {"tony.application.untracked.jobtypes": "eval"})";
  EXPECT_EQ(ValueOf(untracked, with("untracked", conf)), "eval from conf") << "conf is the highest member";
  options_.conf = {"tony.application.untracked.jobtypes=mine"};
  EXPECT_EQ(ValueOf(untracked, with("untracked", "")), "mine from -conf");
}

TEST_F(JobDocumentLayersTest, ACompletionOfTheSpecYieldsToProperties) {
  const std::string key = "tony.application.untracked.jobtypes";
  const std::string spec = R"("spec": {"tasks": {"worker": {"completion": "untracked"}}})";
  EXPECT_EQ(ValueOf(key, StrCat("{", spec, "}")), "worker from spec.tasks.worker.completion");
  EXPECT_EQ(ValueOf(key, StrCat("{", spec, R"(, "properties": {"tony.application.untracked.jobtypes": "eval"}})")),
            "eval from properties");
  EXPECT_EQ(ValueOf(key, StrCat("{", spec, R"(, "tasks": {"worker": {"completion": "tracked"}}})")),
            " from spec.tasks.worker.completion and tasks.worker.completion");
}

TEST_F(JobDocumentLayersTest, WhatAStepsPropertiesSayBesideTonysKeysHolds) {
  Write("other.xml",
        "<configuration><property><name>tony.ps.memory</name><value>9g</value></property></configuration>");
  const std::string step =
      R"({"properties": "tony.ps.memory=1g\nshell_env=A=1\nmain.args=-conf_file other.xml\nazkaban.flow.execid=17"})";
  EXPECT_EQ(ValueOf("tony.ps.memory", step), "9g from other.xml:1");
  EXPECT_EQ(ValueOf("tony.application.tags", step), "azkaban.flow.execid:17 from properties:4");
  EXPECT_THAT(Load(step)->warnings(),
              ElementsAre("main.args (from properties:3), -conf_file: that file is read instead of the step's own "
                          "tony.* properties, as in TonY; ignored: tony.ps.memory",
                          "shell_env (from properties:2): not read, as in TonY; a variable is worker_env.NAME"));
}

TEST_F(JobDocumentLayersTest, OneFileOnlyAndNoTonyXmlBesideIt) {
  Write("tony.xml", "<configuration><property><name>a</name><value>1</value></property></configuration>");
  EXPECT_EQ(ValueOf("a", "{}"), "not set");
  options_.conf_file = "job.json";
  EXPECT_THAT(ValueOf("a", "{}"), HasSubstr("both job.json and -conf_file job.json"));
}

TEST_F(JobDocumentLayersTest, AConfFileMayBeADocumentButNotOfMainArgs) {
  Write("a.json", R"({"name": "n"})");
  options_.conf_file = "a.json";
  EXPECT_EQ(LoadProperties(options_, folder_)->Find("tony.application.name")->origin, "name");
  options_.conf_file.clear();
  EXPECT_EQ(ValueOf("a", R"({"properties": "main.args=-conf_file a.json"})"),
            "error: main.args (from properties:1), -conf_file: conf file " + (folder_ / "a.json").string() +
                ": a job document, which main.args cannot name");
}

TEST_F(JobDocumentLayersTest, AFileThatIsEmptyOrNotThereIsNamed) {
  EXPECT_EQ(ValueOf("a", " \n"), "error: job file " + (folder_ / "job.json").string() + ": empty; expected an object");
  EXPECT_EQ(ValueOf("a", "{"), "error: job.json:1: not JSON: incomplete JSON, at byte 2 of the line");
  options_.spec_file = "nowhere.json";
  EXPECT_EQ(LoadProperties(options_, folder_).error().message,
            "job file " + (folder_ / "nowhere.json").string() + ": no such file");
}

}  // namespace
}  // namespace tony
