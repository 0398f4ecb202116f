#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

constexpr const char* kRule = "tony.application.completion-rule";
constexpr const char* kStops = "tony.application.stop-on-failure-jobtypes";
constexpr const char* kAnyFails = "tony.application.fail-on-worker-failure-enabled";

const Settings kShards = {{"tony.shard.instances", "100"},
                          {"tony.shard.command", "x"},
                          {"tony.board.instances", "1"},
                          {"tony.board.command", "x"},
                          {"tony.application.sidecar.jobtypes", "board"}};

Settings operator+(Settings left, const Settings& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// "strict; board sidecar 0; shard 97 4": rule; of each role how many successes are enough, how many failures too many.
std::string RulesWith(const Settings& settings) {
  const auto parsed = ParseWith(settings);
  if (!parsed.ok()) return parsed.error().message;
  std::string text(ToString(parsed->spec.completion_rule));
  for (const RoleSpec& role : parsed->spec.roles)
    text += StrCat("; ", role.name, " ", ToString(role.completion), " ", role.min_succeeded, " ", role.FailsAt());
  return text;
}

TEST(CompletionParserTest, UnlessAJobSaysOtherwiseTheFirstFailureIsTooMany) {
  EXPECT_EQ(RulesWith(kShards), "strict; board sidecar 0 0; shard tracked 0 1; worker tracked 0 1");
}

TEST(CompletionParserTest, ARoleSaysHowManySuccessesAreEnoughAndHowManyFailuresTooMany) {
  EXPECT_EQ(RulesWith(kShards + Settings{{"tony.shard.min-succeeded", "97"}}),
            "strict; board sidecar 0 0; shard tracked 97 4; worker tracked 0 1");
  EXPECT_EQ(RulesWith(kShards + Settings{{"tony.shard.min-failed", "4"}}),
            "strict; board sidecar 0 0; shard tracked 0 4; worker tracked 0 1");
  EXPECT_EQ(RulesWith(kShards + Settings{{"tony.shard.min-failed", "2"}, {"tony.shard.min-succeeded", "97"}}),
            "strict; board sidecar 0 0; shard tracked 97 2; worker tracked 0 1");
}

TEST(CompletionParserTest, WhatCannotBeIsAnError) {
  EXPECT_EQ(ErrorWith(kShards + Settings{{"tony.shard.min-succeeded", "101"}}),
            "tony.shard.min-succeeded: \"101\" (from -conf): expected a whole number from 1 to 100");
  EXPECT_EQ(ErrorWith(kShards + Settings{{"tony.shard.min-failed", "0"}}),
            "tony.shard.min-failed: \"0\" (from -conf): expected a whole number from 1 to 100");
  EXPECT_EQ(ErrorWith(kShards + Settings{{"tony.shard.min-failed", "5"}, {"tony.shard.min-succeeded", "97"}}),
            "tony.shard.min-failed: \"5\" (from -conf): expected at most 4: with so many failures of 100 tasks, "
            "tony.shard.min-succeeded=97 is out of reach");
  EXPECT_EQ(ErrorWith(kShards + Settings{{"tony.board.min-succeeded", "1"}}),
            "tony.board.min-succeeded: \"1\" (from -conf): the role is sidecar, and the job waits for none of its "
            "tasks; expected a tracked role");
  EXPECT_EQ(ErrorWith({{kRule, "lenient"}}),
            "tony.application.completion-rule: \"lenient\" (from -conf): expected strict or tony");
  EXPECT_EQ(ErrorWith({{kAnyFails, "maybe"}}),
            "tony.application.fail-on-worker-failure-enabled: \"maybe\" (from -conf): expected true or false");
}

TEST(CompletionParserTest, TonysRuleToleratesFailuresButOfRolesThatAreListed) {
  EXPECT_EQ(RulesWith(kShards + Settings{{kRule, "tony"}}),
            "tony; board sidecar 0 0; shard tracked 0 0; worker tracked 0 0");
  EXPECT_EQ(RulesWith(kShards + Settings{{kRule, "tony"}, {kStops, "shard"}}),
            "tony; board sidecar 0 0; shard tracked 0 1; worker tracked 0 0");
  EXPECT_EQ(RulesWith(kShards + Settings{{kRule, "TONY"}, {kAnyFails, "true"}}),
            "tony; board sidecar 0 1; shard tracked 0 1; worker tracked 0 1");
  EXPECT_EQ(RulesWith(kShards + Settings{{kRule, "tony"}, {"tony.shard.min-succeeded", "97"}}),
            "tony; board sidecar 0 0; shard tracked 97 4; worker tracked 0 0");
}

TEST(CompletionParserTest, ASidecarThatIsListedFailsTheJob) {
  EXPECT_EQ(RulesWith(kShards + Settings{{kStops, "board"}}),
            "strict; board sidecar 0 1; shard tracked 0 1; worker tracked 0 1");
  EXPECT_EQ(RulesWith(kShards + Settings{{"tony.board.min-failed", "1"}}),
            "strict; board sidecar 0 1; shard tracked 0 1; worker tracked 0 1");
}

TEST(CompletionParserTest, WhatARoleSaysItselfGoesBeforeTheLists) {
  const Settings both = kShards + Settings{{kStops, "shard,worker"}, {"tony.shard.min-failed", "4"}};
  EXPECT_EQ(RulesWith(both), "strict; board sidecar 0 0; shard tracked 0 4; worker tracked 0 1");
  EXPECT_EQ(WarningsWith(both),
            "tony.application.stop-on-failure-jobtypes: \"shard,worker\" (from -conf): no effect for role \"shard\", "
            "as tony.shard.min-failed is set\n");
  EXPECT_EQ(RulesWith(kShards + Settings{{kAnyFails, "true"}, {"tony.shard.min-failed", "4"}}),
            "strict; board sidecar 0 0; shard tracked 0 4; worker tracked 0 1");
}

TEST(CompletionParserTest, AJobThatSpeaksOfTonysRuleIsToldOnceWhatDiffers) {
  const std::string told =
      "in TonY a task of role shard may fail as long as another task succeeds; here it fails the job, unless it is "
      "restarted; tony.application.completion-rule=tony or strict says which is meant\n";
  EXPECT_EQ(WarningsWith(kShards + Settings{{kStops, "worker"}, {kAnyFails, "false"}}),
            "tony.application.fail-on-worker-failure-enabled: \"false\" (from -conf): " + told);
  EXPECT_EQ(WarningsWith(kShards + Settings{{kStops, "worker"}}),
            "tony.application.stop-on-failure-jobtypes: \"worker\" (from -conf): " + told);
  EXPECT_EQ(WarningsWith(kShards + Settings{{"tony.compat.version", "0.4.6"}}),
            "tony.compat.version: \"0.4.6\" (from -conf): " + told);
  EXPECT_EQ(WarningsWith(kShards + Settings{{"tony.shard.instances", "1"}, {kStops, "worker"}}),
            "tony.application.stop-on-failure-jobtypes: \"worker\" (from -conf): " + told)
      << "two tasks";
}

TEST(CompletionParserTest, WhereNothingDiffersNothingIsSaid) {
  const Settings set = {{kAnyFails, "false"}, {"tony.compat.version", "0.5.3"}};
  EXPECT_EQ(WarningsWith(kShards), "") << "no word of TonY";
  EXPECT_EQ(WarningsWith(set), "") << "the only task is the chief";
  EXPECT_EQ(WarningsWith(kShards + set + Settings{{kStops, "shard"}}), "") << "TonY stops as well";
  EXPECT_EQ(WarningsWith(kShards + set + Settings{{"tony.shard.min-succeeded", "97"}}), "") << "it says itself";
  EXPECT_EQ(WarningsWith(kShards + set + Settings{{kRule, "strict"}}), "") << "it means so";
  EXPECT_EQ(WarningsWith(kShards + set + Settings{{kRule, "tony"}}), "") << "it is TonY's rule";
  EXPECT_EQ(WarningsWith(kShards + Settings{{kAnyFails, "true"}, {"tony.compat.version", "0.5.3"}}), "");
}

}  // namespace
}  // namespace tony
