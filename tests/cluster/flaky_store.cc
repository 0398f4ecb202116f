#include "tests/cluster/flaky_store.h"

#include <thread>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony::cluster {
namespace {

constexpr Duration kLate{20};
constexpr int kLosesEvery = 3;

void BeLate() { std::this_thread::sleep_for(kLate); }

}  // namespace

int64_t SealedEpoch(const std::filesystem::path& job_folder) {
  const auto text = ReadFile(job_folder / "sealed");
  return text.ok() ? ParseInt(*text).value_or(0) : 0;
}

Status Seal(const std::filesystem::path& job_folder, int64_t epoch) {
  return WriteFileByRename(job_folder / "sealed", StrCat(epoch), /*durable=*/false);
}

FlakyStore::FlakyStore(std::filesystem::path folder, int64_t epoch)
    : folder_(std::move(folder)), epoch_(epoch), inner_(folder_) {}

Status FlakyStore::Reach() const {
  BeLate();
  std::error_code error;
  if (epoch_ != 0 || !std::filesystem::exists(folder_ / "away", error)) return Ok();
  return Error{ErrorCode::kUnavailable, "the store is away"};
}

Result<std::optional<StoredRecord>> FlakyStore::Get(const std::string& name) const {
  TRY(Reach());
  return inner_.Get(name);
}

Result<bool> FlakyStore::PutNew(const std::string& name, std::string_view bytes, Durability durability) const {
  TRY(MayWrite(name));
  TRY_ASSIGN(const bool first, inner_.PutNew(name, bytes, durability));
  TRY(Heard(Ok(), name));
  return first;
}

Status FlakyStore::Replace(const std::string& name, std::string_view bytes, Durability durability) const {
  TRY(MayWrite(name));
  return Heard(inner_.Replace(name, bytes, durability), name);
}

Status FlakyStore::Remove(const std::string& name) const {
  TRY(MayWrite(name));
  return Heard(inner_.Remove(name), name);
}

Result<std::vector<std::string>> FlakyStore::List(const std::string& folder) const {
  TRY(Reach());
  return inner_.List(folder);
}

Status FlakyStore::MayWrite(const std::string& name) const {
  TRY(Reach());
  if (epoch_ == 0 || epoch_ > SealedEpoch(folder_)) return Ok();
  return Error{ErrorCode::kNotPermitted, StrCat("write ", PlaceOf(name), ": sealed for master ", epoch_)};
}

Status FlakyStore::Heard(const Status& done, const std::string& name) const {
  if (!done.ok() || ++writes_ % kLosesEvery != 0) return done;
  return Error{ErrorCode::kCannotWrite, StrCat("write ", PlaceOf(name), ": the answer got lost")};
}

JobRecords FlakyRecords(const std::filesystem::path& job_folder, int64_t epoch) {
  return {{job_folder.filename().string()}, job_folder, std::make_shared<FlakyStore>(job_folder, epoch)};
}

}  // namespace tony::cluster
