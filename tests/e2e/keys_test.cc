// Every configuration key through the built programs: its effect on `tony plan`, the warning if it has no effect, and
// the test that runs a job with it.
#include "runtime/config/keys.h"

#include <regex>
#include <sstream>

#include "tests/e2e/script.h"

namespace tony {
namespace {

// The keys, grouped by the test that runs a job with them ("hadoop": a suite of tests/conformance/hadoop names them).
// Each line has KEY=VALUE | pointer and value in the plan's spec | more keys of the planned job, which has one worker.
// "refuses": a plan with this value is refused; "elsewhere": the value does not change a plan.
constexpr const char* kKeys = R"(
CompletionTest.TheCompletionRuleTonyToleratesAFailedTaskThatIsNotTheChief
  tony.application.completion-rule=tony | /completion_rule="tony"
  tony.application.fail-on-worker-failure-enabled=true | /roles/0/min_failed=1 | tony.application.completion-rule=tony
  tony.application.stop-on-failure-jobtypes=worker | /roles/0/min_failed=1 | tony.application.completion-rule=tony
PlanTruthTest.EachProcessRunsWithTheCommandAndVariablesThatThePlanShows
  tony.application.distributed-mode=FCFS | /mode="FCFS"
  tony.application.framework=PyTorch | /framework="pytorch"
  tony.worker.instances=3 | /roles/0/instances=3
  tony.worker.nproc-per-node=2 | /roles/0/processes=2 | tony.application.framework=pytorch
TonyDefectsTest.ShellCharactersInAJobsNameAreNotExecuted
  tony.application.name=mine | /name="mine"
TonyScenariosTest.AFailedSidecarDoesNotFailTheJob
  tony.application.sidecar.jobtypes=ps | /roles/0/completion="sidecar" | tony.ps.instances=1
YarnSpecTest.TheAddressOfThePortalAndTheViewAclCountAlsoForAJobOfOneMachine
  tony.page.url=https://portal:1/ | /page_url="https://portal:1"
KeysRunTest.ATaskGetsTheFilesAndVariablesSetByConfigurationKeys
  tony.application.tags=a,b | /tags=["a","b"]
  tony.src-dir=@FOLDER | /src_dir="@FOLDER"
  tony.containers.command=own | /roles/0/command="own"
  tony.containers.env.A=1,2 | /container_env/A="1,2"
  tony.containers.envs=A=1,B=2 | /container_env/B="2"
  tony.containers.resources=@FILE | /files/0/source="@FILE"
  tony.execution.env.A=1,2 | /execution_env/A="1,2"
  tony.execution.envs=A=1,B=2 | /execution_env/B="2"
  tony.python-venv=@FOLDER | /python_venv="@FOLDER"
  tony.worker.resources=@FILE | /roles/0/files/0/source="@FILE"
TonyMethodTest.ATensorBoardSidecarGetsTheTensorBoardPortAndIsStoppedAtTheEndOfTheJob
  tony.application.tensorboard-log-dir=/logs | /roles/0/name="tensorboard"
LimitsTest.AJobBeyondItsApplicationTimeoutFailsAndTheVerdictNamesTheKey
  tony.application.timeout=5000 | /timeout_ms=5000
TonyScenariosTest.AFailedParameterServerFailsTheJobAndStopsTheWorker
  tony.application.untracked.jobtypes=db | /roles/0/completion="untracked" | tony.db.instances=1
  tony.worker.command=own | /roles/0/command="own"
YarnClientTest.CommandsForYarnJobsAreRefusedIfHadoopConfDirIsNotSet
  tony.scheduler=yarn | /scheduler="yarn"
TonyScenariosTest.ADependencyTimeoutMarkedAsIgnoredStopsTheWorkersWithoutFailingTheJob
  tony.application.group.A=chief | /roles/1/outlives/0/roles/0="chief" | tony.chief.instances=1 @AFTER=5
  @AFTER=5 | /roles/1/outlives/0/limit_ms=5000 | tony.chief.instances=1 @GROUP
  @AFTER.ignored=true | /roles/1/outlives/0/ignored=true | tony.chief.instances=1 @GROUP @AFTER=5
TonyScenariosTest.HorovodsWorkersGetTheirPlacesWhenTheDriverIsInTestMode
  tony.horovod.mode.test=true | /roles/0/command="exec \"$TONY_EXECUTOR\" --horovod-driver --test" | tony.application.framework=horovod
TonyScenariosTest.AHorovodDriverOfTheUsersOwnDecidesThePlaces
  tony.horovod.driver.mode.debug=true | /roles/0/command="exec \"$TONY_EXECUTOR\" --horovod-driver own" | tony.application.framework=horovod tony.driver.instances=1 tony.driver.command=own
TonyScenariosTest.AHorovodDriverThatFailsFailsTheJobAndStopsTheWorker
  tony.horovod.mode.test.fast.fail=true | /roles/0/command="exit 1" | tony.application.framework=horovod
DependenciesTest.ModelParametersPrintedByThePreprocessTaskReachEveryOtherTask
  tony.application.enable-preprocess=true | /roles/0/name="preprocess"
DependenciesTest.TheTrainingStageStartsAfterThePrepareStageHasSucceeded
  tony.application.prepare-stage=chief | /roles/1/depends_on/0/role="chief" | tony.chief.instances=1
  tony.application.training-stage=worker | /roles/1/depends_on/0/role="chief" | tony.chief.instances=1
DependenciesTest.AFailedRoleFailsTheJobAndDependentRolesAreNotStarted
  tony.worker.depends-on=chief:ready | /roles/1/depends_on/0/until="ready" | tony.chief.instances=1
QueueTest.EachTaskGetsItsOwnGpusAndTheNextJobWaitsForAFreeGpu
  tony.worker.gpus=1 | /roles/0/gpus=1
LimitsTest.AJobAboveMaxInstancesOrAMaxTotalLimitIsRefusedBeforeAnythingStarts
  tony.worker.max-instances=0 | refuses
  tony.worker.vcores=2 | /roles/0/vcores=2
  tony.task.max-total-gpus=0 | refuses | tony.worker.gpus=1
  tony.task.max-total-instances=0 | refuses
  tony.task.max-total-memory=1 | refuses
  tony.task.max-total-vcores=0 | refuses
QueueTest.TwoJobsThatEachNeedSixtyPercentOfTheMemoryRunOneAfterTheOther
  tony.worker.memory=3g | /roles/0/memory_mb=3072
CompletionTest.AJobFailsOnceTheNumberOfFailedTasksOfARoleReachesMinFailed
  tony.worker.min-failed=2 | /roles/0/min_failed=2 | tony.worker.instances=2
CompletionTest.AJobSucceedsAndStopsItsRunningTasksOnceItsOnlyRoleHasReachedMinSucceeded
  tony.worker.min-succeeded=1 | /roles/0/min_succeeded=1
BoardTest.TensorBoardKeepsItsProcessAndAddressWhenTheGangRestarts
  tony.ps.outlives-restarts=true | /roles/0/outlives_restarts=true | tony.ps.instances=1 tony.application.sidecar.jobtypes=ps
KeysRunTest.AWorkerRestartBudgetOfTwoOrAnAmRetryCountOfTwoAllowsTwoRestarts
  tony.worker.restart.budget=3 | /roles/0/restarts=3
  tony.worker.restart.scope=job | /roles/0/restart_scope="job"
  tony.am.retry-count=2 | /restart/job/most=2
SweepRunTest.TasksBeyondTheLimitStartWhenOthersHaveEnded
  tony.worker.max-parallel=2 | /roles/0/max_parallel=2 | tony.worker.instances=3 tony.application.distributed-mode=FCFS tony.application.framework=standalone
SweepRunTest.TrialsGetTheirParametersAndAreComparedByTheMetric
  tony.sweep.file=missing.csv | refuses
  tony.sweep.metric=loss | /sweep/metric="loss" | tony.sweep.trials=[{"x":1}]
  tony.sweep.parameters={"x":[1,2]} | /roles/0/instances=2
  tony.sweep.random=3 | /roles/0/instances=3 | tony.sweep.parameters={"x":[1,2]}
  tony.sweep.seed=x | refuses | tony.sweep.random=3 tony.sweep.parameters={"x":[1,2]}
  tony.sweep.trials=[{"x":1}] | /roles/0/instances=1
SweepRunTest.ASweepFailsIfAllTrialsFailOrMoreThanTolerated
  tony.sweep.tolerate=0 | /roles/0/min_failed=1 | tony.sweep.trials=[{"x":1},{"x":2}]
HoldTest.AShellEntersAFailedTaskWhileTheOtherTasksGoOn
  tony.task.hold=600000 | /hold_ms=600000
BackgroundTest.TheJobConfiguresWhetherBackgroundProcessesAreKilledAwaitedOrAFailure
  tony.task.background=end | /background="end"
UsageE2eTest.ALogBeyondItsLimitKeepsItsBeginningAndItsEnd
  tony.task.log-limit=2g | /log_limit_mb=2048
KeysRunTest.AJobWithoutRolesIsConfiguredByKeysWithThePrefixTonyAm
  tony.am.command=own | /roles/0/command="own" | tony.worker.instances=0
  tony.am.gpus=1 | /roles/0/gpus=1 | tony.worker.instances=0
  tony.am.memory=3g | /roles/0/memory_mb=3072 | tony.worker.instances=0
  tony.am.resources=@FILE | /am_files/0/source="@FILE"
TonyFinalTest.TheResourcesOfARoleAreWrittenUnderTheKeysOfThatRole
  tony.am.vcores=2 | /roles/0/vcores=2 | tony.worker.instances=0
LimitsTest.AMasterThatDoesNotStartWithinTheStartupTimeoutFailsTheJob
  tony.am.startup-timeout=20000 | /startup_timeout_ms=20000
LivenessTest.AMasterWhoseKeeperIsPausedLosesItsLeaseUntilTheKeeperContinues
  tony.am.lease-ms=20000 | /timers/am_lease_ms=20000
LimitsTest.TheAllocationTimeoutLimitsRegistrationIfCompatVersionIs046
  tony.compat.version=0.4.6 | /registration_timeout_ms=5 | tony.container.allocation.timeout=5
  tony.container.registration.timeout=5 | /registration_timeout_ms=5
LimitsTest.ATaskWithoutAContainerAfterTheAllocationTimeoutFailsTheJob
  tony.container.allocation.timeout=5 | /allocation_timeout_ms=5 | tony.compat.version=0.5.3
PodmanTest.ATaskSeesTheFilesAndVariablesOfItsImageAndItsJob
  tony.worker.image=a:1 | /roles/0/image="a:1" | tony.containers.image=b:2
  tony.containers.mounts=/a:/b:ro | /mounts="/a:/b:ro" | tony.containers.image=b:2
PodmanTest.ARoleWithTheImageNoneRunsWithoutAContainer
  tony.containers.image=a:1 | /roles/0/image="a:1"
PodmanTest.TonysDockerKeysRunTheTaskInTheirImage
  tony.docker.enabled=true | /roles/0/image="a:1" | tony.docker.containers.image=a:1
  tony.docker.containers.image=a:1 | /roles/0/image="a:1" | tony.docker.enabled=true
  tony.docker.worker.image=a:1 | /roles/0/image="a:1" | tony.docker.enabled=true
  tony.docker.containers.mount=/a:/b | /mounts="/a:/b" | tony.docker.enabled=true tony.docker.containers.image=a:1
PodmanTest.ACommandKilledByASignalIsReportedWithTheSignal
  tony.am.image=a:1 | /roles/0/image="a:1" | tony.worker.instances=0
QueueTest.JobsFindAndChooseGpusByTheNamesInMachineJson
  tony.local.gpu-devices=MIG-1,0 | /gpu_devices=["MIG-1","0"]
MemoryTest.AnOomVerdictNamesTheMemoryLimitAndThePeak_NeedsWritableCgroup
  tony.local.memory-limits=off | /memory_limits=false
KeysRunTest.AWaitingJobWithHigherPriorityOvertakesWaitingJobsOfTheSameUser
  tony.local.priority=5 | /priority=5
TonyMethodTest.MissedHeartbeatsOfATaskFailTheJob
  tony.task.cutoff-after-ms=31000 | /timers/cutoff_after_ms=31000
  tony.task.max-missed-heartbeats=100 | /timers/lost_after_ms=100000
LimitsTest.ATaskBeyondItsExecutionTimeoutIsKilledWithItsWholeProcessTree
  tony.task.executor.execution-timeout-ms=2000 | /timers/execution_limit_ms=2000
LimitsTest.ATaskThatDoesNotRegisterWithinTheRegistryTimeoutFailsTheJob
  tony.task.executor.registry-timeout-sec=2 | /registry_timeout_ms=2000
KeysRunTest.ATaskWithoutHeartbeatsIsMarkedSuspectUntilItsNextHeartbeat
  tony.task.heartbeat-interval-ms=2000 | /timers/heartbeat_ms=2000
  tony.task.suspect-after-ms=5 | /timers/suspect_after_ms=5
LivenessTest.AMasterPausedForLongerThanTheLostTimeoutDoesNotRestartTasks
  tony.task.lost-after-ms=90000 | /timers/lost_after_ms=90000
TonyMethodTest.AnExecutorStopsItsTaskIfNoMasterRunsForTheOrphanTimeout
  tony.task.orphan-timeout-ms=5 | /timers/orphan_timeout_ms=5
  tony.task.record-fresh-ms=5 | /timers/record_fresh_ms=5
LimitsTest.ATaskThatIgnoresSigtermIsKilledAfterItsGracePeriod
  tony.task.stop-grace-ms=5 | /timers/grace_ms=5
LimitsTest.TheKeyWorkerTimeoutLimitsTheExecutionTimeOfTasksOfEveryRole
  tony.worker.timeout=2000 | /timers/execution_limit_ms=2000
ResumeTest.ARestartedTaskGetsTheNewestCheckpoint
  tony.checkpoint.dir=@FOLDER | /checkpoint/directory="@FOLDER"
  tony.checkpoint.pattern=ck* | /checkpoint/pattern="ck*" | tony.checkpoint.dir=@FOLDER
ResumeTest.AJobWithoutNewCheckpointsFailsAfterThreeRestarts
  tony.checkpoint.fruitless-restarts=5 | /checkpoint/most_fruitless=5 | tony.checkpoint.dir=@FOLDER
ResumeTest.ATaskStartsFromTheNewestCheckpointOfAnyJobIfCheckpointResumeIsLatest
  tony.checkpoint.resume=latest | /checkpoint/resume="latest" | tony.checkpoint.dir=@FOLDER
KeysRunTest.EachRestartScopeHasItsOwnBudgetAndTimeWindow
  tony.restart.backoff-ms=5 | /restart/backoff_ms=5
  tony.restart.longest-backoff-ms=70000 | /restart/longest_backoff_ms=70000
  tony.restart.scope=gang | /roles/0/restart_scope="gang"
  tony.restart.task.budget=5 | /restart/task/most=5
  tony.restart.task.window-ms=5 | /restart/task/window_ms=5
  tony.restart.role.budget=5 | /restart/role/most=5
  tony.restart.role.window-ms=5 | /restart/role/window_ms=5
  tony.restart.gang.budget=5 | /restart/gang/most=5
  tony.restart.gang.window-ms=5 | /restart/gang/window_ms=5
  tony.restart.job.budget=5 | /restart/job/most=5
  tony.restart.job.window-ms=5 | /restart/job/window_ms=5
FailureReportsTest.ReportsOfPeerFailuresNameTheFirstFailedTask
  tony.restart.settle-ms=5 | /restart/settle_ms=5
FailureTest.AFailureRuleForAnExitCodeSetsTheVerdictClass
  tony.failure.exit.77=infra | /failure_rules/0/exit_code=77
FailureReportsTest.ReportsOfPythonErrorsNameTheFirstCause
  tony.failure.pattern.mine=boom => infra | /failure_rules/0/pattern="boom"
KeysRunTest.AFailureRuleForASignalSetsTheVerdictClass
  tony.failure.signal.9=infra | /failure_rules/0/signal=9
HistoryFolderTest.HistoryKeysOfThePortalCauseNoWarning
  tony.history.finished=@FOLDER | elsewhere
KeyEffectTest.TheKeyHistoryIntermediateSetsTheHistoryFolder
  tony.history.intermediate=/h | /history_folder="/h"
JhistE2eTest.TheHistoryFileOfASuccessfulJobIsReadableWithTheAvroLibrary
  tony.history.location=/h | /history_folder="/h/intermediate"
StepRequestTest.ReplaceOlderAcceptsOnlyTrueOrFalse
  tony.azkaban.replace-older=true | elsewhere
AzkabanEndTest.AJobWithoutAnAdapterIsKilledAsAbandonedAfterTheWatchTimeout
  tony.azkaban.watch-timeout=60 | elsewhere
AzkabanStepTest.ASuccessfulStepExitsWithZeroAndWritesItsJobIdForTheNextStep
  tony.job.id=x | elsewhere
  tony.job.logs=x | elsewhere
  tony.job.url=x | elsewhere
AzkabanStepTest.OutputsOfTheChiefBecomePropertiesOfTheNextStep
  tony.model.path=x | elsewhere
  tony.output.accuracy=x | elsewhere
hadoop
  tony.application.hdfs-conf-path=@SITE | elsewhere
  tony.application.yarn-conf-path=@SITE | elsewhere
  tony.application.node-label=gpu | /yarn/node_label="gpu"
  tony.application.type=ML | /yarn/type="ML"
  tony.am.node-label=gpu | /yarn/am_node_label="gpu"
  tony.worker.node-label=gpu | /roles/0/node_label="gpu"
  tony.worker.placement=spread | /roles/0/placement="spread"
  tony.worker.allocation-tags=a,b | /roles/0/allocation_tags=["a","b"]
  tony.containers.allocation-tags=a | /roles/0/allocation_tags=["a"]
  tony.worker.placement-spec=notin,node,a | /roles/0/placement_spec="notin,node,a"
  tony.containers.placement-spec=notin,node,a | /roles/0/placement_spec="notin,node,a"
  tony.application.placement-spec=os=x | /yarn/placement_spec="os=x"
  tony.other.namenodes=hdfs://other:1 | /yarn/other_name_nodes=["hdfs://other:1"]
  tony.portal.url=https://portal:1/ | /yarn/portal_url="https://portal:1"
  tony.worker.resource.disk=2 | /roles/0/resources={"disk":"2"}
  tony.am.resource.disk=2 | /roles/0/resources={"disk":"2"} | tony.worker.instances=0
  tony.yarn.am-validity-interval=5 | /yarn/am_validity_interval_ms=5
  tony.yarn.gang-hold=5 | /yarn/gang_hold_ms=5
  tony.yarn.keytab=/k | /yarn/keytab="/k"
  tony.yarn.modify-acl=ann | /yarn/modify_acl="ann"
  tony.yarn.programs=hdfs:///apps/tony | /yarn/programs="hdfs:///apps/tony"
  tony.yarn.priority=5 | /yarn/priority=5
  tony.yarn.queue=ml | /yarn/queue="ml"
  tony.yarn.view-acl=ann | /yarn/view_acl="ann"
NoFreeRestartTest.AKilledExecutorFailsTheJobIfTheRestartBudgetForLostTasksIsZero
  tony.restart.lost.budget=5 | /restart/lost/most=5
KeyEffectTest.RestartsBeforeTheTimeWindowDoNotCountAgainstTheBudgetForLostTasks
  tony.restart.lost.window-ms=5 | /restart/lost/window_ms=5
)";

struct KeyCase {
  std::string key, value, pointer, expected, test;
  Words more;
};

class KeysTest : public TonyTest {
 protected:
  KeysTest() {
    fs::create_directory(box_.File("folder"));
    box_.Write("file", "content");
    box_.Write("site.xml", "<configuration/>");
  }

  std::vector<KeyCase> Cases() const {
    std::string text = kKeys;
    for (const auto& [name, meant] : {std::pair<std::string, std::string>{"@FOLDER", box_.File("folder")},
                                      {"@FILE", box_.File("file")},
                                      {"@SITE", box_.File("site.xml")},
                                      {"@GROUP", "tony.application.group.A=chief"},
                                      {"@AFTER", "tony.application.dependency.worker.timeout.after.A"}})
      text = Replaced(std::move(text), name, meant);
    std::istringstream lines(text);
    std::vector<KeyCase> cases;
    std::string test;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  ")) {
        test = line;
        continue;
      }
      const Words parts = PartsOf(line.substr(2));
      const size_t value = parts[0].find('='), shown = std::min(parts[1].find('='), parts[1].size());
      cases.push_back({parts[0].substr(0, value),
                       parts[0].substr(value + 1),
                       parts[1].substr(0, shown),
                       parts[1].substr(std::min(shown + 1, parts[1].size())),
                       test,
                       {}});
      std::istringstream more(parts.size() > 2 ? parts[2] : "");
      for (std::string word; more >> word;) cases.back().more.push_back(word);
    }
    return cases;
  }

  Ran Plan(const Words& settings, const Words& more = {}) const {
    Words words = {"plan", "-conf", "tony.containers.command=true", "-conf", "tony.worker.instances=1"};
    for (const std::string& setting : settings) words = words + Conf(setting);
    return box_.Tony(words + more);
  }
  // Returns the plan as JSON.
  json::value Planned(const Words& settings) const {
    const Ran ran = Plan(settings, {"--json", "--explain"});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.exit == 0 ? ParseJson(ran.out) : value();
  }
  static bool IsTold(const json::value& plan, const std::string& key) {
    const json::value warnings = At(plan, "/warnings");
    for (const json::value& warning : warnings.as_array())
      if (std::string(warning.as_string()).starts_with(key + " ")) return true;
    return false;
  }
  static std::string WhyNot(const json::value& plan, const std::string& key) {
    const json::value all = At(plan, "/without_effect");
    const json::value* why = all.as_object().if_contains(key);
    return why ? std::string(why->as_string()) : "";
  }
};

// Returns the name of the key; a placeholder like <role> becomes a name.
std::string Instance(const Key& row) {
  std::string name(row.name);
  for (size_t at = name.find('<'); at != std::string::npos; at = name.find('<'))
    name.replace(at, name.find('>') - at + 1, name.substr(at, 6) == "<role>" ? "worker" : "abc");
  return name;
}

std::string AnotherValue(const Key& row) {
  switch (row.type) {
    case KeyType::kNumber:
    case KeyType::kMillis:
    case KeyType::kSeconds:
    case KeyType::kMemory:
      return "7";
    case KeyType::kFlag:
      return row.default_value == "true" ? "false" : "true";
    case KeyType::kText:
    case KeyType::kList:
      return "worker";
  }
  return "";
}

TEST_F(KeysTest, EverySupportedKeyHasTheExpectedEffectOnThePlan) {
  std::set<std::string_view> rows;
  for (const KeyCase& one : Cases()) {
    SCOPED_TRACE(one.key);
    const Key* row = FindKey(one.key);
    ASSERT_NE(row, nullptr);
    rows.insert(row->name);
    Words settings = one.more + Words{one.key + "=" + one.value};
    if (row->effect == KeyEffect::kYarn) settings.push_back("tony.scheduler=yarn");
    if (one.pointer == "refuses") {
      const Ran ran = Plan(settings);
      EXPECT_EQ(ran.exit, 65);
      EXPECT_THAT(ran.err, HasSubstr(one.key));
      continue;
    }
    const json::value plan = Planned(settings);
    EXPECT_FALSE(IsTold(plan, one.key)) << json::serialize(At(plan, "/warnings"));
    EXPECT_EQ(WhyNot(plan, one.key), "");
    if (one.pointer != "elsewhere") EXPECT_EQ(json::serialize(At(plan, "/spec" + one.pointer)), one.expected);
  }
  for (const Key& row : AllKeys()) {
    const bool honoured =
        row.effect == KeyEffect::kImplemented || row.effect == KeyEffect::kLocal || row.effect == KeyEffect::kYarn;
    EXPECT_EQ(rows.contains(row.name), honoured) << row.name;
  }
}

TEST_F(KeysTest, AKeyOfAnotherSchedulerCausesAWarning) {
  for (const KeyCase& one : Cases()) {
    const KeyEffect effect = FindKey(one.key)->effect;
    if (effect != KeyEffect::kYarn && effect != KeyEffect::kLocal) continue;
    const std::string other = effect == KeyEffect::kYarn ? "local" : "yarn";
    const json::value plan = Planned({one.key + "=" + one.value, "tony.scheduler=" + other});
    EXPECT_TRUE(IsTold(plan, one.key)) << one.key;
    EXPECT_NE(WhyNot(plan, one.key), "") << one.key;
  }
}

TEST_F(KeysTest, IgnoredKeysLeaveThePlanUnchangedAndCauseAWarningUnlessHarmless) {
  const std::string without = json::serialize(At(Planned({}), "/spec"));
  for (const Key& row : AllKeys()) {
    if (row.effect != KeyEffect::kNone && row.effect != KeyEffect::kNotNeeded) continue;
    const std::string key = Instance(row);
    const json::value plan = Planned({key + "=" + AnotherValue(row)});
    EXPECT_EQ(json::serialize(At(plan, "/spec")), without) << key;
    EXPECT_EQ(IsTold(plan, key), row.effect == KeyEffect::kNone) << key;
    EXPECT_NE(WhyNot(plan, key), "") << key;
  }
}

TEST_F(KeysTest, AKeySetToItsDefaultValueCausesNoWarning) {
  for (const Key& row : AllKeys()) {
    if (row.default_value.empty()) continue;
    const std::string key = Instance(row);
    const Ran ran = Plan({key + "=" + std::string(row.default_value)}, {"--json"});
    ASSERT_EQ(ran.exit, 0) << key << ran.err;
    EXPECT_FALSE(IsTold(ParseJson(ran.out), key)) << key;
  }
}

TEST_F(KeysTest, ThePlanCommandMarksKeysWithoutEffectIfTheOptionExplainIsSet) {
  const Ran ran = Plan({"tony.http.port=x", "tony.yarn.queue=ml"}, {"--explain"});
  EXPECT_THAT(ran.out, HasAll({"tony.http.port = x  (-conf); no effect: only TonY's portal reads this key\n",
                               "tony.yarn.queue = ml  (-conf); no effect without tony.scheduler=yarn\n",
                               "tony.worker.instances = 1  (-conf)\n"}));
}

TEST_F(KeysTest, TheHelpCommandListsEveryKey) {
  const Ran all = Succeeds({"help", "keys"});
  for (const Key& row : AllKeys())
    EXPECT_THAT("\n" + all.out, HasSubstr("\n" + std::string(row.name) + "  (")) << row.name;
  const Ran some = box_.Tony({"help", "keys", "docker"});
  EXPECT_THAT(some.out, HasSubstr("tony.docker.enabled"));
  EXPECT_THAT(some.out, testing::Not(HasSubstr("tony.yarn.queue")));
  Fails(64, {"help", "keys", "no-such"});
  Fails(64, {"help", "submit", "keys"});
}

std::string SourcesIn(const std::string& folder) {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(SourceFolder() + folder))
    if (entry.is_regular_file()) all += ReadText(entry.path());
  return all;
}

TEST_F(KeysTest, TheTableOfKeysNamesAnExistingTestForEverySupportedKey) {
  const std::string tests = SourcesIn("/tests/e2e") + SourcesIn("/tests/unit");
  const std::string hadoop = SourcesIn("/tests/conformance/hadoop");
  for (const KeyCase& one : Cases()) {
    // tony.yarn.modify-acl decides who may end an application, and is tested by hand.
    if (one.test == "hadoop") {
      EXPECT_TRUE(one.key == "tony.yarn.modify-acl" || hadoop.find(one.key) != std::string::npos) << one.key;
      continue;
    }
    const std::string suite = one.test.substr(0, one.test.find('.')), name = one.test.substr(suite.size() + 1);
    // A row of a table (tests/support/table_test.h) is also a test.
    const bool is_row = tests.find("TABLE_TEST(" + suite + ",") != std::string::npos &&
                        tests.find("{\"" + name + "\",") != std::string::npos;
    EXPECT_TRUE(is_row || tests.find("(" + suite + ", " + name + ")") != std::string::npos)
        << one.key << ": " << one.test;
  }
}

// ---- keys of real jobs

// %T stands for the beginning of the submit of a job whose worker fails in its first two attempts.
const TestRow kKeysRun[] = {
    {"ATaskGetsTheFilesAndVariablesSetByConfigurationKeys",
     {{"write src/here", ""},
      {"write environment/here", ""},
      {"write resource/here", ""},
      {"write roles", ""},
      {"submit tony.worker.instances=1 tony.src-dir=src tony.python-venv=environment "
       "tony.containers.resources=resource "
       "tony.worker.resources=roles::renamed tony.application.tags=a,b tony.containers.env.A=1,2 "
       "tony.containers.envs=B=3,C=4 tony.execution.env.D=5,6 tony.execution.envs=E=7,F=8 "
       "`tony.containers.command=echo "
       "$A $B $C $D $E $F; test -e here -a -e venv/here -a -d resource -a -e renamed`",
       ""},
      {"log worker-0 stdout", "out=1,2 3 4 5,6 7 8\n"},
      {"status %J --json", "/tags=[\"a\",\"b\"]"}}},
    {"AJobWithoutRolesIsConfiguredByKeysWithThePrefixTonyAm",
     {{"machine {\"memory_mb\":1000,\"gpus\":[3]}", ""},
      {"write file", ""},
      {"submit `tony.am.command=echo $CUDA_VISIBLE_DEVICES; test -e file` tony.am.memory=999m tony.am.gpus=1 "
       "tony.am.resources=file",
       ""},
      {"log driver-0 stdout", "out=3\n"},
      {"submit tony.am.command=true tony.am.gpus=1 tony.am.memory=1001m", "65 && err~tony.am.memory"},
      {"submit tony.am.command=true tony.am.memory=999m tony.am.gpus=2", "65 && err~tony.am.gpus"}}},
    // A window of one millisecond has passed before the second failure, so a budget of one restart allows both
    // restarts.
    {"EachRestartScopeHasItsOwnBudgetAndTimeWindow",
     {{"%T tony.restart.scope=task tony.restart.task.budget=1 tony.restart.task.window-ms=1 --json",
       "/restart_count=2 && /restarts/1/scope=task"},
      {"%T tony.restart.scope=role tony.restart.role.budget=1 tony.restart.role.window-ms=1 --json",
       "/restart_count=2 && /restarts/1/scope=role"},
      {"%T tony.restart.scope=gang tony.restart.gang.budget=1 tony.restart.gang.window-ms=1 --json",
       "/restart_count=2 && /restarts/1/scope=gang"},
      {"%T tony.restart.scope=job tony.restart.job.budget=1 tony.restart.job.window-ms=1 --json",
       "/restart_count=2 && /restarts/1/scope=job"}}},
    {"AWorkerRestartBudgetOfTwoOrAnAmRetryCountOfTwoAllowsTwoRestarts",
     {{"%T tony.restart.scope=gang tony.worker.restart.scope=role tony.worker.restart.budget=2 --json",
       "/restart_count=2 && /restarts/1/scope=role"},
      {"%T tony.restart.scope=job tony.am.retry-count=2 --json", "/restart_count=2 && /restarts/1/scope=job"}}},
    {"ATaskWithoutHeartbeatsIsMarkedSuspectUntilItsNextHeartbeat",
     {{"& one `%H` tony.task.suspect-after-ms=200 tony.task.heartbeat-interval-ms=50", ""},
      {"running 1", ""},
      {"signal STOP tony-executor", ""},
      {"until status %J --json", "/tasks/0/suspect=true"},
      {"signal CONT tony-executor", ""},
      {"until status %J --json", "/tasks/0/suspect=false"},
      {"go", ""},
      {"end", ""}}},
    {"AWaitingJobWithHigherPriorityOvertakesWaitingJobsOfTheSameUser",
     {{"machine {\"memory_mb\":1000}", ""},
      {"& one `%H` tony.worker.memory=900m", ""},
      {"running 1", ""},
      {"& one `%H` tony.worker.memory=900m tony.local.priority=0", ""},
      {"until list --queue", "out~%1"},
      {"& one `%H` tony.worker.memory=900m tony.local.priority=5", ""},
      {"until list --queue --json", "/jobs/1/job=%2 && /jobs/2/job=%1"},
      {"go", ""},
      {"end 0", ""},
      {"end 1", ""},
      {"end 2", ""}}},
    {"AFailureRuleForASignalSetsTheVerdictClass",
     {{"one `kill -USR1 $$` `tony.failure.signal.SIGUSR1=user_config, no licence` --json",
       "1 && verdict=user_config && /verdict/message~no licence"}}},
};
TABLE_TEST(KeysRunTest, kKeysRun, [](const TestRow& row) {
  RunScriptWith({{"%T",
                  "workers 1 `test $TONY_ATTEMPT = 3` tony.ps.instances=1 `tony.ps.command=sleep 1000` "
                  "tony.restart.backoff-ms=1 tony.restart.longest-backoff-ms=1"}},
                row);
});

class KeyEffectTest : public TonyTest {};

TEST_F(KeyEffectTest, RestartsBeforeTheTimeWindowDoNotCountAgainstTheBudgetForLostTasks) {
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

TEST_F(KeyEffectTest, TheKeyHistoryIntermediateSetsTheHistoryFolder) {
  Succeeds(One("true", {"tony.history.intermediate=" + box_.File("histories")}));
  Words names;
  for (const auto& entry : fs::recursive_directory_iterator(box_.File("histories")))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::Contains("tony-final.xml"));
}

}  // namespace
}  // namespace tony
