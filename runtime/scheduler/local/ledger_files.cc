#include "runtime/scheduler/local/ledger_files.h"

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
#include "runtime/store/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view kWaiting = ".waiting";
constexpr std::string_view kRunning = ".running";
static_assert(kWaiting.size() == kRunning.size());
constexpr std::string_view kUnfinished = ".new-";
constexpr int64_t kLongestEntry = 64 << 10;
constexpr size_t kDigits = 10;  // ls shows the order
constexpr int64_t kLastNumber =
    999'999'999'999'999;                // so that whoever names a file cannot make the next number overflow
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

std::string NameOf(const LedgerEntry& entry) {
  std::string number = StrCat(entry.number);
  number.insert(0, kDigits - std::min(kDigits, number.size()), '0');
  return StrCat(number, ".", entry.job.value, entry.admitted ? kRunning : kWaiting);
}

std::optional<EntryName> ParseEntryName(const std::string& name) {
  EntryName parsed;
  std::string_view rest = name;
  if (rest.ends_with(kRunning)) {
    parsed.admitted = true;
  } else if (!rest.ends_with(kWaiting)) {
    return std::nullopt;
  }
  rest.remove_suffix(kWaiting.size());
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

std::string EntryJson(const LedgerEntry& entry) {
  json::array gpus;
  for (const int gpu : entry.gpus) gpus.emplace_back(gpu);
  const json::object object = {{"schema", 1},
                               {"job", entry.job.value},
                               {"memory_mb", entry.ask.memory_mb},
                               {"vcores", entry.ask.vcores},
                               {"gpus", entry.ask.gpus},
                               {"since", ToMillis(entry.since)},
                               {"held_gpus", gpus}};
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
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Status TakeHold(int fd) {
  for (int64_t at = 0; at < kMostHolders; ++at) {
    struct flock lock = Byte(at, 1);
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return Ok();
    if (errno != EAGAIN && errno != EACCES) break;
  }
  return Error{ErrorCode::kCannotWrite, StrCat("lock an entry of the ledger: ", ErrnoText(errno))};
}

Result<std::optional<OpenEntry>> OpenFile(const fs::path& path, int flags) {
  // No link is followed, and no FIFO waited for.
  UniqueFd fd(open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::optional<OpenEntry>();
  struct stat status = {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return FileError(ErrorCode::kInvalid, "open", path, errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kInvalid, StrCat(path.string(), " is not a file")};
  return std::optional<OpenEntry>({std::move(fd), status.st_uid, status.st_size});
}

Result<std::string> ReadSmall(const OpenEntry& file) {
  if (file.size > kLongestEntry)
    return Error{ErrorCode::kInvalid, StrCat("it has ", file.size, " bytes, at most ", kLongestEntry, " are expected")};
  std::string content(static_cast<size_t>(file.size), '\0');
  const ssize_t size = pread(file.fd.get(), content.data(), content.size(), 0);
  if (size < 0) return Error{ErrorCode::kInvalid, StrCat("read: ", ErrnoText(errno))};
  content.resize(static_cast<size_t>(size));
  return content;
}

Result<LedgerEntry> EntryFrom(const EntryName& name, const OpenEntry& file) {
  TRY_ASSIGN(const std::string content, ReadSmall(file));
  TRY_ASSIGN(const json::value value, ParseJson(content, "entry"));
  JsonFields fields(value);
  LedgerEntry entry{.number = name.number, .job = name.job, .user = file.owner, .admitted = name.admitted};
  entry.ask = {.memory_mb = fields.Int("memory_mb", 0, kMostAsked),
               .vcores = fields.Int("vcores", 0, kMostAsked),
               .gpus = fields.Int("gpus", 0, kMostAsked)};
  entry.since = FromMillis(fields.Int("since", 0, int64_t{1} << 52));
  for (const int64_t gpu : fields.Ints("held_gpus", 0, 1'000'000)) entry.gpus.push_back(static_cast<int>(gpu));
  TRY(fields.status());
  return entry;
}

}  // namespace tony
