// Every key of the table that is honoured does what it says to a job that runs: here, or in the test that kElsewhere
// names. keys_test.cc has the same for plans.
#include <regex>

#include "runtime/config/keys.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class KeysRunTest : public TonyTest {
 protected:
  // Of a job whose worker fails in its first two attempts.
  void ExpectThreeAttempts(const Words& keys, const std::string& scope) const {
    const Ran ran = Succeeds(Workers(1, "test $TONY_ATTEMPT = 3",
                                     {"tony.ps.instances=1", "tony.ps.command=sleep 1000", "tony.restart.backoff-ms=1",
                                      "tony.restart.longest-backoff-ms=1"}) +
                             Confs(keys) + Words{"--json"});
    const json::value status = ParseJson(ran.out);
    ExpectJson(status, {{"/restart_count", 2}, {"/restarts/1/scope", scope}});
  }
};

TEST_F(KeysRunTest, ATaskFindsItsFilesAndItsVariables) {
  for (const char* folder : {"src", "environment", "resource"}) fs::create_directory(box_.File(folder));
  box_.Write("src/here", "");
  box_.Write("environment/here", "");
  box_.Write("roles", "");
  Succeeds(Words{"submit"} +
           Confs({"tony.worker.instances=1", "tony.src-dir=src", "tony.python-venv=environment",
                  "tony.containers.resources=resource", "tony.worker.resources=roles::renamed",
                  "tony.application.tags=a,b", "tony.containers.env.A=1,2", "tony.containers.envs=B=3,C=4",
                  "tony.execution.env.D=5,6", "tony.execution.envs=E=7,F=8",
                  "tony.containers.command=echo $A $B $C $D $E $F; test -e here -a -e venv/here -a -d "
                  "resource -a -e renamed"}));
  EXPECT_EQ(LogText("worker-0", "stdout"), "1,2 3 4 5,6 7 8\n");
  EXPECT_EQ(json::serialize(At(Status(), "/tags")), R"(["a","b"])");
}

TEST_F(KeysRunTest, AJobWithoutRolesHasKeysOfItsOwn) {
  box_.SetMachine(R"({"memory_mb":1000,"gpus":[3]})");
  box_.Write("file", "");
  const Words job = Words{"submit"} + Confs({"tony.am.command=echo $CUDA_VISIBLE_DEVICES; test -e file",
                                             "tony.am.memory=999m", "tony.am.gpus=1", "tony.am.resources=file"});
  Succeeds(job);
  EXPECT_EQ(LogText("driver-0", "stdout"), "3\n");
  for (const std::string more : {"tony.am.memory=1001m", "tony.am.gpus=2"}) {
    const Ran refused = Fails(65, job + Conf(more));
    EXPECT_THAT(refused.err, HasSubstr(more.substr(0, more.find('='))));
  }
}

// Two restarts by a budget of one, as the first is soon too long ago.
TEST_F(KeysRunTest, EachLevelOfRestartsHasABudgetAndAWindow) {
  for (const std::string level : {"task", "role", "gang", "job"})
    ExpectThreeAttempts({"tony.restart.scope=" + level, "tony.restart." + level + ".budget=1",
                         "tony.restart." + level + ".window-ms=1"},
                        level);
}

TEST_F(KeysRunTest, ARoleAndTonysRetriesHaveTheirOwn) {
  ExpectThreeAttempts({"tony.restart.scope=gang", "tony.worker.restart.scope=role", "tony.worker.restart.budget=2"},
                      "role");
  ExpectThreeAttempts({"tony.restart.scope=job", "tony.am.retry-count=2"}, "job");
}

TEST_F(KeysRunTest, WhatIsLostHasAWindowOfItsOwn) {
  const auto client =
      box_.StartTony(One(HoldUntilGo(), {"tony.restart.lost.budget=1", "tony.restart.lost.window-ms=1",
                                         "tony.restart.backoff-ms=1", "tony.restart.longest-backoff-ms=1"}));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(WaitForRunning(1)) << client->err();
    fs::remove(Running("worker-0"));
    SignalAll("tony-executor", SIGKILL);
  }
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  GoAndEnd(*client);
}

TEST_F(KeysRunTest, ATaskIsSuspectAfterItsTimeAndCleared) {
  const auto client =
      Hold(One(HoldUntilGo(), {"tony.task.suspect-after-ms=200", "tony.task.heartbeat-interval-ms=50"}));
  const std::vector<pid_t> executor = box_.Pids("tony-executor");
  ASSERT_EQ(executor.size(), 1u);
  kill(executor[0], SIGSTOP);
  const auto is_suspect = [&] { return At(Status(), "/tasks/0/suspect") == value(true); };
  EXPECT_TRUE(WaitFor(is_suspect, Limit(10000))) << "the limit itself is 5 s by default";
  kill(executor[0], SIGCONT);
  EXPECT_TRUE(WaitFor([&] { return !is_suspect(); }));
  GoAndEnd(*client);
}

TEST_F(KeysRunTest, AJobOfAHigherPriorityGoesBeforeItsUsersOthers) {
  box_.SetMachine(R"({"memory_mb":1000})");
  const Words one = One(HoldUntilGo(), {"tony.worker.memory=900m"});
  const auto holder = Hold(one);
  Words jobs;
  for (const char* key : {"tony.local.priority=0", "tony.local.priority=5"}) {
    const Ran ran = Succeeds(one + Conf(key) + Words{"--detach"});
    jobs.push_back(ran.out.substr(0, ran.out.find('\n')));
    ASSERT_TRUE(WaitFor([&] { return box_.Tony({"list", "--queue"}).out.find(jobs.back()) != std::string::npos; }));
  }
  const std::string queue = box_.Tony({"list", "--queue"}).out;
  EXPECT_LT(queue.find(jobs[1]), queue.find(jobs[0])) << queue;
  GoAndEnd(*holder);
  for (const std::string& job : jobs) Succeeds({"wait", job});
}

TEST_F(KeysRunTest, ARuleForASignalDecides) {
  Fails(1, One("kill -USR1 $$", {"tony.failure.signal.SIGUSR1=user_config, no licence"}));
  EXPECT_EQ(Text(Status(), "/verdict/class"), "user_config");
  EXPECT_THAT(Text(Status(), "/verdict/message"), HasSubstr("no licence"));
}

TEST_F(KeysRunTest, TheHistoryIsWhereTheIntermediateKeySays) {
  Succeeds(One("true", {"tony.history.intermediate=" + box_.File("histories")}));
  Words names;
  for (const auto& entry : fs::recursive_directory_iterator(box_.File("histories")))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::Contains("tony-final.xml"));
}

// --- Every key has its test ----------------------------------------------------------------------------------------

// A key of the table, and the tests that run it; "hadoop": a suite of tests/conformance/hadoop names it.
const std::map<std::string, std::string>& Runs() {
  static const auto& runs = *new std::map<std::string, std::string>{
      {"tony.application.distributed-mode", "PlanTruthTest.EachProcessIsStartedAsPlanned"},
      {"tony.application.framework", "PlanTruthTest.EachProcessIsStartedAsPlanned"},
      {"tony.application.name", "TonyDefectsTest.AJobsNameIsNoCommand"},
      {"tony.application.sidecar.jobtypes", "TonyScenariosTest.ASidecarThatFailsFailsNothing"},
      {"tony.application.completion-rule", "CompletionTest.TonysRuleIsOneKey"},
      {"tony.application.dependency.<role>.timeout.after.<group>",
       "DependenciesTest.WhoHangsAfterTheChiefHasEndedFailsTheJobOrIsIgnored"},
      {"tony.application.dependency.<role>.timeout.after.<group>.ignored",
       "DependenciesTest.WhoHangsAfterTheChiefHasEndedFailsTheJobOrIsIgnored"},
      {"tony.application.enable-preprocess", "DependenciesTest.WhatIsPreprocessedOnceReachesEveryTask"},
      {"tony.application.fail-on-worker-failure-enabled", "CompletionTest.TonysRuleIsOneKey"},
      {"tony.application.group.<group>", "DependenciesTest.WhoHangsAfterTheChiefHasEndedFailsTheJobOrIsIgnored"},
      {"tony.application.prepare-stage", "DependenciesTest.TonysStagesRunOneAfterTheOther"},
      {"tony.application.stop-on-failure-jobtypes", "CompletionTest.TonysRuleIsOneKey"},
      {"tony.application.training-stage", "DependenciesTest.TonysStagesRunOneAfterTheOther"},
      {"tony.<role>.depends-on", "DependenciesTest.AFailedPreparationStartsNothingElse"},
      {"tony.<role>.min-failed", "CompletionTest.OneFailureTooManyFailsTheJobAndTheFirstIsNamed"},
      {"tony.<role>.min-succeeded", "CompletionTest.BatchInferenceSucceedsWhenEnoughShardsDidAndTheRestIsStopped"},
      {"tony.am.startup-timeout", "LimitsTest.AMasterThatHangsFromItsStartIsEndedWithItsKey"},
      {"tony.application.tags", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.application.tensorboard-log-dir",
       "TonyScenariosTest.TensorBoardBesideTheJobHasThePortAndIsStoppedAtTheEnd"},
      {"tony.application.timeout", "LimitsTest.TheWholeJobsLimitNamesWhoWasSilent"},
      {"tony.application.untracked.jobtypes",
       "TonyScenariosTest.AParameterServerThatFailsFailsTheJobAndItsWorkerIsStopped"},
      {"tony.scheduler", "YarnClientTest.WithoutAConfigurationAJobOfYarnIsRefusedByItsKey"},
      {"tony.src-dir", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.containers.command", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.containers.env.<NAME>", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.containers.envs", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.containers.resources", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.execution.env.<NAME>", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.execution.envs", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.python-venv", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.<role>.command", "TonyScenariosTest.AParameterServerThatFailsFailsTheJobAndItsWorkerIsStopped"},
      {"tony.<role>.gpus", "QueueTest.TasksGetGpusOfTheirOwnAndTheNextJobWaitsForThem"},
      {"tony.<role>.instances", "PlanTruthTest.EachProcessIsStartedAsPlanned"},
      {"tony.<role>.max-instances", "LimitsTest.CapsRefuseAJobBeforeAnythingStarts"},
      {"tony.<role>.memory", "QueueTest.TwoJobsThatEachWantSixtyPercentRunOneAfterTheOther"},
      {"tony.<role>.nproc-per-node", "PlanTruthTest.EachProcessIsStartedAsPlanned"},
      {"tony.<role>.resources", "KeysRunTest.ATaskFindsItsFilesAndItsVariables"},
      {"tony.<role>.vcores", "LimitsTest.CapsRefuseAJobBeforeAnythingStarts"},
      {"tony.<role>.outlives-restarts", "BoardTest.ItRunsOnWithItsAddressWhenTheGangStartsAgain"},  // a board's default
      {"tony.<role>.restart.budget", "KeysRunTest.ARoleAndTonysRetriesHaveTheirOwn"},
      {"tony.<role>.restart.scope", "KeysRunTest.ARoleAndTonysRetriesHaveTheirOwn"},
      {"tony.task.background", "BackgroundTest.TheJobMayHaveItOtherwise"},
      {"tony.task.log-limit", "UsageE2eTest.ALogBeyondItsLimitKeepsItsBeginningAndItsEnd"},
      {"tony.task.max-total-gpus", "LimitsTest.CapsRefuseAJobBeforeAnythingStarts"},
      {"tony.task.max-total-instances", "LimitsTest.CapsRefuseAJobBeforeAnythingStarts"},
      {"tony.task.max-total-memory", "LimitsTest.CapsRefuseAJobBeforeAnythingStarts"},
      {"tony.task.max-total-vcores", "LimitsTest.CapsRefuseAJobBeforeAnythingStarts"},
      {"tony.am.command", "KeysRunTest.AJobWithoutRolesHasKeysOfItsOwn"},
      {"tony.am.gpus", "KeysRunTest.AJobWithoutRolesHasKeysOfItsOwn"},
      {"tony.am.memory", "KeysRunTest.AJobWithoutRolesHasKeysOfItsOwn"},
      {"tony.am.vcores", "TonyFinalTest.EachRoleHasItsRequestsWhateverKeysTheyCameFrom"},
      {"tony.am.resources", "KeysRunTest.AJobWithoutRolesHasKeysOfItsOwn"},
      {"tony.am.lease-ms", "LivenessTest.AnApplicationMasterWithoutItsKeeperStopsRulingAndComesBack"},
      {"tony.am.retry-count", "KeysRunTest.ARoleAndTonysRetriesHaveTheirOwn"},
      {"tony.compat.version", "LimitsTest.ItsContainersLimitHoldsAsWellUnderBothTonysNames"},
      {"tony.container.allocation.timeout", "LimitsTest.ATaskThatGetsNoContainerIsNamedWithItsKey"},
      {"tony.container.registration.timeout", "LimitsTest.ItsContainersLimitHoldsAsWellUnderBothTonysNames"},
      {"tony.local.memory-limits", "MemoryTest.NeedsWritableCgroupTaskAboveItsLimitEndsAsOutOfMemoryWithTheNumbers"},
      {"tony.local.priority", "KeysRunTest.AJobOfAHigherPriorityGoesBeforeItsUsersOthers"},
      {"tony.task.cutoff-after-ms", "TonyScenariosTest.ATaskThatMissesItsHeartbeatsFailsTheJobWhenTheirTimeIsOver"},
      {"tony.task.executor.execution-timeout-ms", "LimitsTest.ATaskThatRunsTooLongIsEndedWithItsWholeTree"},
      {"tony.task.executor.registry-timeout-sec", "LimitsTest.ATaskThatHangsBeforeItRegistersIsNamedWithItsKey"},
      {"tony.task.heartbeat-interval-ms", "KeysRunTest.ATaskIsSuspectAfterItsTimeAndCleared"},
      {"tony.task.lost-after-ms", "LivenessTest.AnApplicationMasterThatSleptHarmsNothing"},
      {"tony.task.max-missed-heartbeats",
       "TonyScenariosTest.ATaskThatMissesItsHeartbeatsFailsTheJobWhenTheirTimeIsOver"},
      {"tony.task.orphan-timeout-ms", "TonyScenariosTest.AnExecutorThatHasLostItsApplicationMasterForGoodStopsItsTask"},
      {"tony.task.record-fresh-ms", "TonyScenariosTest.AnExecutorThatHasLostItsApplicationMasterForGoodStopsItsTask"},
      {"tony.task.stop-grace-ms", "LimitsTest.ATaskThatMindsNoSignalIsKilledAfterItsGrace"},
      {"tony.task.suspect-after-ms", "KeysRunTest.ATaskIsSuspectAfterItsTimeAndCleared"},
      {"tony.worker.timeout", "LimitsTest.TheOlderTonysKeyIsTheSameLimitForEveryRole"},
      {"tony.checkpoint.dir", "ResumeTest.ARestartedTaskIsToldTheNewestCheckpoint"},
      {"tony.checkpoint.fruitless-restarts",
       "ResumeTest.AJobThatMakesNoCheckpointsStartsFromTheBeginningAndThenGivesUp"},
      {"tony.checkpoint.pattern", "ResumeTest.ARestartedTaskIsToldTheNewestCheckpoint"},
      {"tony.checkpoint.resume", "ResumeTest.TheLatestCheckpointOfAnybodyIsResumedFromWhereThatIsAskedFor"},
      {"tony.restart.backoff-ms", "KeysRunTest.EachLevelOfRestartsHasABudgetAndAWindow"},
      {"tony.restart.longest-backoff-ms", "KeysRunTest.EachLevelOfRestartsHasABudgetAndAWindow"},
      {"tony.restart.scope", "KeysRunTest.EachLevelOfRestartsHasABudgetAndAWindow"},
      {"tony.restart.settle-ms", "FailureReportsTest.OfCollectives"},
      {"tony.restart.lost.budget", "NoFreeRestartTest.AKilledExecutorFailsTheJobAndLeavesNothing"},
      {"tony.restart.lost.window-ms", "KeysRunTest.WhatIsLostHasAWindowOfItsOwn"},
      {"tony.failure.exit.<NAME>", "FailureTest.TheJobsOwnRuleEndsInTheVerdict"},
      {"tony.failure.pattern.<NAME>", "FailureReportsTest.OfPython"},
      {"tony.failure.signal.<NAME>", "KeysRunTest.ARuleForASignalDecides"},
      {"tony.history.finished", "HistoryFolderTest.ThePortalsKeysAreNotWarnedOf"},
      {"tony.history.intermediate", "KeysRunTest.TheHistoryIsWhereTheIntermediateKeySays"},
      {"tony.history.location", "JhistE2eTest.AJobThatSucceededIsToldToTonysReaders"},
      {"tony.azkaban.replace-older", "StepRequestTest.ReplaceOlderIsTrueOrFalse"},
      {"tony.azkaban.watch-timeout", "AzkabanEndTest.AJobWhoseAdapterWasKilledEndsAsAbandonedWhenNobodyComesBack"},
      {"tony.job.id", "AzkabanStepTest.SuccessIsExitZeroWithTheJobsIdForTheNextStep"},
      {"tony.job.logs", "AzkabanStepTest.SuccessIsExitZeroWithTheJobsIdForTheNextStep"},
      {"tony.job.url", "AzkabanStepTest.SuccessIsExitZeroWithTheJobsIdForTheNextStep"},
      {"tony.model.path", "AzkabanStepTest.OfSeveralNamesOfAModelTheMostSpecialIsTaken"},
      {"tony.output.<NAME>", "AzkabanStepTest.WhatTheChiefWroteIsTextForTheNextStep"},
  };
  return runs;
}

std::string SourcesIn(const std::string& folder) {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(SourceFolder() + folder))
    if (entry.is_regular_file()) all += ReadText(entry.path());
  return all;
}

TEST(EveryKeyTest, HasATestThatRunsIt) {
  const std::string tests = SourcesIn("/tests/e2e") + SourcesIn("/tests/unit");
  const std::string hadoop = SourcesIn("/tests/conformance/hadoop");
  for (const Key& row : AllKeys()) {
    std::string name(row.name);
    if (row.effect == KeyEffect::kYarn && name != "tony.yarn.modify-acl") {  // who may end an application: by hand
      const std::string of_a_role = std::regex_replace(name, std::regex("<role>"), "worker");
      EXPECT_TRUE(hadoop.find(of_a_role) != std::string::npos) << name;
    }
    if (row.effect != KeyEffect::kImplemented && row.effect != KeyEffect::kLocal) continue;
    if (std::regex_match(name, std::regex(R"(tony\.restart\.(task|role|gang|job)\.(budget|window-ms))")))
      name = "tony.restart.scope";
    const auto run = Runs().find(name);
    if (run == Runs().end()) {
      ADD_FAILURE() << name << ": no test runs it";
      continue;
    }
    const std::string& test = run->second;
    const size_t dot = test.find('.');
    const std::string defined = "(" + test.substr(0, dot) + ", " + test.substr(dot + 1) + ")";
    // A row of a table (tests/support/table_test.h) is a test, too.
    const std::string row_of_table = "{\"" + test.substr(dot + 1) + "\",";
    const bool is_row = tests.find("TABLE_TEST(" + test.substr(0, dot) + ",") != std::string::npos &&
                        tests.find(row_of_table) != std::string::npos;
    EXPECT_TRUE(is_row || tests.find(defined) != std::string::npos) << name << ": " << test;
  }
}

}  // namespace
}  // namespace tony
