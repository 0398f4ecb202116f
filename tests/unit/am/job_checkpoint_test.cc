// Restarts of a job that declares checkpoints: look first, resume from the newest, and give up where none is new.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kLookLimit{60'000};

JobBuilder OneWorker() {
  return JobBuilder()
      .Role("worker", 1)
      .Framework(FrameworkKind::kPytorch)
      .Restarts(kGang, 20)
      .Backoff(Duration(0), Duration(0))
      .RegistrationTimeout(std::chrono::hours(1))
      .Checkpoints("/ckpt", 3);
}

Checkpoint Step(int step) { return {StrCat("/ckpt/step-", step), step, JobDriver::kStart + Duration(step)}; }

// Restarts one after the other, each with what its look finds.
class Restarts {
 public:
  explicit Restarts(JobSpec spec) : driver(std::move(spec)) { driver.Running(); }

  std::string Name() const { return StrCat("worker:0#", number_); }
  TurnResult Fail() { return driver.Report(Name(), Failure(1)); }
  TurnResult See(std::optional<Checkpoint> newest, bool readable = true) {
    return driver.SeeCheckpoint(number_, std::move(newest), readable);
  }
  void GoOn() {
    ++number_;
    driver.GrantAll().RegisterAll().RunAll();
  }
  void Once(std::optional<Checkpoint> newest, bool readable = true) {
    Fail();
    See(std::move(newest), readable);
    GoOn();
  }
  JobDriver driver;

 private:
  int number_ = 1;
};

TEST(JobCheckpointTest, ItLooksBeforeTheRestartBegins) {
  Restarts job(OneWorker().Build());

  const TurnResult failed = job.Fail();
  const TurnResult seen = job.See(Step(5));

  EXPECT_THAT(Decisions(failed), ElementsAre("attempt_ended", "restart_decided", "checkpoint_sought"));
  EXPECT_THAT(Orders(failed), ElementsAre("look 1"));
  EXPECT_THAT(Decisions(seen), ElementsAre("checkpoint_noted", "restart_began", "gang_allocated"));
}

TEST(JobCheckpointTest, ARestartedTaskIsToldWhereToResume) {
  Restarts job(OneWorker().Build());
  EXPECT_EQ(job.driver.CommandFor("worker:0").resume_from, "");

  job.Once(Step(5));

  EXPECT_EQ(job.driver.CommandFor("worker:0#2").resume_from, "/ckpt/step-5");
}

TEST(JobCheckpointTest, OnlyRestartedTasksResume) {
  JobDriver driver(JobBuilder()
                       .Role("worker", 2)
                       .Framework(FrameworkKind::kStandalone)
                       .Restarts(kTask, 1)
                       .Checkpoints("/ckpt")
                       .Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.SeeCheckpoint(1, Step(5));
  driver.Register("worker:0#2");

  EXPECT_EQ(driver.CommandFor("worker:0#2").resume_from, "/ckpt/step-5");
  EXPECT_EQ(driver.CommandFor("worker:1").resume_from, "");
}

TEST(JobCheckpointTest, WithoutAnyCheckpointTheTaskBeginsAnew) {
  Restarts job(OneWorker().Build());

  job.Once(std::nullopt);

  EXPECT_EQ(job.driver.Told("worker:0#2"), "start 2");
  EXPECT_EQ(job.driver.CommandFor("worker:0#2").resume_from, "");
}

TEST(JobCheckpointTest, WhatIsSeenForNobodyOrTwiceChangesNothing) {
  Restarts job(OneWorker().Build());
  EXPECT_THAT(Decisions(job.See(Step(1))), IsEmpty());
  job.Fail();
  job.See(Step(1));

  EXPECT_THAT(Decisions(job.See(Step(2))), IsEmpty());
}

// Its restart was due by the clock of the AM before, which is ahead.
TEST(JobCheckpointTest, WhereTheClockIsBehindTheEndIsNotWaitedForButTheRestartIs) {
  JobSpec spec = OneWorker().Build();
  spec.checkpoint.most_fruitless = 1;
  Restarts hopeful(spec), hopeless(spec);
  for (Restarts* job : {&hopeful, &hopeless}) {
    job->Once(Step(1));
    job->Fail();
    job->driver.WaitWithoutRenewal(Duration(-500));
  }
  EXPECT_THAT(Decisions(hopeful.See(Step(5))), ElementsAre("checkpoint_noted"));
  EXPECT_THAT(Decisions(hopeless.See(std::nullopt)), ElementsAre("checkpoint_noted", "job_stopping"));
}

TEST(JobCheckpointTest, ADirectoryThatCannotBeReadLeavesTheLastCheckpointInForce) {
  Restarts job(OneWorker().Build());
  job.Once(Step(5));

  job.Once(std::nullopt, /*readable=*/false);

  EXPECT_EQ(job.driver.CommandFor("worker:0#3").resume_from, "/ckpt/step-5");
}

TEST(JobCheckpointTest, ALookThatIsNotAnsweredIsNotWaitedForForEver) {
  Restarts job(OneWorker().Build());
  job.Once(Step(5));
  job.Fail();
  job.driver.Wait(kLookLimit - Duration(1));
  EXPECT_THAT(Decisions(job.driver.Pass(Duration(0))), IsEmpty());
  EXPECT_EQ(job.driver.job().NextDeadline(), job.driver.now() + Duration(1));

  const TurnResult turn = job.driver.Pass(Duration(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("checkpoint_noted", "restart_began", "gang_allocated"));
  job.GoOn();
  EXPECT_EQ(job.driver.CommandFor("worker:0#3").resume_from, "/ckpt/step-5");
}

// What it would be told before is not the same any more, though its number is, and is told with the turn that notes it.
TEST(JobCheckpointTest, WhoHasStillToStartIsToldOfANewerCheckpointThatAnotherRestartHasFound) {
  JobDriver driver(JobBuilder()
                       .Role("worker", 2)
                       .Framework(FrameworkKind::kStandalone)
                       .Restarts(kTask, 9)
                       .Backoff(Duration(0), Duration(0))
                       .Checkpoints("/ckpt")
                       .Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.SeeCheckpoint(1, Step(5));
  driver.Register("worker:0#2");
  const TellExecutor before = driver.job().Tell(AttemptOf("worker:0#2"));
  EXPECT_EQ(before.resume_from, "/ckpt/step-5");

  driver.Report("worker:1", Failure(1));
  const TurnResult noted = driver.SeeCheckpoint(2, Step(7));

  const TellExecutor now = driver.job().Tell(AttemptOf("worker:0#2"));
  EXPECT_EQ(now.number, before.number);
  EXPECT_EQ(driver.CommandFor("worker:0#2").resume_from, "/ckpt/step-7");
  EXPECT_THAT(noted.actions, testing::Contains(testing::VariantWith<TellExecutor>(now)));
}

TEST(JobCheckpointTest, ItLooksOnlyWhenAllHasEnded) {
  JobDriver driver(
      JobBuilder().Role("worker", 2).Framework(FrameworkKind::kPytorch).Restarts(kGang, 1).Checkpoints("/c").Build());
  driver.Running();

  EXPECT_THAT(Decisions(driver.Report("worker:0", Failure(1))), ElementsAre("attempt_ended", "restart_decided"));
  EXPECT_THAT(Decisions(driver.Report("worker:1", Killed())), ElementsAre("attempt_ended", "checkpoint_sought"));
}

// ---- giving up

TEST(JobCheckpointTest, AfterThreeRestartsWithoutANewerCheckpointTheJobFailsWithThatReason) {
  Restarts job(OneWorker().Build());
  job.Once(Step(5));  // it may have been there before the job
  for (int i = 0; i < 2; ++i) job.Once(Step(5));
  job.Fail();

  const TurnResult turn = job.See(Step(5));

  EXPECT_THAT(Decisions(turn), ElementsAre("checkpoint_noted", "job_stopping"));
  EXPECT_EQ(job.driver.job().verdict()->message,
            "worker:0 failed on node-worker-0: exit code 1 (user_error); 3 restarts without a newer checkpoint than "
            "/ckpt/step-5");
  EXPECT_EQ(job.driver.job().verdict()->state, FinalState::kFailed);
  EXPECT_EQ(job.driver.job().verdict()->attempt, AttemptOf("worker:0#4"));
  EXPECT_EQ(job.driver.Told("worker:0#4"), "release");
}

TEST(JobCheckpointTest, AJobThatNeverLeavesACheckpointIsGivenUpToo) {
  Restarts job(OneWorker().Build());
  for (int i = 0; i < 3; ++i) job.Once(std::nullopt);
  job.Fail();

  job.See(std::nullopt);

  EXPECT_THAT(job.driver.job().verdict()->message, HasSubstr("3 restarts without a newer checkpoint in /ckpt"));
}

TEST(JobCheckpointTest, ANewerCheckpointBeginsTheCountAnew) {
  Restarts job(OneWorker().Build());
  for (int i = 0; i < 3; ++i) job.Once(Step(5));
  job.Once(Step(6));
  for (int i = 0; i < 2; ++i) job.Once(Step(6));
  EXPECT_FALSE(job.driver.job().verdict());
  job.Fail();

  job.See(Step(6));

  EXPECT_TRUE(job.driver.job().verdict());
}

TEST(JobCheckpointTest, WhatIsNotKnownIsNotHeldAgainstTheProgram) {
  Restarts job(OneWorker().Build());
  job.Once(Step(5));
  for (int i = 0; i < 5; ++i) job.Once(std::nullopt, /*readable=*/false);
  for (int i = 0; i < 2; ++i) job.Once(Step(5));
  EXPECT_FALSE(job.driver.job().verdict());
  job.Fail();

  job.See(Step(5));

  EXPECT_TRUE(job.driver.job().verdict());
}

TEST(JobCheckpointTest, TheSameOrAnOlderOneIsNoProgressNorIsNoneAtAll) {
  Checkpoint older = Step(50);
  older.modified = Step(4).modified;
  for (const std::optional<Checkpoint>& seen : {std::optional(Step(5)), std::optional(older), {}}) {
    Restarts job(OneWorker().Checkpoints("/ckpt", 1).Build());
    job.Once(Step(5));
    job.Fail();

    job.See(seen);

    EXPECT_TRUE(job.driver.job().verdict());
  }
}

// A program that names its checkpoints by a metric that falls.
TEST(JobCheckpointTest, OneThatWasWrittenLaterIsProgressWhateverItsNumber) {
  Checkpoint later = Step(4);
  later.modified += std::chrono::hours(1);
  Restarts job(OneWorker().Checkpoints("/ckpt", 1).Build());
  job.Once(Step(5));
  job.Once(later);
  EXPECT_FALSE(job.driver.job().verdict());
}

TEST(JobCheckpointTest, AnotherNumberOfFruitlessRestartsMayBeDeclared) {
  Restarts job(OneWorker().Checkpoints("/ckpt", 1).Build());
  job.Once(Step(5));
  job.Fail();

  job.See(Step(5));

  EXPECT_THAT(job.driver.job().verdict()->message, HasSubstr("1 restart without a newer checkpoint"));
}

TEST(JobCheckpointTest, FreeRestartsCountToo) {
  Restarts job(OneWorker().LostRestarts(9).Build());
  const auto lose = [&] {
    job.driver.Exit(job.Name());
    job.See(Step(5));
  };
  for (int i = 0; i < 3; ++i) {
    lose();
    job.GoOn();
  }

  lose();

  EXPECT_TRUE(job.driver.job().verdict());
}

// ---- sidecars

// A board that dies has nothing to do with how far the job is.
JobDriver WithBoard() {
  JobDriver driver(
      OneWorker().Role("board", 1, Completion::kSidecar).Restarts(kTask, 20).Checkpoints("/ckpt", 1).Build());
  driver.Running();
  return driver;
}

void RestartBoard(JobDriver& driver, int restart, const Checkpoint& newest) {
  const std::string board = StrCat("board:0#", driver.StatusOf("board:0").attempt);
  driver.Report(board, Failure(1));
  driver.Exit(board);
  driver.SeeCheckpoint(restart, newest);
  driver.GrantAll().RegisterAll().RunAll();
}

void RestartWorker(JobDriver& driver, int restart, const Checkpoint& newest) {
  driver.Report(StrCat("worker:0#", driver.StatusOf("worker:0").attempt), Failure(1));
  driver.Report(StrCat("board:0#", driver.StatusOf("board:0").attempt), Killed());
  driver.SeeCheckpoint(restart, newest);
  if (!driver.job().verdict()) driver.GrantAll().RegisterAll().RunAll();
}

TEST(JobCheckpointTest, ASidecarsRestartDoesNotCount) {
  JobDriver driver = WithBoard();
  for (int restart = 1; restart <= 4; ++restart) RestartBoard(driver, restart, Step(5));

  EXPECT_FALSE(driver.job().verdict());
}

TEST(JobCheckpointTest, ASidecarsLookDoesNotHideProgress) {
  JobDriver driver = WithBoard();
  RestartWorker(driver, 1, Step(1));
  RestartBoard(driver, 2, Step(5));

  RestartWorker(driver, 3, Step(5));

  EXPECT_FALSE(driver.job().verdict()) << "it came from step 1 to step 5";
}

// ---- another master

TEST(JobCheckpointTest, ANewMasterLooksAgain) {
  Restarts job(OneWorker().Build());
  job.Fail();
  job.driver.Replay();

  EXPECT_THAT(Orders(job.driver.Start({2})), ElementsAre("look 1"));
  EXPECT_THAT(Decisions(job.See(Step(5))), ElementsAre("checkpoint_noted", "restart_began", "gang_allocated"));
}

TEST(JobCheckpointTest, ANewMasterGivesTheLookItsFullTimeAgain) {
  Restarts job(OneWorker().Build());
  job.Fail();
  job.driver.WaitWithoutRenewal(2 * kLookLimit);
  job.driver.Replay();

  EXPECT_THAT(Decisions(job.driver.Start({2})), ElementsAre("epoch_began")) << "nobody could look meanwhile";
}

TEST(JobCheckpointTest, ANewMasterKnowsHowOftenItWasInVain) {
  Restarts job(OneWorker().Build());
  for (int i = 0; i < 3; ++i) job.Once(Step(5));
  job.driver.Replay();
  job.driver.Start({2});
  EXPECT_EQ(job.driver.CommandFor(job.Name()).resume_from, "/ckpt/step-5");
  job.Fail();

  job.See(Step(5));

  EXPECT_TRUE(job.driver.job().verdict());
}

}  // namespace
}  // namespace tony::am
