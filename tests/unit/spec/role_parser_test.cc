// Roles, and the limits of one task.
#include <gtest/gtest.h>

#include "tests/unit/spec/spec_table.h"

namespace tony {
namespace {

using std::string_literals::operator""s;

TEST(RoleParserTest, RolesAreSortedByNameAndHaveTheirOwnSettings) {
  const auto parsed = ParseWith({{"tony.worker.instances", " 3 "},
                                 {"tony.worker.memory", "4g"},
                                 {"tony.worker.vcores", "2"},
                                 {"tony.worker.gpus", "1"},
                                 {"tony.ps.instances", "1"},
                                 {"tony.ps.command", "ps.sh"},
                                 {"tony.tensorboard.instances", "1"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  std::vector<RoleSpec> expected = {{"ps", 1, {2048, 1, 0}, "ps.sh", Completion::kUntracked},
                                    {"tensorboard", 1, {2048, 1, 0}, "true", Completion::kSidecar},
                                    {"worker", 3, {4096, 2, 1}, "true", Completion::kTracked}};
  expected[1].outlives_restarts = true;
  EXPECT_EQ(parsed->spec.roles, expected);
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(RoleParserTest, AJobWithoutRolesHasOneDriverTaskWithTheResourcesOfTheAmKeys) {
  const auto parsed = ParseWith({{"tony.worker.instances", "0"},
                                 {"tony.am.memory", "3g"},
                                 {"tony.am.vcores", "2"},
                                 {"tony.am.gpus", "1"},
                                 {"tony.application.framework", "pytorch"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const std::vector<RoleSpec> expected = {{.name = "driver",
                                           .instances = 1,
                                           .resources = {3072, 2, 1},
                                           .command = "true",
                                           .completion = Completion::kTracked,
                                           .key_prefix = "tony.am"}};
  EXPECT_EQ(parsed->spec.roles, expected);
  EXPECT_EQ(parsed->spec.framework, FrameworkKind::kStandalone);
  EXPECT_EQ(ParseWith({{"tony.worker.instances", "0"}, {"tony.am.command", "own"}})->spec.roles[0].command, "own");
}

const std::string kWholeFrom = "refused expected a whole number from ";
const std::string kPytorch = " | tony.application.framework=pytorch | tony.worker.instances=2 | tony.worker.gpus=";
const std::string kMeansElse = "cannot be a role: tony.task.* keys mean something else";

const TestRow kRoles[] = {
    {"ARoleWithZeroInstancesIsLeftOutSilently", {{"tony.ps.instances=0 | tony.ps.memory=1g", "roles=worker | quiet"}}},
    {"MemoryIsANumberOfMegabytesOrHasAUnit",
     {{"tony.worker.memory={2g|2G|2gb|2GiB|2048m|2048MB| 2048 }", "worker.memory_mb=2048"},
      {"tony.worker.memory=512MiB", "worker.memory_mb=512"},
      {"tony.worker.memory=1", "worker.memory_mb=1"}}},
    {"TheErrorForAnInvalidMemorySizeShowsTheSettingAndTheExpectedForm",
     {{"tony.worker.memory={1.5g|1.5x||g|2t|2 g|-|two|2gg|2b|0x10|1e3|99999999999999999999}",
       "refused expected a whole number of MB, or a number followed by m or g"},
      {"tony.worker.memory={0|0g|-1|-2g|1000000001|999999999g}", "refused expected from 1 to 1000000000 MB"}}},
    {"AnOutOfRangeNumberOfInstancesOrVcoresOrGpusIsRefused",
     {{"tony.worker.instances={-1|10001|two|1.5||+2|9999999999999999999999}", kWholeFrom + "0 to 10000"},
      {"tony.worker.vcores={0|1000001}", kWholeFrom + "1 to 1000000"},
      {"tony.worker.gpus=-1", kWholeFrom + "0 to 100000"},
      {"tony.worker.max-instances=-2", kWholeFrom + "-1 to 10000"},
      {"tony.task.max-total-instances=many", kWholeFrom + "-1 to 9223372036854775807"}}},
    {"NprocPerNodeIsANumberOrTheWordGpuForOneProcessPerGpu",
     {{"tony.worker.nproc-per-node=4" + kPytorch + "0", "worker.processes=4"},
      {"tony.worker.nproc-per-node=gpu" + kPytorch + "2", "worker.processes=2"},
      {"tony.worker.nproc-per-node=gpu" + kPytorch + "0",
       "refused the task has no GPUs; set tony.worker.gpus, too"},
      {"tony.worker.nproc-per-node={0|65|-1|auto|2.0}" + kPytorch + "2",
       "refused expected 1 to 64, or \"gpu\" for one process per GPU of the task"}}},
    {"OnlyASidecarCanBeConfiguredToOutliveRestarts",
     {{"tony.board.instances=1 | tony.application.sidecar.jobtypes=board", "board.outlives_restarts=none"},
      {"tony.board.instances=1 | tony.application.sidecar.jobtypes=board | tony.board.outlives-restarts= True ",
       "board.outlives_restarts=true"},
      {"tony.board.instances=1 | tony.board.outlives-restarts=false", "board.outlives_restarts=none"},
      {"tony.board.outlives-restarts=true | tony.board.instances=1",
       "refused only a sidecar can outlive restarts, and role board is not a sidecar; see tony.application.sidecar.jobtypes"},
      {"tony.board.outlives-restarts=yes | tony.board.instances=1 | tony.application.sidecar.jobtypes=board",
       "refused expected true or false"},
      {"tony.tensorboard.instances=1 | tony.tensorboard.outlives-restarts=false",
       "tensorboard.outlives_restarts=none"}}},
    {"TensorboardLogDirOfAJobWithoutRolesCausesAWarning",
     {{"tony.application.tensorboard-log-dir=/logs | tony.worker.instances=0",
       "on tony.application.tensorboard-log-dir TensorBoard is not started for a job without roles; the job's command "
       "can start it with the variables TB_LOG_DIR and TB_PORT"}}},
    {"ARelativeTensorboardLogDirCausesAWarning",
     {{"tony.application.tensorboard-log-dir=logs",
       "on tony.application.tensorboard-log-dir each task would have its own folder of this name, and TensorBoard "
       "would see none of them; expected an absolute path"},
      {"tony.application.tensorboard-log-dir={ /logs|hdfs://n:9000/logs}", "quiet"}}},
    {"TheErrorForARoleWithoutACommandNamesBothKeysThatCanSetTheCommand",
     {{"only: tony.worker.instances=1",
       "error role worker has no command: set tony.worker.command or tony.containers.command (-executes)"},
      {"tony.containers.command=  ", "error ~"},
      {"only: ", "error role driver has no command: set tony.am.command or tony.containers.command (-executes)"}}},
    {"ACommandOver131071BytesOrWithANulCharacterIsRefused",
     {{"tony.worker.command=" + std::string(131071, 'x'), "accepted"},
      {"tony.worker.command=" + std::string(131072, 'x'),
       "error tony.worker.command: \"" + std::string(60, 'x') +
           "...\" (from -conf): the command has 131072 bytes, and the kernel accepts at most 131071 in one argument; "
           "put the command into a script"},
      {"tony.containers.command=a\0b"s,
       "error tony.containers.command: \"a?b\" (from -conf): the command contains a NUL character"}}},
    {"SpacesAndEmptyEntriesInListsOfRolesAreIgnored",
     {{"tony.evaluator.instances=1 | tony.ps.instances=1 | tony.application.untracked.jobtypes= ps , evaluator ,,",
       "evaluator.completion=untracked | ps.completion=untracked"}}},
    {"AnEmptyListOfUntrackedRolesMakesEveryRoleTracked",
     {{"tony.ps.instances=1 | tony.application.untracked.jobtypes=", "ps.completion=tracked"}}},
    {"ARoleListedAsUntrackedAndAsSidecarIsASidecar",
     {{"tony.ps.instances=1 | tony.application.sidecar.jobtypes=ps", "ps.completion=sidecar"}}},
    {"AListedRoleThatDoesNotExistCausesAWarningUnlessTheListIsTheDefault",
     {{"", "quiet"},
      {"tony.application.untracked.jobtypes=ps | tony.application.sidecar.jobtypes=tb",
       "on tony.application.untracked.jobtypes the job has no role \"ps\" | on tony.application.sidecar.jobtypes the "
       "job has no role \"tb\""}}},
    {"AJobWithoutTrackedRolesIsRefused",
     {{"tony.application.untracked.jobtypes=worker",
       "error every role is untracked or a sidecar, so the job could never end; remove a role from "
       "tony.application.untracked.jobtypes "
       "or "
       "tony.application.sidecar.jobtypes"}}},
    {"MaxInstancesAndMaxTotalKeysLimitTheInstancesAndResourcesOfAJob",
     {{"tony.worker.instances=3 | tony.worker.max-instances=2",
       "refused expected at most 2 (tony.worker.max-instances)"},
      {"tony.worker.instances=2 | tony.worker.max-instances=2", "accepted"},
      {"tony.task.max-total-instances=3 | tony.worker.instances=3 | tony.ps.instances=1", "refused the job requests 4"},
      // TonY compared the sum of squares here.
      {"tony.worker.instances=4 | tony.task.max-total-instances=10", "accepted"},
      {"tony.task.max-total-memory=6000 | tony.worker.instances=3", "refused the job requests 6144"},
      {"tony.task.max-total-vcores=2 | tony.worker.instances=3", "refused the job requests 3"},
      {"tony.task.max-total-gpus=5 | tony.worker.instances=3 | tony.worker.gpus=2", "refused the job requests 6"}}},
    {"MaxTotalInstancesDoesNotLimitAJobWithoutRoles",
     {{"tony.worker.instances=0 | tony.task.max-total-instances=0", "roles=driver | driver.instances=1"}}},
    {"MoreThanTenThousandTasksAreRefused",
     {{"tony.worker.instances=10000", "accepted"},
      {"tony.worker.instances=10000 | tony.chief.instances=1",
       "error the job has 10001 tasks, and at most 10000 are supported"}}},
    {"ReservedRoleNamesAndRoleNamesOver63LettersAreRefused",
     {{"tony.task.instances=1", "refused \"task\" " + kMeansElse},
      {"tony." + std::string(64, 'a') + ".instances=1", "refused a role's name has at most 63 letters"}}},
    {"AnInvalidRoleNameIsRefusedIfTheJobHasNoValidRole",
     {{"only: tony.{Worker|worker1|my-role|a.b}.instances=2 | tony.containers.command=true",
       "refused the role in this key has an invalid name, and no other role has instances; a role's name has "
       "lower-case letters only, e.g. tony.worker.instances"},
      {"only: tony.Worker.instances=two | tony.containers.command=true", "error ~"},
      {"only: tony.Worker.instances=2 | tony.worker.instances=0 | tony.containers.command=true", "error ~"},
      {"only: tony.Worker.instances= 0  | tony.containers.command=true", "accepted"},
      {"only: tony.Worker.instances=2 | tony.ps.instances=1 | tony.application.untracked.jobtypes=x | "
       "tony.containers.command=true",
       "accepted"}}},
    {"OutputPropertiesOfAnEarlierStepAreNotParsedAsRoles",
     {{"only: tony.output.instances=5 | tony.output.a.instances=5 | tony.output.memory=x | "
       "tony.containers.command=true",
       "accepted"},
      {"tony.output.instances=5 | tony.output.Model Path=x | tony.job.id=local-1 | tony.job.url=file:///h | "
       "tony.job.logs=/l | tony.model.path=/m",
       "quiet"}}},
};
TABLE_TEST(RoleParserTest, kRoles, CheckSpecAnywhere);

// ---- placement constraints

const std::string kOnYarn = " | tony.scheduler=yarn";
const std::string kTagged = "tony.worker.allocation-tags=train" + kOnYarn;

const TestRow kConstraints[] = {
    {"ARoleHasItsOwnConstraintAndTagsOrThoseOfAllRoles",
     {{"tony.worker.placement-spec= in,node,a  | tony.containers.placement-spec=in,node,b" + kOnYarn,
       "worker.placement_spec=in,node,a | quiet"},
      {"tony.containers.placement-spec=in,node,b" + kOnYarn, "worker.placement_spec=in,node,b"},
      {"tony.worker.allocation-tags=a, b | tony.containers.allocation-tags=c" + kOnYarn,
       "worker.allocation_tags=[\"a\",\"b\"]"},
      {"tony.application.placement-spec=os=x" + kOnYarn, "yarn.placement_spec=os=x | worker.placement_spec=none"}}},
    {"AConstraintThatHadoopWouldRefuseIsRefusedWithItsKeyAndPosition",
     {{"tony.{worker|containers|application}.placement-spec=in,nodes,a" + kOnYarn,
       "refused at character 4: expected node or rack after in"},
      {"tony.worker.allocation-tags=a,all/b" + kOnYarn, "refused expected tags without / = ! ( ) and :"}}},
    {"ANodeLabelBesideAConstraintOrTagsIsRefused",
     {{"tony.worker.node-label=gpu | " + kTagged,
       "refused role worker has tony.worker.allocation-tags, and YARN takes no label beside it; remove one of the two "
       "keys (a constraint can select nodes by attributes: NAME=VALUE)"},
      {"tony.application.node-label=gpu | tony.containers.placement-spec=os=x" + kOnYarn,
       "refused ^role worker has tony.containers.placement-spec, and "},
      {"tony.worker.instances=0 | tony.application.node-label=gpu | tony.application.placement-spec=os=x" + kOnYarn,
       "error ~role driver has tony.application.placement-spec, and "}}},
    {"ASpreadRoleWithAConstraintOrTagsIsRefused",
     {{"tony.worker.placement=spread | " + kTagged,
       "refused role worker has tony.worker.allocation-tags, and YARN takes no hosts beside it; remove one of the two "
       "keys (notin,node,TAG with the tag of the role spreads its tasks)"}}},
    {"AConstraintOnOneMachineCausesAWarning",
     {{"tony.worker.placement-spec=in,nodes,a",
       "worker.placement_spec=none | warns tony.worker.placement-spec (from -conf): accepted, no effect without "
       "tony.scheduler=yarn"}}},
};
TABLE_TEST(ConstraintParserTest, kConstraints, CheckSpecAnywhere);

// ---- limits of one task

const std::string kAllocation = "tony.container.allocation.timeout";
const std::string kOlderTony = " | tony.compat.version=0.4.6", kNewerTony = " | tony.compat.version=0.5.3";

const TestRow kTaskLimits[] = {
    {"ATaskHasNoExecutionTimeoutByDefault", {{"", "timers.execution_limit_ms=none | registry_timeout_ms=none"}}},
    {"WorkerTimeoutOrExecutionTimeoutMsLimitsTheExecutionOfATask",
     {{"tony.task.executor.execution-timeout-ms=2000", "timers.execution_limit_ms=2000"},
      {"tony.worker.timeout=3000", "timers.execution_limit_ms=3000 | quiet"},
      {"tony.worker.timeout=3000 | tony.task.executor.execution-timeout-ms=2000",
       "timers.execution_limit_ms=2000 | on tony.worker.timeout no effect, because "
       "tony.task.executor.execution-timeout-ms "
       "is set"}}},
    {"TheAmStartupTimeoutIsOffByDefault",
     {{"", "startup_timeout_ms=none"}, {"tony.am.startup-timeout=2000", "startup_timeout_ms=2000 | quiet"}}},
    {"TheRegistryTimeoutIsInSeconds",
     {{"tony.task.executor.registry-timeout-sec=2", "registry_timeout_ms=2000"},
      {"tony.task.executor.registry-timeout-sec=-1", "error ~"}}},
    {"CompatVersionDecidesWhetherTheAllocationTimeoutLimitsAllocationOrRegistration",
     {{kAllocation + "=5000" + kNewerTony,
       StrCat("allocation_timeout_ms=5000 | registration_timeout_ms=", JobSpec().registration_timeout.count())},
      {kAllocation + "=5000" + kOlderTony, "allocation_timeout_ms=0 | registration_timeout_ms=5000"}}},
    {"AnAllocationTimeoutWithoutCompatVersionCausesAWarning",
     {{kAllocation + "=5000",
       "on " + kAllocation +
           " this key limits the wait for containers, as in TonY 0.5.3; in TonY 0.4.6, this key had the meaning of "
           "tony.container.registration.timeout; set tony.compat.version to the version for which the job was written"},
      {kAllocation + "=-1", "quiet"},
      // Only TonY 0.5.3 has both keys.
      {kAllocation + "=5000 | tony.container.registration.timeout=7000", "quiet"},
      {kAllocation + "=5000" + kNewerTony, "quiet"},
      {kAllocation + "=5000" + kOlderTony, "quiet"}}},
    {"RegistrationTimeoutOverridesAllocationTimeoutIfCompatVersionIs046",
     {{kAllocation + "=5000 | tony.container.registration.timeout=7000" + kOlderTony,
       "registration_timeout_ms=7000 | on " + kAllocation +
           " no effect, because tony.container.registration.timeout is set"}}},
    {"AnUnknownCompatVersionIsRefused", {{"tony.compat.version=1.0", "refused expected 0.4.6 or 0.5.3"}}},
};
TABLE_TEST(TaskLimitsParserTest, kTaskLimits, CheckSpecAnywhere);

TEST(TaskLimitsParserTest, ADisabledAllocationTimeoutWithCompatVersion046AllowsFiveYearsForRegistration) {
  const auto off = ParseWith({{kAllocation, "-1"}, {"tony.compat.version", "0.4.6"}});
  EXPECT_GT(off->spec.registration_timeout, Duration(std::chrono::years(5)));
}

}  // namespace
}  // namespace tony
