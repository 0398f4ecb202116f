#include <gtest/gtest.h>

#include "runtime/cli/live_table.h"
#include "tests/support/screen_reader.h"

namespace tony {
namespace {

using Lines = std::vector<std::string>;
constexpr TerminalSize kSize = {6, 20};

TEST(ScreenTest, ARedrawnBlockOverwritesTheFormerBlockInPlace) {
  ScreenReader reader(kSize);
  Screen screen;
  reader.Take(screen.Draw({}, {"job RUNNING", "worker:0 waiting"}, kSize));
  reader.Take(screen.Draw({}, {"job RUNNING", "worker:0 up"}, kSize));
  EXPECT_EQ(reader.Text(), "job RUNNING\nworker:0 up\n");
}

TEST(ScreenTest, LinesPrintedAboveTheBlockScrollAwayAndAreNotOverwritten) {
  ScreenReader reader(kSize);
  Screen screen;
  reader.Take(screen.Draw({"logs: /x"}, {"a long first line", "second"}, kSize));
  reader.Take(screen.Draw({"restart 1"}, {"short", "second"}, kSize));
  EXPECT_EQ(reader.Text(), "logs: /x\nrestart 1\nshort\nsecond\n");
  for (int i = 2; i < 9; ++i) reader.Take(screen.Draw({"restart " + std::to_string(i)}, {"short", "second"}, kSize));
  EXPECT_EQ(reader.Text(), "restart 6\nrestart 7\nrestart 8\nshort\nsecond\n");
  EXPECT_EQ(reader.ScrolledAway(), "logs: /x\nrestart 1\nrestart 2\nrestart 3\nrestart 4\nrestart 5\n");
}

TEST(ScreenTest, AShrunkenBlockLeavesNoOldRowsOnTheScreen) {
  ScreenReader reader(kSize);
  Screen screen;
  reader.Take(screen.Draw({}, {"1", "2", "3", "4"}, kSize));
  reader.Take(screen.Draw({}, {"x"}, kSize));
  EXPECT_EQ(reader.Text(), "x\n");
}

TEST(ScreenTest, ARedrawInANarrowerTerminalReplacesTheWholeOldBlock) {
  ScreenReader reader(kSize);
  Screen screen;
  reader.Take(screen.Draw({"above"}, {"job RUNNING 0:01", "worker 3 running"}, kSize));
  constexpr TerminalSize kNarrow = {6, 10};
  reader.Resize(kNarrow);
  reader.Take(screen.Draw({}, {"job RUN..", "worker .."}, kNarrow));
  EXPECT_EQ(reader.Text(), "above\njob RUN..\nworker ..\n");
}

TEST(ScreenTest, ALongLineAboveTheBlockIsWrappedAtBlanks) {
  ScreenReader reader(kSize);
  Screen screen;
  reader.Take(screen.Draw({}, {"job RUNNING 0:01", "worker 3 running", "worker 4 running"}, kSize));
  reader.Take(screen.Draw({"restart 1 (task): worker:0 failed"}, {"job RUNNING"}, kSize));
  EXPECT_EQ(reader.Text(), "restart 1 (task):\n    worker:0 failed\njob RUNNING\n");
}

TEST(ScreenTest, AWordLongerThanARowIsPrintedCompletelyAboveTheBlock) {
  for (const size_t length : {19, 20, 21, 40, 41}) {
    ScreenReader reader({9, 20});
    Screen screen;
    reader.Take(screen.Draw({}, {"job RUNNING 0:01234", "worker 3 running", "worker 4 running"}, {9, 20}));
    const std::string word(length, 'x');
    reader.Take(screen.Draw({word}, {"job RUNNING"}, {9, 20}));
    reader.Take(screen.Draw({}, {"job STOPPING"}, {9, 20}));
    std::string rows;
    for (size_t at = 0; at < length; at += 20) rows += word.substr(at, 20) + "\n";
    EXPECT_EQ(reader.Text(), rows + "job STOPPING\n");
  }
}

// Six wide characters need three rows where two and a half characters fit into a row.
TEST(ScreenTest, AllWrappedRowsOfABlockOfWideCharactersAreErased) {
  Screen screen;
  screen.Draw({}, {"\u753b\u50cf\u5b66\u7fd2\u540d\u524d"}, kSize);
  EXPECT_EQ(screen.Draw({}, {}, {6, 5}), "\r\x1b[3A\x1b[J");
}

TEST(ScreenTest, ColourCodesTakeNoScreenColumns) { EXPECT_EQ(StyledWidth(Styled("abc", Style::kBad, true) + "d"), 4u); }

}  // namespace
}  // namespace tony
