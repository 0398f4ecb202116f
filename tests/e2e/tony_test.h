// What the end-to-end tests have in common: a sandbox each, short ways to say which job, and the check that nothing is
// left behind.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/tony_runner.h"

namespace tony {

using Words = std::vector<std::string>;

inline Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// What the least task asks for: with sanitizers its executor alone has more than a limit of 64 MB.
inline std::string LittleMemory() { return SanitizedPrograms() ? "tony.worker.memory=150m" : "tony.worker.memory=10m"; }

class TonyTest : public testing::Test {
 protected:
  // submit arguments of a job of one task, of N workers
  static Words One(const std::string& command) {
    return {"submit",
            "-executes",
            command,
            "-conf",
            "tony.application.framework=standalone",
            "-conf",
            "tony.worker.instances=1"};
  }
  static Words Workers(int count, const std::string& command) {
    return {"submit",
            "-executes",
            command,
            "-conf",
            "tony.application.framework=tensorflow",
            "-conf",
            "tony.worker.instances=" + std::to_string(count)};
  }
  static Words Conf(const std::string& key_and_value) { return {"-conf", key_and_value}; }

  // A command that says that it runs (file "running-<role>-<index>"), then waits for the file "go".
  std::string HoldUntilGo() const {
    return "echo $$ > " + box_.File("running-") + "$JOB_NAME-$TASK_INDEX; until [ -e " + box_.File("go") +
           " ]; do sleep 0.02; done";
  }
  std::string Running(const std::string& task) const { return box_.File("running-" + task); }
  void Go() const { box_.Write("go", ""); }
  bool WaitForRunning(int workers) const {
    for (int i = 0; i < workers; ++i) {
      // Not only there but written: it holds the pid.
      const std::string file = Running("worker-" + std::to_string(i));
      if (!WaitFor([&] { return CountLines(ReadText(file)) == 1; })) return false;
    }
    return true;
  }

  std::string Job() const {  // the only one
    const std::vector<std::string> jobs = box_.Jobs();
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? "" : jobs.front();
  }
  std::string LogText(const std::string& task, const std::string& stream) const {
    return ReadText(box_.JobFolder(Job()) / "logs" / task / "1" / stream);
  }

  // When a command that waited for a job returns, nothing of the job lives any more: no waiting here.
  void ExpectNothingLeft() const {
    const std::vector<Process> left = box_.Processes();
    EXPECT_TRUE(left.empty()) << ToString(left);
  }

  Sandbox box_;
};

}  // namespace tony
