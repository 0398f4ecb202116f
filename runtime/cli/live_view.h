// The live table on the terminal of standard error. The table is redrawn after changes, at most five times a second,
// and at least once a second for the clocks in the table. Important lines scroll above the table and stay. The view is
// used only on the thread of the event loop.
//
// The terminal is opened a second time, in non-blocking mode. A slow or stopped terminal (Ctrl-S) delays only the
// drawing, never the loop. If the terminal hangs up, only the drawing ends.
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
  // Makes a view that shows the stored status of the job. Returns null if standard error is not a terminal.
  static std::unique_ptr<LiveView> Make(EventLoop& loop, const JobRecords& records);

  void Show(const JobStatus& status);
  void SayAbove(const std::string& line);
  // Runs WatchJob() and shows each status and each note. At the end, draws the final state and waits briefly for a slow
  // terminal. The view must not be used afterwards.
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
  UniqueFd terminal_;  // invalid after the terminal hung up
  const bool colour_;
  Screen screen_;
  std::vector<std::string> above_;  // lines not drawn yet
  size_t dropped_ = 0;              // lines dropped from `above_`
  std::optional<JobStatus> status_;
  MemoryLimits memory_limits_;
  bool stale_ = true;  // the terminal shows old content
  std::string unwritten_;
  Instant drawn_;
  EventLoop::Timer timer_;
  EventLoop::FdWatch signals_;
  // The watch for a writable terminal, set while bytes are unwritten. The watch is declared after the terminal, because
  // the watch must be released first.
  EventLoop::FdWatch writable_;
};

}  // namespace tony
