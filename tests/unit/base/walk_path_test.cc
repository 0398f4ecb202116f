#include "runtime/base/walk_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kAda = 61'001, kBob = 61'002;

class WalkPathTest : public testing::Test {
 protected:
  WalkPathTest() { fs::create_directories(home_); }
  fs::path At(const std::string& name) const { return temp_.path() / name; }
  void Give(const fs::path& path, uid_t user) const { ASSERT_EQ(lchown(path.c_str(), user, user), 0); }
  const PathRisk* Risk(const fs::path& path, uid_t beside) {
    auto walked = WalkPath(path);
    EXPECT_TRUE(walked.ok()) << walked.error().message;
    if (!walked.ok()) return nullptr;
    walked_ = *std::move(walked);
    return walked_.RiskFromOthers(beside);
  }

  const TempFolder temp_;
  const fs::path home_ = At("a/home");
  WalkedPath walked_;
};

TEST_F(WalkPathTest, NoRiskIsReportedForAFolderThatOnlyTheUserCanReplace) {
  EXPECT_EQ(Risk(home_, getuid()), nullptr);
  struct stat info {};
  ASSERT_EQ(stat(home_.c_str(), &info), 0);
  ASSERT_TRUE(walked_.folder.valid());
  EXPECT_EQ(walked_.info.st_ino, info.st_ino);
  EXPECT_EQ(walked_.info.st_dev, info.st_dev);
}

TEST_F(WalkPathTest, RelativeAndAbsoluteLinksInAPathAreFollowed) {
  struct stat info {};
  ASSERT_EQ(stat(home_.c_str(), &info), 0);
  fs::create_directory_symlink("../a/./home/", At("a/near"));
  fs::create_directory_symlink(At("a/near"), At("far"));
  EXPECT_EQ(Risk(At("far"), getuid()), nullptr);
  EXPECT_EQ(walked_.info.st_ino, info.st_ino);
}

TEST_F(WalkPathTest, WalkingAPathWithAMissingFolderSucceedsAndOpensNoFolder) {
  EXPECT_EQ(Risk(home_ / "none/at/all", getuid()), nullptr);
  EXPECT_FALSE(walked_.folder.valid());
}

TEST_F(WalkPathTest, APathThroughAFileOrALinkToItselfIsRefused) {
  std::ofstream(At("file")) << "x";
  fs::create_symlink(At("loop"), At("loop"));
  EXPECT_EQ(WalkPath(At("file/x")).error().code, ErrorCode::kCannotWrite);
  EXPECT_EQ(WalkPath(At("loop")).error().code, ErrorCode::kCannotWrite);
}

TEST_F(WalkPathTest, AWorldWritableParentFolderWithoutStickyBitIsReportedAsARisk) {
  fs::permissions(At("a"), fs::perms::others_write, fs::perm_options::add);
  const PathRisk* const risk = Risk(home_, getuid());
  ASSERT_NE(risk, nullptr);
  EXPECT_TRUE(risk->is_everybodys);
  EXPECT_EQ(risk->part, home_);
  fs::permissions(At("a"), fs::perms::sticky_bit, fs::perm_options::add);
  EXPECT_EQ(Risk(home_, getuid()), nullptr);
  EXPECT_NE(Risk(At("a/none"), getuid()), nullptr) << "everybody can make what is not there";
}

TEST_F(WalkPathTest, AParentFolderOwnedByAnotherUserIsReportedAsARisk_RootOnly) {
  Give(At("a"), kAda);
  const PathRisk* const risk = Risk(home_, 0);
  ASSERT_NE(risk, nullptr);
  EXPECT_EQ(risk->user, kAda);
  EXPECT_EQ(risk->part, home_);
  EXPECT_EQ(Risk(home_, kAda), nullptr);
  EXPECT_NE(Risk(home_, kBob), nullptr);
}

TEST_F(WalkPathTest, AnEntryOfAStickyFolderIsReportedAsARiskIfAnotherUserOwnsTheEntry_RootOnly) {
  fs::permissions(temp_.path(), fs::perms::all | fs::perms::sticky_bit);
  fs::create_directory_symlink(home_, At("link"));
  EXPECT_EQ(Risk(At("link"), 0), nullptr);
  Give(At("link"), kBob);
  EXPECT_NE(Risk(At("link"), 0), nullptr);
  EXPECT_EQ(Risk(At("link"), kBob), nullptr);
  EXPECT_EQ(Risk(home_, 0), nullptr);
  Give(At("a"), kBob);
  EXPECT_NE(Risk(home_, 0), nullptr);
}

}  // namespace
}  // namespace tony
