// The ledger of the machine on disk: one file per job, in a folder that all users of the machine may share.
//
//   machine.json                          what jobs may use of the machine, if its owner limits that
//   0000000012.local-...-4f2a9c.waiting   an entry (JSON) of a queued job; ".running" after its admission, ".aside"
//                                         while the job is deferred; each change is a rename
//   .new-<random>                         an entry that is being written
//
// An entry lives as long as a process holds a lock on a byte of it. Each keeper (supervisor of one job on this machine)
// locks a byte of its own, and its executors inherit copies of the descriptor. The entry ends with the last of these
// processes, however they die. Therefore no cleanup is needed: a file without a lock counts for nothing, and the next
// process that may remove the file removes it.
//
// A process never depends on something that another user holds. Changes are made under the ledger's lock, a flock on
// the folder, because the lock keeps conflicts rare. A process that does not get the lock within kLockPatience
// continues without it. Even without the lock, two jobs never get the same resources. Each job admits itself by a
// rename that all others see, reads everything again, and withdraws if the resources do not suffice for all
// (LedgerSession::Admit). If two jobs do that at the same time, the job that reads last sees the other job.
//
// Among users the ledger is an agreement and not a protection. A folder made by root is sticky, so users cannot remove
// files of others, and all users can read the files. The user of an entry is the owner of its file. Validation
// (ledger.h) decides which entries are rejected and why. Malformed files are named in a warning and otherwise ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/ledger/ledger.h"
#include "runtime/os/file_system.h"
#include "runtime/records/job_records.h"

namespace tony {

// The time for which a process waits for the folder's lock before it continues without the lock. A change of the ledger
// holds the lock for a thousandth of this time.
inline constexpr Duration kLockPatience{1000};

struct LedgerView {
  Ledger ledger;
  int dead = 0;                       // number of ignored entries without lock
  std::vector<std::string> warnings;  // each names a malformed file
  std::vector<Doubt> doubts;          // rejected entries; `warnings` names them too
  // Processes that held the lock before and after a wait of kLockPatience. Only LedgerFolder::Read() sets this.
  std::vector<int64_t> lock_holders;
  bool went_without_lock = false;
};

// An entry of this process. The entry lives as long as the descriptor, or a copy of it in another process, is open.
struct HeldEntry {
  LedgerEntry entry;
  UniqueFd lock;
};

class LedgerSession;

class LedgerFolder {
 public:
  // Finds the place of the ledger without creating it: `configured` ($TONY_LEDGER), else /var/lib/tony/ledger if that
  // may be written or made, else a private folder in `home`. kInvalid: the place is on a network file system, where
  // locks do not show which jobs live on this machine.
  static Result<LedgerFolder> Find(const std::filesystem::path& home, const std::string& configured);
  static Result<LedgerFolder> FindHere();                          // uses this process's $TONY_HOME, $TONY_LEDGER
  static Result<LedgerFolder> FindFor(const JobRecords& records);  // uses the submitter's environment

  const std::filesystem::path& path() const { return path_; }
  bool is_private() const { return !why_private_.empty(); }
  // Returns one line for the submitter if the ledger is private. The line names the folder, the reason, and the remedy.
  std::string Announcement() const;

  // Makes the folder if it does not exist. kCannotWrite: the folder cannot be made, or it exists and is not writable.
  Status Make() const;

  // Returns the current entries; a folder that does not exist is an empty ledger. Used by commands: waits up to
  // kLockPatience for the lock, and then reads without the lock.
  Result<LedgerView> Read() const;
  // Returns the resources that machine.json lets jobs use now. Without a usable machine.json, returns the detected
  // machine.
  Machine ReadMachine() const;
  // Returns true if the entry's file still has this name and is still locked. All waiting jobs call this often, so the
  // call is cheap and needs no lock of the ledger.
  bool IsUnchanged(const LedgerEntry& entry) const;

  // Takes the ledger's lock, which is held until the session is destroyed. Keep the session short. kUnavailable:
  // another process holds the lock; kNotFound: the folder does not exist.
  Result<LedgerSession> Lock() const;
  // Returns a session without the lock, for a process that has waited kLockPatience for it.
  Result<LedgerSession> GoWithoutLock() const;
  // Removes the entry. The removal frees the resources that its job holds, and wakes the waiting jobs.
  void Remove(HeldEntry held) const;

 private:
  LedgerFolder(std::filesystem::path path, std::string why_private)
      : path_(std::move(path)), why_private_(std::move(why_private)) {}

  std::filesystem::path path_;
  std::string why_private_;
};

// Returns kInvalid if a ledger cannot be on this file system. The message has the path, the type of file system and the
// variable to set.
Status CheckLedgerPlace(const std::filesystem::path& path, const FileSystem& file_system);

// A short period in which one process reads and changes the ledger. LedgerFolder::Lock() begins a session that holds
// the ledger's lock. GoWithoutLock() begins a session without the lock, for a process that has waited too long for it.
class LedgerSession {
 public:
  // Returns the current entries. A session that holds the ledger's lock also removes the entries of dead keepers, which
  // no process has locked.
  Result<LedgerView> Read();
  // Removes all other names of the entry's file. Other users may have made them if fs.protected_hardlinks is 0.
  void RemoveOtherNames(const HeldEntry& held) const;
  // Adds the entry under its number, locked by this process. After kCannotWrite no file is left behind.
  Result<HeldEntry> Add(const LedgerEntry& entry);
  // Adopts the entry that an earlier keeper of the job left; nullopt if there was no such entry. An entry without a
  // lock keeps its number and its GPU numbers. If it was admitted, it is queued again.
  Result<std::optional<HeldEntry>> TakeOver(const JobId& job);
  // Moves the entry into the queue, out of it, or to another queue position.
  Status Move(HeldEntry& held, Place place, int64_t number);
  // Defers another job of the same user. The keeper of that job notices when it reads the ledger.
  Status MoveAside(const LedgerEntry& entry);
  // Renames the entry, so that all processes see it as admitted. The caller confirms the admission with
  // ConfirmAdmission(), except if the job already has containers.
  Status Admit(HeldEntry& held, const std::vector<int>& gpus, Instant now);
  // Reads the ledger again after Admit(), because another process may have admitted a job at the same time. Returns
  // true if all admitted jobs fit. Otherwise queues `held` again under its number, and returns false.
  Result<bool> ConfirmAdmission(HeldEntry& held);

 private:
  friend class LedgerFolder;
  LedgerSession(LedgerFolder folder, UniqueFd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  Status Rename(LedgerEntry& entry, Place place, int64_t number);
  Status Withdraw(HeldEntry& held);
  Result<HeldEntry> Make(const LedgerEntry& entry);
  Result<std::optional<HeldEntry>> TakeOverFile(const std::string& name);

  LedgerFolder folder_;
  UniqueFd lock_;  // invalid: without the lock
};

// The lock of a ledger's folder and its holders. The lock is a flock on the folder itself, so every user who can read
// the folder may take it. The lock prevents conflicts between processes that change the ledger; correctness does not
// depend on it.

// Returns the processes that took the lock, except this one. A process that ended while one of its children kept the
// lock is not visible; neither is a process of another container.
std::vector<int64_t> LockHolders(const std::filesystem::path& folder);
// Returns the holders in `locks`, the text of /proc/locks. `device` and `inode` identify the folder.
std::vector<int64_t> LockHoldersIn(const std::string& locks, uint64_t device, uint64_t inode);

// Describes the holders of the lock for people, e.g. "process 1234 (python3) of mallory". If no holder is visible, the
// text says that instead.
std::string DescribeHolders(const std::vector<int64_t>& holders);

}  // namespace tony
