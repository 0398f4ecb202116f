// What executors tell of their attempts' use: shown, and kept with the outcome, but no decision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::IsEmpty;

Usage Used(int64_t memory_bytes) { return {.samples = 1, .memory_bytes = memory_bytes}; }

class JobUsageTest : public testing::Test {
 protected:
  JobUsageTest() { driver_.Running(); }
  TurnResult Heartbeat(const Usage& usage) {
    return driver_.Observe(HeartbeatCall{driver_.CallerOf("worker:0"), {Phase::kRunning, 100, usage}});
  }

  JobDriver driver_{JobBuilder().Role("worker", 2).Build()};
};

TEST_F(JobUsageTest, TheNewestIsShownAndDecidesNothing) {
  const int64_t seq = driver_.job().seq();
  EXPECT_THAT(Decisions(Heartbeat(Used(1))), IsEmpty());
  EXPECT_THAT(Decisions(Heartbeat(Used(2))), IsEmpty());
  EXPECT_EQ(driver_.StatusOf("worker:0").usage, Used(2));
  EXPECT_EQ(driver_.StatusOf("worker:1").usage, std::nullopt);
  EXPECT_EQ(driver_.job().seq(), seq);
}

TEST_F(JobUsageTest, AHeartbeatWithoutItForgetsNothing) {
  Heartbeat(Used(1));
  driver_.Heartbeat("worker:0");
  EXPECT_EQ(driver_.StatusOf("worker:0").usage, Used(1));
}

TEST_F(JobUsageTest, AfterTheEndItIsWhatTheOutcomeSaysAlsoForTheNextAm) {
  Heartbeat(Used(1));
  Outcome outcome = Success();
  outcome.usage = Used(5);
  driver_.Report("worker:0", outcome);
  EXPECT_EQ(driver_.StatusOf("worker:0").usage, Used(5));
  driver_.Replay();
  EXPECT_EQ(driver_.StatusOf("worker:0").usage, Used(5));
}

TEST_F(JobUsageTest, OfAnExecutorThatCannotTellWhatWasHeardLastIsKept) {
  Heartbeat(Used(7));
  driver_.Exit("worker:0");
  driver_.Replay();
  EXPECT_EQ(driver_.StatusOf("worker:0").usage, Used(7));
}

TEST_F(JobUsageTest, ANewAmKnowsNothingUntilItHears) {
  Heartbeat(Used(7));
  driver_.Replay();
  driver_.Start({2});
  EXPECT_EQ(driver_.StatusOf("worker:0").usage, std::nullopt);
}

}  // namespace
}  // namespace tony::am
