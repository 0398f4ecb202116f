#include "runtime/scheduler/local/lost_job.h"

#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/scheduler/local/final_status.h"
#include "runtime/scheduler/local/write_apart.h"
#include "runtime/store/files.h"
#include "runtime/store/machine_boot.h"

namespace tony {
namespace {

// For those who find a lost job, and want to know how it ended.
constexpr Duration kHistoryPatience{3000};

}  // namespace

// The locks come first: they are the kernel's own word, and outlive a boot id that changes under living processes
// (a virtual machine or container that was moved).
bool IsLost(const JobFolder& folder) {
  return !folder.IsLocked("keeper.lock") && !folder.IsLocked("am.lock") && folder.IsOfEarlierBoot();
}

Result<JobStatus> LostStatus(const JobFolder& folder) {
  const Instant restart = BootTime(RealClock().Now());
  Verdict verdict;
  verdict.state = FinalState::kFailed;
  verdict.cls = OutcomeClass::kNodeLost;
  verdict.message = StrCat("the machine was restarted at ", ToIso8601(restart), " while the job ran");
  return EndedStatus(folder, verdict, restart);
}

Status EndLostJob(const JobFolder& folder) {
  TRY_ASSIGN(const JobStatus status, LostStatus(folder));
  TRY(folder.WriteStatus(status, /*durable=*/true));
  WriteApart(folder, WriteEndedLine, kHistoryPatience);
  TRY(WriteFileByRename(folder.finished(), "", /*durable=*/false));
  folder.RemoveSecrets();
  const auto history = HistoryFolder(folder);
  if (history.ok() && *history) WriteApart(folder, WriteHistoryEnd, kHistoryPatience);
  return Ok();
}

Status SettleIfLost(const JobFolder& folder) {
  if (!IsLost(folder)) return Ok();
  const auto lock = folder.Lock("keeper.lock");
  if (!lock.ok()) return lock.error().code == ErrorCode::kUnavailable ? Ok() : Status(lock.error());
  return EndLostJob(folder);
}

}  // namespace tony
