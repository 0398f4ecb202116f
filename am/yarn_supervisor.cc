#include "am/yarn_supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

constexpr Duration kFirstDelay{100};
constexpr Duration kLongestDelay{5000};

// Returns true for the exit codes of a process that could not reach the disk, HDFS or the ResourceManager. Such a
// failure may be temporary.
bool IsTemporary(int exit_code) {
  return exit_code == static_cast<int>(ErrorCode::kUnavailable) ||
         exit_code == static_cast<int>(ErrorCode::kCannotWrite);
}

// Returns true for an exit code with which the next process would exit, too.
bool IsFinalCode(int exit_code) {
  return exit_code == 0 || exit_code == kAttemptIsOver || exit_code == kFailedCheck ||
         exit_code == static_cast<int>(ErrorCode::kUsage) || EndsTheJob(static_cast<ErrorCode>(exit_code));
}

}  // namespace

bool EndsTheJob(ErrorCode code) {
  return code == ErrorCode::kInvalid || code == ErrorCode::kNotFound || code == ErrorCode::kNotPermitted;
}

DeathRule::Next DeathRule::Ended(const ExitStatus& status, bool led, const std::string& error, bool ended_job) {
  const bool has_exited = status.kind == ExitStatus::Kind::kExited;
  const int exit_code = has_exited ? status.value : 128 + status.value;
  if (ended_job || (has_exited && IsFinalCode(status.value))) return {.exit_code = exit_code};
  if (led) {
    in_a_row_ = 0;
    return {.start_after = Duration(0)};
  }
  if (has_exited && IsTemporary(status.value)) return {.start_after = kLongestDelay};
  if (++in_a_row_ < kMostInARow) return {.start_after = kFirstDelay * (1 << (in_a_row_ - 1))};
  return {.start_after = Duration(0),
          .end_job = StrCat(
              "the application master died ", kMostInARow,
              " times before it could lead the job; the last cause: ", error.empty() ? ToString(status) : error)};
}

void SupervisedProcess::Send(const std::string& words) const {
  // A failed write is ignored. The pipe is full only while the supervisor is stopped, and a later message has the same
  // effect as this one.
  [[maybe_unused]] const ssize_t written = write(to_supervisor_.get(), words.data(), words.size());
}

namespace {

struct Watched {
  ExitStatus status;
  bool led = false;
  std::string error;
};

ExitStatus Reap(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return FromWaitStatus(status);
}

// Reads the messages of a process until the process ends. The pipe closes with the process, because no other process
// holds its write end. The text behind an 'E' is an error message.
Watched Watch(pid_t child, const UniqueFd& words, Duration silence) {
  std::string said;
  bool showed_life = false;
  for (;;) {
    struct pollfd readable = {.fd = words.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&readable, 1, showed_life ? static_cast<int>(silence.count()) : -1);
    if (ready < 0) continue;
    if (ready == 0) {
      LogWarn(StrCat("the application master has been silent for ", silence.count(), " ms; its supervisor kills it"));
      kill(child, SIGKILL);
      showed_life = false;
      continue;
    }
    char bytes[4096];
    const ssize_t got = read(words.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    showed_life = true;
    for (const char word : std::string_view(bytes, static_cast<size_t>(got)))
      if (word != '.' || said.find('E') != std::string::npos) said += word;
  }
  const size_t error = std::min(said.find('E'), said.size());
  return {Reap(child), said.substr(0, error).find('L') != std::string::npos,
          said.substr(std::min(error + 1, said.size()))};
}

}  // namespace

Result<SupervisedProcess> Supervise(Duration silence) {
  // Signals are ignored, because a client ends a job by a kill request, and a NodeManager sends KILL after TERM anyway.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
  const pid_t supervisor = getpid();
  DeathRule rule;
  std::string end_job;
  for (int number = 1; number <= kMostProcesses; ++number) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return UnavailableError("make a pipe", LimitNote(errno));
    UniqueFd words(ends[0]), to_supervisor(ends[1]);
    const pid_t child = fork();
    if (child < 0) return UnavailableError("start the application master", LimitNote(errno));
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // If the supervisor died before prctl() was called, the kernel sends no SIGKILL for its death.
      if (getppid() != supervisor) _exit(kAttemptIsOver);
      (void)fcntl(to_supervisor.get(), F_SETFL, O_NONBLOCK);
      return SupervisedProcess(number, end_job, std::move(to_supervisor));
    }
    to_supervisor.Reset();
    const Watched watched = Watch(child, words, silence);
    const DeathRule::Next next = rule.Ended(watched.status, watched.led, watched.error, !end_job.empty());
    if (!next.start_after) _exit(next.exit_code);
    LogWarn(StrCat("application master process ", number, " of this attempt ended: ", ToString(watched.status),
                   "; its supervisor starts the next one"));
    end_job = next.end_job;
    std::this_thread::sleep_for(*next.start_after);
  }
  LogError(StrCat(kMostProcesses, " application master processes of this attempt have ended, so the attempt ends"));
  _exit(kAttemptIsOver);
}

}  // namespace tony::am
