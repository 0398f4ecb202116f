// The machine's ledger on disk: one file per job, in a folder that all users of the machine may share.
//
//   machine.json                         what jobs may have of the machine, where its owner has said so
//   0000000012.local-...-4f2a9c.waiting   an entry, JSON; ".running" since it was admitted, by rename
//   .new-<random>                         an entry in the making
//
// An entry lives as long as anybody holds a lock on a byte of it: each keeper of the job one of its own, with copies in
// its executors. So whatever kills them, the entry ends with the last of them, and nobody has to clean up: a file
// without a lock counts for nothing and is removed by the next one who may. Files are made, renamed and removed as dead
// only under the ledger's lock, a flock on the folder itself.
//
// Among users it is an agreement, not a fence: a folder that root made is sticky, so nobody removes what is another's,
// and the files can be read by all; the user of an entry is the owner of its file. Files that are not what they should
// be are named in a warning and otherwise left out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/scheduler/local/ledger.h"
#include "runtime/store/file_system.h"
#include "runtime/store/job_folder.h"

namespace tony {

struct LedgerView {
  Ledger ledger;
  int dead = 0;                       // entries that nobody holds; left out
  std::vector<std::string> warnings;  // one for each file that is not what it should be
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
  static Result<LedgerFolder> FindHere();                        // of this process: its $TONY_HOME and $TONY_LEDGER
  static Result<LedgerFolder> FindFor(const JobFolder& folder);  // of the job's submitter: the same for all its keepers

  const std::filesystem::path& path() const { return path_; }
  bool is_private() const { return !why_private_.empty(); }
  // One line for who submits to a private ledger: which, why, and what to do.
  std::string Announcement() const;

  Status Make() const;  // harmless if it is there; kCannotWrite, also where it may not be written

  // As it is now; a folder that is not there is an empty ledger. For commands: may wait a second for the lock, and goes
  // without it then.
  Result<LedgerView> Read() const;
  // Whether a living job that waits has a lower number. Without the lock; cheap, as all who wait ask it often.
  bool SomebodyWaitsBefore(int64_t number) const;

  // Takes the ledger's lock, held until the session is destroyed: keep it short. kUnavailable: another process has it;
  // kNotFound: there is no such folder.
  Result<LedgerSession> Lock() const;
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

// What is done under the ledger's lock.
class LedgerSession {
 public:
  Result<LedgerView> Read();  // and removes what nobody holds
  // Adds the entry under its number, locked by us. kCannotWrite leaves nothing behind.
  Result<HeldEntry> Add(const LedgerEntry& entry);
  // The entry of an earlier keeper of ours; nothing: there is none. A dead one keeps its number and its GPUs, but
  // waits.
  Result<std::optional<HeldEntry>> TakeOver(const JobId& job);
  Status Admit(HeldEntry& held, const std::vector<int>& gpus);

 private:
  friend class LedgerFolder;
  LedgerSession(LedgerFolder folder, UniqueFd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  Status Rename(LedgerEntry& entry, bool admitted);

  LedgerFolder folder_;
  UniqueFd lock_;
};

}  // namespace tony
