// The machine's ledger on disk: one file per job, in a folder that all users of the machine may share.
//
//   machine.json                         what jobs may have of the machine, where its owner has said so
//   0000000012.local-...-4f2a9c.waiting   an entry, JSON, of a job in line; ".running" since it was admitted, ".aside"
//                                         while it does not stand in the line, each by rename
//   .new-<random>                         an entry in the making
//
// An entry lives as long as anybody holds a lock on a byte of it: each keeper of the job one of its own, with copies in
// its executors. So whatever kills them, the entry ends with the last of them, and nobody has to clean up: a file
// without a lock counts for nothing and is removed by the next one who may.
//
// Nobody needs anything that another user holds. Changes are made under the ledger's lock, a flock on the folder, so
// that few meet; but who does not get it within kLockPatience goes on without it. What keeps two from getting the same
// is not the lock: each admits itself by a rename that all others see, reads everything again, and withdraws if there
// is not enough for all (LedgerSession::Admit). Of two who do that at once, the later one's second look sees the other.
//
// Among users it is an agreement, not a fence: a folder that root made is sticky, so nobody removes what is another's,
// and the files can be read by all; the user of an entry is the owner of its file. What is not believed, and why,
// ledger.h says. Files that are not what they should be are named in a warning and otherwise left out.
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

// How long somebody may hold the folder's lock before others go on without it: a thousand times what it takes.
inline constexpr Duration kLockPatience{1000};

struct LedgerView {
  Ledger ledger;
  int dead = 0;                       // entries that nobody holds; left out
  std::vector<std::string> warnings;  // one for each file that is not what it should be
  std::vector<Doubt> doubts;          // entries that are not believed; named in the warnings, too
  std::vector<int64_t> lock_holders;  // processes that kept the lock from us for all our patience; Read() of the folder
  bool went_without_lock = false;
};

// An entry of ours: it lives as long as the descriptor, or a copy of it in another process.
struct HeldEntry {
  LedgerEntry entry;
  UniqueFd lock;
};

class LedgerSession;

class LedgerFolder {
 public:
  // Where the ledger is: `configured` ($TONY_LEDGER), else /var/lib/tony/ledger where that may be written or made, else
  // a private one in `home`. kInvalid: on a network file system, where locks do not tell who lives here. Makes nothing.
  static Result<LedgerFolder> Find(const std::filesystem::path& home, const std::string& configured);
  static Result<LedgerFolder> FindHere();  // of this process: its $TONY_HOME and $TONY_LEDGER
  static Result<LedgerFolder> FindFor(
      const JobRecords& records);  // of the job's submitter: the same for all its keepers

  const std::filesystem::path& path() const { return path_; }
  bool is_private() const { return !why_private_.empty(); }
  // One line for who submits to a private ledger: which, why, and what to do.
  std::string Announcement() const;

  Status Make() const;  // harmless if it is there; kCannotWrite, also where it may not be written

  // As it is now; a folder that is not there is an empty ledger. For commands: may wait kLockPatience for the lock, and
  // goes without it then.
  Result<LedgerView> Read() const;
  // What the machine's owner lets jobs have now.
  Machine ReadMachine() const;
  // Whether the entry is still there, as it is, and held. Without the lock; cheap, as all who wait ask it often.
  bool IsStill(const LedgerEntry& entry) const;

  // Takes the ledger's lock, held until the session is destroyed: keep it short. kUnavailable: another process has it;
  // kNotFound: there is no such folder.
  Result<LedgerSession> Lock() const;
  // A session without the lock, of who has been waiting for it for kLockPatience.
  Result<LedgerSession> GoWithoutLock() const;
  // Its job has what it had no longer, and those who wait are woken.
  void Remove(HeldEntry held) const;

 private:
  LedgerFolder(std::filesystem::path path, std::string why_private)
      : path_(std::move(path)), why_private_(std::move(why_private)) {}

  std::filesystem::path path_;
  std::string why_private_;
};

// kInvalid where the file system is no place for a ledger: path, type, and what to set.
Status CheckLedgerPlace(const std::filesystem::path& path, const FileSystem& file_system);

// One look at the ledger and what follows from it, under the ledger's lock or without it.
class LedgerSession {
 public:
  Result<LedgerView> Read();  // and removes what nobody holds, under the lock
  // Other users may have made names for its file where fs.protected_hardlinks is 0. Those names are removed.
  void RemoveOtherNames(const HeldEntry& held) const;
  // Adds the entry under its number, locked by us. kCannotWrite leaves nothing behind.
  Result<HeldEntry> Add(const LedgerEntry& entry);
  // The entry of an earlier keeper of ours; nothing: there is none. A dead one keeps its number and its GPUs, but
  // waits.
  Result<std::optional<HeldEntry>> TakeOver(const JobId& job);
  // To another place in line or out of it.
  Status Move(HeldEntry& held, Place place, int64_t number);
  // An entry of another job of the same user, whose keeper finds it where it is then.
  Status MoveAside(const LedgerEntry& entry);
  // Makes it admitted for all to see; whether that stands is for StandsAdmitted() to say, or for who has containers.
  Status Admit(HeldEntry& held, const std::vector<int>& gpus, Instant now);
  // Reads everything again; false: somebody else was faster, and it waits in its place again.
  Result<bool> StandsAdmitted(HeldEntry& held);

 private:
  friend class LedgerFolder;
  LedgerSession(LedgerFolder folder, UniqueFd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  Status Rename(LedgerEntry& entry, Place place, int64_t number);
  Status Withdraw(HeldEntry& held);
  Result<HeldEntry> Make(const LedgerEntry& entry);
  Result<std::optional<HeldEntry>> TakeOverFile(const std::string& name);

  LedgerFolder folder_;
  UniqueFd lock_;  // invalid: without
};

// The lock of a ledger's folder, and who holds it: a flock on the folder itself, which any user may take who can read
// the folder. It keeps those who change the ledger from getting into each other's way; nobody's safety rests on it.

// Processes that took the lock, without us. One that ended while a child of it holds the lock is not to be seen, nor is
// one of another container.
std::vector<int64_t> LockHolders(const std::filesystem::path& folder);
// The same from the text of /proc/locks. `device` and `inode`: of the folder.
std::vector<int64_t> LockHoldersIn(const std::string& locks, uint64_t device, uint64_t inode);

// "process 1234 (python3) of mallory", or that it cannot be seen.
std::string DescribeHolders(const std::vector<int64_t>& holders);

}  // namespace tony
