// `tony run` runs a job from a command line alone; `tony init` writes a first job.
#include "runtime/base/strings.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class RunTest : public TonyTest {
 protected:
  // Runs `tony run` in the folder "program".
  Ran Run(const Words& words, const Sandbox::Variables& variables = {}) const {
    const Words command = Words{ProgramFolder() + "/tony", "run", "--memory", "150m"} + words;
    return Background(command, box_.Environment(variables), box_.File("program")).Wait();
  }
  void SetUp() override { fs::create_directory(box_.File("program")); }
};

TEST_F(RunTest, TonyRunExecutesTheCommandInCopiesOfTheCurrentFolder) {
  box_.Write("program/train.sh", "echo \"$RANK of $WORLD_SIZE: $2\"; echo > written\n");
  const Ran ran = Run({"-n", "2", "--name", "small", "--", "sh", "train.sh", "--lr", "0.1, it's $HOME"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(LogText("worker-0", "stdout"), "0 of 2: 0.1, it's $HOME\n");
  EXPECT_EQ(LogText("worker-1", "stdout"), "1 of 2: 0.1, it's $HOME\n");
  EXPECT_FALSE(fs::exists(box_.File("program/written")));
  EXPECT_THAT(box_.Tony({"status", "small"}).out, HasSubstr("SUCCEEDED"));
  ExpectNothingLeft();
}

TEST_F(RunTest, TonyRunPassesASingleArgumentToTheShell) {
  EXPECT_EQ(
      Run({"--conf", "tony.application.framework=standalone", "--shell_env", "A=b c", "--", "echo \"$A\"; exit 3"})
          .exit,
      1);
  EXPECT_EQ(LogText("worker-0", "stdout"), "b c\n");
}

TEST_F(RunTest, TonyRunRefusesInvalidArguments) {
  const Ran bare = Run({"sh", "train.sh", "--name", "x"});
  EXPECT_EQ(bare.exit, 64);
  EXPECT_EQ(bare.err, "tony: run: unexpected word \"sh\"; write the command after --\n");
  EXPECT_EQ(Run({}).err, "tony: run: expected -- COMMAND [ARGUMENT...]\n");
  const Ran count = Run({"-n", "two", "--", "true"});
  EXPECT_EQ(count.exit, 65);
  EXPECT_THAT(count.err, StartsWith("tony: tony.worker.instances: \"two\" (from -conf)"));
  box_.Write("program/train.sh", "");
  const Ran home = Run({"--", "sh", "train.sh"}, {{"HOME", box_.File("program")}});
  EXPECT_EQ(home.exit, 64);
  EXPECT_THAT(home.err,
              HasSubstr("cannot be the program's folder; change to your program's folder, or name it with --src_dir\n"));
  EXPECT_TRUE(box_.Jobs().empty());
}

class InitTest : public TonyTest {
 protected:
  Ran In(const std::string& folder, const Words& words) const {
    fs::create_directories(box_.File(folder));
    return Background(Words{ProgramFolder() + "/tony"} + words, box_.Environment(), box_.File(folder)).Wait();
  }
};

// tests/e2e/sample_run runs the kinds that need a framework.
TEST_F(InitTest, TheInitCommandWritesAJobFileThatRuns) {
  const Ran init = In("batch", {"init", "batch"});
  EXPECT_EQ(init.exit, 0) << init.err;
  EXPECT_EQ(init.out, "wrote job.yaml and work.py\nnext: tony submit job.yaml\n");
  const Ran ran = In("batch", {"submit", "job.yaml"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(LogText("worker-3", "stdout"), "task 3 of 4: 25 items, sum of squares 85825\n");
  for (const char* kind : {"pytorch", "jax", "tensorflow"}) {
    EXPECT_EQ(In(kind, {"init", kind, "--json"}).out,
              StrCat(R"({"schema":1,"kind":")", kind, R"(","files":["job.yaml","train.py"]})", "\n"));
    const Ran plan = In(kind, {"plan", "--strict", "job.yaml"});
    EXPECT_EQ(plan.exit, 0) << plan.err;
  }
}

TEST_F(InitTest, TheInitCommandOverwritesNoFileAndRefusesAnUnknownKindOfJob) {
  fs::create_directory(box_.File("here"));
  box_.Write("here/train.py", "mine");
  const Ran over = In("here", {"init"});
  EXPECT_EQ(over.exit, 73);
  EXPECT_EQ(over.err,
            "tony: init: train.py already exists, so nothing was written; move the file away, or use another folder\n");
  EXPECT_EQ(ReadText(box_.File("here/train.py")), "mine");
  EXPECT_FALSE(fs::exists(box_.File("here/job.yaml")));
  const Ran unknown = In("there", {"init", "keras"});
  EXPECT_EQ(unknown.exit, 64);
  EXPECT_EQ(unknown.err, "tony: init: unknown kind \"keras\"; expected one of pytorch, jax, tensorflow, batch\n");
}

}  // namespace
}  // namespace tony
