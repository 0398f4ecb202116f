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

std::string Xml(const std::string& properties) { return "<configuration>" + properties + "</configuration>\n"; }
std::string XmlProperty(const std::string& name, const std::string& value, const std::string& more = "") {
  return "<property><name>" + name + "</name><value>" + value + "</value>" + more + "</property>";
}

class LoadPropertiesTest : public ::testing::Test {
 protected:
  LoadPropertiesTest() { unsetenv("TONY_CONF_DIR"); }
  ~LoadPropertiesTest() override { unsetenv("TONY_CONF_DIR"); }

  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  void WriteSite(const std::string& text) {
    Write("site/tony-site.xml", text);
    setenv("TONY_CONF_DIR", (folder_ / "site").c_str(), 1);
  }
  std::string ValueOf(const std::string& key) {
    const auto loaded = LoadProperties(options_, folder_);
    if (!loaded.ok()) return "error: " + loaded.error().message;
    const Property* property = loaded->Find(key);
    return property ? property->value + " from " + property->origin : "not set";
  }
  Error ErrorOf() {
    const auto loaded = LoadProperties(options_, folder_);
    return loaded.ok() ? Error{ErrorCode::kInternal, "accepted"} : loaded.error();
  }

  const TempFolder temp_;
  const std::filesystem::path folder_ = temp_.path();
  SubmitOptions options_;
};

TEST_F(LoadPropertiesTest, WithoutFilesAndFlagsThereIsNothing) {
  EXPECT_TRUE(LoadProperties(options_, folder_)->all().empty());
}

TEST_F(LoadPropertiesTest, TonyXmlOfTheFolderIsReadIfNoFileIsNamed) {
  Write("tony.xml", Xml(XmlProperty("tony.worker.instances", "2")));
  EXPECT_EQ(ValueOf("tony.worker.instances"), "2 from tony.xml:1");
  Write("other.xml", Xml(""));
  options_.conf_file = "other.xml";
  EXPECT_EQ(ValueOf("tony.worker.instances"), "not set");
}

TEST_F(LoadPropertiesTest, ATildeIsTheHomeFolderAsForAShell) {
  Write("home/conf/my.xml", Xml(XmlProperty("tony.worker.instances", "2")));
  Write("home/site/tony-site.xml", Xml(XmlProperty("tony.yarn.queue", "q")));
  const char* before = getenv("HOME");
  const std::string home = before ? before : "/";
  setenv("HOME", (folder_ / "home").c_str(), 1);
  setenv("TONY_CONF_DIR", "~/site", 1);
  options_.conf_file = "~/conf/my.xml";
  options_.executes = "train.py";
  options_.python_binary_path = "~/conda/bin/python";
  options_.python_venv = "env.zip";
  options_.sidecar_tensorboard_log_dir = "~/tb";
  EXPECT_EQ(ValueOf("tony.worker.instances"), "2 from ~/conf/my.xml:1");
  EXPECT_EQ(ValueOf("tony.yarn.queue"), "q from " + (folder_ / "home/site/tony-site.xml:1").string());
  EXPECT_THAT(ValueOf("tony.containers.command"),
              testing::StartsWith((folder_ / "home/conda/bin/python train.py").string()));
  EXPECT_THAT(ValueOf("tony.execution.env.TB_LOG_DIR"), testing::StartsWith((folder_ / "home/tb").string()));
  setenv("HOME", home.c_str(), 1);
}

TEST_F(LoadPropertiesTest, TheSiteFileBeatsTheUsersAndFlagsBeatBoth) {
  Write("tony.xml", Xml(XmlProperty("tony.worker.instances", "1") + XmlProperty("tony.yarn.queue", "u")));
  WriteSite(Xml(XmlProperty("tony.worker.instances", "2") + XmlProperty("tony.worker.memory", "3g")));
  EXPECT_EQ(ValueOf("tony.worker.instances"), "2 from " + (folder_ / "site/tony-site.xml:1").string());
  EXPECT_EQ(ValueOf("tony.yarn.queue"), "u from tony.xml:1");
  options_.conf = {"tony.worker.instances=3", "tony.worker.memory=4g", "tony.worker.memory=5g"};
  EXPECT_EQ(ValueOf("tony.worker.instances"), "3 from -conf");
  EXPECT_EQ(ValueOf("tony.worker.memory"), "5g from -conf");
}

TEST_F(LoadPropertiesTest, AFinalValueOfTheUserBlocksTheSiteFileButNotFlags) {
  Write("tony.xml", Xml(XmlProperty("tony.worker.instances", "1", "<final>true</final>")));
  WriteSite(Xml(XmlProperty("tony.worker.instances", "2")));
  EXPECT_EQ(ValueOf("tony.worker.instances"), "1 from tony.xml:1");
  options_.conf = {"tony.worker.instances=3"};
  EXPECT_EQ(ValueOf("tony.worker.instances"), "3 from -conf");
}

TEST_F(LoadPropertiesTest, AJobOfAFileThatTonYReadIsOfTonys) {
  const auto is_of_tonys = [this] { return LoadProperties(options_, folder_)->is_of_tonys(); };
  WriteSite(Xml(""));
  EXPECT_FALSE(is_of_tonys()) << "flags alone";
  Write("job.yaml", "name: x\nproperties: {a: b}\n");
  options_.spec_file = "job.yaml";
  EXPECT_FALSE(is_of_tonys());
  Write("job.properties", "type=TonYJob\n");
  options_.spec_file = "job.properties";
  EXPECT_TRUE(is_of_tonys());
  options_.spec_file = "";
  Write("tony.xml", Xml(""));
  EXPECT_TRUE(is_of_tonys());
}

TEST_F(LoadPropertiesTest, AMissingSiteFileIsNoError) {
  setenv("TONY_CONF_DIR", (folder_ / "nowhere").c_str(), 1);
  EXPECT_EQ(ErrorOf().message, "accepted");
}

TEST_F(LoadPropertiesTest, TheContentDecidesWhatAFileIs) {
  Write("a.conf", "\n  " + Xml(XmlProperty("k", "x")));
  Write("b.conf", "k=p");
  Write("c.job", "k: j");
  options_.spec_file = "a.conf";
  EXPECT_EQ(ValueOf("k"), "x from a.conf:2");
  options_.spec_file = "b.conf";
  EXPECT_EQ(ValueOf("k"), "p from b.conf:1");
  options_.spec_file = "c.job";
  EXPECT_EQ(ValueOf("k"), "j from c.job:1");
}

TEST_F(LoadPropertiesTest, FilesThatCannotBeReadAreNamed) {
  options_.conf_file = "tony2.xml";
  EXPECT_EQ(ErrorOf().message, "conf file " + (folder_ / "tony2.xml").string() + ": no such file");
  EXPECT_EQ(ErrorOf().code, ErrorCode::kInvalid);
  options_ = {};
  options_.spec_file = "/nowhere/job.properties";
  EXPECT_EQ(ErrorOf().message, "job file /nowhere/job.properties: no such file");
  options_.spec_file = folder_.string();
  EXPECT_EQ(ErrorOf().message, "job file " + folder_.string() + ": a folder, not a file");
  options_.spec_file = "hdfs://nn/job.xml";
  EXPECT_EQ(ErrorOf().message, "job file hdfs://nn/job.xml: only files of this machine are read");
}

TEST_F(LoadPropertiesTest, AYamlFileIsAJobDocument) {
  for (const char* file : {"job.yaml", "job.yml"}) {
    Write(file, "tasks:\n  worker: {instances: 2}\nconf:\n  tony.worker.memory: 1g\n");
    options_ = {};
    options_.spec_file = file;
    EXPECT_EQ(ValueOf("tony.worker.instances"), "2 from tasks.worker.instances");
    EXPECT_EQ(ValueOf("tony.worker.memory"), "1g from conf");
    options_ = {};
    options_.conf_file = file;
    EXPECT_EQ(ValueOf("tony.worker.instances"), "2 from tasks.worker.instances");
  }
  Write("job.yaml", "tasks:\n  worker: {instances: yes}\n");
  options_ = {};
  options_.spec_file = "job.yaml";
  EXPECT_EQ(ErrorOf().message.substr(0, 29), "job.yaml:2: \"yes\" without quo");
  Write("job.properties", "main.args=-conf_file job.yaml");
  options_ = {};
  options_.spec_file = "job.properties";
  EXPECT_EQ(ErrorOf().message, "main.args (from job.properties:1), -conf_file: conf file " +
                                   (folder_ / "job.yaml").string() + ": a job document, which main.args cannot name");
}

TEST_F(LoadPropertiesTest, AFileUrlIsALocalFile) {
  Write("a.xml", Xml(XmlProperty("k", "x")));
  options_.conf_file = "file://" + (folder_ / "a.xml").string();
  EXPECT_EQ(ValueOf("k"), "x from " + (folder_ / "a.xml").string() + ":1");
}

TEST_F(LoadPropertiesTest, AnOversizedFileIsRefused) {
  Write("big.properties", "a=" + std::string((16u << 20) + 1, 'x'));
  options_.spec_file = "big.properties";
  EXPECT_EQ(ErrorOf().message, "job file " + (folder_ / "big.properties").string() + ": larger than 16 MiB");
}

TEST_F(LoadPropertiesTest, ErrorsInFilesNameFileAndLine) {
  Write("tony.xml", "<configuration>\n<property>\n</configuration>");
  EXPECT_EQ(ErrorOf().message, "tony.xml:3: malformed XML: start-end tags mismatch");
}

TEST_F(LoadPropertiesTest, TwoFilesAreAUsageError) {
  options_.spec_file = "a.xml";
  options_.conf_file = "b.xml";
  EXPECT_EQ(ErrorOf().code, ErrorCode::kUsage);
  EXPECT_EQ(ErrorOf().message, "both a.xml and -conf_file b.xml: one of them, as the job can have only one file");
}

TEST_F(LoadPropertiesTest, BadFlagsAreUsageErrorsThatNameThem) {
  const auto usage = [this] {
    EXPECT_EQ(ErrorOf().code, ErrorCode::kUsage);
    const std::string message = ErrorOf().message;
    options_ = {};
    return message;
  };
  options_.conf = {"tony.worker.instances"};
  EXPECT_EQ(usage(), "-conf (number 1 of these): expected KEY=VALUE, and there is no =");
  options_.conf = {"a=1", "=2"};
  EXPECT_EQ(usage(), "-conf (number 2 of these): expected KEY=VALUE, and there is no name before =");
  options_.shell_env = {"HOME"};
  EXPECT_EQ(usage(), "-shell_env (number 1 of these): expected NAME=VALUE, and there is no =");
  options_.container_env = {"=x"};
  EXPECT_EQ(usage(), "-container_env (number 1 of these): expected NAME=VALUE, and there is no name before =");
  options_.shell_env = {"A=\xFF"};
  EXPECT_EQ(usage(), "-shell_env A: not valid UTF-8");
  options_.executes = "\xFF";
  EXPECT_EQ(usage(), "-executes: not valid UTF-8");
  options_.task_params = "--x 1";
  EXPECT_EQ(usage(), "task_params (from -task_params) without executes: there is no command to add them to");
}

TEST_F(LoadPropertiesTest, AConfValueMayHoldEqualsSigns) {
  options_.conf = {"tony.worker.command=A=1 ./run --x=y"};
  EXPECT_EQ(ValueOf("tony.worker.command"), "A=1 ./run --x=y from -conf");
}

TEST_F(LoadPropertiesTest, ListValuesOfFlagsAreAddedToTheFiles) {
  Write("tony.xml", Xml(XmlProperty("tony.execution.envs", "A=1") + XmlProperty("tony.containers.resources", "")));
  options_.conf = {"tony.execution.envs=B=2", "tony.execution.envs=C=3", "tony.containers.resources=x"};
  EXPECT_EQ(ValueOf("tony.execution.envs"), "A=1,B=2,C=3 from tony.xml:1 and -conf");
  EXPECT_EQ(ValueOf("tony.containers.resources"), "x from -conf");
}

TEST_F(LoadPropertiesTest, AnEnvironmentFlagThatIsNotPairsAloneIsOneVariable) {
  options_.shell_env = {"A=1,2,B=3", "E=", "A=x=y,z"};
  options_.container_env = {"P=/a:/b,\n c"};
  EXPECT_EQ(ValueOf("tony.execution.env.A"), "x=y,z from -shell_env");
  EXPECT_EQ(ValueOf("tony.execution.env.E"), " from -shell_env");
  EXPECT_EQ(ValueOf("tony.containers.env.P"), "/a:/b,\n c from -container_env");
}

TEST_F(LoadPropertiesTest, TheCommandIsBuiltAsTonyBuiltIt) {
  options_.executes = "train.py";
  EXPECT_EQ(ValueOf("tony.containers.command"), "train.py from -executes");
  options_.task_params = "--steps 5";
  options_.python_binary_path = "venv/bin/python";
  options_.conf = {"tony.containers.command=other"};
  EXPECT_EQ(ValueOf("tony.containers.command"), "venv/bin/python train.py --steps 5 from -executes");
  options_.src_dir = "src";
  EXPECT_EQ(ValueOf("tony.src-dir"), "src from -src_dir");
}

TEST_F(LoadPropertiesTest, ARelativeInterpreterIsThatOfThePythonEnvironment) {
  options_.executes = "train.py";
  options_.python_binary_path = "bin/python";
  EXPECT_EQ(ValueOf("tony.containers.command"), "bin/python train.py from -executes");
  options_.conf = {"tony.python-venv=env.zip"};
  EXPECT_EQ(ValueOf("tony.containers.command"), "venv/bin/python train.py from -executes");
  options_.conf = {"tony.python-venv= "};
  EXPECT_EQ(ValueOf("tony.containers.command"), "bin/python train.py from -executes");
  options_.python_venv = "env.zip";
  EXPECT_EQ(ValueOf("tony.containers.command"), "venv/bin/python train.py from -executes");
  EXPECT_EQ(ValueOf("tony.python-venv"), "env.zip from -python_venv");
  options_.python_binary_path = "/usr/bin/python3";
  EXPECT_EQ(ValueOf("tony.containers.command"), "/usr/bin/python3 train.py from -executes");
}

TEST_F(LoadPropertiesTest, TonysOtherFlagsAreItsKeys) {
  options_.hdfs_classpath = "/lib/a.jar,/lib/b.jar";
  options_.sidecar_tensorboard_log_dir = "/logs";
  EXPECT_EQ(ValueOf("tony.hdfs-classpath"), "/lib/a.jar,/lib/b.jar from -hdfs_classpath");
  EXPECT_EQ(ValueOf("tony.application.tensorboard-log-dir"), "/logs from -sidecar_tensorboard_log_dir");
}

TEST_F(LoadPropertiesTest, AJobFileMayCarryTheFlagsOfTheAzkabanType) {
  Write("train.job",
        "type=tony\ndependencies=prep\nexecutes=train.py\nsrc_dir=code\ntask_params=--a 1\n"
        "python_binary_path=/usr/bin/python3\nworker_env.A=1,2\nazkaban.input.dataset=x,y\nhdfs_classpath=/lib\n"
        "python_venv=venv.zip\ntony.worker.instances=2\n");
  options_.spec_file = "train.job";
  EXPECT_EQ(ValueOf("tony.containers.command"), "/usr/bin/python3 train.py --a 1 from train.job:3");
  EXPECT_EQ(ValueOf("tony.src-dir"), "code from train.job:4");
  EXPECT_EQ(ValueOf("tony.execution.env.A"), "1,2 from train.job:7");
  EXPECT_EQ(ValueOf("tony.execution.env.AZKABAN_INPUT_DATASET"), "x;y from train.job:8");
  EXPECT_EQ(ValueOf("tony.hdfs-classpath"), "/lib from train.job:9");
  EXPECT_EQ(ValueOf("tony.python-venv"), "venv.zip from train.job:10");
  EXPECT_EQ(ValueOf("tony.worker.instances"), "2 from train.job:11");
}

TEST_F(LoadPropertiesTest, FlagsOfTheCommandLineBeatThoseOfAJobFileWhichBeatTheSiteFile) {
  Write("train.job", "executes=train.py\ntask_params=--a 1\nworker_env.A=1\nworker_env.B=2\n");
  WriteSite(Xml(XmlProperty("tony.containers.command", "site")));
  options_.spec_file = "train.job";
  EXPECT_EQ(ValueOf("tony.containers.command"), "train.py --a 1 from train.job:1");
  options_.task_params = "--a 2";
  options_.shell_env = {"A=9"};
  EXPECT_EQ(ValueOf("tony.containers.command"), "train.py --a 2 from train.job:1");
  EXPECT_EQ(ValueOf("tony.execution.env.A"), "9 from -shell_env");
  EXPECT_EQ(ValueOf("tony.execution.env.B"), "2 from train.job:4");
}

TEST_F(LoadPropertiesTest, AnXmlFileDoesNotCarryFlags) {
  Write("tony.xml", Xml(XmlProperty("executes", "train.py")));
  EXPECT_EQ(ValueOf("tony.containers.command"), "not set");
}

TEST_F(LoadPropertiesTest, AnAzkabanStepWithoutASourceFolderHasSrcIfItIsThere) {
  Write("train.job", "type=tony\nexecutes=x\n");
  options_.spec_file = "train.job";
  EXPECT_EQ(ValueOf("tony.src-dir"), "not set");
  std::filesystem::create_directory(folder_ / "src");
  EXPECT_EQ(ValueOf("tony.src-dir"), "src from train.job:1");
  Write("train.job", "executes=x\n");
  EXPECT_EQ(ValueOf("tony.src-dir"), "not set");
}

TEST_F(LoadPropertiesTest, ParametersOfNoCommandAreAnError) {
  options_.spec_file = "train.job";
  Write("train.job", "task_params=--x\n");
  EXPECT_EQ(ErrorOf().message, "task_params (from train.job:1) without executes: there is no command to add them to");
  EXPECT_EQ(ErrorOf().code, ErrorCode::kInvalid);
}

TEST_F(LoadPropertiesTest, VariablesAreExpandedAfterAllFilesAndFlagsAreIn) {
  Write("tony.xml", Xml(XmlProperty("data", "/one") + XmlProperty("tony.worker.command", "run ${data} ${HOME}")));
  options_.conf = {"data=/two"};
  EXPECT_EQ(ValueOf("tony.worker.command"), "run /two ${HOME} from tony.xml:1");
}

TEST_F(LoadPropertiesTest, AFileOfAClusterIsReadByItsUriAndItsEndingSaysWhatItIs) {
  const auto read = [](const std::string& source) -> Result<std::string> {
    if (source == "hdfs:///conf/tony.xml") return Xml(XmlProperty("tony.worker.instances", "3"));
    if (source == "hdfs:/conf/job.properties") return std::string("tony.worker.instances=4\n");
    return Error{ErrorCode::kNotPermitted, "not yours"};
  };
  const auto load = [&](const std::string& file) {
    options_.conf_file = file;
    return LoadProperties(options_, folder_, read);
  };
  EXPECT_EQ(load("hdfs:///conf/tony.xml")->Find("tony.worker.instances")->origin, "hdfs:///conf/tony.xml:1");
  EXPECT_EQ(load("hdfs:/conf/job.properties")->Find("tony.worker.instances")->value, "4");
  EXPECT_EQ(load("hdfs:///other.xml").error().message, "conf file hdfs:///other.xml: not yours");
  EXPECT_EQ(load("hdfs:///other.xml").error().code, ErrorCode::kNotPermitted);
}

TEST_F(LoadPropertiesTest, AStepsMainArgumentsMayNameAFileOfACluster) {
  Write("job.properties", "main.args=-conf_file hdfs:///conf/tony.xml\ntony.worker.instances=9\n");
  options_.spec_file = "job.properties";
  const auto loaded = LoadProperties(options_, folder_, [](const std::string&) -> Result<std::string> {
    return Xml(XmlProperty("tony.worker.instances", "3"));
  });
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->Find("tony.worker.instances")->value, "3");
}

}  // namespace
}  // namespace tony
