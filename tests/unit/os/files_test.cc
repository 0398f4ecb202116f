#include "runtime/os/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

mode_t ModeOf(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

size_t EntriesIn(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(FilesTest, NewFilesAndFoldersArePrivateWhateverTheUmask) {
  const TempFolder folder;
  for (const mode_t mask : {0, 022, 0777}) {
    const mode_t before = umask(mask);
    const fs::path below = folder.path() / std::to_string(mask);
    EXPECT_TRUE(MakeFolder(below / "a/b").ok());
    EXPECT_TRUE(WriteNewFile(below / "new", "x", false).ok());
    EXPECT_TRUE(WriteFileByRename(below / "renamed", "x", false).ok());
    umask(before);
    EXPECT_EQ(ModeOf(below / "a"), 0700u);
    EXPECT_EQ(ModeOf(below / "a/b"), 0700u);
    EXPECT_EQ(ModeOf(below / "new"), 0600u);
    EXPECT_EQ(ModeOf(below / "renamed"), 0600u);
  }
}

TEST(FilesTest, WritingANewFileFailsIfTheFileExists) {
  const TempFolder folder;
  EXPECT_TRUE(WriteNewFile(folder.path() / "x", "1", true).ok());
  const Status again = WriteNewFile(folder.path() / "x", "2", true);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kCannotWrite);
  EXPECT_EQ(again.error().message, "make " + (folder.path() / "x").string() + ": file exists");
  EXPECT_EQ(*ReadFile(folder.path() / "x"), "1");
}

TEST(FilesTest, ReadersNeverSeeAPartialFileWhileTwoThreadsReplaceTheFile) {
  const TempFolder folder;
  const fs::path path = folder.path() / "x";
  const std::string a(100'000, 'a'), b(50'000, 'b');
  ASSERT_TRUE(WriteFileByRename(path, a, false).ok());
  const auto write = [&](const std::string& content) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(WriteFileByRename(path, content, false).ok());
  };
  std::jthread first(write, a), second(write, b);
  for (int i = 0; i < 200; ++i) {
    const auto content = ReadFile(path);
    ASSERT_TRUE(content.ok());
    EXPECT_TRUE(*content == a || *content == b);
  }
  first.join();
  second.join();
  EXPECT_EQ(EntriesIn(folder.path()), 1u);
}

TEST(FilesTest, WritingAFileOverAFolderFailsAndRemovesTheTemporaryFile) {
  const TempFolder folder;
  ASSERT_TRUE(MakeFolder(folder.path() / "x").ok());  // rename() does not replace a folder
  const Status written = WriteFileByRename(folder.path() / "x", "new", true);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "replace " + (folder.path() / "x").string() + ": is a directory");
  EXPECT_EQ(EntriesIn(folder.path()), 1u);
}

TEST(FilesTest, AFolderBelowAFileCannotBeMade) {
  const TempFolder folder;
  ASSERT_TRUE(WriteNewFile(folder.path() / "file", "", false).ok());
  const Status made = MakeFolder(folder.path() / "file/jobs");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kCannotWrite);
  EXPECT_EQ(made.error().message, "make " + (folder.path() / "file").string() + ": not a directory");
}

TEST(FilesTest, ReadFileReturnsNotFoundForAMissingFileAndUnavailableForAFolder) {
  const TempFolder folder;
  EXPECT_EQ(ReadFile(folder.path() / "x").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ReadFile(folder.path()).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(ReadFile(folder.path()).error().message, "read " + folder.path().string() + ": is a directory");
}

TEST(FilesTest, OpenRegularFileRefusesALinkAPipeOrAFolder) {
  const TempFolder folder;
  const auto in = [&](const char* name) { return folder.path() / name; };
  const auto refusal = [&](const char* name, int access) {
    const auto opened = OpenRegularFile(in(name), access);
    return opened.ok() ? "opened" : opened.error().message;
  };
  ASSERT_TRUE(WriteNewFile(in("file"), "four", false).ok());
  ASSERT_EQ(mkfifo(in("fifo").c_str(), 0600), 0);
  ASSERT_TRUE(MakeFolder(in("folder")).ok());
  fs::create_symlink("file", in("link"));
  fs::create_symlink("nowhere", in("broken"));
  for (const int access : {O_RDONLY, O_WRONLY}) {
    const auto file = OpenRegularFile("file", access, UniqueFd(open(folder.path().c_str(), O_PATH | O_CLOEXEC)).get());
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->size, 4);
    EXPECT_EQ(fcntl(file->fd.get(), F_GETFL) & O_ACCMODE, access);
    EXPECT_EQ(fcntl(file->fd.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(refusal("fifo", access), "the path is not a regular file") << "and it is not waited for";
    EXPECT_EQ(refusal("folder", access), "the path is not a regular file");
    EXPECT_EQ(refusal("link", access), "the path is a symbolic link; expected a regular file");
    EXPECT_EQ(refusal("broken", access), "the path is a symbolic link; expected a regular file");
    EXPECT_EQ(OpenRegularFile(in("link"), access).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(OpenRegularFile(in("none"), access).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(refusal("file/below", access), "not a directory");
  }
}

TEST(FilesTest, TwoCallsOfRandomHexReturnDifferentTexts) {
  EXPECT_EQ(RandomHex(32).size(), 64u);
  EXPECT_NE(RandomHex(32), RandomHex(32));
}

}  // namespace
}  // namespace tony
