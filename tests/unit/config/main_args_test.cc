#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/config/submit_flags.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string ArgumentError(const std::string& text) {
  const auto parsed = ParseMainArgs({text, "train.job:2"});
  if (parsed.ok()) return "accepted";
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  return parsed.error().message;
}

TEST(MainArgsTest, TheLineIsCutAsAzkabanCutIt) {
  EXPECT_THAT(SplitCommandLine("  a  b "), ElementsAre("a", "b"));
  EXPECT_THAT(SplitCommandLine("a\tb\nc"), ElementsAre("a\tb\nc")) << "only the blank separates";
  EXPECT_THAT(SplitCommandLine("p='a b'c \"d e\"f"), ElementsAre("p=a bc", "d ef"));
  EXPECT_THAT(SplitCommandLine(R"('say "hi"' "it's")"), ElementsAre("say \"hi\"", "it's"));
  EXPECT_THAT(SplitCommandLine(R"(a\ b \" c" d)"), ElementsAre("a\\", "b", "\\ c", "d")) << "a backslash is no escape";
  EXPECT_THAT(SplitCommandLine("a '' \"\" b"), ElementsAre("a", "b")) << "empty words vanish";
  EXPECT_THAT(SplitCommandLine("a 'b c"), ElementsAre("a", "b c")) << "an open quote takes the rest";
  EXPECT_THAT(SplitCommandLine("$HOME * `x`"), ElementsAre("$HOME", "*", "`x`"));
  EXPECT_THAT(SplitCommandLine("  "), ElementsAre());
}

TEST(MainArgsTest, OptionsMayBeWrittenInFourWays) {
  const auto options = ParseMainArgs({"-conf a=1 --conf b=2 -conf=c=3 --conf=d=4 --executes='python train.py'", "x"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_THAT(options->conf, ElementsAre("a=1", "b=2", "c=3", "d=4"));
  EXPECT_EQ(options->executes, "python train.py");
}

TEST(MainArgsTest, EveryOptionOfTonyIsKnown) {
  const auto options = ParseMainArgs(
      {"-conf a=1 -conf_file f.xml -container_env C=1 -executes e -hdfs_classpath h -python_binary_path b "
       "-python_venv v -shell_env S=1 -sidecar_tensorboard_log_dir t -debug -src_dir s -task_params p",
       "x"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->conf_file + options->executes + options->hdfs_classpath + options->python_binary_path, "f.xmlehb");
  EXPECT_EQ(options->python_venv + options->sidecar_tensorboard_log_dir + options->src_dir + options->task_params,
            "vtsp");
  EXPECT_THAT(options->container_env, ElementsAre("C=1"));
  EXPECT_THAT(options->shell_env, ElementsAre("S=1"));
}

TEST(MainArgsTest, OfAnOptionThatIsGivenTwiceTheFirstCounts) {
  EXPECT_EQ(ParseMainArgs({"-executes a -executes b", "x"})->executes, "a");
}

TEST(MainArgsTest, AValueMayBeginWithADashUnlessItIsAnOption) {
  EXPECT_EQ(ParseMainArgs({"-task_params '--steps 5 --x=1' -src_dir=s", "x"})->task_params, "--steps 5 --x=1");
  EXPECT_EQ(ParseMainArgs({"-task_params --steps", "x"})->task_params, "--steps");
  EXPECT_EQ(ArgumentError("-task_params -src_dir s"),
            "main.args (from train.job:2), word 1, -task_params: expected a value");
  EXPECT_EQ(ArgumentError("-task_params --src_dir=s"),
            "main.args (from train.job:2), word 1, -task_params: expected a value");
}

TEST(MainArgsTest, WhatTonyDroppedSilentlyIsAnErrorWithTheWordsNumber) {
  EXPECT_THAT(
      ArgumentError("-executes python train.py"),
      HasSubstr("main.args (from train.job:2), word 3: expected an option; a value of several words belongs in"));
  EXPECT_THAT(ArgumentError("-conf a=1 --queue ml"),
              HasSubstr("main.args (from train.job:2), word 3, -queue: no such option; expected -conf, -conf_file, "));
  EXPECT_EQ(ArgumentError("-src_dir s -executes"), "main.args (from train.job:2), word 3, -executes: expected a value");
  EXPECT_EQ(ArgumentError("-src_dir="), "main.args (from train.job:2), word 1, -src_dir: expected a value");
  EXPECT_EQ(ArgumentError("-src_dir ''"), "main.args (from train.job:2), word 1, -src_dir: expected a value");
  EXPECT_EQ(ArgumentError("-conf a"), "main.args (from train.job:2), word 1, -conf: expected NAME=VALUE");
  EXPECT_EQ(ArgumentError("-shell_env ' =1'"), "main.args (from train.job:2), word 1, -shell_env: expected NAME=VALUE");
  EXPECT_EQ(ArgumentError("-debug=1"), "main.args (from train.job:2), word 1, -debug: takes no value");
  EXPECT_EQ(ArgumentError("  "), "accepted");
}

TEST(MainArgsTest, AMessageNeverHoldsAValue) {
  for (const char* text : {"hunter2", "-shell_env hunter2", "-conf =hunter2", "-shell_env A= hunter2", "-x=hunter2",
                           "-shell_env TOKEN= -hunter2", "--hunter2 y", "- hunter2", "-shell_env 'hunter2' --x"}) {
    const std::string message = ArgumentError(text);
    EXPECT_NE(message, "accepted") << text;
    EXPECT_THAT(message, Not(HasSubstr("hunter2"))) << text;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace tony
