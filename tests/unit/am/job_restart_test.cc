// Restarts of single tasks and of roles: who is told what and when, who goes on in its container and who gets a new
// one.
#include "tests/unit/am/job_script.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

const TestRow kRestarting[] = {
    // ---- signals that anybody may have sent
    {"ASignalIsFreeTwiceAndThenTheProgramsOwn",
     {{"running, report worker:0 infra by TERM signal", "restart task free"},
      {"register worker:0#2, all-run, report worker:0#2 infra by TERM signal", "restart task free"},
      {"deadline, register worker:0#3, all-run, report worker:0#3 infra by TERM signal",
       "verdict user_error says `~its own processes may have sent the signal`"}}},
    {"ASignalThatCameWithTheLossOfANodeDoesNotCount",
     {{"running, report worker:0 {node_lost|infra|infra} by TERM signal", "restart task free"},
      {"{exit worker:0, all-up|register worker:0#2, all-run|register worker:0#2, all-run}, report worker:0#2 "
       "{infra|node_lost|infra} by TERM signal",
       "restart task free"},
      {"{deadline, register worker:0#3|exit worker:0#2, deadline, all-up|deadline, register worker:0#3}, all-run, "
       "report worker:0#3 {infra|infra|node_lost} by TERM signal",
       "restart task free"}}},
    {"AThirdSignalTakesFromTheProgramsRestarts",
     {{"+task=1: running, report worker:0 infra by TERM signal", "restart task free"},
      {"register worker:0#2, all-run, report worker:0#2 infra by TERM signal", "restart task free"},
      {"deadline, register worker:0#3, all-run, report worker:0#3 infra by TERM signal", "restart task charged"}}},
    {"ASignalLongAgoOrOfAnotherTaskIsAnotherStory",
     {{"+lost=10/60s: running, report worker:0 infra by TERM signal, register worker:0#2, all-run, report worker:1 "
       "infra by TERM signal",
       "restart task free"},
      {"wait 60s, report worker:0#2 infra by TERM signal", "restart task free"}}},
    // ---- one task
    {"ATaskAloneGoesOnInItsExecutorWhileTheOthersRun",
     {{"+task=1: running, report worker:0 fails 1",
       "attempt_ended restart_decided restart_began; orders tell worker:0#1; worker:0 told next 2; worker:1 told start "
       "1; state RUNNING; worker:0 attempt 2; worker:0#2 is launching; worker:0#2 host node-worker-0"}}},
    {"AJoinerStartsAtOnceInTheSameGenerationWithTheSameClusterSpec",
     {{"+task=1: running, note worker:1, report worker:0 fails 1, register worker:0#2",
       "attempt_registered; orders tell worker:0#2; worker:0#2 told start 1; worker:0#2 cluster as worker:1; worker:1 "
       "told as noted"},
      {"heartbeat worker:0#2", "attempt_ran; generation 1"}}},
    {"AHeldExecutorIsToldNothingUntilTheBackOffIsOver",
     {{"+task=2 backoff=3s/9s: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 1",
       "attempt_ended restart_decided; no orders; worker:0#2 told none; worker:0 state backoff; deadline +3s"},
      {"pass 2999ms", "lacks restart_began"},
      {"pass 1ms", "orders tell worker:0#2; worker:0#2 told next 3"}}},
    {"AContainerThatIsLostWhileItsExecutorIsHeldIsReplaced",
     {{"+task=2: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 1, exit worker:0#2",
       "container_ended"},
      {"deadline", "restart_began; orders tell worker:0#2, request worker:0#3"}}},
    {"AJoinerWithAnotherAddressIsInTheClusterSpecThatItGets",
     {{"running, exit worker:0", "worker:0#2 is requested"},
      {"grant worker:0#2", "orders launch worker:0#2 in c-worker-0-2"},
      {"register worker:0#2",
       "worker:0#2 told start 1; worker:0#2 reads ~node-worker-0-2:4000; worker:0#2 reads ~node-worker-1:4001; "
       "worker:0#2 reads !node-worker-0:4000"}}},
    {"AWorkerBesideParameterServersComesBackAloneWithItsAddress",
     {{"job worker*2 ps*1:untracked task=1: running, report worker:1 fails 1, register worker:1#2",
       "worker:1#2 ps:0 told start 1; worker:1#2 cluster as ps:0"}}},
    {"ASidecarComesBackAloneAndIsThenLeftAlone",
     {{"job worker*2 board*1:sidecar pytorch task=1: running, report board:0 fails 1",
       "attempt_ended restart_decided; worker:0 told start 1"},
      {"exit board:0, all-granted, all-registered", "board:0#2 told start 1"},
      {"report board:0#2 fails 1", "attempt_ended; board:0#2 told release; state RUNNING"}}},
    {"AnAttemptThatEndsBeforeTheGangHasFormedIsReplacedAloneAndTheGangForms",
     {{"job worker*2 board*1:sidecar pytorch: gathering, register worker:0, exit worker:1",
       "attempt_ended container_ended restart_decided restart_began; also request worker:1#2; worker:0 told none"},
      {"all-granted, all-registered", "worker:0 worker:1#2 told start 1; state RUNNING"}}},
    // ---- a role
    {"ARoleStartsTogetherAndTheOthersRunOn",
     {{"+reader*1 role=1: running, report worker:0 fails 1",
       "attempt_ended restart_decided; orders tell worker:1#1; worker:0 told none; worker:1 told stop; reader:0 told "
       "start 1"},
      {"report worker:1 killed", "attempt_ended restart_began; orders tell worker:0#1, tell worker:1#1"},
      {"register worker:0#2", "no orders; worker:0#2 told none"},
      {"register worker:1#2", "orders tell worker:0#2, tell worker:1#2; worker:0#2 told start 1; state RUNNING"}}},
    {"OneOfARoleThatEndsBeforeItRegistersDoesNotHoldUpTheOthers",
     {{"+role=1: running, report worker:0 fails 1, report worker:1 killed, register worker:0#2",
       "worker:0#2 told none"},
      {"exit worker:1#2", "worker:0#2 told start 1"},
      {"all-granted, all-registered", "worker:1#3 told start 1"}}},
    {"AnExecutorInTroubleIsNotTrustedWithAnotherAttempt",
     {{"running, report worker:0 {node_lost|infra|preempted}", "worker:0 told release"},
      {"exit worker:0", "also request worker:0#2"}}},
    {"AVerdictAfterFreeRestartsTellsTheirNumber",
     {{"running, exit worker:0, report worker:1 fails 1", "verdict says `~(user_error); after 1 restart`"}}},
    // ---- one restart takes over another
    {"ABiggerRestartTakesOverASmallerOneThatHasNotBegun",
     {{"+gang=1: running, report worker:0 preempted", "worker:0 state backoff"},
      {"report worker:1 fails 1", "attempt_ended restart_decided"},
      {"exit worker:0",
       "container_ended restart_began; began 2; restarts 2; worker:1 told next 2; worker:0#2 is requested; state "
       "ALLOCATING"}}},
    {"TwoTasksRestartIndependently",
     {{"+task=1: running, report worker:0 preempted, report worker:1 fails 1",
       "attempt_ended restart_decided restart_began; worker:0 state backoff; worker:1 state active"}}},
};
TABLE_TEST(JobRestartTest, kRestarting, Script("worker*2 standalone"));

TEST(JobRestartTest, AStatusShowsTheNewestTwentyRestartsAndCountsAll) {
  const Duration at_once{0};
  JobDriver driver(Alone().Restarts(kTask, 50).Backoff(at_once, at_once).Build());
  driver.Running();
  for (int attempt = 1; attempt <= 25; ++attempt) {
    driver.Report("worker:0#" + std::to_string(attempt), Failure(attempt));
    driver.RegisterAll().RunAll();
  }
  const JobStatus status = driver.Status();
  EXPECT_EQ(status.restart_count, 25);
  ASSERT_EQ(status.restarts.size(), 20U);
  EXPECT_EQ(status.restarts.front().number, 6);
  EXPECT_EQ(status.restarts.back().number, 25);
  EXPECT_EQ(status.restarts.back().scope, "task");
  EXPECT_EQ(status.restarts.back().cause, AttemptOf("worker:0#25"));
  EXPECT_TRUE(status.restarts.back().charged);
}

}  // namespace
}  // namespace tony::am
