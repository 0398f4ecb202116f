#include "runtime/store/checkpoints.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/base/utf8.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

constexpr std::array<std::string_view, 5> kEndingsWithDigit = {".h5", ".hdf5", ".pt2", ".bz2", ".lz4"};
constexpr std::array<std::string_view, 2> kWordsOfUnfinished = {"tmp", "temp"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetterOrDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z'); }

// "100.orbax-checkpoint-tmp-17" and "x.tmp.npz" have such a word, "template" has not.
bool SaysUnfinished(std::string_view name) {
  std::string word;
  for (const char c : ToLower(name) + ".") {
    if (IsLetterOrDigit(c)) {
      word.push_back(c);
      continue;
    }
    if (std::ranges::find(kWordsOfUnfinished, word) != kWordsOfUnfinished.end()) return true;
    word.clear();
  }
  return false;
}

struct Named {
  int64_t step = -1;
  std::string name;
};

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory ToDirectory(UniqueFd fd) {
  Directory directory(fd.valid() ? fdopendir(fd.get()) : nullptr, closedir);
  if (directory) fd.Release();
  return directory;
}

Error TooMany(size_t most, std::string_view what) {
  return {ErrorCode::kUnavailable, StrCat("more than ", most, " ", what, " (tony.checkpoint.pattern may say which)")};
}

// Null if there is none.
Result<Directory> OpenDirectory(const std::string& path) {
  Directory directory = ToDirectory(UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!directory && errno != ENOENT) {
    const auto code = errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kUnavailable;
    return FileError(code, "open", path, errno);
  }
  return directory;
}

Result<std::vector<Named>> ReadNames(DIR* directory, const CheckpointSpec& spec) {
  std::vector<Named> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory);
    if (!entry && errno != 0) return FileError(ErrorCode::kUnavailable, "read", spec.directory, errno);
    if (!entry) return names;
    const bool may_be = entry->d_type == DT_REG || entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    std::string name = entry->d_name;
    if (may_be && IsCheckpointName(name, spec.pattern)) names.push_back({StepOf(name), std::move(name)});
  }
}

int64_t NanosOf(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

// Looks into folders: a program may write into one that is there, which does not change the folder itself. Follows no
// links. `left`: how many entries may still be looked at. Nobody can go on from what may not be read (lost+found).
Status LookInto(int parent, const std::string& name, ListedCheckpoint& sum, size_t& left) {
  const Directory folder =
      ToDirectory(UniqueFd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  if (!folder && (errno == ENOENT || errno == EACCES)) return Ok();
  if (!folder) return FileError(ErrorCode::kUnavailable, "open", name, errno);
  for (errno = 0; const dirent* entry = readdir(folder.get()); errno = 0) {
    const std::string_view inside = entry->d_name;
    if (inside == "." || inside == "..") continue;
    struct stat found {};
    if (fstatat(dirfd(folder.get()), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (left-- == 0) return TooMany(kMostLookedAt, "files");
    sum.modified_ns = std::max(sum.modified_ns, NanosOf(found.st_mtim));
    if (S_ISREG(found.st_mode)) sum.bytes += found.st_size;
    if (S_ISDIR(found.st_mode)) TRY(LookInto(dirfd(folder.get()), entry->d_name, sum, left));
  }
  return errno == 0 ? Ok() : FileError(ErrorCode::kUnavailable, "read", name, errno);
}

// Nothing for what is neither file nor folder, or has gone meanwhile: programs remove old checkpoints.
std::optional<struct stat> StatOf(int directory, const std::string& name) {
  struct stat found {};
  if (fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) return std::nullopt;
  return found;
}

Result<ListedCheckpoint> Entry(int directory, const std::string& name, const struct stat& found, size_t& left) {
  ListedCheckpoint entry{name, static_cast<int64_t>(found.st_ino), 0, NanosOf(found.st_mtim)};
  if (left-- == 0) return TooMany(kMostLookedAt, "files");
  if (S_ISREG(found.st_mode)) {
    entry.bytes = found.st_size;
  } else {
    TRY(LookInto(directory, name, entry, left));
  }
  return entry;
}

Result<std::vector<ListedCheckpoint>> ListEntries(const CheckpointSpec& spec) {
  std::vector<ListedCheckpoint> entries;
  TRY_ASSIGN(const Directory directory, OpenDirectory(spec.directory));
  if (!directory) return entries;
  TRY_ASSIGN(const std::vector<Named> names, ReadNames(directory.get(), spec));
  if (names.size() > kMostCheckpoints) return TooMany(kMostCheckpoints, "checkpoints");
  size_t left = kMostLookedAt;
  for (const Named& named : names) {
    const auto found = StatOf(dirfd(directory.get()), named.name);
    if (!found) continue;
    TRY_ASSIGN(ListedCheckpoint entry, Entry(dirfd(directory.get()), named.name, *found, left));
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, &ListedCheckpoint::name);
  return entries;
}

Result<CheckpointWriter> WriterOf(int directory, const std::string& name, const struct stat& found,
                                  const CheckpointListing& listing) {
  if (!listing.unknown.empty()) return CheckpointWriter::kUnknown;
  if (!listing.Find(name)) return CheckpointWriter::kThisJob;
  size_t left = kMostLookedAt;
  TRY_ASSIGN(const ListedCheckpoint now, Entry(directory, name, found, left));
  return listing.WriterOf(now);
}

Result<std::optional<Checkpoint>> Look(int directory, const Named& named, const CheckpointSpec& spec,
                                       const CheckpointListing& listing) {
  const auto found = StatOf(directory, named.name);
  if (!found) return std::optional<Checkpoint>();
  TRY_ASSIGN(const CheckpointWriter writer, WriterOf(directory, named.name, *found, listing));
  if (writer == CheckpointWriter::kOthers && !spec.resume_latest) return std::optional<Checkpoint>();
  const auto modified = std::chrono::nanoseconds(NanosOf(found->st_mtim));
  const std::string& path = spec.directory;
  return std::optional(Checkpoint{StrCat(path, path.ends_with('/') ? "" : "/", named.name), named.step,
                                  Instant(std::chrono::duration_cast<Duration>(modified)), writer});
}

// What makes the listing say nothing about what is in the directory now.
Status CheckListing(const CheckpointSpec& spec, const CheckpointListing& listing) {
  if (!listing.unknown.empty())
    return Error{ErrorCode::kUnavailable,
                 StrCat("checkpoints in ", spec.directory, ": whose they are is not known: ", listing.unknown)};
  TRY_ASSIGN(const std::filesystem::path folder, ResolveCheckpointFolder(spec));
  if (folder.native() == listing.folder) return Ok();
  return Error{ErrorCode::kUnavailable, StrCat("checkpoints in ", spec.directory, ": it is ", folder.string(),
                                               " now, and was ", listing.folder, " when the job began")};
}

}  // namespace

int64_t StepOf(std::string_view name) {
  for (const auto ending : kEndingsWithDigit) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  while (!name.empty() && !IsDigit(name.back())) name.remove_suffix(1);
  size_t start = name.size();
  while (start > 0 && IsDigit(name[start - 1])) --start;
  return ParseInt(name.substr(start)).value_or(-1);
}

bool IsCheckpointName(const std::string& name, const std::string& pattern) {
  if (name == "." || name == ".." || !IsUtf8(name)) return false;
  if (fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) return false;
  return !SaysUnfinished(name) || SaysUnfinished(pattern);
}

Result<std::filesystem::path> ResolveCheckpointFolder(const CheckpointSpec& spec) {
  std::error_code error;
  auto folder = std::filesystem::weakly_canonical(spec.directory, error);
  if (error) return FileError(ErrorCode::kUnavailable, "open", spec.directory, error.value());
  return folder;
}

CheckpointListing ListCheckpoints(const CheckpointSpec& spec) {
  CheckpointListing listing;
  const auto folder = ResolveCheckpointFolder(spec);
  auto entries = folder.ok() ? ListEntries(spec) : folder.error();
  listing.folder = folder.ok() ? folder->string() : spec.directory;
  if (entries.ok()) listing.there = *std::move(entries);
  if (!entries.ok()) listing.unknown = entries.error().message;
  return listing;
}

Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointSpec& spec, const CheckpointListing& listing) {
  if (!spec.resume_latest) TRY(CheckListing(spec, listing));
  std::optional<Checkpoint> newest;
  TRY_ASSIGN(const Directory directory, OpenDirectory(spec.directory));
  if (!directory) return newest;
  TRY_ASSIGN(std::vector<Named> names, ReadNames(directory.get(), spec));
  std::ranges::sort(names, std::ranges::greater(), &Named::step);
  for (const auto& named : names) {
    if (newest && named.step < newest->step) break;
    TRY_ASSIGN(const auto checkpoint, Look(dirfd(directory.get()), named, spec, listing));
    if (checkpoint && (!newest || IsNewer(*checkpoint, *newest))) newest = checkpoint;
  }
  return newest;
}

}  // namespace tony
