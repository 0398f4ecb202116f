#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "executor/task_logs.h"
#include "runtime/base/strings.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

TEST(LogFilesTest, AShortTextIsShownWhole) { EXPECT_EQ(LastLines("one\ntwo\n"), "one\ntwo\n"); }

TEST(LogFilesTest, ATextWithoutAFinalLineEndGetsOne) { EXPECT_EQ(LastLines("one\ntwo"), "one\ntwo\n"); }

TEST(LogFilesTest, NothingStaysNothing) {
  EXPECT_EQ(LastLines(""), "");
  EXPECT_EQ(LastLines("\n\n"), "");
}

TEST(LogFilesTest, TheLastTwentyLinesAreKept) {
  std::string text, expected;
  for (int i = 1; i <= 30; ++i) {
    text += StrCat("line ", i, "\n");
    if (i > 10) expected += StrCat("line ", i, "\n");
  }
  EXPECT_EQ(LastLines(text), expected);
}

TEST(LogFilesTest, EmptyLinesInsideAreKept) { EXPECT_EQ(LastLines("one\n\ntwo\n\n"), "one\n\ntwo\n"); }

TEST(LogFilesTest, AtMostFourKibibytesAreKeptAndNoCharacterIsCut) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "\u00fc";
  const std::string tail = LastLines("x" + text);
  EXPECT_LE(tail.size(), 4096u);
  EXPECT_GE(tail.size(), 4094u);
  EXPECT_EQ(tail.substr(0, 2), "\u00fc");
}

TEST(LogFilesTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(LastLines("a\xff\x62"), "a\uFFFDb\n");
  EXPECT_EQ(LastLines("\xc3"), "\uFFFD\n") << "a character that was cut";
  EXPECT_EQ(LastLines("\xc0\xaf"), "\uFFFD\uFFFD\n") << "an overlong form";
  EXPECT_EQ(LastLines("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD\n") << "a surrogate";
  EXPECT_EQ(LastLines("\u20ac \U0001F600"), "\u20ac \U0001F600\n");
}

TEST(LogFilesTest, ControlCharactersAndColoursAreDropped) {
  EXPECT_EQ(LastLines(std::string("a\0b\x07\tc\x7f\xc2\x85", 9)), "ab\tc\n");
  EXPECT_EQ(LastLines("\x1b[1;31merror\x1b[0m: x\n"), "error: x\n");
}

TEST(LogFilesTest, OfAProgressBarTheLastStateIsKept) {
  EXPECT_EQ(LastLines("10%\r20%\r30%\r\ndone\r\n"), "30%\ndone\n");
}

TEST(LogFilesTest, TheEndOfALongFileIsRead) {
  const TempFolder folder;
  const auto file = folder.path() / "stderr";
  {
    std::ofstream out(file);
    for (int i = 0; i < 100'000; ++i) out << "line " << i << "\n";
  }
  const std::string tail = ReadLastWords(file).lines;
  EXPECT_TRUE(tail.starts_with("line 99980\n")) << tail;
  EXPECT_TRUE(tail.ends_with("line 99999\n")) << tail;
}

TEST(LogFilesTest, TheTextHasTheLinesBeforeTheLastOnes) {
  std::string text = "\x1b[31mValueError: x\x1b[0m\n", expected = "ValueError: x\n";
  for (int i = 0; i < 500; ++i) text += "noise\n", expected += "noise\n";
  EXPECT_EQ(LastWordsOf(text).text, expected);
  EXPECT_EQ(LastWordsOf("").text, "");
}

TEST(LogFilesTest, AFileThatIsNotThereHasNoLastLines) { EXPECT_EQ(ReadLastWords("/nowhere/stderr").lines, ""); }

// What a task puts in its log's place would get into its outcome.
TEST(LogFilesTest, AFileThatIsALinkOrAPipeHasNoLastLines) {
  const TempFolder folder;
  std::ofstream(folder.path() / "secret") << "secret\n";
  ASSERT_EQ(ReadLastWords(folder.path() / "secret").lines, "secret\n");
  std::filesystem::create_symlink("secret", folder.path() / "stderr");
  EXPECT_EQ(ReadLastWords(folder.path() / "stderr").lines, "");
  ASSERT_EQ(mkfifo((folder.path() / "stdout").c_str(), 0600), 0);
  EXPECT_EQ(ReadLastWords(folder.path() / "stdout").lines, "");
  EXPECT_EQ(ReadLastWords(folder.path()).lines, "") << "a folder";
}

}  // namespace
}  // namespace tony::executor
