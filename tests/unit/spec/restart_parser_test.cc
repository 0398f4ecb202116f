// Restarts, checkpoints, timers, and the meaning of failures.
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/job/failure_rules.h"
#include "runtime/os/users.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/spec/spec_table.h"

namespace tony {
namespace {

using std::string_literals::operator""s;

const std::string kMillis = "expected a whole number of milliseconds from ";
const std::string kUnits = " to 315360000000, or a number with a unit, such as 30s, 10m or 2h";
const std::string kBudget = "refused expected a whole number from 0 to 1000000";

TEST(RestartParserTest, RestartsAndCheckpointsHaveDefaultsIfNoKeysAreSet) {
  const auto parsed = ParseWith({});
  EXPECT_EQ(parsed->spec.restart, RestartRules());
  EXPECT_EQ(parsed->spec.checkpoint, CheckpointSpec());
  EXPECT_EQ(parsed->spec.FindRole("worker")->restart_scope, std::nullopt);
  EXPECT_EQ(parsed->spec.FindRole("worker")->restarts, std::nullopt);
}

const TestRow kRestarts[] = {
    {"EachKindOfRestartHasItsOwnBudgetAndTimeWindow",
     {{"tony.restart.task.budget=1 | tony.restart.task.window-ms=10 | tony.restart.role.budget=2 | "
       "tony.restart.role.window-ms=20 | tony.restart.gang.budget=3 | tony.restart.gang.window-ms=30 | "
       "tony.restart.job.budget=4 | tony.restart.job.window-ms=40 | tony.restart.lost.budget=5 | "
       "tony.restart.lost.window-ms=50 | tony.restart.backoff-ms=6 | tony.restart.longest-backoff-ms=7 | "
       "tony.restart.settle-ms=8",
       R"(restart={"task":{"most":1,"window_ms":10},"role":{"most":2,"window_ms":20},"gang":{"most":3,"window_ms":30},)"
       R"("job":{"most":4,"window_ms":40},"lost":{"most":5,"window_ms":50},"backoff_ms":6,)"
       R"("longest_backoff_ms":7,"settle_ms":8})"}}},
    {"TheErrorForAnInvalidRestartBudgetOrWindowShowsTheSettingAndTheExpectedValue",
     {{"tony.restart.gang.budget=-1", kBudget},
      {"tony.restart.lost.budget=many", kBudget},
      {"tony.restart.task.window-ms=-1", "refused " + kMillis + "0" + kUnits},
      {"tony.worker.restart.budget=1.5", kBudget},
      {"tony.am.retry-count=-1", kBudget}}},
    {"TheMaximumBackoffIsAtLeastTheInitialBackoff",
     {{"tony.restart.longest-backoff-ms=499 | tony.restart.backoff-ms=500",
       "refused expected at least tony.restart.backoff-ms (500)"},
      {"tony.restart.backoff-ms=90000", "restart.longest_backoff_ms=90000"},
      {"tony.restart.backoff-ms=0 | tony.restart.longest-backoff-ms=0", "restart.longest_backoff_ms=0"}}},
    {"AmRetryCountSetsTheBudgetOfJobRestarts",
     {{"tony.am.retry-count=2 | tony.restart.job.window-ms=5", R"(restart.job={"most":2,"window_ms":5})"},
      {"tony.am.retry-count=2", "quiet"}}},
    {"RestartJobBudgetOverridesAmRetryCountWithAWarning",
     {{"tony.am.retry-count=2 | tony.restart.job.budget=0",
       "restart.job.most=0 | on tony.am.retry-count no effect, because tony.restart.job.budget is set"}}},
    {"TheRestartScopeOfARoleOverridesTheRestartScopeOfTheJob",
     {{"tony.restart.scope=Role", "worker.restart_scope=role"},
      {"tony.restart.scope=framework", "worker.restart_scope=framework"},
      {"tony.restart.scope=job | tony.worker.restart.scope=task", "worker.restart_scope=task"},
      {"tony.restart.scope=job | tony.worker.restart.scope=framework", "worker.restart_scope=framework"},
      {"tony.ps.instances=1 | tony.ps.restart.scope=gang", "worker.restart_scope=framework"},
      {"tony.worker.restart.scope=gagn", "refused expected framework, task, role, gang or job"}}},
    {"ARoleMayHaveItsOwnRestartBudget",
     {{"tony.worker.restart.budget=0", "worker.restarts=0"}, {"tony.restart.task.budget=3", "worker.restarts=null"}}},
    {"AJobWithoutRolesIgnoresRestartKeysOfTheDriverRole",
     {{"only: tony.containers.command=true | tony.restart.scope=job | tony.driver.restart.scope=task | "
       "tony.driver.restart.budget=4",
       "driver.restart_scope=job | driver.restarts=null | warns ~ | warns ~"}}},
    {"ARoleCannotBeNamedRestartOrCheckpointOrFailure",
     {{"tony.restart.instances=1", "refused \"restart\" cannot be a role: tony.restart.* keys mean something else"},
      {"tony.checkpoint.instances=1",
       "refused \"checkpoint\" cannot be a role: tony.checkpoint.* keys mean something else"},
      {"tony.failure.instances=1", "refused \"failure\" cannot be a role: tony.failure.* keys mean something else"}}},
};
TABLE_TEST(RestartParserTest, kRestarts, CheckSpecAnywhere);

// ---- checkpoints

void CheckBesideAFile(const RowCase& row) {
  const TempFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  CheckSpec(row, folder.path());
}

const std::string kLongest(4095, 'a'), kLongestPath = "/" + kLongest.substr(1);

const TestRow kCheckpoints[] = {
    {"CheckpointDirAndPatternMayHaveUpTo4095Bytes",
     {{"tony.checkpoint.dir=" + kLongestPath, "checkpoint.directory=" + kLongestPath},
      {"tony.checkpoint.dir=" + kLongestPath + "a", "error ~"},
      {"tony.checkpoint.dir=~/ck", "checkpoint.directory=^/ | checkpoint.directory=" + ExpandTilde("~/ck")},
      {"tony.checkpoint.dir=/saved | tony.checkpoint.pattern=" + kLongest, "checkpoint.pattern=" + kLongest},
      {"tony.checkpoint.dir=/saved | tony.checkpoint.pattern=" + kLongest + "a", "error ~"}}},
    {"ACheckpointFolderIsMadeAbsoluteAndNeedNotExist",
     {{"tony.checkpoint.dir=saved/run-1/", "checkpoint.directory=@/saved/run-1"},
      {"tony.checkpoint.dir= ./a/../b ", "checkpoint.directory=@/b"},
      {"tony.checkpoint.dir=/mnt/saved", "checkpoint.directory=/mnt/saved"},
      {"tony.checkpoint.dir=.{|/x/..}", "checkpoint.directory=@"},
      {"tony.checkpoint.dir=", "checkpoint.directory="},
      {"tony.checkpoint.dir=file", "refused @/file is not a folder"}}},
    {"CheckpointDirMayBeAnHdfsPathOnlyIfTheSchedulerIsYarn",
     {{"tony.checkpoint.dir={s3://bucket/x|file:///tmp}",
       "refused expected the path of a folder, or on YARN hdfs://HOST:PORT/PATH"},
      {"tony.checkpoint.dir=hdfs:///models",
       "refused only a job on YARN can use files in HDFS (tony.scheduler=yarn); expected the path of a file or folder "
       "on "
       "this machine"},
      {"tony.scheduler=yarn | tony.checkpoint.dir=hdfs:/a/../models/", "checkpoint.directory=hdfs:///models"},
      {"tony.scheduler=yarn | tony.checkpoint.dir=hdfs://nn/models", "checkpoint.directory=hdfs://nn:8020/models"},
      {"tony.checkpoint.dir=hdfs://models | tony.scheduler=yarn",
       "refused expected hdfs://HOST:PORT/PATH, or hdfs:///PATH for the cluster's own HDFS"},
      {"tony.checkpoint.dir=a\0b"s,
       "error tony.checkpoint.dir: \"a?b\" (from -conf): a path cannot contain a NUL character"},
      {"tony.checkpoint.dir=/" + std::string(4096, 'x'),
       "error tony.checkpoint.dir: \"/" + std::string(59, 'x') + "...\" (from -conf): the path is too long"}}},
    {"ACheckpointPatternWithASlashIsRefused",
     {{"tony.checkpoint.dir=/x | tony.checkpoint.pattern= ckpt-*.npz  | tony.checkpoint.fruitless-restarts=5 | "
       "tony.checkpoint.resume= Latest ",
       R"(checkpoint={"directory":"/x","pattern":"ckpt-*.npz","most_fruitless":5,"resume":"latest"})"},
      {"tony.checkpoint.resume=newest", "refused expected own or latest"},
      {"tony.checkpoint.pattern=../*", "refused expected a pattern of names in tony.checkpoint.dir, without /"},
      {"tony.checkpoint.fruitless-restarts=0", "refused expected a whole number from 1 to 1000000"}}},
    {"CheckpointPatternWithoutCheckpointDirCausesAWarning",
     {{"tony.checkpoint.pattern=ckpt-* | tony.checkpoint.fruitless-restarts=2",
       "on tony.checkpoint.pattern no effect, because tony.checkpoint.dir is not set | on "
       "tony.checkpoint.fruitless-restarts no effect, because tony.checkpoint.dir is not set"}}},
};
TABLE_TEST(CheckpointParserTest, kCheckpoints, CheckBesideAFile);

// ---- timers

TEST(TimerParserTest, TimersHaveDefaultsIfNoKeysAreSet) {
  EXPECT_EQ(ParseWith({})->spec.timers, Timers());
  EXPECT_EQ(ParseWith({})->spec.registration_timeout, JobSpec().registration_timeout);
  EXPECT_EQ(ParseWith({})->spec.timeout, JobSpec().timeout);
}

TEST(TimerParserTest, ARegistrationTimeoutOfZeroOrMinusOneIsPracticallyUnlimited) {
  for (const auto* off : {"0", "-1"}) {
    EXPECT_GT(ParseWith({{"tony.container.registration.timeout", off}})->spec.registration_timeout,
              std::chrono::years(9));
  }
}

const std::string kNoDuration = "{10 weeks|-2|1.5|1.5m|m|999999999999999|9999999d}";

const TestRow kTimers[] = {
    {"EachTimerIsSetByItsOwnKey",
     {{"tony.task.heartbeat-interval-ms=11 | tony.task.suspect-after-ms=12 | tony.task.cutoff-after-ms=1032 | "
       "tony.task.stop-grace-ms=14 | tony.task.lost-after-ms=6047 | tony.task.record-fresh-ms=10 | tony.am.lease-ms=16 "
       "| tony.task.orphan-timeout-ms=17 | tony.application.timeout=18 | tony.container.registration.timeout=19",
       R"(timers={"heartbeat_ms":11,"suspect_after_ms":12,"cutoff_after_ms":1032,"grace_ms":14,"lost_after_ms":6047,)"
       R"("record_fresh_ms":10,"am_lease_ms":16,"orphan_timeout_ms":17} | timeout_ms=18)"
       " | registration_timeout_ms=19"}}},
    {"TheDefaultSuspectTimeoutIsFiveHeartbeatIntervals",
     {{"tony.task.heartbeat-interval-ms=2000", "timers.suspect_after_ms=10000"}}},
    {"MaxMissedHeartbeatsSetsTheLostTimeout",
     {{"tony.task.max-missed-heartbeats=100", "timers.lost_after_ms=100000"},
      {"tony.task.max-missed-heartbeats=1 | tony.task.heartbeat-interval-ms=20000", "timers.lost_after_ms=60000"}}},
    {"LostAfterMsOverridesMaxMissedHeartbeatsWithAWarning",
     {{"tony.task.max-missed-heartbeats=100 | tony.task.lost-after-ms=70000",
       "timers.lost_after_ms=70000 | on tony.task.max-missed-heartbeats no effect, because tony.task.lost-after-ms is "
       "set"}}},
    {"LostAfterMsIsRefusedIfALostTaskCannotStopWithinThatTime",
     {{"tony.task.lost-after-ms=45000",
       "error tony.task.cutoff-after-ms (30000) + tony.task.stop-grace-ms (10000) + 5000 must be less than "
       "tony.task.lost-after-ms (45000): a lost task must have stopped before it is started again"},
      {"tony.task.lost-after-ms=45001", "accepted"}}},
    {"TheLostTimeoutIsRaisedToItsSafeMinimumIfMaxMissedHeartbeatsIsTooSmall",
     {{"tony.task.max-missed-heartbeats=25",
       "timers.lost_after_ms=45001 | on tony.task.max-missed-heartbeats raised to 45001 ms, because a lost task may "
       "take tony.task.cutoff-after-ms (30000 ms) + tony.task.stop-grace-ms (10000 ms) to stop"},
      {"tony.task.max-missed-heartbeats=11 | tony.task.heartbeat-interval-ms=4091",
       "timers.lost_after_ms=45001 | quiet"}}},
    {"ACutoffTimeoutTooShortToDetectADeadMasterIsRefused",
     {{"tony.task.cutoff-after-ms=21999",
       "error tony.task.cutoff-after-ms (21999) must be at least 22000, which is tony.task.heartbeat-interval-ms "
       "(1000) + tony.task.record-fresh-ms (15000) + 6000; after a shorter time, an executor could take a dead "
       "application master for a lost connection"},
      {"tony.task.cutoff-after-ms=22000", "accepted"}}},
    {"TheLostTimeoutMustBeAtLeastThreeHeartbeatIntervals",
     {{"tony.task.heartbeat-interval-ms=20001 | tony.task.lost-after-ms=60000",
       "error tony.task.lost-after-ms (60000) must be at least three times tony.task.heartbeat-interval-ms (20001)"}}},
    {"TheDefaultLostTimeoutGrowsWithTheHeartbeatIntervalAndWithTheStopGracePeriod",
     {{"tony.task.heartbeat-interval-ms=30000", "timers.cutoff_after_ms=51000 | timers.lost_after_ms=90000"},
      {"tony.task.stop-grace-ms=40000", "timers.lost_after_ms=75001"}}},
    {"TheErrorForAnInvalidTimerShowsTheSettingAndTheExpectedValue",
     {{"tony.task.heartbeat-interval-ms=" + kNoDuration, "refused " + kMillis + "10" + kUnits},
      {"tony.task.suspect-after-ms=" + kNoDuration, "refused " + kMillis + "1" + kUnits},
      {"tony.task.cutoff-after-ms=" + kNoDuration, "refused " + kMillis + "1" + kUnits},
      {"tony.task.stop-grace-ms=" + kNoDuration, "refused " + kMillis + "0" + kUnits},
      {"tony.task.lost-after-ms=" + kNoDuration, "refused " + kMillis + "1" + kUnits},
      {"tony.task.record-fresh-ms=" + kNoDuration, "refused " + kMillis + "1" + kUnits},
      {"tony.am.lease-ms=" + kNoDuration, "refused " + kMillis + "1" + kUnits},
      {"tony.task.orphan-timeout-ms=" + kNoDuration, "refused " + kMillis + "1" + kUnits},
      {"tony.application.timeout=" + kNoDuration, "refused " + kMillis + "0" + kUnits},
      {"tony.container.registration.timeout=" + kNoDuration, "refused " + kMillis + "-1" + kUnits},
      {"tony.task.max-missed-heartbeats=-1", "refused expected a whole number from 0 to 1000000"}}},
    {"ADurationWithoutAUnitIsReadInTheDefaultUnitOfItsKey",
     {{"tony.application.timeout={90000|90s}", "timeout_ms=90000"},
      {"tony.application.timeout=250ms", "timeout_ms=250"},
      {"tony.application.timeout= 10 m ", "timeout_ms=600000"},
      {"tony.application.timeout=2h", "timeout_ms=7200000"},
      {"tony.application.timeout=1d", "timeout_ms=86400000"},
      {"tony.azkaban.watch-timeout=90", "watch_timeout_ms=90000"},
      {"tony.azkaban.watch-timeout=10m", "watch_timeout_ms=600000"}}},
};
TABLE_TEST(TimerParserTest, kTimers, CheckSpecAnywhere);

// ---- The meaning of failures

const std::string kClasses =
    "expected one of the classes user_error, user_config, oom, node_lost, preempted, infra, hung or timeout";
const std::string kRegex = "refused expected a POSIX extended regular expression before =>: ";

const TestRow kFailureRules[] = {
    {"AJobHasNoFailureRulesByDefault", {{"", "failure_rules=[]"}}},
    {"SignalRulesTakeNumbersOrNames", {{"tony.failure.signal.{9|KILL|SIGKILL}=infra", R"(failure_rules=~"signal":9)"}}},
    {"AMisspelledFailureRuleKeyCausesAWarning",
     {{"tony.failure.exit.3=infra | tony.failure.pattern.x=a => oom", "quiet"},
      {"tony.failure.exot.3=infra",
       "warns tony.failure.exot.3 (from -conf): unknown key, ignored; did you mean tony.failure.exit.3?"}}},
    {"TheErrorForAnInvalidFailureRuleShowsTheSettingAndTheExpectedForm",
     {{"tony.failure.exit.3={broken|success|killed||, transient}", "refused " + kClasses},
      {"tony.failure.exit.0=infra", "refused expected an exit code from 1 to 255 in the key, not \"0\""},
      {"tony.failure.exit.{256|-1|x|1.5|99999999999999999999}=infra", "refused ^expected an exit code"},
      {"tony.failure.signal.SIGFOO=infra", "refused expected a signal such as 9 or SIGKILL in the key, not \"SIGFOO\""},
      {"tony.failure.pattern.x=oom", "refused expected REGEX => CLASS[, transient|permanent][, MEANING]"},
      {"tony.failure.pattern.x=(a => oom", kRegex + "unmatched ( or \\("},
      {"tony.failure.pattern.x==> oom", kRegex + "the expression is empty"},
      {"tony.failure.pattern.x=a => bad", "refused " + kClasses},
      {"tony.failure.exit.3=infra, transiet",
       "refused expected transient, permanent or a meaning of several words, not \"transiet\""},
      {"tony.failure.exit.3=oom, a " + std::string(200, 'x'), "error ~expected a meaning of at most 200 bytes"},
      {"tony.failure.exit.3=oom, a b\nc", "error ~expected a meaning of one line"}}},
};
TABLE_TEST(FailureRulesParserTest, kFailureRules, CheckSpecAnywhere);

TEST(FailureRulesParserTest, FailureRulesAreSortedAsPatternsThenExitCodesThenSignals) {
  const auto parsed =
      ParseWith({{"tony.failure.signal.SIGUSR1", "preempted, transient, the site's notice, one minute before"},
                 {"tony.failure.exit.3", "user_config"},
                 {"tony.failure.exit.17", " INFRA , the license server is down"},
                 {"tony.failure.pattern.ecc.gpu", "(ECC|Xid.*: 48) => infra, a broken GPU"},
                 {"tony.failure.pattern.arrow", "a => b => oom, permanent"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const std::vector<FailureRule> expected = {
      {.name = "pattern.arrow",
       .pattern = "a => b",
       .cls = OutcomeClass::kOom,
       .advice = Advice::kPermanent,
       .meaning = "the key tony.failure.pattern.arrow sets this class"},
      {.name = "pattern.ecc.gpu", .pattern = "(ECC|Xid.*: 48)", .cls = OutcomeClass::kInfra, .meaning = "a broken GPU"},
      {.name = "exit.17", .exit_code = 17, .cls = OutcomeClass::kInfra, .meaning = "the license server is down"},
      {.name = "exit.3", .exit_code = 3, .cls = OutcomeClass::kUserConfig, .meaning = "the key tony.failure.exit.3 "
                                                                                      "sets this class"},
      {.name = "signal.SIGUSR1",
       .signal = 10,
       .cls = OutcomeClass::kPreempted,
       .advice = Advice::kTransient,
       .meaning = "the site's notice, one minute before"}};
  EXPECT_EQ(parsed->spec.failure_rules, expected);
}

TEST(FailureRulesParserTest, MoreThan64FailureRulesAreRefused) {
  Settings settings;
  for (int code = 1; code <= 65; ++code) settings.emplace_back("tony.failure.exit." + std::to_string(code), "infra");
  EXPECT_EQ(ErrorWith(settings), "tony.failure.*: 65 rules; expected at most 64");
}

TEST(FailureRulesParserTest, FailureRulesSurviveARoundTripThroughTheJsonOfTheJobSpec) {
  JobSpec spec = ParseWith({{"tony.failure.signal.9", "infra, transient"},
                            {"tony.failure.exit.3", "user_config, permanent, m n"},
                            {"tony.failure.pattern.x", "\xC3\xA4 => oom"}})
                     ->spec;
  spec.failure_rules.push_back(
      {.name = "later", .scheduler_status = -100, .oom = OomEvidence::kMachine, .remedy = "r"});
  const auto read = JobSpecFromJson(ToJson(spec));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->failure_rules, spec.failure_rules);
}

TEST(FailureRulesParserTest, ASpecWithAnUnknownOutcomeClassInAFailureRuleIsRefused) {
  std::string json = ToJson(ParseWith({{"tony.failure.exit.3", "oom"}})->spec);
  const size_t at = json.rfind("\"oom\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(JobSpecFromJson(json.replace(at, 5, "\"bad\"")).error().message,
            "job spec: field failure_rules[0].class: expected an outcome class");
}

}  // namespace
}  // namespace tony
