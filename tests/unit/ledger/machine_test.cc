#include "runtime/ledger/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MachineTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void HasMemory() { Write("proc/meminfo", "MemTotal:       8388608 kB\nMemFree:         100 kB\n"); }
  Machine Detected() { return DetectMachine(root_.path()); }

  TempFolder root_;
};

TEST_F(MachineTest, HasTheMemoryThatTheKernelTells) {
  HasMemory();
  EXPECT_EQ(Detected().memory_mb, 8192);
  EXPECT_GE(Detected().cores, 1);
}

TEST_F(MachineTest, OfCgroupsV2TheLeastLimitOnTheWayUpCounts) {
  HasMemory();
  Write("proc/self/cgroup", "0::/user.slice/job\n");
  Write("sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
  Write("sys/fs/cgroup/user.slice/job/memory.max", "max\n");
  EXPECT_EQ(Detected().memory_mb, 1024);
}

TEST_F(MachineTest, OfCgroupsV1TheMemoryHierarchyCounts) {
  HasMemory();
  Write("proc/self/cgroup", "9:name=systemd:/\n5:cpu,memory:/docker/abc\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Detected().memory_mb, 8192);
  Write("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(Detected().memory_mb, 2048);
}

TEST_F(MachineTest, InAContainerWhosePathIsTheHostsTheMountedTopCounts) {
  HasMemory();
  Write("proc/self/cgroup", "0::/../../docker/abc\n");
  Write("sys/fs/cgroup/memory.max", "536870912\n");
  EXPECT_EQ(Detected().memory_mb, 512);
}

TEST_F(MachineTest, GpusAreNumberedAsCudaDoes) {
  for (const char* name : {"nvidia3", "nvidia5", "nvidiactl", "nvidia-uvm", "nvidia-caps", "null"})
    Write(std::string("dev/") + name, "");
  EXPECT_THAT(Detected().gpus, ElementsAre(0, 1));
}

TEST_F(MachineTest, WithoutProcItHasNothing) {
  EXPECT_EQ(Detected().memory_mb, 0);
  EXPECT_THAT(Detected().gpus, IsEmpty());
}

TEST_F(MachineTest, ThisOneHasMemory) { EXPECT_GT(DetectMachine().memory_mb, 100); }

Machine FromJson(std::string_view json, const Machine& detected = {}) {
  const auto stated = MachineFromJson(json, detected);
  EXPECT_TRUE(stated.ok()) << stated.error().message;
  return stated.ok() ? stated->machine : Machine();
}

TEST(MachineJsonTest, WhatTheOwnerDoesNotSayIsAsDetected) {
  const Machine detected = {.memory_mb = 100, .cores = 2, .gpus = {0, 1}};
  EXPECT_EQ(FromJson("{}", detected), detected);
  EXPECT_EQ(FromJson(R"({"memory_mb":50})", detected), (Machine{50, 2, {0, 1}}));
  EXPECT_EQ(FromJson(R"({"gpus":[3,1,3],"rack":7})", detected), (Machine{100, 2, {1, 3}}));
  EXPECT_EQ(FromJson(R"({"gpus":[]})", detected), (Machine{100, 2, {}}));
}

TEST(MachineJsonTest, LimitsAreThoseOfAllUsersAndOfSomeByNameOrNumber) {
  const Machine machine = FromJson(
      R"({"user_limits":{"memory_mb":8,"gpus":0,"run_minutes":60},"users":{"root":{"memory_mb":9},"12345":{}}})");
  EXPECT_EQ(machine.user_limits, (UserLimits{.memory_mb = 8, .gpus = 0, .run_minutes = 60}));
  EXPECT_EQ(machine.LimitsOf(0), (UserLimits{.memory_mb = 9, .gpus = 0, .run_minutes = 60}));
  EXPECT_EQ(machine.LimitsOf(12345), machine.user_limits);
}

TEST(MachineJsonTest, WhatHasNoEffectIsNamed) {
  const auto stated = MachineFromJson(R"({"user_limit":{},"users":{"nobody-of-this-name":{"gpus":1}}})", {});
  ASSERT_TRUE(stated.ok());
  EXPECT_THAT(stated->warnings, ElementsAre(HasSubstr("user_limit,"), HasSubstr("nobody-of-this-name,")));
}

TEST(MachineJsonTest, LimitsAreReadStrictly) {
  for (const char* json : {R"({"user_limits":7})", R"({"user_limits":{"memory":1}})",
                           R"({"user_limits":{"memory_mb":-1}})", R"({"user_limits":{"run_minutes":0}})"})
    EXPECT_THAT(MachineFromJson(json, {}).error().message, HasSubstr("field user_limits")) << json;
  for (const char* json : {R"({"users":[]})", R"({"users":{"root":3}})", R"({"users":{"root":{"gpu":3}}})"})
    EXPECT_THAT(MachineFromJson(json, {}).error().message, HasSubstr("field users")) << json;
}

TEST(MachineJsonTest, NonsenseIsRefusedByTheNameOfItsField) {
  for (const char* json :
       {R"({"memory_mb":0})", R"({"memory_mb":-1})", R"({"memory_mb":"2g"})", R"({"memory_mb":1e99})"})
    EXPECT_THAT(MachineFromJson(json, {}).error().message, HasSubstr("memory_mb")) << json;
  for (const char* json : {R"({"gpus":3})", R"({"gpus":[-1]})", R"({"gpus":["a"]})", R"({"gpus":[999999]})"})
    EXPECT_THAT(MachineFromJson(json, {}).error().message, HasSubstr("gpus")) << json;
  for (const char* json : {"", "[", "null", "7", "\xff\xfe"}) EXPECT_FALSE(MachineFromJson(json, {}).ok()) << json;
}

}  // namespace
}  // namespace tony
