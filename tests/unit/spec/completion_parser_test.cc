// The end of a job, and roles that wait for each other: TonY's stages, groups that other roles may not outlive, and the
// preprocessing task.
#include <gtest/gtest.h>

#include "runtime/job/cluster_spec.h"
#include "tests/unit/spec/spec_table.h"

namespace tony {
namespace {

const std::string kShards =
    "tony.shard.instances=100 | tony.shard.command=x | tony.board.instances=1 | tony.board.command=x | "
    "tony.application.sidecar.jobtypes=board | ";
const std::string kShardsFirst = " | " + kShards;

// Returns e.g. "strict; board sidecar 0 0; shard tracked 97 4": the completion rule, and for each role how many
// successes are enough and how many failures are too many.
std::string RulesOf(const std::string& given) {
  Settings settings;
  for (const std::string& part : PartsOf(kShards + given))
    settings.emplace_back(part.substr(0, part.find('=')), part.substr(part.find('=') + 1));
  const auto parsed = ParseWith(settings);
  if (!parsed.ok()) return parsed.error().message;
  std::string text(ToString(parsed->spec.completion_rule));
  for (const RoleSpec& role : parsed->spec.roles)
    text += StrCat("; ", role.name, " ", ToString(role.completion), " ", role.min_succeeded, " ", role.FailureLimit());
  return text;
}

const TestRow kCompletionRules[] = {
    {"TheFirstFailedTaskFailsTheJobByDefault",
     {{"", "strict; board sidecar 0 0; shard tracked 0 1; worker tracked 0 1"}}},
    {"MinSucceededAndMinFailedSetTheSuccessAndFailureThresholdsOfARole",
     {{"tony.shard.min-succeeded=97", "strict; board sidecar 0 0; shard tracked 97 4; worker tracked 0 1"},
      {"tony.shard.min-failed=4", "strict; board sidecar 0 0; shard tracked 0 4; worker tracked 0 1"},
      {"tony.shard.min-failed=2 | tony.shard.min-succeeded=97",
       "strict; board sidecar 0 0; shard tracked 97 2; worker tracked 0 1"}}},
    {"CompletionRuleTonyToleratesFailuresOfRolesOutsideStopOnFailureJobtypes",
     {{"tony.application.completion-rule=tony", "tony; board sidecar 0 0; shard tracked 0 0; worker tracked 0 0"},
      {"tony.application.completion-rule=tony | tony.application.stop-on-failure-jobtypes=shard",
       "tony; board sidecar 0 0; shard tracked 0 1; worker tracked 0 0"},
      {"tony.application.completion-rule=TONY | tony.application.fail-on-worker-failure-enabled=true",
       "tony; board sidecar 0 1; shard tracked 0 1; worker tracked 0 1"},
      {"tony.application.completion-rule=tony | tony.shard.min-succeeded=97",
       "tony; board sidecar 0 0; shard tracked 97 4; worker tracked 0 0"}}},
    {"ASidecarFailureFailsTheJobIfStopOnFailureJobtypesOrMinFailedIsSet",
     {{"{tony.application.stop-on-failure-jobtypes=board|tony.board.min-failed=1}",
       "strict; board sidecar 0 1; shard tracked 0 1; worker tracked 0 1"}}},
    {"MinFailedOfARoleOverridesStopOnFailureJobtypes",
     {{"{tony.application.stop-on-failure-jobtypes=shard,worker|tony.application.fail-on-worker-failure-enabled=true} "
       "| tony.shard.min-failed=4",
       "strict; board sidecar 0 0; shard tracked 0 4; worker tracked 0 1"}}},
};
TABLE_TEST(CompletionParserTest, kCompletionRules, Gives(RulesOf));

const std::string kTold =
    "in LinkedIn's TonY, a task of role shard may fail as long as another task succeeds; in this TonY, a failed task "
    "that is not restarted fails the job; set tony.application.completion-rule to tony for the former behaviour, or to "
    "strict for the latter";

const TestRow kCompletionMessages[] = {
    {"ImpossibleMinSucceededOrMinFailedIsRefused",
     {{"tony.shard.min-succeeded=101" + kShardsFirst, "refused expected a whole number from 1 to 100"},
      {"tony.shard.min-failed=0" + kShardsFirst, "refused expected a whole number from 1 to 100"},
      {"tony.shard.min-failed=5 | tony.shard.min-succeeded=97" + kShardsFirst,
       "refused expected at most 4, because after 4 failures among 100 tasks, tony.shard.min-succeeded=97 cannot be "
       "reached"},
      {"tony.board.min-succeeded=1" + kShardsFirst,
       "refused the role is sidecar, and the job waits for none of its tasks; expected a tracked role"},
      {"tony.application.completion-rule=lenient", "refused expected strict or tony"},
      {"tony.application.fail-on-worker-failure-enabled=maybe", "refused expected true or false"}}},
    {"StopOnFailureJobtypesCausesAWarningIfAListedRoleHasItsOwnMinFailed",
     {{kShards + "tony.application.stop-on-failure-jobtypes=shard,worker | tony.shard.min-failed=4",
       "on tony.application.stop-on-failure-jobtypes no effect for role \"shard\", because tony.shard.min-failed is "
       "set"}}},
    {"KeysOfTonysCompletionRuleCauseOneWarningIfNoCompletionRuleIsSet",
     {{kShards +
           "tony.application.stop-on-failure-jobtypes=worker | tony.application.fail-on-worker-failure-enabled=false",
       "on tony.application.fail-on-worker-failure-enabled " + kTold},
      {kShards + "{type=tony|tony.shard.instances=1} | tony.application.stop-on-failure-jobtypes=worker",
       "on tony.application.stop-on-failure-jobtypes " + kTold},
      {kShards + "tony.compat.version=0.4.6", "on tony.compat.version " + kTold}}},
    {"NoCompletionRuleWarningAppearsIfTheRuleIsSetOrMakesNoDifference",
     {{kShards, "quiet"},
      {"tony.application.fail-on-worker-failure-enabled=false | tony.compat.version=0.5.3", "quiet"},
      {kShards + "tony.application.fail-on-worker-failure-enabled=false | tony.compat.version=0.5.3 | "
                 "{tony.application.stop-on-failure-jobtypes=shard|tony.shard.min-succeeded=97|"
                 "tony.application.completion-rule=strict|tony.application.completion-rule=tony}",
       "quiet"},
      {kShards + "tony.application.fail-on-worker-failure-enabled=true | tony.compat.version=0.5.3", "quiet"}}},
};
TABLE_TEST(CompletionParserTest, kCompletionMessages, CheckSpecAnywhere);

// ---- roles that wait for each other

const std::string kPsLoader = " | tony.loader.instances=1 | tony.ps.instances=1";
const std::string kFive = kPsLoader + " | tony.chief.instances=1 | tony.index.instances=1";
const std::string kPreprocess = "tony.application.enable-preprocess=true";
const std::string kAfter = "tony.application.dependency.worker.timeout.after.";

// Returns the expectation that the role waits for `fors`, a list of "ROLE" or "ROLE:ready".
std::string Waits(const std::string& role, const std::string& fors) {
  std::string list;
  for (const std::string& name : Split(fors, ','))
    list += StrCat(list.empty() ? "" : ",", R"({"role":")", name.substr(0, name.find(':')), R"(","until":")",
                   name.ends_with(":ready") ? "ready" : "succeeded", "\"}");
  return StrCat(role, ".depends_on=[", list, "] | ");
}

const TestRow kDependencies[] = {
    {"DependsOnListsTheRolesThatARoleWaitsFor",
     {{"tony.data.instances=1 | tony.head.instances=1 | tony.index.instances=1 | tony.worker.depends-on=index, data "
       ",head:ready",
       Waits("worker", "data,head:ready,index")}}},
    {"ADependencyCycleIsRefusedAndItsRolesAreNamed",
     {{"tony.b.depends-on=c | tony.a.depends-on=b | tony.c.depends-on=b | tony.a.instances=1 | tony.b.instances=1 | "
       "tony.c.instances=1",
       "refused ^roles wait for each other: b -> c -> b"},
      {"tony.a.depends-on=a:ready | tony.a.instances=1", "refused ~a -> a"}}},
    {"ADependencyOnAnUnknownRoleOrOnTheEndOfAnUntrackedRoleIsRefused",
     {{"tony.worker.depends-on=date", "refused ^the job has no role \"date\""},
      {"tony.worker.depends-on=ps | tony.ps.instances=1",
       "refused ~role ps is untracked, so the job does not wait for its end; expected a tracked role, or ps:ready"},
      {"tony.worker.depends-on=ps:ready | tony.ps.instances=1", "accepted"},
      {"tony.worker.depends-on=ps:started | tony.ps.instances=1", "refused ~expected ROLE, or ROLE:ready"}}},
    {"ADependencyOnTheReadinessOfASidecarIsRefused",
     {{"tony.worker.depends-on=board:ready | tony.board.instances=1 | tony.application.sidecar.jobtypes=board",
       "refused ~role board is a sidecar, and the job does not wait for sidecars"}}},
    {"TrainingRolesWaitForAllTrackedRolesOfThePrepareStage",
     {{"tony.application.prepare-stage= loader , ps, index | tony.application.training-stage=worker,chief" + kFive,
       Waits("chief", "index,loader") + Waits("worker", "index,loader") + "ps.depends_on=none"}}},
    {"AnUnconfiguredStageContainsAllRolesOutsideTheOtherStage",
     {{"tony.application.{prepare-stage=loader|training-stage=worker} | tony.loader.instances=1",
       Waits("worker", "loader")}}},
    {"StageDependenciesAreAddedToTheDependenciesThatARoleDeclares",
     {{"tony.application.prepare-stage=loader | tony.worker.depends-on=chief:ready | tony.chief.instances=1 | "
       "tony.loader.instances=1",
       Waits("worker", "chief:ready,loader")}}},
    {"ARoleInBothStagesOrInNeitherStageIsRefused",
     {{"tony.application.prepare-stage=loader | tony.application.training-stage=worker" + kPsLoader,
       "error ~role ps is neither in this stage nor in tony.application.prepare-stage"},
      {"tony.application.prepare-stage=loader,ps | tony.application.training-stage=ps,worker" + kPsLoader,
       "error ~role ps is in tony.application.prepare-stage, too"},
      {"tony.application.prepare-stage=loader,pz | tony.application.training-stage=worker" + kPsLoader,
       "error ~the job has no role \"pz\""},
      {"tony.application.prepare-stage=loader,ps | tony.application.training-stage=worker" + kPsLoader, "accepted"}}},
    {"APrepareStageWithoutTrackedRolesCausesAWarning",
     {{"tony.application.prepare-stage=ps | tony.ps.instances=1", "warns ~no role of the first stage is tracked"}}},
    {"ARoleCanHaveADifferentDependencyTimeoutForEachGroup",
     {{"tony.chief.instances=1 | tony.evaluator.instances=1 | tony.application.group.A=chief,worker | "
       "tony.application.group.B=chief | tony.application.dependency.evaluator.timeout.after.A=3600 | "
       "tony.application.dependency.evaluator.timeout.after.B=60 | "
       "tony.application.dependency.evaluator.timeout.after.B.ignored=true",
       R"(quiet | evaluator.outlives=[{"group":"A","roles":["chief","worker"],"limit_ms":3600000,"ignored":false},)"
       R"({"group":"B","roles":["chief"],"limit_ms":60000,"ignored":true}])"}}},
    {"ADependencyTimeoutWithoutEffectCausesAWarning",
     {{kAfter + "A=5", "warns ~tony.application.group.A is not set | worker.outlives=none"},
      {kAfter + "A=5 | tony.application.group.A=cheif",
       "warns ~the job has no role \"cheif\" | warns ~no effect | worker.outlives=none"},
      {kAfter + "A=5 | tony.application.group.A=worker",
       "warns ~this timeout has no effect, because role worker is itself in tony.application.group.A | "
       "worker.outlives=none"},
      {kAfter + "A=soon", "refused ~expected a whole number of seconds"}}},
    // A fuzzer found the second case (shortened here): reading its value used a row that the table of keys does not
    // have.
    {"ADependencyTimeoutForAnInvalidGroupNameIsIgnoredWithAWarning",
     {{kAfter + "A1={5|soon} | tony.chief.instances=1 | tony.application.group.A1=chief",
       "worker.outlives=none | warns ~" + kAfter +
           "A1 (from -conf): | warns ~group.A1 (from -conf): ignored, as in LinkedIn's TonY: a role's name has "
           "lower-case letters only"},
      {kAfter + "A.ignored for whoever={5|soon} | tony.chief.instances=1 | tony.application.group.A1=chief",
       "worker.outlives=none | warns ~" + kAfter +
           "A.ignored for whoever (from -conf): | warns ~group.A1 (from -conf): ignored, as in LinkedIn's TonY: a "
           "role's name has lower-case letters only"},
      {kAfter + "A1.ignored={5|soon} | tony.chief.instances=1 | tony.application.group.A1=chief",
       "worker.outlives=none | warns ~" + kAfter +
           "A1.ignored (from -conf): | warns ~group.A1 (from -conf): ignored, as in LinkedIn's TonY: a role's name "
           "has lower-case letters only"}}},
    {"EnablePreprocessAddsATaskThatRunsBeforeAllOtherTasks",
     {{kPreprocess + " | tony.am.command=prepare.sh | tony.am.memory=3g | tony.ps.instances=1",
       Waits("ps", "preprocess") + Waits("worker", "preprocess") +
           "preprocess.command=prepare.sh | preprocess.memory_mb=3072"}}},
    {"EnablePreprocessWarnsAboutAJobWithoutRolesAndRefusesARoleNamedPreprocess",
     {{kPreprocess + " | tony.worker.instances=0", "warns ~the job has no roles, so its command runs once anyway"},
      {kPreprocess + " | tony.preprocess.instances=1", "error ~the job has a role preprocess already"},
      {"tony.application.enable-preprocess=yes", "refused ~expected true or false"}}},
};
TABLE_TEST(DependencyParserTest, kDependencies, CheckSpecAnywhere);

TEST(DependencyParserTest, IsPreprocessReturnsTrueForTheRoleAddedByEnablePreprocess) {
  const auto parsed = ParseWith({{"tony.application.enable-preprocess", "true"}, {"tony.am.command", "prepare.sh"}});
  EXPECT_TRUE(IsPreprocess(*parsed->spec.FindRole("preprocess")));
}

TEST(DependenciesTest, TheDependencyOrderOfRolesIsTransitive) {
  JobSpec spec;
  for (const char* name : {"a", "b", "c", "d", "e"}) spec.roles.push_back({.name = name, .command = "true"});
  spec.roles[1].depends_on = {{"a"}};
  spec.roles[2].depends_on = {{"b", Dependency::Until::kReady}};
  spec.roles[3].depends_on = {{"c"}};
  EXPECT_TRUE(IsBefore(spec, "a", "b"));
  EXPECT_TRUE(IsBefore(spec, "a", "c"));
  EXPECT_TRUE(IsBefore(spec, "a", "d"));
  EXPECT_FALSE(IsBefore(spec, "b", "c"));
  // Role c waits only until b is ready, so b may still run.
  EXPECT_FALSE(IsBefore(spec, "b", "d"));
  EXPECT_FALSE(IsBefore(spec, "a", "e"));
  const auto one_each = [](const RoleSpec&) { return 1; };
  EXPECT_EQ(LargestConcurrentSum(spec, one_each), 3);  // b, e, and c or d
}

}  // namespace
}  // namespace tony
