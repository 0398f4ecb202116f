#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "runtime/base/strings.h"
#include "runtime/framework/task_command.h"
#include "runtime/os/files.h"
#include "tests/support/fake_process_runner.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() {
    MakeProgram("train", "\177ELF and more");
    MakeProgram("script", "#!/bin/sh\n");
    MakeProgram("echo", "\177ELF and more");
    EXPECT_TRUE(WriteNewFile(Path("data"), "\177ELF and more", false).ok());
    std::filesystem::create_directory(Path("folder"));
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  void MakeProgram(const std::string& name, const std::string& content) {
    EXPECT_TRUE(WriteNewFile(Path(name), content, false).ok());
    EXPECT_EQ(chmod(Path(name).c_str(), 0700), 0);
  }
  std::vector<std::string> Environment(const std::string& more = "A=b") const {
    return {StrCat("PATH=/nowhere:", folder_.path().string()), more};
  }
  bool IsSimple(const std::string& command, const std::string& more = "A=b") const {
    return AsSimpleCommand(command, Environment(more)).has_value();
  }

  const TempFolder folder_;
};

TEST_F(CommandTest, ACommandOfPlainWordsIsSplitIntoAProgramAndArguments) {
  const auto simple = AsSimpleCommand(" train --rate=0.1\t-n 3  a:b,c@d%e+f ", Environment());
  ASSERT_TRUE(simple);
  EXPECT_EQ(simple->program, Path("train"));
  EXPECT_THAT(simple->argv, ElementsAre("train", "--rate=0.1", "-n", "3", "a:b,c@d%e+f"));
}

TEST_F(CommandTest, AProgramWithAnAbsolutePathIsStartedWithoutAPathSearch) {
  const auto simple = AsSimpleCommand(Path("train"), {});
  ASSERT_TRUE(simple);
  EXPECT_EQ(simple->program, Path("train"));
}

TEST_F(CommandTest, ACommandWithShellMetacharactersIsRunByBash) {
  for (const char* c : {"'", "\"", "\\", "$", "`", "&", ";", "|", "<", ">",  "(",    ")",       "{",
                        "}", "[",  "]",  "*", "?", "~", "#", "!", "^", "\n", "\x7f", "\xc3\xa4"})
    EXPECT_FALSE(IsSimple(StrCat("train a", c))) << c;
}

TEST_F(CommandTest, ACommandThatStartsWithABuiltinOrAnAssignmentIsRunByBash) {
  for (const char* command : {"echo a", "exit 3", ". train", ": a", "time train", "if train", "A=b train", "%1", ""})
    EXPECT_FALSE(IsSimple(command)) << command;
}

TEST_F(CommandTest, ACommandIsRunByBashIfItsProgramIsNotAnExecutableBinaryFoundInPath) {
  for (const char* command : {"script", "data", "folder", "missing", "./train"})
    EXPECT_FALSE(IsSimple(command)) << command;
  EXPECT_FALSE(AsSimpleCommand("train", {}));
  EXPECT_FALSE(AsSimpleCommand("train", {StrCat("PATH=:", folder_.path().string())})) << "the work folder comes first";
}

TEST_F(CommandTest, ACommandIsRunByBashIfEnvironmentVariablesConfigureBash) {
  for (const char* variable :
       {"BASH_ENV=/x", "BASH_FUNC_train%%=() { :; }", "SHELLOPTS=xtrace", "BASHOPTS=expand_aliases"})
    EXPECT_FALSE(IsSimple("train", variable)) << variable;
}

TEST_F(CommandTest, AProgramStartedWithoutBashGetsTheShlvlAndUnderscoreVariablesThatBashWouldSet) {
  EventLoop loop;
  FakeProcessRunner processes(loop);
  auto environment = Environment("SHLVL=4");
  environment.push_back("_=/usr/bin/tony");
  ASSERT_TRUE(StartCommand(processes, "train", {.env = environment}, nullptr).ok());
  ASSERT_THAT(processes.started, SizeIs(1));
  EXPECT_EQ(processes.started[0].program, Path("train"));
  EXPECT_THAT(processes.started[0].env, ElementsAre(environment[0], "SHLVL=4", StrCat("_=", Path("train"))));

  ASSERT_TRUE(StartCommand(processes, "train", {.env = Environment()}, nullptr).ok());
  EXPECT_THAT(processes.started[1].env, Contains("SHLVL=0"));
}

TEST_F(CommandTest, ACommandWithAPipeIsStartedWithBash) {
  EventLoop loop;
  FakeProcessRunner processes(loop);
  ASSERT_TRUE(StartCommand(processes, "train | tee log", {.env = Environment()}, nullptr).ok());
  EXPECT_THAT(processes.started[0].argv, ElementsAre("/bin/bash", "-c", "train | tee log"));
  EXPECT_EQ(processes.started[0].program, "");
  EXPECT_EQ(processes.started[0].env, Environment());
}

}  // namespace
}  // namespace tony
