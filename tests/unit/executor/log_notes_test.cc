#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "executor/task_logs.h"
#include "runtime/logs/log_reader.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

class LogNotesTest : public testing::Test {
 protected:
  void Append(const std::string& text) const { std::ofstream(log_, std::ios::app) << text; }
  std::string Notes() const { return Content(temp_.path() / "stdout.times"); }

  TempFolder temp_;
  const std::filesystem::path log_ = temp_.path() / "stdout";
  LogNotes notes_{log_};
};

TEST_F(LogNotesTest, EachGrowthIsNotedOnce) {
  notes_.Look(FromMillis(500));
  EXPECT_EQ(Notes(), "") << "there is no log yet";
  Append("one\n");
  notes_.Look(FromMillis(1000));
  notes_.Look(FromMillis(2000));
  Append("two\n");
  notes_.Look(FromMillis(3000));
  EXPECT_EQ(Notes(), "1000 4\n3000 8\n");
}

TEST_F(LogNotesTest, ALogThatItsTaskEmptiedIsNamed) {
  Append("a long line\n");
  notes_.Look(FromMillis(1000));
  std::ofstream(log_, std::ios::trunc) << "new\n";
  testing::internal::CaptureStderr();
  notes_.Look(FromMillis(2000));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("stdout had 12 bytes and was emptied by the task"));
  EXPECT_EQ(Notes(), "1000 12\n2000 4\n");
}

TEST_F(LogNotesTest, OfALongLifeTheNotesTakeBoundedRoom) {
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

TEST_F(LogNotesTest, WhatATaskHasPutInTheirPlaceIsLeftAlone) {
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
