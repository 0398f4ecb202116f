#include "runtime/scheduler/local/lost_job.h"

#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/scheduler/local/final_status.h"
#include "runtime/scheduler/local/write_apart.h"
#include "runtime/store/files.h"
#include "runtime/store/job_folder.h"
#include "runtime/store/machine_boot.h"

namespace tony {
namespace {

// For those who find a lost job, and want to know how it ended.
constexpr Duration kHistoryPatience{3000};

}  // namespace

// The locks come first: they are the kernel's own word, and outlive a boot id that changes under living processes
// (a virtual machine or container that was moved).
bool IsLost(const JobRecords& records) {
  const JobFolder folder(records);
  return !folder.IsLocked("keeper.lock") && !folder.IsLocked("am.lock") && folder.IsOfEarlierBoot();
}

Result<JobStatus> LostStatus(const JobRecords& records) {
  const Instant restart = BootTime(RealClock().Now());
  Verdict verdict;
  verdict.state = FinalState::kFailed;
  verdict.cls = OutcomeClass::kNodeLost;
  verdict.message = StrCat("the machine was restarted at ", ToIso8601(restart), " while the job ran");
  return EndedStatus(records, verdict, restart);
}

Status EndLostJob(const JobRecords& records) {
  TRY_ASSIGN(const JobStatus status, LostStatus(records));
  TRY(records.WriteStatus(status, Durability::kSurvivesPowerCut));
  WriteApart(records, WriteEndedLine, kHistoryPatience);
  TRY(WriteFileByRename(JobFolder(records).finished(), "", /*durable=*/false));
  records.RemoveSecrets();
  const auto history = HistoryFolder(records);
  if (history.ok() && *history) WriteApart(records, WriteHistoryEnd, kHistoryPatience);
  return Ok();
}

Status SettleIfLost(const JobRecords& records) {
  if (!IsLost(records)) return Ok();
  const auto lock = JobFolder(records).Lock("keeper.lock");
  if (!lock.ok()) return lock.error().code == ErrorCode::kUnavailable ? Ok() : Status(lock.error());
  return EndLostJob(records);
}

}  // namespace tony
