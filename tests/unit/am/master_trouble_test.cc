// Tests a master that cannot write its journal: promises wait, stopping does not, and clients and executors are
// notified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kFull[] = "no space left on device";

class TroubleTest : public ApplicationMasterTest {
 protected:
  using ApplicationMasterTest::ApplicationMasterTest;

  void BeginTrouble() { journal_.trouble(kFull); }
  void EndTrouble() {
    journal_.trouble("");
    journal_.WriteAll();
  }
  JobStatus StatusNow() { return StatusIn(Watch(-1)); }
  // Waits for the answer, because news is held back for some milliseconds.
  JobStatus StatusIn(const std::shared_ptr<Answered<StatusAnswer>>& answer) {
    EXPECT_TRUE(RunUntil(loop_, [&] { return answer->value.has_value(); }));
    if (!answer->value) return {};
    auto status = JobStatusFromJson(answer->value->status_json);
    EXPECT_TRUE(status.ok());
    return status.ok() ? *std::move(status) : JobStatus();
  }
};

TEST_F(TroubleTest, ContainerLaunchesWaitUntilTheJournalCanBeWritten) {
  journal_.WriteAll();
  scheduler_.orders.clear();
  BeginTrouble();
  Grant("worker:0");
  EXPECT_THAT(scheduler_.orders, IsEmpty());

  EndTrouble();

  EXPECT_THAT(scheduler_.orders, ElementsAre("launch c-worker-0 worker:0"));
  EXPECT_FALSE(ended_);
}

TEST_F(TroubleTest, TheStatusShowsAJournalProblemWhileItLasts) {
  journal_.WriteAll();
  BeginTrouble();
  EXPECT_EQ(StatusNow().trouble,
            "cannot write the journal: no space left on device; new tasks start when the journal can be written "
            "again");
  EndTrouble();
  EXPECT_EQ(StatusNow().trouble, "");
}

TEST_F(TroubleTest, WatchersAreNotifiedWhenAJournalProblemBeginsAndEnds) {
  journal_.WriteAll();
  const auto first = Watch(StatusNow().seq);
  ASSERT_TRUE(first->open());
  BeginTrouble();
  EXPECT_THAT(StatusIn(first).trouble, HasSubstr(kFull));
  const auto second = Watch(StatusIn(first).seq);
  ASSERT_TRUE(second->open());
  EndTrouble();
  EXPECT_EQ(StatusIn(second).trouble, "");
}

TEST_F(TroubleTest, AKillStopsRunningTasksEvenIfTheJournalCannotBeWritten) {
  GrantBothAndRegisterOne();
  const auto command = Await("worker:0");
  journal_.WriteAll();
  scheduler_.orders.clear();
  BeginTrouble();

  const auto killed = Kill();

  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kStop);
  EXPECT_THAT(scheduler_.orders, ElementsAre("term c-worker-1"));
  ASSERT_TRUE(killed->value);
  const auto status = JobStatusFromJson(killed->value->status.status_json);
  EXPECT_EQ(status->state, "STOPPING");
  EXPECT_THAT(status->trouble, HasSubstr(kFull));
}

TEST_F(TroubleTest, AStopCommandThatWaitsForTheJournalIsSentWhenTheJournalFails) {
  GrantBothAndRegisterOne();
  scheduler_.orders.clear();
  Kill();
  EXPECT_THAT(scheduler_.orders, IsEmpty());

  BeginTrouble();

  EXPECT_THAT(scheduler_.orders, ElementsAre("term c-worker-1"));
}

TEST_F(TroubleTest, AnAwaitCallReceivesTheStopCommandOfAKillDuringAJournalProblem) {
  GrantBothAndRegisterOne();
  BeginTrouble();
  Kill();

  const auto command = Await("worker:0");

  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kStop);
}

TEST_F(TroubleTest, AnAwaitCallReceivesAStartCommandOnlyAfterItIsJournalled) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  ASSERT_EQ(journal_.appended.back(), "generation_formed");
  BeginTrouble();

  const auto command = Await("worker:0");
  EXPECT_TRUE(command->open());

  EndTrouble();
  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kStart);
}

TEST_F(TroubleTest, AnAwaitCallReceivesAJournalledStartCommandDuringAJournalProblem) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  journal_.WriteAll();
  BeginTrouble();

  EXPECT_TRUE(Await("worker:0")->value);
}

TEST_F(TroubleTest, AStopIsNotSentBeforeTheLaunchOfTheSameContainer) {
  journal_.WriteAll();
  scheduler_.orders.clear();
  Grant("worker:0");
  BeginTrouble();
  Kill();
  EXPECT_THAT(scheduler_.orders, IsEmpty());

  EndTrouble();

  EXPECT_THAT(scheduler_.orders, ElementsAre("launch c-worker-0 worker:0", "term c-worker-0", "withdraw worker:1#1"));
}

TEST_F(TroubleTest, AnExecutorWhoseContainerIsGoneIsReleasedOnlyAfterItsEndIsInTheJournal) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  journal_.WriteAll();
  BeginTrouble();
  Report("worker:0", Success());
  master_.OnScheduler(ContainerExited{ContainerOf("worker:0"), std::nullopt, ""});

  const auto command = Await("worker:0");
  EXPECT_TRUE(command->open());

  EndTrouble();
  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kRelease);
}

TEST_F(TroubleTest, AnOutcomeReportIsAcknowledgedOnlyAfterItIsInTheJournal) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  const auto command = Await("worker:0");
  journal_.WriteAll();
  BeginTrouble();

  const auto reported = Report("worker:0", Success());
  EXPECT_TRUE(reported->open());

  EndTrouble();
  EXPECT_TRUE(reported->value);
}

TEST_F(TroubleTest, HeartbeatsAndRegistrationsAreAnsweredDuringAJournalProblem) {
  GrantBothAndRegisterOne();
  journal_.WriteAll();
  BeginTrouble();
  // The decisions about this report wait for the journal.
  Report("worker:0", Failure(3));

  EXPECT_TRUE(Heartbeat("worker:0")->value);
  EXPECT_TRUE(Register("worker:1")->value);
  EXPECT_TRUE(Register("worker:1")->value);
}

TEST_F(TroubleTest, AnExecutorMustSearchForAnAmAgainWhileTheEndOfItsAttemptIsNotJournalled) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  journal_.WriteAll();
  BeginTrouble();
  Report("worker:0", Failure(3));

  // The executor says that its program runs, although the AM has decided that the attempt has ended.
  const auto registered = Register("worker:0");

  ASSERT_TRUE(registered->refusal);
  EXPECT_EQ(registered->refusal->reason, RefusalReason::kNotLeader);
}

TEST_F(TroubleTest, AJobWhoseEndCannotBeJournalledIsShownAsStopping) {
  journal_.WriteAll();
  BeginTrouble();
  // Nothing runs, so the job has ended except for the journal.
  Kill();

  const JobStatus status = StatusNow();
  EXPECT_EQ(status.state, "STOPPING");
  EXPECT_FALSE(status.verdict);
  EXPECT_THAT(status.trouble, HasSubstr(kFull));
  const auto watch = Watch(status.seq);
  EXPECT_TRUE(watch->open());

  EndTrouble();

  EXPECT_EQ(StatusIn(watch).state, "KILLED");
  EXPECT_TRUE(watch->value->ended);
  EXPECT_EQ(StatusIn(watch).trouble, "");
}

TEST_F(TroubleTest, TheWriteOfAFinalStatusIsRetriedUntilItSucceeds) {
  journal_.WriteAll();
  const auto blocked = records_.place() / "status.json" / "in the way";
  std::filesystem::create_directories(blocked);
  Kill();
  journal_.WriteAll();
  EXPECT_THAT(scheduler_.orders, Not(Contains("finish KILLED")));
  EXPECT_THAT(StatusNow().trouble, HasSubstr("the job ends when this file can be written"));

  std::filesystem::remove_all(blocked.parent_path());

  EXPECT_TRUE(RunUntil(loop_, [this] { return scheduler_.orders.back() == "finish KILLED"; }));
  const auto status = records_.ReadStatus();
  ASSERT_TRUE(status.ok() && *status);
  EXPECT_EQ((*status)->state, "KILLED");
  EXPECT_EQ((*status)->trouble, "");
}

// A journal that never recovers.
class DeadJournalTest : public TroubleTest {
 protected:
  DeadJournalTest()
      : TroubleTest(JobBuilder().Role("worker", 2).Build(), {{.killed = Duration(20), .otherwise = Duration(50)}}) {}
  void Exit(const char* task) { master_.OnScheduler(ContainerExited{ContainerOf(task), std::nullopt, ""}); }
  bool IsFinished(const std::string& order) {
    return RunUntil(loop_, [&] { return scheduler_.orders.back() == order; });
  }
};

TEST_F(DeadJournalTest, AJobWhoseTasksSucceededEndsAsSucceededEvenIfTheJournalNeverRecovers) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  journal_.WriteAll();
  BeginTrouble();
  std::filesystem::remove_all(records_.place());
  Pass(Duration(100));
  EXPECT_EQ(StatusNow().state, "RUNNING") << "nobody's work is ended because of its disk";
  const auto first = Report("worker:0", Success()), second = Report("worker:1", Success());
  EXPECT_TRUE(first->open());

  ASSERT_TRUE(RunUntil(loop_, [&] { return second->value.has_value(); })) << "its executor may leave";
  Exit("worker:0");
  Exit("worker:1");

  ASSERT_TRUE(IsFinished("finish SUCCEEDED"));
  EXPECT_EQ(StatusNow().state, "SUCCEEDED");
  EndTrouble();
  EXPECT_EQ(std::ranges::count(scheduler_.orders, "finish SUCCEEDED"), 1) << "a disk that comes back changes nothing";
}

TEST_F(DeadJournalTest, AKilledJobEndsAsKilledEvenIfTheJournalNeverRecovers) {
  GrantBothAndRegisterOne();
  BeginTrouble();
  std::filesystem::remove_all(records_.place());
  Kill();
  Exit("worker:0");
  Exit("worker:1");
  EXPECT_TRUE(IsFinished("finish KILLED"));
}

TEST_F(DeadJournalTest, OutcomeReportsWaitForTheJournalAgainAfterTheDiskRecovers) {
  GrantBothAndRegisterOne();
  BeginTrouble();
  Kill();
  EndTrouble();
  Pass(Duration(100));
  const auto again = Report("worker:0", Success());
  EXPECT_TRUE(again->open()) << "it waits for the journal as ever";
}

class TroubleAfterSuccessTest : public TroubleTest {
 protected:
  TroubleAfterSuccessTest()
      : TroubleTest(JobBuilder().Role("ps", 1, Completion::kUntracked).Role("worker", 1).Build()) {}
};

// A later AM that did not know of the success would count the stopped parameter server as the failure.
TEST_F(TroubleAfterSuccessTest, UntrackedTasksAreStoppedOnlyAfterTheJobsSuccessIsInTheJournal) {
  for (const char* task : {"ps:0", "worker:0"}) Grant(task);
  for (const char* task : {"ps:0", "worker:0"}) Register(task);
  const auto start = Await("ps:0");
  journal_.WriteAll();
  ASSERT_TRUE(start->value);
  auto stop = std::make_shared<Answered<Command>>();
  master_.Await(CallerOf("ps:0"), start->value->number, Reply<Command>(stop));
  journal_.WriteAll();
  BeginTrouble();

  Report("worker:0", Success());
  EXPECT_TRUE(stop->open());

  EndTrouble();
  ASSERT_TRUE(stop->value);
  EXPECT_EQ(stop->value->kind, Command::Kind::kStop);
}

class SuspectInTroubleTest : public TroubleTest {
 protected:
  SuspectInTroubleTest() : TroubleTest(JobBuilder().Role("worker", 2).With({.suspect_after = Duration(50)}).Build()) {}
};

TEST_F(SuspectInTroubleTest, ARegistrationDuringAJournalProblemCountsAsAHeartbeat) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  journal_.WriteAll();
  ASSERT_TRUE(RunUntil(loop_, [&] { return testing::Value(journal_.appended, Contains("attempt_suspected")); }));
  BeginTrouble();

  EXPECT_TRUE(Register("worker:0")->value);
  EXPECT_THAT(journal_.appended, Contains("attempt_heard"));
}

}  // namespace
}  // namespace tony::am
