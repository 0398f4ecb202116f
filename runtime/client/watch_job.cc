#include "runtime/client/watch_job.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/client/follow.h"

namespace tony {
namespace {

// The time that the record of a kill may take, before the kill is sent to the AM without a record.
constexpr Duration kRecordPatience{500};
// The time that a second signal waits for an AM, before the scheduler ends the job.
constexpr Duration kSecondPatience{2000};

std::string SignalName(int signal) { return StrCat("SIG", sigabbrev_np(signal)); }

class Watcher {
 public:
  Watcher(EventLoop& loop, const JobRecords& records, AmLauncher& launcher, const ClientNotes& notes,
          const WatchOptions& options)
      : loop_(loop),
        folder_(records),
        launcher_(launcher),
        notes_(notes),
        options_(options),
        known_(options.known),
        is_recorded_(options.kill && !options.kill->name.empty()),
        follower_(loop, records, launcher,
                  {.on_status = [this](const JobStatus& status) { OnStatus(status); },
                   .on_note = notes.note,
                   .on_end = [this](const Result<JobStatus>& end) { OnEnd(end); },
                   .on_attached = [this](bool attached) { watched_.attached = attached; },
                   .on_kill = [this](KillAnswer answer) { OnKill(answer); }}),
        recorder_(loop) {}

  Result<Watched> Run(Interrupts& interrupts) {
    if (options_.kill_on_signal) grace_ = follower_.Grace();
    interrupts.Listen([this](int signal) { OnSignal(signal); });
    interrupts.EndAfter(options_.kill_on_signal ? 2 : 1, [this](int signal) { return LastWords(signal); });
    if (options_.limit) limit_ = loop_.After(*options_.limit, [this] { OnLimit(); });
    if (options_.known) follower_.Know(*options_.known);
    if (options_.attach) follower_.Attach(*options_.attach);
    follower_.AnnounceWatcher(options_.watcher);
    follower_.Start(options_.patience, options_.usage_interval);
    if (options_.kill) follower_.SendKill(*options_.kill);
    loop_.Run();
    interrupts.Listen([](int) {});
    interrupts.EndAfter(options_.kill_on_signal ? 2 : 1,
                        [&launcher = launcher_, job = folder_.job(), kill = options_.kill_after_signal,
                         known = watched_.status](int) -> std::string {
                          if (known && known->verdict) return StrCat("job ", job.value, " ", known->state);
                          return kill ? LastKill(launcher, job, *kill, known) : StrCat("job ", job.value, " continues");
                        });
    TRY(failure_);
    return watched_;
  }

 private:
  void OnStatus(const JobStatus& status) {
    watched_.status = status;
    {
      const std::lock_guard lock(mutex_);
      known_ = status;
    }
    if (HasAnswer() || (options_.on_status && !options_.on_status(status))) loop_.Stop();
  }

  // Returns whether the answers so far end the wait. Called with each status, because the answers arrive before the
  // status.
  bool HasAnswer() const {
    if (watched_.attached) return true;
    if (!watched_.kill) return false;
    return options_.until_answered || *watched_.kill == KillAnswer::kFenced || *watched_.kill == KillAnswer::kPlanned;
  }

  void OnKill(KillAnswer answer) {
    watched_.kill = answer;
    const std::lock_guard lock(mutex_);
    is_heard_ = true;
  }

  void OnEnd(const Result<JobStatus>& end) {
    if (!end.ok()) failure_ = end.error();
    loop_.Stop();
  }

  void OnLimit() {
    watched_.timed_out = true;
    loop_.Stop();
  }

  KillRequest RequestAfter(int signal, bool first) const {
    return {.reason = StrCat("the submitting client received ", SignalName(signal)),
            .grace = first ? Duration(-1) : Duration(0),
            .if_owner = options_.kill_as};
  }

  // The kill is recorded first, so that an AM that starts later reads the record. If the store fails or does not
  // answer, the kill is not recorded. The AM is notified in any case.
  void OnSignal(int signal) {
    if (watched_.status && watched_.status->verdict) return;  // the verdict is already known
    const bool first = watched_.signal == 0;
    if (first) watched_.signal = signal;
    if (!options_.kill_on_signal) return loop_.Stop();
    notes_.note(StrCat(
        SignalName(signal), ": killing job ", folder_.job().value,
        first ? StrCat("; its tasks have ", HumanDuration(grace_), " to stop; a second signal kills them at once")
              : " at once"));
    const KillRequest request = RequestAfter(signal, first);
    const Duration patience = first ? kKillPatience : kSecondPatience;
    recorder_.Do([this, records = folder_, request, patience, number = ++kills_]() -> SideThread::Then {
      return [this, request, patience, number, recorded = records.WriteKill(request)] {
        if (number == kills_) OnRecorded(request, recorded, patience);
      };
    });
    unrecorded_ = loop_.After(kRecordPatience, [this, request, patience] {
      follower_.SendKill({"", request}, patience);
    });
  }

  void OnRecorded(const KillRequest& request, const Result<RecordedKill>& recorded, Duration patience) {
    unrecorded_ = nullptr;
    if (!recorded.ok()) notes_.note(recorded.error().message);
    {
      const std::lock_guard lock(mutex_);
      is_recorded_ = recorded.ok();
    }
    follower_.SendKill(recorded.ok() ? *recorded : RecordedKill{"", request}, patience);
  }

  // Returns what happens to the job. If the job should be killed and the kill is not recorded, the function first tries
  // to end the job in its scheduler. Interrupts calls the function if the process has not exited in time after a
  // signal. The function runs on the thread of Interrupts, because the loop may be blocked.
  std::string LastWords(int signal) {
    const std::string job = StrCat("job ", folder_.job().value);
    std::unique_lock lock(mutex_);
    std::optional<KillRequest> kill = options_.kill_after_signal;
    if (options_.kill) kill = options_.kill->request;
    if (options_.kill_on_signal) kill = RequestAfter(signal, /*first=*/true);
    if (!kill) return StrCat(job, " continues");
    if (is_recorded_) return StrCat(job, is_heard_ ? " is being killed" : ": the kill is recorded");
    const std::optional<JobStatus> known = known_;
    lock.unlock();
    return LastKill(launcher_, folder_.job(), *kill, known);
  }

  EventLoop& loop_;
  const JobRecords& folder_;
  AmLauncher& launcher_;
  const ClientNotes& notes_;
  const WatchOptions& options_;
  std::mutex mutex_;
  // The mutex guards the next three members.
  std::optional<JobStatus> known_;
  bool is_recorded_;
  bool is_heard_ = false;
  Follower follower_;
  Duration grace_{0};
  int kills_ = 0;
  EventLoop::Timer limit_, unrecorded_;
  Watched watched_;
  Status failure_;
  SideThread recorder_;
};

}  // namespace

Interrupts::Interrupts(EventLoop& loop, Duration limit) : loop_(loop), exit_limit_(limit) {
  last_words_ = [](int) { return "a server did not answer; \"tony list\" shows whether the job was submitted"; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    watches_.push_back(own_loop_.OnSignals({signal}, [this](int caught) { OnSignal(caught); }));
  }
  thread_ = std::thread([this] {
    // This thread blocks all signals, because the descriptors of other loops do not report a signal that was delivered
    // to this thread.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    own_loop_.Run();
  });
}

Interrupts::~Interrupts() {
  own_loop_.Stop();
  thread_.join();
}

void Interrupts::EndAfter(int signals, LastWords words) {
  {
    const std::lock_guard lock(mutex_);
    signals_ = signals;
    last_words_ = std::move(words);
  }
  own_loop_.Post([this] { StartLimit(); });
}

void Interrupts::OnSignal(int signal) {
  if (caught_++ == 0) first_ = signal;
  loop_.Post([this, signal, alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && fn_) fn_(signal);
  });
  StartLimit();
}

void Interrupts::StartLimit() {
  const std::lock_guard lock(mutex_);
  if (caught_ < signals_) return limit_.reset();
  if (!limit_) limit_ = own_loop_.After(exit_limit_, [this] { SayLastWords(); });
}

void Interrupts::SayLastWords() {
  const std::lock_guard lock(mutex_);
  const std::string line = StrCat("interrupted; ", last_words_(first_), "\n");
  (void)!write(STDERR_FILENO, line.data(), line.size());
  _exit(128 + first_);
}

std::string LastKill(const Arbiter& arbiter, const JobId& job, const KillRequest& kill,
                     const std::optional<JobStatus>& known) {
  const std::string name = StrCat("job ", job.value);
  const bool is_certain = known || kill.IsPlain();
  const JobStatus status = known.value_or(JobStatus());
  if (is_certain && !Holds(kill, status.claim.owner, status.watcher))
    return StrCat(name, " has another owner and continues");
  const auto ended = is_certain ? arbiter.EndInScheduler(job, kill.reason) : Result<bool>(false);
  if (ended.ok() && *ended)
    return StrCat("the scheduler ends ", name, ", because the records of the job cannot be written");
  return StrCat("the kill of ", name, " may be lost", ended.ok() ? "" : StrCat(": ", ended.error().message),
                "; \"tony kill ", job.value, "\" repeats the kill");
}

Result<Watched> WatchJob(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                         const ClientNotes& notes, const WatchOptions& options) {
  return Watcher(loop, records, launcher, notes, options).Run(interrupts);
}

}  // namespace tony
