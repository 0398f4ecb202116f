// The limits of a task and of a job, with real processes: each limit ends the job, and the message names the task and
// the key.
#include "tests/e2e/script.h"

namespace tony {
namespace {

const TestRow kLimits[] = {
    {"ATaskBeyondItsExecutionTimeoutIsKilledWithItsWholeProcessTree",
     {{"one `echo step 7 >&2; sleep 600 & sleep 600` tony.task.executor.execution-timeout-ms=500",
       "1 && verdict=timeout && ~worker:0 && ~ran longer than 0.5 s && ~step 7 && "
       "~tony.task.executor.execution-timeout-ms"}}},
    {"TheKeyWorkerTimeoutLimitsTheExecutionTimeOfTasksOfEveryRole",
     {{"submit -executes `sleep 600` tony.worker.timeout=500 tony.chief.instances=1 tony.chief.memory=10m",
       "1 && verdict=timeout && ~chief:0 && ~ran longer than 0.5 s && !warning"}}},
    {"ATaskThatIgnoresSigtermIsKilledAfterItsGracePeriod",
     {{"one `trap '' TERM; while :; do sleep 600; done` tony.worker.timeout=500 tony.task.stop-grace-ms=300",
       "1 && verdict=timeout && ~ran longer than 0.5 s"}}},
    {"TheNoticeFileOfATaskNamesTheKeyOfTheExceededTimeout",
     {{"one `trap 'cat $TONY_NOTICE_FILE; exit 0' TERM; while :; do sleep 0.05; done` tony.worker.timeout=500",
       "1 && verdict=timeout && ~ran longer than 0.5 s"},
      {"log worker-0 stdout", "~tony.task.executor.execution-timeout-ms"}}},
    {"ATaskBeyondItsExecutionTimeoutIsRestartedWithinTheRestartBudget",
     {{"one `test $TONY_ATTEMPT = 2 || exec sleep 600` tony.worker.timeout=1000 tony.restart.task.budget=1 "
       "tony.restart.backoff-ms=0",
       ""},
      {"left", ""}}},
    {"ATaskThatEndsWithinItsExecutionTimeoutSucceeds", {{"one true tony.worker.timeout=20000", ""}, {"left", ""}}},
    {"ATaskThatDoesNotRegisterWithinTheRegistryTimeoutFailsTheJob",
     {{"replace tony-executor `exec sleep 1000`", ""},
      {"one true tony.task.executor.registry-timeout-sec=1",
       "1 && verdict=timeout && ~worker:0 did not register within 1.0 s of its container's start && "
       "~tony.task.executor.registry-timeout-sec"}}},
    {"TheAllocationTimeoutLimitsRegistrationIfCompatVersionIs046",
     {{"replace tony-executor `exec sleep 1000`", ""},
      {"workers 2 true tony.container.allocation.timeout=700 tony.compat.version=0.4.6 "
       "tony.application.completion-rule=strict",
       "1 && verdict=timeout && ~not every task registered within 0.7 s && ~worker:0, worker:1 && "
       "~tony.container.registration.timeout && !warning"}}},
    {"AMasterThatDoesNotStartWithinTheStartupTimeoutFailsTheJob",
     {{"replace tony-am `exec sleep 1000`", ""},
      {"one true tony.am.startup-timeout=1500",
       "1 && verdict=timeout && ~the application master had not started 1.5 s after the submission && "
       "~(tony.am.startup-timeout=1500)"}}},
    {"AJobMayOutliveTheStartupTimeoutOfItsMaster", {{"one `sleep 3` tony.am.startup-timeout=2500", ""}, {"left", ""}}},
    {"ATaskWithoutAContainerAfterTheAllocationTimeoutFailsTheJob",
     {{"machine `{\"memory_mb\":1000}`", ""},
      {"& one `%H` tony.worker.memory=900m", ""},
      {"running 1", ""},
      {"one true tony.worker.memory=900m tony.compat.version=0.5.3 tony.container.allocation.timeout=700",
       "1 && ~not every task got a container within 0.7 s && ~worker:0 && ~tony.container.allocation.timeout"},
      {"go", ""},
      {"end", ""},
      {"left", ""}}},
    {"AJobBeyondItsApplicationTimeoutFailsAndTheVerdictNamesTheKey",
     {{"one `sleep 600` tony.application.timeout=1500",
       "1 && verdict=timeout && ~longer than 1.5 s && ~tony.application.timeout"}}},
    {"AJobAboveMaxInstancesOrAMaxTotalLimitIsRefusedBeforeAnythingStarts",
     {{"one true tony.worker.max-instances=1 tony.worker.instances=2",
       "65 && ~tony.worker.instances && ~tony.worker.max-instances"},
      {"one true tony.task.max-total-instances=3 tony.worker.instances=4",
       "65 && ~the job requests 4 && ~tony.task.max-total-instances"},
      {"one true tony.task.max-total-memory=100 tony.worker.memory=101",
       "65 && ~the job requests 101 && ~tony.task.max-total-memory"},
      {"one true tony.task.max-total-vcores=2 tony.worker.vcores=3",
       "65 && ~the job requests 3 && ~tony.task.max-total-vcores"},
      {"one true tony.task.max-total-gpus=1 tony.worker.gpus=2",
       "65 && ~the job requests 2 && ~tony.task.max-total-gpus"},
      {"jobs 0", ""}}},
};
TABLE_TEST(LimitsTest, kLimits, RunScript);

class HangingMasterTest : public TonyTest {
 protected:
  std::string SubmitAs(const std::string& owner) {
    const Installation hanging(box_, {{"tony-am", "exec sleep 1000"}});
    const Ran ran = hanging.Tony(One("true") + Words{"--detach", "--request-id", "engine://run/1", "--owner", owner});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_TRUE(WaitFor([&] { return !box_.Pids("tony-keeper").empty(); }));
    return Job();
  }
  // A keeper gives its silent master up after 30 s; a kill must be much faster.
  void ExpectKilled(const Words& arguments) {
    const auto kills = box_.StartTony(arguments);
    EXPECT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").empty(); }, Limit(15'000)));
    const Ran ran = Ends(*kills);
    const auto status = Status();
    ExpectJson(status, {{"/state", "KILLED"}, {"/verdict/message", "no use"}});
  }
};

TEST_F(HangingMasterTest, AKillEndsAJobWhoseMasterHangsDuringStartup) {
  ExpectKilled({"kill", SubmitAs("o1"), "--reason", "no use"});
  ExpectNothingLeft();
}

TEST_F(HangingMasterTest, AKillThatNamesTheCurrentOwnerEndsAJobWithAHangingMaster) {
  const std::string job = SubmitAs("o1");
  Succeeds({"kill", job, "--if-owner", "o2", "--no-wait"});
  EXPECT_FALSE(box_.Pids("tony-keeper").empty());
  ExpectKilled({"kill", job, "--if-owner", "o1", "--reason", "no use"});
  ExpectNothingLeft();
}

TEST_F(HangingMasterTest, AKillEndsAJobWhoseMasterIsStoppedBySigstop) {
  const auto client = Hold(One(HoldUntilGo()));
  kill(box_.Pids("tony-am").front(), SIGSTOP);
  ExpectKilled({"kill", Job(), "--reason", "no use"});
  // The job has ended, and its submitting client may need a moment more to print that.
  Ends(*client, 1);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
