#include "runtime/scheduler/local/local_arbiter.h"

#include <filesystem>
#include <string_view>

#include "runtime/base/strings.h"
#include "runtime/scheduler/local/lost_job.h"
#include "runtime/store/files.h"
#include "runtime/store/job_folder.h"
#include "runtime/store/looks.h"

namespace tony {
namespace {

ArbiterView::Kind KindOf(const JobFolder& folder) {
  if (folder.IsLocked("keeper.lock")) return ArbiterView::Kind::kKept;
  if (folder.IsLocked("keeper.start")) return ArbiterView::Kind::kStarting;
  if (folder.IsLocked("am.lock")) return ArbiterView::Kind::kAmAlone;
  return folder.IsOfEarlierBoot() ? ArbiterView::Kind::kLost : ArbiterView::Kind::kNobody;
}

}  // namespace

// What has been swept is said after the locks are let go.
ArbiterView LocalArbiter::Look(const JobRecords& records) const {
  const JobFolder folder(records);
  const ArbiterView::Kind kind = KindOf(folder);
  std::error_code error;
  return {.kind = kind, .swept = std::filesystem::exists(folder.finished(), error)};
}

Result<std::optional<JobStatus>> LocalArbiter::UnwrittenEnd(const JobRecords& records) const {
  if (!IsLost(records)) return std::optional<JobStatus>();
  TRY_ASSIGN(JobStatus status, LostStatus(records));
  return std::optional(std::move(status));
}

Status LocalArbiter::Settle(const JobRecords& records) const { return SettleIfLost(records); }

Result<bool> LocalArbiter::LeaveLook(const JobRecords& records, const WatcherToken& watcher) const {
  return tony::LeaveLook(records, watcher);
}

std::string LocalArbiter::WhyItEnds(const JobRecords& records) const {
  const auto log = ReadFile(records.place() / "keeper.log");
  std::string_view last;
  if (log.ok()) {
    last = std::string_view(*log).substr(0, log->find_last_not_of('\n') + 1);
    last.remove_prefix(last.rfind('\n') + 1);
  }
  return StrCat("see ", records.place().string(), "; the last line of its keeper.log: ", last);
}

}  // namespace tony
