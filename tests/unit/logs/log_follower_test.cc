#include "runtime/logs/log_follower.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/logs/local_log_source.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace {

bool watches_are_used_up = false;
int refused_watches = 0;

}  // namespace

// Replaces the C library's function in this program, because a user's inotify watches can be used up.
extern "C" int inotify_add_watch(int fd, const char* path, uint32_t events) noexcept {
  if (!watches_are_used_up) return static_cast<int>(syscall(SYS_inotify_add_watch, fd, path, events));
  ++refused_watches;
  errno = ENOSPC;
  return -1;
}

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

// Reports new attempts only when it is asked to check.
class SilentWatch : public LogWatch {
 public:
  SilentWatch(const LogSource& logs, LogWatchSink sink, const bool& blind)
      : logs_(logs), sink_(std::move(sink)), blind_(blind) {}
  void Look() override {
    for (const AttemptId& attempt : logs_.Attempts(std::nullopt))
      if (told_.insert(attempt).second) sink_.on_attempt(attempt);
  }
  bool is_blind() const override { return blind_; }

 private:
  const LogSource& logs_;
  const LogWatchSink sink_;
  const bool& blind_;
  std::set<AttemptId> told_;
};

// The same logs with a watch that reports nothing, from the start or later on.
class SilentLogs : public LogSource {
 public:
  SilentLogs(const LogSource& logs, bool blind) : logs_(logs), blind_(blind) {}
  void GoBlind() {
    blind_ = true;
    on_missed_();
  }
  std::vector<AttemptId> Attempts(const std::optional<TaskId>& task) const override { return logs_.Attempts(task); }
  std::unique_ptr<LogStream> Open(const AttemptId& attempt, std::string_view stream) const override {
    return logs_.Open(attempt, stream);
  }
  int Processes(const TaskId& task) const override { return logs_.Processes(task); }
  std::optional<Files> List(const AttemptId& attempt) const override { return logs_.List(attempt); }
  std::unique_ptr<LogWatch> Watch(EventLoop&, const std::optional<TaskId>&, LogWatchSink sink) const override {
    on_missed_ = sink.on_missed;
    return std::make_unique<SilentWatch>(logs_, std::move(sink), blind_);
  }

 private:
  const LogSource& logs_;
  bool blind_;
  mutable std::function<void()> on_missed_;
};

// A job that consists only of its folder.
class LogFollowerTest : public testing::Test {
 protected:
  LogFollowerTest() {
    watches_are_used_up = false;
    refused_watches = 0;
  }
  void Append(const std::string& task, int attempt, const std::string& text, const std::string& stream = "stdout") {
    const auto logs = home_.path() / "logs" / task / std::to_string(attempt);
    std::filesystem::create_directories(logs);
    std::ofstream(logs / stream, std::ios::app | std::ios::binary) << text;
  }
  void EndJob() {
    JobStatus status;
    status.state = "SUCCEEDED";
    status.verdict = Verdict{};
    ASSERT_TRUE(LocalJobRecords(home_.path()).WriteStatus(status, Durability::kLostWithPower).ok());
  }
  void Start(LogChoice choice = {}) { Follow(logs_, choice); }
  void Follow(const LogSource& logs, LogChoice choice = {}) {
    follower_ = std::make_unique<LogFollower>(loop_, LogFollower::Job{logs, [this] { return HasEnded(); }}, choice,
                                              cursor_, [this](const LogText& log) { Take(log); });
    follower_->Start([this] { done_ = true; });
  }
  bool HasEnded() const {
    const auto status = LocalJobRecords(home_.path()).ReadStatus();
    return status.ok() && *status && (*status)->verdict;
  }
  void Take(const LogText& log) {
    pieces_.push_back(ToString(log.attempt) + "/" + NameForProcess(log.stream, log.process));
    bytes_ += log.text.size();
    longest_ = std::max(longest_, log.text.size());
    if (log.text.size() < 1000) pieces_.back() += ":" + std::string(log.text);
  }
  bool RunToEnd() {
    return RunUntil(loop_, [this] { return done_; });
  }
  bool RunUntilPieces(size_t count) {
    return RunUntil(loop_, [this, count] { return pieces_.size() >= count; });
  }

  TempFolder home_;
  const LocalLogSource logs_{LocalJobRecords(home_.path())};
  EventLoop loop_;
  LogCursor cursor_;
  std::unique_ptr<LogFollower> follower_;
  std::vector<std::string> pieces_;
  size_t bytes_ = 0, longest_ = 0;
  bool done_ = false;
};

TEST_F(LogFollowerTest, TheLogsOfEachProcessOfATaskAreFollowed) {
  JobSpec spec;
  spec.roles = {{.name = "worker", .command = "true", .processes = 2}};
  std::ofstream(home_.path() / "spec.json") << ToJson(spec);
  Append("worker-0", 1, "one\n");
  Start();
  ASSERT_TRUE(RunUntilPieces(1));
  Append("worker-0", 1, "two\n", "stderr-1");
  ASSERT_TRUE(RunUntilPieces(2));
  Append("worker-0", 1, "three\n", "stdout-2");  // a file that the task made
  EndJob();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(pieces_, testing::ElementsAre("worker:0#1/stdout:one\n", "worker:0#1/stderr-1:two\n"));
}

TEST_F(LogFollowerTest, LinesAreDeliveredAsTheyAreWrittenUntilTheJobEnds) {
  Start();
  Append("worker-0", 1, "one\n");
  ASSERT_TRUE(RunUntilPieces(1));
  Append("worker-1", 1, "two\nthr", "stderr");
  ASSERT_TRUE(RunUntilPieces(2));
  EXPECT_FALSE(done_);
  Append("worker-1", 1, "ee", "stderr");
  EndJob();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(pieces_, ElementsAre("worker:0#1/stdout:one\n", "worker:1#1/stderr:two\n", "worker:1#1/stderr:three"));
  EXPECT_EQ(cursor_.Text(), "worker:0#1/stderr=0,worker:0#1/stdout=4,worker:1#1/stderr=9,worker:1#1/stdout=0");
}

TEST_F(LogFollowerTest, FollowingAnEndedJobReadsTheNewestLogAndFinishes) {
  Append("worker-0", 1, "old\n");
  Append("worker-0", 2, "last");
  EndJob();
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(pieces_, ElementsAre("worker:0#2/stdout:last"));
}

TEST_F(LogFollowerTest, AnUnfinishedLineIsDeliveredAfterAPauseAndWhenTheAttemptEnds) {
  Start();
  Append("worker-0", 1, "password: ");
  ASSERT_TRUE(RunUntilPieces(1));
  Append("worker-0", 1, "secret");
  Append("worker-0", 1, "{}", "outcome.json");
  ASSERT_TRUE(RunUntilPieces(2));
  EXPECT_THAT(pieces_, ElementsAre("worker:0#1/stdout:password: ", "worker:0#1/stdout:secret"));
}

TEST_F(LogFollowerTest, ANewAttemptIsReadAfterAllOutputOfThePreviousAttempt) {
  Start();
  Append("worker-0", 1, std::string(3'000'000, 'x'));
  Append("worker-0", 1, "\nlast words");
  Append("worker-0", 2, "again\n");
  ASSERT_TRUE(RunUntil(loop_, [this] { return bytes_ == 3'000'000 + 17; }));
  EXPECT_EQ(pieces_.back(), "worker:0#2/stdout:again\n");
  EXPECT_THAT(pieces_.front(), StartsWith("worker:0#1"));
}

TEST_F(LogFollowerTest, ALineOf20MbIsDeliveredInPiecesOfAtMostOneAndAHalfMb) {
  const std::string part(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) Append("worker-0", 1, part);
  Start();
  ASSERT_TRUE(RunUntil(loop_, [this] { return bytes_ == 20u << 20; }));
  EXPECT_LE(longest_, 3u << 19);
  EXPECT_GE(pieces_.size(), 10u);
}

TEST_F(LogFollowerTest, ASlowlyWrittenLineOf900KbIsDeliveredWhole) {
  Start();
  const std::string part(100'000, 'x');
  for (int i = 0; i < 9; ++i) {
    Append("worker-0", 1, part);
    RunUntil(
        loop_, [] { return false; }, Duration(10));
  }
  Append("worker-0", 1, "\n");
  ASSERT_TRUE(RunUntilPieces(1));
  EXPECT_EQ(longest_, 900'001u);
}

TEST_F(LogFollowerTest, ATaskWithMuchOutputDoesNotDelayAnotherTask) {
  const std::string megabyte = std::string((1 << 20) - 1, 'x') + "\n";
  for (int i = 0; i < 40; ++i) Append("worker-0", 1, megabyte);
  Append("worker-1", 1, "hello\n");
  Start();
  ASSERT_TRUE(RunUntil(loop_, [this] { return bytes_ == (40u << 20) + 6; }));
  const auto hello = std::ranges::find(pieces_, "worker:1#1/stdout:hello\n");
  EXPECT_LE(hello - pieces_.begin(), 2);
}

TEST_F(LogFollowerTest, AHoleInALogIsReportedInOneLine) {
  Start();
  Append("worker-0", 1, "head\n");
  ASSERT_TRUE(RunUntilPieces(1));
  const auto file = home_.path() / "logs/worker-0/1/stdout";
  std::filesystem::resize_file(file, 64 << 20);
  Append("worker-0", 1, "of a line\ntail\n");
  ASSERT_TRUE(RunUntil(loop_, [this] { return pieces_.back().ends_with("tail\n"); }));
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (lseek(fd.get(), 0, SEEK_HOLE) == (64 << 20) + 15)
    GTEST_SKIP() << "this file system does not tell where holes are";
  ASSERT_GE(pieces_.size(), 3u);
  EXPECT_THAT(pieces_[pieces_.size() - 2], HasSubstr("[... 67 MB cut ...]\n"));
}

TEST_F(LogFollowerTest, ALogTruncatedByItsTaskIsReadFromTheBeginningAgain) {
  Start();
  Append("worker-0", 1, "a long first line\n");
  ASSERT_TRUE(RunUntilPieces(1));
  std::ofstream(home_.path() / "logs/worker-0/1/stdout", std::ios::trunc) << "new\n";
  ASSERT_TRUE(RunUntilPieces(3));
  EXPECT_THAT(pieces_[1], HasSubstr("the task emptied this log"));
  EXPECT_THAT(pieces_[2], HasSubstr("new\n"));
}

TEST_F(LogFollowerTest, AFollowerStartsAtTheCursorAndContinuesWithLaterAttempts) {
  Append("worker-0", 1, "never begun\n");
  Append("worker-0", 2, "one\ntwo\n");
  Append("worker-0", 3, "again\n");
  ASSERT_TRUE(cursor_.Set("worker:0#2/stdout=4").ok());
  EndJob();
  Start();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(pieces_, ElementsAre("worker:0#2/stdout:two\n", "worker:0#3/stdout:again\n"));
}

TEST_F(LogFollowerTest, AFollowerOfASingleAttemptReadsOnlyThatAttempt) {
  Append("worker-0", 1, "one\n");
  Append("worker-0", 2, "two\n");
  Append("worker-1", 1, "other\n");
  EndJob();
  Start(LogChoice::Of(TaskId{"worker", 0}, 1));
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(pieces_, ElementsAre("worker:0#1/stdout:one\n"));
}

TEST_F(LogFollowerTest, TheFirstAttemptIsFoundByPollingWhenTheFileWatchReportsNoEvents) {
  const SilentLogs logs(logs_, /*blind=*/true);
  Follow(logs);
  Append("worker-0", 1, "one\n");
  ASSERT_TRUE(RunUntilPieces(1));
  EndJob();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(pieces_, ElementsAre("worker:0#1/stdout:one\n"));
}

TEST_F(LogFollowerTest, TheEndOfAJobWithoutAttemptsIsFoundByPollingWhenTheFileWatchReportsNoEvents) {
  const SilentLogs logs(logs_, /*blind=*/true);
  Follow(logs);
  EndJob();
  ASSERT_TRUE(RunToEnd());
}

TEST_F(LogFollowerTest, NoOutputIsMissedWhenTheFileWatchStopsReportingEvents) {
  SilentLogs logs(logs_, /*blind=*/false);
  Append("worker-0", 1, "one\n");
  Follow(logs);
  ASSERT_TRUE(RunUntilPieces(1));
  logs.GoBlind();
  Append("worker-0", 1, "two\n");
  Append("worker-1", 1, "three\n");
  ASSERT_TRUE(RunUntilPieces(3));
  EndJob();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(pieces_,
              UnorderedElementsAre("worker:0#1/stdout:one\n", "worker:0#1/stdout:two\n", "worker:1#1/stdout:three\n"));
}

TEST_F(LogFollowerTest, AJobIsFollowedWithoutInotifyWatches) {
  watches_are_used_up = true;
  Start();
  Append("worker-0", 1, "one\n");
  ASSERT_TRUE(RunUntilPieces(1));
  EndJob();
  ASSERT_TRUE(RunToEnd());
  EXPECT_THAT(pieces_, ElementsAre("worker:0#1/stdout:one\n"));
}

TEST_F(LogFollowerTest, AJobFolderBehindASymlinkIsFollowedUntilTheJobEnds) {
  const TempFolder other;
  std::filesystem::create_directory_symlink(home_.path(), other.path() / "job");
  const LocalLogSource logs{LocalJobRecords(other.path() / "job")};
  Follow(logs);
  Append("worker-0", 1, "one\n");
  ASSERT_TRUE(RunUntilPieces(1));
  EndJob();
  ASSERT_TRUE(RunToEnd());
}

TEST_F(LogFollowerTest, ATaskIsFollowedEvenIfInotifyRefusesToWatchItsFolder) {
  Start();
  Append("worker-0", 1, "one\n");
  ASSERT_TRUE(RunUntilPieces(1));
  watches_are_used_up = true;
  std::filesystem::create_directory(home_.path() / "logs/worker-1");
  // This condition is not met if the user has no inotify instance left: everything is then polled from the beginning.
  RunUntil(
      loop_, [] { return refused_watches > 0; }, Duration(5000));
  Append("worker-1", 1, "two\n");
  ASSERT_TRUE(RunUntilPieces(2));
  EXPECT_THAT(pieces_, ElementsAre("worker:0#1/stdout:one\n", "worker:1#1/stdout:two\n"));
}

}  // namespace
}  // namespace tony
