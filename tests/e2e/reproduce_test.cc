// `tony reproduce`: a failed task starts again with the program, files, variables and checkpoint of its attempt.
#include "runtime/base/strings.h"
#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class ReproduceTest : public TonyTest {
 protected:
  // Runs a line of bash in the test's folder. $tony is the program.
  Ran Bash(const std::string& line, const Sandbox::Variables& variables = {}) const {
    return Background({"/bin/bash", "-c", StrCat("tony=", ProgramFolder(), "/tony; ", line)},
                      box_.Environment(variables), box_.folder())
        .Wait();
  }
  Ran Reproduce(const Words& words, int exit, const Sandbox::Variables& variables = {}) const {
    return Fails(exit, Words{"reproduce"} + words, variables);
  }
  // Submits a job of one task that fails. Its program is program/train.py.
  std::string FailedPython(const std::string& text, const Words& keys = {}) const {
    box_.Write("program/train.py", text);
    Fails(1, One("python3 train.py", keys) + Words{"-src_dir", box_.File("program")});
    return Job();
  }
  Sandbox::Variables OtherHome() const { return {{"TONY_HOME", box_.File("other")}}; }
  // Returns the files below a folder of the test that contain the text.
  std::string FilesWith(const std::string& text, const std::string& folder) const {
    return Bash(StrCat("grep -rl ", text, " ", folder)).out;
  }

  void SetUp() override { fs::create_directory(box_.File("program")); }
};

TEST_F(ReproduceTest, ATaskStartsAgainWithTheProgramThatTheJobKept) {
  const std::string job = FailedPython("import sys\nprint('out')\nraise ValueError('as submitted')\n");
  box_.Write("program/train.py", "print('edited')\n");
  const Ran ran = Reproduce({job}, 1);
  EXPECT_EQ(ran.out, "out\n");
  EXPECT_THAT(ran.err,
              HasAll({StrCat("worker:0#1 of job ", job, " again, alone\n"), "ValueError: as submitted\n",
                      StrCat("reproduced worker:0#1 of job ", job, ": exit code 1"), "; it ended so before, too\n"}));
  ExpectNothingLeft();
}

TEST_F(ReproduceTest, TheExitCodeIsThatOfTheTask) {
  Fails(1, One("[ $TONY_JOB_ID = $(cat other 2> /dev/null) ] || exit 42"));
  const std::string job = Job();
  EXPECT_EQ(Reproduce({job, "worker:0"}, 42).out, "");
  Fails(1, One("kill -SEGV $$"));
  Reproduce({"last"}, 128 + SIGSEGV);
}

TEST_F(ReproduceTest, ATaskAloneHasTheVariablesThatItHadAmongTheOthers) {
  const std::string command =
      "echo rank $RANK of $WORLD_SIZE, $TONY_TASK $TASK_INDEX/$TASK_NUM at $MASTER_ADDR; [ $RANK != 2 ] || exit 7";
  Fails(1, Words{"submit", "-executes", command, "-shell_env", "COLOUR=blue"} +
               Confs({"tony.application.framework=pytorch", "tony.worker.instances=3"}));
  const Ran ran = Reproduce({Job(), "--alone"}, 7);
  EXPECT_EQ(ran.out, "rank 2 of 3, worker:2 2/3 at 127.0.0.1\n") << ran.err;
}

TEST_F(ReproduceTest, ATaskThatNeedsOthersStartsWithItsGang) {
  // Each worker waits for the other one, in a folder that the test empties between the two runs.
  const std::string meeting = box_.File("meeting");
  fs::create_directory(meeting);
  const std::string command = StrCat("echo > ", meeting, "/$RANK; until [ -e ", meeting, "/$((1 - RANK)) ]; do sleep ",
                                     "0.02; done; [ $RANK = 0 ] && sleep 30; echo rank $RANK of $WORLD_SIZE; exit 6");
  Fails(1, Words{"submit", "-executes", command} +
               Confs({"tony.application.framework=pytorch", "tony.worker.instances=2", "tony.task.stop-grace-ms=100"}));
  const std::string job = Job();
  fs::remove_all(meeting);
  fs::create_directory(meeting);
  const Ran ran = Reproduce({job}, 6);
  EXPECT_EQ(ran.out, "rank 1 of 2\n");
  EXPECT_THAT(ran.err, HasSubstr("worker:1#1 of job " + job + " again, with all 2 tasks\n"));
  ExpectNothingLeft();
}

class ReproducedCheckpointTest : public ReproduceTest {
 protected:
  // Submits a job whose first attempt writes a checkpoint. Its second attempt resumes from it and fails.
  std::string FailedAfterResume() const {
    const std::string command =
        "if [ $TONY_ATTEMPT = 1 ]; then echo step 5 > $TONY_CHECKPOINT_DIR/ckpt-5; exit 3; fi; echo attempt "
        "$TONY_ATTEMPT from $(cat $TONY_RESUME_FROM) of $(ls $TONY_CHECKPOINT_DIR); echo > "
        "$TONY_CHECKPOINT_DIR/ckpt-6; "
        "exit 4";
    fs::create_directory(box_.File("saved"));
    Fails(1, One(command, {"tony.checkpoint.dir=" + box_.File("saved"), "tony.restart.task.budget=1",
                           "tony.restart.backoff-ms=1"}));
    fs::remove(box_.File("saved/ckpt-6"));
    return Job();
  }
};

TEST_F(ReproducedCheckpointTest, AnAttemptResumesFromACopyOfItsCheckpoint) {
  const std::string job = FailedAfterResume();
  box_.Write("saved/ckpt-7", "newer");
  EXPECT_EQ(Reproduce({job}, 4).out, "attempt 2 from step 5 of ckpt-5\n");
  EXPECT_FALSE(fs::exists(box_.File("saved/ckpt-6")));
  Reproduce({job, "worker:0#1"}, 3);
}

TEST_F(ReproducedCheckpointTest, AnOverwrittenCheckpointIsReported) {
  const std::string job = FailedAfterResume();
  box_.Write("saved/ckpt-5", "step 9");
  const Ran ran = FailsInALine(66, {"reproduce", job});
  EXPECT_THAT(ran.err, HasAll({"the checkpoint " + box_.File("saved/ckpt-5") + " was overwritten at ",
                               "the attempt resumed from its state of ", "--checkpoint none"}));
  EXPECT_EQ(box_.Jobs().size(), 1u);
  EXPECT_EQ(Reproduce({job, "--checkpoint", box_.File("saved/ckpt-5")}, 4).out, "attempt 2 from step 9 of ckpt-5\n");
  fs::remove(box_.File("saved/ckpt-5"));
  EXPECT_THAT(FailsInALine(66, {"reproduce", job}).err, HasSubstr("ckpt-5 was removed; "));
  EXPECT_EQ(Reproduce({job, "--checkpoint", "none"}, 4).out, "attempt 2 from of\n");
}

TEST_F(ReproduceTest, SecretsAreAskedForAgainAndAreNotOnTheDisk) {
  const std::string submit =
      "$tony submit -conf tony.application.framework=standalone -conf tony.worker.instances=1 "
      "-executes '[ $PASS = good-pass ] || exit 9' --secrets-fd 9 9<<< '{\"PASS\":\"bad-pass\"}'";
  EXPECT_EQ(Bash(submit).exit, 1);
  const std::string job = Job();
  EXPECT_EQ(
      FailsInALine(64, {"reproduce", job}).err,
      "tony: TonY does not keep the task's secrets, and these are missing: PASS; set them in the environment of this "
      "command, or pass --secrets-fd\n");
  EXPECT_EQ(box_.Jobs().size(), 1u);
  Reproduce({job}, 9, {{"PASS", "bad-pass"}});
  EXPECT_EQ(Bash("$tony reproduce " + job + " --secrets-fd 9 9<<< '{\"PASS\":\"good-pass\"}'").exit, 0);
  EXPECT_EQ(FilesWith("-pass$", "home/jobs/*/environment home/jobs/*/secrets home/jobs/*/work home/jobs/*/logs"), "");
  EXPECT_EQ(FilesWith("bad-pass", "home"), "");
}

TEST_F(ReproduceTest, APackStartsTheTaskOnAMachineThatDoesNotKnowTheJob) {
  box_.Write("data.csv", "1,2\n");
  const std::string job = FailedPython(
      "import os, sys\nprint(open('data.csv').read(), os.environ['KEY_OF_X'])\nraise KeyError('in a pack')\n",
      {"tony.containers.resources=" + box_.File("data.csv"), "tony.execution.envs=KEY_OF_X=visible-key"});
  Succeeds({"reproduce", job, "--pack", box_.File("rank.pack")});
  EXPECT_EQ(FailsInALine(73, {"reproduce", job, "--pack", box_.File("rank.pack")}).err,
            StrCat("tony: make ", box_.File("rank.pack"), ": file exists\n"));
  fs::remove_all(box_.home());
  fs::remove(box_.File("data.csv"));
  EXPECT_EQ(Bash("gunzip < rank.pack | grep -c visible-key").out, "0\n");
  EXPECT_THAT(FailsInALine(64, {"reproduce", box_.File("rank.pack")}, OtherHome()).err,
              HasSubstr("missing: KEY_OF_X;"));
  Sandbox::Variables variables = OtherHome();
  variables["KEY_OF_X"] = "given-key";
  const Ran ran = Reproduce({box_.File("rank.pack")}, 1, variables);
  EXPECT_EQ(ran.out, "1,2\n given-key\n");
  EXPECT_THAT(ran.err, HasAll({"KeyError: 'in a pack'\n", "; it ended so before, too\n"}));
  EXPECT_EQ(FilesWith("given-key", "other").find("environment"), std::string::npos);
  EXPECT_EQ(Bash("ls -A other/staged | grep pack").out, "");
}

TEST_F(ReproducedCheckpointTest, APackHasTheCheckpointOfTheAttempt) {
  const std::string job = FailedAfterResume();
  Succeeds({"reproduce", job, "worker:0#2", "--pack", box_.File("rank.pack")});
  fs::remove_all(box_.home());
  fs::remove_all(box_.File("saved"));
  EXPECT_EQ(Reproduce({box_.File("rank.pack")}, 4, OtherHome()).out, "attempt 2 from step 5 of ckpt-5\n");
}

TEST_F(ReproduceTest, AGarbageCollectionKeepsWhatAKeptJobNeeds) {
  const std::string job = FailedPython("raise ValueError('kept')\n");
  Succeeds({"gc"});
  EXPECT_THAT(Reproduce({job}, 1).err, HasSubstr("ValueError: kept\n"));
  Succeeds({"gc", "--older-than", "0m"});
  EXPECT_THAT(FailsInALine(66, {"reproduce", job}).err,
              HasSubstr("; a job that tony gc has removed can be reproduced only "
                        "from a pack that was made before"));
}

TEST_F(ReproduceTest, AShellOpensInTheFolderAndEnvironmentOfTheTask) {
  const std::string job = FailedPython("raise ValueError\n", {"tony.execution.envs=COLOUR=blue"});
  const Ran ran = Bash("echo 'echo $TONY_TASK $COLOUR $(ls train.py); exit 5' | SHELL=/bin/bash $tony reproduce " +
                       job + " --shell");
  EXPECT_EQ(ran.exit, 5) << ran.err;
  EXPECT_EQ(ran.out, "worker:0 blue train.py\n");
  EXPECT_THAT(ran.err, HasSubstr("the task's command is: python3 train.py\n"));
  ExpectNothingLeft();
}

TEST_F(ReproduceTest, AShellOpensBesideARunningTask) {
  const auto client = Hold(Workers(2, HoldUntilGo(), {"tony.execution.envs=COLOUR=blue"}), 2);
  const std::string job = Job();
  const Ran ran = Bash("echo 'echo $TONY_TASK $COLOUR in ${PWD##*/jobs/}; exit 5' | SHELL=/bin/bash $tony shell " +
                       job + " worker:1");
  EXPECT_EQ(ran.out, StrCat("worker:1 blue in ", job, "/work/worker-1/1\n")) << ran.err;
  EXPECT_EQ(ran.exit, 5);
  GoAndEnd(*client);
  EXPECT_EQ(FailsInALine(66, {"shell", job, "worker:1"}).err,
            StrCat("tony: task worker:1 of job ", job, " does not run (succeeded); tony reproduce ", job,
                   " worker:1 --shell starts it again\n"));
}

class HoldTest : public ReproduceTest {
 protected:
  // Opens a shell in the task, and returns what it prints.
  Ran Shell(const std::string& task) const {
    return Bash(
        "echo 'echo rank $RANK $SECRET in ${PWD##*/jobs/} has $(cat trace); exit 5' | SHELL=/bin/bash $tony shell " +
        Job() + " " + task);
  }
  // Waits until the status of the job has the text.
  void Await(const std::string& text) const {
    ASSERT_TRUE(WaitFor([&] { return Succeeds({"status", Job()}).out.find(text) != std::string::npos; })) << text;
  }
};

TEST_F(HoldTest, AShellEntersAFailedTaskWhileTheOtherTasksGoOn) {
  const std::string command =
      "if [ $TONY_ATTEMPT$RANK = 11 ]; then echo nan > trace; sleep 600 & exit 7; fi; until [ -e " + box_.File("go") +
      " ]; do sleep 0.02; done; exit 0";
  Succeeds(Words{"submit", "--detach", "-executes", command, "--hold", "10m", "-shell_env", "SECRET=held"} +
           Confs({"tony.application.framework=pytorch", "tony.worker.instances=2", "tony.restart.gang.budget=1",
                  "tony.restart.backoff-ms=1"}));
  Await("worker:1#1 is held for tony shell until ");
  Await("generation 2");
  const Ran shell = Shell("worker:1#1");
  EXPECT_EQ(shell.out, "rank 1 held in " + Job() + "/work/worker-1/1 has nan\n") << shell.err;
  EXPECT_EQ(shell.exit, 5);
  box_.Write("go", "");
  Await("verdict SUCCEEDED is known; waiting until ");
  Succeeds({"kill", Job()});
  Succeeds({"wait", Job()});
  ExpectNothingLeft();
}

TEST_F(HoldTest, ADeadApplicationMasterKeepsTheHoldAndItsEnd) {
  Succeeds(One("exit 7", {"tony.task.hold=4s"}) + Words{"--detach"});
  Await("verdict FAILED is known; waiting until ");
  const std::string until = Text(ParseJson(Succeeds({"status", Job(), "--json"}).out), "/held/until");
  KillTogether({"tony-am"});
  Await("epoch 2");
  EXPECT_EQ(Text(ParseJson(Succeeds({"status", Job(), "--json"}).out), "/held/until"), until);
  Fails(1, {"wait", Job()});
  ExpectNothingLeft();
}

TEST_F(ReproduceTest, ADebuggerStartsThePythonProgram) {
  const std::string job = FailedPython("import os\nrank = os.environ['TONY_TASK']\nraise ValueError('in pdb')\n");
  const Ran ran = Bash("printf 'c\\np rank\\nq\\n' | $tony reproduce " + job + " --debugger");
  EXPECT_THAT(ran.out, HasAll({"-> raise ValueError('in pdb')", "'worker:0'"})) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("ValueError: in pdb"));
  ExpectNothingLeft();
}

TEST_F(ReproduceTest, ARequestThatCannotBeMetIsRefusedInALine) {
  const std::string job = FailedPython("raise ValueError\n");
  EXPECT_EQ(FailsInALine(66, {"reproduce", job, "worker:1"}).err,
            StrCat("tony: job ", job, ": the job has no task worker:1; its tasks are worker:0 to 0\n"));
  EXPECT_THAT(FailsInALine(66, {"reproduce", job, "worker:0#2"}).err,
              HasSubstr("worker:0#2 was never started, so there is nothing to reproduce\n"));
  EXPECT_THAT(FailsInALine(64, {"reproduce", job, "worker"}).err, HasSubstr("expected a task as ROLE:INDEX"));
  EXPECT_THAT(FailsInALine(64, {"reproduce", job, "--gang", "--alone"}).err, HasSubstr("exclude each other"));
  EXPECT_THAT(FailsInALine(64, {"reproduce", job, "--on", "mars"}).err,
              HasSubstr("--on \"mars\": expected local or yarn\n"));
  EXPECT_THAT(FailsInALine(64, {"reproduce", job, "--on", "yarn", "--shell"}).err,
              HasSubstr("--shell needs the task on this machine; leave out --on yarn, or leave out --shell\n"));
  EXPECT_THAT(FailsInALine(64, {"reproduce", job, "--queue", "gpus"}).err, HasSubstr("add --on yarn\n"));
  EXPECT_THAT(FailsInALine(65, {"reproduce", job, "--on", "yarn"}).err, HasSubstr("HADOOP_CONF_DIR is not set: "));
  EXPECT_THAT(FailsInALine(65, {"reproduce", box_.Write("no.pack", "text")}).err, HasSubstr("read the pack "));
  EXPECT_THAT(FailsInALine(65, {"reproduce", job, "--memory", "9x"}).err, HasSubstr("\"9x\" (from --memory)"));
  EXPECT_EQ(box_.Jobs().size(), 1u);
  Succeeds(Workers(2, "cd . && true"));
  const std::string good = box_.Jobs().back() == job ? box_.Jobs().front() : box_.Jobs().back();
  EXPECT_THAT(FailsInALine(64, {"reproduce", good}).err, HasSubstr("name the task, e.g. worker:0\n"));
  EXPECT_THAT(FailsInALine(64, {"reproduce", good, "worker:0", "--debugger"}).err, HasSubstr("use --shell"));
}

}  // namespace
}  // namespace tony
