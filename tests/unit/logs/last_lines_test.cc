#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <memory>
#include <string>

#include "runtime/base/unique_fd.h"
#include "runtime/logs/local_log_source.h"
#include "runtime/logs/log_source.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kMb = 1 << 20;

class LastLinesTest : public testing::Test {
 protected:
  void Put(std::string_view text, uint64_t offset = 0) {
    ASSERT_EQ(pwrite(file_.get(), text.data(), text.size(), static_cast<off_t>(offset)), ssize_t(text.size()));
  }
  std::string Text(const LastLines& lines) const {
    std::string text(lines.end - lines.begin, '\0');
    EXPECT_EQ(pread(file_.get(), text.data(), text.size(), static_cast<off_t>(lines.begin)), ssize_t(text.size()));
    EXPECT_EQ(lines.text, text.size()) << "there is no cut within these";
    return text;
  }
  std::string Last(uint64_t lines, uint64_t limit = kNoLimit, bool grows = false) const {
    return Text(FindLastLines(log_.get(), lines, limit, grows));
  }
  // Writes a megabyte whose last line has no end, a hole, and `end` behind it. Returns false if this file system does
  // not report holes.
  bool PutAroundAHole(std::string_view end) {
    Put(std::string(kMb - 13, 'a') + "\nlast of head");
    Put(end, 8 * kMb);
    return log_->Parts().size() == 2;
  }

  TempFolder temp_;
  const UniqueFd file_{open((temp_.path() / "log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  const std::unique_ptr<LogStream> log_ = LogOf(UniqueFd(dup(file_.get())));
};

TEST_F(LastLinesTest, TheRequestedNumberOfLinesIsReturned) {
  Put("one\ntwo\n\nfour\n");
  EXPECT_EQ(Last(0), "");
  EXPECT_EQ(Last(1), "four\n");
  EXPECT_EQ(Last(2), "\nfour\n");
  EXPECT_EQ(Last(3), "two\n\nfour\n");
  EXPECT_EQ(Last(4), "one\ntwo\n\nfour\n");
  EXPECT_EQ(Last(1000), "one\ntwo\n\nfour\n");
}

TEST_F(LastLinesTest, TextAfterTheLastNewlineCountsAsALine) {
  Put("one\ntwo\nthr");
  EXPECT_EQ(Last(1), "thr");
  EXPECT_EQ(Last(2), "two\nthr");
}

TEST_F(LastLinesTest, AnEmptyLogHasNoLines) {
  EXPECT_EQ(Last(5), "");
  EXPECT_EQ(FindLastLines(nullptr, 5, kNoLimit, true).end, 0u);
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(FindLastLines(LogOf(UniqueFd(dup(null.get()))).get(), 5, kNoLimit, true).end, 0u);
}

TEST_F(LastLinesTest, OnlyWholeLinesWithinTheByteLimitAreReturned) {
  Put("one\ntwo\nthree\n");
  EXPECT_EQ(Last(3, 14), "one\ntwo\nthree\n");
  EXPECT_EQ(Last(3, 13), "two\nthree\n");
  EXPECT_EQ(Last(3, 10), "two\nthree\n");
  EXPECT_EQ(Last(3, 9), "three\n");
  EXPECT_EQ(Last(3, 6), "three\n");
  EXPECT_EQ(Last(3, 0), "");
}

TEST_F(LastLinesTest, ALineLongerThanTheByteLimitIsCutBetweenCharacters) {
  Put("one\n\xC3\xA9\xE2\x82\xACx\n");
  EXPECT_EQ(Last(1, 5), "\xE2\x82\xACx\n");
  EXPECT_EQ(Last(1, 4), "x\n");
  EXPECT_EQ(Last(1, 3), "x\n");
  EXPECT_EQ(Last(1, 2), "x\n");
}

TEST_F(LastLinesTest, AnIncompleteUtf8CharacterAtTheEndOfAGrowingLogIsNotReturned) {
  Put("one\nab\xE2\x82");
  EXPECT_EQ(Last(1, kNoLimit, true), "ab");
  EXPECT_EQ(Last(0, kNoLimit, true), "");
  EXPECT_EQ(FindLastLines(log_.get(), 0, kNoLimit, true).end, 6u);
  EXPECT_EQ(Last(1), "ab\xE2\x82");
}

// Lines whose ends are on, before and behind the borders of the pieces that are read.
TEST_F(LastLinesTest, LinesOfAnyLengthAreFoundAcrossReadBlocks) {
  std::string all;
  std::vector<size_t> begins;
  for (const size_t length : {65536, 1, 65535, 65537, 3, 131072, 0, 0, 200'000, 65536 - 7, 5}) {
    begins.push_back(all.size());
    all += std::string(length, 'x') + "\n";
  }
  Put(all);
  for (size_t lines = 1; lines <= begins.size(); ++lines)
    EXPECT_EQ(FindLastLines(log_.get(), lines, kNoLimit, false).begin, begins[begins.size() - lines]) << lines;
  for (uint64_t limit = 1; limit < all.size(); limit += 999) {
    const LastLines found = FindLastLines(log_.get(), 100, limit, false);
    EXPECT_LE(found.text, limit);
    size_t expected = all.size() - limit;
    while (expected > 0 && all[expected - 1] != '\n' && expected + 6 < all.size()) ++expected;
    EXPECT_EQ(found.begin, limit < 6 ? all.size() - limit : expected) << limit;
  }
}

TEST_F(LastLinesTest, TextAfterAHoleInALogStartsANewLine) {
  if (!PutAroundAHole("of a line\ntail\n")) GTEST_SKIP() << "this file system does not tell where holes are";
  EXPECT_EQ(Last(1), "tail\n");
  EXPECT_EQ(Last(2), "of a line\ntail\n");
  const LastLines three = FindLastLines(log_.get(), 3, kNoLimit, false);
  EXPECT_EQ(three.begin, kMb - 12) << "the line before the cut, which is no line itself";
  EXPECT_EQ(three.text, 12u + 15);
  EXPECT_EQ(FindLastLines(log_.get(), 4, kNoLimit, false).begin, 0u);
  EXPECT_EQ(FindLastLines(log_.get(), 4, 15, false).begin, 8 * kMb);
  EXPECT_EQ(FindLastLines(log_.get(), 4, 20, false).begin, 8 * kMb) << "no half line where there are whole ones";
  EXPECT_EQ(FindLastLines(log_.get(), 4, 27, false).begin, kMb - 12);
}

TEST_F(LastLinesTest, ANewlineJustBeforeAHoleAddsNoEmptyLine) {
  if (!PutAroundAHole("tail\n")) GTEST_SKIP() << "this file system does not tell where holes are";
  Put("\n", kMb - 1);
  EXPECT_EQ(FindLastLines(log_.get(), 1, kNoLimit, false).begin, 8 * kMb);
  EXPECT_EQ(FindLastLines(log_.get(), 2, kNoLimit, false).begin, kMb - 12);
}

TEST_F(LastLinesTest, TheLastLinesOfA64MbLogAreFoundByReadingLessThan200Kb) {
  constexpr uint64_t kSize = 64 * kMb;
  const std::string line = std::string(127, 'l') + "\n";
  std::string piece;
  while (piece.size() < kMb) piece += line;
  for (uint64_t at = 0; at < kSize; at += kMb) Put(piece, at);
  const auto bytes_read = [] {
    std::string text(4096, '\0');
    const UniqueFd io(open("/proc/self/io", O_RDONLY | O_CLOEXEC));
    text.resize(static_cast<size_t>(std::max<ssize_t>(read(io.get(), text.data(), text.size()), 0)));
    return std::stoull(text.substr(text.find("rchar: ") + 7));
  };
  const auto before = bytes_read();
  EXPECT_EQ(FindLastLines(log_.get(), 50, kNoLimit, false).begin, kSize - 50 * line.size());
  EXPECT_EQ(FindLastLines(log_.get(), 1'000'000, 1000, false).text, 7 * line.size());
  EXPECT_LT(bytes_read() - before, 200'000u);
}

}  // namespace
}  // namespace tony
