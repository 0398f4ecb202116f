#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "runtime/cli/explain_exit.h"
#include "tests/support/places.h"

namespace tony {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> NamesAbout(std::string_view word, const std::vector<FailureRule>& extra = {}) {
  std::vector<std::string> names;
  const auto asked = ParseAskedExit(word);
  if (!asked.ok()) return {asked.error().message};
  for (const auto& rule : RulesAbout(*asked, extra)) names.push_back(rule.name);
  return names;
}

std::string Described(std::string_view word) { return DescribeAsked(*ParseAskedExit(word)); }

TEST(ExitMeaningTest, AnExitArgumentMayBeAnExitCodeASignalNameOrASchedulerStatus) {
  EXPECT_EQ(Described("3"), "exit code 3");
  EXPECT_EQ(Described("137"), "exit code 137 (as shells report SIGKILL)");
  EXPECT_EQ(Described("SIGTERM"), "signal 15 (SIGTERM)");
  EXPECT_EQ(Described("segv"), "signal 11 (SIGSEGV)");
  EXPECT_EQ(Described("-100"), "scheduler status -100");
}

TEST(ExitMeaningTest, OnlyFailureRulesThatMayMatchTheExitAreListed) {
  EXPECT_THAT(NamesAbout("0"), ElementsAre());
  EXPECT_THAT(NamesAbout("1"), ElementsAre("failed"));
  EXPECT_THAT(NamesAbout("193"), ElementsAre("said-transient"));
  EXPECT_THAT(NamesAbout("137"), ElementsAre("oom-killed", "killed-oom-near", "killed-no-oom", "killed"));
  EXPECT_EQ(NamesAbout("SIGKILL"), NamesAbout("137"));
  EXPECT_THAT(NamesAbout("9"), ElementsAre("failed")) << "an exit code, not a signal";
  EXPECT_THAT(NamesAbout("-102"), ElementsAre("yarn-preempted"));
  EXPECT_THAT(NamesAbout("-42"), ElementsAre("failed"));
  EXPECT_THAT(NamesAbout("154"), ElementsAre("yarn-node-manager-lost-it", "failed"));
}

TEST(ExitMeaningTest, AJobsRuleForAnExitCodeHidesTheBuiltInRulesForThatCode) {
  const std::vector<FailureRule> extra = {{.name = "pattern.x", .pattern = "x"},
                                          {.name = "exit.137", .exit_code = 137, .cls = OutcomeClass::kInfra}};
  EXPECT_THAT(NamesAbout("137", extra), ElementsAre("exit.137"));
  EXPECT_THAT(NamesAbout("SIGKILL", extra), testing::SizeIs(4));
}

TEST(ExitMeaningTest, StderrCanDecideTheCauseOnlyForAnAmbiguousExit) {
  const auto may_decide = [](std::string_view word) { return StderrMayDecide(RulesAbout(*ParseAskedExit(word), {})); };
  for (const char* word : {"1", "137", "127", "SIGABRT"}) EXPECT_TRUE(may_decide(word)) << word;
  for (const char* word : {"0", "193", "194", "-100"}) EXPECT_FALSE(may_decide(word)) << word;
}

TEST(ExitMeaningTest, AnArgumentThatIsNotAnExitCodeOrASignalIsRefused) {
  for (const char* word : {"", "256", "-1001", "SIGFOO", "1.5", "99999999999999999999", "9 ", "worker:0"}) {
    const auto asked = ParseAskedExit(word);
    ASSERT_FALSE(asked.ok()) << word;
    EXPECT_EQ(asked.error().code, ErrorCode::kUsage);
    EXPECT_THAT(asked.error().message, HasSubstr("expected an exit code from 0 to 255"));
  }
}

TEST(ExitMeaningTest, TheExplanationOfAnExitShowsTheClassTheRestartPolicyAndTheRemedy) {
  const std::string text = ExplainText(RulesAbout({.exit_code = 124}, {}));
  EXPECT_EQ(text,
            "\nthe command timeout(1) ended the task at its limit\n"
            "  when     exit code 124\n"
            "  class    timeout\n"
            "  restart  if the program has restarts left (tony.restart.<scope>.budget; by default it has none)\n"
            "  remedy   raise the limit in the role's command\n"
            "  rule     timeout-command\n");
  EXPECT_THAT(ExplainText(RulesAbout({.exit_code = 127}, {})),
              AllOf(HasSubstr("command-not-found\n"), HasSubstr("not-found\n")));
  EXPECT_THAT(ExplainText(RulesAbout({.signal = 15}, {})), HasSubstr("restart  yes, the first time"));
  EXPECT_THAT(ExplainText(RulesAbout({.scheduler_status = -102}, {})), HasSubstr("restart  yes, and the restart is not"));
  EXPECT_EQ(ExplainText({}), "success\n");
}

TEST(ExitMeaningTest, TheRuleTableHasALineForEveryBuiltInRule) {
  const std::vector<FailureRule> all(BuiltInRules().begin(), BuiltInRules().end());
  const std::string table = RuleTable(all);
  EXPECT_EQ(std::ranges::count(table, '\n'), static_cast<long>(all.size()) + 1);
  for (const auto& rule : all) EXPECT_THAT(table, HasSubstr("\n" + rule.name + "  "));
}

TEST(ExitMeaningTest, FailuresMdContainsThePrintedTableOfBuiltInRules) {
  std::stringstream manual;
  manual << std::ifstream(SourceFolder() + "/runtime/job/FAILURES.md").rdbuf();
  EXPECT_THAT(manual.str(), HasSubstr(RuleTable({BuiltInRules().begin(), BuiltInRules().end()})));
}

TEST(ExitMeaningTest, TheJsonExplanationOfAnExitHasTheFieldsClassAdviceRestartAndRetryable) {
  const auto value = boost::json::parse(ExplainJson(RulesAbout({.exit_code = 193}, {})));
  ASSERT_EQ(value.as_array().size(), 1u);
  const auto& rule = value.at(0).as_object();
  EXPECT_EQ(rule.at("exit_code"), 193);
  EXPECT_EQ(rule.at("class"), "user_error");
  EXPECT_EQ(rule.at("advice"), "transient");
  EXPECT_EQ(rule.at("restart"), "free");
  EXPECT_EQ(rule.at("retryable"), true);
  EXPECT_EQ(boost::json::parse(ExplainJson(RulesAbout({.exit_code = 194}, {}))).at(0).at("retryable"), false)
      << "the advice goes before the class";
}

}  // namespace
}  // namespace tony
