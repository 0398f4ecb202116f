#include "runtime/ledger/ledger_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/ledger/ledger_files.h"
#include "runtime/ledger/machine.h"
#include "runtime/ledger/process_check.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/user_home.h"

namespace tony {

namespace {

namespace fs = std::filesystem;

constexpr Duration kLook{2};

// Locks the folder. `shared` lets other readers lock it at the same time. kUnavailable: another process holds the lock;
// kNotFound: the folder does not exist.
// flock(2) on the folder needs no write permission. No other user can remove the lock, because it is not a separate
// file.
Result<UniqueFd> LockFolder(const fs::path& folder, bool shared) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid())
    return FileError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kCannotWrite, "open", folder, errno);
  if (flock(fd.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return UnavailableError("cannot lock ", folder.string(), ": another process holds the lock");
    return FileError(ErrorCode::kCannotWrite, "lock", folder, errno);
  }
  struct stat status = {};
  if (fstat(fd.get(), &status) == 0 && status.st_nlink == 0)
    return FileError(ErrorCode::kNotFound, "open", folder, ENOENT);
  return fd;
}

}  // namespace

Result<LedgerView> LedgerFolder::Read() const {
  Result<UniqueFd> lock = LockFolder(path_, /*shared=*/true);
  std::vector<int64_t> holders;
  if (!lock.ok() && lock.error().code == ErrorCode::kUnavailable) holders = LockHolders(path_);
  for (Duration waited{0}; !lock.ok() && lock.error().code == ErrorCode::kUnavailable && waited < kLockPatience;) {
    std::this_thread::sleep_for(kLook);
    waited += kLook;
    lock = LockFolder(path_, /*shared=*/true);
  }
  if (!lock.ok() && lock.error().code == ErrorCode::kNotFound) return LedgerView{Ledger(DetectMachine(), {}), 0, {}};
  TRY_ASSIGN(LedgerView view, ReadLedgerFolder(path_, /*remove_dead=*/false));
  if (lock.ok() || lock.error().code != ErrorCode::kUnavailable) return view;
  view.went_without_lock = true;
  for (const int64_t pid : LockHolders(path_)) {
    if (std::ranges::count(holders, pid) > 0) view.lock_holders.push_back(pid);
  }
  return view;
}

Machine LedgerFolder::ReadMachine() const {
  const Machine detected = DetectMachine();
  auto stated = ReadStatedMachine(path_, detected);
  return stated.ok() ? std::move(stated->machine) : detected;
}

bool LedgerFolder::IsUnchanged(const LedgerEntry& entry) const {
  const auto file = OpenFile(path_ / NameOf(entry), O_RDONLY);
  return file.ok() && *file && IsHeld((*file)->fd.get());
}

Result<LedgerSession> LedgerFolder::Lock() const {
  TRY_ASSIGN(UniqueFd lock, LockFolder(path_, /*shared=*/false));
  return LedgerSession(*this, std::move(lock));
}

Result<LedgerSession> LedgerFolder::GoWithoutLock() const { return LedgerSession(*this, UniqueFd()); }

void LedgerFolder::Remove(HeldEntry held) const { unlink((path_ / NameOf(held.entry)).c_str()); }

// The following functions find the place of the ledger.

namespace {

constexpr std::string_view kVariable = "TONY_LEDGER";
constexpr const char* kShared = "/var/lib/tony/ledger";

// Returns why the shared ledger (kShared) cannot be used; empty: it can be used.
std::string WhyNotShared() {
  const fs::path there = NearestExisting(kShared);
  struct stat status = {};
  if (stat(there.c_str(), &status) != 0 || access(there.c_str(), R_OK | W_OK | X_OK) != 0)
    return StrCat(kShared, " cannot be ", there == kShared ? "written" : "made", ": ", ErrnoText(errno));
  // If another user owned the folder, that user could remove every entry in it.
  if (status.st_uid != 0 && status.st_uid != geteuid()) return StrCat(kShared, " belongs to another user");
  return "";
}

// Makes a folder in which all users may add files and cannot remove files of others (sticky bit).
Status MakeShared(const fs::path& path) {
  std::error_code error;
  if (path.has_relative_path() && !fs::is_directory(path.parent_path(), error)) {
    TRY(MakeFolder(path.parent_path()));
    for (fs::path above = path.parent_path(); above.has_relative_path(); above = above.parent_path()) {
      // MakeFolder() makes the parent folders private. Only folders that are private and ours are opened to other
      // users.
      struct stat status = {};
      if (stat(above.c_str(), &status) != 0 || status.st_uid != geteuid() || (status.st_mode & 0777) != 0700) break;
      if (chmod(above.c_str(), 0755) != 0) return FileError(ErrorCode::kCannotWrite, "open to all", above, errno);
    }
  }
  if (mkdir(path.c_str(), 0700) != 0)
    return errno == EEXIST ? Ok() : Status(FileError(ErrorCode::kCannotWrite, "make", path, errno));
  if (chmod(path.c_str(), 01777) != 0) return FileError(ErrorCode::kCannotWrite, "open to all", path, errno);
  return Ok();
}

}  // namespace

Status CheckLedgerPlace(const fs::path& path, const FileSystem& file_system) {
  if (!file_system.network) return Ok();
  return InvalidError("the ledger cannot be ", path.string(), ": on ", file_system.type,
                      ", a network file system, locks do not show which jobs run on this machine; set ", kVariable,
                      " to a folder on a disk of this machine, such as /dev/shm/tony-ledger");
}

Result<LedgerFolder> LedgerFolder::Find(const fs::path& home, const std::string& configured) {
  LedgerFolder folder(ExpandTilde(configured), "");
  if (configured.empty()) {
    folder.why_private_ = WhyNotShared();
    folder.path_ = folder.is_private() ? home / "ledger" : fs::path(kShared);
  } else if (!folder.path_.is_absolute()) {
    return InvalidError(kVariable, "=", configured, ": expected an absolute path");
  }
  folder.path_ = folder.path_.lexically_normal();
  if (!folder.path_.has_filename()) folder.path_ = folder.path_.parent_path();  // for a path like "/x/ledger/"
  TRY_ASSIGN(const FileSystem file_system, FileSystemOf(folder.path_));
  TRY(CheckLedgerPlace(folder.path_, file_system));
  return folder;
}

Result<LedgerFolder> LedgerFolder::FindHere() {
  TRY_ASSIGN(const fs::path home, TonyHome());
  const char* configured = std::getenv(kVariable.data());
  return Find(home, configured ? configured : "");
}

Result<LedgerFolder> LedgerFolder::FindFor(const JobRecords& records) {
  TRY_ASSIGN(const auto environment, records.ReadEnvironment());
  return Find(JobFolder(records).home(), VariableOf(environment, kVariable).value_or(""));
}

std::string LedgerFolder::Announcement() const {
  return StrCat("the ledger is private (", path_.string(), "), because ", why_private_,
                "; it does not count jobs of other users. As root, make /var/lib/tony/ledger with mode 1777, or set ",
                kVariable);
}

Status LedgerFolder::Make() const {
  std::error_code error;
  if (fs::is_directory(path_, error)) {
    if (access(path_.c_str(), W_OK | X_OK) == 0) return Ok();
    return FileError(ErrorCode::kCannotWrite, "write to", path_, errno);
  }
  return geteuid() == 0 && !is_private() ? MakeShared(path_) : MakeFolder(path_);
}

// Changes of the ledger. A keeper changes its own entry, and at most the queue positions of its own user's other jobs.

namespace {

// Overwrites the file in place. The existing content already has its space on the disk, so a full disk does not destroy
// an entry.
Status Write(int fd, const LedgerEntry& entry, const fs::path& path) {
  const std::string content = EntryJson(entry);
  if (lseek(fd, 0, SEEK_SET) != 0) return FileError(ErrorCode::kCannotWrite, "write", path, errno);
  TRY(WriteAll(fd, content, path));
  if (ftruncate(fd, static_cast<off_t>(content.size())) != 0)
    return FileError(ErrorCode::kCannotWrite, "write", path, errno);
  return Ok();
}

// Keepers of earlier releases admit themselves under the lock and do not read the ledger again. If such a keeper holds
// the lock, it may be about to admit itself. Therefore its entry counts as admitted.
void CountThoseAboutToBeAdmitted(std::vector<LedgerEntry>& entries, const std::vector<int64_t>& lock_holders) {
  for (const int64_t pid : lock_holders) {
    const auto process = ReadVisibleProcess(pid);
    for (LedgerEntry& entry : entries) {
      if (process && entry.keeper.pid == 0 && entry.place == Place::kQueued && Runs(*process, entry))
        entry.place = Place::kAdmitted;
    }
  }
}

}  // namespace

Result<LedgerView> LedgerSession::Read() { return ReadLedgerFolder(folder_.path(), /*remove_dead=*/lock_.valid()); }

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

// The entry becomes readable for others only after it is locked. Otherwise any reader could prevent our lock with read
// locks of its own.
Result<HeldEntry> LedgerSession::Make(const LedgerEntry& entry) {
  const fs::path made = folder_.path() / UnfinishedName(), path = folder_.path() / NameOf(entry);
  // Messages name `path` and not the temporary file. The temporary name differs at each retry, and a changed message
  // would be reported again.
  UniqueFd fd(open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  Status added = LockFreeByte(fd.get(), path);
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
    return FileError(ErrorCode::kCannotWrite, "inspect", path, errno);
  // A link, a folder, or a file of another user is not an entry of this user.
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return std::optional<HeldEntry>();
  TRY_ASSIGN(auto file, OpenFile(path, O_RDWR));
  if (!file || file->owner != geteuid()) return std::optional<HeldEntry>();
  auto entry = EntryFrom(*ParseEntryName(name), *file);
  // An entry that cannot be read for the moment is neither removed nor replaced.
  if (!entry.ok() && entry.error().code == ErrorCode::kUnavailable) return Annotate(entry.error(), path.string());
  // The entry is invalid: a full disk cut it short, or another user chose its number or gave the file another name.
  if (!entry.ok() || entry->number > kMostNumber) {
    unlink(path.c_str());
    return std::optional<HeldEntry>();
  }
  const bool dead = !IsHeld(file->fd.get());
  entry->keeper = ThisKeeper();
  const Status taken = LockFreeByte(file->fd.get(), path);
  if (!taken.ok() && taken.error().code != ErrorCode::kUnavailable) return taken.error();
  HeldEntry held{*entry, std::move(file->fd)};
  if (taken.ok()) {
    TRY(Write(held.lock.get(), held.entry, path));
  } else {
    // Read locks of other users prevent our lock on this file, so a new file replaces it.
    TRY_ASSIGN(held, Make(*entry));
  }
  // An entry without a lock was not counted by other jobs, so its resources may have been given to them meanwhile.
  if (dead && held.entry.admitted()) TRY(Withdraw(held));
  return std::optional<HeldEntry>(std::move(held));
}

Status LedgerSession::Move(HeldEntry& held, Place place, int64_t number) { return Rename(held.entry, place, number); }

Status LedgerSession::MoveAside(const LedgerEntry& entry) {
  LedgerEntry moved = entry;
  return Rename(moved, Place::kDeferred, moved.number);
}

Status LedgerSession::Admit(HeldEntry& held, const std::vector<int>& gpus, Instant now) {
  LedgerEntry entry = held.entry;
  entry.gpus = gpus;
  entry.admitted_at = now;
  const Status written = Write(held.lock.get(), entry, folder_.path() / NameOf(held.entry));
  // If the disk is full, the admission time may be lost, which is harmless. The GPU numbers must be written.
  if (!written.ok() && gpus != held.entry.gpus) return written;
  TRY(Rename(entry, Place::kAdmitted, entry.number));
  held.entry = std::move(entry);
  return Ok();
}

Result<bool> LedgerSession::ConfirmAdmission(HeldEntry& held) {
  const std::vector<int64_t> holders = lock_.valid() ? std::vector<int64_t>() : LockHolders(folder_.path());
  TRY_ASSIGN(const LedgerView view, ReadLedgerFolder(folder_.path(), /*remove_dead=*/false));
  std::vector<LedgerEntry> entries = view.ledger.entries();
  CountThoseAboutToBeAdmitted(entries, holders);
  if (HasRoomFor(held.entry, Ledger(view.ledger.machine(), std::move(entries)))) return true;
  TRY(Withdraw(held));
  return false;
}

// Queues the entry again. The admission time in the file's content is cleared as well, so that another name of the same
// file cannot claim the admission.
Status LedgerSession::Withdraw(HeldEntry& held) {
  TRY(Rename(held.entry, Place::kQueued, held.entry.number));
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
  // If both names are hard links of one file, rename() does nothing, so the old name is removed here.
  struct stat old = {}, now = {};
  if (from != to && lstat(from.c_str(), &old) == 0 && lstat(to.c_str(), &now) == 0 && old.st_ino == now.st_ino)
    unlink(from.c_str());
  entry = std::move(renamed);
  return Ok();
}

// Parses lines such as "1: FLOCK  ADVISORY  WRITE 8521 fe:00:9977998 0 EOF". A process with "->" behind the first
// number only waits for the lock.
std::vector<int64_t> LockHoldersIn(const std::string& locks, uint64_t device, uint64_t inode) {
  std::vector<int64_t> holders;
  for (const std::string& line : Split(locks, '\n')) {
    std::vector<std::string> words = Split(line, ' ');
    std::erase(words, "");
    if (words.size() < 6 || words[1] != "FLOCK") continue;
    const std::vector<std::string> file = Split(words[5], ':');
    if (file.size() != 3 || ParseInt(file[2]) != static_cast<int64_t>(inode)) continue;
    const uint64_t on = makedev(std::strtoul(file[0].c_str(), nullptr, 16), std::strtoul(file[1].c_str(), nullptr, 16));
    const auto pid = ParseInt(words[4]);
    if (on == device && pid && std::ranges::count(holders, *pid) == 0) holders.push_back(*pid);
  }
  return holders;
}

std::vector<int64_t> LockHolders(const fs::path& folder) {
  struct stat status = {};
  const auto locks = ReadFile("/proc/locks");
  if (stat(folder.c_str(), &status) != 0 || !locks.ok()) return {};
  std::vector<int64_t> holders = LockHoldersIn(*locks, status.st_dev, status.st_ino);
  std::erase(holders, getpid());
  return holders;
}

std::string DescribeHolders(const std::vector<int64_t>& holders) {
  constexpr size_t kMostPids = 5;
  std::vector<std::string> texts;
  for (const int64_t pid : holders) {
    if (texts.size() == kMostPids) break;
    if (const auto process = ReadVisibleProcess(pid)) texts.push_back(Describe(*process));
  }
  if (texts.empty())
    return "a process that is not visible from here, or a process whose parent took the lock and ended";
  if (holders.size() > kMostPids) texts.push_back(StrCat(holders.size() - kMostPids, " more"));
  return Join(texts, ", ");
}

}  // namespace tony
