// Tests how often the master sends changes, so that neither its loop nor its clients do needless work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::HasSubstr;
using testing::Not;

class MasterPaceTest : public ApplicationMasterTest {
 protected:
  // An AM that becomes leader again checks for kill requests at once.
  void LoseTheArbiterForAMoment() {
    master_.OnScheduler(SchedulerLost{"gone for a moment"});
    master_.OnScheduler(SchedulerReached{});
  }
  std::string LogOf(const std::function<void()>& what) {
    testing::internal::CaptureStderr();
    what();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(MasterPaceTest, AClientReceivesTheFirstStatusChangeAtOnceAndTheSecondAfterADelay) {
  journal_.WriteAll();
  // The news of the start is sent meanwhile.
  Pass(Duration(50));
  const Instant began = loop_.Now();
  const auto first = Watch(Watch(-1)->value->seq);
  Grant("worker:0");
  journal_.WriteAll();
  ASSERT_TRUE(first->value) << "the first change is told without delay";

  const auto next = Watch(first->value->seq);
  Grant("worker:1");
  journal_.WriteAll();

  EXPECT_TRUE(RunUntil(loop_, [&] { return !next->open(); }));
  EXPECT_GE(loop_.Now() - began, Duration(15));
}

TEST_F(MasterPaceTest, TheStatusFileIsWrittenAtLeast450MillisecondsAfterAStatusChange) {
  const Instant began = loop_.Now();
  journal_.WriteAll();
  EXPECT_TRUE(RunUntil(loop_, [this] { return records_.ReadStatus()->has_value(); }));
  EXPECT_GE(loop_.Now() - began, Duration(450));
}

// The end of a problem has no sequence number. A client that asks a moment too late would otherwise wait for the next
// numbered news.
TEST_F(MasterPaceTest, AWaitingClientIsNotifiedSoonAfterAJournalProblemEnds) {
  journal_.WriteAll();
  Pass(Duration(50));
  journal_.trouble("no space left on device");
  journal_.trouble("");
  const auto watch = Watch(Watch(-1)->value->seq);
  EXPECT_TRUE(watch->open());
  EXPECT_TRUE(RunUntil(loop_, [&] { return !watch->open(); }));
  ASSERT_TRUE(watch->value);
  EXPECT_EQ(JobStatusFromJson(watch->value->status_json)->trouble, "");
}

TEST_F(MasterPaceTest, AKillRequestIsLoggedWithItsUserOnlyOnce) {
  ASSERT_TRUE(records_.WriteKill({.reason = "enough"}).ok());
  EXPECT_THAT(LogOf([this] { LoseTheArbiterForAMoment(); }),
              HasSubstr("read a kill request by the job's own user: enough"));
  EXPECT_THAT(LogOf([this] { LoseTheArbiterForAMoment(); }), Not(HasSubstr("read a kill request")));
}

class LargeGangTest : public ApplicationMasterTest {
 protected:
  static constexpr int kTasks = 100;
  LargeGangTest() : ApplicationMasterTest(JobBuilder().Role("worker", kTasks).Build()) {}
};

TEST_F(LargeGangTest, StartCommandsOfALargeGangAreSentInSeveralBatches) {
  std::vector<std::shared_ptr<Answered<Command>>> commands;
  for (int i = 0; i < kTasks; ++i) {
    const std::string task = StrCat("worker:", i);
    Grant(task);
    Register(task);
    commands.push_back(Await(task));
  }
  const auto told = [&] {
    return std::ranges::count_if(commands, [](const auto& command) { return !command->open(); });
  };

  journal_.WriteAll();

  EXPECT_GT(told(), 0);
  EXPECT_LT(told(), kTasks);
  EXPECT_TRUE(RunUntil(loop_, [&] { return told() == kTasks; }));
}

}  // namespace
}  // namespace tony::am
