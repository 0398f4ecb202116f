// The trials of a sweep, and the command that gets their parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/spec/parser_parts.h"
#include "tests/unit/spec/spec_table.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Trials(const Settings& settings) {
  const auto parsed = ParseWith(settings);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() && parsed->spec.sweep ? parsed->spec.sweep->trials : std::vector<std::string>();
}

TEST(SweepParserTest, AGridHasEachCombinationAndTheLastParameterChangesFirst) {
  EXPECT_THAT(Trials({{"tony.sweep.parameters", R"({"lr":[0.10,1e-5],"on":[true,false],"tag":"a \"b\""})"}}),
              ElementsAre(R"({"lr":0.10,"on":true,"tag":"a \"b\""})", R"({"lr":0.10,"on":false,"tag":"a \"b\""})",
                          R"({"lr":1e-5,"on":true,"tag":"a \"b\""})", R"({"lr":1e-5,"on":false,"tag":"a \"b\""})"));
}

TEST(SweepParserTest, ASweepIsAJobOfIndependentTasksOfWhichAllExceptOneMayFail) {
  const auto parsed = ParseWith({{"tony.sweep.parameters", R"({"x":[1,2,3]})"}, {"tony.sweep.metric", "acc:max"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.mode, DistributedMode::kFcfs);
  EXPECT_EQ(parsed->spec.framework, FrameworkKind::kStandalone);
  const RoleSpec& trial = *parsed->spec.FindRole("trial");
  EXPECT_EQ(trial.instances, 3);
  EXPECT_EQ(trial.max_parallel, kAutoParallel);
  EXPECT_EQ(trial.min_failed, 3);
  EXPECT_EQ(parsed->spec.sweep->metric, "acc");
  EXPECT_TRUE(parsed->spec.sweep->maximize);
  const auto strict = ParseWith({{"tony.sweep.trials", R"([{"x":1},{"x":2}])"}, {"tony.sweep.tolerate", "0"}});
  EXPECT_EQ(strict->spec.FindRole("trial")->min_failed, 1);
}

TEST(SweepParserTest, ASeedGivesTheSameTrials) {
  const Settings settings = {{"tony.sweep.parameters", R"({"lr":"log:1e-5..1e-1","n":"1..8","o":["a","b"]})"},
                             {"tony.sweep.random", "3"},
                             {"tony.sweep.seed", "7"}};
  EXPECT_THAT(Trials(settings), ElementsAre(R"({"lr":0.000362509,"n":1,"o":"b"})", R"({"lr":0.00214645,"n":4,"o":"a"})",
                                            R"({"lr":0.00074441,"n":3,"o":"a"})"));
}

TEST(SweepParserTest, TheCellsOfACsvFileMayBeQuoted) {
  const auto file = std::filesystem::path(testing::TempDir()) / "sweep-trials.csv";
  std::ofstream(file) << "lr,tag\r\n0.1,\"a,\"\"b\"\"\"\r\n\r\n007,\n";
  EXPECT_THAT(Trials({{"tony.sweep.file", file.string()}}),
              ElementsAre(R"({"lr":0.1,"tag":"a,\"b\""})", R"({"lr":"007","tag":""})"));
}

TEST(SweepParserTest, AnErrorNamesTheParameterAndWhatWasExpected) {
  const std::pair<Settings, std::string> wrong[] = {
      {{{"tony.sweep.parameters", R"({"learning-rate":[1]})"}}, "expected letters, digits and _"},
      {{{"tony.sweep.parameters", R"({"PATH":[1]})"}}, "\"PATH\": this variable has another meaning"},
      {{{"tony.sweep.parameters", R"({"TONY_X":[1]})"}}, "the variables TONY_* have another meaning"},
      {{{"tony.sweep.parameters", R"({"x":[]})"}}, "x: the list of values is empty"},
      {{{"tony.sweep.parameters", R"({"x":[null]})"}}, "x: expected a text, a number, true or false, not null"},
      {{{"tony.sweep.parameters", "{}"}}, "no parameter is given"},
      {{{"tony.sweep.parameters", R"({"x":"1..5"})"}}, "a range needs tony.sweep.random"},
      {{{"tony.sweep.parameters", R"({"x":"log:0..5"})"}, {"tony.sweep.random", "2"}}, "above 0 with log:"},
      {{{"tony.sweep.trials", "[]"}}, "the sweep has no trial"},
      {{{"tony.sweep.trials", "[1]"}}, "trial 0: expected an object, not a number"},
      {{{"tony.sweep.trials", "[{}]"}, {"tony.sweep.file", "x.csv"}}, "set only one of this key and tony.sweep.trials"},
      {{{"tony.sweep.metric", "loss"}}, "the job is not a sweep"},
  };
  for (const auto& [settings, message] : wrong) {
    const auto parsed = ParseWith(settings);
    ASSERT_FALSE(parsed.ok()) << message;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(parsed.error().message, HasSubstr(message));
  }
}

TEST(SweepParserTest, ACommandRefersToTheVariableOfAParameterInEachKindOfQuotes) {
  const Sweep sweep{.trials = {R"({"lr":1,"x":"a b"})"}};
  const std::pair<std::string, std::string> commands[] = {
      {"train --lr {lr}", R"(train --lr "${lr}")"},
      {"train '--x={x}'", R"(train '--x='"${x}"'')"},
      {R"(train "--x={x}")", R"(train "--x=${x}")"},
      {"echo {other} {a,b} ${lr} {}", "echo {other} {a,b} ${lr} {}"},
      {R"(echo \"{x}\' '{lr}')", R"(echo \""${x}"\' ''"${lr}"'')"},
  };
  for (const auto& [given, expected] : commands) EXPECT_EQ(WithParameters(given, sweep), expected);
}

}  // namespace
}  // namespace tony
