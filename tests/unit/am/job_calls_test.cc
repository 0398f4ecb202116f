// Calls of executors: which are refused and how, and that the same call again has the same result.
#include "tests/unit/am/job_script.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

const TestRow kCalls[] = {
    {"AnotherJobsExecutorIsRefused", {{"running, impostor worker:0 job=job-2", "refused wrong_job"}}},
    {"AnUnknownTaskOrAttemptIsRefused",
     {{"running, impostor worker:0 attempt={worker:2|ps:0|worker:0#2|worker:0#0|worker:0#-1}",
       "refused unknown_attempt"}}},
    {"AnAttemptThatHasNoContainerYetIsUnknown",
     {{"start, impostor worker:0 container={c-worker-0|}", "refused unknown_attempt"}}},
    {"AnotherContainersExecutorIsRefused",
     {{"running, impostor worker:0 container=c-worker-1", "refused stale_attempt"}}},
    {"AnExecutorThatKnowsANewerMasterIsRefused", {{"running, impostor worker:0 epoch=2", "refused stale_epoch"}}},
    {"AGenerationThatNeverWasIsRefused", {{"running, impostor worker:0 generation=2", "refused bad_request"}}},
    {"AnOutcomeBeforeTheRegistrationIsRefused",
     {{"gathering, report worker:0 success", "refused bad_request; nothing"}}},
    {"AnEndedAttemptThatStillWorksIsRefused",
     {{"running, report worker:0 success, {heartbeat worker:0|register worker:0 running 100}",
       "refused stale_attempt `~worker:0#1 has ended: succeeded`; nothing"}}},
    {"AnEndedAttemptMayComeBackForItsRelease",
     {{"running, report worker:0 success, register worker:0 ended, heartbeat worker:0 ended 0, await worker:0",
       "worker:0 told release"}}},
    {"TheSameOutcomeAgainIsAcknowledgedAndChangesNothing",
     {{"running, report worker:0 success, note, report worker:0 success", "unchanged"}}},
    {"OfTwoOutcomesTheFirstCounts",
     {{"running, report worker:0 success, report worker:0 fails 1", "worker:0 ended with success"}}},
    // The answer may be lost on the way, so the executor calls again: nothing may happen twice.
    {"AnyCallMadeTwiceChangesNothingTheSecondTime",
     {{"gathering, twice register worker:0", "unchanged"},
      {"twice await worker:0", "unchanged"},
      {"twice register worker:1", "unchanged"},
      {"twice heartbeat worker:0 running 7", "unchanged"},
      {"twice register worker:0 running 7", "unchanged"},
      {"twice report worker:1 fails 1", "unchanged"},
      {"twice register worker:0 stopping 7", "unchanged"},
      {"twice report worker:0 killed", "unchanged"},
      {"twice register worker:0 ended", "unchanged"}}},
    // It cannot run without a cluster spec; taken at its word it would no longer be waited with, and nobody could start.
    {"ATaskThatSaysItRunsBeforeTheGangFormedDoesNotKeepTheBarrierShut",
     {{"gathering, register worker:0, heartbeat worker:0 running 7, register worker:1", "state RUNNING"}}},
    {"NobodyKnownHasNoCommand", {{"running", "ps:0 told none; ps:0 numbered 0"}}},
};
TABLE_TEST(JobCallsTest, kCalls, Script("worker*2"));

TEST(JobCallsTest, AnExecutorThatKnowsAnOlderMasterIsHeard) {
  JobDriver driver(TwoWorkers());
  driver.Start({7});
  driver.GrantAll();
  Caller caller = driver.CallerOf("worker:0");
  caller.epoch = {6};
  const TurnResult turn = driver.Observe(RegisterCall{caller, {EndpointOf("worker:0")}});
  EXPECT_FALSE(turn.refusal);
  EXPECT_EQ(Decisions(turn), std::vector<std::string>{"attempt_registered"});
}

TEST(JobCallsTest, ASecondEndpointForTheSameAttemptIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  const TurnResult turn = driver.Observe(RegisterCall{driver.CallerOf("worker:0"), {EndpointOf("worker:1")}});
  ASSERT_TRUE(turn.refusal);
  EXPECT_EQ(turn.refusal->reason, RefusalReason::kBadRequest);
  EXPECT_NE(turn.refusal->message.find("node-worker-0:4000"), std::string::npos);
  EXPECT_TRUE(turn.decisions.empty());
}

}  // namespace
}  // namespace tony::am
