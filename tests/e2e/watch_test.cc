// `tony watch`: one process that follows many jobs.
#include <fcntl.h>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class WatchTest : public TonyTest {
 protected:
  // Submits jobs that run until LetGo(), and returns them in the order of their ids.
  std::vector<std::string> Submit(int count) {
    const std::string hold = "until [ -e " + box_.File("go-") + "$TONY_JOB_ID ]; do sleep 0.05; done";
    for (int i = 0; i < count; ++i) Succeeds(One(hold, {LittleMemory()}) + Words{"--detach"});
    return box_.Jobs();
  }
  void LetGo(const std::string& job) { box_.Write("go-" + job, ""); }

  // Starts `tony watch` with a pipe as its standard input, into which Type() writes.
  std::unique_ptr<Background> WatchByInput() {
    const std::string pipe = box_.File("input");
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    auto watch = Shell("exec tony watch --json --watcher w1 < " + pipe);
    input_ = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_GE(input_, 0);
    return watch;
  }
  std::unique_ptr<Background> Shell(const std::string& script) {
    const std::string path = "PATH=" + ProgramFolder() + ":/usr/bin:/bin; ";
    return std::make_unique<Background>(Words{"/bin/bash", "-c", path + script}, box_.Environment(), box_.folder());
  }
  void Type(const std::string& line) {
    const std::string text = line + "\n";
    EXPECT_EQ(write(input_, text.data(), text.size()), ssize_t(text.size()));
  }
  void CloseInput() {
    close(input_);
    input_ = -1;
  }
  ~WatchTest() override {
    if (input_ >= 0) close(input_);
  }

  using Documents = std::vector<json::value>;
  static Documents Of(const std::string& out, const std::string& job) {
    Documents documents;
    for (size_t at = 0, end; (end = out.find('\n', at)) != std::string::npos; at = end + 1) {
      auto document = ParseJson(out.substr(at, end - at));
      if (Text(document, "/job") == job) documents.push_back(std::move(document));
    }
    return documents;
  }
  // Returns the newest document of a job; null if the job has no line yet.
  static json::value Newest(const std::string& out, const std::string& job) {
    Documents documents = Of(out, job);
    return documents.empty() ? value() : std::move(documents.back());
  }
  // Waits until the value at `pointer` in the job's newest line is `text`.
  static bool Says(const Background& watch, const std::string& job, const std::string& pointer,
                   const std::string& text) {
    return WaitFor([&] { return Text(Newest(watch.out(), job), pointer) == text; });
  }

  int input_ = -1;
};

TEST_F(WatchTest, ASingleWatchCommandFollowsTenJobsNamedOnItsInput) {
  const auto jobs = Submit(10);
  ASSERT_EQ(jobs.size(), 10u);
  const auto watch = WatchByInput();
  for (const std::string& job : jobs) Type(job);
  for (const std::string& job : jobs)
    ASSERT_TRUE(Says(*watch, job, "/tasks/0/attempt_state", "running")) << watch->out() << watch->err();
  EXPECT_TRUE(Says(*watch, jobs[0], "/watcher", "w1"));

  Type("-" + jobs[9]);
  Type("no-such-job");
  // Lines are handled in order, so the line before this one was handled, too.
  ASSERT_TRUE(Says(*watch, "no-such-job", "/error/class", "not_found"));
  const size_t told = Of(watch->out(), jobs[9]).size();
  LetGo(jobs[9]);
  Succeeds({"wait", jobs[9]});
  EXPECT_EQ(Of(watch->out(), jobs[9]).size(), told) << "it was left out";

  SignalAll("tony-am", SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return Number(Newest(watch->out(), jobs[0]), "/epoch") == 2; })) << watch->err();
  CloseInput();
  for (int i = 0; i < 9; ++i) LetGo(jobs[i]);
  const Ran ran = Ends(*watch);
  for (int i = 0; i < 9; ++i) {
    const Documents documents = Of(ran.out, jobs[i]);
    ASSERT_FALSE(documents.empty());
    EXPECT_EQ(Text(documents.back(), "/state"), "SUCCEEDED");
    EXPECT_FALSE(At(documents.back(), "/ended").is_null());
    for (size_t n = 1; n < documents.size(); ++n)
      EXPECT_GE(Number(documents[n], "/seq"), Number(documents[n - 1], "/seq"));
  }
  ExpectNothingLeft();
}

TEST_F(WatchTest, TheWatchCommandReprintsTheStatusOfAnEndedJobThatIsAddedAgain) {
  const auto jobs = Submit(1);
  const auto watch = WatchByInput();
  Type(jobs[0]);
  ASSERT_TRUE(Says(*watch, jobs[0], "/tasks/0/attempt_state", "running"));
  LetGo(jobs[0]);
  ASSERT_TRUE(Says(*watch, jobs[0], "/state", "SUCCEEDED"));
  const size_t told = CountLines(watch->out());
  Type(jobs[0]);
  ASSERT_TRUE(WaitFor([&] { return CountLines(watch->out()) > told; })) << "also of one that has ended";
  CloseInput();
  const Ran ran = Ends(*watch);
  EXPECT_EQ(Text(Newest(ran.out, jobs[0]), "/state"), "SUCCEEDED");
}

TEST_F(WatchTest, TheWatchCommandFollowsTheJobsOfItsCommandLineUntilAllHaveEnded) {
  const auto jobs = Submit(2);
  const auto watch = box_.StartTony({"watch", "--json", jobs[0], jobs[1], "../jobs"});
  ASSERT_TRUE(Says(*watch, jobs[1], "/tasks/0/attempt_state", "running")) << watch->err();
  EXPECT_TRUE(WaitFor([&] { return Number(Newest(watch->out(), "../jobs"), "/error/code") == 66; })) << watch->out();
  LetGo(jobs[1]);
  ASSERT_TRUE(Says(*watch, jobs[1], "/verdict/state", "SUCCEEDED"));
  Succeeds({"kill", jobs[0]});
  const Ran ran = watch->Wait();
  EXPECT_EQ(ran.exit, 0) << "how the jobs ended is in their lines";
  EXPECT_EQ(Text(Newest(ran.out, jobs[0]), "/verdict/state"), "KILLED");
  ExpectNothingLeft();
}

TEST_F(WatchTest, TheWatchCommandReadsJobIdsFromAFileOnStandardInput) {
  const auto jobs = Submit(1);
  box_.Write("list", "  " + jobs[0] + "  \n\nno-such-job");
  const auto watch = Shell("exec tony watch --json - < list");
  ASSERT_TRUE(Says(*watch, "no-such-job", "/error/class", "not_found")) << "also without its line end";
  LetGo(jobs[0]);
  const Ran ran = Ends(*watch);
  EXPECT_EQ(Text(Newest(ran.out, jobs[0]), "/state"), "SUCCEEDED");
}

TEST_F(WatchTest, AWatchCommandWithoutJobsExitsAtTheEndOfItsInput) {
  const Ran ran = Succeeds({"watch", "--json"});
  EXPECT_THAT(ran.out, IsEmpty());
}

TEST_F(WatchTest, ASignalEndsTheWatchCommandAndTheJobsKeepRunning) {
  const auto jobs = Submit(2);
  const std::pair<int, int> signals[] = {{SIGINT, 130}, {SIGTERM, 143}};
  for (const auto& [signal, exit] : signals) {
    const auto watch = box_.StartTony({"watch", "--json", jobs[0], jobs[1]});
    ASSERT_TRUE(Says(*watch, jobs[1], "/tasks/0/attempt_state", "running"));
    watch->Signal(signal);
    EXPECT_EQ(watch->Wait().exit, exit);
  }
  for (const std::string& job : jobs) {
    LetGo(job);
    Succeeds({"wait", job});
  }
}

TEST_F(WatchTest, AClosedOutputPipeEndsTheWatchCommandWithoutAnError) {
  const auto jobs = Submit(1);
  const auto watch =
      Shell("set -o pipefail; tony watch --json " + jobs[0] + " | grep -m1 '\"attempt_state\":\"running\"'");
  const Ran ran = Ends(*watch);
  EXPECT_THAT(ran.err, IsEmpty());
  LetGo(jobs[0]);
  Succeeds({"wait", jobs[0]});
}

TEST_F(WatchTest, ASignalEndsAWatchCommandWhoseOutputPipeIsFull) {
  const auto jobs = Submit(1);
  // The answers to 3000 unknown jobs are more than a pipe holds.
  box_.Write("list", [&] {
    std::string list;
    for (int i = 0; i < 3000; ++i) list += "no-such-job-" + std::to_string(i) + "\n";
    return list;
  }());
  const auto watch =
      Shell("mkfifo stuck; exec 3<>stuck; echo $$ > pid; exec tony watch --json " + jobs[0] + " - < list 1> stuck");
  ASSERT_TRUE(WaitFor([&] { return CountLines(ReadText(box_.File("pid"))) == 1; }));
  const std::string io =
      "/proc/" + std::string(ReadText(box_.File("pid"))).substr(0, ReadText(box_.File("pid")).find('\n')) + "/io";
  ASSERT_TRUE(WaitFor([&] {  // the pipe is full
    const std::string text = ReadText(io);
    const size_t at = text.find("wchar: ");
    return at != std::string::npos && std::stoll(text.substr(at + 7)) >= 60'000;
  })) << ReadText(io);
  watch->Signal(SIGTERM);
  Ends(*watch, 143);
  LetGo(jobs[0]);
  Succeeds({"wait", jobs[0]});
}

TEST_F(WatchTest, TheWatchCommandWithoutJsonPrintsALineForEachStatusChange) {
  const auto jobs = Submit(1);
  const auto watch = box_.StartTony({"watch", jobs[0]});
  ASSERT_TRUE(WaitFor([&] { return watch->out().find(jobs[0] + " worker:0 running") != std::string::npos; }))
      << watch->out() << watch->err();
  LetGo(jobs[0]);
  const Ran ran = watch->Wait();
  EXPECT_THAT(ran.out, HasSubstr(jobs[0] + " SUCCEEDED"));
}

}  // namespace
}  // namespace tony
