#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "executor/task_logs.h"
#include "runtime/base/strings.h"
#include "runtime/logs/local_log_source.h"
#include "runtime/logs/log_reader.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

constexpr int64_t kMb = 1 << 20;

// Returns lines that each begin with their own offset in the log.
std::string Lines(int64_t from, int64_t size) {
  std::string text;
  while (static_cast<int64_t>(text.size()) < size) {
    std::string line = StrCat(from + static_cast<int64_t>(text.size()), " ");
    line.resize(1023, '.');
    text += line + "\n";
  }
  return text;
}

TEST(UntilNextCheckTest, TheFasterALogGrowsTheSoonerItsSizeIsCheckedAgain) {
  const Duration second(1000);
  EXPECT_EQ(UntilNextCheck(1024 * kMb, 0, second), second);
  EXPECT_EQ(UntilNextCheck(16 * kMb, 0, second), Duration(100)) << "a writer may begin with 100 MiB in that time";
  EXPECT_EQ(UntilNextCheck(1024 * kMb, 128 * kMb, second), Duration(500)) << "64 MiB until then";
  EXPECT_EQ(UntilNextCheck(16 * kMb, 100 * kMb, second), Duration(40)) << "4 MiB until then";
  EXPECT_EQ(UntilNextCheck(16 * kMb, 40 * kMb, Duration(100)), Duration(10));
  EXPECT_EQ(UntilNextCheck(16 * kMb, 1000 * kMb, Duration(100)), Duration(10)) << "no sooner";
  EXPECT_EQ(UntilNextCheck(16 * kMb, 1, Duration(100)), Duration(100)) << "no later than of a log that is quiet";
  EXPECT_EQ(UntilNextCheck(16 * kMb, 1, Duration(0)), Duration(10));
}

class LogCapTest : public testing::Test {
 protected:
  void SetUp() override {
    Append(4 * kMb);
    const UniqueFd fd(open(file_.c_str(), O_WRONLY | O_CLOEXEC));
    if (fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kMb) != 0)
      GTEST_SKIP() << "this file system frees no part of a file";
    std::filesystem::remove(file_);
  }
  void Append(int64_t size) {
    std::ofstream(file_, std::ios::app) << Lines(Length(), size);
    ASSERT_FALSE(HasFailure());
  }
  int64_t Length() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(file_, none);
    return none ? 0 : static_cast<int64_t>(size);
  }
  int64_t Room() const {
    struct stat info {};
    EXPECT_EQ(stat(file_.c_str(), &info), 0);
    return info.st_blocks * 512;
  }
  // Returns the whole log as a reader gets it, with "[cut N]" in place of N removed bytes.
  std::string ReadAll(size_t chunk = 64 << 10) const {
    const UniqueFd fd(open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text, buffer(chunk, '\0');
    for (int64_t offset = 0;;) {
      const LogBytes read = ReadLog(fd.get(), offset, buffer);
      if (read.cut > 0) text += StrCat("[cut ", read.cut, "]");
      text.append(buffer, 0, read.size);
      offset += read.cut + static_cast<int64_t>(read.size);
      if (read.size == 0) return text;
    }
  }
  static bool HasFailure() { return testing::Test::HasFatalFailure(); }

  TempFolder temp_;
  const std::filesystem::path file_ = temp_.path() / "stdout";
};

TEST_F(LogCapTest, CuttingALogAboveItsSizeLimitFreesOnlyTheMiddleOfTheLog) {
  Append(16 * kMb);
  LogSizeLimit cap(file_, 4 * kMb);
  EXPECT_GE(*cap.Check(), 10 * kMb);
  EXPECT_EQ(Length(), 16 * kMb) << "offsets stay valid";
  EXPECT_LE(Room(), 6 * kMb);
  const std::string all = Lines(0, 16 * kMb);
  EXPECT_EQ(ReadAll(), all.substr(0, kMb) + StrCat("[cut ", 11 * kMb, "]") + all.substr(12 * kMb));
}

TEST_F(LogCapTest, ALogOnly1MbAboveItsSizeLimitIsNotCut) {
  Append(5 * kMb);
  LogSizeLimit cap(file_, 4 * kMb);
  EXPECT_EQ(*cap.Check(), 0);
  EXPECT_EQ(ReadAll(), Lines(0, 5 * kMb));
}

TEST_F(LogCapTest, ALogThatKeepsGrowingAfterACutIsCutAgain) {
  Append(kMb);
  LogSizeLimit cap(file_, 4 * kMb);
  for (int i = 0; i < 20; ++i) {
    Append(2 * kMb);
    ASSERT_TRUE(cap.Check().ok());
    EXPECT_LE(Room(), 7 * kMb);
  }
  const std::string end = Lines(0, 41 * kMb).substr(37 * kMb);
  EXPECT_TRUE(ReadAll().ends_with(end));
}

TEST_F(LogCapTest, ALogTruncatedByTheTaskIsNotCutUntilItExceedsTheSizeLimitAgain) {
  Append(16 * kMb);
  LogSizeLimit cap(file_, 4 * kMb);
  EXPECT_GT(*cap.Check(), 0);
  std::filesystem::resize_file(file_, 0);
  EXPECT_EQ(*cap.Check(), 0);
  Append(12 * kMb);
  EXPECT_GT(*cap.Check(), 0);
  EXPECT_LE(Room(), 6 * kMb);
}

TEST_F(LogCapTest, ASparseLogIsMeasuredByDiskUsageAndNotByFileLength) {
  Append(kMb);
  std::filesystem::resize_file(file_, static_cast<uintmax_t>(kMb) << 20);  // a hole of a terabyte
  LogSizeLimit cap(file_, 4 * kMb);
  EXPECT_EQ(*cap.Check(), 0);
  EXPECT_EQ(ReadAll(), Lines(0, kMb) + StrCat("[cut ", (kMb << 20) - kMb, "]"));
}

TEST_F(LogCapTest, ANewFileThatReplacedTheLogIsNotCut) {
  Append(kMb);
  LogSizeLimit cap(file_, 4 * kMb);
  std::filesystem::remove(file_);
  Append(16 * kMb);
  EXPECT_EQ(*cap.Check(), 0);
  EXPECT_EQ(ReadAll(), Lines(0, 16 * kMb));
}

TEST_F(LogCapTest, ALogThatIsMissingOrNotARegularFileIsNotCut) {
  Append(16 * kMb);
  const auto link = temp_.path() / "link", pipe = temp_.path() / "pipe";
  std::filesystem::create_symlink(file_, link);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& path : {link, pipe, temp_.path() / "none", temp_.path()}) {
    LogSizeLimit cap(path, 4 * kMb);
    EXPECT_EQ(*cap.Check(), 0) << path;
  }
  EXPECT_EQ(ReadAll(), Lines(0, 16 * kMb));
}

TEST_F(LogCapTest, AFailureToCutALogIsReportedOnce) {
  Append(16 * kMb);
  LogSizeLimit cap(UniqueFd(open(file_.c_str(), O_RDONLY | O_CLOEXEC)), 4 * kMb);  // EBADF stands for any error
  const auto first = cap.Check();
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(*cap.Check(), 0);
}

// A real writer writes as fast as it can while the reader follows it.
TEST_F(LogCapTest, AReaderSeesNoNulBytesWhileTheLogOfAFastWriterIsCut) {
  Append(kMb);
  const pid_t writer = fork();
  if (writer == 0) {
    const std::string command = StrCat("head -c 200000000 /dev/zero | tr '\\0' 'x' >> ", file_.string());
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  LogSizeLimit cap(file_, 4 * kMb);
  const UniqueFd reader(open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  std::string buffer(256 << 10, '\0');
  int64_t offset = 0, freed = 0;
  for (bool alive = true, more = true; alive || more;) {
    alive = alive && waitpid(writer, nullptr, WNOHANG) == 0;
    const auto checked = Must(cap.Check());
    freed += checked;
    const LogBytes read = ReadLog(reader.get(), offset, buffer);
    ASSERT_EQ(std::string_view(buffer).substr(0, read.size).find('\0'), std::string_view::npos) << "at " << offset;
    offset += read.cut + static_cast<int64_t>(read.size);
    more = read.size > 0;
  }
  EXPECT_EQ(offset, Length());
  EXPECT_EQ(Length(), kMb + 200'000'000);
  EXPECT_GT(freed, 0);
  ASSERT_TRUE(cap.Check().ok());
  EXPECT_LE(Room(), 7 * kMb);
}

TEST_F(LogCapTest, AReaderSeesNoNulBytesWhileAnotherThreadCutsTheLog) {
  const std::string content(16 * kMb, 'x');
  for (int round = 0; round < 20; ++round) {
    std::ofstream(file_, std::ios::trunc) << content;
    std::atomic<bool> go = false;
    std::thread cutter([&] {
      while (!go) std::this_thread::yield();
      LogSizeLimit(file_, kMb + round * kMb / 2).Check().ok();
    });
    const UniqueFd fd(open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    // Reads of this size cross the edges of the cuts.
    std::string buffer(300'000, '\0');
    go = true;
    for (int64_t offset = 0;;) {
      const LogBytes read = ReadLog(fd.get(), offset, buffer);
      if (std::string_view(buffer).substr(0, read.size).find('\0') != std::string_view::npos) {
        ADD_FAILURE() << "a NUL after " << offset;
        break;
      }
      offset += read.cut + static_cast<int64_t>(read.size);
      if (read.size == 0) break;
    }
    cutter.join();
  }
}

// ---- log notes

class LogNotesTest : public testing::Test {
 protected:
  void Append(const std::string& text) const { std::ofstream(log_, std::ios::app) << text; }
  std::string Notes() const { return Content(temp_.path() / "stdout.times"); }

  TempFolder temp_;
  const std::filesystem::path log_ = temp_.path() / "stdout";
  LogGrowthNotes notes_{log_};
};

TEST_F(LogNotesTest, EachGrowthOfALogIsRecordedOnceWithTheTimeOfTheGrowth) {
  notes_.Look(FromMillis(500));
  EXPECT_EQ(Notes(), "") << "there is no log yet";
  Append("one\n");
  notes_.Look(FromMillis(1000));
  notes_.Look(FromMillis(2000));
  Append("two\n");
  notes_.Look(FromMillis(3000));
  EXPECT_EQ(Notes(), "1000 4\n3000 8\n");
}

TEST_F(LogNotesTest, ALogThatTheTaskTruncatedIsReportedInAWarning) {
  Append("a long line\n");
  notes_.Look(FromMillis(1000));
  std::ofstream(log_, std::ios::trunc) << "new\n";
  testing::internal::CaptureStderr();
  notes_.Look(FromMillis(2000));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("stdout had 12 bytes and was emptied by the task"));
  EXPECT_EQ(Notes(), "1000 12\n2000 4\n");
}

TEST_F(LogNotesTest, TheNumberOfGrowthTimesRecordedForALogIsLimited) {
  std::filesystem::create_directories(temp_.path());
  for (int64_t i = 1; i <= 3 * int64_t{kMostLogNotes}; ++i) {
    std::filesystem::path log = log_;
    if (i == 1) Append("x");
    std::filesystem::resize_file(log, static_cast<uintmax_t>(i));
    notes_.Look(FromMillis(i * 1000));
  }
  const auto kept = LogNotesIn(Notes());
  EXPECT_LE(kept.size(), kMostLogNotes);
  EXPECT_GT(kept.size(), kMostLogNotes / 2);
  EXPECT_EQ(kept.back().size, 3 * kMostLogNotes);
  EXPECT_EQ(kept[kept.size() - 2].size + 1, kept.back().size) << "the newest are as fine as ever";
}

TEST_F(LogNotesTest, GrowthTimesOfALogAreNotWrittenToALinkOrPipe) {
  std::ofstream(temp_.path() / "precious") << "mine";
  std::filesystem::create_symlink(temp_.path() / "precious", temp_.path() / "stdout.times");
  Append("one\n");
  notes_.Look(FromMillis(1000));
  Append("two\n");
  notes_.Look(FromMillis(2000));
  EXPECT_EQ(Content(temp_.path() / "precious"), "mine");
  std::filesystem::remove(temp_.path() / "stdout.times");
  ASSERT_EQ(mkfifo((temp_.path() / "stdout.times").c_str(), 0600), 0);
  Append("three\n");
  notes_.Look(FromMillis(3000));
  SUCCEED() << "nobody reads the pipe, and nobody waited for that";
}

}  // namespace
}  // namespace tony::executor
