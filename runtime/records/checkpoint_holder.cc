#include "runtime/records/checkpoint_holder.h"

#include <boost/json.hpp>
#include <system_error>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/records/local_job_store.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr int kHolderSchema = 1;
constexpr const char* kLock = ".lock";

fs::path RecordsIn(const fs::path& home) { return home / "checkpoint-folders"; }
fs::path RecordOf(const fs::path& home, const fs::path& folder) { return RecordsIn(home) / Sha256Hex(folder.native()); }

// Whoever has it reads and writes some small files, and lets go.
Result<UniqueFd> LockRecords(const fs::path& home) {
  TRY(MakeFolder(RecordsIn(home)));
  return LockFile(RecordsIn(home) / kLock, LockKind::kAlone, [] { return false; });
}

Result<bool> HasEnded(const fs::path& home, const JobId& job) {
  const auto folder = LocalJobStore(home).Find(job);
  if (!folder.ok() && folder.error().code == ErrorCode::kNotFound) return true;
  if (!folder.ok()) return folder.error();
  TRY_ASSIGN(const auto status, folder->ReadStatus());
  return status && status->verdict;
}

// False, too, where nobody can make anything of it, as of what a writer that died has left.
Result<bool> IsOfJobThatIsThere(const fs::path& home, const fs::path& record) {
  const auto holder = ReadOptional<CheckpointHolder>(record, CheckpointHolderFromJson);
  if (!holder.ok() && holder.error().code != ErrorCode::kInvalid) return holder.error();
  if (!holder.ok() || !*holder) return false;
  return TryIsThere(home / "jobs" / (*holder)->job.value);
}

}  // namespace

std::string ToJson(const CheckpointHolder& holder, const std::string& folder) {
  json::object out = {{"schema", kHolderSchema}, {"folder", folder}, {"job", holder.job.value}};
  if (holder.before) out["before"] = holder.before->value;
  return SerializeJson(out);
}

Result<CheckpointHolder> CheckpointHolderFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "holder of a checkpoint folder"));
  JsonReader fields(document);
  fields.Int("schema", kHolderSchema, kHolderSchema);
  CheckpointHolder holder{{fields.String("job")}, std::nullopt};
  if (fields.Has("before")) holder.before = JobId{fields.String("before")};
  TRY(fields.status());
  return holder;
}

Result<CheckpointHolder> LocalCheckpointHolders::Take(const std::string& folder, const JobId& job) const {
  return TakeCheckpointFolder(home_, folder, job);
}

Result<std::optional<CheckpointHolder>> LocalCheckpointHolders::Find(const std::string& folder) const {
  return HolderOf(home_, folder);
}

Result<CheckpointHolder> TakeCheckpointFolder(const fs::path& home, const fs::path& folder, const JobId& job) {
  TRY_ASSIGN(const UniqueFd lock, LockRecords(home));
  TRY_ASSIGN(const auto known, HolderOf(home, folder));
  if (known && known->job == job) return *known;
  if (known) {
    TRY_ASSIGN(const bool ended, HasEnded(home, known->job));
    if (!ended) return *known;
  }
  CheckpointHolder holder{job, std::nullopt};
  if (known) holder.before = known->job;
  TRY(WriteFileByRename(RecordOf(home, folder), ToJson(holder, folder), /*durable=*/true));
  TRY(SyncHome(home, {}));
  return holder;
}

Result<std::optional<CheckpointHolder>> HolderOf(const fs::path& home, const fs::path& folder) {
  return ReadOptional<CheckpointHolder>(RecordOf(home, folder), CheckpointHolderFromJson);
}

// One that cannot be read stays: it may be of a job that goes on.
Status SweepCheckpointHolders(const fs::path& home) {
  TRY_ASSIGN(const bool any, TryIsThere(RecordsIn(home)));
  if (!any) return Ok();
  TRY_ASSIGN(const UniqueFd lock, LockRecords(home));
  std::error_code error;
  fs::directory_iterator entry(RecordsIn(home), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() == kLock) continue;
    const auto kept = IsOfJobThatIsThere(home, entry->path());
    if (!kept.ok() || *kept) continue;
    std::error_code ignored;
    fs::remove(entry->path(), ignored);
  }
  if (error) return FileError(ErrorCode::kUnavailable, "read", RecordsIn(home), error.value());
  return Ok();
}

}  // namespace tony
