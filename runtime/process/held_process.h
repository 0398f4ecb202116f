// Another process, so held that a signal cannot reach a stranger who has got its number meanwhile.
#pragma once

#include <sys/types.h>

#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// By a pidfd. Where there is none (Linux before 5.3, or a container whose filter does not know the call) by its number
// and the time that it was started: then Signal() looks before it signals, and its end is looked for again and again.
//
// What is read of the pid after this was made, and before a signal arrives, was read of this process. Any thread; the
// watch is for the loop's.
class HeldProcess {
 public:
  HeldProcess() = default;  // of none
  explicit HeldProcess(pid_t pid);

  bool valid() const { return pidfd_.valid() || !start_time_.empty(); }  // false: errno says why
  bool Signal(int signal) const;  // 0: only asks. False: it has been reaped, or is not ours to signal
  // Calls `fn` each time that the process is seen to have ended, until the handle is destroyed, which must come before
  // the end of this.
  EventLoop::FdWatch WhenEnded(EventLoop& loop, EventLoop::Callback fn) const;

 private:
  UniqueFd pidfd_;
  pid_t pid_ = 0;  // these two where there are no pidfds
  std::string start_time_;
};

}  // namespace tony
