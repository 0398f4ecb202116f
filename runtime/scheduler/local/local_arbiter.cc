#include "runtime/scheduler/local/local_arbiter.h"

#include <filesystem>
#include <string_view>

#include "runtime/base/strings.h"
#include "runtime/scheduler/local/lost_job.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

ArbiterView::Kind KindOf(const JobFolder& folder) {
  if (folder.IsLocked("keeper.lock")) return ArbiterView::Kind::kKept;
  if (folder.IsLocked("am.lock")) return ArbiterView::Kind::kAmAlone;
  return folder.IsOfEarlierBoot() ? ArbiterView::Kind::kLost : ArbiterView::Kind::kNobody;
}

}  // namespace

// What has been swept is said after the locks are let go.
ArbiterView LocalArbiter::Look(const JobFolder& folder) const {
  const ArbiterView::Kind kind = KindOf(folder);
  std::error_code error;
  return {.kind = kind, .swept = std::filesystem::exists(folder.finished(), error)};
}

Result<std::optional<JobStatus>> LocalArbiter::UnwrittenEnd(const JobFolder& folder) const {
  if (!IsLost(folder)) return std::optional<JobStatus>();
  TRY_ASSIGN(JobStatus status, LostStatus(folder));
  return std::optional(std::move(status));
}

Status LocalArbiter::Settle(const JobFolder& folder) const { return SettleIfLost(folder); }

std::string LocalArbiter::WhyItEnds(const JobFolder& folder) const {
  const auto log = ReadFile(folder.path() / "keeper.log");
  std::string_view last;
  if (log.ok()) {
    last = std::string_view(*log).substr(0, log->find_last_not_of('\n') + 1);
    last.remove_prefix(last.rfind('\n') + 1);
  }
  return StrCat("see ", folder.path().string(), "; the last line of its keeper.log: ", last);
}

}  // namespace tony
