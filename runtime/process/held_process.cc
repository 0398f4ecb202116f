#include "runtime/process/held_process.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "runtime/process/process_tree.h"

namespace tony {
namespace {

// As often as an end is looked for that no descriptor tells: a twentieth of what people notice, and one small file.
constexpr Duration kBetweenLooks{20};

// No pidfd_open: ENOSYS of an old kernel, EPERM of a filter. The call itself has no other EPERM (pidfd_open(2)).
bool KernelHasNone(int error) { return error == ENOSYS || error == EPERM; }

class EndPoll : public EventLoop::Handle {
 public:
  EndPoll(EventLoop& loop, pid_t pid, std::string start_time, EventLoop::Callback fn)
      : loop_(loop), pid_(pid), start_time_(std::move(start_time)), fn_(std::move(fn)) {
    LookLater();
  }

 private:
  void LookLater() {
    timer_ = loop_.After(kBetweenLooks, [this] { Look(); });
  }
  void Look() {
    LookLater();
    const auto stat = ReadStat(pid_);
    if (stat && !stat->dead && stat->start_time == start_time_) return;
    const EventLoop::Callback fn = fn_;  // which may be the end of this
    fn();
  }

  EventLoop& loop_;
  const pid_t pid_;
  const std::string start_time_;
  const EventLoop::Callback fn_;
  EventLoop::Timer timer_;
};

}  // namespace

HeldProcess::HeldProcess(pid_t pid) : pidfd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {
  if (pidfd_.valid() || !KernelHasNone(errno)) return;
  pid_ = pid;
  start_time_ = StartTime(pid);
  if (start_time_.empty()) errno = ESRCH;
}

bool HeldProcess::Signal(int signal) const {
  if (pidfd_.valid()) return syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0) == 0;
  return !start_time_.empty() && StartTime(pid_) == start_time_ && kill(pid_, signal) == 0;
}

EventLoop::FdWatch HeldProcess::WhenEnded(EventLoop& loop, EventLoop::Callback fn) const {
  if (pidfd_.valid()) return loop.WhenReadable(pidfd_.get(), std::move(fn));
  return std::make_unique<EndPoll>(loop, pid_, start_time_, std::move(fn));
}

}  // namespace tony
