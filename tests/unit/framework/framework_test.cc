#include "runtime/framework/framework.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using enum FrameworkKind;
using enum Completion;

RoleSpec Role(const std::string& name, int instances, Completion completion = kTracked) {
  return {name, instances, {}, "true", completion};
}

JobSpec Spec(FrameworkKind framework, const std::vector<RoleSpec>& roles) {
  JobSpec spec;
  spec.framework = framework;
  spec.roles = roles;
  return spec;
}

// Each task on a port of its own: role number * 100 + index.
ClusterSpec ClusterOf(const JobSpec& spec) {
  ClusterSpec cluster{{1}, {}};
  int base = 40000;
  for (const auto& role : spec.roles) {
    for (int i = 0; i < role.instances; ++i) cluster.roles[role.name].push_back({StrCat("node-", role.name), base + i});
    base += 100;
  }
  return cluster;
}

// The environment of every task, as golden files have it.
std::string Render(const JobSpec& spec) {
  std::string out;
  for (const auto& role : spec.roles) {
    for (int i = 0; i < role.instances; ++i) {
      const TaskId task{role.name, i};
      out += StrCat("[", ToString(task), "]\n");
      for (const auto& [name, value] : FrameworkEnvironment(spec, ClusterOf(spec), task)) {
        out += StrCat(name, "=", value, "\n");
      }
    }
  }
  return out;
}

struct GoldenCase {
  std::string file;
  JobSpec spec;
};
void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.file; }

std::vector<GoldenCase> GoldenCases() {
  return {
      {"tensorflow_workers", Spec(kTensorflow, {Role("worker", 2)})},
      {"tensorflow_ps_worker", Spec(kTensorflow, {Role("ps", 1, kUntracked), Role("worker", 2)})},
      {"tensorflow_all_roles", Spec(kTensorflow, {Role("chief", 1), Role("evaluator", 1), Role("ps", 1, kUntracked),
                                                  Role("tensorboard", 1, kSidecar), Role("worker", 1)})},
      {"tensorflow_chief_without_worker", Spec(kTensorflow, {Role("chief", 1), Role("ps", 1, kUntracked)})},
      {"pytorch_workers", Spec(kPytorch, {Role("worker", 2)})},
      {"pytorch_several_roles",
       Spec(kPytorch, {Role("actor", 2), Role("chief", 2), Role("ps", 1, kUntracked), Role("worker", 1)})},
      {"pytorch_neither_chief_nor_worker", Spec(kPytorch, {Role("head", 1), Role("trainer", 2)})},
      {"jax_workers", Spec(kJax, {Role("worker", 2)})},
      {"jax_chief_and_sidecar", Spec(kJax, {Role("chief", 1), Role("tensorboard", 1, kSidecar), Role("worker", 1)})},
      {"standalone", Spec(kStandalone, {Role("driver", 1)})},
  };
}

class GoldenTest : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenTest, EveryTaskHasTheEnvironmentOfTheGoldenFile) {
  const std::string path = StrCat(TONY_SOURCE_DIR, "/tests/unit/framework/golden/", GetParam().file, ".txt");
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(Render(GetParam().spec), golden.str()) << path;
}

TEST_P(GoldenTest, EveryVariableIsReservedAndNothingIsReservedTwice) {
  const JobSpec& spec = GetParam().spec;
  const auto reserved = ReservedVariables(spec);
  EXPECT_TRUE(std::ranges::is_sorted(reserved));
  EXPECT_EQ(std::ranges::adjacent_find(reserved), reserved.end());
  for (const auto& role : spec.roles) {
    for (const auto& [name, value] : FrameworkEnvironment(spec, ClusterOf(spec), {role.name, 0})) {
      EXPECT_TRUE(std::ranges::binary_search(reserved, name)) << name;
    }
  }
}

TEST_P(GoldenTest, TheFrameworkAcceptsTheSpec) { EXPECT_TRUE(CheckFramework(GetParam().spec).ok()); }

INSTANTIATE_TEST_SUITE_P(Frameworks, GoldenTest, ::testing::ValuesIn(GoldenCases()),
                         [](const auto& golden) { return golden.param.file; });

TEST(FrameworkTest, StandaloneRunsExactlyOneTask) {
  const auto two = CheckFramework(Spec(kStandalone, {Role("driver", 1), Role("worker", 2)}));
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(two.error().message, "framework standalone runs exactly one task, but the job has 3 (1 driver, 2 worker)");
}

TEST(FrameworkTest, UserVariablesThatClobberOursAreRefusedByName) {
  const auto message = [](FrameworkKind framework, const std::string& name, bool container) {
    JobSpec spec = Spec(framework, {Role("worker", 1)});
    (container ? spec.container_env : spec.execution_env)[name] = "x";
    const auto status = CheckEnvironment(spec);
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  constexpr std::string_view kWhy = " is a variable that TonY itself sets in every task; choose another name";
  EXPECT_EQ(message(kPytorch, "RANK", false), StrCat("tony.execution.envs (-shell_env): RANK", kWhy));
  EXPECT_EQ(message(kTensorflow, "TF_CONFIG", true), StrCat("tony.containers.envs (-container_env): TF_CONFIG", kWhy));
  EXPECT_EQ(message(kStandalone, "JOB_NAME", false), StrCat("tony.execution.envs (-shell_env): JOB_NAME", kWhy));
  EXPECT_EQ(message(kJax, "TONY_JOB_ID", false), StrCat("tony.execution.envs (-shell_env): TONY_JOB_ID", kWhy));
  EXPECT_EQ(message(kTensorflow, "RANK", false), "accepted");
  EXPECT_EQ(message(kPytorch, "TF_CONFIG", false), "accepted");
  EXPECT_EQ(message(kPytorch, "OMP_NUM_THREADS", false), "accepted");
}

TEST(GlobalRankTest, TheChiefIsFirstAndOthersFollowInTheOrderOfTheSpec) {
  const JobSpec spec =
      Spec(kPytorch, {Role("actor", 2), Role("chief", 2), Role("ps", 2, kUntracked), Role("worker", 2)});
  const std::vector<TaskId> order = {{"chief", 0}, {"actor", 0},  {"actor", 1},
                                     {"chief", 1}, {"worker", 0}, {"worker", 1}};
  for (size_t rank = 0; rank < order.size(); ++rank) {
    EXPECT_EQ(GlobalRank(spec, order[rank]), static_cast<int>(rank)) << ToString(order[rank]);
  }
  EXPECT_EQ(GlobalRank(spec, {"ps", 0}), -1);
  EXPECT_EQ(GlobalRank(spec, {"nobody", 0}), -1);
}

TEST(GlobalRankTest, AnUntrackedChiefHasNoRank) {
  const JobSpec spec = Spec(kPytorch, {Role("chief", 1, kUntracked), Role("worker", 2)});
  EXPECT_EQ(GlobalRank(spec, {"chief", 0}), -1);
  EXPECT_EQ(GlobalRank(spec, {"worker", 0}), 0);
  EXPECT_EQ(GlobalRank(spec, {"worker", 1}), 1);
}

TEST(GlobalRankTest, RanksOfAnySpecAreZeroToWorldWithoutGaps) {
  for (const auto& golden : GoldenCases()) {
    std::vector<int> ranks;
    for (const auto& role : golden.spec.roles) {
      for (int i = 0; i < role.instances; ++i) {
        const int rank = GlobalRank(golden.spec, {role.name, i});
        EXPECT_EQ(rank < 0, role.completion != kTracked);
        if (rank >= 0) ranks.push_back(rank);
      }
    }
    std::ranges::sort(ranks);
    ASSERT_EQ(ranks.size(), static_cast<size_t>(golden.spec.TrackedTasks()));
    for (size_t i = 0; i < ranks.size(); ++i) EXPECT_EQ(ranks[i], static_cast<int>(i)) << golden.file;
  }
}

}  // namespace
}  // namespace tony
