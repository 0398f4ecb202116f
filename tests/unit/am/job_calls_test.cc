// Calls of executors: which are refused and how, and that the same call again has the same result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The five calls, signed by the same caller.
std::vector<Observation> AllCalls(const Caller& caller) {
  return {RegisterCall{caller, {EndpointOf("worker:0"), Phase::kRunning, 100}}, AwaitCall{caller},
          HeartbeatCall{caller, {Phase::kRunning, 100}}, PublishCall{caller, {{"ADDRESS", "here:1"}}},
          OutcomeCall{caller, Success()}};
}

void ExpectAllRefused(JobDriver& driver, const Caller& caller, RefusalReason reason) {
  const std::string before = ToJson(driver.Status());
  for (const Observation& call : AllCalls(caller)) {
    SCOPED_TRACE(call.index());
    const TurnResult turn = driver.Observe(call);
    ASSERT_TRUE(turn.refusal);
    EXPECT_EQ(turn.refusal->reason, reason);
    EXPECT_THAT(Decisions(turn), IsEmpty());
    EXPECT_THAT(Orders(turn), IsEmpty());
  }
  EXPECT_EQ(ToJson(driver.Status()), before);
}

TEST(JobCallsTest, AnotherJobsExecutorIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  Caller caller = driver.CallerOf("worker:0");
  caller.job = {"job-2"};

  ExpectAllRefused(driver, caller, RefusalReason::kWrongJob);
}

TEST(JobCallsTest, AnUnknownTaskOrAttemptIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  for (const AttemptId& attempt : {AttemptId{{"worker", 2}, 1}, AttemptId{{"ps", 0}, 1}, AttemptId{{"worker", 0}, 2},
                                   AttemptId{{"worker", 0}, 0}, AttemptId{{"worker", 0}, -1}}) {
    Caller caller = driver.CallerOf("worker:0");
    caller.attempt = attempt;
    ExpectAllRefused(driver, caller, RefusalReason::kUnknownAttempt);
  }
}

TEST(JobCallsTest, AnAttemptThatHasNoContainerYetIsUnknown) {
  JobDriver driver(TwoWorkers());
  driver.Accepted();
  Caller caller = driver.CallerOf("worker:0");
  ExpectAllRefused(driver, caller, RefusalReason::kUnknownAttempt);

  caller.container = {};
  ExpectAllRefused(driver, caller, RefusalReason::kUnknownAttempt);
}

TEST(JobCallsTest, AnotherContainersExecutorIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  Caller caller = driver.CallerOf("worker:0");
  caller.container = ContainerOf("worker:1");

  ExpectAllRefused(driver, caller, RefusalReason::kStaleAttempt);
}

TEST(JobCallsTest, AnExecutorThatKnowsANewerMasterIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  Caller caller = driver.CallerOf("worker:0");
  caller.epoch = {2};

  ExpectAllRefused(driver, caller, RefusalReason::kStaleEpoch);
}

TEST(JobCallsTest, AnExecutorThatKnowsAnOlderMasterIsHeard) {
  JobDriver driver(TwoWorkers());
  driver.Start({7});
  driver.GrantAll();
  Caller caller = driver.CallerOf("worker:0");
  caller.epoch = {6};

  const TurnResult turn = driver.Observe(RegisterCall{caller, {EndpointOf("worker:0")}});

  EXPECT_FALSE(turn.refusal);
  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_registered"));
}

TEST(JobCallsTest, AGenerationThatNeverWasIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  Caller caller = driver.CallerOf("worker:0");
  caller.generation = {2};

  ExpectAllRefused(driver, caller, RefusalReason::kBadRequest);
}

TEST(JobCallsTest, ASecondEndpointForTheSameAttemptIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Running();

  const TurnResult turn = driver.Observe(RegisterCall{driver.CallerOf("worker:0"), {EndpointOf("worker:1")}});

  ASSERT_TRUE(turn.refusal);
  EXPECT_EQ(turn.refusal->reason, RefusalReason::kBadRequest);
  EXPECT_THAT(turn.refusal->message, HasSubstr("node-worker-0:4000"));
  EXPECT_THAT(Decisions(turn), IsEmpty());
}

TEST(JobCallsTest, AnOutcomeBeforeTheRegistrationIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Gathering();

  const TurnResult turn = driver.Report("worker:0", Success());

  ASSERT_TRUE(turn.refusal);
  EXPECT_EQ(turn.refusal->reason, RefusalReason::kBadRequest);
  EXPECT_THAT(Decisions(turn), IsEmpty());
}

TEST(JobCallsTest, AnEndedAttemptThatStillWorksIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Report("worker:0", Success());

  for (const TurnResult& turn : {driver.Heartbeat("worker:0"), driver.Register("worker:0", Phase::kRunning, 100)}) {
    ASSERT_TRUE(turn.refusal);
    EXPECT_EQ(turn.refusal->reason, RefusalReason::kStaleAttempt);
    EXPECT_THAT(turn.refusal->message, HasSubstr("worker:0#1 has ended: succeeded"));
    EXPECT_THAT(Decisions(turn), IsEmpty());
  }
}

TEST(JobCallsTest, AnEndedAttemptMayComeBackForItsRelease) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Report("worker:0", Success());

  EXPECT_FALSE(driver.Register("worker:0", Phase::kEnded).refusal);
  EXPECT_FALSE(driver.Heartbeat("worker:0", Phase::kEnded, 0).refusal);
  EXPECT_FALSE(driver.Await("worker:0").refusal);
  EXPECT_EQ(driver.CommandFor("worker:0").kind, Command::Kind::kRelease);
}

TEST(JobCallsTest, TheSameOutcomeAgainIsAcknowledgedAndChangesNothing) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Report("worker:0", Success());
  const std::string before = ToJson(driver.Status());

  const TurnResult turn = driver.Report("worker:0", Success());

  EXPECT_FALSE(turn.refusal);
  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_THAT(Orders(turn), IsEmpty());
  EXPECT_EQ(ToJson(driver.Status()), before);
}

TEST(JobCallsTest, OfTwoOutcomesTheFirstCounts) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Report("worker:0", Success());

  driver.Report("worker:0", Failure(1));

  EXPECT_EQ(driver.StatusOf("worker:0").outcome, Success());
}

// The answer may be lost on the way, so the executor calls again: nothing may happen twice.
TEST(JobCallsTest, AnyCallMadeTwiceChangesNothingTheSecondTime) {
  using Call = std::function<TurnResult(JobDriver&)>;
  const std::vector<Call> calls = {
      [](JobDriver& d) { return d.Register("worker:0"); },
      [](JobDriver& d) { return d.Await("worker:0"); },
      [](JobDriver& d) { return d.Register("worker:1"); },
      [](JobDriver& d) { return d.Heartbeat("worker:0", Phase::kRunning, 7); },
      [](JobDriver& d) { return d.Register("worker:0", Phase::kRunning, 7); },
      [](JobDriver& d) { return d.Report("worker:1", Failure(1)); },
      [](JobDriver& d) { return d.Register("worker:0", Phase::kStopping, 7); },
      [](JobDriver& d) { return d.Report("worker:0", Killed()); },
      [](JobDriver& d) { return d.Register("worker:0", Phase::kEnded); },
  };
  JobDriver driver(TwoWorkers());
  driver.Gathering();
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    const TurnResult first = calls[i](driver);
    const std::string before = ToJson(driver.Status());

    const TurnResult second = calls[i](driver);

    EXPECT_FALSE(first.refusal);
    EXPECT_FALSE(second.refusal);
    EXPECT_THAT(Decisions(second), IsEmpty());
    EXPECT_THAT(Orders(second), IsEmpty());
    EXPECT_EQ(ToJson(driver.Status()), before);
  }
}

// It cannot run without a cluster spec; taken at its word it would no longer be waited with, and nobody could start.
TEST(JobCallsTest, ATaskThatSaysItRunsBeforeTheGangFormedDoesNotKeepTheBarrierShut) {
  JobDriver driver(TwoWorkers());
  driver.Gathering();
  driver.Register("worker:0");
  driver.Heartbeat("worker:0", Phase::kRunning, 7);

  driver.Register("worker:1");

  EXPECT_EQ(driver.job().state(), JobState::kRunning);
}

TEST(JobCallsTest, NobodyKnownHasNoCommand) {
  JobDriver driver(TwoWorkers());
  driver.Running();

  EXPECT_EQ(driver.CommandFor("ps:0"), Command{});
}

}  // namespace
}  // namespace tony::am
