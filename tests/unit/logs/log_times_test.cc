#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/logs/local_log_source.h"
#include "runtime/logs/log_reader.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::ElementsAre;

LogNote Note(int64_t ms, uint64_t size) { return {FromMillis(ms), size}; }

TEST(LogTimesTest, ALineGetsTheTimeOfTheFirstTimeRecordThatIncludesTheLine) {
  const LogTimes times = {{Note(1000, 10), Note(2000, 30)}, FromMillis(2700)};
  EXPECT_EQ(times.At(1), FromMillis(1000));
  EXPECT_EQ(times.At(10), FromMillis(1000));
  EXPECT_EQ(times.At(11), FromMillis(2000));
  EXPECT_EQ(times.At(31), FromMillis(2700)) << "no look has seen it yet";
  EXPECT_EQ((LogTimes{{Note(1000, 10)}, std::nullopt}.At(11)), std::nullopt);
}

TEST(LogTimesTest, TheLogSizeAtAGivenTimeIsTakenFromTheLastEarlierTimeRecord) {
  const LogTimes times = {{Note(1000, 10), Note(2000, 30)}, FromMillis(2700)};
  EXPECT_EQ(times.Before(FromMillis(500)), 0u);
  EXPECT_EQ(times.Before(FromMillis(1000)), 0u) << "it may have been written just then";
  EXPECT_EQ(times.Before(FromMillis(1001)), 10u);
  EXPECT_EQ(times.Before(FromMillis(2500)), 30u);
  EXPECT_EQ(times.Before(FromMillis(2701)), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ((LogTimes{{Note(1000, 10)}, std::nullopt}.Before(FromMillis(9000))), 10u);
}

TEST(LogTimesTest, TimeRecordsAreParsedAndMalformedLinesAreSkipped) {
  EXPECT_EQ(TimesOf("stderr-1"), "stderr-1.times");
  const std::string text = LineOf(Note(1000, 10)) + "no note\n-1 5\n2000 -3\n5\n99999999999999999999 1\n" +
                           LineOf(Note(2000, 20)) + "3000 2";
  EXPECT_THAT(LogNotesIn(text), ElementsAre(Note(1000, 10), Note(2000, 20)));
}

TEST(LogTimesTest, TimeRecordsBeyondTheEndOfATruncatedLogAreDropped) {
  const std::string text = LineOf(Note(1000, 10)) + LineOf(Note(2000, 40)) + LineOf(Note(3000, 20));
  EXPECT_THAT(LogNotesIn(text), ElementsAre(Note(1000, 10), Note(3000, 20)));
}

TEST(LogTimesTest, OlderTimeRecordsAreThinnedOutAndTheNewestAreKept) {
  std::vector<LogNote> notes;
  for (int i = 1; i <= 16; ++i) notes.push_back(Note(i * 1000, static_cast<uint64_t>(i)));
  const auto kept = ThinnedOut(notes);
  EXPECT_EQ(kept.size(), 10u);
  EXPECT_THAT(std::vector<LogNote>(kept.begin(), kept.begin() + 2), ElementsAre(Note(2000, 2), Note(4000, 4)));
  EXPECT_EQ(std::vector<LogNote>(kept.end() - 4, kept.end()), std::vector<LogNote>(notes.end() - 4, notes.end()));
}

class LogClockTest : public testing::Test {
 protected:
  LogClockTest() { std::filesystem::create_directories(folder_); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::optional<Instant> At(uint64_t end, int64_t now) {
    return clock_.TimesTo({{"worker", 0}, 1}, {"stdout"}, end, FromMillis(now)).At(end);
  }

  TempFolder temp_;
  const std::filesystem::path folder_ = temp_.path() / "logs/worker-0/1";
  const LocalLogSource logs_{LocalJobRecords(temp_.path())};
  LogClock clock_{logs_};
};

TEST_F(LogClockTest, TimeRecordsOfAGrowingLogAreReadAgainAfterOneSecond) {
  Write("stdout", std::string(40, 'x'));
  Write("stdout.times", "1000 10\n");
  EXPECT_EQ(At(10, 5000), FromMillis(1000));
  Write("stdout.times", "1000 10\n2000 20\n");
  EXPECT_GT(At(20, 5900), FromMillis(2000)) << "when the file was written to: now";
  EXPECT_EQ(At(20, 6000), FromMillis(2000));
}

TEST_F(LogClockTest, LinesOfALogWithoutTimeRecordsGetTheTimeOfTheLogsLastChange) {
  Write("stdout", "x\n");
  const auto written = std::filesystem::file_time_type::clock::from_sys(FromMillis(1'700'000'000'000));
  std::filesystem::last_write_time(folder_ / "stdout", written);
  EXPECT_EQ(At(2, 5000), FromMillis(1'700'000'000'000));
  EXPECT_EQ(clock_.TimesTo({{"worker", 1}, 1}, {"stdout"}, 2, FromMillis(5000)).At(2), std::nullopt);
}

}  // namespace
}  // namespace tony
