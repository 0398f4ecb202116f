#include "runtime/client/watch_job.h"

#include <csignal>
#include <cstring>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/client/follow.h"

namespace tony {
namespace {

std::string SignalName(int signal) { return StrCat("SIG", sigabbrev_np(signal)); }

class Watcher {
 public:
  Watcher(EventLoop& loop, const JobRecords& records, AmLauncher& launcher, const ClientNotes& notes,
          const WatchOptions& options)
      : loop_(loop),
        folder_(records),
        notes_(notes),
        options_(options),
        follower_(loop, records, launcher,
                  {.on_status = [this](const JobStatus& status) { OnStatus(status); },
                   .on_note = notes.note,
                   .on_end = [this](const Result<JobStatus>& end) { OnEnd(end); },
                   .on_attached = [this](bool attached) { watched_.attached = attached; },
                   .on_kill = [this](KillAnswer answer) { watched_.kill = answer; }}) {}

  Result<Watched> Run(Interrupts& interrupts) {
    interrupts.Listen([this](int signal) { OnSignal(signal); });
    if (options_.limit) limit_ = loop_.After(*options_.limit, [this] { OnLimit(); });
    if (options_.attach) follower_.Attach(*options_.attach);
    follower_.AnnounceWatcher(options_.watcher);
    follower_.Start(options_.patience, options_.usage_interval);
    if (options_.kill) follower_.SendKill(*options_.kill);
    loop_.Run();
    interrupts.Listen([](int) {});
    TRY(failure_);
    return watched_;
  }

 private:
  void OnStatus(const JobStatus& status) {
    watched_.status = status;
    if (HasAnswer() || (options_.on_status && !options_.on_status(status))) loop_.Stop();
  }

  // Returns whether the answers so far end the wait. Called with each status, before which the answers arrive.
  bool HasAnswer() const {
    if (watched_.attached) return true;
    if (!watched_.kill) return false;
    return options_.until_answered || *watched_.kill == KillAnswer::kFenced || *watched_.kill == KillAnswer::kPlanned;
  }

  void OnEnd(const Result<JobStatus>& end) {
    if (!end.ok()) failure_ = end.error();
    loop_.Stop();
  }

  void OnLimit() {
    watched_.timed_out = true;
    loop_.Stop();
  }

  void OnSignal(int signal) {
    if (watched_.status && watched_.status->verdict) return;  // the verdict is already known
    const bool first = watched_.signal == 0;
    if (first) watched_.signal = signal;
    if (!options_.kill_on_signal) return loop_.Stop();
    const KillRequest request = {.reason = StrCat("the submitting client received ", SignalName(signal)),
                                 .grace = first ? Duration(-1) : Duration(0),
                                 .if_owner = options_.kill_as};
    // The kill may fail to be recorded. The AM is notified in any case.
    const auto recorded = folder_.WriteKill(request);
    if (!recorded.ok()) notes_.note(recorded.error().message);
    notes_.note(StrCat(SignalName(signal), ": killing job ", folder_.job().value, first ? GraceText() : " at once"));
    follower_.SendKill(recorded.ok() ? *recorded : RecordedKill{"", request});
  }

  std::string GraceText() const {
    const auto spec = folder_.ReadSpec();
    if (!spec.ok()) return "";
    return StrCat("; its tasks have ", HumanDuration(spec->timers.grace),
                  " to stop; a second signal kills them at once");
  }

  EventLoop& loop_;
  const JobRecords& folder_;
  const ClientNotes& notes_;
  const WatchOptions& options_;
  Follower follower_;
  EventLoop::Timer limit_;
  Watched watched_;
  Status failure_;
};

}  // namespace

Interrupts::Interrupts(EventLoop& loop) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    watches_.push_back(loop.OnSignals({signal}, [this](int caught) {
      if (fn_) fn_(caught);
    }));
  }
}

Result<Watched> WatchJob(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                         const ClientNotes& notes, const WatchOptions& options) {
  return Watcher(loop, records, launcher, notes, options).Run(interrupts);
}

}  // namespace tony
