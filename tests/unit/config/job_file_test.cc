// What a job file sets beside tony.*: TonY's arguments in main.args, the tags, and what an Azkaban step is handed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "runtime/config/properties.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JobFileTest : public ::testing::Test {
 protected:
  JobFileTest() {
    unsetenv("TONY_CONF_DIR");
    options_.spec_file = "train.job";
  }
  ~JobFileTest() override { unsetenv("TONY_CONF_DIR"); }

  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::string ValueOf(const std::string& key) {
    const auto loaded = LoadProperties(options_, folder_);
    if (!loaded.ok()) return "error: " + loaded.error().message;
    const Property* property = loaded->Find(key);
    return property ? property->value + " from " + property->origin : "not set";
  }
  std::vector<std::string> Warnings() { return LoadProperties(options_, folder_)->warnings(); }

  const TempFolder temp_;
  const std::filesystem::path folder_ = temp_.path();
  SubmitOptions options_;
};

TEST_F(JobFileTest, MainArgsAreTonysArguments) {
  Write("train.job",
        "type=tony\nmain.args=-executes 'python x.py' -conf tony.worker.instances=2 -shell_env A=1,2 "
        "-container_env B=3 -sidecar_tensorboard_log_dir /logs\n");
  EXPECT_EQ(ValueOf("tony.containers.command"), "python x.py from main.args (from train.job:2), -executes");
  EXPECT_EQ(ValueOf("tony.worker.instances"), "2 from main.args (from train.job:2), -conf");
  EXPECT_EQ(ValueOf("tony.execution.env.A"), "1,2 from main.args (from train.job:2), -shell_env");
  EXPECT_EQ(ValueOf("tony.containers.env.B"), "3 from main.args (from train.job:2), -container_env");
  EXPECT_EQ(ValueOf("tony.application.tensorboard-log-dir"),
            "/logs from main.args (from train.job:2), -sidecar_tensorboard_log_dir");
  EXPECT_THAT(Warnings(), ElementsAre("main.args (from train.job:2), -shell_env A: one value, with its commas; TonY "
                                      "cut it there"));
}

TEST_F(JobFileTest, SingleValuesInMainArgsGoBeforeTheStepsOwn) {
  Write("train.job",
        "type=tony\nexecutes=step\nsrc_dir=step\ntask_params=step\nhdfs_classpath=step\n"
        "main.args=-executes args -src_dir args -hdfs_classpath args\n");
  EXPECT_EQ(ValueOf("tony.containers.command"), "args step from main.args (from train.job:6), -executes");
  EXPECT_EQ(ValueOf("tony.src-dir"), "args from main.args (from train.job:6), -src_dir");
  EXPECT_EQ(ValueOf("tony.hdfs-classpath"), "args from main.args (from train.job:6), -hdfs_classpath");
}

TEST_F(JobFileTest, MainArgsGoBeforeTheDefaultSourceFolder) {
  std::filesystem::create_directory(folder_ / "src");
  Write("train.job", "type=tony\nmain.args=-src_dir code\n");
  EXPECT_EQ(ValueOf("tony.src-dir"), "code from main.args (from train.job:2), -src_dir");
  Write("train.job", "type=tony\nmain.args=-executes x\n");
  EXPECT_EQ(ValueOf("tony.src-dir"), "src from train.job:1");
}

TEST_F(JobFileTest, VariablesOfTheStepWinOverThoseInMainArgs) {
  Write("train.job",
        "main.args=-shell_env A=args -shell_env B=1 -shell_env B=2 -shell_env AZKABAN_INPUT_DATASET=args\n"
        "worker_env.A=step\nazkaban.input.dataset=x,y\n");
  EXPECT_EQ(ValueOf("tony.execution.env.A"), "step from train.job:2");
  EXPECT_EQ(ValueOf("tony.execution.env.B"), "2 from main.args (from train.job:1), -shell_env");
  EXPECT_EQ(ValueOf("tony.execution.env.AZKABAN_INPUT_DATASET"), "x;y from train.job:3");
}

TEST_F(JobFileTest, ConfInMainArgsWinsOverFilesAndTheCommandLineOverAll) {
  Write("tony-site.xml",
        "<configuration><property><name>tony.ps.memory</name><value>9g</value></property>"
        "</configuration>");
  setenv("TONY_CONF_DIR", folder_.c_str(), 1);
  Write("train.job", "tony.ps.memory=1g\nmain.args=-conf tony.ps.memory=2g -conf tony.ps.memory=3g -executes args\n");
  EXPECT_EQ(ValueOf("tony.ps.memory"), "3g from main.args (from train.job:2), -conf");
  options_.conf = {"tony.ps.memory=4g"};
  options_.executes = "mine";
  EXPECT_EQ(ValueOf("tony.ps.memory"), "4g from -conf");
  EXPECT_EQ(ValueOf("tony.containers.command"), "mine from -executes");
}

TEST_F(JobFileTest, WithAConfFileInMainArgsTheStepsTonyPropertiesAreNotRead) {
  Write("other.xml",
        "<configuration><property><name>tony.ps.memory</name><value>9g</value></property></configuration>");
  Write("train.job",
        "tony.ps.memory=1g\ntony.ps.vcores=2\nexecutes=x\nmain.args=-conf_file other.xml -conf tony.ps.gpus=1\n"
        "tony.azkaban.watch-timeout=60\ntony.output.a=1\ntony.job.id=local-1\n");
  EXPECT_EQ(ValueOf("tony.ps.memory"), "9g from other.xml:1");
  EXPECT_EQ(ValueOf("tony.ps.vcores"), "not set");
  EXPECT_EQ(ValueOf("tony.ps.gpus"), "1 from main.args (from train.job:4), -conf");
  EXPECT_EQ(ValueOf("tony.containers.command"), "x from train.job:3");
  EXPECT_EQ(ValueOf("tony.azkaban.watch-timeout"), "60 from train.job:5");
  EXPECT_THAT(Warnings(),
              ElementsAre("main.args (from train.job:4), -conf_file: that file is read instead of the step's "
                          "own tony.* properties, as in TonY; ignored: tony.ps.memory, tony.ps.vcores"));
  Write("train.job", "main.args=-conf_file other.xml\ntony.output.a=1\n");
  EXPECT_THAT(Warnings(), IsEmpty()) << "nothing of the step's is lost";
  Write("train.job", "main.args=-conf_file nowhere.xml\n");
  EXPECT_EQ(ValueOf("x"), "error: main.args (from train.job:1), -conf_file: conf file " +
                              (folder_ / "nowhere.xml").string() + ": no such file");
}

TEST_F(JobFileTest, MainArgsThatCannotBeReadAreAnErrorOfTheFile) {
  Write("train.job", "type=tony\nmain.args=-executes python train.py\n");
  const auto loaded = LoadProperties(options_, folder_);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(loaded.error().message, HasSubstr("main.args (from train.job:2), word 3: expected an option"));
  Write("train.job", "main.args=-task_params x\n");
  EXPECT_EQ(LoadProperties(options_, folder_).error().code, ErrorCode::kInvalid);
}

TEST_F(JobFileTest, MainArgsAreNoWordsOfAnXmlFile) {
  Write("a.xml", "<configuration><property><name>main.args</name><value>x y</value></property></configuration>");
  options_.spec_file = "a.xml";
  EXPECT_EQ(ValueOf("main.args"), "x y from a.xml:1");
}

TEST_F(JobFileTest, AzkabansTagsAreBehindTheUsersOwn) {
  Write("train.job", "azkaban.flow.execid=17\nazkaban.url=http://az:80\ntony.application.tags=mine\n");
  EXPECT_EQ(ValueOf("tony.application.tags"),
            "mine,azkaban.flow.execid:17,azkaban.webserverhost:az from train.job:3 and train.job:1");
  options_.conf = {"tony.application.tags=other"};
  EXPECT_EQ(ValueOf("tony.application.tags"),
            "other,azkaban.flow.execid:17,azkaban.webserverhost:az from -conf and train.job:1");
  options_.conf.clear();
  Write("train.job", "azkaban.flow.execid=17\n");
  EXPECT_EQ(ValueOf("tony.application.tags"), "azkaban.flow.execid:17 from train.job:1");
  Write("train.job", "azkaban.job.attempt=0\n");
  EXPECT_EQ(ValueOf("tony.application.tags"), "not set");
}

TEST_F(JobFileTest, WhatAStepIsHandedGoesByItsNameWhateverItsFileIsCalled) {
  options_.spec_name = "the step's properties";
  for (const char* name : {"train_props_123_tmp", "props.xml", "props.json"}) {
    Write(name, "#Sat Nov 21\nexecutes=<x>\ntony.ps.memory=1g\nazkaban.flow.execid=17\ntony.application.tags=mine\n");
    options_.spec_file = name;
    EXPECT_EQ(ValueOf("tony.ps.memory"), "1g from the step's properties") << name;
    EXPECT_EQ(ValueOf("tony.containers.command"), "<x> from executes of the step's properties");
    EXPECT_EQ(ValueOf("tony.application.tags"), "mine,azkaban.flow.execid:17 from the step's properties");
  }
  Write("bad_tmp", "a=1\ntony.ps.memory=\\uD800\n");
  options_.spec_file = "bad_tmp";
  EXPECT_EQ(ValueOf("a"), "error: the step's properties: key tony.ps.memory: half of a surrogate pair in \\u escapes");
  options_.spec_file = "nowhere_tmp";
  EXPECT_EQ(ValueOf("a"), "error: the step's properties " + (folder_ / "nowhere_tmp").string() + ": no such file");
}

TEST_F(JobFileTest, ShellEnvOfAStepIsNotReadAndThatIsSaid) {
  Write("train.job", "type=tony\nshell_env=A=1\n");
  EXPECT_THAT(Warnings(),
              ElementsAre("shell_env (from train.job:2): not read, as in TonY; a variable is worker_env.NAME"));
  EXPECT_EQ(ValueOf("tony.execution.env.A"), "not set");
}

}  // namespace
}  // namespace tony
