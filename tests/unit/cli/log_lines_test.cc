#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/cli/log_session.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LogLinesTest : public testing::Test {
 protected:
  static LogText Text(std::string_view text, uint64_t end, std::string_view stream = "stdout") {
    return {{{"worker", 0}, 1}, stream, text, 0, end};
  }
  LogLines Search(const std::string& expression) {
    auto pattern = LogPattern::Parse(expression);
    EXPECT_TRUE(pattern.ok());
    return LogLines({.pattern = *pattern}, Sink());
  }
  LogLines::Sink Sink() {
    return [this](const LogText& log) { told_.push_back(StrCat(log.text, "@", log.end)); };
  }
  std::vector<std::string> told_;
};

TEST_F(LogLinesTest, EachMatchingLineIsReportedWithItsEndOffset) {
  LogLines lines = Search("^b|d$");
  lines(Text("abc\nbcd\nx d\n", 112));
  EXPECT_THAT(told_, ElementsAre("bcd\n@108", "x d\n@112"));
}

TEST_F(LogLinesTest, ALogLineIsSearchedWhenItIsCompleteOrTheLogEnds) {
  LogLines lines = Search("one two");
  lines(Text("one ", 4));
  lines(Text("one two of the other\n", 21, "stderr"));
  lines(Text("two\n", 8));
  EXPECT_THAT(told_, ElementsAre("one two of the other\n@21", "one two\n@8"));
  lines(Text("one two", 15));
  lines.Finish();
  EXPECT_EQ(told_.size(), 3u) << "the last one has no end";
  lines.Finish();
  EXPECT_EQ(told_.size(), 3u);
}

TEST_F(LogLinesTest, ALineLongerThanAMegabyteIsSearchedInPieces) {
  LogLines lines = Search("x{3}");
  const std::string part(600'000, 'x');
  for (uint64_t i = 1; i <= 4; ++i) lines(Text(part, i * part.size()));
  EXPECT_EQ(told_.size(), 2u);
}

TEST_F(LogLinesTest, AnInvalidRegularExpressionIsReportedWithThePositionOfTheError) {
  const auto wrong = LogPattern::Parse("loss [0-9");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::kUsage);
  EXPECT_THAT(wrong.error().message, HasSubstr("missing ]"));
  EXPECT_THAT(wrong.error().message, HasSubstr("from character 6 on"));
}

TEST_F(LogLinesTest, ARegularExpressionWithNestedRepetitionIsMatchedFast) {
  const auto slow = LogPattern::Parse("(a*)*(a*)*b");
  ASSERT_TRUE(slow.ok());
  EXPECT_FALSE(slow->IsIn(std::string(100'000, 'a')));
}

TEST_F(LogLinesTest, TheLastLinesAreReportedOneStreamAfterAnother) {
  LastLinesPerStream last(2);
  for (int i = 1; i <= 5; ++i) {
    const std::string line = StrCat("line ", i, "\n");
    last.Take(Text(line, static_cast<uint64_t>(i) * 7));
    last.Take(Text(line, static_cast<uint64_t>(i) * 7, "stderr"));
  }
  last.Take(Text("no ", 38));
  last.Take(Text("end", 41));
  last.TellAll(Sink());
  EXPECT_THAT(told_, ElementsAre("line 5\n@35", "no end@41", "line 4\n@28", "line 5\n@35"));
  told_.clear();
  last.CutTo(14);
  last.TellAll(Sink());
  EXPECT_THAT(told_, ElementsAre("no end@41", "line 5\n@35"));
}

}  // namespace
}  // namespace tony
