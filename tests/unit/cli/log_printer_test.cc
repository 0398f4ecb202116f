#include "runtime/cli/log_printer.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

class LogPrinterTest : public testing::Test {
 protected:
  LogPrinter Printer(LogStyle style) {
    return LogPrinter(style, [this](std::string_view text) { out_ += text; });
  }
  static AttemptId Worker(int index, int attempt = 1) { return {{"worker", index}, attempt}; }
  std::string out_;
};

TEST_F(LogPrinterTest, EachLineIsPrefixedWithItsTaskAndStderrLinesAreMarked) {
  LogPrinter print = Printer({.prefixed = true, .label_width = 9});
  print({Worker(0), "stdout", "one\ntwo\n"});
  print({Worker(10), "stderr", "bad\n"});
  print({Worker(0, 2), "stdout", "again\n"});
  print({Worker(0), "stdout", "late\n"});
  EXPECT_EQ(out_,
            "worker:0  | one\n"
            "worker:0  | two\n"
            "worker:10 ! bad\n"
            "worker:0#2 | again\n"
            "worker:0   | late\n");
}

TEST_F(LogPrinterTest, LinePrefixesShowTheProcessNumberExceptForTheFirstProcess) {
  LogPrinter print = Printer({.prefixed = true});
  print({Worker(0), "stdout", "one\n"});
  print({Worker(0), "stdout", "two", 1});
  print({Worker(0), "stderr", "bad\n", 2});
  print({Worker(0, 2), "stdout", "again\n", 2});
  EXPECT_EQ(out_,
            "worker:0 | one\n"
            "worker:0/1 | two\n"
            "worker:0/2 ! bad\n"
            "worker:0#2/2 | again\n");
}

TEST_F(LogPrinterTest, LinesOfTwoTasksAreNeverMixed) {
  LogPrinter print = Printer({.prefixed = true});
  print({Worker(0), "stdout", "no end"});
  print({Worker(0), "stdout", " yet"});
  print({Worker(1), "stdout", "whole\n"});
  print({Worker(0), "stdout", "rest"});
  print.Finish();
  EXPECT_EQ(out_, "worker:0 | no end yet\nworker:1 | whole\nworker:0 | rest\n");
}

TEST_F(LogPrinterTest, OutputOfASingleTaskIsPrintedUnchanged) {
  LogPrinter print = Printer({});
  print({Worker(0), "stdout", "a\x1b[31m\n\xFF no end"});
  print({Worker(0, 2), "stdout", "next\n"});
  EXPECT_EQ(out_, "a\x1b[31m\n\xFF no end\n==> worker:0#2 <==\nnext\n");
}

TEST_F(LogPrinterTest, EscapeSequencesAndOverwrittenTextAreRemovedOnATerminal) {
  LogPrinter print = Printer({.prefixed = true, .is_terminal = true, .colour = false});
  print({Worker(0), "stdout", "\x1b[2J\x1b[31mred\n 10%\r 50%\r100%\r\n"});
  EXPECT_EQ(out_, "worker:0 | red\nworker:0 | 100%\n");
}

TEST_F(LogPrinterTest, EachLineShowsItsTimeOrADashIfTheTimeIsUnknown) {
  const Instant when = FromMillis(1'764'166'740'123);
  LogPrinter several = Printer({.prefixed = true, .timestamps = true});
  several({Worker(0), "stdout", "one\n", 0, 4, when});
  several({Worker(0), "stderr", "two\n", 0, 8, std::nullopt});
  LogPrinter one = Printer({.timestamps = true});
  one({Worker(0), "stdout", "three\n", 0, 4, when});
  one({Worker(0), "stdout", "fo", 0, 6, when});
  one({Worker(0), "stdout", "ur\n", 0, 9, when});
  EXPECT_EQ(out_,
            "worker:0 | 2025-11-26T14:19:00Z one\n"
            "worker:0 ! - two\n"
            "2025-11-26T14:19:00Z three\n"
            "2025-11-26T14:19:00Z four\n");
}

TEST_F(LogPrinterTest, LinesOfTheSameTaskHaveTheSameColour) {
  LogPrinter print = Printer({.prefixed = true, .is_terminal = true, .colour = true});
  print({Worker(0), "stdout", "a\n"});
  const std::string first = out_.substr(0, out_.find('a'));
  print({Worker(1), "stdout", "b\n"});
  print({Worker(0), "stdout", "c\n"});
  EXPECT_EQ(out_.find(first + "b"), std::string::npos);
  EXPECT_NE(out_.find(first + "c"), std::string::npos);
}

}  // namespace
}  // namespace tony
