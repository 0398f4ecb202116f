#include <gtest/gtest.h>

#include <fstream>

#include "runtime/os/cgroup.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class OwnCgroupTest : public ::testing::Test {
 protected:
  std::filesystem::path In(const std::string& name) const { return temp_.path() / name; }
  void SayOwn(const std::string& text) const {
    std::filesystem::create_directories(In("proc/self"));
    std::ofstream(In("proc/self/cgroup")) << text;
  }
  void Make(const std::string& folder) const { std::filesystem::create_directories(In("sys/fs/cgroup/" + folder)); }

  TempFolder temp_;
};

TEST_F(OwnCgroupTest, TheCgroupV2OfThisProcessIsFoundBelowTheCgroupMount) {
  SayOwn("0::/user.slice/x\n");
  Make("user.slice/x");
  const auto own = OwnMemoryCgroup(temp_.path());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->version, CgroupVersion::kTwo);
  EXPECT_EQ(own->mount, In("sys/fs/cgroup"));
  EXPECT_EQ(own->folder, In("sys/fs/cgroup/user.slice/x"));
}

TEST_F(OwnCgroupTest, TheCgroupOfThisProcessIsAV1CgroupIfTheMemoryControllerIsV1) {
  SayOwn("9:cpu,cpuacct:/\n4:memory:/a/b\n0::/\n");
  Make("memory/a/b");
  const auto own = OwnMemoryCgroup(temp_.path());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->version, CgroupVersion::kOne);
  EXPECT_EQ(own->folder, In("sys/fs/cgroup/memory/a/b"));
}

TEST_F(OwnCgroupTest, TheCgroupV2OfThisProcessIsFoundUnderUnifiedOnAHybridSystem) {
  SayOwn("9:cpu:/\n0::/x\n");
  Make("unified/x");
  EXPECT_EQ(OwnMemoryCgroup(temp_.path())->folder, In("sys/fs/cgroup/unified/x"));
}

TEST_F(OwnCgroupTest, TheCgroupOfThisProcessInAContainerIsTheRootOfTheCgroupMount) {
  Make("memory");
  for (const char* path : {"4:memory:/docker/7\n", "4:memory:/\n", "4:memory:/../../x\n"}) {
    SayOwn(path);
    EXPECT_EQ(OwnMemoryCgroup(temp_.path())->folder, In("sys/fs/cgroup/memory")) << path;
  }
}

TEST_F(OwnCgroupTest, NoCgroupOfThisProcessIsFoundOnASystemWithoutCgroups) {
  EXPECT_FALSE(OwnMemoryCgroup(temp_.path()));
  SayOwn("garbage\n:\n");
  Make("x");
  EXPECT_FALSE(OwnMemoryCgroup(temp_.path()));
}

}  // namespace
}  // namespace tony
