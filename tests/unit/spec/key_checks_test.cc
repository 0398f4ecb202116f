#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

TEST(KeyChecksTest, UnknownKeysWarnWithTheNearestKnownName) {
  EXPECT_EQ(WarningsWith({{"tony.worker.memroy", "1g"}}),
            "tony.worker.memroy (from -conf): unknown key, ignored; did you mean tony.worker.memory?\n");
  EXPECT_EQ(WarningsWith({{"tony.nothing.like.this.at.all", "1"}}),
            "tony.nothing.like.this.at.all (from -conf): unknown key, ignored\n");
  EXPECT_EQ(WarningsWith({{"tony.container.command", "x"}}),
            "tony.container.command (from -conf): unknown key, ignored; did you mean tony.containers.command?\n");
}

TEST(KeyChecksTest, KeysOfOthersAreIgnoredWithoutAWord) {
  EXPECT_EQ(WarningsWith({{"type", "tony"}, {"retries", "1"}, {"tonyx", "1"}, {"azkaban.flow.execid", "7"}}), "");
}

TEST(KeyChecksTest, RolesThatTonyIgnoredAreAWarning) {
  for (const std::string role : {"worker2", "Worker", "my-role", "w_x"}) {
    EXPECT_EQ(
        WarningsWith({{"tony." + role + ".instances", "2"}}),
        "tony." + role + ".instances (from -conf): ignored, as in TonY: a role's name has lower-case letters only\n");
  }
}

TEST(KeyChecksTest, AKeyOfARoleThatDoesNotExistIsAWarning) {
  EXPECT_EQ(WarningsWith({{"tony.wroker.memory", "1g"}}),
            "tony.wroker.memory (from -conf): ignored, as tony.wroker.instances is not set\n");
  EXPECT_EQ(WarningsWith({{"tony.worker.instances", "0"}, {"tony.driver.memory", "1g"}}),
            "tony.driver.memory (from -conf): ignored, as tony.driver.instances is not set\n");
}

TEST(KeyChecksTest, AKeyOfYarnIsAWarningElsewhere) {
  EXPECT_EQ(WarningsWith({{"tony.yarn.queue", "ml"}}),
            "tony.yarn.queue (from -conf): accepted, no effect without tony.scheduler=yarn\n");
  EXPECT_EQ(WarningsWith({{"tony.yarn.queue", "default"}}), "");
  EXPECT_EQ(WarningsWith({{"tony.yarn.queue", "ml"}, {"tony.scheduler", "YARN"}}), "");
}

TEST(KeyChecksTest, AKeyWithoutEffectIsAWarningUnlessItSaysTheDefault) {
  EXPECT_EQ(WarningsWith({{"tony.application.type", "ML"}}),
            "tony.application.type (from -conf): accepted, no effect without tony.scheduler=yarn\n");
  EXPECT_EQ(WarningsWith({{"tony.application.type", "TONY"}}), "");
  EXPECT_EQ(WarningsWith({{"tony.worker.node-label", "gpu"}}),
            "tony.worker.node-label (from -conf): accepted, no effect without tony.scheduler=yarn\n");
}

TEST(KeyChecksTest, AKeyOfThisMachineIsAWarningOnYarn) {
  EXPECT_EQ(WarningsWith({{"tony.local.priority", "2"}}), "");
  EXPECT_EQ(WarningsWith({{"tony.local.priority", "2"}, {"tony.scheduler", "yarn"}}),
            "tony.local.priority (from -conf): accepted, no effect without tony.scheduler=local\n");
  EXPECT_EQ(WarningsWith({{"tony.local.memory-limits", "AUTO"}, {"tony.scheduler", "yarn"}}),
            "tony.local.memory-limits (from -conf): accepted, no effect without tony.scheduler=local\n");
}

TEST(KeyChecksTest, TonysOwnSiteSampleIsReadWithoutAWord) {
  EXPECT_EQ(WarningsWith({{"tony.history.host", "historyhost.com"},
                          {"tony.keytab.user", "user1"},
                          {"tony.keytab.location", "/location/to/tony.keytab"},
                          {"tony.https.port", "19886"},
                          {"tony.https.keystore.path", "/location/to/tony.jks"},
                          {"tony.https.keystore.type", "JKS"},
                          {"tony.https.keystore.password", "password"},
                          {"tony.https.keystore.algorithm", "SunX509"},
                          {"tony.http.port", "disabled"},
                          {"tony.secret.key", "changeme"},
                          {"tony.init.module", "Startup"}}),
            "");
}

TEST(KeyChecksTest, ATemplateMaySayThatThereIsOneMaster) {
  EXPECT_EQ(WarningsWith({{"tony.am.instances", "1"}, {"tony.ps.instances", "0"}, {"tony.ps.memory", "2g"}}), "");
  EXPECT_EQ(WarningsWith({{"tony.am.instances", "2"}}),
            "tony.am.instances (from -conf): accepted, no effect: a job has one\n");
}

TEST(KeyChecksTest, WhatThereIsNothingToSetForIsNoWarning) {
  EXPECT_EQ(WarningsWith({{"tony.application.security.enabled", "false"},
                          {"tony.task.executor.jvm.opts", "-Xmx4g"},
                          {"tony.secret.key", "ours"},
                          {"tony.docker.worker.image", "image"}}),
            "");
  EXPECT_EQ(WarningsWith({{"tony.application.stop-on-failure-jobtypes", "worker,ps"}}), "");
}

TEST(KeyChecksTest, WhatWouldRunTheWrongThingIsAnError) {
  for (const auto& [key, value] : Settings{{"tony.docker.enabled", "true"}}) {
    EXPECT_TRUE(ErrorWith({{key, value}}).starts_with(key + ": \"" + value + "\" (from -conf): not supported yet: "));
    EXPECT_EQ(WarningsWith({{key, " "}}), "") << key;
    EXPECT_EQ(WarningsWith({{key, "false"}}), "") << key;
  }
}

TEST(KeyChecksTest, AWrongFileAltogetherDoesNotFillTheScreen) {
  Settings settings;
  for (int i = 100; i < 200; ++i) settings.emplace_back(StrCat("tony.nothing.like.this.at.all", i), "1");
  const auto parsed = ParseWith(settings);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->warnings.size(), 21u);
  EXPECT_EQ(parsed->warnings.back(), "80 more unknown tony.* keys");
}

TEST(KeyChecksTest, AnUnknownKeyWarnsAlsoWhereSomethingElseIsWrong) {
  EXPECT_EQ(ErrorWith({{"tony.worker.memroy", "1g"}, {"tony.worker.vcores", "none"}}),
            "tony.worker.vcores: \"none\" (from -conf): expected a whole number from 1 to 1000000\n"
            "warning: tony.worker.memroy (from -conf): unknown key, ignored; did you mean tony.worker.memory?");
}

TEST(KeyChecksTest, AllWrongValuesAreToldAtOnce) {
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

TEST(KeyChecksTest, AWrongValueIsNotBlamedForWhatFollowsFromItsDefault) {
  EXPECT_EQ(ErrorWith({{"tony.task.cutoff-after-ms", "x"}, {"tony.task.lost-after-ms", "20000"}}),
            "tony.task.cutoff-after-ms: \"x\" (from -conf): expected a whole number of milliseconds from 1 to "
            "315360000000, or one with a unit, as 30s, 10m, 2h");
  EXPECT_EQ(ErrorWith({{"tony.restart.backoff-ms", "x"}, {"tony.restart.longest-backoff-ms", "1"}}),
            "tony.restart.backoff-ms: \"x\" (from -conf): expected a whole number of milliseconds from 0 to "
            "315360000000, or one with a unit, as 30s, 10m, 2h");
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "x"}}),
            "tony.worker.instances: \"x\" (from -conf): expected a whole number from 0 to 10000");
}

TEST(KeyChecksTest, WhoeverSetsKeysOfARoleIsToldThatTheCommandRunsOnce) {
  const auto parsed =
      ParseJobSpec(PropertiesOf({{"tony.containers.command", "true"}, {"tony.worker.memory", "1g"}}), "/");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.roles.at(0).name, "driver");
  EXPECT_EQ(Join(parsed->warnings, "\n"),
            "tony.worker.memory (from -conf): ignored, as tony.worker.instances is not set\n"
            "no role has instances, so the command runs once, as driver:0; tony.worker.instances=N runs it as N tasks "
            "of role worker");
}

}  // namespace
}  // namespace tony
