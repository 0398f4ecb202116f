#include "runtime/logs/log_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/unique_fd.h"
#include "runtime/logs/local_log_source.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class LogReaderTest : public testing::Test {
 protected:
  void Append(const std::string& task, int attempt, const std::string& stream, const std::string& text) {
    const auto logs = folder_ / "logs" / task / std::to_string(attempt);
    std::filesystem::create_directories(logs);
    std::ofstream(logs / stream, std::ios::app | std::ios::binary) << text;
  }
  std::string Read(LogReader& reader, size_t limit, bool last) {
    std::string seen;
    all_ = reader.Read(limit, last, [&](const LogText& log) { seen += Shown(log); });
    return seen;
  }

  std::string ReadLast(LogReader& reader, uint64_t lines, size_t limit) {
    std::string seen;
    reader.ReadLastLines(lines, limit, false, [&](const LogText& log) { seen += Shown(log); });
    return seen;
  }

  // Writes a log whose middle was cut out. Returns false if this file system does not report holes.
  bool AppendWithCut() {
    constexpr off_t kHole = 8 << 20;
    Append("worker-0", 1, "stdout", "head\nnever ende" + std::string(4081, 'd'));
    const auto file = folder_ / "logs/worker-0/1/stdout";
    std::filesystem::resize_file(file, 4096 + kHole);
    if (!HasHole(file)) return false;
    Append("worker-0", 1, "stdout", "of a line\ntail\n");
    return true;
  }

  void MakeWorkersOfTwoProcesses() const {
    JobSpec spec;
    spec.roles = {{.name = "worker", .command = "true", .processes = 2}};
    std::ofstream(folder_ / "spec.json") << ToJson(spec);
  }
  static std::string Shown(const LogText& log) {
    return ToString(log.attempt) + "/" + NameForProcess(log.stream, log.process) + ":" + std::string(log.text);
  }
  static bool HasHole(const std::filesystem::path& file) {
    const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    return lseek(fd.get(), 0, SEEK_HOLE) < static_cast<off_t>(std::filesystem::file_size(file));
  }

  TempFolder temp_;
  const std::filesystem::path folder_ = temp_.path();
  const LocalLogSource logs_{LocalJobRecords(folder_)};
  LogCursor cursor_;
  bool all_ = false;
};

TEST_F(LogReaderTest, StdoutAndStderrOfEachProcessOfATaskAreRead) {
  for (const char* stream : {"stdout", "stderr", "stdout-1", "stderr-1", "stdout-2"})
    Append("worker-0", 1, stream, std::string(stream) + "\n");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(Read(reader, 1000, true), "worker:0#1/stdout:stdout\nworker:0#1/stderr:stderr\n") << "one process";
  MakeWorkersOfTwoProcesses();
  EXPECT_EQ(Read(reader, 1000, true), "worker:0#1/stdout-1:stdout-1\nworker:0#1/stderr-1:stderr-1\n")
      << "there is no third one: what has its name is the task's own file";
  Append("worker-0", 1, "stdout-1", "more\n");
  EXPECT_EQ(Read(reader, 1000, true), "worker:0#1/stdout-1:more\n");
  EXPECT_EQ(ReadLast(reader, 1, 1000),
            "worker:0#1/stdout:stdout\nworker:0#1/stderr:stderr\n"
            "worker:0#1/stdout-1:more\nworker:0#1/stderr-1:stderr-1\n");
}

TEST_F(LogReaderTest, TheNewestAttemptOfEachTaskIsReadInTaskOrder) {
  Append("worker-10", 1, "stdout", "ten\n");
  Append("worker-2", 1, "stdout", "old\n");
  Append("worker-2", 11, "stdout", "new\n");
  Append("my-role-0", 1, "stderr", "dashes\n");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(Read(reader, 1000, true), "my-role:0#1/stderr:dashes\nworker:2#11/stdout:new\nworker:10#1/stdout:ten\n");
}

TEST_F(LogReaderTest, ANewAttemptIsReadAfterAllOutputOfThePreviousAttempt) {
  Append("worker-0", 1, "stdout", "never begun\n");
  Append("worker-0", 2, "stdout", "one\n");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(Read(reader, 1000, false), "worker:0#2/stdout:one\n");
  Append("worker-0", 2, "stdout", "last words\nunfinished");
  Append("worker-0", 3, "stdout", "again\nunfini");
  EXPECT_EQ(Read(reader, 1000, false),
            "worker:0#2/stdout:last words\nunfinished"
            "worker:0#3/stdout:again\n");
  LogCursor copy;
  ASSERT_TRUE(copy.Set(cursor_.Text()).ok());
  LogReader later(logs_, {}, copy);
  Append("worker-0", 3, "stdout", "shed\n");
  EXPECT_EQ(Read(later, 1000, false), "worker:0#3/stdout:unfinished\n");
}

TEST_F(LogReaderTest, AnIncompleteLineIsReturnedOnceTheLineIsCompletedOrAtTheLastRead) {
  Append("worker-0", 1, "stdout", "one\ntw");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(Read(reader, 1000, false), "worker:0#1/stdout:one\n");
  EXPECT_EQ(Read(reader, 1000, false), "");
  Append("worker-0", 1, "stdout", "o\nthree");
  EXPECT_EQ(Read(reader, 1000, false), "worker:0#1/stdout:two\n");
  EXPECT_EQ(Read(reader, 1000, true), "worker:0#1/stdout:three");
}

TEST_F(LogReaderTest, ASecondReaderContinuesAtTheCursorOfTheFirstReader) {
  Append("worker-0", 1, "stdout", "one\ntwo\n");
  LogReader first(logs_, {}, cursor_);
  EXPECT_EQ(Read(first, 5, true), "worker:0#1/stdout:one\n");
  EXPECT_FALSE(all_);
  LogCursor copy;
  ASSERT_TRUE(copy.Set(cursor_.Text()).ok());
  LogReader second(logs_, {}, copy);
  EXPECT_EQ(Read(second, 1000, true), "worker:0#1/stdout:two\n");
  EXPECT_TRUE(all_);
}

TEST_F(LogReaderTest, ALogTruncatedByItsTaskIsReadFromTheBeginningAgain) {
  Append("worker-0", 1, "stdout", "a long first line\n");
  LogReader reader(logs_, {}, cursor_);
  Read(reader, 1000, true);
  std::ofstream(folder_ / "logs/worker-0/1/stdout", std::ios::trunc) << "new\n";
  EXPECT_EQ(Read(reader, 1000, true), "worker:0#1/stdout:[... the task emptied this log ...]\nworker:0#1/stdout:new\n");
  EXPECT_EQ(Read(reader, 1000, true), "");
}

TEST_F(LogReaderTest, ALogOfExactlyTheByteLimitIsReadCompletely) {
  Append("worker-0", 1, "stdout", "four");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(Read(reader, 4, true), "worker:0#1/stdout:four");
  EXPECT_TRUE(all_);
}

TEST_F(LogReaderTest, ALineLongerThanTheByteLimitIsCutBetweenCharacters) {
  Append("worker-0", 1, "stdout", "ab\xC3\xA9\xC3\xA9\n");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(Read(reader, 5, true), "worker:0#1/stdout:ab\xC3\xA9");
  EXPECT_FALSE(all_);
  EXPECT_EQ(Read(reader, 100, true), "worker:0#1/stdout:\xC3\xA9\n");
}

TEST_F(LogReaderTest, AHoleInALogIsReportedInOneLineAndSkippedByTheCursor) {
  if (!AppendWithCut()) GTEST_SKIP() << "this file system does not tell where holes are";
  LogReader reader(logs_, {}, cursor_);
  const std::string seen = Read(reader, 100000, false);
  EXPECT_THAT(seen, testing::HasSubstr("stdout:\n[... 8389 kB cut ...]\n"));
  EXPECT_THAT(seen, testing::EndsWith("stdout:of a line\ntail\n"));
  EXPECT_EQ(Read(reader, 1000, true), "");
}

TEST_F(LogReaderTest, AReadAfterReadingTheLastLinesReturnsOnlyNewText) {
  Append("worker-0", 1, "stdout", "of an earlier attempt\n");
  Append("worker-0", 2, "stdout", "one\ntwo\nthree\n");
  Append("worker-0", 2, "stderr", "problem\n");
  Append("worker-1", 1, "stdout", "a\nb\nunfini");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(ReadLast(reader, 2, 1000),
            "worker:0#2/stdout:two\nthree\nworker:0#2/stderr:problem\nworker:1#1/stdout:b\nunfini");
  Append("worker-1", 1, "stdout", "shed\n");
  Append("worker-0", 2, "stdout", "four\n");
  LogCursor copy;
  ASSERT_TRUE(copy.Set(cursor_.Text()).ok());
  LogReader later(logs_, {}, copy);
  EXPECT_EQ(Read(later, 1000, false), "worker:0#2/stdout:four\nworker:1#1/stdout:shed\n");
}

TEST_F(LogReaderTest, ReadingZeroLastLinesOnlySetsTheCursor) {
  Append("worker-0", 1, "stdout", "one\n");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(ReadLast(reader, 0, 1000), "");
  EXPECT_EQ(cursor_.Text(), "worker:0#1/stderr=0,worker:0#1/stdout=4");
}

TEST_F(LogReaderTest, LargeStreamsMayUseTheBytesThatSmallStreamsLeaveUnused) {
  Append("worker-0", 1, "stdout", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  Append("worker-0", 1, "stderr", "e\n");
  Append("worker-1", 1, "stdout", "11\n12\n13\n14\n");
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(ReadLast(reader, 100, 32),
            "worker:0#1/stdout:1\n2\n3\n4\n5\n6\n7\n8\n9\n"
            "worker:0#1/stderr:e\n"
            "worker:1#1/stdout:11\n12\n13\n14\n");
  EXPECT_EQ(ReadLast(reader, 100, 16),
            "worker:0#1/stdout:7\n8\n9\n"
            "worker:0#1/stderr:e\n"
            "worker:1#1/stdout:13\n14\n");
  LogReader one(logs_, LogChoice::Of(TaskId{"worker", 1}), cursor_);
  EXPECT_EQ(ReadLast(one, 100, 8), "worker:1#1/stdout:13\n14\n") << "what it does not use is nobody's";
  EXPECT_EQ(ReadLast(reader, 100, 2), "");
  EXPECT_EQ(Read(reader, 100, true), "") << "the cursor is behind what had no place";
}

TEST_F(LogReaderTest, LastLinesOf300KbAreReturnedComplete) {
  std::string text;
  for (int line = 0; text.size() < 300'000; ++line) text += "line " + std::to_string(line) + "\n";
  Append("worker-0", 1, "stdout", text + "end");
  LogReader reader(logs_, {}, cursor_);
  std::string seen;
  reader.ReadLastLines(1'000'000, 400'000, false, [&](const LogText& log) { seen += log.text; });
  EXPECT_EQ(seen, text + "end");
  Append("worker-0", 1, "stdout", " of all");
  EXPECT_EQ(Read(reader, 1000, true), "worker:0#1/stdout: of all");
}

TEST_F(LogReaderTest, TheLastLinesIncludeTheLineThatReportsAHole) {
  if (!AppendWithCut()) GTEST_SKIP() << "this file system does not tell where holes are";
  LogReader reader(logs_, {}, cursor_);
  EXPECT_EQ(ReadLast(reader, 2, 10'000), "worker:0#1/stdout:of a line\ntail\n");
  const std::string seen = ReadLast(reader, 3, 10'000);
  EXPECT_THAT(seen, testing::StartsWith("worker:0#1/stdout:never ende"));
  EXPECT_THAT(seen, testing::HasSubstr("stdout:\n[... 8389 kB cut ...]\n"));
  EXPECT_THAT(seen, testing::EndsWith("stdout:of a line\ntail\n"));
  EXPECT_EQ(Read(reader, 1000, true), "");
}

TEST_F(LogReaderTest, TextWrittenDuringTheReadIsNotPartOfTheLastLines) {
  const std::string line(50'000, 'x');
  Append("worker-0", 1, "stdout", line + "\n" + line + "\n");
  LogReader reader(logs_, {.standard_error = false}, cursor_);
  std::string seen;
  const auto write_on = [&](const LogText& log) {
    seen += log.text;
    Append("worker-0", 1, "stdout", "new\n");
  };
  reader.ReadLastLines(2, 1'000'000, false, write_on);
  EXPECT_EQ(seen, line + "\n" + line + "\n");
  EXPECT_EQ(cursor_.Text(), "worker:0#1/stdout=100002");

  const auto file = folder_ / "logs/worker-0/1/stdout";
  std::filesystem::resize_file(file, 8 << 20);
  if (!HasHole(file)) GTEST_SKIP() << "this file system does not tell where holes are";
  Append("worker-0", 1, "stdout", "tail\n");
  seen.clear();
  reader.ReadLastLines(2, 1'000'000, false, write_on);
  EXPECT_THAT(seen, testing::EndsWith(" cut ...]\ntail\n"));
}

TEST_F(LogReaderTest, AMalformedCursorIsRefused) {
  for (const char* bad : {"x", "a=b", "a=-1", "a=1,b"}) EXPECT_FALSE(cursor_.Set(bad).ok()) << bad;
  EXPECT_TRUE(cursor_.Set("").ok());
}

}  // namespace
}  // namespace tony
