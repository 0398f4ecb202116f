// What a restarted task is told about checkpoints, and what ends a job that makes none.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class ResumeTest : public TonyTest {
 protected:
  // `first` in the first attempt; later ones write down what they were told, and run `then`.
  std::string FirstAndThen(const std::string& first, const std::string& then) const {
    return "echo ${TONY_RESUME_FROM-none} $TONY_CHECKPOINT_DIR $TONY_GENERATION ${NUM_AM_RETRIES-0} > " +
           box_.File("told-") + "$JOB_NAME-$TASK_INDEX-$TONY_ATTEMPT; if [ $TONY_ATTEMPT = 1 ]; then " + first +
           "; else " + then + "; fi";
  }
  std::string Told(const std::string& task, int attempt) const {
    return ReadText(box_.File("told-" + task + "-" + std::to_string(attempt)));
  }
  std::string Saved(const std::string& name = "") const {
    return box_.File("saved") + (name.empty() ? "" : "/" + name);
  }
  Words WithCheckpoints() const {
    return Confs({"tony.checkpoint.dir=" + Saved(), "tony.checkpoint.pattern=ckpt-*", "tony.restart.backoff-ms=1"});
  }
};

TEST_F(ResumeTest, ARestartedTaskIsToldTheNewestCheckpoint) {
  const std::string save = "cd $TONY_CHECKPOINT_DIR; touch ckpt-7 ckpt-12 ckpt-13.tmp other-99; exit 3";
  fs::create_directory(Saved());
  box_.Write("saved/ckpt-5", "of an earlier job");
  const Ran ran = Succeeds(One(FirstAndThen(save, "exit 0")) + WithCheckpoints() + Conf("tony.restart.task.budget=1") +
                           Words{"--json"});
  EXPECT_EQ(Told("worker-0", 1), "none " + Saved() + " 1 0\n") << "a first start resumes nothing";
  EXPECT_THAT(Told("worker-0", 2), HasSubstr(Saved("ckpt-12") + " " + Saved() + " "));
  EXPECT_EQ(Number(ParseJson(ran.out), "/restart_count"), 1);
  ExpectNothingLeft();
}

TEST_F(ResumeTest, AGangGoesOnFromOneCheckpoint) {
  const std::string save = "if [ $TASK_INDEX = 1 ]; then until [ -e " + Saved("ckpt-4") +
                           " ]; do sleep 0.02; done; exit 3; fi; mkdir -p " + Saved() + "; touch " + Saved("ckpt-4") +
                           "; exec sleep 100";
  const Ran ran = Succeeds(Workers(2, FirstAndThen(save, "exit 0")) + WithCheckpoints() +
                           Conf("tony.restart.gang.budget=1") + Words{"--json"});
  for (const char* task : {"worker-0", "worker-1"}) {
    EXPECT_EQ(Told(task, 1), "none " + Saved() + " 1 0\n");
    EXPECT_EQ(Told(task, 2), Saved("ckpt-4") + " " + Saved() + " 2 1\n");
  }
  EXPECT_EQ(Number(ParseJson(ran.out), "/restart_count"), 1);
  ExpectNothingLeft();
}

TEST_F(ResumeTest, AJobThatMakesNoCheckpointsStartsFromTheBeginningAndThenGivesUp) {
  const Ran ran = Fails(1, One(FirstAndThen("exit 3", "exit 3")) + WithCheckpoints() +
                               Conf("tony.restart.task.budget=100") + Words{"--json"});
  const auto status = ParseJson(ran.out);
  EXPECT_EQ(Text(status, "/state"), "FAILED");
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("without a newer checkpoint in " + Saved()));
  EXPECT_EQ(Number(status, "/verdict/exit_code"), 3);
  EXPECT_EQ(Told("worker-0", 4), "none " + Saved() + " 1 0\n") << "three restarts";
  EXPECT_EQ(Told("worker-0", 5), "") << "and no fourth";
  ExpectNothingLeft();
}

TEST_F(ResumeTest, ANewCheckpointGivesTheJobNewTries) {
  const std::string save =
      "mkdir -p $TONY_CHECKPOINT_DIR; touch $TONY_CHECKPOINT_DIR/ckpt-$TONY_ATTEMPT; "
      "[ $TONY_ATTEMPT = 6 ]";
  Succeeds(One(FirstAndThen(save, save)) + WithCheckpoints() +
           Confs({"tony.checkpoint.fruitless-restarts=1", "tony.restart.task.budget=5"}));
  EXPECT_THAT(Told("worker-0", 6), HasSubstr(Saved("ckpt-5") + " "));
  ExpectNothingLeft();
}

// ---- whose a checkpoint is

constexpr auto kSaveAndFail = "mkdir -p $TONY_CHECKPOINT_DIR; touch $TONY_CHECKPOINT_DIR/ckpt-12; exit 3";

TEST_F(ResumeTest, AnEarlierJobsCheckpointIsNotResumedFrom) {
  fs::create_directory(Saved());
  box_.Write("saved/ckpt-99", "of an earlier job");
  const Ran ran =
      Succeeds(One(FirstAndThen("exit 3", "[ $TONY_ATTEMPT = 3 ] || { " + std::string(kSaveAndFail) + "; }")) +
               WithCheckpoints() + Conf("tony.restart.task.budget=2") + Words{"--json"});
  EXPECT_EQ(Told("worker-0", 2), "none " + Saved() + " 1 0\n") << "the job has written none yet";
  EXPECT_EQ(Told("worker-0", 3), Saved("ckpt-12") + " " + Saved() + " 1 0\n");
  const auto status = ParseJson(ran.out);
  EXPECT_EQ(Text(status, "/checkpoint/resumed_from/path"), Saved("ckpt-12"));
  EXPECT_EQ(Text(status, "/checkpoint/resumed_from/writer"), "this_job");
}

TEST_F(ResumeTest, WhatTheJobWritesOverAnEarlierJobsCheckpointIsItsOwn) {
  fs::create_directory(Saved());
  fs::create_directory(Saved("ckpt-7"));
  box_.Write("saved/ckpt-7/weights", "of an earlier job");
  box_.Write("saved/ckpt-99", "of an earlier job");
  const std::string save = "echo more >> $TONY_CHECKPOINT_DIR/ckpt-7/weights; exit 3";
  Succeeds(One(FirstAndThen(save, "exit 0")) + WithCheckpoints() + Conf("tony.restart.task.budget=1"));
  EXPECT_EQ(Told("worker-0", 2), Saved("ckpt-7") + " " + Saved() + " 1 0\n");
}

TEST_F(ResumeTest, TheLatestCheckpointOfAnybodyIsResumedFromWhereThatIsAskedFor) {
  fs::create_directory(Saved());
  box_.Write("saved/ckpt-99", "of an earlier job");
  const Ran ran = Succeeds(One(FirstAndThen("exit 0", "exit 1")) + WithCheckpoints() +
                           Conf("tony.checkpoint.resume=latest") + Words{"--json"});
  EXPECT_EQ(Told("worker-0", 1), Saved("ckpt-99") + " " + Saved() + " 1 0\n");
  EXPECT_EQ(Text(ParseJson(ran.out), "/checkpoint/resumed_from/writer"), "others");
}

TEST_F(ResumeTest, AnEnginesNextTryGoesOnWhereItsJobBeforeWas) {
  fs::create_directory(Saved());
  box_.Write("saved/ckpt-99", "of an earlier job");
  const auto submit = [&](const std::string& number, const std::string& command) {
    return box_.Tony(One(FirstAndThen(command, "exit 1")) + WithCheckpoints() +
                     Words{"--request-id", "run/train", "--submission", number, "--json"});
  };
  const Ran first = submit("0", kSaveAndFail);
  EXPECT_EQ(first.exit, 1) << first.err << first.out;
  EXPECT_EQ(Told("worker-0", 1), "none " + Saved() + " 1 0\n");

  const Ran second = submit("0", "exit 3");
  EXPECT_EQ(Told("worker-0", 1), Saved("ckpt-12") + " " + Saved() + " 1 0\n");
  const auto status = ParseJson(second.out);
  EXPECT_EQ(Text(status, "/checkpoint/resumed_from/writer"), "earlier_job");
  EXPECT_EQ(Text(status, "/checkpoint/resumed_from/job"), Text(ParseJson(first.out), "/job"));

  const Ran asked_anew = submit("1", "exit 0");
  EXPECT_EQ(asked_anew.exit, 0) << asked_anew.err << asked_anew.out;
  EXPECT_EQ(Told("worker-0", 1), "none " + Saved() + " 1 0\n") << "somebody wants it done again";
}

TEST_F(ResumeTest, TwoRunningJobsDoNotShareAFolder) {
  fs::create_directory(Saved());
  fs::create_directory_symlink(Saved(), box_.File("link"));
  HoldDetached(One(HoldUntilGo()) + WithCheckpoints());
  const std::string first = Job();

  const Ran second = Fails(1, One("exit 0", {"tony.checkpoint.dir=" + box_.File("link")}) + Words{"--json"});
  EXPECT_EQ(Text(ParseJson(second.out), "/verdict/class"), "user_config");
  EXPECT_THAT(Text(ParseJson(second.out), "/verdict/message"),
              HasSubstr("tony.checkpoint.dir: " + box_.File("link") + " is in use by job " + first));
  Go();
  Succeeds({"wait", first});

  Succeeds(One("exit 0") + WithCheckpoints());
}

}  // namespace
}  // namespace tony
