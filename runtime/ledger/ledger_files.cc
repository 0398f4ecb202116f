#include "runtime/ledger/ledger_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Keepers of earlier releases know the first two and look at no others.
constexpr std::pair<Place, std::string_view> kEndings[] = {
    {Place::kInLine, ".waiting"}, {Place::kAdmitted, ".running"}, {Place::kAside, ".aside"}};
constexpr std::string_view kUnfinished = ".new-";
constexpr int64_t kLongestEntry = 64 << 10;
constexpr size_t kDigits = 10;                        // ls shows the order
constexpr int64_t kLastNumber = 999'999'999'999'999;  // a longer name is no entry's
constexpr int64_t kLastMillisecond = int64_t{1} << 52;
constexpr int64_t kMostPid = 1 << 22;   // the kernel's own limit
constexpr int64_t kMostHolders = 4096;  // a keeper each; far more than AMs bring back

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

bool IsUnfinished(const std::string& name) { return name.starts_with(kUnfinished); }

std::string UnfinishedName() { return StrCat(kUnfinished, RandomHex(8)); }

static json::array Numbers(const std::vector<int>& numbers) {
  json::array array;
  for (const int number : numbers) array.emplace_back(number);
  return array;
}

std::string EntryJson(const LedgerEntry& entry) {
  json::object object = {
      {"schema", 1},
      {"job", entry.job.value},
      {"memory_mb", entry.ask.memory_mb},
      {"vcores", entry.ask.vcores},
      {"gpus", entry.ask.gpus},
      {"since", ToMillis(entry.since)},
      {"held_gpus", Numbers(entry.gpus)},
      {"priority", entry.priority},
      {"admitted_at", ToMillis(entry.admitted_at)},
      {"keeper", {{"pid", entry.keeper.pid}, {"start", entry.keeper.start}, {"namespace", entry.keeper.namespace_}}}};
  if (!entry.ask.gpus_among.empty()) object["gpus_among"] = Numbers(entry.ask.gpus_among);
  return SerializeJson(object) + "\n";
}

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
  struct flock lock = Byte(0, 0);  // all of it
  lock.l_type = F_RDLCK;           // so that only a lock for writing is in the way
  return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

Status TakeHold(int fd, const fs::path& path) {
  for (int64_t at = 0; at < kMostHolders; ++at) {
    struct flock lock = Byte(at, 1);
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return Ok();
    if (errno != EAGAIN && errno != EACCES) return FileError(ErrorCode::kCannotWrite, "lock", path, errno);
  }
  return Error{ErrorCode::kUnavailable, StrCat("lock ", path.string(), ": others hold locks on all of it")};
}

Result<std::optional<OpenEntry>> OpenFile(const fs::path& path, int flags) {
  // No link is followed, and no FIFO waited for.
  UniqueFd fd(open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::optional<OpenEntry>();
  struct stat status = {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return FileError(ErrorCode::kInvalid, "open", path, errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kInvalid, StrCat(path.string(), " is not a file")};
  return std::optional<OpenEntry>(
      {std::move(fd), status.st_uid, status.st_mode, status.st_ino, status.st_size, status.st_nlink});
}

Result<std::string> ReadSmall(const OpenEntry& file) {
  if (file.size > kLongestEntry)
    return Error{ErrorCode::kInvalid, StrCat("it has ", file.size, " bytes, at most ", kLongestEntry, " are expected")};
  std::string content(static_cast<size_t>(file.size), '\0');
  const ssize_t size = pread(file.fd.get(), content.data(), content.size(), 0);
  if (size < 0) return Error{ErrorCode::kUnavailable, StrCat("read: ", ErrnoText(errno))};
  content.resize(static_cast<size_t>(size));
  return content;
}

namespace {

void ReadKeeper(JsonFields& fields, LedgerEntry& entry) {
  if (fields.Has("priority")) entry.priority = fields.Int("priority", -kMostJobPriority, kMostJobPriority);
  if (fields.Has("admitted_at")) entry.admitted_at = FromMillis(fields.Int("admitted_at", 0, kLastMillisecond));
  if (!fields.Has("keeper")) return;
  JsonFields keeper = fields.Fields("keeper");
  entry.keeper = {
      .pid = keeper.Int("pid", 0, kMostPid), .start = keeper.String("start"), .namespace_ = keeper.String("namespace")};
  if (!keeper.status().ok()) fields.Fail("keeper", "a process");
}

}  // namespace

Result<Sighting> SightingOf(const EntryName& name, const OpenEntry& file) {
  TRY_ASSIGN(const std::string content, ReadSmall(file));
  TRY_ASSIGN(const json::value value, ParseJson(content, "entry"));
  JsonFields fields(value);
  Sighting sighting{.name = NameOf(name), .file = file.inode, .writable_by_others = (file.mode & 022) != 0};
  LedgerEntry& entry = sighting.entry;
  entry = {.number = name.number, .job = name.job, .user = file.owner, .place = name.place};
  entry.ask = {.memory_mb = fields.Int("memory_mb", 0, kMostAsked),
               .vcores = fields.Int("vcores", 0, kMostAsked),
               .gpus = fields.Int("gpus", 0, kMostAsked)};
  if (fields.Has("gpus_among"))
    for (const int64_t gpu : fields.Ints("gpus_among", 0, 1'000'000))
      entry.ask.gpus_among.push_back(static_cast<int>(gpu));
  entry.since = FromMillis(fields.Int("since", 0, kLastMillisecond));
  for (const int64_t gpu : fields.Ints("held_gpus", 0, 1'000'000)) entry.gpus.push_back(static_cast<int>(gpu));
  if (fields.Has("job")) sighting.says_job = fields.String("job");
  ReadKeeper(fields, entry);
  sighting.says_it_waits = file.names > 1 && fields.Has("admitted_at") && entry.admitted_at == Instant();
  TRY(fields.status());
  return sighting;
}

Result<LedgerEntry> EntryFrom(const EntryName& name, const OpenEntry& file) {
  TRY_ASSIGN(Sighting sighting, SightingOf(name, file));
  if (sighting.entry.admitted() && sighting.says_it_waits)
    return Error{ErrorCode::kInvalid, "its file has another name, and was never admitted"};
  return std::move(sighting.entry);
}

}  // namespace tony
