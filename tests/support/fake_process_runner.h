// A ProcessRunner that starts nothing: it records its calls, and processes exit when the test says so.
#pragma once

#include <fcntl.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/process_runner.h"

namespace tony {

class FakeProcessRunner : public ProcessRunner {
 public:
  explicit FakeProcessRunner(EventLoop& loop) : loop_(loop) {}

  Result<pid_t> Start(const ProcessSpec& spec, OnExit on_exit) override {
    started.push_back(spec);
    if (failure && started.size() > starts_before_failure) return *failure;
    const pid_t pid = next_pid_++;
    Process& process = running_[pid];
    process.on_exit = std::move(on_exit);
    for (const int fd : spec.inherited) process.inherited.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 3));
    return pid;
  }

  Status Adopt(pid_t child, OnExit on_exit) override {
    running_[child].on_exit = std::move(on_exit);
    return Ok();
  }

  bool ReapAllChildren() override { return running_.empty(); }

  // Reports on the loop that the process has been reaped, as the real runner does.
  void Exit(pid_t pid, ExitStatus status) {
    loop_.Post([on_exit = std::move(running_.at(pid).on_exit), status] {
      if (on_exit) on_exit(status);
    });
    running_.erase(pid);
  }

  std::vector<ProcessSpec> started;  // every call, including failed ones
  std::optional<Error> failure;      // returned by Start instead
  size_t starts_before_failure = 0;  // calls before `failure` is returned

 private:
  EventLoop& loop_;
  // Above the highest pid of Linux, so that a kill hits no process.
  pid_t next_pid_ = 5'000'001;
  struct Process {
    OnExit on_exit;
    std::vector<UniqueFd> inherited;  // open while it runs
  };
  std::map<pid_t, Process> running_;
};

}  // namespace tony
