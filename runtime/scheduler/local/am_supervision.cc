#include "runtime/scheduler/local/am_supervision.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/process/process_tree.h"
#include "runtime/scheduler/local/environment.h"
#include "runtime/store/files.h"

namespace tony::keeper {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""min;

// A crash that comes from the outside passes with a few tries; one that comes from the journal never does.
constexpr size_t kMostCrashes = 5;
constexpr Duration kCrashWindow = 5min;
constexpr Duration kFirstDelay = 100ms;
constexpr Duration kLongestDelay = 5000ms;

// A timer later than this means that the keeper itself was stopped, and the AM very likely with it.
constexpr Duration kOverslept = 1000ms;

Epoch NewestEpoch(const JobFolder& folder) {
  Epoch newest;
  const auto stored = ReadFile(folder.path() / "epoch");
  if (stored.ok()) newest.value = ParseInt(Trim(*stored)).value_or(0);
  // A power cut may have emptied the file.
  const auto lease = folder.ReadLease();
  if (lease.ok() && *lease) newest = std::max(newest, (*lease)->epoch);
  return newest;
}

}  // namespace

std::optional<Duration> CrashBudget::Crashed(Instant now) {
  while (!crashes_.empty() && now - crashes_.front() > kCrashWindow) crashes_.pop_front();
  crashes_.push_back(now);
  if (crashes_.size() >= kMostCrashes) return std::nullopt;
  if (crashes_.size() == 1) return Duration(0);
  return std::min(kLongestDelay, kFirstDelay * (1 << (crashes_.size() - 2)));
}

AmSupervision::AmSupervision(EventLoop& loop, ProcessRunner& runner, const JobFolder& folder,
                             std::vector<std::string> environment, AmOptions options, Listener listener)
    : loop_(loop),
      runner_(runner),
      folder_(folder),
      environment_(std::move(environment)),
      options_(std::move(options)),
      listener_(std::move(listener)),
      epoch_(NewestEpoch(folder)) {}

void AmSupervision::Begin() {
  if (epoch_.value == 0) return Start();  // the job is new: no need to look at every process of the machine
  const auto alive = Alive();
  if (alive.empty() && !folder_.IsLocked("am.lock")) return Start();
  LogInfo(StrCat("an AM is alive, waiting for its hello, epoch ", epoch_.value));
  state_ = State::kAwaited;
  if (!alive.empty()) Watch(alive.back());
  timer_ = loop_.After(options_.adoption, [this] {
    LogWarn("no hello from the AM: killing it");
    watch_.reset();
    Kill();
    Start();
  });
}

void AmSupervision::Start() {
  const Status started = StartNext();
  if (!started.ok()) OnCrash(started.error().message);
}

Status AmSupervision::StartNext() {
  epoch_ = epoch_.Next();
  TRY(WriteFileByRename(folder_.path() / "epoch", StrCat(epoch_.value, "\n"), /*durable=*/false));
  ProcessSpec am;
  am.argv = {options_.program, folder_.path().string(), std::to_string(epoch_.value)};
  am.env = OverEnvironment(environment_,
                           {StrCat(kJobMark, "=", folder_.job().value), StrCat(kAmMark, "=", folder_.job().value)});
  am.directory = folder_.path().string();
  am.stdout_file = am.stderr_file = (folder_.path() / "am.log").string();
  pidfd_.Reset();
  TRY_ASSIGN(pid_, runner_.Start(am, [this](ExitStatus status) { OnEnded(status); }));
  LogInfo(StrCat("AM started: epoch ", epoch_.value, ", pid ", pid_));
  BeRunning();
  return Ok();
}

void AmSupervision::BeRunning() {
  state_ = State::kRunning;
  renewed_ = loop_.Now();
  CheckSilence(renewed_);
}

// An AM that is not our child.
void AmSupervision::Watch(pid_t pid) {
  watch_.reset();
  pidfd_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd_.valid()) return;  // gone already: the timer of the state finds out
  pid_ = pid;
  watch_ = loop_.WhenReadable(pidfd_.get(), [this] { OnEnded(std::nullopt); });
}

bool AmSupervision::OnHello(Epoch epoch, pid_t pid) {
  if (epoch != epoch_) return false;
  switch (state_) {
    case State::kAwaited:
      if (pid_ == 0) Watch(pid);  // its mark was not to be seen
      LogInfo(StrCat("AM adopted: epoch ", epoch_.value, ", pid ", pid_));
      BeRunning();
      return true;
    case State::kRunning:
    case State::kRetiring:
      OnRenewed();
      return true;
    case State::kNone:
    case State::kBackoff:
    case State::kGone:
      return false;
  }
  return false;
}

void AmSupervision::OnRenewed() { renewed_ = loop_.Now(); }

void AmSupervision::CheckSilence(Instant expected) {
  if (loop_.Now() - expected > kOverslept) OnRenewed();
  listener_.before_judging();
  if (state_ != State::kRunning) return;
  const Instant end = renewed_ + options_.silence;
  if (loop_.Now() < end) {
    timer_ = loop_.At(end, [this, end] { CheckSilence(end); });
    return;
  }
  LogWarn(StrCat("AM has not renewed for ", options_.silence.count(), " ms: killing it"));
  Kill();
}

void AmSupervision::OnEnded(std::optional<ExitStatus> status) {
  watch_.reset();
  pidfd_.Reset();
  pid_ = 0;
  timer_.reset();
  const std::string how = status ? ToString(*status) : "not seen how";
  LogInfo(StrCat("AM ended: epoch ", epoch_.value, ", ", how));
  switch (state_) {
    case State::kAwaited:
      return Start();
    case State::kRunning:
      return OnCrash(how);
    case State::kRetiring:
      return BeRetired();
    case State::kNone:
    case State::kBackoff:
    case State::kGone:
      return;
  }
}

void AmSupervision::OnCrash(const std::string& how) {
  const auto delay = budget_.Crashed(loop_.Now());
  if (delay) {
    state_ = State::kBackoff;
    timer_ = loop_.After(*delay, [this] { Start(); });
    return;
  }
  state_ = State::kGone;
  timer_ = loop_.After(Duration(0), [this, how] {
    listener_.on_gave_up(StrCat("the application master crashed ", kMostCrashes, " times within ",
                                std::chrono::duration_cast<std::chrono::minutes>(kCrashWindow).count(),
                                " min, at last: ", how));
  });
}

void AmSupervision::Retire() {
  if (state_ == State::kRetiring || state_ == State::kGone) return;
  const auto alive = state_ == State::kNone ? Alive() : std::vector<pid_t>();  // started by an earlier keeper
  if (!alive.empty()) Watch(alive.back());
  state_ = State::kRetiring;
  timer_ = loop_.After(pid_ > 0 ? options_.farewell : Duration(0), [this] {
    Kill();
    if (pid_ == 0) BeRetired();
  });
}

void AmSupervision::BeRetired() {
  state_ = State::kGone;
  listener_.on_retired();
}

void AmSupervision::Kill() {
  if (pidfd_.valid()) {
    syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  } else if (pid_ > 0) {
    kill(pid_, SIGKILL);  // our child, not reaped yet: the pid is still its own
  } else {
    SignalAll(Alive(), SIGKILL);
  }
}

std::vector<pid_t> AmSupervision::Alive() const { return WithEnvironment(StrCat(kAmMark, "=", folder_.job().value)); }

}  // namespace tony::keeper
