// The shell keeps one promise: the outside sees the result of a turn only after the journal holds the turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/replay.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(ApplicationMasterTest, AContainerRequestReachesTheSchedulerOnlyAfterTheJournalWrite) {
  EXPECT_THAT(journal_.appended, Contains("containers_requested"));
  EXPECT_THAT(scheduler_.orders, IsEmpty());

  journal_.WriteAll();

  EXPECT_THAT(scheduler_.orders, ElementsAre("request worker:0#1 worker:1#1"));
}

TEST_F(ApplicationMasterTest, AnExecutorCallIsAnsweredOnlyAfterTheJournalHasTheResultingDecisions) {
  Grant("worker:0");
  journal_.WriteAll();

  const auto answer = Register("worker:0");
  EXPECT_TRUE(answer->open());
  journal_.WriteAll();

  EXPECT_EQ(answer->value, Epoch{1});
}

TEST_F(ApplicationMasterTest, AHeartbeatThatChangesNothingIsAnsweredAtOnce) {
  GrantBothAndRegisterOne();

  EXPECT_FALSE(Heartbeat("worker:0")->open());
}

TEST_F(ApplicationMasterTest, TheAnswerToACallWaitsForTheJournalWritesOfEarlierCalls) {
  GrantBothAndRegisterOne();
  Register("worker:1");

  const auto answer = Heartbeat("worker:0");

  EXPECT_TRUE(answer->open());
  journal_.WriteAll();
  EXPECT_FALSE(answer->open());
}

TEST_F(ApplicationMasterTest, AnExecutorsAwaitCallIsAnsweredWhenTheGangHasFormed) {
  GrantBothAndRegisterOne();
  const auto command = Await("worker:0");
  Register("worker:1");
  EXPECT_TRUE(command->open());

  journal_.WriteAll();

  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kStart);
}

// If the AM sent the new generation too early and died, no later master would know it, and all of them would refuse the
// executor.
TEST_F(ApplicationMasterTest, AnAwaitCallReturnsAStartCommandOnlyAfterTheGenerationIsInTheJournal) {
  Grant("worker:0");
  Grant("worker:1");
  journal_.WriteAll();
  Register("worker:0");
  const auto command = Await("worker:0");
  Register("worker:1");
  ASSERT_EQ(journal_.appended.back(), "generation_formed");

  journal_.WriteOne();
  journal_.WriteOne();  // includes the turn of the Await

  EXPECT_TRUE(command->open()) << "the generation is not on the disk";
  journal_.WriteAll();
  EXPECT_TRUE(command->value);
}

TEST_F(ApplicationMasterTest, ARegistrationWithAWrongTokenIsRejectedAndChangesNothing) {
  Grant("worker:0");
  journal_.WriteAll();
  const size_t before = journal_.appended.size();

  const auto answer = Register("worker:0", "guess");

  ASSERT_TRUE(answer->refusal);
  EXPECT_EQ(answer->refusal->reason, RefusalReason::kBadToken);
  EXPECT_EQ(journal_.appended.size(), before);
}

TEST_F(ApplicationMasterTest, TheMasterRefusesCallsAsNotLeaderWhileTheSchedulerIsUnreachable) {
  GrantBothAndRegisterOne();
  master_.OnScheduler(SchedulerLost{"no answer"});
  const auto refused = Heartbeat("worker:0");
  ASSERT_TRUE(refused->refusal);
  EXPECT_EQ(refused->refusal->reason, RefusalReason::kNotLeader);

  master_.OnScheduler(SchedulerReached{{ContainerOf("worker:0"), ContainerOf("worker:1")}});

  journal_.WriteAll();
  EXPECT_TRUE(Heartbeat("worker:0")->value);
}

TEST_F(ApplicationMasterTest, TheSchedulerReceivesTheFractionOfSucceededTasksAsProgress) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  journal_.WriteAll();
  EXPECT_EQ(scheduler_.progress, 0);
  Report("worker:0", Outcome{.exit = ExitStatus{}});
  journal_.WriteAll();
  EXPECT_EQ(scheduler_.progress, 0.5);
}

TEST_F(ApplicationMasterTest, TheEndOfAJobIsReportedOnlyAfterTheFinalStatusIsWritten) {
  journal_.WriteAll();
  const auto killed = Kill();
  EXPECT_TRUE(killed->open());
  EXPECT_FALSE(std::filesystem::exists(records_.place() / "status.json"));
  bool was_written = false;
  scheduler_.on_finish = [&] { was_written = std::filesystem::exists(records_.place() / "status.json"); };

  journal_.WriteAll();

  EXPECT_TRUE(was_written);
  const auto status = records_.ReadStatus();
  ASSERT_TRUE(status.ok() && *status);
  EXPECT_EQ((*status)->state, "KILLED");
  ASSERT_TRUE(killed->value);
  EXPECT_EQ(killed->value->answer, KillAnswer::kTaken);
  EXPECT_TRUE(Watch(-1)->value->ended);
  EXPECT_THAT(scheduler_.orders,
              ElementsAre("request worker:0#1 worker:1#1", "withdraw worker:0#1 worker:1#1", "finish KILLED"));
  EXPECT_FALSE(ended_);
  scheduler_.finished();
  EXPECT_TRUE(ended_);
}

TEST_F(ApplicationMasterTest, AKillRequestFileInTheJobFolderKillsTheJob) {
  journal_.WriteAll();

  ASSERT_TRUE(records_.WriteKill({.reason = "from the folder"}).ok());

  EXPECT_TRUE(RunUntil(loop_, [this] {
    journal_.WriteAll();
    return !scheduler_.orders.empty() && scheduler_.orders.back() == "finish KILLED";
  }));
}

TEST_F(ApplicationMasterTest, WatchersReceiveTheReasonWhyContainersArePending) {
  journal_.WriteAll();
  const auto status = [this](const std::shared_ptr<Answered<StatusAnswer>>& answer) {
    EXPECT_TRUE(RunUntil(loop_, [&] { return answer->value.has_value(); }));
    return JobStatusFromJson(answer->value ? answer->value->status_json : "");
  };
  const auto seq = status(Watch(-1))->seq;
  const auto watch = Watch(seq);
  EXPECT_TRUE(watch->open());

  master_.OnScheduler(ContainersPending{"waits for 8192 MB of memory"});

  EXPECT_EQ(status(watch)->delay, "waits for 8192 MB of memory");
  master_.OnScheduler(ContainersPending{""});
  EXPECT_EQ(status(Watch(-1))->delay, "");
}

TEST(MasterCheckTest, AFailedCheckMacroEndsTheMasterAndPrintsTheFailedExpression) {
  const auto fail = [] {
    OpenLog("tony-am");
    LeaveOnFailedCheck({"job-1"});
    CHECK(1 + 1 == 3);
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(kFailedCheck),
              "error: internal error in job job-1: check failed: 1 \\+ 1 == 3 \\(.*\\); this is a bug of TonY");
}

}  // namespace
}  // namespace tony::am
