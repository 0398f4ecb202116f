// `tony run`: a job from a command line alone.
#include <filesystem>

#include "tests/e2e/tony_test.h"
#include "tests/support/places.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RunTest : public TonyTest {
 protected:
  // In the folder of a program.
  Ran Run(const Words& words, const Sandbox::Variables& variables = {}) const {
    const Words command = Words{ProgramFolder() + "/tony", "run", "--memory", "150m"} + words;
    return Background(command, box_.Environment(variables), box_.File("program")).Wait();
  }
  void SetUp() override { std::filesystem::create_directory(box_.File("program")); }
};

TEST_F(RunTest, TheWorkersRunTheCommandInCopiesOfItsFolder) {
  box_.Write("program/train.sh", "echo \"$RANK of $WORLD_SIZE: $2\"; echo > written\n");
  const Ran ran = Run({"-n", "2", "--name", "small", "--", "sh", "train.sh", "--lr", "0.1, it's $HOME"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(LogText("worker-0", "stdout"), "0 of 2: 0.1, it's $HOME\n");
  EXPECT_EQ(LogText("worker-1", "stdout"), "1 of 2: 0.1, it's $HOME\n");
  EXPECT_FALSE(std::filesystem::exists(box_.File("program/written")));
  EXPECT_THAT(box_.Tony({"status", "small"}).out, HasSubstr("SUCCEEDED"));
  ExpectNothingLeft();
}

TEST_F(RunTest, AWordAloneIsALineForTheShell) {
  EXPECT_EQ(
      Run({"--conf", "tony.application.framework=standalone", "--shell_env", "A=b c", "--", "echo \"$A\"; exit 3"})
          .exit,
      1);
  EXPECT_EQ(LogText("worker-0", "stdout"), "b c\n");
}

TEST_F(RunTest, WhatIsNotUnderstoodStartsNothing) {
  const Ran bare = Run({"sh", "train.sh", "--name", "x"});
  EXPECT_EQ(bare.exit, 64);
  EXPECT_EQ(bare.err, "tony: run: stray word \"sh\"; the command goes behind --\n");
  EXPECT_EQ(Run({}).err, "tony: run: expected -- COMMAND [ARGUMENT...]\n");
  const Ran count = Run({"-n", "two", "--", "true"});
  EXPECT_EQ(count.exit, 65);
  EXPECT_THAT(count.err, StartsWith("tony: tony.worker.instances: \"two\" (from -conf)"));
  box_.Write("program/train.sh", "");
  const Ran home = Run({"--", "sh", "train.sh"}, {{"HOME", box_.File("program")}});
  EXPECT_EQ(home.exit, 64);
  EXPECT_THAT(home.err,
              HasSubstr("is no program's folder; go to the one of your program, or name it with --src_dir\n"));
  EXPECT_TRUE(box_.Jobs().empty());
}

}  // namespace
}  // namespace tony
