#include "runtime/ledger/ledger_look.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <tuple>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_files.h"
#include "runtime/ledger/ledger_witness.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMachine = "machine.json";
constexpr int64_t kMostOfOneUser = 4096;  // more keepers than a machine runs; twenty milliseconds' work
constexpr int64_t kMostWarnings = 10;     // of one user: whoever makes thousands of files hides nobody else
constexpr int kReads = 3;                 // its owner may be writing it

std::string LeftOut(const fs::path& path, const std::string& why) {
  return StrCat("the ledger's ", path.string(), " is left out: ", why);
}

class Look {
 public:
  Look(fs::path folder, bool remove_dead) : folder_(std::move(folder)), remove_dead_(remove_dead) {}

  Result<LedgerView> Take() {
    TRY_ASSIGN(const std::vector<std::string> names, NamesIn(folder_));
    TRY(TakeMachine());
    std::vector<EntryName> entries;
    for (const std::string& name : names) {
      if (const auto parsed = ParseEntryName(name)) {
        entries.push_back(*parsed);
      } else if (remove_dead_ && IsUnfinished(name)) {
        RemoveUnfinished(name);
      }
    }
    // What has been given away first: where somebody has too many entries, that is what must be seen.
    std::ranges::sort(entries, [](const EntryName& a, const EntryName& b) {
      return std::tie(b.place, a.number, a.job) < std::tie(a.place, b.number, b.job);
    });
    for (const EntryName& entry : entries) TRY(TakeEntry(entry));
    return View();
  }

 private:
  Status TakeMachine() {
    auto stated = ReadStatedMachine(folder_, detected_);
    machine_ = detected_;
    if (!stated.ok()) return LeaveOut(folder_ / kMachine, stated.error());
    machine_ = std::move(stated->machine);
    for (const std::string& warning : stated->warnings) Warn(StrCat((folder_ / kMachine).string(), " ", warning));
    return Ok();
  }

  Status TakeEntry(const EntryName& name) {
    const fs::path path = folder_ / NameOf(name);
    struct stat status = {};
    if (lstat(path.c_str(), &status) != 0) {
      if (errno != ENOENT) Warn(LeftOut(path, ErrnoText(errno)));
      return Ok();
    }
    if (!S_ISREG(status.st_mode)) {
      WarnOf(status.st_uid, LeftOut(path, "it is not a file"));
      return Ok();
    }
    const bool is_strangers = status.st_uid != 0 && status.st_uid != geteuid();
    if (is_strangers && ++of_user_[status.st_uid] > kMostOfOneUser) return Ok();
    for (int reads = 1;; ++reads) {
      const Status taken = ReadEntry(path, name);
      if (taken.ok()) return Ok();
      if (reads == kReads) return LeaveOut(path, taken.error(), status.st_uid);
    }
  }

  // What is wrong with a file is its owner's to mend, and others go on without it. A shortage of ours says nothing of
  // the file: without it we would take what somebody has.
  Status LeaveOut(const fs::path& path, const Error& error, std::optional<int64_t> user = std::nullopt) {
    if (error.code == ErrorCode::kUnavailable) return error;
    if (user) {
      WarnOf(*user, LeftOut(path, error.message));
    } else {
      Warn(LeftOut(path, error.message));
    }
    return Ok();
  }

  Status ReadEntry(const fs::path& path, const EntryName& name) {
    TRY_ASSIGN(const auto file, OpenFile(path, O_RDONLY));
    if (!file || !IsHeld(file->fd.get())) {
      if (file && remove_dead_ && MayRemove(file->owner)) unlink(path.c_str());
      ++dead_;
      return Ok();
    }
    auto sighting = SightingOf(name, *file);
    if (!sighting.ok()) return Error{ErrorCode::kInvalid, sighting.error().message};
    if (IsPlausible(*sighting, machine_, detected_)) sighting->witness = witnesses_.Of(sighting->entry);
    sightings_.push_back(*std::move(sighting));
    return Ok();
  }

  void RemoveUnfinished(const std::string& name) const {
    const auto file = OpenFile(folder_ / name, O_RDONLY);
    if (file.ok() && *file && MayRemove((*file)->owner) && !IsHeld((*file)->fd.get())) unlink((folder_ / name).c_str());
  }

  // Of the others' the folder keeps us; to try costs time where there are thousands.
  static bool MayRemove(uid_t owner) { return geteuid() == 0 || owner == geteuid(); }

  void Warn(std::string warning) { warnings_.push_back(std::move(warning)); }

  void WarnOf(int64_t user, std::string warning) {
    if (++warned_of_[user] > kMostWarnings) return;
    Warn(StrCat(warning, " (a file of ", UserName(user), ")"));
  }

  LedgerView View() {
    Belief belief = Judge(std::move(sightings_), machine_, detected_);
    for (const Doubt& doubt : belief.doubts)
      WarnOf(doubt.user, StrCat("the ledger's ", (folder_ / doubt.name).string(), " is not believed: ", doubt.why));
    for (const auto& [user, count] : of_user_) {
      if (count > kMostOfOneUser)
        Warn(StrCat(UserName(user), " has ", count, " entries in the ledger; ", kMostOfOneUser, " are looked at"));
    }
    for (const auto& [user, count] : warned_of_) {
      if (count > kMostWarnings)
        Warn(StrCat(UserName(user), " has ", count - kMostWarnings, " more such files in ", folder_.string()));
    }
    return {.ledger = Ledger(std::move(machine_), std::move(belief.entries)),
            .dead = dead_,
            .warnings = std::move(warnings_),
            .doubts = std::move(belief.doubts),
            .lock_holders = {}};
  }

  const fs::path folder_;
  const bool remove_dead_;
  const Machine detected_ = DetectMachine();
  Machine machine_;
  Witnesses witnesses_;
  std::map<uid_t, int64_t> of_user_;
  std::map<int64_t, int64_t> warned_of_;
  std::vector<Sighting> sightings_;
  std::vector<std::string> warnings_;
  int dead_ = 0;
};

}  // namespace

// A file in a folder that all may write speaks for the machine only if its owner, or root, made it.
Result<StatedMachine> ReadStatedMachine(const fs::path& folder, const Machine& detected) {
  TRY_ASSIGN(const auto file, OpenFile(folder / kMachine, O_RDONLY));
  struct stat status = {};
  if (!file) return StatedMachine{detected, {}};
  if (file->owner != 0 && (stat(folder.c_str(), &status) != 0 || file->owner != status.st_uid))
    return Error{ErrorCode::kInvalid, "it belongs neither to root nor to the owner of the folder"};
  const auto content = ReadSmall(*file);
  if (!content.ok() && content.error().code == ErrorCode::kUnavailable)
    return Annotate(content.error(), (folder / kMachine).string());
  TRY(content);
  return MachineFromJson(*content, detected);
}

Result<LedgerView> LookAtLedger(const fs::path& folder, bool remove_dead) { return Look(folder, remove_dead).Take(); }

}  // namespace tony
