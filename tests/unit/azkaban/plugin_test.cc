// The files that are installed into Azkaban as a job type, and the properties that a step leaves for later steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "azkaban-plugin/doctor.h"
#include "azkaban-plugin/install.h"
#include "azkaban-plugin/output_properties.h"
#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/cli/help.h"
#include "tests/support/table_test.h"
#include "tests/support/temp_folder.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- outputs
// Given: the outputs "name=value | name" (the second is null) of the job local-1. Expected: the properties in addition
// to those of the job, as "key=value | key=value", and "; N notes: " with the last note.

std::string Left(const std::string& given) {
  std::vector<OutputMember> outputs;
  for (const std::string& part : PartsOf(given)) {
    const size_t equals = part.find('=');
    outputs.push_back({part.substr(0, equals), std::nullopt});
    if (equals != std::string::npos) outputs.back().text = part.substr(equals + 1);
  }
  const OutputProperties made = PropertiesForNextSteps({"local-1"}, "/home/logs", "http://here/page/", outputs);
  std::string text;
  for (const auto& [key, value] : made.values)
    if (!key.starts_with("tony.job.")) text += StrCat(text.empty() ? "" : " | ", key, "=", value);
  if (!made.notes.empty()) text += StrCat("; ", made.notes.size(), " notes: ", made.notes.back());
  return text;
}

const TestRow kOutputs[] = {
    {"EachOutputBecomesAPropertyWithAndWithoutThePrefixTonyOutput",
     {{"accuracy=0.97 | data.rows=1500",
       "accuracy=0.97 | data.rows=1500 | tony.output.accuracy=0.97 | tony.output.data.rows=1500"}}},
    {"AnOutputNameMayStartWithAReservedName",
     {{"commander=1", "commander=1 | tony.output.commander=1"},
      {"types=1", "tony.output.types=1 | types=1"},
      {"environment=1", "environment=1 | tony.output.environment=1"},
      {"retriesX=1", "retriesX=1 | tony.output.retriesX=1"},
      {"tonyx=1", "tony.output.tonyx=1 | tonyx=1"},
      {"names=1", "names=1 | tony.output.names=1"}}},
    {"OutputsWithANullValueOrAnEmptyNameAreLeftOut", {{"a | =x", ""}}},
    {"AnOutputThatAzkabanWouldEvaluateIsLeftOutAndReported",
     {{"path={${x}|a $(date) b|/models/${run}}", "^; 1 notes: "},
      {"path=${x} | model=${x}", "^; 2 notes: "},
      {"price=5 $", "price=5 $ | tony.output.price=5 $"}}},
    {"TheModelPathIsTakenFromTonyModelPathThenModelPathThenModel",
     {{"model=/a", "model=/a | tony.model.path=/a | tony.output.model=/a"},
      {"model=/a | model.path=/b", "~ | tony.model.path=/b | "},
      {"model.path=/b | tony.model.path=/c",
       "model.path=/b | tony.model.path=/c | tony.output.model.path=/b | tony.output.tony.model.path=/c"}}},
};
TABLE_TEST(OutputPropertiesTest, kOutputs, Gives(Left));

TEST(OutputPropertiesTest, AnOutputWithAReservedNameBecomesAPropertyOnlyWithThePrefixTonyOutput) {
  for (const std::string& name : Alternatives(
           "{command|command.1|type|env.PATH|working.dir|retries|retry.backoff|user.to.proxy|dependencies|"
           "tony.worker.instances|azkaban.flow.execid|executes|src_dir|worker_env.X|main.args|jvm.args|classpath|"
           "failure.emails|hadoop-inject.x|spark.master|driver-memory|tony.job.id|tony.worker.command|tony.output.x|"
           "azkaban.job.id|"
           "python_venv|python_binary_path|task_params|hdfs_classpath|flow.name}")) {
    EXPECT_TRUE(Left(name + "=evil").starts_with("tony.output." + name + "=evil; 1 notes: ")) << Left(name + "=evil");
    EXPECT_THAT(Left(name + "=evil").substr(Left(name + "=evil").find(';')), HasSubstr(name));
    EXPECT_TRUE(IsReservedName(name));
  }
}

TEST(OutputPropertiesTest, AStepWithoutOutputsPassesOnTheJobIdAndTheLogLocation) {
  const auto made = PropertiesForNextSteps({"local-1"}, "/home/logs", "http://here/page/", {});
  EXPECT_THAT(made.values,
              ElementsAre(testing::Pair("tony.job.id", "local-1"), testing::Pair("tony.job.logs", "/home/logs"),
                          testing::Pair("tony.job.url", "file:///home/logs")));
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST(OutputPropertiesTest, TheTonyJobUrlPropertyNamesTheJobPageIfTheLogsAreInYarn) {
  auto made = PropertiesForNextSteps({"application_1_2"}, "yarn logs", "http://rm/proxy/application_1_2/", {});
  EXPECT_EQ(made.values["tony.job.logs"], "yarn logs");
  EXPECT_EQ(made.values["tony.job.url"], "http://rm/proxy/application_1_2/");
}

TEST(OutputPropertiesTest, TheOutputFileIsAJsonObjectOfStrings) {
  EXPECT_EQ(ToJson({{"a", "1"}, {"b\"", "\xC3\xA9\n"}}), "{\"a\":\"1\",\"b\\\"\":\"\xC3\xA9\\n\"}");
  EXPECT_EQ(ToJson({}), "{}");
}

// ---- the two files of the job type

std::string ValueOf(const std::string& text, const std::string& key) {
  const auto parsed = ParseServerProperties(text, "file");
  if (!parsed.ok()) return parsed.error().message;
  const Property* found = parsed->Find(key);
  return found == nullptr ? "(none)" : found->value;
}

TEST(PluginFolderTest, NewlyInstalledPropertiesFilesHaveTheKeysThatAzkabanNeeds) {
  EXPECT_EQ(ValueOf(FirstPrivateText(), "jobtype.class"), "azkaban.jobExecutor.ProcessJob");
  EXPECT_EQ(ValueOf(FirstPrivateText(), "memCheck.enabled"), "false");
  EXPECT_EQ(ValueOf(FirstPrivateText(), "execute.as.user"), "(none)");
  const auto plugin = ParseServerProperties(FirstPluginText("/opt/tony/bin/tony-azkaban"), "file");
  ASSERT_TRUE(plugin.ok());
  EXPECT_EQ(plugin->all().size(), 1u);
  EXPECT_EQ(plugin->Find("command")->value, "/opt/tony/bin/tony-azkaban");
}

TEST(PluginFolderTest, PropertiesFilesAreReadAsLatin1AsInJava) {
  EXPECT_EQ(ValueOf("name=caf\xE9\n", "name"), "caf\u00E9");
  EXPECT_EQ(ValueOf("bad=\\u12\n", "bad"), "file:1: malformed \\u escape: expected four hexadecimal digits");
}

TEST(PluginFolderTest, AnUpgradeReplacesOnlyTheCommandProperty) {
  const std::string before = "# caf\xE9 \\\n!x\n\n  tony.a = 1\\\n   2\r\n", after = "tony.b:3\nenv.X=\xE9";
  EXPECT_EQ(WithValue(before + "command=/old\n" + after, "command", "/new"), before + "command=/new\n" + after);
  EXPECT_EQ(WithValue(before + " command : /old \\\n  more\n" + after, "command", "/new"),
            before + "command=/new\n" + after);
}

TEST(PluginFolderTest, AnUpgradeToTheSameCommandLeavesTheFileUnchanged) {
  const std::string text = "  command : /same\ntony.a=1";
  EXPECT_EQ(WithValue(text, "command", "/same"), text);
}

TEST(PluginFolderTest, SettingAKeyMergesItsDuplicateLinesIntoOneLine) {
  EXPECT_EQ(WithValue("command=/a\nx=1\ncommand=/b\n", "command", "/c"), "command=/c\nx=1\n");
}

TEST(PluginFolderTest, AMissingKeyIsAddedAtTheEndOfThePropertiesFile) {
  EXPECT_EQ(WithValue("", "k", "v"), "k=v\n");
  EXPECT_EQ(WithValue("a=1", "k", "v"), "a=1\nk=v\n");
  EXPECT_EQ(ValueOf(WithValue("a=1\\\n", "k", "v"), "k"), "v");
  EXPECT_EQ(ValueOf(WithValue("a=1\\", "k", "v"), "k"), "v");
  EXPECT_EQ(ValueOf(WithValue("#k=1\\\n", "k", "v"), "k"), "v");
  EXPECT_EQ(ValueOf(WithValue("command.1=x\n", "command", "v"), "command.1"), "x");
}

TEST(PluginFolderTest, ACommandPathWithCharactersThatAzkabanChangesIsRefused) {
  EXPECT_TRUE(MayStandInCommand("/opt/tony-1.0/bin_x/tony-azkaban"));
  for (const char* path : {"/opt/my tony", "/opt/it's", "/opt/\"x\"", "/opt/$x", "/opt/a\\b", "/opt/\u00E9", "/a\tb"})
    EXPECT_FALSE(MayStandInCommand(path)) << path;
}

// ---- the folder

class InstallFilesTest : public testing::Test {
 protected:
  InstallFilesTest() : jobtypes_(folder_.path() / "jobtypes") { fs::create_directory(jobtypes_); }

  static void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static unsigned Mode(const fs::path& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  TempFolder folder_;
  const fs::path jobtypes_;
};

TEST_F(InstallFilesTest, EveryUserCanReadAnInstalledPluginEvenWithUmask0077) {
  const fs::path program = folder_.path() / "tony-x";
  Write(program, "program");
  const PluginContent content{"private", "plugin", {program}, {}};
  const mode_t old = umask(0077);
  const Status built = BuildPlugin(jobtypes_ / "t", content);
  umask(old);
  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(Mode(jobtypes_ / "t"), 0755u);
  EXPECT_EQ(Mode(jobtypes_ / "t/private.properties"), 0644u);
  EXPECT_EQ(Mode(jobtypes_ / "t/plugin.properties"), 0644u);
  EXPECT_EQ(Mode(jobtypes_ / "t/bin"), 0755u);
  EXPECT_EQ(Mode(jobtypes_ / "t/bin/tony-x"), 0755u);
  EXPECT_EQ(Read(jobtypes_ / "t/bin/tony-x"), "program");
  EXPECT_TRUE(IsBuilt(jobtypes_ / "t", content));
}

TEST_F(InstallFilesTest, ABuiltPluginWithOtherContentOrFileModesIsNotUpToDate) {
  const fs::path program = folder_.path() / "tony-x", built = jobtypes_ / "t";
  Write(program, "program");
  const PluginContent content{"private", "plugin", {program}, {}};
  ASSERT_TRUE(BuildPlugin(built, content).ok());
  PluginContent other = content;
  other.plugin_text = "plugim";
  EXPECT_FALSE(IsBuilt(built, other));
  other = content;
  other.programs.clear();
  EXPECT_FALSE(IsBuilt(built, other));
  chmod((built / "private.properties").c_str(), 0600);
  EXPECT_FALSE(IsBuilt(built, content));
  chmod((built / "private.properties").c_str(), 0644);
  EXPECT_TRUE(IsBuilt(built, content));
  Write(program, "progrAm");
  EXPECT_FALSE(IsBuilt(built, content));
}

TEST_F(InstallFilesTest, AnUpgradeKeepsFilesThatTheAdministratorAddedToThePlugin) {
  const fs::path old = folder_.path() / "old";
  fs::create_directories(old / "lib/deep");
  fs::create_directory(old / "bin");
  Write(old / "lib/deep/x.jar", "jar");
  Write(old / "notes", "mine");
  Write(old / "plugin.properties", "old");
  fs::create_symlink("notes", old / "link");
  EXPECT_THAT(FurtherFiles(old), ElementsAre("lib", "link", "notes"));
  ASSERT_TRUE(BuildPlugin(jobtypes_ / "t", {"private", "plugin", {}, old}).ok());
  EXPECT_EQ(Read(jobtypes_ / "t/lib/deep/x.jar"), "jar");
  EXPECT_EQ(Read(jobtypes_ / "t/link"), "mine");
  EXPECT_TRUE(fs::is_symlink(jobtypes_ / "t/link"));
  EXPECT_EQ(Read(jobtypes_ / "t/plugin.properties"), "plugin");
  EXPECT_FALSE(fs::exists(jobtypes_ / "t/bin"));
}

TEST_F(InstallFilesTest, TheInstallerRemovesItsWorkFolderBesideTheJobTypesFolder) {
  {
    const auto work = WorkFolder::Make(jobtypes_);
    ASSERT_TRUE(work.ok()) << work.error().message;
    EXPECT_EQ(work->path().parent_path(), folder_.path());
    Write(work->path() / "x", "");
    EXPECT_THAT(Leftovers(jobtypes_), ElementsAre(work->path()));
  }
  EXPECT_THAT(Leftovers(jobtypes_), IsEmpty());
  EXPECT_TRUE(fs::is_empty(jobtypes_));
}

TEST_F(InstallFilesTest, ASecondInstallationAtTheSameTimeIsRefused) {
  const auto one = LockBeside(jobtypes_);
  ASSERT_TRUE(one.ok());
  const auto other = LockBeside(jobtypes_);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(other.error().message, folder_.path().string() + ": another installation is running there");
}

TEST_F(InstallFilesTest, AnExistingPluginIsSwappedWithTheNewPlugin) {
  const fs::path made = folder_.path() / "made", place = jobtypes_ / "t";
  fs::create_directory(made);
  ASSERT_TRUE(PutInPlace(made, place).ok());
  EXPECT_FALSE(fs::exists(made));
  Write(made, "a file");
  ASSERT_TRUE(PutInPlace(made, place).ok());
  EXPECT_TRUE(fs::is_directory(made));
  EXPECT_EQ(Read(place), "a file");
}

TEST_F(InstallFilesTest, TheBackupOfAReplacedPluginGetsTheFirstUnusedNumber) {
  EXPECT_EQ(FreeAside(jobtypes_, "TonyJob"), folder_.path() / "TonyJob.replaced-1");
  fs::create_symlink("nowhere", folder_.path() / "TonyJob.replaced-1");
  EXPECT_EQ(FreeAside(jobtypes_, "TonyJob"), folder_.path() / "TonyJob.replaced-2");
}

// ---- help

TEST(VerbHelpTest, OnlyHelpOptionsWithDashesRequestTheHelpText) {
  for (const char* word : {"--help", "-help", "-h"}) EXPECT_TRUE(RequestsHelp({"/jobtypes", word})) << word;
  EXPECT_FALSE(RequestsHelp({}));
  EXPECT_FALSE(RequestsHelp({"help", "--json"}));
}

TEST(VerbHelpTest, TheHelpOfASubcommandListsEachOptionWithItsText) {
  EXPECT_THAT(HelpOf("tony-azkaban", InstallVerb()),
              testing::StartsWith("tony-azkaban install JOBTYPES_FOLDER [OPTIONS]\n  install the job type tony"));
  for (const VerbSpec& verb : {InstallVerb(), DoctorVerb()}) {
    for (const OptionSpec& option : verb.options) {
      EXPECT_THAT(HelpOf("tony-azkaban", verb), HasSubstr(Dashed(option.name)));
      EXPECT_THAT(HelpOf("tony-azkaban", verb), HasSubstr(std::string("  ") + std::string(option.text) + "\n"));
    }
  }
  EXPECT_THAT(HelpOf("tony-azkaban", DoctorVerb()), HasSubstr("\n  --user NAME...  "));
}

}  // namespace
}  // namespace tony::azkaban
