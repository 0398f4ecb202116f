// The behaviour that the triggerer of a workflow engine relies on: a single `tony watch` follows its jobs, and if two
// triggerers both consider a job theirs, the triggerer that started later decides.
#include <fcntl.h>

#include <thread>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

// A `tony watch -` with a watcher's name and a standard input that stays open.
class Triggerer {
 public:
  Triggerer(const Sandbox& box, const std::string& watcher) {
    const std::string input = box.File("input-" + watcher);
    EXPECT_EQ(mkfifo(input.c_str(), 0600), 0);
    const std::string program = ProgramFolder() + "/tony";
    watch_ = std::make_unique<Background>(
        Words{"/bin/bash", "-c", "exec " + program + " watch - --json --watcher " + watcher + " < " + input},
        box.Environment(), box.folder());
    input_ = open(input.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_GE(input_, 0);
  }
  ~Triggerer() { close(input_); }

  void Type(const std::string& line) const {
    const std::string text = line + "\n";
    EXPECT_EQ(write(input_, text.data(), text.size()), ssize_t(text.size()));
  }
  // Waits until the value at `pointer` in the newest line is `text`.
  bool Says(const std::string& pointer, const std::string& text) const {
    return WaitFor([&] {
      const value newest = Newest();
      const value at = At(newest, pointer);
      return at.is_string() ? at.as_string() == text : serialize(at) == text;
    });
  }
  value Newest() const {
    const std::string out = watch_->out();
    const size_t end = out.rfind('\n');
    if (end == std::string::npos) return {};
    const size_t before = out.rfind('\n', end - 1);
    const size_t begin = end == 0 || before == std::string::npos ? 0 : before + 1;
    return ParseJson(out.substr(begin, end - begin));
  }
  std::string err() const { return watch_->err(); }
  void Stop() const { watch_->Signal(SIGSTOP); }
  void Continue() const { watch_->Signal(SIGCONT); }
  void Kill() const {
    watch_->Signal(SIGKILL);
    watch_->Wait();
  }

 private:
  std::unique_ptr<Background> watch_;
  int input_ = -1;
};

class TriggererTest : public TonyTest {
 protected:
  static constexpr const char* kRequest = "airflow://nightly/run 1/train/-1";

  // Submits a job that runs until Go(), or attaches to it.
  std::string Submit(const std::string& owner, const std::string& watch_timeout = "600") {
    const auto answer = Json(One(HoldUntilGo()) + Words{"--detach", "--request-id", kRequest, "--owner", owner,
                                                        "--watch-timeout", watch_timeout});
    EXPECT_TRUE(WaitForRunning(1));
    return Text(answer, "/job");
  }
  value Kill(const std::string& owner, const std::string& watcher, const std::string& delay) {
    return Json({"kill", "--request-id", kRequest, "--if-owner", owner, "--if-watcher", watcher, "--delay", delay,
                 "--reason", "marked failed", "--no-wait"});
  }
  bool WatcherIs(const std::string& job, const std::string& watcher) {
    return WaitFor([&] { return Text(StatusOf(job), "/watcher") == watcher; });
  }
  // Reads the file, because `tony status` would count as client activity.
  std::string StoredStatus(const std::string& job) const { return ReadText(box_.JobFolder(job) / "status.json"); }
  void Strike(const std::string& program) const { SignalAll(program, SIGKILL); }
};

TEST_F(TriggererTest, AResumedWatcherCannotKillAJobThatHasANewerWatcher) {
  const std::string job = Submit("first");
  const Triggerer stalled(box_, "WA");
  stalled.Type(job);
  ASSERT_TRUE(stalled.Says("/watcher", "WA")) << stalled.err();
  stalled.Stop();
  const Triggerer taker(box_, "WB");
  taker.Type(job);
  ASSERT_TRUE(WatcherIs(job, "WB")) << taker.err();
  // The change that the stopped watch waits for comes now. Once the watch has also printed the next change, it has sent
  // a new request.
  Submit("second");
  stalled.Continue();
  ASSERT_TRUE(stalled.Says("/owner", "second")) << stalled.err();
  Submit("third");
  ASSERT_TRUE(stalled.Says("/owner", "third")) << stalled.err();

  EXPECT_EQ(Text(StatusOf(job), "/watcher"), "WB");
  EXPECT_EQ(At(Kill("third", "WA", "1"), "/fenced"), value(true));
  EXPECT_TRUE(At(StatusOf(job), "/planned_kill").is_null());
  EXPECT_EQ(Text(StatusOf(job), "/state"), "RUNNING");

  EXPECT_EQ(At(Kill("third", "WB", "1"), "/planned"), value(true));
  for (const Triggerer* triggerer : {&taker, &stalled}) ASSERT_TRUE(triggerer->Says("/state", "KILLED"));
  EXPECT_EQ(Text(taker.Newest(), "/verdict/message"), "marked failed");
}

TEST_F(TriggererTest, AWatcherThatWasPausedDuringAMasterRestartDoesNotReplaceTheNewerWatcher) {
  const std::string job = Submit("first");
  const Triggerer stalled(box_, "WA");
  stalled.Type(job);
  ASSERT_TRUE(stalled.Says("/watcher", "WA")) << stalled.err();
  stalled.Stop();
  const Triggerer taker(box_, "WB");
  taker.Type(job);
  ASSERT_TRUE(WatcherIs(job, "WB")) << taker.err();
  Strike("tony-am");
  ASSERT_TRUE(taker.Says("/epoch", "2")) << taker.err();
  stalled.Continue();
  ASSERT_TRUE(stalled.Says("/epoch", "2")) << stalled.err();
  Submit("second");
  ASSERT_TRUE(stalled.Says("/owner", "second")) << stalled.err();
  EXPECT_EQ(At(Kill("second", "WA", "1"), "/fenced"), value(true));
  // The engine has given the job back to WA.
  stalled.Type(job);
  EXPECT_TRUE(WatcherIs(job, "WA"));
  EXPECT_EQ(At(Kill("second", "WB", "1"), "/fenced"), value(true));
  Go();
  ASSERT_TRUE(stalled.Says("/state", "SUCCEEDED"));
}

TEST_F(TriggererTest, ADelayedKillByAWatcherIsDroppedWhenANewerWatcherStarts) {
  const std::string job = Submit("first");
  const Triggerer stalled(box_, "WA");
  stalled.Type(job);
  ASSERT_TRUE(stalled.Says("/watcher", "WA")) << stalled.err();
  EXPECT_EQ(At(Kill("first", "WA", "60"), "/planned"), value(true));
  EXPECT_EQ(Text(StatusOf(job), "/planned_kill/reason"), "marked failed");
  const Triggerer taker(box_, "WB");
  taker.Type(job);
  ASSERT_TRUE(WatcherIs(job, "WB")) << taker.err();
  EXPECT_TRUE(At(StatusOf(job), "/planned_kill").is_null());
  Go();
  ASSERT_TRUE(taker.Says("/state", "SUCCEEDED"));
}

TEST_F(TriggererTest, AWatchedJobOutlivesItsWatchTimeoutAndIsAbandonedOnceTheWatcherDies) {
  const std::string job = Submit("first", "2");
  const Triggerer triggerer(box_, "WA");
  triggerer.Type(job);
  ASSERT_TRUE(triggerer.Says("/watcher", "WA")) << triggerer.err();
  std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  EXPECT_EQ(Text(ParseJson(StoredStatus(job)), "/state"), "RUNNING");
  triggerer.Kill();
  ASSERT_TRUE(WaitFor([&] { return Text(ParseJson(StoredStatus(job)), "/state") == "KILLED"; }));
  const auto end = Json({"wait", job}, 1);
  EXPECT_EQ(Text(end, "/verdict/class"), "abandoned");
  EXPECT_EQ(At(end, "/verdict/retryable"), value(true)) << "an engine that returns may run it again";
}

TEST_F(TriggererTest, AWatcherRestartsAMissingMaster) {
  const std::string job = Submit("first");
  const Triggerer early(box_, "WA");
  early.Type(job);
  ASSERT_TRUE(early.Says("/watcher", "WA")) << early.err();
  Strike("tony-keeper");
  Strike("tony-am");
  ASSERT_TRUE(early.Says("/epoch", "2")) << early.err();
  early.Kill();
  Strike("tony-keeper");
  Strike("tony-am");
  const Triggerer late(box_, "WB");
  late.Type(job);
  ASSERT_TRUE(late.Says("/epoch", "3")) << late.err();
  Go();
  ASSERT_TRUE(late.Says("/state", "SUCCEEDED"));
}

}  // namespace
}  // namespace tony
