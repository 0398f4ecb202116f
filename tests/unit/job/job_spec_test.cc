#include "runtime/job/job_spec.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

RoleSpec Role(const std::string& name, int instances, Completion completion = Completion::kTracked) {
  return {name, instances, {}, "true", completion};
}

TEST(JobSpecTest, TrackedTasksExcludeUntrackedRolesAndSidecars) {
  JobSpec spec;
  spec.roles = {Role("ps", 2, Completion::kUntracked), Role("tensorboard", 1, Completion::kSidecar), Role("worker", 3)};
  EXPECT_EQ(spec.TotalTasks(), 6);
  EXPECT_EQ(spec.TrackedTasks(), 3);
  EXPECT_EQ(spec.FindRole("ps")->instances, 2);
  EXPECT_EQ(spec.FindRole("chief"), nullptr);
}

TEST(JobSpecTest, TheFirstWorkerIsChiefUnlessThereIsARoleChief) {
  JobSpec spec;
  spec.roles = {Role("worker", 2)};
  EXPECT_TRUE(spec.IsChief({"worker", 0}));
  EXPECT_FALSE(spec.IsChief({"worker", 1}));
  spec.roles = {Role("chief", 2), Role("worker", 2)};
  EXPECT_TRUE(spec.IsChief({"chief", 0}));
  EXPECT_FALSE(spec.IsChief({"chief", 1}));
  EXPECT_FALSE(spec.IsChief({"worker", 0}));
  spec.roles = {Role("driver", 1)};
  EXPECT_FALSE(spec.IsChief({"driver", 0}));
  EXPECT_FALSE(spec.IsChief({"worker", 0}));
}

TEST(JobSpecTest, FrameworkAndCompletionKindsAreParsedBackFromTheirNames) {
  for (const auto* name : {"standalone", "tensorflow", "pytorch", "jax", "staged"}) {
    ASSERT_TRUE(FromName<FrameworkKind>(name)) << name;
    EXPECT_EQ(ToString(*FromName<FrameworkKind>(name)), name);
  }
  for (const auto* name : {"tracked", "untracked", "sidecar"}) {
    ASSERT_TRUE(FromName<Completion>(name)) << name;
    EXPECT_EQ(ToString(*FromName<Completion>(name)), name);
  }
  EXPECT_EQ(FromName<FrameworkKind>("spark"), std::nullopt);
  EXPECT_EQ(FromName<Completion>(""), std::nullopt);
}

}  // namespace
}  // namespace tony
