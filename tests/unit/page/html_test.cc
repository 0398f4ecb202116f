#include "runtime/page/html.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

TEST(HtmlTest, EscapedTextCannotBecomeMarkupOrEndAnAttribute) {
  EXPECT_EQ(Escape("<script>alert('1') & \"2\"</script>"),
            "&lt;script&gt;alert(&#39;1&#39;) &amp; &quot;2&quot;&lt;/script&gt;");
  EXPECT_EQ(Link("a\"><b", "<"), "<a href=\"a&quot;&gt;&lt;b\">&lt;</a>");
  EXPECT_EQ(Element("p", "x\" onclick=\"y", "t"), "<p class=\"x&quot; onclick=&quot;y\">t</p>");
}

TEST(HtmlTest, ControlCharactersAndInvalidUtf8AreReplaced) {
  EXPECT_EQ(Escape(std::string_view("a\0b\x1b[2J\x7f", 8)), "a\uFFFDb\uFFFD[2J\uFFFD");
  EXPECT_EQ(Escape("\xff\xc3"), "\uFFFD\uFFFD");
  EXPECT_EQ(Escape("grün\t€\n"), "grün\t€\n");
}

TEST(HtmlTest, TerminalEscapeCodesAreRemovedFromAShownLog) {
  EXPECT_EQ(ReadableLog("\x1b[1;31merror\x1b[0m: x\r\n10%\r20%\n"), "error: x\n10%\n20%\n");
  EXPECT_EQ(ReadableLog("\x1b]0;title\x07"), "\uFFFD]0;title\uFFFD");
  EXPECT_EQ(ReadableLog("\x1b["), "\uFFFD[");
  EXPECT_EQ(ReadableLog("\xe2\x82"), "\uFFFD\uFFFD");
}

TEST(HtmlTest, ThePartsOfABarChartFillItsWholeWidthInProportion) {
  EXPECT_EQ(
      PartsBar({{"good", 1}, {"bad", 0}, {"idle", 2}}, "x<"),
      "<svg class=\"bar\" role=\"img\" aria-label=\"x&lt;\" viewBox=\"0 0 10000 10\" preserveAspectRatio=\"none\">"
      "<rect class=\"good\" x=\"0\" width=\"3333\" height=\"10\"/>"
      "<rect class=\"idle\" x=\"3333\" width=\"6667\" height=\"10\"/></svg>\n");
  EXPECT_EQ(PartsBar({{"good", 0}}, "").find("<rect"), std::string::npos);
}

}  // namespace
}  // namespace tony
