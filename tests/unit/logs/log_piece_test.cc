#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/logs/local_log_source.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/attempt_folder.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class LogPieceTest : public testing::Test {
 protected:
  LogPieceTest() { std::filesystem::create_directories(AttemptFolder(records_.place(), kAttempt).logs); }
  std::filesystem::path Log() const { return AttemptFolder(records_.place(), kAttempt).logs / "stdout"; }
  void Write(const std::string& text) const { std::ofstream(Log(), std::ios::app) << text; }
  LogPiece Read(std::optional<int64_t> cursor, int64_t most) const {
    return ReadLogPiece(LocalLogSource(records_), kAttempt, "stdout", cursor, most);
  }

  inline static const AttemptId kAttempt{{"worker", 3}, 1};
  TempFolder temp_;
  JobRecords records_ = LocalJobRecords(temp_.path());
};

TEST_F(LogPieceTest, TheTailOfALogStartsAtTheBeginningOfALine) {
  Write("one\ntwo\nthree\n");
  const LogPiece piece = Read(std::nullopt, 8);
  EXPECT_EQ(piece.text, "three\n");
  EXPECT_EQ(piece.begin, 8);
  EXPECT_EQ(piece.next, 14);
  EXPECT_EQ(piece.size, 14);
  EXPECT_EQ(Read(std::nullopt, 100).text, "one\ntwo\nthree\n");
}

TEST_F(LogPieceTest, TheJoinedPiecesEqualTheWholeLog) {
  const std::string text = "grün und €uro und 🚀 und mehr\n";
  Write(text);
  std::string all;
  int64_t cursor = 0;
  for (int i = 0; i < 100; ++i) {
    const LogPiece piece = Read(cursor, 4);
    if (piece.text.empty()) break;
    EXPECT_EQ(piece.begin, cursor);
    all += piece.text;
    cursor = piece.next;
  }
  EXPECT_EQ(all, text);
  Write("more");
  EXPECT_EQ(Read(cursor, 100).text, "more");
}

TEST_F(LogPieceTest, AMultibyteCharacterThatDoesNotFitMovesToTheNextPiece) {
  Write("ab€cd🚀");
  EXPECT_EQ(Read(0, 4).text, "ab");
  EXPECT_EQ(Read(0, 5).text, "ab€");
  for (const int64_t most : {8, 9, 10}) EXPECT_EQ(Read(0, most).text, "ab€cd") << most;
  EXPECT_EQ(Read(0, 11).text, "ab€cd🚀");
}

TEST_F(LogPieceTest, ReadingFromACursorAfterTheEndOfALogReturnsNoText) {
  Write("abc");
  const LogPiece piece = Read(1000, 10);
  EXPECT_EQ(piece.text, "");
  EXPECT_EQ(piece.next, 3);
}

TEST_F(LogPieceTest, ALogReplacedByASymlinkOrAPipeOrAFolderIsReadAsEmpty) {
  EXPECT_EQ(Read(std::nullopt, 10).size, 0);
  std::filesystem::create_symlink("/etc/passwd", Log());
  EXPECT_EQ(Read(std::nullopt, 10).text, "");
  std::filesystem::remove(Log());
  ASSERT_EQ(mkfifo(Log().c_str(), 0600), 0);
  EXPECT_EQ(Read(0, 10).text, "");
  std::filesystem::remove(Log());
  std::filesystem::create_directory(Log());
  EXPECT_EQ(Read(0, 10).text, "");
}

TEST_F(LogPieceTest, AHoleInALogIsSkipped) {
  Write(std::string(8192, 'a') + std::string(1 << 20, 'b') + "end\n");
  const int fd = open(Log().c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 1 << 20), 0);
  close(fd);
  EXPECT_EQ(Read(0, 100'000).text, std::string(8192, 'a'));
  const LogPiece after = Read(8192, 100'000);
  EXPECT_EQ(after.text, "end\n");
  EXPECT_EQ(after.begin, 8192 + (1 << 20));
}

}  // namespace
}  // namespace tony
