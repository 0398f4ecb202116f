// The live table on standard error's terminal: drawn on changes, at most five times a second, and once a second for its
// clocks. Lines of importance scroll above it and stay. Loop thread only.
//
// The terminal is opened anew, non-blocking: one that is slow or stopped (Ctrl-S) delays what is seen, never the loop;
// one that is gone ends the drawing and nothing else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/cli/live_table.h"
#include "runtime/cli/progress.h"
#include "runtime/client/watch_job.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

class LiveView {
 public:
  // Null where standard error is no terminal. Shows what is known of the job already.
  static std::unique_ptr<LiveView> Make(EventLoop& loop, const JobRecords& records);

  void Show(const JobStatus& status);
  void SayAbove(const std::string& line);
  // WatchJob() with this view, which shows each status and each note, and at last draws the final state; waits for a
  // slow terminal for a moment. The last call.
  Result<Watched> Watch(Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher, WatchOptions options);

 private:
  LiveView(EventLoop& loop, UniqueFd terminal);
  void Finish();
  void OnSignal(int signal);
  void Plan();
  void Draw();
  void Write();
  bool IsInForeground() const;

  EventLoop& loop_;
  UniqueFd terminal_;  // invalid: it is gone
  const bool colour_;
  Screen screen_;
  std::vector<std::string> above_;  // not drawn yet
  size_t dropped_ = 0;              // of them, before the first
  std::optional<JobStatus> status_;
  MemoryLimits memory_limits_;
  bool stale_ = true;  // what stands there is not the newest
  std::string unwritten_;
  Instant drawn_;
  EventLoop::Timer timer_;
  EventLoop::FdWatch signals_;
  EventLoop::FdWatch writable_;  // while something is unwritten; released before the terminal
};

}  // namespace tony
