#include <gtest/gtest.h>

#include "azkaban-plugin/step_request.h"

namespace tony::azkaban {
namespace {

const Error kRefused = {ErrorCode::kInvalid,
                        "the job asks for 36864 MB of memory (5 tasks: ps 1 x 4096 MB, worker 4 x 8192 MB), this "
                        "machine has 7800 MB; set tony.worker.memory or tony.worker.instances"};

RoleSpec Role(const std::string& name, int instances, int gpus = 0) {
  RoleSpec role;
  role.name = name;
  role.instances = instances;
  role.resources.gpus = gpus;
  return role;
}

TEST(WhatAsksTest, EachRolesPropertiesAreNamedWithValueAndOrigin) {
  JobSpec spec;
  spec.roles = {Role("ps", 1), Role("worker", 4, 2)};
  const Configuration configuration = {
      {"tony.ps.instances", "1", "the step's properties"}, {"tony.ps.memory", "2g", "default"},
      {"tony.worker.gpus", "2", "the step's properties"},  {"tony.worker.instances", "4", "the step's properties"},
      {"tony.worker.memory", "8g", "main.args"},           {"tony.worker.vcores", "4", "the step's properties"}};
  const Error told = WithWhatAsks(kRefused, spec, configuration);
  EXPECT_EQ(told.code, ErrorCode::kInvalid);
  EXPECT_EQ(told.message, kRefused.message +
                              "; it asks by tony.ps.instances=1 (the step's properties), tony.ps.memory=2g (TonY's "
                              "default), tony.worker.instances=4 (the step's properties), tony.worker.memory=8g "
                              "(main.args), tony.worker.gpus=2 (the step's properties)");
}

TEST(WhatAsksTest, AJobWithoutRolesHasTheKeysOfItsOnlyTask) {
  JobSpec spec;
  spec.roles = {Role("driver", 1)};
  spec.roles[0].key_prefix = "tony.am";
  EXPECT_EQ(WithWhatAsks(kRefused, spec, {{"tony.am.memory", "36g", "the step's properties"}}).message,
            kRefused.message + "; it asks by tony.am.memory=36g (the step's properties)");
}

TEST(WhatAsksTest, OtherErrorsStayAsTheyAre) {
  const Error other = {ErrorCode::kUnavailable, "at most 64 open files are allowed here"};
  EXPECT_EQ(WithWhatAsks(other, {}, {}).message, other.message);
}

}  // namespace
}  // namespace tony::azkaban
