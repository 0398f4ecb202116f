#include <gtest/gtest.h>

#include <fstream>

#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

class FileWatchTest : public ::testing::Test {
 protected:
  FileWatchTest() {
    auto watch = WatchFolder(loop_, folder_.path(), [this] { ++changes_; });
    EXPECT_TRUE(watch.ok()) << watch.error().message;
    watch_ = *std::move(watch);
  }
  bool Changed() {
    const bool changed = RunUntil(loop_, [this] { return changes_ > 0; });
    changes_ = 0;
    return changed;
  }

  TempFolder folder_;
  EventLoop loop_;
  int changes_ = 0;
  std::unique_ptr<EventLoop::Handle> watch_;
};

TEST_F(FileWatchTest, NewReplacedAndGrownFilesAreReported) {
  std::ofstream file(folder_.path() / "log");
  EXPECT_TRUE(Changed());
  file << "line" << std::flush;
  EXPECT_TRUE(Changed());
  ASSERT_TRUE(WriteFileByRename(folder_.path() / "lease", "1", false).ok());
  EXPECT_TRUE(Changed());
  ASSERT_TRUE(WriteFileByRename(folder_.path() / "lease", "2", false).ok());
  EXPECT_TRUE(Changed());
}

TEST_F(FileWatchTest, FilesWithTemporaryNamesAreNotReported) {
  std::ofstream(folder_.path() / ".lease.tmp") << "1";
  std::ofstream(folder_.path() / "end") << "";
  ASSERT_TRUE(Changed());
  std::ofstream(folder_.path() / ".lease.tmp") << "2";
  bool posted = false;
  loop_.Post([&] { posted = true; });
  ASSERT_TRUE(RunUntil(loop_, [&] { return posted; }));
  EXPECT_EQ(changes_, 0);
}

TEST_F(FileWatchTest, AFileWatchMayBeDestroyedInItsOwnCallback) {
  watch_.reset();
  auto watch = WatchFolder(loop_, folder_.path(), [this] {
    watch_.reset();
    ++changes_;
  });
  ASSERT_TRUE(watch.ok());
  watch_ = *std::move(watch);
  std::ofstream(folder_.path() / "x") << "";
  EXPECT_TRUE(Changed());
  EXPECT_EQ(watch_, nullptr);
}

TEST_F(FileWatchTest, AMissingFolderIsNamedInTheError) {
  const auto watch = WatchFolder(loop_, folder_.path() / "missing", [] {});
  ASSERT_FALSE(watch.ok());
  EXPECT_EQ(watch.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(watch.error().message, "watch " + (folder_.path() / "missing").string() + ": no such file or directory");
}

}  // namespace
}  // namespace tony
