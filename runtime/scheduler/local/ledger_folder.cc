#include "runtime/scheduler/local/ledger_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/scheduler/local/ledger_files.h"
#include "runtime/scheduler/local/machine.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMachine = "machine.json";
constexpr Duration kPatience{1000};  // of a command; who holds the lock has it for a millisecond
constexpr Duration kLook{2};

std::string LeftOut(const fs::path& path, const Error& error) {
  return StrCat("the ledger's ", path.string(), " is left out: ", error.message);
}

// The folder, opened and locked: flock needs no right to write, and nobody can take the file of the lock away.
Result<UniqueFd> LockFolder(const fs::path& path, int mode) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid())
    return FileError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kCannotWrite, "open", path, errno);
  if (flock(fd.get(), mode | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return Error{ErrorCode::kUnavailable, StrCat("lock ", path.string(), ": another process holds it")};
    return FileError(ErrorCode::kCannotWrite, "lock", path, errno);
  }
  struct stat status = {};
  if (fstat(fd.get(), &status) == 0 && status.st_nlink == 0)
    return FileError(ErrorCode::kNotFound, "open", path, ENOENT);
  return fd;
}

// A file in a folder that all may write speaks for the machine only if its owner, or root, made it.
Result<Machine> ReadMachine(const fs::path& folder) {
  const Machine detected = DetectMachine();
  TRY_ASSIGN(const auto file, OpenFile(folder / kMachine, O_RDONLY));
  struct stat status = {};
  if (!file) return detected;
  if (file->owner != 0 && (stat(folder.c_str(), &status) != 0 || file->owner != status.st_uid))
    return Error{ErrorCode::kInvalid, "it belongs neither to root nor to the owner of the folder"};
  TRY_ASSIGN(const std::string content, ReadSmall(*file));
  return MachineFromJson(content, detected);
}

// One entry of the folder; nothing: it is dead, and removed where we may.
Result<std::optional<LedgerEntry>> ReadEntry(const fs::path& path, const EntryName& name, bool remove_dead) {
  TRY_ASSIGN(const auto file, OpenFile(path, O_RDONLY));
  if (!file) return std::optional<LedgerEntry>();
  if (!IsHeld(file->fd.get())) {
    if (remove_dead) unlink(path.c_str());
    return std::optional<LedgerEntry>();
  }
  TRY_ASSIGN(LedgerEntry entry, EntryFrom(name, *file));
  return std::optional<LedgerEntry>(std::move(entry));
}

Result<LedgerView> ReadAll(const fs::path& folder, bool remove_dead) {
  TRY_ASSIGN(const std::vector<std::string> names, NamesIn(folder));
  std::vector<LedgerEntry> entries;
  std::vector<std::string> warnings;
  int dead = 0;
  for (const std::string& name : names) {
    const auto parsed = ParseEntryName(name);
    if (!parsed) {
      if (remove_dead && IsUnfinished(name)) unlink((folder / name).c_str());  // its maker would have the lock
      continue;
    }
    auto entry = ReadEntry(folder / name, *parsed, remove_dead);
    if (!entry.ok()) {
      warnings.push_back(LeftOut(folder / name, entry.error()));
    } else if (*entry) {
      entries.push_back(**std::move(entry));
    } else {
      ++dead;
    }
  }
  auto machine = ReadMachine(folder);
  if (!machine.ok()) warnings.push_back(LeftOut(folder / kMachine, machine.error()));
  return LedgerView{Ledger(machine.ok() ? *std::move(machine) : DetectMachine(), std::move(entries)), dead,
                    std::move(warnings)};
}

// Over what is there, which has its room on the disk already; so an entry of ours is not lost when the disk is full.
Status Write(int fd, const LedgerEntry& entry, const fs::path& path) {
  const std::string content = EntryJson(entry);
  if (lseek(fd, 0, SEEK_SET) != 0) return FileError(ErrorCode::kCannotWrite, "write", path, errno);
  TRY(WriteAll(fd, content, path));
  if (ftruncate(fd, static_cast<off_t>(content.size())) != 0)
    return FileError(ErrorCode::kCannotWrite, "write", path, errno);
  return Ok();
}

}  // namespace

Result<LedgerView> LedgerFolder::Read() const {
  Result<UniqueFd> lock = LockFolder(path_, LOCK_SH);
  for (Duration waited{0}; !lock.ok() && lock.error().code == ErrorCode::kUnavailable && waited < kPatience;) {
    std::this_thread::sleep_for(kLook);
    waited += kLook;
    lock = LockFolder(path_, LOCK_SH);
  }
  if (!lock.ok() && lock.error().code == ErrorCode::kNotFound) return LedgerView{Ledger(DetectMachine(), {}), 0, {}};
  return ReadAll(path_, /*remove_dead=*/false);
}

bool LedgerFolder::SomebodyWaitsBefore(int64_t number) const {
  const auto names = NamesIn(path_);
  if (!names.ok()) return false;
  std::vector<std::pair<int64_t, std::string>> before;
  for (const std::string& name : *names) {
    const auto parsed = ParseEntryName(name);
    if (parsed && !parsed->admitted && parsed->number < number) before.emplace_back(parsed->number, name);
  }
  std::ranges::sort(before);
  return std::ranges::any_of(before, [&](const auto& entry) {
    const auto file = OpenFile(path_ / entry.second, O_RDONLY);
    return file.ok() && *file && IsHeld((*file)->fd.get());
  });
}

Result<LedgerSession> LedgerFolder::Lock() const {
  TRY_ASSIGN(UniqueFd lock, LockFolder(path_, LOCK_EX));
  return LedgerSession(*this, std::move(lock));
}

void LedgerFolder::Remove(HeldEntry held) const { unlink((path_ / NameOf(held.entry)).c_str()); }

Result<LedgerView> LedgerSession::Read() { return ReadAll(folder_.path(), /*remove_dead=*/true); }

Result<HeldEntry> LedgerSession::Add(const LedgerEntry& entry) {
  const std::string name = NameOf(entry);
  const fs::path made = folder_.path() / UnfinishedName(), path = folder_.path() / name;
  if (!ParseEntryName(name)) return Error{ErrorCode::kCannotWrite, StrCat("make ", path.string(), ": no such name")};
  // Messages name `path`: the other name is new at each try, and a reason that changes is told again.
  UniqueFd fd(open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  Status added = Ok();
  if (fchmod(fd.get(), 0644) != 0) added = FileError(ErrorCode::kCannotWrite, "open to all", path, errno);
  if (added.ok()) added = Write(fd.get(), entry, path);
  if (added.ok()) added = TakeHold(fd.get());
  if (added.ok() && rename(made.c_str(), path.c_str()) != 0)
    added = FileError(ErrorCode::kCannotWrite, "make", path, errno);
  if (!added.ok()) {
    unlink(made.c_str());
    return added.error();
  }
  return HeldEntry{entry, std::move(fd)};
}

Result<std::optional<HeldEntry>> LedgerSession::TakeOver(const JobId& job) {
  TRY_ASSIGN(const std::vector<std::string> names, NamesIn(folder_.path()));
  for (const std::string& name : names) {
    const auto parsed = ParseEntryName(name);
    if (!parsed || parsed->job != job) continue;
    auto file = OpenFile(folder_.path() / name, O_RDWR);
    if (!file.ok() || !*file || (*file)->owner != geteuid()) continue;  // somebody else's, who knows our id
    auto entry = EntryFrom(*parsed, **file);
    if (!entry.ok()) {  // cut short by a full disk
      unlink((folder_.path() / name).c_str());
      continue;
    }
    const bool dead = !IsHeld((*file)->fd.get());
    TRY(TakeHold((*file)->fd.get()));
    HeldEntry held{*std::move(entry), std::move((*file)->fd)};
    if (dead && held.entry.admitted) TRY(Rename(held.entry, false));  // others may have counted it as free meanwhile
    return std::optional<HeldEntry>(std::move(held));
  }
  return std::optional<HeldEntry>();
}

Status LedgerSession::Admit(HeldEntry& held, const std::vector<int>& gpus) {
  LedgerEntry entry = held.entry;
  entry.gpus = gpus;
  const fs::path from = folder_.path() / NameOf(entry);
  if (entry.gpus != held.entry.gpus) TRY(Write(held.lock.get(), entry, from));
  TRY(Rename(entry, true));
  held.entry = std::move(entry);
  return Ok();
}

Status LedgerSession::Rename(LedgerEntry& entry, bool admitted) {
  const fs::path from = folder_.path() / NameOf(entry);
  LedgerEntry renamed = entry;
  renamed.admitted = admitted;
  if (rename(from.c_str(), (folder_.path() / NameOf(renamed)).c_str()) != 0)
    return FileError(ErrorCode::kCannotWrite, "rename", from, errno);
  entry = std::move(renamed);
  return Ok();
}

}  // namespace tony
