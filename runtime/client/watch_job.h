// Runs the loop of a waiting command: follows a job, and turns a signal into a kill or an early return.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/client/client_notes.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// The time that a started keeper (the supervisor of the job) has to take its lock. It needs a few milliseconds, or
// longer on a machine that swaps.
constexpr Duration kKeeperPatience{500};

// Catches SIGINT, SIGTERM and SIGHUP from construction on. A signal is kept until the loop runs, and is then passed to
// the listener that is set at that time. Signals that were ignored when the program started (nohup, a script's
// background job) stay ignored.
class Interrupts {
 public:
  explicit Interrupts(EventLoop& loop);
  void Listen(std::function<void(int signal)> fn) { fn_ = std::move(fn); }

 private:
  std::function<void(int)> fn_;
  std::vector<EventLoop::FdWatch> watches_;
};

struct WatchOptions {
  // True: a signal kills the job. False: a signal only ends the watching.
  bool kill_on_signal = false;
  // The owner for which a signal kills the job: the kill has no effect if the job has another owner by then. Empty: a
  // signal kills the job whatever its owner is.
  OwnerToken kill_as;
  // The new owner to send to the AM. The wait ends when the AM has answered.
  std::optional<Claim> attach;
  // The kill to send. Its name is empty if the kill could not be recorded.
  std::optional<RecordedKill> kill;
  // True if any answer to `kill` ends the wait.
  bool until_answered = false;
  WatcherToken watcher;           // token of the waiting client
  std::optional<Duration> limit;  // limit of the whole wait
  // How long a keeper that was started a moment ago may take to appear.
  Duration patience{0};
  std::function<bool(const JobStatus&)> on_status;  // returns false to end the wait
  // The interval at which a status with the tasks' usage arrives, even without a change; 0: never.
  Duration usage_interval{0};
};

struct Watched {
  // The newest status, which is the final status if the job has ended.
  std::optional<JobStatus> status;
  std::optional<bool> attached;    // the AM's answer to `attach`
  std::optional<KillAnswer> kill;  // the answer to the newest kill
  int signal = 0;                  // first signal; 0: none
  bool timed_out = false;
};

// Follows the job until it has ended and its keeper has exited, or until one of the options ends the wait. If the
// answer to a kill is that it was fenced or only planned, the wait ends as well, because the job continues to run.
Result<Watched> WatchJob(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                         const ClientNotes& notes, const WatchOptions& options);

}  // namespace tony
