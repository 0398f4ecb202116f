#include "runtime/local/local_arbiter.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/base/strings.h"
#include "runtime/keeper/lost_job.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/ledger/process_check.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/users.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/last_status.h"

namespace tony {
namespace {

ArbiterView::Kind KindOf(const JobRecords& records) {
  const JobFolder folder(records);
  if (folder.IsLocked("keeper.lock")) return ArbiterView::Kind::kKept;
  if (folder.IsLocked("keeper.start")) return ArbiterView::Kind::kStarting;
  if (folder.IsLocked("am.lock")) return ArbiterView::Kind::kAmAlone;
  return HasEndedUnrecorded(records) ? ArbiterView::Kind::kLost : ArbiterView::Kind::kNobody;
}

bool EndsWithin(const HeldProcess& process, Duration limit) {
  EventLoop loop;
  bool ended = false;
  const auto watch = process.WhenEnded(loop, [&] {
    ended = true;
    loop.Stop();
  });
  const auto timer = loop.After(limit, [&] { loop.Stop(); });
  loop.Run();
  return ended;
}

}  // namespace

// `swept` is read after the locks, because the keeper writes the file `finished` before it releases them.
ArbiterView LocalArbiter::Look(const JobRecords& records) const {
  const ArbiterView::Kind kind = KindOf(records);
  std::error_code error;
  return {.kind = kind, .swept = std::filesystem::exists(JobFolder(records).finished(), error)};
}

Result<std::optional<JobStatus>> LocalArbiter::UnwrittenEnd(const JobRecords& records) const {
  if (!IsLost(records)) return std::optional<JobStatus>();
  TRY_ASSIGN(JobStatus status, LostStatus(records));
  return std::optional(std::move(status));
}

Status LocalArbiter::Settle(const JobRecords& records) const { return FinalizeIfLost(records); }

// If the keeper cannot write the job's folder, it leaves the final status in the ledger's folder, where this function
// reads it.
Result<std::optional<JobStatus>> LocalArbiter::EndWithoutRecords(const JobId& job, const std::string&,
                                                                 Duration limit) const {
  const auto keeper = FindKeeper(job, geteuid());
  const std::string who = keeper ? StrCat("the job's keeper, ", Describe(*keeper)) : "";
  const HeldProcess held = keeper ? HeldProcess(static_cast<pid_t>(keeper->pid)) : HeldProcess();
  // The start time of the process is compared again after `held` refers to it, because the pid may have been reused in
  // between.
  const auto now = held.valid() ? ReadVisibleProcess(keeper->pid) : std::nullopt;
  if (now && now->start == keeper->start) {
    if (!held.Signal(SIGTERM) && errno != ESRCH)
      return UnavailableError("send SIGTERM to ", who, ": ", ErrnoText(errno));
    if (!EndsWithin(held, limit))
      return std::optional(JobStatus{.job = job, .user = UserName(geteuid()), .state = "STOPPING"});
  }
  const auto ledger = LedgerFolder::FindHere();
  if (auto end = ledger.ok() ? FindUnwrittenEnd(ledger->path(), job) : std::nullopt) return end;
  if (!keeper) return UnavailableError("the job has no keeper on this machine that runs as user ", UserName(geteuid()));
  JobStatus killed{.job = job, .user = UserName(geteuid())};
  EndStatus(killed,
            {.state = FinalState::kKilled,
             .cls = OutcomeClass::kKilled,
             .message = StrCat(who, ", ended the job after SIGTERM; the record of the end was not found")},
            RealClock().Now());
  return std::optional(std::move(killed));
}

std::string LocalArbiter::KeeperFailureHint(const JobRecords& records) const {
  const auto log = ReadFile(records.place() / "keeper.log");
  std::string_view last;
  if (log.ok()) {
    last = std::string_view(*log).substr(0, log->find_last_not_of('\n') + 1);
    last.remove_prefix(last.rfind('\n') + 1);
  }
  return StrCat("see ", (records.place() / "keeper.log").string(), "; its last line is: ", last);
}

}  // namespace tony
