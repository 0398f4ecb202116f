// `tony wait`: waits until a job has ended, or until its status has changed. If the command is interrupted, the job
// continues.
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/live_view.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/client/watch_job.h"

namespace tony {
namespace {

// The options of `tony wait`, without the job.
struct WaitOrder {
  std::optional<Duration> limit;
  std::optional<int64_t> since;
  OwnerToken owner;
  WatcherToken watcher;
  bool json = false;
  bool follow = false;
};

Result<WaitOrder> ReadWaitOrder(const CommandLine& line) {
  WaitOrder order = {.json = line.Has("json"), .follow = line.Has("follow")};
  TRY_ASSIGN(order.limit, SecondsOption(line, "timeout"));
  TRY_ASSIGN(order.since, NumberOption(line, "since"));
  TRY_ASSIGN(order.owner, OwnerOption(line, "owner"));
  TRY_ASSIGN(order.watcher, WatcherOption(line, "watcher"));
  return order;
}

// Returns whether a running job has an owner other than the token of --owner. Returns false if the job has no owner, or
// if the job has ended, because the end is reported to every owner.
bool HasOtherOwner(const WaitOrder& order, const JobStatus& status) {
  const OwnerToken& owner = status.claim.owner;
  return !HasEnded(status) && !order.owner.value.empty() && !owner.value.empty() && owner != order.owner;
}

std::function<bool(const JobStatus&)> OnStatus(const WaitOrder& order, const JobRecords& records) {
  return [order, records, before = std::optional<JobStatus>()](const JobStatus& status) mutable {
    const bool anothers = HasOtherOwner(order, status);
    if (order.since && status.seq <= *order.since && !HasEnded(status)) return !anothers;
    if (order.follow && order.json) {
      PrintLine(StatusDocument(records, status));
    } else {
      for (const std::string& change : ChangeLines(before, status)) order.follow ? PrintLine(change) : Say(change);
    }
    before = status;
    return !anothers && (order.follow || !order.since);
  };
}

std::string Document(const Watched& watched, const JobRecords& records) {
  std::string document = StatusDocument(records, *watched.status);
  return watched.timed_out ? WithFields(std::move(document), {{"timed_out", "true"}}) : document;
}

Result<int> Report(const WaitOrder& order, const Watched& watched, const JobRecords& records) {
  const std::string job = StrCat("job ", records.job().value);
  // With --json and --follow, the last line of the stream has already contained the document.
  const bool told = order.json && order.follow && !watched.timed_out;
  const bool answers = watched.status && (order.since || HasEnded(*watched.status));
  const bool fails = watched.timed_out && !answers;
  const auto error = Error{ErrorCode::kUnavailable,
                           StrCat(job, " has not ended within ", HumanDuration(order.limit.value_or(Duration(0))))};
  if (fails && watched.status && order.json) return FailWith(error, Document(watched, records));
  if (fails) return error;
  if (watched.status && order.json && !told) PrintLine(Document(watched, records));
  if (watched.signal != 0) {
    Say(StrCat("interrupted; ", job, " continues"));
    return 128 + watched.signal;
  }
  if (!HasEnded(*watched.status)) {  // ended by --since or another owner
    if (HasOtherOwner(order, *watched.status)) {
      Say(StrCat(job, " has another owner now"));
    } else if (watched.timed_out) {
      Say(StrCat(job, " has not changed"));
    }
    return 0;
  }
  if (!order.json) Print(VerdictText(*watched.status, records) + SweepSummary(records, *watched.status));
  return watched.status->verdict->state == FinalState::kSucceeded ? 0 : 1;
}

}  // namespace

Result<int> RunWait(const CommandLine& line) {
  TRY_ASSIGN(const WaitOrder order, ReadWaitOrder(line));
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().front(), TerminalNotes()));
  EventLoop loop;
  const auto launcher = BackendOf(records.job()).MakeLauncher(loop);
  Interrupts interrupts(loop);
  const bool plain = order.json || order.follow || order.since || !order.owner.value.empty();
  const auto view = plain ? nullptr : LiveView::Make(loop, records);
  const WatchOptions options = {.watcher = order.watcher, .limit = order.limit, .on_status = OnStatus(order, records)};
  TRY_ASSIGN(const Watched watched, view ? view->Watch(interrupts, records, *launcher, options)
                                         : WatchJob(loop, interrupts, records, *launcher, TerminalNotes(), options));
  const auto exit = Report(order, watched, records);
  if (exit.ok() && watched.status && HasEnded(*watched.status))
    SuggestNext(line, {StrCat("history ", records.job().value), StrCat("logs ", records.job().value)});
  return exit;
}

}  // namespace tony
