#include <gtest/gtest.h>

#include "runtime/job/failure_rules.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

constexpr const char* kClasses = "user_error, user_config, oom, node_lost, preempted, infra, hung or timeout";

std::vector<FailureRule> FailureRulesWith(const Settings& settings) {
  const auto parsed = ParseWith(settings);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() ? parsed->spec.failure_rules : std::vector<FailureRule>();
}

TEST(FailureRulesParserTest, AJobHasNoneOfItsOwn) { EXPECT_TRUE(FailureRulesWith({}).empty()); }

TEST(FailureRulesParserTest, PatternsThenExitCodesThenSignals) {
  const auto rules =
      FailureRulesWith({{"tony.failure.signal.SIGUSR1", "preempted, transient, the site's notice, one minute before"},
                        {"tony.failure.exit.3", "user_config"},
                        {"tony.failure.exit.17", " INFRA , the license server is down"},
                        {"tony.failure.pattern.ecc.gpu", "(ECC|Xid.*: 48) => infra, a broken GPU"},
                        {"tony.failure.pattern.arrow", "a => b => oom, permanent"}});
  const std::vector<FailureRule> expected = {
      {.name = "pattern.arrow",
       .pattern = "a => b",
       .cls = OutcomeClass::kOom,
       .advice = Advice::kPermanent,
       .meaning = "as tony.failure.pattern.arrow says"},
      {.name = "pattern.ecc.gpu", .pattern = "(ECC|Xid.*: 48)", .cls = OutcomeClass::kInfra, .meaning = "a broken GPU"},
      {.name = "exit.17", .exit_code = 17, .cls = OutcomeClass::kInfra, .meaning = "the license server is down"},
      {.name = "exit.3", .exit_code = 3, .cls = OutcomeClass::kUserConfig, .meaning = "as tony.failure.exit.3 says"},
      {.name = "signal.SIGUSR1",
       .signal = 10,
       .cls = OutcomeClass::kPreempted,
       .advice = Advice::kTransient,
       .meaning = "the site's notice, one minute before"}};
  EXPECT_EQ(rules, expected);
}

TEST(FailureRulesParserTest, SignalsHaveNumbersAndNames) {
  for (const char* name : {"9", "KILL", "SIGKILL"}) {
    EXPECT_EQ(FailureRulesWith({{std::string("tony.failure.signal.") + name, "infra"}}).at(0).signal, 9) << name;
  }
}

TEST(FailureRulesParserTest, KeysAreKnownAndRolesKeepTheirNames) {
  EXPECT_EQ(WarningsWith({{"tony.failure.exit.3", "infra"}, {"tony.failure.pattern.x", "a => oom"}}), "");
  EXPECT_EQ(WarningsWith({{"tony.failure.exot.3", "infra"}}),
            "tony.failure.exot.3 (from -conf): unknown key, ignored; did you mean tony.failure.exit.3?\n");
}

TEST(FailureRulesParserTest, WhatIsWrongIsNamedWithKeyValueAndOrigin) {
  const std::string classes = std::string("expected one of the classes ") + kClasses;
  EXPECT_EQ(ErrorWith({{"tony.failure.exit.3", "broken"}}), "tony.failure.exit.3: \"broken\" (from -conf): " + classes);
  for (const char* value : {"success", "killed", "", ", transient"}) {
    EXPECT_TRUE(ErrorWith({{"tony.failure.exit.3", value}}).ends_with(classes)) << value;
  }
  EXPECT_EQ(ErrorWith({{"tony.failure.exit.0", "infra"}}),
            "tony.failure.exit.0: \"infra\" (from -conf): expected an exit code from 1 to 255 in the key, not \"0\"");
  for (const char* code : {"256", "-1", "x", "1.5", "99999999999999999999"}) {
    EXPECT_NE(ErrorWith({{std::string("tony.failure.exit.") + code, "infra"}}).find("expected an exit code"),
              std::string::npos)
        << code;
  }
  EXPECT_EQ(
      ErrorWith({{"tony.failure.signal.SIGFOO", "infra"}}),
      "tony.failure.signal.SIGFOO: \"infra\" (from -conf): expected a signal such as 9 or SIGKILL in the key, not "
      "\"SIGFOO\"");
  EXPECT_EQ(ErrorWith({{"tony.failure.pattern.x", "oom"}}),
            "tony.failure.pattern.x: \"oom\" (from -conf): expected REGEX => CLASS[, transient|permanent][, MEANING]");
  EXPECT_EQ(ErrorWith({{"tony.failure.pattern.x", "(a => oom"}}),
            "tony.failure.pattern.x: \"(a => oom\" (from -conf): expected a POSIX extended regular expression before "
            "=>: unmatched ( or \\(");
  EXPECT_EQ(ErrorWith({{"tony.failure.pattern.x", "=> oom"}}),
            "tony.failure.pattern.x: \"=> oom\" (from -conf): expected a POSIX extended regular expression before "
            "=>: it is empty");
  EXPECT_TRUE(ErrorWith({{"tony.failure.pattern.x", "a => bad"}}).ends_with(classes));
  EXPECT_EQ(ErrorWith({{"tony.failure.exit.3", "infra, transiet"}}),
            "tony.failure.exit.3: \"infra, transiet\" (from -conf): expected transient, permanent or a meaning of "
            "several words, not \"transiet\"");
  EXPECT_TRUE(ErrorWith({{"tony.failure.exit.3", "oom, a " + std::string(200, 'x')}})
                  .ends_with("expected a meaning of at most 200 bytes"));
  EXPECT_TRUE(ErrorWith({{"tony.failure.exit.3", "oom, a b\nc"}}).ends_with("expected a meaning of one line"));
}

TEST(FailureRulesParserTest, ThereIsAMostOfThem) {
  Settings settings;
  for (int code = 1; code <= 65; ++code) settings.emplace_back("tony.failure.exit." + std::to_string(code), "infra");
  EXPECT_EQ(ErrorWith(settings), "tony.failure.*: 65 rules; expected at most 64");
}

TEST(FailureRulesParserTest, TheSpecsJsonKeepsThem) {
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

TEST(FailureRulesParserTest, ASpecWithABrokenRuleIsRefused) {
  std::string json = ToJson(ParseWith({{"tony.failure.exit.3", "oom"}})->spec);
  const size_t at = json.rfind("\"oom\"");
  ASSERT_NE(at, std::string::npos);
  const auto read = JobSpecFromJson(json.replace(at, 5, "\"bad\""));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "job spec: field failure_rules[0].class: expected an outcome class");
}

}  // namespace
}  // namespace tony
