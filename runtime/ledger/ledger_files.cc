#include "runtime/ledger/ledger_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/ledger/process_check.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"

namespace tony {

namespace {

namespace fs = std::filesystem;

// The endings of file names, by state. Keepers of earlier releases know only the first two endings and ignore other
// files.
constexpr std::pair<Place, std::string_view> kEndings[] = {
    {Place::kQueued, ".waiting"}, {Place::kAdmitted, ".running"}, {Place::kDeferred, ".aside"}};
constexpr std::string_view kUnfinished = ".new-";
constexpr int64_t kLongestEntry = 64 << 10;
// Numbers are padded to this many digits, so that ls shows the queue order.
constexpr size_t kDigits = 10;
// The highest number that the name of an entry may contain. A file with a higher number is not an entry.
constexpr int64_t kLastNumber = 999'999'999'999'999;
constexpr int64_t kLastMillisecond = int64_t{1} << 52;
constexpr int64_t kMostPid = 1 << 22;  // the kernel's limit
// The number of bytes that can be locked. Each keeper of a job locks one byte, and a job never has that many keepers.
constexpr int64_t kMostHolders = 4096;

bool IsIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

struct flock Byte(int64_t at, int64_t length) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = length;
  return lock;
}

}  // namespace

std::string NameOf(const EntryName& name) {
  std::string number = StrCat(name.number);
  number.insert(0, kDigits - std::min(kDigits, number.size()), '0');
  const auto* const ending = std::ranges::find(kEndings, name.place, [](const auto& e) { return e.first; });
  return StrCat(number, ".", name.job.value, ending->second);
}

std::string NameOf(const LedgerEntry& entry) { return NameOf(EntryName{entry.number, entry.job, entry.place}); }

std::optional<EntryName> ParseEntryName(const std::string& name) {
  EntryName parsed;
  std::string_view rest = name;
  const auto* const ending = std::ranges::find_if(kEndings, [&](const auto& e) { return rest.ends_with(e.second); });
  if (ending == std::end(kEndings)) return std::nullopt;
  parsed.place = ending->first;
  rest.remove_suffix(ending->second.size());
  const size_t dot = rest.find('.');
  if (dot == std::string_view::npos || dot < kDigits || rest[0] < '0' || rest[0] > '9') return std::nullopt;
  const auto number = ParseInt(rest.substr(0, dot));
  rest.remove_prefix(dot + 1);
  if (!number || *number < 0 || *number > kLastNumber) return std::nullopt;
  if (rest.empty() || !std::ranges::all_of(rest, IsIdCharacter)) return std::nullopt;
  parsed.number = *number;
  parsed.job = {std::string(rest)};
  return parsed;
}

std::string UnfinishedName() { return StrCat(kUnfinished, RandomHex(8)); }

// The content of an entry's file. Number, user and place come from the file's name and owner. Keepers of earlier
// releases did not write the fields with Later().
void Fields(auto& io, Is<LedgerEntry> auto& entry) {
  constexpr Between kAsked{0, kMostAsked}, kTime{0, kLastMillisecond}, kGpu{0, 1'000'000};
  io.Derived("schema", 1);
  io.Later("job", entry.job);
  io.Field("memory_mb", entry.ask.memory_mb, kAsked);
  io.Field("vcores", entry.ask.vcores, kAsked);
  io.Field("gpus", entry.ask.gpus, kAsked);
  io.Field("since", entry.since, kTime);
  io.Field("held_gpus", entry.gpus, kGpu);
  io.Later("priority", entry.priority, Between{-kMostJobPriority, kMostJobPriority});
  io.Later("admitted_at", entry.admitted_at, kTime);
  io.Later("keeper", entry.keeper);
  io.IfSet("gpus_among", entry.ask.gpus_among, kGpu);
}

void Fields(auto& io, Is<LedgerKeeper> auto& keeper) {
  io.Field("pid", keeper.pid, Between{0, kMostPid});
  io.Field("start", keeper.start);
  io.Field("namespace", keeper.namespace_);
}

std::string EntryJson(const LedgerEntry& entry) { return WriteJson(entry) + "\n"; }

Result<std::vector<std::string>> NamesIn(const fs::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(opendir(folder.c_str()), closedir);
  if (!handle)
    return FileError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kCannotWrite, "open", folder, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(handle.get())) names.emplace_back(entry->d_name);
  if (errno != 0) return FileError(ErrorCode::kUnavailable, "read", folder, errno);
  return names;
}

bool IsHeld(int fd) {
  struct flock lock = Byte(0, 0);  // all bytes
  lock.l_type = F_RDLCK;           // conflicts with write locks only
  return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

Status LockFreeByte(int fd, const fs::path& path) {
  for (int64_t at = 0; at < kMostHolders; ++at) {
    struct flock lock = Byte(at, 1);
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return Ok();
    if (errno != EAGAIN && errno != EACCES) return FileError(ErrorCode::kCannotWrite, "lock", path, errno);
  }
  return UnavailableError("cannot lock ", path.string(), ": other processes hold locks on the whole file");
}

Result<std::optional<OpenEntry>> OpenFile(const fs::path& path, int flags) {
  // The flags keep open() from following a link and from blocking on a FIFO.
  UniqueFd fd(open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::optional<OpenEntry>();
  struct stat status = {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return FileError(ErrorCode::kInvalid, "open", path, errno);
  if (!S_ISREG(status.st_mode)) return InvalidError(path.string(), " is not a file");
  return std::optional<OpenEntry>(
      {std::move(fd), status.st_uid, status.st_mode, status.st_ino, status.st_size, status.st_nlink});
}

Result<std::string> ReadSmall(const OpenEntry& file) {
  if (file.size > kLongestEntry)
    return InvalidError("the file has ", file.size, " bytes, expected at most ", kLongestEntry);
  std::string content(static_cast<size_t>(file.size), '\0');
  const ssize_t size = pread(file.fd.get(), content.data(), content.size(), 0);
  if (size < 0) return UnavailableError("read: ", ErrnoText(errno));
  content.resize(static_cast<size_t>(size));
  return content;
}

Result<UncheckedEntry> SightingOf(const EntryName& name, const OpenEntry& file) {
  TRY_ASSIGN(const std::string content, ReadSmall(file));
  UncheckedEntry sighting{.name = NameOf(name), .file = file.inode, .writable_by_others = (file.mode & 022) != 0};
  LedgerEntry& entry = sighting.entry;
  entry = {.number = name.number, .user = file.owner, .place = name.place};
  TRY(ReadJsonObject(content, "entry", [&](JsonReader& io) {
    Fields(io, entry);
    sighting.content_never_admitted = file.names > 1 && io.Has("admitted_at") && entry.admitted_at == Instant();
  }));
  sighting.content_job = std::exchange(entry.job, name.job).value;
  return sighting;
}

Result<LedgerEntry> EntryFrom(const EntryName& name, const OpenEntry& file) {
  TRY_ASSIGN(UncheckedEntry sighting, SightingOf(name, file));
  if (sighting.entry.admitted() && sighting.content_never_admitted)
    return InvalidError("the entry's file has a second name (a hard link), and the entry's job was never admitted");
  return std::move(sighting.entry);
}

namespace {

constexpr const char* kMachine = "machine.json";
// The greatest number of entries that are read per user, except for root and this user. No user runs that many keepers
// on a machine, and the entries are read within twenty milliseconds.
constexpr int64_t kMostOfOneUser = 4096;
// The greatest number of warnings per user. The limit keeps thousands of files of one user from hiding the warnings
// about files of other users.
constexpr int64_t kMostWarnings = 10;
// The number of attempts to read a malformed file, which its owner may be writing at that moment.
constexpr int kReads = 3;

std::string LeftOut(const fs::path& path, const std::string& why) {
  return StrCat("the ledger file ", path.string(), " is ignored: ", why);
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
      } else if (remove_dead_ && name.starts_with(kUnfinished)) {
        RemoveUnfinished(name);
      }
    }
    // Admitted entries come first, so that they are read even if the user has more entries than the limit.
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
      WarnOf(status.st_uid, LeftOut(path, "the path is not a file"));
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

  // A malformed file is a fault of its owner, so it is skipped with a warning. A shortage in this process
  // (kUnavailable) proves nothing about the file. If the file were skipped then, its resources could be given away
  // twice, so the whole read fails.
  Status LeaveOut(const fs::path& path, const Error& error, std::optional<int64_t> user = std::nullopt) {
    if (error.code == ErrorCode::kUnavailable) return error;
    user ? WarnOf(*user, LeftOut(path, error.message)) : Warn(LeftOut(path, error.message));
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
    if (!sighting.ok()) return InvalidError(sighting.error().message);
    if (IsPlausible(*sighting, machine_, detected_)) sighting->witness = witnesses_.Of(sighting->entry);
    sightings_.push_back(*std::move(sighting));
    return Ok();
  }

  void RemoveUnfinished(const std::string& name) const {
    const auto file = OpenFile(folder_ / name, O_RDONLY);
    if (file.ok() && *file && MayRemove((*file)->owner) && !IsHeld((*file)->fd.get())) unlink((folder_ / name).c_str());
  }

  // Returns true if this process may remove files of `owner`. In the sticky folder only root and the owner may, and
  // thousands of failing attempts would cost time.
  static bool MayRemove(uid_t owner) { return geteuid() == 0 || owner == geteuid(); }

  void Warn(std::string warning) { warnings_.push_back(std::move(warning)); }

  void WarnOf(int64_t user, std::string warning) {
    if (++warned_of_[user] > kMostWarnings) return;
    Warn(StrCat(warning, " (a file of ", UserName(user), ")"));
  }

  LedgerView View() {
    ValidatedEntries belief = Judge(std::move(sightings_), machine_, detected_);
    for (const Doubt& doubt : belief.doubts)
      WarnOf(doubt.user, StrCat("the ledger file ", (folder_ / doubt.name).string(), " is rejected: ", doubt.why));
    for (const auto& [user, count] : of_user_) {
      if (count > kMostOfOneUser)
        Warn(StrCat(UserName(user), " has ", count, " entries in the ledger; only ", kMostOfOneUser, " are read"));
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
  ProcessChecker witnesses_;
  std::map<uid_t, int64_t> of_user_;
  std::map<int64_t, int64_t> warned_of_;
  std::vector<UncheckedEntry> sightings_;
  std::vector<std::string> warnings_;
  int dead_ = 0;
};

}  // namespace

// All users may write to the folder, so machine.json is used only if root or the owner of the folder made it.
Result<StatedMachine> ReadStatedMachine(const fs::path& folder, const Machine& detected) {
  TRY_ASSIGN(const auto file, OpenFile(folder / kMachine, O_RDONLY));
  struct stat status = {};
  if (!file) return StatedMachine{detected, {}};
  if (file->owner != 0 && (stat(folder.c_str(), &status) != 0 || file->owner != status.st_uid))
    return InvalidError("the file belongs neither to root nor to the owner of the folder");
  const auto content = ReadSmall(*file);
  if (!content.ok() && content.error().code == ErrorCode::kUnavailable)
    return Annotate(content.error(), (folder / kMachine).string());
  TRY(content);
  return MachineFromJson(*content, detected);
}

Result<LedgerView> ReadLedgerFolder(const fs::path& folder, bool remove_dead) {
  return Look(folder, remove_dead).Take();
}

}  // namespace tony
