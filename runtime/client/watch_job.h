// Runs the loop of a waiting command: follows a job, and turns signals into a kill or into leaving.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/client/live_view.h"
#include "runtime/job/job_status.h"
#include "runtime/scheduler/am_launcher.h"
#include "runtime/store/job_folder.h"

namespace tony {

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
  std::optional<KillRequest> kill;                  // a kill that the folder has recorded already
  std::optional<Duration> limit;                    // of the whole wait
  Duration patience{0};                             // with a keeper that was started just now
  std::function<bool(const JobStatus&)> on_status;  // false: that is enough
  LiveView* view = nullptr;  // shows each status and takes what is said; must outlive the watching
};

struct Watched {
  std::optional<JobStatus> status;  // newest; final if the job has ended
  int signal = 0;                   // the first that came; 0: none
  bool timed_out = false;
};

// Until the job has ended and its keeper is gone, or one of the options ends it earlier.
Result<Watched> WatchJob(EventLoop& loop, Interrupts& interrupts, const JobFolder& folder, AmLauncher& launcher,
                         const WatchOptions& options);

// Says each change on standard error.
std::function<bool(const JobStatus&)> SayChanges();

}  // namespace tony
