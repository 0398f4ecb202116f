#include "runtime/records/local_request_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRevoked = "revoked-";

fs::path RecordIn(const fs::path& folder) { return folder / "record.json"; }
fs::path LockIn(const fs::path& folder) { return folder / "lock"; }

fs::path RevocationIn(const fs::path& folder, const OwnerToken& owner) {
  return folder / StrCat(kRevoked, Sha256Hex(owner.value), ".json");
}

class LocalRequestLock : public RequestLock {
 public:
  explicit LocalRequestLock(UniqueFd fd) : fd_(std::move(fd)) {}

 private:
  const UniqueFd fd_;
};

// Repeats `work` if Sweep() removed the folder while `work` ran, until `late()` returns true.
template <class Work, class Late>
auto InFolder(const fs::path& folder, const Work& work, const Late& late) -> decltype(work()) {
  for (;;) {
    TRY(MakeFolder(folder));
    const UniqueFd made(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    auto done = work();
    // The open folder is checked and not its name, because a new folder may have the same name by now.
    struct stat found {};
    const bool is_removed = !made.valid() || fstat(made.get(), &found) != 0 || found.st_nlink == 0;
    if (done.ok() || late() || !is_removed) return done;
  }
}

Result<std::vector<fs::path>> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) entries.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory)
    return FileError(ErrorCode::kUnavailable, "read", folder, error.value());
  return entries;
}

Instant ModifiedAt(const fs::path& path) {
  struct stat found {};
  // A file whose age cannot be read counts as new.
  if (lstat(path.c_str(), &found) != 0) return Instant::max();
  const auto modified = std::chrono::seconds(found.st_mtim.tv_sec) + std::chrono::nanoseconds(found.st_mtim.tv_nsec);
  return Instant(std::chrono::duration_cast<Duration>(modified));
}

}  // namespace

fs::path LocalRequestIndex::Folder(const RequestId& request) const {
  return home_ / "requests" / Sha256Hex(request.value);
}

Result<bool> LocalRequestIndex::IsMade(const JobId& job) const {
  return is_there_ ? is_there_(job) : TryIsThere(home_ / "jobs" / job.value);
}

Result<std::unique_ptr<RequestLock>> LocalRequestIndex::Lock(const RequestId& request, Duration limit) const {
  TRY(CheckId(request));
  const auto until = std::chrono::steady_clock::now() + limit;
  const auto late = [until] { return std::chrono::steady_clock::now() >= until; };
  const fs::path folder = Folder(request);
  TRY_ASSIGN(UniqueFd lock, InFolder(
                                folder, [&] { return LockFile(LockIn(folder), LockKind::kExclusive, late); }, late));
  return std::unique_ptr<RequestLock>(std::make_unique<LocalRequestLock>(std::move(lock)));
}

Result<std::optional<RequestRecord>> LocalRequestIndex::Read(const RequestId& request) const {
  TRY(CheckId(request));
  const fs::path path = RecordIn(Folder(request));
  TRY_ASSIGN(auto kept, ReadOptional(path, KeptRequestFromJson));
  if (!kept) return std::optional<RequestRecord>();
  if (kept->id != request)
    return InvalidError("the record ", path.string(),
                        " belongs to another request id, so it is damaged or was copied there");
  bool made = false;
  if (kept->record.job) {
    TRY_ASSIGN(made, IsMade(*kept->record.job));
  }
  return std::optional<RequestRecord>(made ? std::move(kept->record) : WithoutItsJob(kept->record));
}

Result<bool> LocalRequestIndex::Write(const RequestId& request, const RequestRecord& record) const {
  TRY(CheckId(request));
  const fs::path path = RecordIn(Folder(request));
  TRY(MakeFolder(path.parent_path()));
  TRY(WriteFileByRename(path, ToJson(KeptRequest{request, record}), /*durable=*/true));
  TRY(SyncHome(home_, {home_ / "requests"}));
  return true;
}

Status LocalRequestIndex::Revoke(const RequestId& request, const OwnerToken& owner, Instant now) const {
  TRY(CheckId(request));
  if (owner.value.empty()) return Error{ErrorCode::kUsage, "the owner is empty"};
  const fs::path folder = Folder(request);
  int tries = 0;
  const auto write = [&] {
    return WriteFileByRename(RevocationIn(folder, owner), RevocationToJson(now + kRevocationLasts), /*durable=*/true);
  };
  // The write is repeated at most ten times, because ten removals in a row do not happen in practice.
  TRY(InFolder(folder, write, [&] { return ++tries >= 10; }));
  return SyncHome(home_, {home_ / "requests"});
}

Result<bool> LocalRequestIndex::IsRevoked(const RequestId& request, const OwnerToken& owner, Instant now) const {
  TRY(CheckId(request));
  if (owner.value.empty()) return false;
  TRY_ASSIGN(const auto until, ReadOptional(RevocationIn(Folder(request), owner), RevocationFromJson));
  return until && now < *until;
}

Result<int> LocalRequestIndex::Sweep(Instant before, Instant now, bool dry_run) const {
  TRY_ASSIGN(const auto folders, EntriesOf(home_ / "requests"));
  int forgotten = 0;
  for (const fs::path& folder : folders) {
    const auto swept = SweepOne(folder, before, now, dry_run);
    const bool is_busy = !swept.ok() && swept.error().code == ErrorCode::kUnavailable;
    if (!swept.ok() && !is_busy) {
      const auto is_there = TryIsThere(folder);
      if (!is_there.ok() || *is_there) LogWarn(swept.error().message);
    }
    if (swept.ok() && *swept) ++forgotten;
  }
  return forgotten;
}

// Removes from the folder of a request the files that no longer count. Returns true if the whole folder was removed, or
// with `dry_run` would be.
Result<bool> LocalRequestIndex::SweepOne(const fs::path& folder, Instant before, Instant now, bool dry_run) const {
  UniqueFd lock;
  if (!dry_run) {
    TRY_ASSIGN(lock, LockFile(LockIn(folder), LockKind::kExclusive, [] { return true; }));
  }
  TRY_ASSIGN(bool counts, RecordCounts(folder, before));
  TRY_ASSIGN(const auto entries, EntriesOf(folder));
  std::vector<fs::path> useless;
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename();
    if (name.starts_with(kRevoked)) {
      TRY_ASSIGN(const auto until, ReadOptional(entry, RevocationFromJson));
      const bool still_counts = until && now < *until;
      counts |= still_counts;
      if (!still_counts) useless.push_back(entry);
    } else if (name.starts_with(".") && ModifiedAt(entry) < before) {
      useless.push_back(entry);  // a dead writer's temporary file
    }
  }
  if (dry_run) return !counts;
  for (const fs::path& path : useless) unlink(path.c_str());
  if (counts) return false;
  // The lock file is removed last. A process that waits for the lock then notices that the locked file no longer has
  // this name.
  for (const fs::path& path : {RecordIn(folder), LockIn(folder)}) unlink(path.c_str());
  // ENOTEMPTY and EEXIST are not errors: another process has put something into the folder meanwhile.
  if (rmdir(folder.c_str()) == 0 || errno == ENOTEMPTY || errno == EEXIST) return true;
  return FileError(ErrorCode::kCannotWrite, "remove", folder, errno);
}

Result<bool> LocalRequestIndex::RecordCounts(const fs::path& folder, Instant before) const {
  TRY_ASSIGN(const auto kept, ReadOptional(RecordIn(folder), KeptRequestFromJson));
  if (!kept) return false;
  bool has_job = false;
  if (kept->record.job) {
    TRY_ASSIGN(has_job, IsMade(*kept->record.job));
  }
  if (!has_job && kept->record.before) {
    TRY_ASSIGN(has_job, IsMade(kept->record.before->job));
  }
  return has_job || ModifiedAt(RecordIn(folder)) >= before;
}

}  // namespace tony
