#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>

#include "runtime/os/files.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class RemoveTreeTest : public testing::Test {
 protected:
  RemoveTreeTest() {
    fs::create_directories(tree_ / "a/b");
    Write(tree_ / "a/b/file");
    Write(tree_ / "z");
    fs::create_directory(other_);
    Write(other_ / "theirs");
  }
  static void Write(const fs::path& path) { std::ofstream(path) << "x"; }

  const TempFolder temp_;
  const fs::path tree_ = temp_.path() / "tree", other_ = temp_.path() / "other";
};

TEST_F(RemoveTreeTest, ReadOnlyFoldersAreRemovedAndLinksAreNotFollowed) {
  fs::create_symlink(other_, tree_ / "a/link");
  fs::permissions(tree_ / "a/b", fs::perms(0));
  fs::permissions(tree_ / "a", fs::perms(0555));
  fs::permissions(tree_, fs::perms(0555));
  EXPECT_TRUE(RemoveTree(tree_ / "").ok());
  EXPECT_FALSE(fs::exists(tree_));
  EXPECT_TRUE(fs::exists(other_ / "theirs"));
  EXPECT_TRUE(RemoveTree(tree_).ok()) << "there is none";
}

TEST_F(RemoveTreeTest, AFileOrALinkIsRemovedAndTheTargetOfTheLinkStays) {
  fs::create_symlink(other_, temp_.path() / "link");
  EXPECT_TRUE(RemoveTree(temp_.path() / "link").ok());
  EXPECT_TRUE(RemoveTree(tree_ / "z").ok());
  EXPECT_FALSE(fs::is_symlink(temp_.path() / "link"));
  EXPECT_FALSE(fs::exists(tree_ / "z"));
  EXPECT_TRUE(fs::exists(other_ / "theirs"));
}

// A second mount of a folder has the same device number as the folder.
TEST_F(RemoveTreeTest, RemovingATreeSparesAMountInTheTreeAndNamesTheMountInTheError_RootOnly) {
  const fs::path at = tree_ / "a/b";
  if (mount(other_.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) != 0) GTEST_SKIP() << "no mounting here";
  const Status removed = RemoveTree(tree_);
  EXPECT_EQ(umount(at.c_str()), 0);
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.error().code, ErrorCode::kCannotWrite);
  EXPECT_THAT(removed.error().message, HasSubstr("remove " + at.string() + ": a file system is mounted there"));
  EXPECT_TRUE(fs::exists(other_ / "theirs"));
  EXPECT_FALSE(fs::exists(tree_ / "z"));
  EXPECT_TRUE(RemoveTree(tree_).ok());
  EXPECT_FALSE(fs::exists(tree_));
}

TEST_F(RemoveTreeTest, RemovingAMountPointFailsAndTheFilesOfTheMountStay_RootOnly) {
  if (mount("none", tree_.c_str(), "tmpfs", 0, nullptr) != 0) GTEST_SKIP() << "no mounting here";
  Write(tree_ / "theirs");
  EXPECT_FALSE(RemoveTree(tree_).ok());
  EXPECT_TRUE(fs::exists(tree_ / "theirs"));
  EXPECT_EQ(umount(tree_.c_str()), 0);
}

}  // namespace
}  // namespace tony
