#include "runtime/records/record_checkpoint_holders.h"

#include "runtime/base/strings.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

constexpr const char* kFolder = "checkpoint-folders";
constexpr std::string_view kEnd = ".json";
// Each time another job took the folder in between.
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
  return Error{ErrorCode::kUnavailable, StrCat(store_->PlaceOf(kFolder), ": it changes each time it is read")};
}

Result<std::optional<CheckpointHolder>> RecordCheckpointHolders::Find(const std::string& folder) const {
  TRY_ASSIGN(Newest newest, FindNewest(folder));
  return std::move(newest.holder);
}

// False: somebody was first.
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
  return Error{ErrorCode::kUnavailable, StrCat(folder, ": other jobs take it all the time")};
}

Status RecordCheckpointHolders::Sweep(const std::function<Result<bool>(const JobId& job)>& is_there) const {
  TRY_ASSIGN(const auto all, List());
  for (const auto& [sha, records] : all) {
    const auto holder = Read(records.rbegin()->second);
    if (!holder.ok() || !*holder) continue;  // it may be of a job that goes on
    TRY_ASSIGN(const bool is_kept, is_there((*holder)->job));
    for (const auto& [number, name] : records)
      if (!is_kept) TRY(store_->Remove(name));
  }
  return Ok();
}

}  // namespace tony
