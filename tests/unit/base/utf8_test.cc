#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony {
namespace {

TEST(Utf8Test, TheSmallestAndLargestCharactersOfEachEncodedLengthAreAccepted) {
  for (const uint32_t c : {0x1u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    AppendUtf8(text, c);
    EXPECT_TRUE(IsUtf8(text)) << c;
    EXPECT_EQ(ReplaceInvalidUtf8(text), text);
  }
}

TEST(Utf8Test, TheEuroSignAndAnEmojiAreEncodedAsTheirUtf8Bytes) {
  std::string text;
  AppendUtf8(text, 0x20AC);   // euro sign
  AppendUtf8(text, 0x1F600);  // a face
  EXPECT_EQ(text, "\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST(Utf8Test, OverlongFormsSurrogatesAndTruncatedCharactersAreRefused) {
  for (const char* text :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF0\x80\x80\xAF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xE2\x82", "\xF0\x9F\x98", "\xC3(", "\xC3"}) {
    EXPECT_FALSE(IsUtf8(text));
    EXPECT_TRUE(IsUtf8(ReplaceInvalidUtf8(text)));
  }
}

TEST(Utf8Test, OnlyInvalidUtf8BytesAreReplaced) {
  EXPECT_EQ(ReplaceInvalidUtf8("a\xFF\xE2\x82\xAC\x80z"), "a\xEF\xBF\xBD\xE2\x82\xAC\xEF\xBF\xBDz");
  EXPECT_EQ(ValidUtf8Prefix("ab\xFF"), 2u);
}

}  // namespace
}  // namespace tony
