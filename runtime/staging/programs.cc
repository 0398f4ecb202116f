#include "runtime/staging/programs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/records/entry_store.h"
#include "runtime/staging/stage.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kProgramMode = 0500;
// The longest wait for the lock. Copying a release takes a second on a slow disk, so a process that holds the lock for
// longer than this is probably suspended.
constexpr Duration kLockPatience{30000};
// The number of releases whose hashes are remembered, for users who switch between several.
constexpr size_t kMostKnown = 16;

// An installed program, as it was when it was copied.
struct Program {
  fs::path path;
  FileStamp stamp;
  std::string hash;
};

fs::path StoreOf(const fs::path& home) { return home / "programs"; }

// Returns names and stamps of all installed programs as one line. Links are followed, because an installation may
// consist of links.
Result<std::string> KeyOf(const std::vector<fs::path>& installed) {
  std::vector<std::string> words;
  for (const fs::path& path : installed) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return FileError(ErrorCode::kNotFound, "check", path, errno);
    words.push_back(StrCat(path.filename().string(), "=", ToString(StampOf(info))));
  }
  return Join(words, " ");
}

// Returns names and stamps of the programs in the same form as KeyOf(installed). The stamps are from the time when the
// programs were copied.
std::string KeyOf(const std::vector<Program>& programs) {
  std::vector<std::string> words;
  for (const Program& program : programs)
    words.push_back(StrCat(program.path.filename().string(), "=", ToString(program.stamp)));
  return Join(words, " ");
}

// Returns the stamp of a copy in the manifest's form; "" if the copy is missing, or is not a regular file.
std::string CopyStamp(const fs::path& copy) {
  struct stat info {};
  if (lstat(copy.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  return ToString(StampOf(info));
}

// Returns true if the entry has an unchanged copy of each program. Compares stamps, and does not read the programs.
// Returns false if a copy differs from the manifest, or if another user may have put a copy there.
bool IsWhole(const fs::path& entry, const std::vector<fs::path>& installed) {
  if (!IsPrivateToUser(entry)) return false;
  const auto manifest = ReadFile(entry / "manifest");
  if (!manifest.ok()) return false;
  std::map<std::string, std::string> stamps;
  for (const std::string& line : Split(*manifest, '\n')) {
    const std::vector<std::string> words = Split(line, ' ');  // hash, stamp, name
    if (words.size() == 3) stamps[words[2]] = words[1];
  }
  return std::ranges::all_of(installed, [&](const fs::path& path) {
    const auto stamp = stamps.find(path.filename().string());
    const fs::path copy = entry / path.filename();
    return stamp != stamps.end() && stamp->second == CopyStamp(copy) && IsPrivateToUser(copy) &&
           access(copy.c_str(), X_OK) == 0;
  });
}

std::optional<std::string> FindEntry(const fs::path& store, const std::string& key,
                                     const std::vector<fs::path>& installed) {
  const auto known = ReadFile(store / "known");
  if (!known.ok()) return std::nullopt;
  for (const std::string& line : Split(*known, '\n')) {
    const size_t space = line.find(' ');
    if (space == std::string::npos || line.compare(space + 1, std::string::npos, key) != 0) continue;
    std::string hash = line.substr(0, space);
    if (IsWhole(store / hash, installed)) return hash;
  }
  return std::nullopt;
}

// Remembers the hash of the installed programs. A failure is ignored, because the file is only a cache: the programs
// are hashed again.
void Remember(const fs::path& store, const std::string& key, const std::string& hash) {
  const auto known = ReadFile(store / "known");
  std::vector<std::string> lines = {StrCat(hash, " ", key)};
  for (const std::string& line : Split(known.ok() ? *known : "", '\n')) {
    if (!line.empty() && line != lines.front() && lines.size() < kMostKnown) lines.push_back(line);
  }
  (void)WriteFileByRename(store / "known", StrCat(Join(lines, "\n"), "\n"), /*durable=*/false);
}

Result<std::string> HashOf(int fd, const fs::path& path) {
  return Sha256OfFile(fd, path, [](int64_t) { return Ok(); });
}

bool IsCopy(const fs::path& copy, const Program& program) {
  const UniqueFd fd(open(copy.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid() || fchmod(fd.get(), kProgramMode) != 0)
    return false;
  const auto hash = HashOf(fd.get(), copy);
  return hash.ok() && *hash == program.hash;
}

// Copies a program. Only the copy is hashed, because the hash must name the bytes that jobs run.
Result<Program> CopyProgram(const fs::path& path, const fs::path& copy) {
  const UniqueFd from(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat before {
  }, after{};
  if (!from.valid() || fstat(from.get(), &before) != 0) return FileError(ErrorCode::kNotFound, "read", path, errno);
  const UniqueFd to(open(copy.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!to.valid()) return FileError(ErrorCode::kCannotWrite, "make", copy, errno);
  TRY(CopyContent(from.get(), path, to.get(), copy, [](int64_t) { return Ok(); }));
  Program program{path, StampOf(before), ""};
  if (fstat(from.get(), &after) != 0 || ToString(StampOf(after)) != ToString(program.stamp))
    return Error{ErrorCode::kUnavailable, StrCat(path.string(), ": the file changed while it was copied")};
  TRY_ASSIGN(program.hash, HashOf(to.get(), copy));
  if (fchmod(to.get(), kProgramMode) != 0 || fsync(to.get()) != 0)
    return FileError(ErrorCode::kCannotWrite, "write", copy, errno);
  return program;
}

Result<std::vector<Program>> CopyPrograms(const std::vector<fs::path>& installed, const fs::path& copies) {
  std::vector<Program> programs;
  for (const fs::path& path : installed) {
    TRY_ASSIGN(Program program, CopyProgram(path, copies / path.filename()));
    programs.push_back(std::move(program));
  }
  return programs;
}

std::string EntryName(const std::vector<Program>& programs) {
  std::string names;
  for (const Program& program : programs) names += StrCat(program.hash, " ", program.path.filename().string(), "\n");
  return Sha256Hex(names);
}

Status CheckRoom(const fs::path& store, const std::vector<fs::path>& installed) {
  int64_t bytes = 0;
  for (const fs::path& path : installed) {
    std::error_code error;
    const uintmax_t size = fs::file_size(path, error);
    if (!error) bytes += static_cast<int64_t>(size);
  }
  return SpaceGuard(store).Take(bytes);
}

// Removes a folder to which other users may write, because programs in this folder will be run. The folder is renamed
// first.
Status RemoveForeignFolder(const fs::path& folder) {
  if (!IsThere(folder) || IsPrivateToUser(folder)) return Ok();
  const fs::path aside = folder.parent_path() / StrCat(".", folder.filename().string(), "-of-others-", RandomHex(4));
  if (rename(folder.c_str(), aside.c_str()) != 0 && errno != ENOENT)
    return FileError(ErrorCode::kCannotWrite, "cannot rename this folder, to which other users may write:", folder,
                     errno);
  (void)RemoveTree(aside);
  return Ok();
}

// Moves the copies into the entry and writes its manifest. An intact program of an existing entry stays, because jobs
// may run it.
Status FillEntry(const fs::path& entry, const std::vector<Program>& programs, const fs::path& copies) {
  TRY(RemoveForeignFolder(entry));
  TRY(MakeFolder(entry));
  std::string manifest;
  for (const Program& program : programs) {
    const std::string name = program.path.filename().string();
    if (!IsCopy(entry / name, program) && rename((copies / name).c_str(), (entry / name).c_str()) != 0)
      return FileError(ErrorCode::kCannotWrite, "make", entry / name, errno);
    manifest += StrCat(program.hash, " ", CopyStamp(entry / name), " ", name, "\n");
    if (access((entry / name).c_str(), X_OK) != 0)
      return FileError(ErrorCode::kNotPermitted, "run", entry / name, errno);
  }
  // The names of the copies become durable before the manifest that lists them.
  TRY(SyncPath(entry));
  TRY(WriteFileByRename(entry / "manifest", manifest, /*durable=*/true));
  return SyncPath(entry.parent_path());
}

Result<std::string> FillFromCopies(const fs::path& store, const std::vector<fs::path>& installed,
                                   const fs::path& copies, Instant now) {
  TRY_ASSIGN(const std::string key, KeyOf(installed));
  TRY(MakeFolder(copies));
  TRY_ASSIGN(const std::vector<Program> programs, CopyPrograms(installed, copies));
  const std::string hash = EntryName(programs);
  TRY(FillEntry(store / hash, programs, copies));
  const auto has_settled = [now](const Program& program) { return IsStampReliable(program.stamp, now); };
  if (std::ranges::all_of(programs, has_settled) && KeyOf(programs) == key) Remember(store, key, hash);
  return hash;
}

// Makes an entry. The caller holds the exclusive lock, so no other process uses the folder of copies. A killed process
// may have left that folder, so it is removed first.
Result<std::string> MakeEntry(const fs::path& store, const std::vector<fs::path>& installed, Instant now) {
  TRY(CheckRoom(store, installed));
  const fs::path copies = store / ".new";
  (void)RemoveTree(copies);
  auto hash = FillFromCopies(store, installed, copies, now);
  (void)RemoveTree(copies);
  return hash;
}

}  // namespace

Result<StoredPrograms> StorePrograms(const fs::path& home, const std::vector<fs::path>& installed, Instant now) {
  const fs::path store = StoreOf(home);
  if (!AllowsExecution(store))
    return Error{ErrorCode::kNotPermitted, StrCat("programs cannot run in ", store.string(),
                                                   ", because its file system is mounted noexec")};
  TRY(RemoveForeignFolder(store));
  TRY(MakeFolder(store));
  const RealClock clock;
  const auto give_up = [&, limit = clock.Now() + kLockPatience] { return clock.Now() >= limit; };
  TRY_ASSIGN(UniqueFd lock, LockFile(store / ".lock", LockKind::kShared, give_up));
  TRY_ASSIGN(std::string key, KeyOf(installed));
  if (auto hash = FindEntry(store, key, installed)) return StoredPrograms{*std::move(hash), std::move(lock)};
  lock.Reset();
  TRY_ASSIGN(lock, LockFile(store / ".lock", LockKind::kExclusive, give_up));
  TRY_ASSIGN(key, KeyOf(installed));
  auto hash = FindEntry(store, key, installed);  // another process may have made it
  if (!hash) {
    TRY_ASSIGN(hash, MakeEntry(store, installed, now));
  }
  TRY(ShareLock(lock, store / ".lock"));
  return StoredPrograms{*std::move(hash), std::move(lock)};
}

Result<EntryStore::Swept> RemoveUnusedPrograms(const fs::path& home, const EntryStore::FindKept& find_kept,
                                               Instant older_than, Duration limit, bool dry_run) {
  const EntryStore::FindKept kept = [&find_kept]() -> Result<std::set<std::string>> {
    TRY_ASSIGN(std::set<std::string> names, find_kept());
    names.insert("known");
    return names;
  };
  return EntryStore::Sweep(StoreOf(home), kept, older_than, limit, dry_run);
}

bool AllowsExecution(const fs::path& home) {
  struct statvfs system {};
  return statvfs(NearestExisting(home).c_str(), &system) != 0 || (system.f_flag & ST_NOEXEC) == 0;
}

}  // namespace tony
