#include "runtime/cli/text_table.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/cli/live_table.h"

namespace tony {
namespace {

TextTable Jobs() {
  TextTable table({{"JOB"}, {"STATE"}, {"AGE", 1}, {"CPU", 3, true}, {"NAME", 2, false, 6}, {"NEWS", 1, false, 8}});
  table.Add({"local-1", "RUNNING", "3 min", "98%", "resnet", "-"});
  table.Add({"local-22",
             {"FAILED", Style::kBad},
             "1 h",
             "-",
             "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E-training",
             "FAILED: worker:1 failed on node-3"});
  return table;
}

TEST(TextTableTest, TableCellsAreNotCutWhenTheOutputIsNotATerminal) {
  EXPECT_EQ(Jobs().Text({}),
            "JOB       STATE    AGE    CPU  NAME             NEWS\n"
            "local-1   RUNNING  3 min  98%  resnet           -\n"
            "local-22  FAILED   1 h      -  \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E-training  FAILED: worker:1 failed on "
            "node-3\n");
}

TEST(TextTableTest, ANarrowTableFirstCutsCellsAndThenDropsColumns) {
  EXPECT_EQ(Jobs().Text({60, false}),
            "JOB       STATE    AGE    CPU  NAME    NEWS\n"
            "local-1   RUNNING  3 min  98%  resnet  -\n"
            "local-22  FAILED   1 h      -  \xE6\x97\xA5\xE6\x9C\xAC..  FAILED: worker:1 fa..\n");
  EXPECT_EQ(Jobs().Text({36, false}),
            "JOB       STATE    AGE    NEWS\n"
            "local-1   RUNNING  3 min  -\n"
            "local-22  FAILED   1 h    FAILED: ..\n");
  EXPECT_EQ(Jobs().Text({18, false}),
            "JOB       STATE\n"
            "local-1   RUNNING\n"
            "local-22  FAILED\n");
}

TEST(TextTableTest, NoLineIsEverWiderThanTheTerminal) {
  for (size_t columns = 1; columns <= 130; ++columns) {
    const std::string text = Jobs().Text({columns, columns % 2 == 0});
    for (const std::string& line : Split(text.substr(0, text.size() - 1), '\n'))
      EXPECT_LE(StyledWidth(line), columns) << columns << ": " << line;
  }
}

TEST(TextTableTest, CellsAreColouredOnlyIfColoursAreEnabled) {
  EXPECT_EQ(Jobs().Text({80, false}).find('\x1b'), std::string::npos);
  EXPECT_NE(Jobs().Text({80, true}).find("  \x1b[31mFAILED \x1b[0m  1 h"), std::string::npos);
}

TEST(TextTableTest, TextIsWrappedAtBlanksAndLongWordsAreNotSplit) {
  EXPECT_EQ(Wrapped("one two three four", 0, 2), "one two three four");
  EXPECT_EQ(Wrapped("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(Wrapped("  --option    what it does", 20, 14), "  --option    what\n              it\n              does");
  EXPECT_EQ(Wrapped("see http://localhost:1234/a/long/address now", 12, 2),
            "see\n  http://localhost:1234/a/long/address\n  now");
  EXPECT_EQ(Wrapped("\xE6\x97\xA5\xE6\x9C\xAC \xE8\xAA\x9E", 6, 0), "\xE6\x97\xA5\xE6\x9C\xAC\n\xE8\xAA\x9E");
}

}  // namespace
}  // namespace tony
