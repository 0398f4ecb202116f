#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/logs/log_source.h"

namespace tony {
namespace {

const LogExcerpt kLog{.stream = "stdout", .size = 20, .parts = {{0, "first\n"}, {12, "second\n"}}};

std::string At(int64_t offset, size_t most, int64_t cut) {
  std::string buffer(most, '?');
  const LogBytes got = LogOf(kLog)->Read(offset, buffer);
  EXPECT_EQ(got.cut, cut);
  return buffer.substr(0, got.size);
}

TEST(LogExcerptTest, ReadingALogExcerptSkipsTheGapBetweenItsParts) {
  EXPECT_EQ(At(0, 100, 0), "first\n");
  EXPECT_EQ(At(2, 3, 0), "rst");
  EXPECT_EQ(At(6, 100, 6), "second\n");
  EXPECT_EQ(At(15, 100, 0), "ond\n");
  EXPECT_EQ(At(19, 100, 1), "") << "the end is not here";
  EXPECT_EQ(At(20, 100, 0), "");
}

TEST(LogExcerptTest, ALogExcerptReportsTheSizeAndThePartsOfTheOriginalLog) {
  const auto log = LogOf(kLog);
  EXPECT_EQ(log->Size(), 20);
  ASSERT_EQ(log->Parts().size(), 2u);
  EXPECT_EQ(log->Parts()[1].begin, 12u);
  EXPECT_EQ(log->Parts()[1].end, 19u);
}

}  // namespace
}  // namespace tony
