#include "executor/container_front.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <optional>

#include "runtime/os/own_tree.h"
#include "runtime/os/process_tree.h"

namespace tony::executor {
namespace {

using Clock = std::chrono::steady_clock;

// An executor that is told to end does so in 0.1 s; a busy machine may take longer.
constexpr std::chrono::seconds kExecutorsTime{5};
// What does not end on SIGKILL by then is held by the kernel.
constexpr std::chrono::seconds kLongestSweep{10};
constexpr timespec kBetweenSweeps{0, 10'000'000};
constexpr timespec kBetweenLooks{0, 50'000'000};
constexpr int kEnds[] = {SIGTERM, SIGINT, SIGHUP};
constexpr int kCannotFork = 69;

sigset_t WatchedSignals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : kEnds) sigaddset(&watched, signal);
  sigaddset(&watched, SIGCHLD);
  return watched;
}

int ExitCodeOf(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// Waits for a child, and ends as it does.
class Waiting {
 public:
  // `patience`: so long the child may take to end when it is told to.
  Waiting(pid_t child, std::optional<Clock::duration> patience) : child_(child), patience_(patience) {}

  [[noreturn]] void Run(const sigset_t& watched) {
    while (!HasEnded()) {
      const int signal = kill_at_ ? sigtimedwait(&watched, nullptr, &kBetweenLooks) : sigwaitinfo(&watched, nullptr);
      if (signal > 0 && signal != SIGCHLD) PassOn(signal);
      if (kill_at_ && Clock::now() >= *kill_at_) kill(child_, SIGKILL);
    }
    Sweep();
    _exit(exit_code_);
  }

 private:
  void PassOn(int signal) {
    kill(child_, signal);
    kill(child_, SIGCONT);
    if (patience_ && !kill_at_) kill_at_ = Clock::now() + *patience_;
  }

  bool HasEnded() {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(child_, &status, WNOHANG)) < 0 && errno == EINTR) {
    }
    if (ended == child_) exit_code_ = ExitCodeOf(status);
    return ended != 0;
  }

  // Reaps those that have ended.
  static bool AnyChild() {
    int status = 0;
    pid_t ended = 0;
    do {
      ended = waitpid(-1, &status, WNOHANG);
    } while (ended > 0 || (ended < 0 && errno == EINTR));
    return ended == 0;
  }

  static void Sweep() {
    const auto end = Clock::now() + kLongestSweep;
    while (AnyChild() && Clock::now() < end) {
      KillOwnTree();
      nanosleep(&kBetweenSweeps, nullptr);
    }
  }

  const pid_t child_;
  const std::optional<Clock::duration> patience_;
  std::optional<Clock::time_point> kill_at_;
  int exit_code_ = 0;
};

void DieWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) raise(SIGTERM);  // it ended meanwhile
}

// Returns in a child, whose parent waits for it.
void LeaveParentBehind(const sigset_t& watched, std::optional<Clock::duration> patience) {
  BecomeSubreaper();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) _exit(kCannotFork);
  if (child > 0) Waiting(child, patience).Run(watched);
  DieWithParent(parent);
}

}  // namespace

void LeaveFrontBehind() {
  std::signal(SIGCHLD, SIG_DFL);  // it may be inherited that children are not waited for
  const sigset_t watched = WatchedSignals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  DieWithParent(getppid());
  LeaveParentBehind(watched, std::nullopt);
  setsid();
  LeaveParentBehind(watched, kExecutorsTime);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace tony::executor
