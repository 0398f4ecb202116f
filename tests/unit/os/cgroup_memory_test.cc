// The tests use folders laid out like cgroups of both versions.
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/os/cgroup.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class CgroupMemoryTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const { std::ofstream(temp_.path() / name) << text; }
  std::string Described(CgroupVersion version, int64_t kills = 1) const {
    return DescribeOom(MemoryOf(version, temp_.path()), "the container's", kills);
  }
  TempFolder temp_;
};

TEST_F(CgroupMemoryTest, ACgroupWithoutTheMemoryControllerHasNoOomKillCount) {
  Write("cgroup.procs", "");
  EXPECT_FALSE(MemoryCgroupVersion(temp_.path()));
  EXPECT_FALSE(OomKillsIn(CgroupVersion::kTwo, temp_.path()));
  EXPECT_FALSE(OomKillsIn(CgroupVersion::kOne, temp_.path()));
}

TEST_F(CgroupMemoryTest, TheCgroupVersionIsDetectedByTheMemoryFiles) {
  Write("memory.limit_in_bytes", "1\n");
  EXPECT_EQ(MemoryCgroupVersion(temp_.path()), CgroupVersion::kOne);
  Write("memory.events", "");
  EXPECT_EQ(MemoryCgroupVersion(temp_.path()), CgroupVersion::kTwo);
}

TEST_F(CgroupMemoryTest, TheOomGroupKillCountIsUsedIfTheOomKillCountIsZero) {
  Write("memory.events", "low 0\noom 1\noom_kill 0\noom_group_kill 1\n");
  EXPECT_EQ(OomKillsIn(CgroupVersion::kTwo, temp_.path()), 1);
  Write("memory.events", "low 0\noom 1\noom_kill 3\noom_group_kill 1\n");
  EXPECT_EQ(OomKillsIn(CgroupVersion::kTwo, temp_.path()), 3);
}

TEST_F(CgroupMemoryTest, TheOomMessageStatesTheAmountOfSharedMemoryOnlyIfTheAmountIsLarge) {
  Write("memory.max", "67108864\n");
  Write("memory.peak", "67108864\n");
  Write("memory.stat", "anon 12\nshmem 60817408\n");
  EXPECT_EQ(Described(CgroupVersion::kTwo, 2),
            "out of memory: the container's limit of 64 MB was reached (peak 64 MB, 58 MB in /dev/shm and other shared "
            "memory), 2 processes were killed by the kernel");
  Write("memory.stat", "anon 12\nshmem 4194304\n");
  EXPECT_EQ(
      Described(CgroupVersion::kTwo),
      "out of memory: the container's limit of 64 MB was reached (peak 64 MB), 1 process was killed by the kernel");
}

TEST_F(CgroupMemoryTest, SharedMemoryOfAV1CgroupIncludesItsChildCgroups) {
  Write("memory.limit_in_bytes", "67108864\n");
  Write("memory.max_usage_in_bytes", "67108864\n");
  Write("memory.stat", "shmem 0\ntotal_shmem 60817408\n");
  EXPECT_EQ(MemoryOf(CgroupVersion::kOne, temp_.path()).shared_mb, 58);
}

}  // namespace
}  // namespace tony
