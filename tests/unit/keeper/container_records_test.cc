#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "runtime/keeper/containers.h"
#include "runtime/os/files.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

class ContainerRecordsTest : public ::testing::Test {
 protected:
  ContainerRecordsTest() { EXPECT_TRUE(MakeFolder(temp_.path() / "containers").ok()); }
  ContainerRecord Read(const std::string& id) const {
    const auto all = records_.ReadAll();
    EXPECT_TRUE(all.ok());
    const auto found = std::ranges::find(*all, ContainerId{id}, &ContainerRecord::id);
    EXPECT_NE(found, all->end());
    return found == all->end() ? ContainerRecord{} : *found;
  }

  TempFolder temp_;
  const ContainerRecords records_{LocalJobRecords(temp_.path())};
};

TEST_F(ContainerRecordsTest, ContainerIsKnownAtEachOfItsSteps) {
  ASSERT_TRUE(records_.Launching({"1-1"}, {}, "").ok());
  EXPECT_EQ(Read("1-1").pid, 0);
  EXPECT_FALSE(Read("1-1").exited);
  ASSERT_TRUE(records_.Started({"1-1"}, 4711, "12345").ok());
  EXPECT_EQ(Read("1-1").pid, 4711);
  EXPECT_EQ(Read("1-1").start_time, "12345");
  EXPECT_FALSE(Read("1-1").exited);
  const ExitStatus status{ExitStatus::Kind::kSignaled, 9};
  ASSERT_TRUE(records_.Exited({{"1-1"}, status, ""}).ok());
  ASSERT_TRUE(Read("1-1").exited);
  EXPECT_EQ(Read("1-1").exited->status, status);
  EXPECT_EQ(Read("1-1").exited->error, "");
}

TEST_F(ContainerRecordsTest, EveryKindOfEndIsReadBack) {
  const ExitStatus three{ExitStatus::Kind::kExited, 3};
  ASSERT_TRUE(records_.Exited({{"1-1"}, three, ""}).ok());
  ASSERT_TRUE(records_.Exited({{"1-2"}, std::nullopt, "start /x y: no\nsuch file"}).ok());
  ASSERT_TRUE(records_.Exited({{"1-3"}, std::nullopt, ""}).ok());
  EXPECT_EQ(Read("1-1").exited->status, three);
  EXPECT_FALSE(Read("1-2").exited->status);
  EXPECT_EQ(Read("1-2").exited->error, "start /x y: no such file");
  EXPECT_EQ(Read("1-2").exited->container.value, "1-2");
  ASSERT_TRUE(Read("1-3").exited);
  EXPECT_FALSE(Read("1-3").exited->status);
}

TEST_F(ContainerRecordsTest, WhatAContainerWasGivenIsKnownFromItsLaunchOn) {
  ASSERT_TRUE(records_.Launching({"1-1"}, {0, 3}, "/sys/fs/cgroup/a b/tony-x").ok());
  ASSERT_TRUE(records_.Launching({"1-2"}, {}, "").ok());
  ASSERT_TRUE(records_.Started({"1-1"}, 4711, "12345").ok());
  EXPECT_EQ(Read("1-1").gpus, (std::vector<int>{0, 3}));
  EXPECT_EQ(Read("1-1").cgroup, "/sys/fs/cgroup/a b/tony-x");
  EXPECT_EQ(Read("1-1").pid, 4711);
  EXPECT_TRUE(Read("1-2").gpus.empty());
  EXPECT_EQ(Read("1-2").cgroup, "");
}

TEST_F(ContainerRecordsTest, TornAndForeignLinesAreIgnored) {
  std::ofstream(temp_.path() / "containers/1-1") << "launching\nstarted 4711 12345\nexited 0 ";
  std::ofstream(temp_.path() / "containers/1-2") << "launching\nstarted 47";
  std::ofstream(temp_.path() / "containers/1-3") << "\n\nx y\nexited x y\n";
  std::ofstream(temp_.path() / "containers/.hidden") << "exited 0 \n";
  EXPECT_EQ(Read("1-1").pid, 4711);
  EXPECT_FALSE(Read("1-1").exited);
  EXPECT_EQ(Read("1-2").pid, 0);
  EXPECT_FALSE(Read("1-3").exited);
  EXPECT_EQ(records_.ReadAll()->size(), 3u);
}

TEST_F(ContainerRecordsTest, FolderThatIsNotThereHoldsNone) {
  EXPECT_TRUE(ContainerRecords(LocalJobRecords(temp_.path() / "missing")).ReadAll()->empty());
}

TEST(IsContainerNameTest, RefusesWhatIsNoFileName) {
  EXPECT_TRUE(IsContainerName({"1-23"}));
  for (const char* bad : {"", ".", "..", "../x", "a/b", "a b", "a\n"}) EXPECT_FALSE(IsContainerName({bad})) << bad;
  EXPECT_FALSE(IsContainerName({std::string(65, 'x')}));
}

}  // namespace
}  // namespace tony::keeper
