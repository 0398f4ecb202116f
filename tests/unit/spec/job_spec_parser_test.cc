// A job as a whole, keys that are wrong or have no effect, and the configuration as JSON.
#include "runtime/spec/job_spec_parser.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/spec/property_values.h"
#include "tests/support/rounds.h"
#include "tests/unit/spec/spec_table.h"

namespace tony {
namespace {

const std::string kFrameworks =
    "expected tensorflow, pytorch, jax, lightgbm, xgboost, horovod, mxnet, ray or standalone";

const TestRow kJobs[] = {
    {"TheJobNameAndTheFrameworkAreTrimmedAndHaveDefaults",
     {{"tony.application.name= train  | tony.application.framework= PyTorch ", "name=train | framework=pytorch"},
      {"", "name=TonyApplication | framework=tensorflow"}}},
    {"UnsupportedFrameworksAreRefused",
     {{"tony.application.framework={spark|MPI}", "refused not supported yet; " + kFrameworks},
      {"tony.application.framework={torch|staged}", "refused " + kFrameworks}}},
    {"DistributedModeIsGangOrFirstComeFirstServed",
     {{"{|tony.application.distributed-mode= gang }", "mode=GANG"},
      {"tony.application.distributed-mode={FCFS|Fcfs}", "mode=FCFS"},
      {"tony.application.distributed-mode=x", "refused expected GANG or FCFS"}}},
    {"TaskLogLimitIsASizeOrZeroForUnlimited",
     {{"", "log_limit_mb=1024"},
      {"tony.task.log-limit=2g", "log_limit_mb=2048"},
      {"tony.task.log-limit=10", "log_limit_mb=10"},
      {"tony.task.log-limit={0|0g}", "log_limit_mb=0"},
      {"tony.task.log-limit=-1", "refused expected from 0 to 1000000000 MB"},
      {"tony.task.log-limit=big", "refused expected a whole number of MB, or a number followed by m or g"}}},
    {"TheContainerAllocationTimeoutIsOffByDefault",
     {{"{|tony.container.allocation.timeout=-1}", "allocation_timeout_ms=0"},
      {"tony.container.allocation.timeout=5000", "allocation_timeout_ms=5000"}}},
    {"TheKeyMemoryLimitsAcceptsOnlyAutoAndOff",
     {{"", "memory_limits=true"},
      {"tony.local.memory-limits=Off", "memory_limits=false"},
      {"tony.local.memory-limits=no", "refused expected auto or off"}}},
    {"LocalPriorityIsAnIntegerOfAtMost1000",
     {{"", "priority=none"}, {"tony.local.priority=-7", "priority=-7"}, {"tony.local.priority=1001", "refused ~"}}},
    {"AJobNameIsOneLineOfAtMost256Bytes",
     {{"tony.application.name=a\nb", "error tony.application.name: \"a?b\" (from -conf): expected one line of text"},
      {"tony.application.name=" + std::string(257, 'n'),
       "error tony.application.name: \"" + std::string(60, 'n') + "...\" (from -conf): expected at most 256 bytes"}}},
    {"ANonUtf8ValueOfATonyKeyIsRefused",
     {{"tony.worker.command=caf\xE9", "error tony.worker.command: \"caf\xEF\xBF\xBD\" (from -conf): not valid UTF-8"},
      {"other.key=caf\xE9", "accepted"}}},
    {"DuplicateTagsAreRemovedAndTheOrderOfTagsIsKept",
     {{"tony.application.tags= b, a,,b ,c:1", R"(tags=["b","a","c:1"])"},
      {"tony.application.tags=", "tags=[]"},
      {"tony.application.tags=a", "quiet"},
      {"tony.application.tags=a\nb",
       "error tony.application.tags: \"a?b\" (from -conf): expected tags of one line, separated by commas"}}},
    {"TheAzkabanWatchTimeoutIsAWholeNumberOfSecondsUpToAYear",
     // By default an outage of one hour does not end a job.
     {{"", "watch_timeout_ms=7200000"},
      {"tony.azkaban.watch-timeout= 1 ", "watch_timeout_ms=1000"},
      {"tony.azkaban.watch-timeout=31536000", "watch_timeout_ms=31536000000"},
      {"tony.azkaban.watch-timeout={0|-1|1.5|10 weeks||31536001|366d|99999999999999999999}",
       "refused expected a whole number of seconds from 1 to 31536000, or a number with a unit, such as 30s, 10m or 2h"}}},
};
TABLE_TEST(JobSpecParserTest, kJobs, CheckSpecAnywhere);

TEST(JobSpecParserTest, AParsedJobSpecSurvivesARoundTripThroughJson) {
  const auto parsed =
      ParseWith({{"tony.ps.instances", "2"}, {"tony.execution.env.A", "1,2"}, {"tony.application.timeout", "5"}});
  ASSERT_TRUE(parsed.ok());
  const auto read = JobSpecFromJson(ToJson(parsed->spec));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, parsed->spec);
}

// Parsing gives a spec that its own JSON restores, or one line of error, whatever the properties are.
TEST(JobSpecParserTest, RandomPropertiesAreParsedOrRefused) {
  const std::vector<std::string> keys = Alternatives(
      "tony.{worker.instances|ps.instances|am.instances|x.instances|.instances|instances|worker.memory|worker.command|"
      "execution.envs|execution.env.A|application.untracked.jobtypes|task.max-missed-heartbeats|task.lost-after-ms||"
      "containers.command|task.max-total-instances|application.name|application.timeout|containers.resources|"
      "am.resources|worker.resources|python-venv}");
  std::vector<std::string> values = Alternatives(
      "{| |0|1|2g|-1|x|A=1,B|ps,worker|,|=|/tmp,/tmp::a#archive|/tmp::venv|::#archive|99999|9223372036854775807|"
      "9223372036854775808|\xFF}");
  values.push_back(std::string(200, 'q'));
  std::mt19937 random(20261121);
  const int rounds = Rounds(1500);
  int accepted = 0;
  for (int round = 0; round < rounds; ++round) {
    Properties properties = PropertiesOf({{"tony.containers.command", "true"}});
    for (size_t count = random() % 5; count > 0; --count) {
      properties.Set(keys[random() % keys.size()], values[random() % values.size()], "fuzz");
    }
    const auto parsed = ParseJobSpec(properties, "/");
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
      for (const std::string& line : Split(parsed.error().message, '\n')) EXPECT_FALSE(line.empty());
      continue;
    }
    ++accepted;
    EXPECT_EQ(*JobSpecFromJson(ToJson(parsed->spec)), parsed->spec);
  }
  EXPECT_GT(accepted, rounds / 30);
}

TEST(JobSpecParserTest, WarningsOfTheJobFileAreListedBeforeWarningsOfTheParser) {
  Properties properties = PropertiesOf({{"tony.containers.command", "true"}, {"tony.nothing.like.this.at.all", "1"}});
  properties.Warn("from the file");
  const auto parsed = ParseJobSpec(properties, "/");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed->warnings.size(), 2u);
  EXPECT_EQ(parsed->warnings[0], "from the file");
}

TEST(JobSpecParserTest, ErrorMessagesMaskTheValuesOfSecrets) {
  const Properties properties = PropertiesOf({{"tony.failure.exit.token", "hunter2"},
                                              {"tony.execution.envs", "A=1,DB_PASSWORD=hunter2"},
                                              {"tony.monkey.memory", "1.5x"}});
  Problems problems;
  const PropertyValues values(properties, problems);
  EXPECT_EQ(values.Bad("tony.failure.exit.token", "expected x").message,
            "tony.failure.exit.token: \"********\" (from -conf): expected x");
  EXPECT_EQ(values.Bad("tony.execution.envs", "expected x").message,
            "tony.execution.envs: \"A=1,DB_PASSWORD=********\" (from -conf): expected x");
  EXPECT_EQ(values.Bad("tony.monkey.memory", "expected x").message,
            "tony.monkey.memory: \"1.5x\" (from -conf): expected x")
      << "a role may be called as if it were a secret";
  EXPECT_EQ(ErrorWith({{"tony.execution.env.API_KEY", std::string("hunter2\xFF")}}),
            "tony.execution.env.API_KEY: \"********\" (from -conf): not valid UTF-8");
}

// ---- keys that are wrong, or have no effect

const std::string kAsInTony = " (from -conf): ignored, as in LinkedIn's TonY: a role's name has lower-case letters only";
const std::string kWithoutYarn = " (from -conf): accepted, no effect without tony.scheduler=yarn";
const std::string kWithoutLocal = " (from -conf): accepted, no effect without tony.scheduler=local";
const std::string kBadMillis = "315360000000, or a number with a unit, such as 30s, 10m or 2h";

const TestRow kKeyChecks[] = {
    {"AWarningAboutAnUnknownKeySuggestsTheNearestKnownKey",
     {{"tony.worker.memroy=1g",
       "warns tony.worker.memroy (from -conf): unknown key, ignored; did you mean tony.worker.memory?"},
      {"tony.nothing.like.this.at.all=1", "warns tony.nothing.like.this.at.all (from -conf): unknown key, ignored"},
      {"tony.container.command=x",
       "warns tony.container.command (from -conf): unknown key, ignored; did you mean tony.containers.command?"}}},
    {"KeysOfOtherProgramsAreIgnoredSilently", {{"type=tony | retries=1 | tonyx=1 | azkaban.flow.execid=7", "quiet"}}},
    {"TheInstancesKeyOfAnInvalidRoleNameIsIgnoredWithAWarning",
     {{"tony.worker2.instances=2", "warns tony.worker2.instances" + kAsInTony},
      {"tony.Worker.instances=2", "warns tony.Worker.instances" + kAsInTony},
      {"tony.my-role.instances=2", "warns tony.my-role.instances" + kAsInTony},
      {"tony.w_x.instances=2", "warns tony.w_x.instances" + kAsInTony}}},
    {"AKeyOfANonexistentRoleCausesAWarning",
     {{"tony.wroker.memory=1g",
       "warns tony.wroker.memory (from -conf): ignored, because tony.wroker.instances is not set"},
      {"tony.worker.instances=0 | tony.driver.memory=1g",
       "warns tony.driver.memory (from -conf): ignored, because tony.driver.instances is not set"}}},
    {"AYarnKeyCausesAWarningUnlessTheSchedulerIsYarn",
     {{"tony.yarn.queue=ml", "warns tony.yarn.queue" + kWithoutYarn},
      {"tony.yarn.queue=default", "quiet"},
      {"tony.yarn.queue=ml | tony.scheduler=YARN", "quiet"}}},
    {"AKeyWithoutEffectCausesAWarningUnlessItsValueIsTheDefault",
     {{"tony.application.type=ML", "warns tony.application.type" + kWithoutYarn},
      {"tony.application.type=TONY", "quiet"},
      {"tony.worker.node-label=gpu", "warns tony.worker.node-label" + kWithoutYarn}}},
    {"AKeyThatBeginsWithTonyLocalCausesAWarningOnYarn",
     {{"tony.local.priority=2", "quiet"},
      {"tony.local.priority=2 | tony.scheduler=yarn", "warns tony.local.priority" + kWithoutLocal},
      {"tony.local.memory-limits=AUTO | tony.scheduler=yarn", "warns tony.local.memory-limits" + kWithoutLocal}}},
    {"TonysSampleSiteFileCausesNoWarning",
     {{"tony.history.host=historyhost.com | tony.keytab.user=user1 | tony.keytab.location=/location/to/tony.keytab | "
       "tony.https.port=19886 | tony.https.keystore.path=/location/to/tony.jks | tony.https.keystore.type=JKS | "
       "tony.https.keystore.password=password | tony.https.keystore.algorithm=SunX509 | tony.http.port=disabled | "
       "tony.secret.key=changeme | tony.init.module=Startup",
       "quiet"}}},
    {"MoreThanOneAmInstanceCausesAWarning",
     {{"tony.am.instances=1 | tony.ps.instances=0 | tony.ps.memory=2g", "quiet"},
      {"tony.am.instances=2", "warns tony.am.instances (from -conf): accepted, no effect: a job has one"}}},
    {"HarmlessKeysOfLinkedInsTonyCauseNoWarning",
     {{"tony.application.security.enabled=false | tony.task.executor.jvm.opts=-Xmx4g | tony.secret.key=ours | "
       "tony.docker.worker.image=image",
       "quiet"},
      {"tony.application.stop-on-failure-jobtypes=worker,ps", "quiet"}}},
    {"DockerWithoutAnImageIsRefusedBecauseTheTasksWouldRunWithoutIt",
     {{"tony.docker.enabled=true", "refused ^no role has an image; set tony.docker.containers.image or "},
      {"tony.docker.enabled=false", "quiet"}}},
    {"AnErrorAboutAnInvalidValueIsFollowedByWarningsAboutUnknownKeys",
     {{"tony.worker.vcores=none | tony.worker.memroy=1g",
       "refused expected a whole number from 1 to 1000000\nwarning: tony.worker.memroy (from -conf): unknown key, "
       "ignored; did you mean tony.worker.memory?"}}},
    {"AnInvalidValueCausesOneErrorAndNoFollowUpErrors",
     {{"tony.task.cutoff-after-ms=x | tony.task.lost-after-ms=20000",
       "refused expected a whole number of milliseconds from 1 to " + kBadMillis},
      {"tony.restart.backoff-ms=x | tony.restart.longest-backoff-ms=1",
       "refused expected a whole number of milliseconds from 0 to " + kBadMillis},
      {"tony.worker.instances=x", "refused expected a whole number from 0 to 10000"}}},
    {"RoleKeysWithoutInstancesCauseAWarningThatTheCommandRunsOnce",
     {{"only: tony.containers.command=true | tony.worker.memory=1g",
       "roles=driver | warns tony.worker.memory (from -conf): ignored, because tony.worker.instances is not set | "
       "warns no "
       "role has instances, so the command runs once, as task driver:0; set tony.worker.instances=N to run it as N "
       "tasks of role worker"}}},
};
TABLE_TEST(KeyChecksTest, kKeyChecks, CheckSpecAnywhere);

TEST(KeyChecksTest, OnlyTheFirst20UnknownKeysAreNamedInWarnings) {
  Settings settings;
  for (int i = 100; i < 200; ++i) settings.emplace_back(StrCat("tony.nothing.like.this.at.all", i), "1");
  const auto parsed = ParseWith(settings);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->warnings.size(), 21u);
  EXPECT_EQ(parsed->warnings.back(), "80 more unknown tony.* keys are ignored");
}

TEST(KeyChecksTest, AllInvalidValuesAreReportedTogether) {
  const std::string error = ErrorWith({{"tony.worker.memory", "2x"},
                                       {"tony.worker.vcores", "none"},
                                       {"tony.ps.instances", "many"},
                                       {"tony.application.framework", "torch"},
                                       {"tony.application.distributed-mode", "all"},
                                       {"tony.task.heartbeat-interval-ms", "soon"},
                                       {"tony.restart.scope", "planet"},
                                       {"tony.src-dir", "no/such/folder"},
                                       {"tony.application.timeout", "never"},
                                       {"tony.checkpoint.dir", "hdfs:///x"},
                                       {"tony.failure.exit.3", "broken"}});
  std::vector<std::string> keys;
  for (const std::string& line : Split(error, '\n')) keys.push_back(line.substr(0, line.find(": ")));
  EXPECT_EQ(Join(keys, " "),
            "tony.application.framework tony.application.distributed-mode tony.ps.instances tony.restart.scope "
            "tony.worker.memory tony.worker.vcores tony.src-dir tony.task.heartbeat-interval-ms "
            "tony.application.timeout tony.checkpoint.dir tony.failure.exit.3");
}

// ---- the configuration as JSON

TEST(ConfigurationJsonTest, AConfigurationSurvivesARoundTripThroughJson) {
  const Configuration configuration = {{"a", "\"1\"\n\xC3\xA4", "-conf"}, {"b", "", "default"}};
  EXPECT_EQ(ToJson(Configuration{{"k", "v", "s"}}), R"([{"key":"k","value":"v","source":"s"}])");
  const auto read = ConfigurationFromJson(ToJson(configuration));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, configuration);
}

TEST(ConfigurationJsonTest, MalformedConfigurationJsonIsRefused) {
  for (const char* text : {"{}", "", R"([{"key":"k","value":7,"source":"s"}])", R"([{"key":"k","value":"v"}])"})
    EXPECT_FALSE(ConfigurationFromJson(text).ok()) << text;
}

}  // namespace
}  // namespace tony
