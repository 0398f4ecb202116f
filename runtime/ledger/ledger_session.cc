// What a keeper changes in the ledger: its own entry, and at most the places of its own user's jobs.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_files.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/ledger/ledger_lock.h"
#include "runtime/ledger/ledger_look.h"
#include "runtime/ledger/ledger_turn.h"
#include "runtime/ledger/ledger_witness.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Over what is there, which has its room on the disk already; so an entry of ours is not lost when the disk is full.
Status Write(int fd, const LedgerEntry& entry, const fs::path& path) {
  const std::string content = EntryJson(entry);
  if (lseek(fd, 0, SEEK_SET) != 0) return FileError(ErrorCode::kCannotWrite, "write", path, errno);
  TRY(WriteAll(fd, content, path));
  if (ftruncate(fd, static_cast<off_t>(content.size())) != 0)
    return FileError(ErrorCode::kCannotWrite, "write", path, errno);
  return Ok();
}

// Keepers of earlier releases admit themselves under the lock and do not look again. One that is seen to hold the lock
// may be about to: then it counts as admitted.
void CountThoseAboutToBeAdmitted(std::vector<LedgerEntry>& entries, const std::vector<int64_t>& lock_holders) {
  for (const int64_t pid : lock_holders) {
    const auto process = LookAtProcess(pid);
    for (LedgerEntry& entry : entries) {
      if (process && entry.keeper.pid == 0 && entry.place == Place::kInLine && Runs(*process, entry))
        entry.place = Place::kAdmitted;
    }
  }
}

}  // namespace

Result<LedgerView> LedgerSession::Read() { return LookAtLedger(folder_.path(), /*remove_dead=*/lock_.valid()); }

void LedgerSession::RemoveOtherNames(const HeldEntry& held) const {
  struct stat mine = {}, other = {};
  if (fstat(held.lock.get(), &mine) != 0 || mine.st_nlink < 2) return;
  const auto names = NamesIn(folder_.path());
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const auto parsed = ParseEntryName(name);
    if (!parsed || parsed->job != held.entry.job || name == NameOf(held.entry)) continue;
    const fs::path path = folder_.path() / name;
    if (lstat(path.c_str(), &other) == 0 && other.st_ino == mine.st_ino) unlink(path.c_str());
  }
}

// Readable by others only when it is held: any reader could keep us from holding it by locks of his own.
Result<HeldEntry> LedgerSession::Make(const LedgerEntry& entry) {
  const fs::path made = folder_.path() / UnfinishedName(), path = folder_.path() / NameOf(entry);
  // Messages name `path`: the other name is new at each try, and a reason that changes is told again.
  UniqueFd fd(open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  Status added = TakeHold(fd.get(), path);
  if (added.ok()) added = Write(fd.get(), entry, path);
  if (added.ok() && fchmod(fd.get(), 0644) != 0) added = FileError(ErrorCode::kCannotWrite, "open to all", path, errno);
  if (added.ok() && rename(made.c_str(), path.c_str()) != 0)
    added = FileError(ErrorCode::kCannotWrite, "make", path, errno);
  if (!added.ok()) {
    unlink(made.c_str());
    return added.error();
  }
  return HeldEntry{entry, std::move(fd)};
}

Result<HeldEntry> LedgerSession::Add(const LedgerEntry& entry) {
  LedgerEntry added = entry;
  added.user = geteuid();
  added.keeper = ThisKeeper();
  if (!ParseEntryName(NameOf(added)))
    return Error{ErrorCode::kCannotWrite, StrCat("make ", (folder_.path() / NameOf(added)).string(), ": no such name")};
  return Make(added);
}

Result<std::optional<HeldEntry>> LedgerSession::TakeOver(const JobId& job) {
  TRY_ASSIGN(const std::vector<std::string> names, NamesIn(folder_.path()));
  for (const std::string& name : names) {
    const auto parsed = ParseEntryName(name);
    if (!parsed || parsed->job != job) continue;
    TRY_ASSIGN(auto held, TakeOverFile(name));
    if (held) return held;
  }
  return std::optional<HeldEntry>();
}

Result<std::optional<HeldEntry>> LedgerSession::TakeOverFile(const std::string& name) {
  const fs::path path = folder_.path() / name;
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 && errno != ENOENT)
    return FileError(ErrorCode::kCannotWrite, "look at", path, errno);
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return std::optional<HeldEntry>();  // another user's
  TRY_ASSIGN(auto file, OpenFile(path, O_RDWR));
  if (!file || file->owner != geteuid()) return std::optional<HeldEntry>();
  auto entry = EntryFrom(*ParseEntryName(name), *file);
  // Who cannot read it for the moment neither removes it nor goes without it.
  if (!entry.ok() && entry.error().code == ErrorCode::kUnavailable) return Annotate(entry.error(), path.string());
  // A full disk cut the entry short, or a stranger's number or link leads it astray.
  if (!entry.ok() || entry->number > kMostNumber) {
    unlink(path.c_str());
    return std::optional<HeldEntry>();
  }
  const bool dead = !IsHeld(file->fd.get());
  entry->keeper = ThisKeeper();
  const Status taken = TakeHold(file->fd.get(), path);
  if (!taken.ok() && taken.error().code != ErrorCode::kUnavailable) return taken.error();
  HeldEntry held{*entry, std::move(file->fd)};
  if (taken.ok()) {
    TRY(Write(held.lock.get(), held.entry, path));
  } else {
    TRY_ASSIGN(held, Make(*entry));  // in the place of the file that strangers keep us from holding
  }
  // Others may have counted it as free meanwhile.
  if (dead && held.entry.admitted()) TRY(Withdraw(held));
  return std::optional<HeldEntry>(std::move(held));
}

Status LedgerSession::Move(HeldEntry& held, Place place, int64_t number) { return Rename(held.entry, place, number); }

Status LedgerSession::MoveAside(const LedgerEntry& entry) {
  LedgerEntry moved = entry;
  return Rename(moved, Place::kAside, moved.number);
}

Status LedgerSession::Admit(HeldEntry& held, const std::vector<int>& gpus, Instant now) {
  LedgerEntry entry = held.entry;
  entry.gpus = gpus;
  entry.admitted_at = now;
  const Status written = Write(held.lock.get(), entry, folder_.path() / NameOf(held.entry));
  if (!written.ok() && gpus != held.entry.gpus) return written;  // a full disk may well keep the time from us
  TRY(Rename(entry, Place::kAdmitted, entry.number));
  held.entry = std::move(entry);
  return Ok();
}

Result<bool> LedgerSession::StandsAdmitted(HeldEntry& held) {
  const std::vector<int64_t> holders = lock_.valid() ? std::vector<int64_t>() : LockHolders(folder_.path());
  TRY_ASSIGN(const LedgerView view, LookAtLedger(folder_.path(), /*remove_dead=*/false));
  std::vector<LedgerEntry> entries = view.ledger.entries();
  CountThoseAboutToBeAdmitted(entries, holders);
  if (HasRoomFor(held.entry, Ledger(view.ledger.machine(), std::move(entries)))) return true;
  TRY(Withdraw(held));
  return false;
}

// Its content, too, says then that it waits, so that another name of the file cannot say the opposite.
Status LedgerSession::Withdraw(HeldEntry& held) {
  TRY(Rename(held.entry, Place::kInLine, held.entry.number));
  held.entry.admitted_at = Instant();
  return Write(held.lock.get(), held.entry, folder_.path() / NameOf(held.entry));
}

Status LedgerSession::Rename(LedgerEntry& entry, Place place, int64_t number) {
  const fs::path from = folder_.path() / NameOf(entry);
  LedgerEntry renamed = entry;
  renamed.place = place;
  renamed.number = number;
  const fs::path to = folder_.path() / NameOf(renamed);
  if (rename(from.c_str(), to.c_str()) != 0) return FileError(ErrorCode::kCannotWrite, "rename", from, errno);
  // Between two names of one file rename() does nothing.
  struct stat old = {}, now = {};
  if (from != to && lstat(from.c_str(), &old) == 0 && lstat(to.c_str(), &now) == 0 && old.st_ino == now.st_ino)
    unlink(from.c_str());
  entry = std::move(renamed);
  return Ok();
}

}  // namespace tony
