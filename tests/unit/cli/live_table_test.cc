#include "runtime/cli/live_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kMega = 1 << 20;

TaskStatus Task(const std::string& role, int index, const std::string& state) {
  return {.id = {role, index},
          .state = "active",
          .attempt = 1,
          .attempt_state = state,
          .host = "node-7",
          .usage = Usage{.samples = 5,
                         .memory_bytes = 312 * kMega,
                         .most_memory_bytes = 340 * kMega,
                         .millicores = 980,
                         .elapsed = Duration(60'000)},
          .started = FromMillis(10'000)};
}

JobStatus Job(std::vector<TaskStatus> tasks) {
  JobStatus status;
  status.job = {"local-1"};
  status.name = "resnet";
  status.framework = "tensorflow";
  status.state = "RUNNING";
  status.generation = {1};
  status.submitted = FromMillis(5'000);
  status.tasks = std::move(tasks);
  return status;
}

std::string Table(const JobStatus& status, int rows = 24, int columns = 80, bool colour = false) {
  const auto lines =
      TableLines(status, {{rows, columns}, colour, FromMillis(85'000), {{"ps", 512 * kMega}, {"worker", 512 * kMega}}});
  EXPECT_LT(lines.size(), static_cast<size_t>(rows));
  for (const std::string& line : lines) EXPECT_LT(StyledWidth(line), static_cast<size_t>(columns)) << line;
  std::string text;
  for (const std::string& line : lines) text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

TEST(LiveTableTest, TheRowOfATaskHasColumnsForStateAttemptTimeMemoryCpuAndHost) {
  JobStatus status = Job({Task("ps", 0, "running"), Task("worker", 0, "running"), Task("worker", 1, "registered")});
  status.tasks[2].usage.reset();
  status.tasks[2].started.reset();
  EXPECT_EQ(Table(status),
            "job RUNNING 1:20: resnet (tensorflow)\n"
            "  ps      1 running\n"
            "  worker  1 registered, 1 running\n"
            "TASK      STATE       ATTEMPT   TIME      MEMORY   CPU  HOST\n"
            "ps:0      running           1   1:15  312/512 MB   98%  node-7\n"
            "worker:0  running           1   1:15  312/512 MB   98%  node-7\n"
            "worker:1  registered        1      -           -     -  node-7\n");
}

TEST(LiveTableTest, FailedAndSilentTasksAreShownFirstAndTasksThatDoNotFitAreCounted) {
  std::vector<TaskStatus> tasks = {Task("ps", 0, "running")};
  for (int i = 0; i < 999; ++i) tasks.push_back(Task("worker", i, i < 900 ? "running" : "launching"));
  tasks[500].attempt_state = "failed";
  tasks[500].outcome = Outcome{.cls = OutcomeClass::kUserError, .exit = ExitStatus{ExitStatus::Kind::kExited, 3}};
  tasks[700].suspect = true;
  tasks[800].attempt = 3;
  const std::string table = Table(Job(tasks), 12, 90);
  EXPECT_EQ(table,
            "job RUNNING 1:20: resnet (tensorflow)\n"
            "  ps      1 running\n"
            "  worker  1 failed, 1 silent, 99 launching, 898 running\n"
            "TASK        STATE       ATTEMPT   TIME      MEMORY   CPU  HOST\n"
            "worker:499  failed            1   1:15  312/512 MB   98%  node-7     exit code 3\n"
            "worker:699  silent            1   1:15  312/512 MB   98%  node-7\n"
            "worker:900  launching         1   1:15  312/512 MB   98%  node-7\n"
            "worker:901  launching         1   1:15  312/512 MB   98%  node-7\n"
            "worker:902  launching         1   1:15  312/512 MB   98%  node-7\n"
            "worker:903  launching         1   1:15  312/512 MB   98%  node-7\n"
            "... and 994 more: 95 launching, 899 running\n");
  EXPECT_EQ(std::ranges::count(Table(Job(tasks)), '\n'), 23);
}

TEST(LiveTableTest, ARestartingGangIsShownWithItsGenerationItsRestartCountAndItsLastFailure) {
  JobStatus status = Job({Task("worker", 0, "failed"), Task("worker", 1, "killed")});
  status.state = "RESTARTING";
  status.generation = {2};
  status.restart_count = 1;
  status.tasks[0].state = status.tasks[1].state = "backoff";
  for (TaskStatus& task : status.tasks) task.ended = FromMillis(70'000);
  status.tasks[0].outcome = Outcome{
      .cls = OutcomeClass::kOom, .exit = ExitStatus{ExitStatus::Kind::kSignaled, 9}, .message = "out of memory"};
  EXPECT_EQ(Table(status, 24, 110),
            "job RESTARTING 1:20, generation 2, 1 restart: resnet (tensorflow)\n"
            "  worker  2 backoff\n"
            "TASK      STATE       ATTEMPT   TIME      MEMORY   CPU  HOST\n"
            "worker:0  backoff           1   1:00  340/512 MB    0%  node-7     signal 9 (SIGKILL), out of memory\n"
            "worker:1  backoff           1   1:00  340/512 MB    0%  node-7\n");
}

TEST(LiveTableTest, AJobThatWaitsForContainersShowsThePendingReason) {
  JobStatus status = Job({{.id = {"worker", 0}, .state = "active", .attempt = 1, .attempt_state = "requested"}});
  status.state = "ALLOCATING";
  status.delay = "waits for 8192 MB of memory: 2 jobs are before it";
  status.trouble = "journal: no space left on device";
  EXPECT_EQ(Table(status),
            "job ALLOCATING 1:20: resnet (tensorflow)\n"
            "  waits for 8192 MB of memory: 2 jobs are before it\n"
            "  degraded: journal: no space left on device\n"
            "  worker  1 requested\n"
            "TASK      STATE       ATTEMPT   TIME      MEMORY   CPU  HOST\n"
            "worker:0  requested         1      -           -     -  -\n");
  status.verdict = Verdict{};
  EXPECT_THAT(Table(status), Not(HasSubstr("waits for"))) << "it is over";
}

TEST(LiveTableTest, ANarrowTerminalShowsOnlyTheColumnsTaskStateTimeAndMemory) {
  JobStatus status = Job({Task("worker", 0, "running"), Task("worker", 1, "running")});
  status.delay = "waits for 8192 MB of memory: 2 jobs are before it";
  EXPECT_EQ(Table(status, 24, 40),
            "job RUNNING 1:20: resnet (tensorflow)\n"
            "  waits for 8192 MB of memory: 2 jobs..\n"
            "  worker  2 running\n"
            "TASK      STATE        TIME      MEMORY\n"
            "worker:0  running      1:15  312/512 MB\n"
            "worker:1  running      1:15  312/512 MB\n");
}

TEST(LiveTableTest, TheTableFitsIntoATerminalOfAnySize) {
  std::vector<TaskStatus> tasks;
  for (int i = 0; i < 40; ++i) tasks.push_back(Task("role" + std::to_string(i / 2), i % 2, "running"));
  for (const int rows : {2, 3, 4, 5, 6, 10, 24}) {
    for (const int columns : {2, 5, 12, 20, 40, 200}) EXPECT_FALSE(Table(Job(tasks), rows, columns).empty());
  }
  EXPECT_THAT(Table(Job(tasks), 12), HasSubstr("  ... and 16 more roles\n"));
}

TEST(LiveTableTest, ControlCharactersInNamesAndMessagesAreNotPrinted) {
  JobStatus status = Job({Task("worker", 0, "failed")});
  status.name = "\x1b]0;owned\x07\xE6\x97\xA5\xE6\x9C\xAC";
  status.tasks[0].host = "ho\x1b[2Jst";
  status.tasks[0].outcome = Outcome{.cls = OutcomeClass::kUserError, .message = "bad\n\x1b[31mred"};
  status.delay = "\x1b[H";
  const std::string table = Table(status, 24, 120);
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(table.find('\x07'), std::string::npos);
  EXPECT_THAT(table, HasSubstr("\xE6\x97\xA5\xE6\x9C\xAC"));
}

TEST(LiveTableTest, FailedTasksAreRedAndSucceededTasksAreGreen) {
  const std::string table = Table(Job({Task("worker", 0, "failed"), Task("worker", 1, "succeeded")}), 24, 80, true);
  EXPECT_THAT(table, HasSubstr("\n\x1b[31mworker:0  failed            1 "));
  EXPECT_THAT(table, HasSubstr("\x1b[32msucceeded \x1b[0m"));
}

TEST(LiveTableTest, TheGpuColumnIsShownOnlyIfATaskHasAGpu) {
  JobStatus status = Job({Task("worker", 0, "running")});
  EXPECT_THAT(Table(status), Not(HasSubstr("GPU")));
  status.tasks[0].usage->gpu = GpuUsage{.percent = 87};
  EXPECT_THAT(Table(status), HasSubstr("87%"));
}

}  // namespace
}  // namespace tony
