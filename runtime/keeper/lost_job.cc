#include "runtime/keeper/lost_job.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/keeper/final_status.h"
#include "runtime/keeper/unwritten_end.h"
#include "runtime/keeper/write_apart.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/os/files.h"
#include "runtime/os/machine_boot.h"
#include "runtime/records/job_folder.h"

namespace tony {
namespace {

// Where the job's folder cannot be read, this process's own ledger is the best guess.
std::optional<std::filesystem::path> LedgerOf(const JobRecords& records) {
  auto ledger = LedgerFolder::FindFor(records);
  if (!ledger.ok()) ledger = LedgerFolder::FindHere();
  return ledger.ok() ? std::optional(ledger->path()) : std::nullopt;
}

std::optional<JobStatus> EndInLedger(const JobRecords& records) {
  const auto ledger = LedgerOf(records);
  return ledger ? FindUnwrittenEnd(*ledger, records.job()) : std::nullopt;
}

// For those who find a lost job, and want to know how it ended.
constexpr Duration kHistoryPatience{3000};

}  // namespace

bool HasEndedUnrecorded(const JobRecords& records) {
  return JobFolder(records).IsOfEarlierBoot() || EndInLedger(records).has_value();
}

// The locks come first: they are the kernel's own word, and outlive a boot id that changes under living processes
// (a virtual machine or container that was moved).
bool IsLost(const JobRecords& records) {
  const JobFolder folder(records);
  return !folder.IsLocked("keeper.lock") && !folder.IsLocked("am.lock") && HasEndedUnrecorded(records);
}

Result<JobStatus> LostStatus(const JobRecords& records) {
  if (auto kept = EndInLedger(records)) {
    auto status = EndedStatus(records, *kept->verdict, *kept->ended);
    // The folder may be unreadable.
    return status.ok() ? std::move(status) : *std::move(kept);
  }
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
  if (const auto ledger = LedgerOf(records)) ForgetUnwrittenEnd(*ledger, records.job());
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
