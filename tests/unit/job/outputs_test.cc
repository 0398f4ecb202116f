#include "runtime/job/outputs.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony {
namespace {

OutputMember Of(const std::string& name, size_t size) {
  return {name, std::string(), StrCat("\"", name, "\":\"", std::string(size, 'x'), "\"")};
}

TEST(OutputsTest, TheLargestOutputsAreOmittedUntilTheRemainingOutputsFitTheSizeLimit) {
  Outputs outputs{.members = {Of("a", 10), Of("large", 500), Of("b", 20), Of("largest", 900)},
                  .problems = {{"largest", "NaN", /*left_out=*/false}}};
  TrimOutputs(outputs, 100);
  ASSERT_EQ(outputs.members.size(), 2u);
  EXPECT_EQ(outputs.members[0].name, "a");
  EXPECT_EQ(outputs.members[1].name, "b");
  EXPECT_EQ(outputs.problems,
            (std::vector<OutputProblem>{
                {"large", "the member takes 510 bytes, and all members together may take at most 100"},
                {"largest", "the member takes 912 bytes, and all members together may take at most 100"}}));
}

TEST(OutputsTest, OutputsAreTakenFromTheOnlyTrackedTaskIfThereIsNoChief) {
  const auto leaves = [](const std::vector<RoleSpec>& roles, const TaskId& task) {
    return IsOutputTask(JobSpec{.roles = roles}, task);
  };
  const RoleSpec driver{.name = "driver"}, board{.name = "board", .completion = Completion::kSidecar};
  const RoleSpec workers{.name = "worker", .instances = 2}, chief{.name = "chief"};
  EXPECT_TRUE(leaves({driver}, {"driver", 0}));
  EXPECT_TRUE(leaves({board, driver}, {"driver", 0}));
  EXPECT_FALSE(leaves({board, driver}, {"board", 0}));
  EXPECT_FALSE(leaves({driver, workers}, {"driver", 0}));
  EXPECT_TRUE(leaves({driver, workers}, {"worker", 0}));
  EXPECT_FALSE(leaves({driver, workers}, {"worker", 1}));
  EXPECT_FALSE(leaves({chief, workers}, {"worker", 0}));
  EXPECT_TRUE(leaves({chief, workers}, {"chief", 0}));
  EXPECT_FALSE(leaves({RoleSpec{.name = "head", .instances = 2}}, {"head", 0})) << "one of two";
}

TEST(OutputsTest, OutputsWithinTheSizeLimitAreAllKept) {
  Outputs outputs{.members = {Of("a", 10)}};
  const size_t size = ObjectOf(outputs).size();
  TrimOutputs(outputs, size + 1);
  EXPECT_EQ(outputs.members.size(), 1u);
  EXPECT_TRUE(outputs.problems.empty());
}

TEST(OutputsTest, OutputProblemsSurviveARoundTripThroughJson) {
  const std::vector<OutputProblem> problems = {{"a\n", "why"}, {"", "all"}, {"b", "NaN", false}};
  const std::string json = ToJson(problems);
  EXPECT_EQ(json, R"([{"name":"a\n","why":"why","left_out":true},{"why":"all","left_out":true},)"
                  R"({"name":"b","why":"NaN","left_out":false}])");
  const auto read = OutputProblemsFromJson(StrCat(R"({"problems":)", json, "}"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, problems);
  for (const char* bad : {"", "{}", "[]", R"({"problems":[{}]})", R"({"problems":[{"why":1,"left_out":true}]})"})
    EXPECT_FALSE(OutputProblemsFromJson(bad).ok()) << bad;
}

}  // namespace
}  // namespace tony
