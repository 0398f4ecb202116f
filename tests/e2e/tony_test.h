// The base of the end-to-end tests: a sandbox for each test, short ways to name jobs, and the check that no process is
// left. It also imports the names of GoogleMock and of the standard library that nearly all these tests use.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/json.h"
#include "tests/support/places.h"
#include "tests/support/tony_runner.h"

namespace tony {

namespace fs = std::filesystem;
namespace json = boost::json;
using boost::json::value;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

inline Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Returns "-conf" before each of the `keys`, which have the form KEY=VALUE.
inline Words Confs(const Words& keys) {
  Words words;
  for (const std::string& key : keys) words = words + Words{"-conf", key};
  return words;
}
inline Words Conf(const std::string& key_and_value) { return Confs({key_and_value}); }

// The memory key of the smallest task. With sanitizers the executor alone exceeds a limit of 64 MB.
inline std::string LittleMemory() { return SanitizedPrograms() ? "tony.worker.memory=150m" : "tony.worker.memory=10m"; }

// Matches a text that contains each of `texts`.
inline testing::Matcher<std::string> HasAll(const Words& texts) {
  std::vector<testing::Matcher<std::string>> each;
  for (const std::string& text : texts) each.push_back(HasSubstr(text));
  return testing::AllOfArray(each);
}

class TonyTest : public testing::Test {
 protected:
  // The arguments of `submit` for a job of one task, or of `count` workers, with additional keys.
  static Words One(const std::string& command, const Words& keys = {}) {
    return Words{"submit", "-executes", command} +
           Confs({"tony.application.framework=standalone", "tony.worker.instances=1"}) + Confs(keys);
  }
  static Words Workers(int count, const std::string& command, const Words& keys = {}) {
    return Words{"submit", "-executes", command} +
           Confs({"tony.application.framework=tensorflow", "tony.worker.instances=" + std::to_string(count)}) +
           Confs(keys);
  }

  // A command that writes its pid into the file "running-<role>-<index>" and waits until the file "go" exists.
  std::string HoldUntilGo() const {
    return "echo $$ > " + box_.File("running-") + "$JOB_NAME-$TASK_INDEX; until [ -e " + box_.File("go") +
           " ]; do sleep 0.02; done";
  }
  std::string Running(const std::string& task) const { return box_.File("running-" + task); }
  void Go() const { box_.Write("go", ""); }
  bool WaitForRunning(int workers) const {
    for (int i = 0; i < workers; ++i) {
      // The file must not only exist but contain the pid.
      const std::string file = Running("worker-" + std::to_string(i));
      if (!WaitFor([&] { return CountLines(ReadText(file)) == 1; })) return false;
    }
    return true;
  }
  std::string TaskPids() const { return ReadText(Running("worker-0")) + ReadText(Running("worker-1")); }

  // Runs `tony`, which must succeed.
  Ran Succeeds(const Words& words, const Sandbox::Variables& variables = {}, Limit limit = kGenerous) const {
    const Ran ran = box_.Tony(words, variables, limit);
    EXPECT_EQ(ran.exit, 0) << testing::PrintToString(words) << "\n" << ran.err << ran.out;
    return ran;
  }
  Ran Fails(int exit, const Words& words, const Sandbox::Variables& variables = {}) const {
    const Ran ran = box_.Tony(words, variables);
    EXPECT_EQ(ran.exit, exit) << testing::PrintToString(words) << "\n" << ran.err << ran.out;
    return ran;
  }
  Ran FailsInALine(int exit, const Words& words, const Sandbox::Variables& variables = {}) const {
    const Ran ran = Fails(exit, words, variables);
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    return ran;
  }
  // Starts a job of `workers` tasks that run until Go(), and waits until they run.
  std::unique_ptr<Background> Hold(const Words& words, int workers = 1) const {
    auto client = box_.StartTony(words);
    EXPECT_TRUE(WaitForRunning(workers)) << client->err();
    return client;
  }
  void HoldDetached(const Words& words, int workers = 1) const {
    const Ran ran = Succeeds(words + Words{"--detach"});
    EXPECT_TRUE(WaitForRunning(workers)) << ran.err;
  }
  static Ran Ends(Background& client, int exit = 0) {
    const Ran ran = client.Wait();
    EXPECT_EQ(ran.exit, exit) << ran.err << ran.out;
    return ran;
  }
  Ran GoAndEnd(Background& client) const {
    Go();
    return Ends(client);
  }
  // Runs `tony` with --json and returns its output, which must be one object in one line.
  value Json(const Words& words, int exit = 0) const {
    const Ran ran = box_.Tony(words + Words{"--json"});
    EXPECT_EQ(ran.exit, exit) << testing::PrintToString(words) << "\n" << ran.err << ran.out;
    EXPECT_EQ(CountLines(ran.out), 1u) << ran.out;
    return ParseJson(ran.out);
  }
  // Checks that `tony` refuses these arguments with one line that has all of `texts`, and that no job is stored.
  void ExpectRefused(const Words& words, int exit, const Words& texts, const Sandbox::Variables& variables = {}) const {
    const Ran ran = box_.Tony(words, variables);
    EXPECT_EQ(ran.exit, exit) << testing::PrintToString(words) << "\n" << ran.err;
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    EXPECT_THAT(ran.err, StartsWith("tony: "));
    for (const std::string& text : texts) EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(box_.Jobs(), IsEmpty()) << "a job was stored";
    ExpectNothingLeft();
  }

  std::string Job() const {  // the only job
    const std::vector<std::string> jobs = box_.Jobs();
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? "" : jobs.front();
  }
  value StatusOf(const std::string& job) const { return ParseJson(box_.Tony({"status", job, "--json"}).out); }
  value Status() const { return StatusOf(Job()); }
  std::string StateOf(const std::string& job) const { return Text(StatusOf(job), "/state"); }
  bool Reachable() const { return At(Status(), "/am_reachable") == value(true); }
  int64_t Epoch() const {  // 0 while no master answers
    const value status = Status();
    return At(status, "/am_reachable") == value(true) ? Number(status, "/epoch") : 0;
  }
  std::string LogText(const std::string& task, const std::string& stream) const {
    return ReadText(box_.JobFolder(Job()) / "logs" / task / "1" / stream);
  }

  static void SignalAll(const std::vector<pid_t>& pids, int signal) {
    for (const pid_t pid : pids) kill(pid, signal);
  }
  void SignalAll(const std::string& program, int signal) const { SignalAll(box_.Pids(program), signal); }
  // Kills all processes of these programs, so that none of them restarts another one, and waits until they have exited.
  void KillTogether(const Words& programs = {"tony-keeper", "tony-am"}) const {
    std::vector<pid_t> victims;
    for (const std::string& program : programs)
      for (const pid_t pid : box_.Pids(program)) victims.push_back(pid);
    SignalAll(victims, SIGSTOP);
    SignalAll(victims, SIGKILL);
    ASSERT_TRUE(WaitFor([&] {
      return std::ranges::none_of(box_.Processes(), [&](const Process& process) {
        return std::ranges::find(victims, process.pid) != victims.end();
      });
    }));
  }
  // Does not wait: when a command that waited for a job returns, no process of the job may be left.
  void ExpectNothingLeft() const {
    const std::vector<Process> left = box_.Processes();
    EXPECT_TRUE(left.empty()) << ToString(left);
  }

  Sandbox box_;
};

}  // namespace tony
