#include "runtime/store/checkpoints.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

TEST(CheckpointNamesTest, TheStepIsTheLastNumber) {
  EXPECT_EQ(StepOf("ckpt-0007.npz"), 7);
  EXPECT_EQ(StepOf("step_100"), 100);
  EXPECT_EQ(StepOf("epoch=2-step=100.ckpt"), 100);
  EXPECT_EQ(StepOf("model.ckpt-250.index"), 250);
  EXPECT_EQ(StepOf("42"), 42);
  EXPECT_EQ(StepOf("latest"), -1);
  EXPECT_EQ(StepOf(""), -1);
  EXPECT_EQ(StepOf("-5"), 5);
  EXPECT_EQ(StepOf("ckpt-9223372036854775807"), INT64_MAX);
  EXPECT_EQ(StepOf("ckpt-9223372036854775808"), -1);
}

TEST(CheckpointNamesTest, TheDigitOfAFormatIsNoStep) {
  EXPECT_EQ(StepOf("weights.05.h5"), 5);
  EXPECT_EQ(StepOf("weights.hdf5"), -1);
  EXPECT_EQ(StepOf("ckpt-3.pt2"), 3);
}

TEST(CheckpointNamesTest, ThePatternIsAShells) {
  EXPECT_TRUE(IsCheckpointName("ckpt-1.npz", "*"));
  EXPECT_TRUE(IsCheckpointName("ckpt-1.npz", "ckpt-[0-9]*.npz"));
  EXPECT_FALSE(IsCheckpointName("model-1.npz", "ckpt-*"));
  EXPECT_FALSE(IsCheckpointName("ckpt-1.npz", "ckpt"));
  EXPECT_FALSE(IsCheckpointName(".ckpt-1", "*"));
  EXPECT_TRUE(IsCheckpointName(".ckpt-1", ".ckpt-*"));
  for (const char* pattern : {"*", ".*", ".?", "..", "."}) {
    EXPECT_FALSE(IsCheckpointName(".", pattern)) << pattern;
    EXPECT_FALSE(IsCheckpointName("..", pattern)) << pattern;
  }
  EXPECT_FALSE(IsCheckpointName("ckpt-\xE9-1", "*")) << "it could not be written into the journal";
}

TEST(CheckpointNamesTest, WhatIsStillBeingWrittenIsLeftOutUnlessThePatternAsksForIt) {
  for (const char* name :
       {"ckpt-7.npz.tmp", "x.tmp.npz", "100.orbax-checkpoint-tmp-17", "tmp-checkpoint-500", "a.TEMP"}) {
    EXPECT_FALSE(IsCheckpointName(name, "*")) << name;
  }
  EXPECT_TRUE(IsCheckpointName("template-1", "*"));
  EXPECT_TRUE(IsCheckpointName("ckpt-7.tmp", "*.tmp"));
}

TEST(CheckpointNamesTest, TheHigherStepIsNewerAndThenTheLaterTime) {
  const auto at = [](int64_t step, int64_t time) { return Checkpoint{"/x", step, FromMillis(time)}; };
  EXPECT_TRUE(IsNewer(at(10, 1), at(9, 2)));
  EXPECT_FALSE(IsNewer(at(9, 2), at(10, 1)));
  EXPECT_TRUE(IsNewer(at(0, 1), at(-1, 2)));
  EXPECT_TRUE(IsNewer(at(-1, 2), at(-1, 1)));
  EXPECT_FALSE(IsNewer(at(5, 1), at(5, 1)));
}

class CheckpointsTest : public testing::Test {
 protected:
  void Write(const std::string& name, int64_t time = 1'000'000) {
    std::ofstream(folder_.path() / name) << "weights";
    SetTime(name, time);
  }
  void SetTime(const std::string& name, int64_t time) {
    const timespec when{.tv_sec = time / 1000, .tv_nsec = time % 1000 * 1'000'000};
    const timespec times[2] = {when, when};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder_.path() / name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  std::string Newest(const std::string& pattern = "*") {
    const auto newest = NewestCheckpoint({folder_.path(), pattern, 3});
    if (!newest.ok()) return newest.error().message;
    if (!*newest) return "none";
    EXPECT_EQ(fs::path((*newest)->path).parent_path(), folder_.path());
    return fs::path((*newest)->path).filename();
  }
  TempFolder folder_;
};

TEST_F(CheckpointsTest, AFolderThatIsMissingOrEmptyHasNone) {
  EXPECT_EQ(Newest(), "none");
  const auto missing = NewestCheckpoint({folder_.path() / "none/at/all", "*", 3});
  ASSERT_TRUE(missing.ok());
  EXPECT_FALSE(*missing);
}

TEST_F(CheckpointsTest, TheHighestStepWinsWhateverItsTime) {
  Write("ckpt-9", 3000);
  Write("ckpt-10", 1000);
  Write("latest", 4000);
  const auto newest = NewestCheckpoint({folder_.path(), "*", 3});
  ASSERT_TRUE(newest.ok());
  ASSERT_TRUE(*newest);
  EXPECT_EQ(**newest, (Checkpoint{folder_.path() / "ckpt-10", 10, FromMillis(1000)}));
}

TEST_F(CheckpointsTest, WithoutStepsTheLatestWins) {
  Write("best", 2000);
  Write("last", 2001);
  Write("first", 1000);
  EXPECT_EQ(Newest(), "last");
}

TEST_F(CheckpointsTest, FoldersAreCheckpointsToo) {
  Write("step_1");
  fs::create_directory(folder_.path() / "step_2");
  EXPECT_EQ(Newest(), "step_2");
}

TEST_F(CheckpointsTest, LinksAndSpecialFilesAreNot) {
  Write("ckpt-1");
  fs::create_symlink("/etc", folder_.path() / "ckpt-2");
  fs::create_symlink("../nowhere", folder_.path() / "ckpt-3");
  ASSERT_EQ(mkfifo((folder_.path() / "ckpt-4").c_str(), 0600), 0);
  EXPECT_EQ(Newest(), "ckpt-1");
}

TEST_F(CheckpointsTest, OnlyWhatThePatternMatchesIsLookedAt) {
  Write("ckpt-1.npz");
  Write("ckpt-2.npz.tmp");
  Write(".ckpt-3.npz");
  Write("log-4.txt");
  EXPECT_EQ(Newest("ckpt-*.npz"), "ckpt-1.npz");
  EXPECT_EQ(Newest("nothing-*"), "none");
}

TEST_F(CheckpointsTest, AFolderThatCannotBeReadIsAnError) {
  Write("file");
  const auto not_a_folder = NewestCheckpoint({folder_.path() / "file", "*", 3});
  ASSERT_FALSE(not_a_folder.ok());
  EXPECT_EQ(not_a_folder.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(not_a_folder.error().message, StrCat("open ", (folder_.path() / "file").string(), ": not a directory"));
  if (geteuid() == 0) GTEST_SKIP() << "root may read every folder";
  fs::create_directory(folder_.path() / "closed");
  fs::permissions(folder_.path() / "closed", fs::perms::none);
  const auto closed = NewestCheckpoint({folder_.path() / "closed", "*", 3});
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, ErrorCode::kNotPermitted);
}

// With a stat of each it would take long on a network file system: only names are read.
TEST_F(CheckpointsTest, ManyNamesAreReadAndOneIsLookedAt) {
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(close(creat((folder_.path() / StrCat("c-", i)).c_str(), 0600)), 0);
  EXPECT_EQ(Newest(), "c-1999");
}

}  // namespace
}  // namespace tony
