#include "runtime/os/held_process.h"

#include <fcntl.h>
#include <unistd.h>

extern "C" {  // glibc 2.36's header does not say so itself
#include <sys/pidfd.h>
}

#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/process_tree.h"

namespace tony {
namespace {

// No pidfd_open: ENOSYS of an old kernel, EPERM of a filter. The call itself has no other EPERM (pidfd_open(2)).
bool KernelHasNone(int error) { return error == ENOSYS || error == EPERM; }

UniqueFd OpenStat(pid_t pid) {
  UniqueFd file(open(StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) errno = ESRCH;
  return file;
}

// Nothing: errno says why; ESRCH: it has been reaped.
std::optional<ProcessStat> LookAt(int file) {
  char text[4096];  // 52 numbers (proc(5)) of at most 20 digits
  const ssize_t size = pread(file, text, sizeof text, 0);
  if (size < 0) return std::nullopt;
  auto stat = ParseStat({text, static_cast<size_t>(size)});
  if (!stat) errno = EIO;  // so it is not taken for an end
  return stat;
}

bool HasEnded(int file) {
  const auto stat = LookAt(file);
  return stat ? stat->dead : errno == ESRCH;
}

class EndPoll : public EventLoop::Handle {
 public:
  EndPoll(EventLoop& loop, int file, EventLoop::Callback fn) : loop_(loop), file_(file), fn_(std::move(fn)) {
    LookLater();
  }

 private:
  void LookLater() {
    timer_ = loop_.After(kBetweenLooks, [this] { Look(); });
  }
  void Look() {
    LookLater();
    if (!HasEnded(file_)) return;
    const EventLoop::Callback fn = fn_;  // which may be the end of this
    fn();
  }

  EventLoop& loop_;
  const int file_;
  const EventLoop::Callback fn_;
  EventLoop::Timer timer_;
};

}  // namespace

HeldProcess::HeldProcess(pid_t pid) : fd_(pidfd_open(pid, 0)) {
  if (fd_.valid() || !KernelHasNone(errno)) return;
  fd_ = OpenStat(pid);
  pid_ = pid;
}

bool HeldProcess::Signal(int signal) const {
  if (!valid()) {
    errno = ESRCH;
    return false;
  }
  if (TellsItsEnd()) return pidfd_send_signal(fd_.get(), signal, nullptr, 0) == 0;
  return LookAt(fd_.get()) && kill(pid_, signal) == 0;
}

EventLoop::FdWatch HeldProcess::WhenEnded(EventLoop& loop, EventLoop::Callback fn) const {
  if (TellsItsEnd()) return loop.WhenReadable(fd_.get(), std::move(fn));
  return std::make_unique<EndPoll>(loop, fd_.get(), std::move(fn));
}

}  // namespace tony
