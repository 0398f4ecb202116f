// Tests a job without failures, from acceptance until all tasks run.
#include "tests/unit/am/job_script.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

constexpr char kPsAndTwoWorkers[] = "worker*2 ps*1:untracked";

const TestRow kStraight[] = {
    {"TheFirstMasterAcceptsTheJobAndRequestsEveryContainer",
     {{"start",
       "job_accepted epoch_began containers_requested; orders request ps:0#1 worker:0#1 worker:1#1; state ALLOCATING; "
       "worker:1 state active; worker:1 is requested"}}},
    {"AnExecutorIsLaunchedAsSoonAsItsContainerIsGranted",
     {{"start, grant worker:1",
       "container_assigned; orders launch worker:1#1 in c-worker-1; worker:1 host node-worker-1; in c-worker-1 "
       "worker:1#1"}}},
    {"ContainersCanBeGrantedInAnyOrder",
     {{"start, grant worker:1 ps:0 worker:0", "container_assigned gang_allocated; state GATHERING"}}},
    {"ARepeatedContainerGrantChangesNothing", {{"start, grant worker:0 worker:0", "nothing; no orders"}}},
    {"ASecondContainerForTheSameTaskIsReturned",
     {{"start, grant worker:0, surplus worker:0", "nothing; orders kill surplus; in surplus nobody"}}},
    {"AContainerForAnUnknownTaskIsReturned", {{"start, grant evaluator:0", "nothing; orders kill c-evaluator-0"}}},
    {"ARepeatedLaunchConfirmationChangesNothing",
     {{"gathering, launched worker:0", "attempt_launched"},
      {"launched worker:0", "nothing"},
      {"launched evaluator:0", "nothing"}}},
    {"AnExecutorMayRegisterBeforeItsLaunchIsConfirmed",
     {{"gathering, register worker:0", "attempt_registered"},
      {"launched worker:0", "nothing; worker:0 is registered"}}},
    {"AnExecutorCanRegisterBeforeOtherTasksHaveContainers",
     {{"start, grant worker:0, register worker:0, grant worker:1, register worker:1, grant ps:0, register ps:0",
       "attempt_registered generation_formed"}}},
    {"NoTaskReceivesACommandUntilTheLastTaskHasRegistered",
     {{"gathering, register worker:0 worker:1", "worker:0 told none; worker:0 numbered 0; state GATHERING"}}},
    {"TheGangFormsAsSoonAsTheLastTaskRegisters",
     {{"gathering, register worker:0 worker:1 ps:0",
       "attempt_registered generation_formed; orders tell ps:0#1, tell worker:0#1, tell worker:1#1; state RUNNING; "
       "generation 1"}}},
    {"TasksInTheClusterSpecAreOrderedByNumericIndex",
     {{"job worker*12: gathering, all-registered", "worker:0 reads ~\"node-worker-9:4009\",\"node-worker-10:4010\""}}},
    {"TheFirstHeartbeatMarksTheTaskAsRunning",
     {{"gathering, all-registered, wait 700ms, heartbeat worker:0 running 4711",
       "attempt_ran; worker:0 is running; worker:0 pid 4711; worker:0 started"}}},
    {"HeartbeatsAfterTheFirstCauseNoDecision",
     {{"running, heartbeat worker:0", "nothing"}, {"heartbeat worker:0 stopping", "nothing"}}},
    {"AHeartbeatBeforeTheStartCommandCausesNoDecision",
     {{"gathering, register worker:0, heartbeat worker:0 waiting 0", "nothing"}}},
    {"AJobOfAThousandTasksStarts", {{"job worker*1000: gathering, all-registered", "state RUNNING"}}},
};
TABLE_TEST(JobTest, kStraight, Script(kPsAndTwoWorkers));

TEST(JobTest, ContainerRequestsNameTheResourcesOfTheRole) {
  JobSpec spec = JobOf(kPsAndTwoWorkers);
  spec.roles[1].resources = {.memory_mb = 8192, .vcores = 4, .gpus = 2};
  const CoreStepResult turn = JobDriver(spec).Start();
  ASSERT_EQ(turn.actions.size(), 1U);
  const auto& asks = std::get<RequestContainers>(turn.actions[0]).asks;
  ASSERT_EQ(asks.size(), 3U);
  EXPECT_EQ(asks[0].resources, Resources{});
  EXPECT_EQ(asks[1].resources, spec.roles[1].resources);
}

TEST(JobTest, TheStartCommandListsEveryEndpointByRoleAndIndex) {
  JobDriver driver(JobOf(kPsAndTwoWorkers));
  driver.Gathering();
  for (const char* task : {"worker:1", "ps:0", "worker:0"}) driver.Register(task);
  const Command command = driver.CommandFor("worker:0");
  EXPECT_EQ(command.kind, Command::Kind::kStart);
  EXPECT_EQ(command.generation, Generation{1});
  const auto cluster = ClusterSpecFromJson(command.cluster_spec);
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(*cluster, (ClusterSpec{.generation = {1},
                                   .roles = {{"ps", {EndpointOf("ps:0")}},
                                             {"worker", {EndpointOf("worker:0"), EndpointOf("worker:1")}}},
                                   .ports = {{{"worker", 0}, {{"tensorboard", 5000}}}}}));
  EXPECT_EQ(driver.CommandFor("ps:0"), command);
}

TEST(JobTest, TheSequenceNumberOfAJobEqualsTheNumberOfJournalledDecisions) {
  JobDriver driver(JobOf(kPsAndTwoWorkers));
  driver.Running();
  EXPECT_EQ(driver.job().seq(), static_cast<int64_t>(driver.journal().size()));
  EXPECT_EQ(driver.Status().seq, driver.job().seq());
}

TEST(JobTest, TheStatusOfARunningJobShowsUserEpochAndTasksButNoVerdict) {
  JobDriver driver(JobOf(kPsAndTwoWorkers));
  driver.Running();
  const JobStatus status = driver.Status();
  EXPECT_EQ(status.state, "RUNNING");
  EXPECT_EQ(status.user, "alice");
  EXPECT_EQ(status.framework, "tensorflow");
  EXPECT_EQ(status.epoch, Epoch{1});
  EXPECT_EQ(status.submitted, JobDriver::kStart);
  EXPECT_FALSE(status.verdict);
  EXPECT_FALSE(status.ended);
  ASSERT_EQ(status.tasks.size(), 3U);
  EXPECT_EQ(status.tasks[0].id, (TaskId{"ps", 0}));
  EXPECT_EQ(status.tasks[2].id, (TaskId{"worker", 1}));
}

// ---- Calls of executors: which calls are refused and why, and that a repeated call has the same result.

const TestRow kCalls[] = {
    {"ACallOfAnExecutorOfAnotherJobIsRejected", {{"running, impostor worker:0 job=job-2", "refused wrong_job"}}},
    {"ACallForAnUnknownTaskOrAttemptIsRejected",
     {{"running, impostor worker:0 attempt={worker:2|ps:0|worker:0#2|worker:0#0|worker:0#-1}",
       "refused unknown_attempt"}}},
    {"ACallForAnAttemptWithoutAContainerIsRejected",
     {{"start, impostor worker:0 container={c-worker-0|}", "refused unknown_attempt"}}},
    {"ACallFromAnotherContainerIsRejectedAsStale",
     {{"running, impostor worker:0 container=c-worker-1", "refused stale_attempt"}}},
    {"ACallWithTheEpochOfANewerMasterIsRejected", {{"running, impostor worker:0 epoch=2", "refused stale_epoch"}}},
    {"ACallWithAnUnknownGenerationIsRejected", {{"running, impostor worker:0 generation=2", "refused bad_request"}}},
    {"AnOutcomeReportedBeforeTheRegistrationIsRejected",
     {{"gathering, report worker:0 success", "refused bad_request; nothing"}}},
    {"CallsThatReportAnEndedAttemptAsRunningAreRejected",
     {{"running, report worker:0 success, {heartbeat worker:0|register worker:0 running 100}",
       "refused stale_attempt `~worker:0#1 has ended: succeeded`; nothing"}}},
    {"TheExecutorOfAnEndedAttemptCanRegisterAgainToReceiveTheReleaseCommand",
     {{"running, report worker:0 success, register worker:0 ended, heartbeat worker:0 ended 0, await worker:0",
       "worker:0 told release"}}},
    {"ARepeatedOutcomeIsAcknowledgedAndChangesNothing",
     {{"running, report worker:0 success, note, report worker:0 success", "unchanged"}}},
    {"ASecondDifferentOutcomeOfAnAttemptIsIgnored",
     {{"running, report worker:0 success, report worker:0 fails 1", "worker:0 ended with success"}}},
    // The answer may be lost on the way, so that the executor repeats the call. Nothing may happen twice.
    {"ARepeatedCallOfAnExecutorChangesNothing",
     {{"gathering, twice register worker:0", "unchanged"},
      {"twice await worker:0", "unchanged"},
      {"twice register worker:1", "unchanged"},
      {"twice heartbeat worker:0 running 7", "unchanged"},
      {"twice register worker:0 running 7", "unchanged"},
      {"twice report worker:1 fails 1", "unchanged"},
      {"twice register worker:0 stopping 7", "unchanged"},
      {"twice report worker:0 killed", "unchanged"},
      {"twice register worker:0 ended", "unchanged"}}},
    // A task cannot run without a cluster spec. If the AM believed this report, the barrier would not count the task,
    // and no task could start.
    {"TheGangFormsEvenIfAHeartbeatReportsAnUnstartedTaskAsRunning",
     {{"gathering, register worker:0, heartbeat worker:0 running 7, register worker:1", "state RUNNING"}}},
    {"AnUnknownTaskReceivesNoCommand", {{"running", "ps:0 told none; ps:0 numbered 0"}}},
};
TABLE_TEST(JobCallsTest, kCalls, Script("worker*2"));

TEST(JobCallsTest, ACallWithTheEpochOfAnOlderMasterIsAccepted) {
  JobDriver driver(TwoWorkers());
  driver.Start({7});
  driver.GrantAll();
  Caller caller = driver.CallerOf("worker:0");
  caller.epoch = {6};
  const CoreStepResult turn = driver.Observe(RegisterCall{caller, {EndpointOf("worker:0")}});
  EXPECT_FALSE(turn.refusal);
  EXPECT_EQ(Decisions(turn), std::vector<std::string>{"attempt_registered"});
}

TEST(JobCallsTest, ARegistrationWithADifferentEndpointForTheSameAttemptIsRejected) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  const CoreStepResult turn = driver.Observe(RegisterCall{driver.CallerOf("worker:0"), {EndpointOf("worker:1")}});
  ASSERT_TRUE(turn.refusal);
  EXPECT_EQ(turn.refusal->reason, RefusalReason::kBadRequest);
  EXPECT_NE(turn.refusal->message.find("node-worker-0:4000"), std::string::npos);
  EXPECT_TRUE(turn.decisions.empty());
}

// ---- Usage that executors report of their attempts: it is shown and kept with the outcome, but it causes no decision.

const TestRow kUsed[] = {
    {"ResourceUsageFromHeartbeatsIsShownInTheStatusAndNotJournalled",
     {{"running, used worker:0 1", "nothing"}, {"used worker:0 2", "nothing; worker:0 used 2; worker:1 used nothing"}}},
    {"AHeartbeatWithoutUsageKeepsTheLastUsage", {{"running, used worker:0 1, heartbeat worker:0", "worker:0 used 1"}}},
    {"TheUsageInTheOutcomeReplacesTheLastHeartbeatUsageAndSurvivesAReplay",
     {{"running, used worker:0 1, report worker:0 success used 5", "worker:0 used 5"}, {"replay", "worker:0 used 5"}}},
    {"AnExitWithoutAReportKeepsTheLastUsage", {{"running, used worker:0 7, exit worker:0, replay", "worker:0 used 7"}}},
    {"ANewMasterShowsNoUsageUntilTheNextHeartbeat", {{"running, used worker:0 7, master 2", "worker:0 used nothing"}}},
};
TABLE_TEST(JobUsageTest, kUsed, Script("worker*2"));

// ---- Tasks that fell silent, when a job is ended because it took too long.

const TestRow kQuiet[] = {
    {"ATimeoutVerdictNamesOnlyTasksThatStoppedWritingOutput",
     {{"running, wait 59s, quiet worker:0 100ms 59s, quiet worker:3 40s 59s, pass 1s",
       "verdict says `the job ran longer than 60.0 s (tony.application.timeout); no output from worker:3 for 41.0 "
       "s`"}}},
    {"ATimeoutVerdictNamesFiveTasksWithoutOutputAndCountsTheRest",
     {{"running, wait 50s, quiet worker:0 20s 50s, quiet worker:1 20100ms 50s, quiet worker:2 20200ms 50s, quiet "
       "worker:3 20300ms 50s, quiet worker:4 20400ms 50s, quiet worker:5 20500ms 50s, quiet worker:6 20600ms 50s, pass "
       "10s",
       "verdict says `$; no output from worker:6 for 30.6 s, worker:5 for 30.5 s, worker:4 for 30.4 s, worker:3 for "
       "30.3 s, "
       "worker:2 for 30.2 s and 2 more`"}}},
    {"ATimeoutVerdictNamesNoTaskIfAllTasksWroteOutputUntilTheTimeout",
     {{"running, wait 59900ms, quiet worker:0 100ms 59900ms, pass 100ms",
       "verdict says `the job ran longer than 60.0 s (tony.application.timeout)`"}}},
};
TABLE_TEST(JobSilenceTest, kQuiet, Script("worker*7 timeout=60s"));

// ---- What tasks learn of each other in addition to their addresses.

const TestRow kWired[] = {
    {"EveryTaskReceivesTheNamedPortsOfAllTasks",
     {{"gathering, all-registered",
       "driver:0 ports driver:0.control=5000 driver:0.data=5001 worker:0.data=5000 worker:0.tensorboard=5001 "
       "worker:1.data=5000"}}},
    {"EveryTaskReceivesTheProcessCountsOfAllTasks",
     {{"+worker*2:processes=3: gathering, all-registered",
       "driver:0 reads ~\"worker\":3; driver:0 reads !\"driver\":1"}}},
    {"NamedPortsAreJournalledWithTheRegistration",
     {{"gathering, register worker:0, all-registered, note driver:0, master 2",
       "driver:0 told as noted; driver:0 reads ~\"tensorboard\":5001"}}},
    {"TheTensorBoardUrlIsShownWhileTheTensorBoardSidecarRuns",
     {{"job tensorboard*1:sidecar worker*1: gathering, all-registered", "tensorboard"},
      {"all-run", "tensorboard http://node-tensorboard-0:5000/"},
      {"master 2", "tensorboard http://node-tensorboard-0:5000/"},
      {"report tensorboard:0 fails 1", "tensorboard"}}},
    {"NoTensorBoardUrlIsShownForAJobWithoutATensorBoardSidecar", {{"job worker*2: running", "tensorboard"}}},
    {"AnExecutorThatRegistersAgainWithOtherPortsIsRejected",
     {{"running, register worker:1 running 100 data=5000", "nothing"},
      {"register worker:1 running 100 {portless|data=5001}", "refused bad_request; nothing"}}},
    {"OtherTasksReceiveTheNewPortsOfAReplacedTask",
     {{"gathering, launched driver:0 worker:0 worker:1, register worker:1, exit worker:1, grant worker:1#2", ""},
      {"register worker:1#2 waiting 0 data=77, register driver:0 worker:0", "driver:0 ports ~worker:1.data=77"}}},
};
TABLE_TEST(JobWiringTest, kWired, Script("driver*1 worker*2 staged"));

}  // namespace
}  // namespace tony::am
