// The table of a sweep.
#include "runtime/job/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using testing::ElementsAre;

TaskStatus Trial(int index, const std::string& outputs) {
  return {.id = {"trial", index},
          .state = "done",
          .attempt = 1,
          .attempt_state = outputs.empty() ? "failed" : "succeeded",
          .outcome =
              Outcome{.cls = outputs.empty() ? OutcomeClass::kUserError : OutcomeClass::kSuccess, .outputs = outputs}};
}

std::vector<int> Order(const Sweep& sweep, const JobStatus& status) {
  std::vector<int> order;
  for (const TrialRow& row : TrialsOf(sweep, status)) order.push_back(row.task.index);
  return order;
}

TEST(SweepTest, TheBestTrialIsFirstAndTrialsWithoutAValueAreLast) {
  Sweep sweep{.trials = {R"({"x":0})", R"({"x":1})", R"({"x":2})", R"({"x":3})"}, .metric = "loss"};
  JobStatus status;
  status.tasks = {Trial(0, R"({"loss":0.5})"), Trial(1, ""), Trial(2, R"({"loss":"NaN"})"),
                  Trial(3, R"({"loss":-1e-3})")};
  EXPECT_THAT(Order(sweep, status), ElementsAre(3, 0, 1, 2));
  sweep.maximize = true;
  EXPECT_THAT(Order(sweep, status), ElementsAre(0, 3, 1, 2));
  sweep.metric.clear();
  EXPECT_THAT(Order(sweep, status), ElementsAre(0, 1, 2, 3));
}

TEST(SweepTest, TheDocumentHasTheParametersAndTheOutputsOfEachTrial) {
  const Sweep sweep{.trials = {R"({"x":0})", R"({"x":1})"}, .metric = "loss"};
  JobStatus status;
  status.tasks = {Trial(0, ""), Trial(1, R"({"loss":2})")};
  EXPECT_EQ(SweepJson(sweep, 2, TrialsOf(sweep, status)),
            R"({"metric":"loss","goal":"min","parallel":2,"trials":[)"
            R"({"task":"trial:1","parameters":{"x":1},"state":"succeeded","outputs":{"loss":2}},)"
            R"({"task":"trial:0","parameters":{"x":0},"state":"failed"}],"best":"trial:1"})");
}

}  // namespace
}  // namespace tony
