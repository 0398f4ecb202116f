// Tests the master with a record store that answers late, or never.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/records/kept_outputs.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::Not;

class MasterRecordsTest : public ApplicationMasterTest {
 protected:
  MasterRecordsTest() {
    journal_.WriteAll();
    calls_.at_once = false;
  }
  std::shared_ptr<Answered<KillReply>> KillIf(const std::string& owner) {
    auto answer = std::make_shared<Answered<KillReply>>();
    master_.Kill(kToken, {.reason = "late", .if_owner = {owner}}, Reply<KillReply>(answer));
    return answer;
  }
};

TEST_F(MasterRecordsTest, AHangingRecordStoreDoesNotDelayCommandsAndHeartbeats) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  const auto command = Await("worker:1");
  // Meanwhile the master checks for kill requests and writes the status.
  Pass(Duration(1500));
  journal_.WriteAll();
  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kStart);
  EXPECT_FALSE(Heartbeat("worker:0")->open());
}

TEST_F(MasterRecordsTest, AHangingRecordStoreReceivesAtMostThreeCalls) {
  for (const char* task : {"worker:0", "worker:1"}) {
    Grant(task);
    Register(task);
    journal_.WriteAll();
    Pass(Duration(2500));
  }
  EXPECT_LE(calls_.waiting(), 3u) << "a status, a look for kill requests and a lease";
  EXPECT_FALSE(records_.ReadStatus()->has_value());

  calls_.AnswerAll();
  Pass(Duration(1000));
  calls_.AnswerAll();
  EXPECT_EQ((*records_.ReadStatus())->state, "RUNNING") << "what changed meanwhile is written";
}

TEST_F(MasterRecordsTest, AnOutcomeIsJournalledOnlyAfterItsOutputsAreStored) {
  GrantBothAndRegisterOne();
  auto reported = std::make_shared<Answered<std::monostate>>();
  master_.ReportOutcome(CallerOf("worker:0"), {Success(), KeptOutputs{.text = "{}"}}, Reply<std::monostate>(reported));
  journal_.WriteAll();
  EXPECT_TRUE(reported->open());
  EXPECT_THAT(journal_.appended, Not(Contains("attempt_ended")));

  calls_.AnswerAll();
  journal_.WriteAll();
  EXPECT_FALSE(reported->open());
  EXPECT_TRUE(ReadJobOutputs(records_)->has_value());
}

TEST_F(MasterRecordsTest, TheEndOfAJobIsReportedOnlyAfterTheFinalStatusIsStored) {
  Kill();
  journal_.WriteAll();
  const auto watch = Watch(-1);
  EXPECT_TRUE(watch->open());
  EXPECT_THAT(scheduler_.orders, Not(Contains("finish KILLED")));

  calls_.AnswerAll();
  ASSERT_TRUE(watch->value);
  EXPECT_TRUE(watch->value->ended);
  EXPECT_THAT(scheduler_.orders, Contains("finish KILLED"));
}

TEST_F(MasterRecordsTest, CallsThatWaitForTheStoreAreRefusedIfTheMasterLosesTheScheduler) {
  const auto killed = KillIf("o1");
  auto reported = std::make_shared<Answered<std::monostate>>();
  GrantBothAndRegisterOne();
  master_.ReportOutcome(CallerOf("worker:0"), {Success(), KeptOutputs{.text = "{}"}}, Reply<std::monostate>(reported));
  master_.OnScheduler(SchedulerLost{"gone"});

  calls_.AnswerAll();
  journal_.WriteAll();

  ASSERT_TRUE(killed->refusal);
  EXPECT_EQ(killed->refusal->reason, RefusalReason::kNotLeader);
  ASSERT_TRUE(reported->refusal);
  EXPECT_EQ(reported->refusal->reason, RefusalReason::kNotLeader);
  EXPECT_THAT(journal_.appended, Not(Contains("job_stopping")));
}

// ---- RecordThread

class RecordThreadTest : public testing::Test {
 protected:
  const TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
  EventLoop loop_;
};

TEST_F(RecordThreadTest, StoreCallsAndTheirAnswersKeepTheirOrder) {
  RecordThread calls(loop_, records_);
  const auto here = std::this_thread::get_id();
  std::vector<int> called, answered;
  for (int i = 0; i < 100; ++i) {
    calls.Ask(
        [&called, i, here](const JobRecords&) {
          EXPECT_NE(std::this_thread::get_id(), here);
          called.push_back(i);
          return i;
        },
        [&answered, here](int i) {
          EXPECT_EQ(std::this_thread::get_id(), here);
          answered.push_back(i);
        });
  }
  EXPECT_TRUE(answered.empty()) << "never from within Ask";
  EXPECT_TRUE(RunUntil(loop_, [&] { return answered.size() == 100; }));
  EXPECT_TRUE(std::ranges::is_sorted(answered));
  EXPECT_EQ(answered, called);
}

TEST_F(RecordThreadTest, ADestroyedRecordThreadAnswersNoCall) {
  bool answered = false;
  int called = 0;
  {
    RecordThread calls(loop_, records_);
    for (int i = 0; i < 1000; ++i)
      calls.Ask([&called](const JobRecords&) { return ++called; }, [&](int) { answered = true; });
  }
  const int before = called;
  loop_.Post([this] { loop_.Stop(); });
  loop_.Run();
  EXPECT_FALSE(answered);
  EXPECT_EQ(called, before);
}

}  // namespace
}  // namespace tony::am
