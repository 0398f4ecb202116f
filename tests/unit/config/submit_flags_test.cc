// TonY's flags: main.args of an Azkaban step, the tags of an Azkaban execution, and the TensorBoard role that is added
// to a job.
#include "runtime/config/submit_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "tests/support/table_test.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string WordsOf(const std::string& line) { return Join(SplitCommandLine(line), "/"); }

const TestRow kWords[] = {
    {"MainArgsAreSplitIntoWordsAsByAzkaban",
     {{"  a  b ", "a/b"},
      {"a\tb\nc", "a\tb\nc"},  // only blanks separate words
      {"p='a b'c \"d e\"f", "p=a bc/d ef"},
      {R"('say "hi"' "it's")", "say \"hi\"/it's"},
      {R"(a\ b \" c" d)", "a\\/b/\\ c/d"},  // a backslash is no escape
      {"a '' \"\" b", "a/b"},               // empty words vanish
      {"a 'b c", "a/b c"},                  // an open quote takes the rest
      {"$HOME * `x`", "$HOME/*/`x`"},
      {"  ", ""}}},
};
TABLE_TEST(MainArgsTest, kWords, Gives(WordsOf));

// Returns the error behind "main.args (from train.job:2), ", or "accepted".
std::string ArgumentError(const std::string& text) {
  const auto parsed = ParseMainArgs({text, "train.job:2"});
  if (parsed.ok()) return "accepted";
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(parsed.error().message.starts_with("main.args (from train.job:2), "));
  return parsed.error().message.substr(30);
}

const TestRow kArguments[] = {
    {"TheErrorForAnInvalidWordInMainArgsNamesItsPosition",
     {{"-executes python train.py", "^word 3: expected an option; put a value of several words in"},
      {"-conf a=1 --queue ml", "^word 3, -queue: this option is unknown; expected -conf, -conf_file, "},
      {"-src_dir s -executes", "word 3, -executes: expected a value"},
      {"{-src_dir=|-src_dir ''}", "word 1, -src_dir: expected a value"},
      {"-conf a", "word 1, -conf: expected NAME=VALUE"},
      {"-shell_env ' =1'", "word 1, -shell_env: expected NAME=VALUE"},
      {"-debug=1", "word 1, -debug: takes no value"},
      {"  ", "accepted"}}},
    {"AnOptionNameIsNotAcceptedAsTheValueOfAnotherOption",
     {{"-task_params {-src_dir s|--src_dir=s}", "word 1, -task_params: expected a value"}}},
};
TABLE_TEST(MainArgsTest, kArguments, Gives(ArgumentError));

TEST(MainArgsTest, OptionsAreAcceptedWithOneOrTwoDashesAndABlankOrAnEqualsSign) {
  const auto options = ParseMainArgs({"-conf a=1 --conf b=2 -conf=c=3 --conf=d=4 --executes='python train.py'", "x"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_THAT(options->conf, ElementsAre("a=1", "b=2", "c=3", "d=4"));
  EXPECT_EQ(options->executes, "python train.py");
}

TEST(MainArgsTest, EveryTonyOptionIsAcceptedInMainArgs) {
  const auto options = ParseMainArgs(
      {"-conf a=1 -conf_file f.xml -container_env C=1 -executes e -hdfs_classpath h -python_binary_path b -python_venv "
       "v -shell_env S=1 -sidecar_tensorboard_log_dir t -debug -src_dir s -task_params p",
       "x"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->conf_file + options->executes + options->hdfs_classpath + options->python_binary_path, "f.xmlehb");
  EXPECT_EQ(options->python_venv + options->sidecar_tensorboard_log_dir + options->src_dir + options->task_params,
            "vtsp");
  EXPECT_THAT(options->container_env, ElementsAre("C=1"));
  EXPECT_THAT(options->shell_env, ElementsAre("S=1"));
}

TEST(MainArgsTest, TheFirstValueOfADuplicateOptionWins) {
  EXPECT_EQ(ParseMainArgs({"-executes a -executes b", "x"})->executes, "a");
}

TEST(MainArgsTest, AnOptionValueMayStartWithADashUnlessTheValueIsAnOptionName) {
  EXPECT_EQ(ParseMainArgs({"-task_params '--steps 5 --x=1' -src_dir=s", "x"})->task_params, "--steps 5 --x=1");
  EXPECT_EQ(ParseMainArgs({"-task_params --steps", "x"})->task_params, "--steps");
}

TEST(MainArgsTest, ErrorMessagesNeverShowTheValueOfAnOption) {
  for (const char* text : {"hunter2", "-shell_env hunter2", "-conf =hunter2", "-shell_env A= hunter2", "-x=hunter2",
                           "-shell_env TOKEN= -hunter2", "--hunter2 y", "- hunter2", "-shell_env 'hunter2' --x"}) {
    const std::string message = ArgumentError(text);
    EXPECT_NE(message, "accepted") << text;
    EXPECT_THAT(message, Not(HasSubstr("hunter2"))) << text;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

// ---- properties as "key=value | key=value"

Properties Of(const std::string& given) {
  Properties properties;
  for (const std::string& part : PartsOf(given))
    properties.Set(part.substr(0, part.find('=')), part.substr(part.find('=') + 1), "-conf");
  return properties;
}

std::string TagsOf(const std::string& given) { return Join(AzkabanTags(Of(given)), ","); }
std::string HostOf(const std::string& given) { return AzkabanHost(Of("azkaban.url=" + given)); }
std::string Times(int times, const std::string& text) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

const TestRow kTags[] = {
    {"ExecutionIdFlowIdProjectAndHostBecomeTagsInThisOrder",
     {{"azkaban.webserverhost=az | azkaban.flow.projectname=ml | azkaban.flow.flowid=train | azkaban.flow.execid=17 | "
       "azkaban.flow.uuid=u",
       "azkaban.flow.execid:17,azkaban.flow.flowid:train,azkaban.flow.projectname:ml,azkaban.webserverhost:az"},
      {"azkaban.flow.flowid=train | azkaban.flow.execid= ", "azkaban.flow.flowid:train"},
      {"type=tony", ""}}},
    {"ATagIsCutTo100CharactersAndItsCommasBecomeSemicolons",
     {{"azkaban.flow.flowid=" + Times(200, "x"), "azkaban.flow.flowid:" + Times(80, "x")},
      {"azkaban.flow.flowid=" + Times(100, "ä"), "azkaban.flow.flowid:" + Times(80, "ä")},
      {"azkaban.flow.flowid=a,b", "azkaban.flow.flowid:a;b"}}},
};
TABLE_TEST(AzkabanTagsTest, kTags, Gives(TagsOf));

const TestRow kHosts[] = {
    {"TheAzkabanHostIsTakenFromAzkabanUrlUnlessWebserverhostIsSet",
     {{"https://az.example.com:8443/x?y", "az.example.com"},
      {"{http://az|az:8081|http://ann:pw@az:1}", "az"},
      {"{http://[::1]:8081/|http://[::1}", "::1"},
      {"{http://|[}", ""},
      {"http://a | azkaban.webserverhost=b", "b"}}},
};
TABLE_TEST(AzkabanTagsTest, kHosts, Gives(HostOf));

// ---- TensorBoard. In the given text "python=..." is the interpreter; the row expects the added properties as
// "key=value | key=value".

std::string AddedTo(const std::string& given) {
  Properties set = Of(given), properties;
  for (const auto& [key, property] : set.all())
    if (key != "python") properties.Set(key, property);
  AddTensorBoard(set.Find("python") ? set.Find("python")->value : "", properties);
  std::string added;
  for (const auto& [key, property] : properties.all()) {
    const Property* before = set.Find(key);
    if (before == nullptr || before->value != property.value)
      added += StrCat(added.empty() ? "" : " | ", key, "=", property.value);
  }
  return added;
}

const std::string kBoard = "tony.application.tensorboard-log-dir=/logs | tony.worker.instances=2 | ";
const std::string kDir = "tony.execution.env.TB_LOG_DIR=/logs", kOne = "tony.tensorboard.instances=1";
const std::string kRun = R"( -m tensorboard.main --logdir "$TB_LOG_DIR" --port "$TB_PORT")";

std::string Added(const std::string& python, const std::string& more = "") {
  return StrCat(kDir, " | tony.tensorboard.command=exec ", python, kRun, more, " | ", kOne);
}

const TestRow kTensorBoards[] = {
    {"TensorBoardIsNotAddedWithoutALogFolder",
     {{"tony.worker.instances=2", ""}, {"tony.worker.instances=2 | tony.application.tensorboard-log-dir= ", ""}}},
    {"ALogFolderAddsATensorBoardTaskAndSetsTbLogDirForAllRoles", {{kBoard, Added("python3")}}},
    {"TensorBoardRunsWithThePythonInterpreterOfTheJob",
     {{kBoard + "python=/opt/bin/python", Added("/opt/bin/python")},
      {kBoard + "tony.python-venv=env.zip", Added("venv/bin/python3")}}},
    {"TensorBoardListensOnAllAddressesOnlyOnYarn",
     {{kBoard + "tony.scheduler=YARN", Added("python3", " --bind_all")},
      {kBoard + "tony.scheduler=local", Added("python3")}}},
    {"TensorBoardSettingsOfTheUserAreNotReplaced",
     {{kBoard + "tony.tensorboard.instances=0", kDir},
      {kBoard + "tony.tensorboard.command=board.sh | tony.execution.env.TB_LOG_DIR=/mine", kOne}}},
    {"TensorBoardIsAddedToTheSidecarListOfTheUser",
     {{kBoard + "tony.application.sidecar.jobtypes=proxy",
       "tony.application.sidecar.jobtypes=proxy,tensorboard | " + Added("python3")},
      {kBoard + "tony.application.sidecar.jobtypes= ",
       "tony.application.sidecar.jobtypes=tensorboard | " + Added("python3")},
      {kBoard + "tony.application.sidecar.jobtypes=proxy, tensorboard", Added("python3")}}},
    {"AJobWithoutRolesGetsNoTensorBoardTask",
     {{"{type=x|tony.worker.instances=0} | tony.application.tensorboard-log-dir=/logs", kDir}}},
};
TABLE_TEST(TensorBoardTest, kTensorBoards, Gives(AddedTo));

}  // namespace
}  // namespace tony
