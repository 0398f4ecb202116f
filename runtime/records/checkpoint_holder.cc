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

// Waits for the lock without a limit, because its holder only reads and writes a few small files.
Result<UniqueFd> LockRecords(const fs::path& home) {
  TRY(MakeFolder(RecordsIn(home)));
  return LockFile(RecordsIn(home) / kLock, LockKind::kExclusive, [] { return false; });
}

Result<bool> HasEnded(const fs::path& home, const JobId& job) {
  const auto folder = LocalJobStore(home).Find(job);
  if (!folder.ok() && folder.error().code == ErrorCode::kNotFound) return true;
  if (!folder.ok()) return folder.error();
  TRY_ASSIGN(const auto status, folder->ReadStatus());
  return status && status->verdict;
}

// Returns true if the job that the record names as holder still exists. A file that cannot be parsed, such as the
// unfinished file of a dead writer, counts as the record of a removed job.
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

// A record that cannot be read is kept, because the job in it may still run.
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

namespace {

constexpr const char* kFolder = "checkpoint-folders";
constexpr std::string_view kEnd = ".json";
// The maximum number of tries to become the holder of a folder. A try fails only if another job changes the records at
// the same time.
constexpr int kMostRounds = 10;

std::string NameOf(const std::string& sha, int64_t number) { return StrCat(kFolder, "/", sha, ".", number, kEnd); }

}  // namespace

Result<std::map<std::string, std::map<int64_t, std::string>>> RecordCheckpointHolders::List() const {
  TRY_ASSIGN(const auto names, store_->List(kFolder));
  std::map<std::string, std::map<int64_t, std::string>> found;
  for (const std::string& name : names) {
    const auto words = Split(name, '.');
    const auto number = words.size() == 3 ? ParseInt(words[1]) : std::nullopt;
    if (number && *number > 0) found[words[0]][*number] = StrCat(kFolder, "/", name);
  }
  return found;
}

Result<std::optional<CheckpointHolder>> RecordCheckpointHolders::Read(const std::string& name) const {
  TRY_ASSIGN(const auto record, store_->Get(name));
  if (!record) return std::optional<CheckpointHolder>();
  auto holder = CheckpointHolderFromJson(record->bytes);
  if (!holder.ok()) return Annotate(holder.error(), store_->PlaceOf(name));
  return std::optional(*std::move(holder));
}

Result<RecordCheckpointHolders::Newest> RecordCheckpointHolders::FindNewest(const std::string& folder) const {
  const std::string sha = Sha256Hex(folder);
  for (int round = 1; round <= kMostRounds; ++round) {
    TRY_ASSIGN(const auto all, List());
    const auto found = all.find(sha);
    if (found == all.end()) return Newest{};
    const auto& [number, name] = *found->second.rbegin();
    TRY_ASSIGN(auto holder, Read(name));
    if (holder) return Newest{number, std::move(holder)};
  }
  return UnavailableError(store_->PlaceOf(kFolder), ": the record changed each time it was read");
}

Result<std::optional<CheckpointHolder>> RecordCheckpointHolders::Find(const std::string& folder) const {
  TRY_ASSIGN(Newest newest, FindNewest(folder));
  return std::move(newest.holder);
}

// Returns false if another job has written this number first.
Result<bool> RecordCheckpointHolders::Write(const std::string& folder, int64_t number,
                                            const CheckpointHolder& holder) const {
  const std::string name = NameOf(Sha256Hex(folder), number);
  TRY_ASSIGN(const bool is_new, store_->PutNew(name, ToJson(holder, folder), Durability::kSurvivesPowerCut));
  if (!is_new) return false;
  TRY_ASSIGN(const Newest newest, FindNewest(folder));
  if (newest.number == number) return true;
  TRY(store_->Remove(name));
  return false;
}

Result<CheckpointHolder> RecordCheckpointHolders::Take(const std::string& folder, const JobId& job) const {
  for (int round = 1; round <= kMostRounds; ++round) {
    TRY_ASSIGN(const Newest newest, FindNewest(folder));
    if (newest.holder && newest.holder->job == job) return *newest.holder;
    if (newest.holder) {
      TRY_ASSIGN(const bool has_ended, has_ended_(newest.holder->job));
      if (!has_ended) return *newest.holder;
    }
    CheckpointHolder holder{job, std::nullopt};
    if (newest.holder) holder.before = newest.holder->job;
    TRY_ASSIGN(const bool is_taken, Write(folder, newest.number + 1, holder));
    if (is_taken) return holder;
  }
  return UnavailableError(folder,
                          ": this job cannot take the checkpoint folder, because another job took it during each try");
}

Status RecordCheckpointHolders::Sweep(const std::function<Result<bool>(const JobId& job)>& is_there) const {
  TRY_ASSIGN(const auto all, List());
  for (const auto& [sha, records] : all) {
    const auto holder = Read(records.rbegin()->second);
    if (!holder.ok() || !*holder) continue;  // an unreadable record may still count
    TRY_ASSIGN(const bool is_kept, is_there((*holder)->job));
    for (const auto& [number, name] : records)
      if (!is_kept) TRY(store_->Remove(name));
  }
  return Ok();
}

}  // namespace tony
