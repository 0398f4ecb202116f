#include "runtime/store/checkpoints.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/base/utf8.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

constexpr std::array<std::string_view, 5> kEndingsWithDigit = {".h5", ".hdf5", ".pt2", ".bz2", ".lz4"};
constexpr std::array<std::string_view, 2> kWordsOfUnfinished = {"tmp", "temp"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetterOrDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z'); }

// "100.orbax-checkpoint-tmp-17" and "x.tmp.npz" have such a word, "template" has not.
bool SaysUnfinished(std::string_view name) {
  std::string word;
  for (const char c : ToLower(name) + ".") {
    if (IsLetterOrDigit(c)) {
      word.push_back(c);
      continue;
    }
    if (std::ranges::find(kWordsOfUnfinished, word) != kWordsOfUnfinished.end()) return true;
    word.clear();
  }
  return false;
}

struct Named {
  int64_t step = -1;
  std::string name;
};

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// Null if there is none.
Result<Directory> OpenDirectory(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Directory directory(fd.valid() ? fdopendir(fd.get()) : nullptr, closedir);
  if (directory) {
    fd.Release();
  } else if (errno != ENOENT) {
    const auto code = errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kUnavailable;
    return FileError(code, "open", path, errno);
  }
  return directory;
}

Result<std::vector<Named>> ReadNames(DIR* directory, const CheckpointSpec& spec) {
  std::vector<Named> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory);
    if (!entry && errno != 0) return FileError(ErrorCode::kUnavailable, "read", spec.directory, errno);
    if (!entry) return names;
    const bool may_be = entry->d_type == DT_REG || entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    std::string name = entry->d_name;
    if (may_be && IsCheckpointName(name, spec.pattern)) names.push_back({StepOf(name), std::move(name)});
  }
}

// Nothing for what is neither file nor folder, or has gone meanwhile: programs remove old checkpoints.
std::optional<Checkpoint> Look(int directory, const std::string& path, const Named& named) {
  struct stat found {};
  if (fstatat(directory, named.name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) return std::nullopt;
  const auto modified = std::chrono::seconds(found.st_mtim.tv_sec) + std::chrono::nanoseconds(found.st_mtim.tv_nsec);
  return Checkpoint{StrCat(path, path.ends_with('/') ? "" : "/", named.name), named.step,
                    Instant(std::chrono::duration_cast<Duration>(modified))};
}

}  // namespace

int64_t StepOf(std::string_view name) {
  for (const auto ending : kEndingsWithDigit) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  while (!name.empty() && !IsDigit(name.back())) name.remove_suffix(1);
  size_t start = name.size();
  while (start > 0 && IsDigit(name[start - 1])) --start;
  return ParseInt(name.substr(start)).value_or(-1);
}

bool IsCheckpointName(const std::string& name, const std::string& pattern) {
  if (name == "." || name == ".." || !IsUtf8(name)) return false;
  if (fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) return false;
  return !SaysUnfinished(name) || SaysUnfinished(pattern);
}

Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointSpec& spec) {
  std::optional<Checkpoint> newest;
  TRY_ASSIGN(const Directory directory, OpenDirectory(spec.directory));
  if (!directory) return newest;
  TRY_ASSIGN(std::vector<Named> names, ReadNames(directory.get(), spec));
  std::ranges::sort(names, std::ranges::greater(), &Named::step);
  for (const auto& named : names) {
    if (newest && named.step < newest->step) break;
    const auto checkpoint = Look(dirfd(directory.get()), spec.directory, named);
    if (checkpoint && (!newest || IsNewer(*checkpoint, *newest))) newest = checkpoint;
  }
  return newest;
}

}  // namespace tony
