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
#include "runtime/staging/space_guard.h"
#include "runtime/store/copy_file.h"
#include "runtime/store/file_lock.h"
#include "runtime/store/file_stamp.h"
#include "runtime/store/file_system.h"
#include "runtime/store/files.h"
#include "runtime/store/remove_tree.h"
#include "runtime/store/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kProgramMode = 0500;
// To copy a release takes a second on a slow disk. Who waits longer than this waits for a process that is stopped.
constexpr Duration kLockPatience{30000};
constexpr size_t kMostKnown = 16;  // releases that somebody goes to and fro between

// An installed program, open for as long as it is read.
struct Program {
  fs::path path;
  UniqueFd fd;
  FileStamp stamp;
  std::string hash;
};

fs::path StoreOf(const fs::path& home) { return home / "programs"; }

// All installed programs as one line. Links are followed: an installation may consist of them.
Result<std::string> KeyOf(const std::vector<fs::path>& installed) {
  std::vector<std::string> words;
  for (const fs::path& path : installed) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return FileError(ErrorCode::kNotFound, "look at", path, errno);
    words.push_back(StrCat(path.filename().string(), "=", ToString(StampOf(info))));
  }
  return Join(words, " ");
}

std::string KeyOf(const std::vector<Program>& programs) {  // as they were read
  std::vector<std::string> words;
  for (const Program& program : programs)
    words.push_back(StrCat(program.path.filename().string(), "=", ToString(program.stamp)));
  return Join(words, " ");
}

// A copy as the manifest describes it; "" if there is none.
std::string CopyStamp(const fs::path& copy) {
  struct stat info {};
  if (lstat(copy.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  return ToString(StampOf(info));
}

// Neither reads a program nor believes a copy that is not as its maker left it, or that somebody else may have put
// there.
bool IsWhole(const fs::path& entry, const std::vector<fs::path>& installed) {
  if (!IsOursAlone(entry)) return false;
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
    return stamp != stamps.end() && stamp->second == CopyStamp(copy) && IsOursAlone(copy) &&
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

// Only a shortcut: what cannot be remembered is hashed again.
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

Result<std::vector<Program>> ReadPrograms(const std::vector<fs::path>& installed) {
  std::vector<Program> programs;
  for (const fs::path& path : installed) {
    Program program{path, UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), {}, ""};
    struct stat info {};
    if (!program.fd.valid() || fstat(program.fd.get(), &info) != 0)
      return FileError(ErrorCode::kNotFound, "read", path, errno);
    program.stamp = StampOf(info);
    TRY_ASSIGN(program.hash, HashOf(program.fd.get(), path));
    programs.push_back(std::move(program));
  }
  return programs;
}

bool IsCopy(const fs::path& copy, const Program& program) {
  const UniqueFd fd(open(copy.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid() || fchmod(fd.get(), kProgramMode) != 0)
    return false;
  const auto hash = HashOf(fd.get(), copy);
  return hash.ok() && *hash == program.hash;
}

Status CopyProgram(const Program& program, const fs::path& temporary) {
  unlink(temporary.c_str());  // of one that was killed
  const UniqueFd to(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!to.valid() || lseek(program.fd.get(), 0, SEEK_SET) != 0)
    return FileError(ErrorCode::kCannotWrite, "make", temporary, errno);
  TRY(CopyContent(program.fd.get(), program.path, to.get(), temporary, [](int64_t) { return Ok(); }));
  TRY_ASSIGN(const std::string hash, HashOf(to.get(), temporary));
  if (hash != program.hash)
    return Error{ErrorCode::kUnavailable, StrCat(program.path.string(), ": it changed meanwhile")};
  if (fchmod(to.get(), kProgramMode) != 0 || fsync(to.get()) != 0)
    return FileError(ErrorCode::kCannotWrite, "write", temporary, errno);
  return Ok();
}

// What is there already may be what jobs run.
Status PutProgram(const Program& program, const fs::path& entry) {
  const fs::path copy = entry / program.path.filename();
  if (IsCopy(copy, program)) return Ok();
  const fs::path temporary = entry / StrCat(".new-", program.path.filename().string());
  Status made = CopyProgram(program, temporary);
  if (made.ok() && rename(temporary.c_str(), copy.c_str()) != 0)
    made = FileError(ErrorCode::kCannotWrite, "make", copy, errno);
  if (!made.ok()) unlink(temporary.c_str());
  return made;
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

// A folder of this name that somebody else may write is not written to, because what is written there is run.
Status SetStrangersAside(const fs::path& folder) {
  if (!IsThere(folder) || IsOursAlone(folder)) return Ok();
  const fs::path aside = folder.parent_path() / StrCat(".", folder.filename().string(), "-of-others-", RandomHex(4));
  if (rename(folder.c_str(), aside.c_str()) != 0 && errno != ENOENT)
    return FileError(ErrorCode::kCannotWrite, "set aside, because others may write there,", folder, errno);
  (void)RemoveTree(aside);
  return Ok();
}

Status FillEntry(const fs::path& entry, const std::vector<Program>& programs) {
  TRY(SetStrangersAside(entry));
  TRY(MakeFolder(entry));
  std::string manifest;
  for (const Program& program : programs) {
    TRY(PutProgram(program, entry));
    const std::string name = program.path.filename().string();
    manifest += StrCat(program.hash, " ", CopyStamp(entry / name), " ", name, "\n");
    if (access((entry / name).c_str(), X_OK) != 0)
      return FileError(ErrorCode::kNotPermitted, "run", entry / name, errno);
  }
  TRY(SyncPath(entry));  // the names of the copies, before the manifest that speaks of them
  TRY(WriteFileByRename(entry / "manifest", manifest, /*durable=*/true));
  return SyncPath(entry.parent_path());
}

bool HaveSettled(const std::vector<Program>& programs, Instant now) {
  return std::ranges::all_of(programs, [now](const Program& program) { return HasSettled(program.stamp, now); });
}

// The caller holds the lock alone.
Result<std::string> MakeEntry(const fs::path& store, const std::vector<fs::path>& installed, Instant now) {
  TRY(CheckRoom(store, installed));
  TRY_ASSIGN(const std::string key, KeyOf(installed));
  TRY_ASSIGN(const std::vector<Program> programs, ReadPrograms(installed));
  const std::string hash = EntryName(programs);
  TRY(FillEntry(store / hash, programs));
  if (HaveSettled(programs, now) && KeyOf(programs) == key) Remember(store, key, hash);
  return hash;
}

}  // namespace

Result<KeptPrograms> KeepPrograms(const fs::path& home, const std::vector<fs::path>& installed, Instant now) {
  const fs::path store = StoreOf(home);
  if (!LetsProgramsRun(store))
    return Error{ErrorCode::kNotPermitted, StrCat(store.string(), ": its file system is mounted noexec")};
  TRY(SetStrangersAside(store));
  TRY(MakeFolder(store));
  const RealClock clock;
  const auto give_up = [&, limit = clock.Now() + kLockPatience] { return clock.Now() >= limit; };
  TRY_ASSIGN(UniqueFd lock, LockFile(store / ".lock", LockKind::kShared, give_up));
  TRY_ASSIGN(std::string key, KeyOf(installed));
  if (auto hash = FindEntry(store, key, installed)) return KeptPrograms{*std::move(hash), std::move(lock)};
  lock.Reset();
  TRY_ASSIGN(lock, LockFile(store / ".lock", LockKind::kAlone, give_up));
  TRY_ASSIGN(key, KeyOf(installed));
  auto hash = FindEntry(store, key, installed);  // somebody else may have made it meanwhile
  if (!hash) {
    TRY_ASSIGN(hash, MakeEntry(store, installed, now));
  }
  TRY(ShareLock(lock, store / ".lock"));
  return KeptPrograms{*std::move(hash), std::move(lock)};
}

Result<EntryStore::Swept> SweepPrograms(const fs::path& home, const EntryStore::FindKept& find_kept, Instant older_than,
                                        Duration limit, bool dry_run) {
  const EntryStore::FindKept kept = [&find_kept]() -> Result<std::set<std::string>> {
    TRY_ASSIGN(std::set<std::string> names, find_kept());
    names.insert("known");
    return names;
  };
  return EntryStore::Sweep(StoreOf(home), kept, older_than, limit, dry_run);
}

bool LetsProgramsRun(const fs::path& home) {
  struct statvfs system {};
  return statvfs(NearestExisting(home).c_str(), &system) != 0 || (system.f_flag & ST_NOEXEC) == 0;
}

}  // namespace tony
