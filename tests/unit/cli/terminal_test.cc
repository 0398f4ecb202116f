#include "runtime/cli/terminal.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

TEST(TerminalTest, EscapeAndControlCharactersAreReplaced) {
  EXPECT_EQ(SafeLine("a\x1b[2Jb"), "a?[2Jb");
  EXPECT_EQ(SafeLine("title\x1b]0;owned\x07"), "title?]0;owned?");
  EXPECT_EQ(SafeLine("c1 \xC2\x9B"
                     "31m"),
            "c1 ?31m");
  EXPECT_EQ(SafeLine("del\x7F bell\a"), "del? bell?");
  EXPECT_EQ(SafeLine("two\nlines\tand\rmore"), "two lines and more");
  EXPECT_EQ(SafeText("two\nlines\tand\rmore"), "two\nlines\tand?more");
}

TEST(TerminalTest, TheUnicodeRightToLeftOverrideIsReplaced) {
  EXPECT_EQ(SafeLine("a\xE2\x80\xAE"
                     "b"),
            "a?b");
}

TEST(TerminalTest, InvalidUtf8IsReplacedAndTextOfAnyLanguageIsKept) {
  EXPECT_EQ(SafeLine("\xFF"), "\xEF\xBF\xBD");
  EXPECT_EQ(SafeLine("caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC"), "caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC");
}

TEST(TerminalTest, AllEscapeSequencesExceptColoursAreRemovedFromALog) {
  EXPECT_EQ(SafeLog("\x1b[31mred\nplain", true), "\x1b[31mred\x1b[0m\nplain");
  EXPECT_EQ(SafeLog("\x1b[1;32mok", true), "\x1b[1;32mok\x1b[0m");
  EXPECT_EQ(SafeLog("\x1b[31mred\x1b[0m", false), "red");
  EXPECT_EQ(SafeLog("\x1b[2J\x1b[H\x1b]0;title\x07\x1b]52;c;Zm9v\x1b\\x\x1b"
                    "cy",
                    true),
            "xy");
  EXPECT_EQ(SafeLog("10%\r20%\r\n", true), "10%\r20%\r\n");
  EXPECT_EQ(SafeLog("\x1b]0;never ends\nnext", true), "\nnext");
  EXPECT_EQ(SafeLog("\x1b[", true), "");
}

TEST(TerminalTest, WideCharactersTakeTwoColumnsAndCombiningCharactersTakeNone) {
  EXPECT_EQ(TextWidth("abc"), 3u);
  EXPECT_EQ(TextWidth("\xE6\x97\xA5\xE6\x9C\xAC"), 4u);
  EXPECT_EQ(TextWidth("e\xCC\x81"), 1u);
  EXPECT_EQ(TextWidth("\xF0\x9F\x98\x80"), 2u);
}

// Widths as terminals have them, which use the same Unicode tables. A flag, a family and a sign with a colour are
// measured part by part.
TEST(TerminalTest, CharacterWidthsMatchTheUnicodeTables) {
  EXPECT_EQ(TextWidth("\xE2\x94\x80\xE2\x96\x88"), 2u) << "boxes and blocks";
  EXPECT_EQ(TextWidth("\xEF\xBC\xA1\xEF\xBD\xB1"), 3u) << "full width and half width";
  EXPECT_EQ(TextWidth("\xE0\xB8\x81\xE0\xB8\xB4"), 1u) << "a Thai vowel stands above its consonant";
  EXPECT_EQ(TextWidth("\xE0\xA4\x95\xE0\xA5\x8D"), 1u) << "a Devanagari virama";
  EXPECT_EQ(TextWidth("\xE2\x9C\x94"), 1u) << "a check mark";
  EXPECT_EQ(TextWidth("\xE2\x9C\x85"), 2u) << "one that is an emoji";
  EXPECT_EQ(TextWidth("\xF0\x9F\x9F\xA9"), 2u) << "a green square, of Unicode 12";
  EXPECT_EQ(TextWidth("\xED\x95\x9C"), 2u) << "Hangul";
}

TEST(TerminalTest, TextIsCutBetweenCharactersAndEndsWithDots) {
  EXPECT_EQ(CutToWidth("worker:0", 8), "worker:0");
  EXPECT_EQ(CutToWidth("worker:10", 8), "worker..");
  EXPECT_EQ(CutToWidth("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 5), "\xE6\x97\xA5..");
  EXPECT_EQ(FitToWidth("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 5), "\xE6\x97\xA5.. ") << "one column is left over";
  EXPECT_EQ(CutToWidth("abc", 1), ".");
  EXPECT_EQ(CutToWidth("abc", 0), "");
  EXPECT_EQ(FitToWidth("7", 3, true), "  7");
}

}  // namespace
}  // namespace tony
