// Another process, so held that a signal cannot reach a stranger who has got its number meanwhile.
#pragma once

#include <sys/types.h>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// How often an end is looked for that no descriptor tells: people do not notice a delay this short.
inline constexpr Duration kBetweenLooks{20};

// By a pidfd. Where there is none (Linux before 5.3, or a container whose filter does not know the call) by its file
// /proc/PID/stat: once it is open, it tells of this process and never of the next one with the same number. Then
// Signal() looks before it signals, and the end is looked for again and again. Both open nothing, so a shortage of
// descriptors is not taken for an end.
//
// What is read of the pid after this was made, and before a signal arrives, was read of this process. Any thread; the
// watch is for the loop's.
class HeldProcess {
 public:
  HeldProcess() = default;  // of none
  explicit HeldProcess(pid_t pid);

  bool valid() const { return fd_.valid(); }                 // false: errno says why; ESRCH: there is no such process
  bool TellsItsEnd() const { return valid() && pid_ == 0; }  // false: WhenEnded() has to look again and again
  // 0: only asks. False: nothing was sent, and errno says why. ESRCH: it has been reaped. EPERM: it is not ours to
  // signal. Another: it cannot be looked at for the moment (ENOMEM) and may live.
  bool Signal(int signal) const;
  // Calls `fn` each time that the process is seen to have ended, until the handle is destroyed, which must come before
  // the end of this.
  EventLoop::FdWatch WhenEnded(EventLoop& loop, EventLoop::Callback fn) const;

 private:
  UniqueFd fd_;    // the pidfd, or the file
  pid_t pid_ = 0;  // where it is the file
};

}  // namespace tony
