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

// ---- who fell silent, when a job is ended for the time it took

class JobSilenceTest : public testing::Test {
 protected:
  JobSilenceTest() { driver_.Running(); }
  void Say(const char* task, Duration elapsed, Duration quiet) {
    const Usage usage{.samples = 1, .elapsed = elapsed, .quiet = quiet};
    driver_.Observe(HeartbeatCall{driver_.CallerOf(task), {Phase::kRunning, 100, usage}});
  }
  std::string EndAt(Duration time) {
    driver_.Wait(time - (driver_.now() - start_));
    driver_.Pass(Duration(0));
    return driver_.job().verdict().value_or(Verdict{}).message;
  }

  JobDriver driver_{JobBuilder().Role("worker", 7).Timeout(Duration(60'000)).Build()};
  const Instant start_ = driver_.now();
};

TEST_F(JobSilenceTest, WhoWroteUntilTheEndIsNotNamed) {
  driver_.Wait(Duration(59'000));
  Say("worker:0", Duration(59'000), Duration(100));
  Say("worker:3", Duration(59'000), Duration(40'000));
  EXPECT_EQ(EndAt(Duration(60'000)),
            "the job ran longer than 60.0 s (tony.application.timeout); silent: worker:3 for 41.0 s");
}

TEST_F(JobSilenceTest, WhoeverFellSilentSoonAfterTheFirstIsNamedBehindIt) {
  driver_.Wait(Duration(50'000));
  for (int i = 0; i < 7; ++i)
    Say(("worker:" + std::to_string(i)).c_str(), Duration(50'000), Duration(20'000 + i * 100));
  EXPECT_THAT(EndAt(Duration(60'000)),
              testing::EndsWith("; silent: worker:6 for 30.6 s, worker:5 for 30.5 s, worker:4 for 30.4 s, worker:3 for "
                                "30.3 s, worker:2 for 30.2 s and 2 more"));
}

TEST_F(JobSilenceTest, WhereAllWroteUntilTheEndNobodyIsSilent) {
  driver_.Wait(Duration(59'900));
  Say("worker:0", Duration(59'900), Duration(100));
  EXPECT_EQ(EndAt(Duration(60'000)), "the job ran longer than 60.0 s (tony.application.timeout)");
}

}  // namespace
}  // namespace tony::am
