#include "runtime/page/merged_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/logs/local_log_source.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class MergedLogsTest : public testing::Test {
 protected:
  MergedLogsTest() {
    for (int i = 0; i < 2; ++i)
      status.tasks.push_back({.id = {"worker", i}, .state = "active", .attempt = 1, .attempt_state = "running"});
  }
  void Write(int index, const std::string& name, const std::string& text) const {
    const auto folder = temp.path() / "logs" / StrCat("worker-", index) / "1";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name) << text;
  }
  MergedLogs Read(const MergedQuery& query = {}) const { return ReadMergedLogs(source, status, query, Instant()); }
  static std::vector<std::string> Texts(const MergedLogs& logs) {
    std::vector<std::string> texts;
    for (const MergedLine& line : logs.lines) texts.push_back(StrCat(ToString(line.attempt.task), " ", line.text));
    return texts;
  }

  TempFolder temp;
  LocalLogSource source{LocalJobRecords(temp.path())};
  JobStatus status;
};

TEST_F(MergedLogsTest, LinesOfAllTasksAreOrderedByTheirTimes) {
  Write(0, "stdout", "a\nb\n");
  Write(0, "stdout.times", "1000 2\n3000 4\n");
  Write(1, "stderr", "c\n");
  Write(1, "stderr.times", "2000 2\n");
  EXPECT_THAT(Texts(Read()), ElementsAre("worker:0 a", "worker:1 c", "worker:0 b"));
}

TEST_F(MergedLogsTest, ASearchSelectsLinesAndTasks) {
  Write(0, "stdout", "loss 1\nLOSS nan\n");
  Write(1, "stdout", "loss 2\nother\n");
  EXPECT_EQ(Read({.text = "Loss"}).matched, 3u);
  EXPECT_THAT(Texts(Read({.text = "nan"})), ElementsAre("worker:0 LOSS nan"));
  EXPECT_THAT(Texts(Read({.task = "worker:1"})), ElementsAre("worker:1 loss 2", "worker:1 other"));
  EXPECT_EQ(Read({.task = "worker"}).tasks, 2u);
  EXPECT_EQ(Read({.task = "work"}).tasks, 0u);
}

TEST_F(MergedLogsTest, OnlyTheEndOfALongLogIsReadAndShown) {
  std::string text = "first\n";
  for (int i = 0; i < 900'000; ++i) text += "line\n";
  Write(0, "stdout", text + "last\n");
  const MergedLogs logs = Read();
  EXPECT_TRUE(logs.is_cut);
  EXPECT_EQ(logs.lines.size(), 1000u);
  EXPECT_EQ(logs.lines.back().text, "last");
  EXPECT_EQ(Read({.text = "first"}).matched, 0u);
  EXPECT_THAT(MergedLogsHtml(status, {}, logs), HasSubstr("The newest 1000 are shown. Only the ends of long logs"));
}

TEST_F(MergedLogsTest, TextIsEscaped) {
  Write(0, "stdout", "<script>x\x1b[31m\n");
  const std::string html = MergedLogsHtml(status, {"<script>x", "<script>x"}, Read());
  EXPECT_THAT(html, Not(HasSubstr("<script>x")));
  EXPECT_THAT(html, HasSubstr("<a href=\"worker-0/1/stdout\">worker:0</a> | &lt;script&gt;x\n"));
}

}  // namespace
}  // namespace tony
