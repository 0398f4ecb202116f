#include "runtime/keeper/am_supervision.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/lost_job.h"
#include "runtime/os/files.h"
#include "runtime/page/page_address.h"
#include "runtime/records/job_folder.h"

namespace tony::keeper {
namespace {

constexpr Duration kFirstDelay{100};
constexpr Duration kLongestDelay{5000};

std::filesystem::path DeathsFile(const JobRecords& records) { return records.place() / "am.deaths"; }

// Removes the times that no longer count: times older than the window, and times later than `now`. A later time was
// recorded before the clock was set back.
void Forget(std::deque<Instant>& times, Instant now) {
  std::erase_if(times, [now](Instant time) { return time > now || now - time > DeathBudget::kWindow; });
}

}  // namespace

std::optional<Duration> DeathBudget::Died(const AmDeath& death) {
  const bool crashed = death.kind == AmDeath::Kind::kCrashed;
  auto& times = crashed ? crashes_ : kills_;
  Forget(times, death.time);
  times.push_back(death.time);
  if (times.size() >= (crashed ? kMostCrashes : kMostKills)) return std::nullopt;
  if (!crashed || times.size() == 1) return Duration(0);
  return std::min(kLongestDelay, kFirstDelay * (1 << (times.size() - 2)));
}

void DeathBudget::Restore(const std::vector<AmDeath>& earlier) {
  for (const auto& death : earlier) (void)Died(death);
}

Status RecordDeath(const JobRecords& records, const AmDeath& death) {
  const char* kind = death.kind == AmDeath::Kind::kCrashed ? "crashed" : "killed";
  return AppendLine(DeathsFile(records), StrCat(ToMillis(death.time), " ", kind));
}

std::vector<AmDeath> ReadDeaths(const JobRecords& records) {
  std::vector<AmDeath> deaths;
  const auto content = ReadFile(DeathsFile(records));
  if (!content.ok()) return deaths;
  for (const auto& line : Split(*content, '\n')) {
    const auto words = Split(line, ' ');
    const auto time = words.size() == 2 ? ParseInt(words[0]) : std::nullopt;
    if (!time || (words[1] != "crashed" && words[1] != "killed")) continue;
    deaths.push_back({FromMillis(*time), words[1] == "crashed" ? AmDeath::Kind::kCrashed : AmDeath::Kind::kKilled});
  }
  return deaths;
}

std::optional<int> PageHolder::SocketForMaster() {
  if (socket_.valid()) return socket_.get();
  auto opened = ListenForPage(records_, kLoopback);
  if (opened.ok()) {
    socket_ = std::move(opened->listening);
  } else if (opened.error().code != ErrorCode::kNotFound) {
    LogWarn(opened.error().message);
  }
  if (!socket_.valid()) return std::nullopt;
  return socket_.get();
}

void PageHolder::Take(UniqueFd socket) {
  if (socket_.valid() || !socket.valid()) return;
  auto adopted = AdoptPageSocket(std::move(socket));
  if (!adopted.ok()) return LogWarn(adopted.error().message);
  socket_ = std::move(adopted->listening);
}

namespace {

// The interval between attempts to start an AM while the disk is full.
constexpr Duration kBetweenStarts{1000};

// If a timer fires this late, the keeper was stopped meanwhile, and probably its AM with it. In this case the
// silence of the AM counts from now.
constexpr Duration kOverslept{1000};

// An AM that survives SIGKILL for this long is blocked in the kernel, e.g. by a disk. The job then ends without waiting
// for the exit of the AM.
constexpr Duration kDying{10000};

// The exit status of an AM that cannot read the job's own files. The next AM could not read them either, so none is
// started.
constexpr ExitStatus kUnreadable{ExitStatus::Kind::kExited, static_cast<int>(ErrorCode::kInvalid)};
// The exit status of an AM that failed a CHECK. The next AM would replay the same decisions and fail as well, so none
// is started.
constexpr ExitStatus kInternalError{ExitStatus::Kind::kExited, kFailedCheck};

Epoch NewestEpoch(const JobRecords& records) {
  Epoch newest;
  const auto stored = ReadFile(records.place() / "epoch");
  if (stored.ok()) newest.value = ParseInt(Trim(*stored)).value_or(0);
  // The epoch in the lease record is read too, because a power cut may have emptied the file `epoch`.
  const auto lease = records.ReadLease();
  if (lease.ok() && *lease) newest = std::max(newest, (*lease)->epoch);
  return newest;
}

// Classifies the exit of an AM that this keeper did not kill.
AmDeath::Kind KindOf(const std::optional<ExitStatus>& status) {
  const bool killed = !status || *status == ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL};
  return killed ? AmDeath::Kind::kKilled : AmDeath::Kind::kCrashed;
}

// Returns the last line of am.log, without the prefix that the log adds.
std::string LastWordsOfAm(const JobRecords& records) {
  const std::string lines = LastLinesOfAm(records);
  const auto last = Trim(lines).substr(Trim(lines).rfind('\n') + 1);
  constexpr std::string_view kError = " error: ";
  const size_t at = last.find(kError);
  if (last.empty()) return "the application master left no reason in am.log";
  return std::string(at == std::string_view::npos ? last : last.substr(at + kError.size()));
}

}  // namespace

AmSupervision::AmSupervision(EventLoop& loop, ProcessRunner& runner, const JobRecords& records,
                             std::vector<std::string> environment, AmOptions options, Listener listener)
    : loop_(loop),
      runner_(runner),
      records_(records),
      environment_(std::move(environment)),
      options_(std::move(options)),
      listener_(std::move(listener)),
      page_(records),
      epoch_(NewestEpoch(records)) {
  budget_.Restore(ReadDeaths(records_));
}

void AmSupervision::Begin() {
  // A new job cannot have a living AM, so no search for one is needed.
  if (epoch_.value == 0) return Start();
  const auto alive = Alive();
  if (alive.empty() && !JobFolder(records_).IsLocked("am.lock")) return Start();
  LogInfo(StrCat("an AM of epoch ", epoch_.value, " is running; the keeper waits until this AM connects"));
  state_ = State::kAwaited;
  if (!alive.empty()) WatchMarked(alive.back());
  timer_ = loop_.After(options_.adoption, [this] {
    LogWarn("the AM did not contact the keeper in time; the keeper kills it and starts another");
    watch_.reset();
    Kill();
    Start();
  });
}

void AmSupervision::Start() {
  const Status started = StartNext();
  if (started.ok()) return;
  const Error& error = started.error();
  // A full disk is not a crash of the AM and may get space again, so the start is retried. If the job's folder was
  // removed, no retry can succeed.
  const auto is_there = TryIsThere(records_.place());
  const bool is_gone = is_there.ok() && !*is_there;
  if (error.code != ErrorCode::kCannotWrite || is_gone) return OnDeath(AmDeath::Kind::kCrashed, error.message);
  LogWarn(error.message);
  state_ = State::kBackoff;
  if (!unstarted_since_) unstarted_since_ = loop_.Now();
  if (loop_.Now() - *unstarted_since_ >= options_.unstartable) return EnterGone(listener_.on_unreadable, error.message);
  timer_ = loop_.After(kBetweenStarts, [this] { Start(); });
}

Status AmSupervision::StartNext() {
  // If am.lock is held, an AM of an earlier epoch lives. The search by its mark (an environment variable) may have
  // missed this AM, because its keeper died before the mark was visible.
  if (JobFolder(records_).IsLocked("am.lock")) KillMarked();
  const Epoch next = epoch_.Next();
  TRY(WriteFileByRename(records_.place() / "epoch", StrCat(next.value, "\n"), /*durable=*/false));
  epoch_ = next;
  ProcessSpec am;
  am.argv = {options_.program, records_.place().string(), std::to_string(epoch_.value)};
  const std::optional<int> page = page_.SocketForMaster();
  if (page) am.inherited.push_back(*page);
  am.env = MergeEnvironments(environment_,
                             {StrCat(kJobMark, "=", records_.job().value), StrCat(kAmMark, "=", records_.job().value),
                              StrCat(kPageSocketVariable, "=", page ? std::to_string(*page) : "")});
  am.directory = records_.place().string();
  am.stdout_file = am.stderr_file = (records_.place() / "am.log").string();
  process_ = {};
  TRY_ASSIGN(pid_, runner_.Start(am, [this](ExitStatus status) { OnEnded(status); }));
  LogInfo(StrCat("AM started: epoch ", epoch_.value, ", pid ", pid_));
  listener_.on_start();
  BeRunning();
  return Ok();
}

void AmSupervision::BeRunning() {
  unstarted_since_.reset();
  state_ = State::kRunning;
  renewed_ = loop_.Now();
  CheckSilence(renewed_);
}

// Watches an AM that is not a child of this process. `pid_` stays 0 if the AM has exited already, or if no file
// descriptor is free.
void AmSupervision::Watch(pid_t pid) {
  watch_.reset();
  process_ = HeldProcess(pid);
  if (!process_.valid()) return;
  pid_ = pid;
  watch_ = process_.WhenEnded(loop_, [this] { OnEnded(std::nullopt); });
}

// Watches an AM that was found by its mark. The process is opened first (HeldProcess), and its mark is checked
// afterwards. Therefore another process that reuses the pid is never mistaken for the AM.
void AmSupervision::WatchMarked(pid_t pid) {
  Watch(pid);
  if (HasEnvironmentSetting(pid, Mark())) return;
  watch_.reset();
  process_ = {};
  pid_ = 0;
}

bool AmSupervision::OnHello(Epoch epoch, pid_t pid) {
  if (epoch != epoch_) return false;
  switch (state_) {
    case State::kAwaited:
      if (pid_ == 0) Watch(pid);  // the AM's mark was not visible
      if (pid_ == 0) return false;
      LogInfo(StrCat("AM adopted: epoch ", epoch_.value, ", pid ", pid_));
      BeRunning();
      return true;
    case State::kRunning:
    case State::kRetiring:
      OnRenewed();
      return true;
    case State::kNone:
    case State::kHung:
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
  LogWarn(StrCat("the AM has not renewed its lease for ", options_.silence.count(), " ms; the keeper kills it"));
  state_ = State::kHung;
  Kill();
}

void AmSupervision::OnEnded(std::optional<ExitStatus> status) {
  watch_.reset();
  process_ = {};
  pid_ = 0;
  timer_.reset();
  const std::string how = status ? ToString(*status) : "cause unknown";
  LogInfo(StrCat("AM ended: epoch ", epoch_.value, ", ", how));
  switch (state_) {
    case State::kAwaited:
      return Start();
    case State::kRunning:
      if (status == kUnreadable) return EnterGone(listener_.on_unreadable, LastWordsOfAm(records_));
      if (status == kInternalError) return EnterGone(listener_.on_gave_up, LastWordsOfAm(records_));
      return OnDeath(KindOf(status), how);
    case State::kHung:
      return OnDeath(AmDeath::Kind::kCrashed,
                     StrCat("the application master hung for ", options_.silence.count(), " ms"));
    case State::kRetiring:
      return EnterRetired();
    case State::kNone:
    case State::kBackoff:
    case State::kGone:
      return;
  }
}

void AmSupervision::OnDeath(AmDeath::Kind kind, const std::string& how) {
  const AmDeath death{loop_.Now(), kind};
  if (const Status recorded = RecordDeath(records_, death); !recorded.ok()) LogWarn(recorded.error().message);
  const auto delay = budget_.Died(death);
  if (delay) {
    state_ = State::kBackoff;
    timer_ = loop_.After(*delay, [this] { Start(); });
    return;
  }
  const bool crashed = kind == AmDeath::Kind::kCrashed;
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(DeathBudget::kWindow).count();
  EnterGone(listener_.on_gave_up, StrCat("the application master ", crashed ? "crashed " : "was killed ",
                                         crashed ? DeathBudget::kMostCrashes : DeathBudget::kMostKills,
                                         " times within ", minutes, " min; the last cause: ", how));
}

void AmSupervision::EnterGone(const std::function<void(const std::string&)>& tell, const std::string& why) {
  state_ = State::kGone;
  timer_ = loop_.After(Duration(0), [&tell, why] { tell(why); });
}

void AmSupervision::RetireWithin(Duration farewell) {
  page_.LetGo();
  if (state_ == State::kRetiring || state_ == State::kGone) return;
  // If Begin() was not called, an AM of an earlier keeper may be alive.
  const auto alive = state_ == State::kNone ? Alive() : std::vector<pid_t>();
  if (!alive.empty()) WatchMarked(alive.back());
  state_ = State::kRetiring;
  timer_ = loop_.After(pid_ > 0 ? farewell : Duration(0), [this] { KillRetired(); });
}

void AmSupervision::KillRetired() {
  Kill();
  if (pid_ == 0) return EnterRetired();
  timer_ = loop_.After(kDying, [this] {
    LogError(StrCat("the AM (pid ", pid_, ") survives SIGKILL; the job ends without waiting for the AM's exit"));
    EnterRetired();
  });
}

void AmSupervision::EnterRetired() {
  watch_.reset();
  state_ = State::kGone;
  listener_.on_retired();
}

void AmSupervision::Kill() {
  if (process_.valid()) {
    (void)process_.Signal(SIGKILL);
  } else if (pid_ > 0) {
    // The pid cannot be reused, because this AM is our child and not reaped yet.
    kill(pid_, SIGKILL);
  } else {
    KillMarked();
  }
}

void AmSupervision::KillMarked() const { SignalWithEnvironment(Mark(), SIGKILL); }

std::vector<pid_t> AmSupervision::Alive() const { return ProcessesWithEnvironment(Mark()); }

std::string AmSupervision::Mark() const { return StrCat(kAmMark, "=", records_.job().value); }

}  // namespace tony::keeper
