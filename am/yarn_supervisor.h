// The supervisor of a job's application master (AM) in the AM's container on YARN. It is the parent of the AM process,
// and starts another one when that process dies or hangs. YARN does not notice the new process, so the attempt goes on,
// and the containers of the tasks stay. On one machine, the keeper does the same (runtime/keeper/am_supervision.h).
//
//   NodeManager -- supervisor -- AM process 1, then 2, 3, ...
//
//   the AM process dies       the supervisor starts the next one, at the same listening sockets
//   the AM process hangs      the supervisor kills it, and starts the next one
//   the supervisor dies       the kernel kills the AM process, and YARN starts the next attempt
#pragma once

#include <optional>
#include <string>

#include "runtime/base/exit_status.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"

namespace tony::am {

// Exit code of an AM process whose attempt is over, because another attempt leads or the job was finalized.
inline constexpr int kAttemptIsOver = 75;
// An attempt has at most this many AM processes. Then its container ends, and YARN starts the next attempt.
inline constexpr int kMostProcesses = 999;

// Returns true if the next AM process would fail with the same error, because the job's records are damaged, missing or
// sealed. The process that finds this ends the job.
bool EndsTheJob(ErrorCode code);

// Decides what follows the end of an AM process. Pure.
//
// A DeathRule counts the processes that die before they lead. Five such deaths in a row end the job, because their
// cause, such as the journal or the node, would probably kill the next process too. The death of a process that led
// never counts.
class DeathRule {
 public:
  static constexpr int kMostInARow = 5;

  struct Next {
    // The delay until the next process starts; nullopt: the container ends with `exit_code`.
    std::optional<Duration> start_after;
    int exit_code = 0;
    // The reason with which the next process only ends the job; empty if the next process leads the job.
    std::string end_job = {};
  };
  // `led` is true if the ResourceManager has confirmed the process as leader. `error` is the error that the process
  // reported; empty if it reported none. `ended_job` is true if the process was started only to end the job.
  Next Ended(const ExitStatus& status, bool led, const std::string& error, bool ended_job);

 private:
  int in_a_row_ = 0;
};

// The AM process's side of its supervision. The AM process reports to its supervisor through this object.
class SupervisedProcess {
 public:
  SupervisedProcess(int number, std::string end_job, UniqueFd to_supervisor)
      : number_(number), end_job_(std::move(end_job)), to_supervisor_(std::move(to_supervisor)) {}

  int number() const { return number_; }  // 1, 2, ... within the attempt
  // The reason with which this process has to end the job instead of leading it; empty if this process leads the job.
  const std::string& end_job() const { return end_job_; }
  // Shows the supervisor that the event loop runs. After the first call, the supervisor kills this process if it is
  // silent for kSilence. Before the first call the process may be silent for any time, because it may be waiting for
  // HDFS.
  void ShowLife() const { Send("."); }
  // Reports to the supervisor that the ResourceManager has confirmed this process as leader.
  void ReportLeader() const { Send("L"); }
  // Reports to the supervisor why this process is about to exit.
  void ReportError(const std::string& message) const { Send("E" + message); }
  static constexpr Duration kShowLifeEvery{1000};
  static constexpr Duration kSilence{15'000};

 private:
  void Send(const std::string& words) const;

  int number_;
  std::string end_job_;
  UniqueFd to_supervisor_;
};

// Forks an AM process and supervises it. Returns only in AM processes; the supervisor exits with the exit code that the
// container gets. Must be called before any thread is started. kUnavailable: the system cannot start a process.
// `silence` replaces kSilence in ShowLife().
Result<SupervisedProcess> Supervise(Duration silence = SupervisedProcess::kSilence);

}  // namespace tony::am
