// Tests limits and near misses of the application master's shell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/os/files.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

class MasterEdgeTest : public ApplicationMasterTest {
 protected:
  using ApplicationMasterTest::ApplicationMasterTest;
};

TEST_F(MasterEdgeTest, ATokenWithOneWrongDigitIsRejected) {
  Grant("worker:0");
  journal_.WriteAll();
  for (size_t i = 0; i < std::string(kToken).size(); ++i) {
    std::string token = kToken;
    token[i] = 'x';

    const auto answer = Register("worker:0", token);

    ASSERT_TRUE(answer->refusal) << "digit " << i;
    EXPECT_EQ(answer->refusal->reason, RefusalReason::kBadToken);
  }
}

TEST_F(MasterEdgeTest, AWatchCallIsAnsweredAtItsTimeoutIfNothingChanges) {
  journal_.WriteAll();
  auto answer = std::make_shared<Answered<StatusAnswer>>();
  master_.Watch(kToken, /*since=*/1'000'000, Duration(20), {}, Reply<StatusAnswer>(answer));
  EXPECT_TRUE(answer->open());

  EXPECT_TRUE(RunUntil(loop_, [&] { return answer->value.has_value(); }));
}

TEST_F(MasterEdgeTest, AWatcherWithTheNewestStatusDoesNotReceiveItAgain) {
  journal_.WriteAll();
  const auto first = Watch(-1);
  ASSERT_TRUE(RunUntil(loop_, [&] { return first->value.has_value(); }));
  const size_t before = journal_.appended.size();
  Grant("worker:0");
  // The first news is sent at once. Further news would be held back for some milliseconds.
  journal_.WriteAll();
  const auto newest = static_cast<int64_t>(journal_.appended.size() - before) + first->value->seq;

  const auto second = Watch(newest);

  Pass(Duration(100));
  EXPECT_TRUE(second->open());
}

TEST_F(MasterEdgeTest, WatchersReceiveOnlyChangesThatAreInTheJournal) {
  journal_.WriteAll();
  // News that was held back is sent meanwhile.
  Pass(Duration(100));
  const auto first = Watch(-1);
  ASSERT_TRUE(first->value);
  const auto second = Watch(first->value->seq);
  Grant("worker:0");
  Pass(Duration(100));
  EXPECT_TRUE(second->open());

  journal_.WriteAll();

  EXPECT_TRUE(RunUntil(loop_, [&] { return second->value.has_value(); }));
}

TEST_F(MasterEdgeTest, ACommandForATaskDoesNotWaitForJournalWritesAboutOtherTasks) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  journal_.WriteAll();
  journal_.trouble("no space left on device");
  Report("worker:1", Success());

  const auto command = Await("worker:0");

  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kStart);
}

TEST_F(MasterEdgeTest, AKillIsAnsweredOnlyAfterItIsInTheJournal) {
  GrantBothAndRegisterOne();
  // News that was held back is sent meanwhile.
  Pass(Duration(100));
  const auto killed = Kill();
  Pass(Duration(100));
  EXPECT_TRUE(killed->open());

  journal_.WriteAll();

  EXPECT_TRUE(RunUntil(loop_, [&] { return killed->value.has_value(); }));
}

TEST_F(MasterEdgeTest, AContainerExitIsJudgedByTheOutcomeThatTheExecutorLeftOnDisk) {
  GrantBothAndRegisterOne();
  EXPECT_EQ(master_.UnendedIn(ContainerOf("worker:0")), AttemptOf("worker:0"));

  master_.OnScheduler(
      ContainerExited{ContainerOf("worker:0"), std::nullopt, "", {}, KeptOutcome{AttemptOf("worker:0"), Failure(3)}});
  EXPECT_EQ(master_.UnendedIn(ContainerOf("worker:0")), std::nullopt);
  journal_.WriteAll();

  const auto status = Watch(-1);
  ASSERT_TRUE(RunUntil(loop_, [&] { return status->value.has_value(); }));
  EXPECT_THAT(status->value->status_json, testing::HasSubstr("\"exit_code\":3"));
}

TEST_F(MasterEdgeTest, TheEndOfAJobIsNotReportedUntilTheFinalStatusIsWritten) {
  GrantBothAndRegisterOne();
  const auto watch = Watch(1'000'000);
  Kill();
  for (const char* task : {"worker:0", "worker:1"})
    master_.OnScheduler(ContainerExited{ContainerOf(task), std::nullopt, ""});
  std::filesystem::remove_all(records_.place());

  journal_.WriteAll();
  Pass(Duration(100));

  EXPECT_FALSE(watch->value && watch->value->ended);
  std::filesystem::create_directory(records_.place());
  const auto ended = [&] {
    const auto now = Watch(-1);
    return now->value && now->value->ended;
  };
  EXPECT_TRUE(RunUntil(loop_, ended));
}

class ShortLeaseTest : public MasterEdgeTest {
 protected:
  ShortLeaseTest()
      : MasterEdgeTest(JobBuilder()
                           .Role("worker", 2)
                           .With({.suspect_after = Duration(300), .record_fresh = Duration(60)})
                           .Build()) {}
};

// The executors of such a master may not be able to see that it is leader.
TEST_F(ShortLeaseTest, AMasterThatCannotRenewItsLeaseSuspectsNoExecutor) {
  GrantBothAndRegisterOne();
  std::filesystem::remove_all(records_.place());

  Pass(Duration(900));

  EXPECT_THAT(journal_.appended, testing::Not(testing::Contains("attempt_suspected")));
}

TEST(LeaseEdgeTest, AFailedWriteOfTheLeaseRecordIsRetriedWithinSeconds) {
  const TempFolder temp;
  const JobRecords records = LocalJobRecords(temp.path() / "not-there-yet");
  EventLoop loop;
  SlowJournal journal;
  SlowCalls calls(records);
  RecordingScheduler scheduler;
  ApplicationMaster master(
      {.loop = loop,
       .checkpoints = {},
       .submission = {},
       .token = kToken,
       .epoch = {1},
       .job = Job({"job-1"}, JobBuilder().Role("worker", 1).With({.record_fresh = std::chrono::minutes(5)}).Build()),
       .journal = journal,
       .calls = calls});
  master.Start(scheduler, {SocketOf({1})}, [] {});

  std::filesystem::create_directory(records.place());

  EXPECT_TRUE(RunUntil(loop, [&] {
    const auto lease = records.ReadLease();
    return lease.ok() && *lease;
  }));
}

}  // namespace
}  // namespace tony::am
