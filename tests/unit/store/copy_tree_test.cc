#include "runtime/store/copy_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "runtime/store/files.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

class CopyTreeTest : public ::testing::Test {
 protected:
  CopyTreeTest() { fs::create_directories(from_); }
  void Write(const std::string& name, const std::string& content) const {
    fs::create_directories((from_ / name).parent_path());
    std::ofstream(from_ / name) << content;
  }
  Status Copy() const { return CopyTree(from_, to_, folder_.path() / "store"); }

  TempFolder folder_;
  const fs::path from_ = folder_.path() / "from";
  const fs::path to_ = folder_.path() / "to";
};

TEST_F(CopyTreeTest, FilesAndFoldersAreCopiedHiddenOnesToo) {
  Write("train.py", "print(1)");
  Write("a/b/c.txt", std::string(3'000'000, 'x'));
  Write("__pycache__/x.pyc", "c");
  Write(".git/config", "g");
  fs::create_directory(from_ / "empty");
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(*ReadFile(to_ / "train.py"), "print(1)");
  EXPECT_EQ(*ReadFile(to_ / "a/b/c.txt"), std::string(3'000'000, 'x'));
  EXPECT_EQ(*ReadFile(to_ / "__pycache__/x.pyc"), "c");
  EXPECT_EQ(*ReadFile(to_ / ".git/config"), "g");
  EXPECT_TRUE(fs::is_directory(to_ / "empty"));
}

TEST_F(CopyTreeTest, CopiesArePrivateAndKeepTheExecutableBit) {
  Write("script", "#!/bin/sh\n");
  Write("data", "");
  fs::permissions(from_ / "script", fs::perms(0755));
  fs::permissions(from_ / "data", fs::perms(0444));
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(fs::status(to_ / "script").permissions(), fs::perms(0700));
  EXPECT_EQ(fs::status(to_ / "data").permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(to_).permissions(), fs::perms(0700));
}

TEST_F(CopyTreeTest, LinksStayAsTheyAre) {
  fs::create_symlink("../elsewhere", from_ / "outside");
  fs::create_symlink("/no/such/file", from_ / "dangling");
  fs::create_directory_symlink(".", from_ / "ring");
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(fs::read_symlink(to_ / "outside"), "../elsewhere");
  EXPECT_EQ(fs::read_symlink(to_ / "dangling"), "/no/such/file");
  EXPECT_EQ(fs::read_symlink(to_ / "ring"), ".");
}

TEST_F(CopyTreeTest, PipeIsRefusedByName) {
  ASSERT_EQ(mkfifo((from_ / "pipe").c_str(), 0600), 0);
  const Status copied = Copy();
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(copied.error().message,
            "copy " + (from_ / "pipe").string() + ": neither a file nor a folder nor a symbolic link");
}

TEST_F(CopyTreeTest, MissingSourceIsInvalid) {
  fs::remove(from_);
  const Status copied = Copy();
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(copied.error().message, "read " + from_.string() + ": no such file or directory");
}

TEST_F(CopyTreeTest, StoreThatLiesInTheSourceIsNotCopiedIntoItself) {
  Write("train.py", "");
  const fs::path store = from_ / ".tony";
  fs::create_directories(store / "jobs");
  ASSERT_TRUE(CopyTree(from_, store / "jobs/new", store).ok());
  EXPECT_TRUE(fs::exists(store / "jobs/new/train.py"));
  EXPECT_FALSE(fs::exists(store / "jobs/new/.tony"));
}

}  // namespace
}  // namespace tony
