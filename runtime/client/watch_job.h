// Runs the loop of a waiting command: follows a job, and turns signals into a kill or into leaving.
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

// A keeper that was started has taken its lock after a few milliseconds; on a machine that pages, later.
constexpr Duration kKeeperPatience{500};

// SIGINT, SIGTERM and SIGHUP, from construction on: they wait until the loop runs and somebody listens. Those that were
// ignored when the program started (nohup, a script's background job) stay ignored.
class Interrupts {
 public:
  explicit Interrupts(EventLoop& loop);
  void Listen(std::function<void(int signal)> fn) { fn_ = std::move(fn); }

 private:
  std::function<void(int)> fn_;
  std::vector<EventLoop::FdWatch> watches_;
};

struct WatchOptions {
  bool kill_on_signal = false;                      // else a signal ends the watching alone
  OwnerToken kill_as;                               // ... and only while this one is the job's owner
  std::optional<Claim> attach;                      // the job's new owner; its answer is enough
  std::optional<RecordedKill> kill;                 // without a name: it could not be recorded
  bool until_told = false;                          // the answer to `kill` is enough, whatever it is
  WatcherToken watcher;                             // who looks
  std::optional<Duration> limit;                    // of the whole wait
  Duration patience{0};                             // with a keeper that was started just now
  std::function<bool(const JobStatus&)> on_status;  // false: that is enough
  Duration usage_interval{0};  // how often a status comes with what tasks use, although nothing has changed; 0: never
};

struct Watched {
  std::optional<JobStatus> status;  // newest; final if the job has ended
  std::optional<bool> attached;     // the AM's answer to `attach`
  std::optional<KillAnswer> kill;   // the AM's answer to the newest kill
  int signal = 0;                   // the first that came; 0: none
  bool timed_out = false;
};

// Until the job has ended and its keeper is gone, or one of the options ends it earlier. A kill that was not taken ends
// it too: there is nothing to wait for.
Result<Watched> WatchJob(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                         const ClientNotes& notes, const WatchOptions& options);

}  // namespace tony
