// The master beside a store of records that answers late, or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/records/claim_record.h"
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
  std::shared_ptr<Answered<AttachReply>> Attach(const std::string& owner) {
    auto answer = std::make_shared<Answered<AttachReply>>();
    master_.Attach(kToken, {{owner}, Duration(0)}, Reply<AttachReply>(answer));
    return answer;
  }
  std::shared_ptr<Answered<KillReply>> KillIf(const std::string& owner) {
    auto answer = std::make_shared<Answered<KillReply>>();
    master_.KillIf(kToken, {.reason = "late", .if_owner = {owner}}, Reply<KillReply>(answer));
    return answer;
  }
};

TEST_F(MasterRecordsTest, AnOwnerIsToldWhenTheKeeperCanKnowIt) {
  const auto attached = Attach("o1");
  const auto heartbeat = Heartbeat("worker:0");
  journal_.WriteAll();
  EXPECT_TRUE(attached->open());
  EXPECT_TRUE(heartbeat->open()) << "turns are finished in order";

  calls_.AnswerAll();

  ASSERT_TRUE(attached->value);
  EXPECT_TRUE(attached->value->attached);
  EXPECT_FALSE(heartbeat->open());
  EXPECT_EQ(ReadClaimRecord(records_)->claim.owner.value, "o1");
}

TEST_F(MasterRecordsTest, ANamedWatcherIsToldWhenTheKeeperCanKnowIt) {
  Pass(Duration(50));  // what happened at the start has been told
  auto named = std::make_shared<Answered<StatusAnswer>>();
  master_.Watch(kToken, -1, Duration(60000), {"w1"}, Reply<StatusAnswer>(named));
  journal_.WriteAll();
  EXPECT_TRUE(named->open());
  EXPECT_FALSE(Watch(-1)->open()) << "who has no name waits for nothing";

  calls_.AnswerAll();
  EXPECT_FALSE(named->open());
}

TEST_F(MasterRecordsTest, TasksDoNotNoticeAStoreThatHangs) {
  GrantBothAndRegisterOne();
  Register("worker:1");
  const auto command = Await("worker:1");
  Pass(Duration(1500));  // kill requests are looked for, the status is written
  journal_.WriteAll();
  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kStart);
  EXPECT_FALSE(Heartbeat("worker:0")->open());
}

TEST_F(MasterRecordsTest, AStoreThatHangsIsAskedOnce) {
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

TEST_F(MasterRecordsTest, AnOutcomeWaitsForItsOutputs) {
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

TEST_F(MasterRecordsTest, AnEndIsToldWhenItsStatusIsThere) {
  const auto killed = Kill();
  journal_.WriteAll();
  EXPECT_TRUE(killed->open());
  EXPECT_THAT(scheduler_.orders, Not(Contains("finish KILLED")));

  calls_.AnswerAll();
  ASSERT_TRUE(killed->value);
  EXPECT_TRUE(killed->value->ended);
  EXPECT_THAT(scheduler_.orders, Contains("finish KILLED"));
}

TEST_F(MasterRecordsTest, WhoLostTheArbiterWhileTheStoreWasSlowDecidesNothing) {
  const auto killed = KillIf("");
  auto reported = std::make_shared<Answered<std::monostate>>();
  GrantBothAndRegisterOne();
  master_.ReportOutcome(CallerOf("worker:0"), {Success(), KeptOutputs{.text = "{}"}}, Reply<std::monostate>(reported));
  master_.OnScheduler(SchedulerLost{"gone"});

  calls_.AnswerAll();
  journal_.WriteAll();

  ASSERT_TRUE(killed->refusal);
  EXPECT_EQ(killed->refusal->reason, RefusalReason::kNotRuling);
  ASSERT_TRUE(reported->refusal);
  EXPECT_EQ(reported->refusal->reason, RefusalReason::kNotRuling);
  EXPECT_THAT(journal_.appended, Not(Contains("job_stopping")));
}

// ---- RecordThread

class RecordThreadTest : public testing::Test {
 protected:
  const TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
  EventLoop loop_;
};

TEST_F(RecordThreadTest, CallsAndAnswersKeepTheirOrder) {
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

TEST_F(RecordThreadTest, WhoGoesAwayIsNotAnswered) {
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
