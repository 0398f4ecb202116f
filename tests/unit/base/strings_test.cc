#include "runtime/base/strings.h"

#include <gmock/gmock.h>

#include <cerrno>

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StringsTest, StrCatConcatenatesTextCharactersAndNumbers) {
  EXPECT_EQ(StrCat("worker", ':', 3, '#', int64_t{-2}, std::string("!")), "worker:3#-2!");
  EXPECT_EQ(StrCat(), "");
}

TEST(StringsTest, SplitKeepsEmptyPieces) {
  EXPECT_THAT(Split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(Split(",", ','), ElementsAre("", ""));
  EXPECT_THAT(Split("a", ','), ElementsAre("a"));
  EXPECT_THAT(Split("", ','), IsEmpty());
}

TEST(StringsTest, JoinUndoesSplit) {
  for (const std::string text : {"a,,b", "a", ",", ",,"}) EXPECT_EQ(Join(Split(text, ','), ","), text);
  EXPECT_EQ(Join({}, ", "), "");
  EXPECT_EQ(Join({"x", "x"}, ", "), "x, x");
}

TEST(StringsTest, TrimRemovesWhitespaceOnlyAtBothEnds) {
  EXPECT_EQ(Trim("\t a b \r\n"), "a b");
  EXPECT_EQ(Trim(" \n "), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(StringsTest, ToLowerChangesOnlyAsciiLetters) { EXPECT_EQ(ToLower("Worker-3 \xC3\x96"), "worker-3 \xC3\x96"); }

TEST(StringsTest, ParseIntRejectsTextThatIsNotEntirelyAWholeNumber) {
  EXPECT_EQ(ParseInt("0"), 0);
  EXPECT_EQ(ParseInt("-42"), -42);
  EXPECT_EQ(ParseInt("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", " 1", "1 ", "+1", "0x10", "1.0", "9223372036854775808", "-", "12a"}) {
    EXPECT_EQ(ParseInt(bad), std::nullopt) << bad;
  }
}

TEST(StringsTest, ErrnoTextIsLowerCaseAndWithoutAFullStop) {
  EXPECT_EQ(ErrnoText(ENOENT), "no such file or directory");
  EXPECT_EQ(ErrnoText(EACCES), "permission denied");
}

TEST(StringsTest, ShellWordQuotesAllTextThatAShellWouldChange) {
  EXPECT_EQ(ShellWord("--lr=0.1,2:3@/a%"), "--lr=0.1,2:3@/a%");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("$HOME *"), "'$HOME *'");
  EXPECT_EQ(ShellWord("it's"), R"('it'\''s')");
}

TEST(StringsTest, ToHexWritesEachByteAsTwoHexadecimalDigits) {
  EXPECT_EQ(ToHex(""), "");
  EXPECT_EQ(ToHex(std::string_view("\x00\x0A\x7F\x80\xFF", 5)), "000a7f80ff");
}

}  // namespace
}  // namespace tony
