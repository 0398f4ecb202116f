#include "runtime/records/looks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/records/job_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostAtOnce = 64 << 10;

fs::path LookFile(const JobRecords& records) { return records.place() / "looked"; }

std::string ReadFrom(int fd, off_t from, size_t most) {
  std::string text(most, '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), from);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// Who polls as one watcher leaves one line, as long as no other comes between.
bool EndsWith(int fd, const std::string& line) {
  struct stat file = {};
  const auto length = static_cast<off_t>(line.size());
  return fstat(fd, &file) == 0 && file.st_size >= length && ReadFrom(fd, file.st_size - length, line.size()) == line;
}

}  // namespace

Result<bool> LeaveLook(const JobRecords& records, const WatcherToken& watcher) {
  TRY_ASSIGN(const auto lease, records.ReadLease());
  if (!lease || JobFolder(records).IsLocked("am.lock")) return false;
  const fs::path path = LookFile(records);
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  const std::string line = StrCat(lease->epoch.value, " ", watcher.value, "\n");
  if (!watcher.value.empty() && !EndsWith(fd.get(), line)) {
    TRY(WriteAll(fd.get(), line, path));
  } else if (futimens(fd.get(), nullptr) != 0) {
    return FileError(ErrorCode::kCannotWrite, "touch", path, errno);
  }
  return true;
}

LookReader::Looks LookReader::Read() {
  const UniqueFd fd(open(LookFile(records_).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat file = {};
  if (!fd.valid() || fstat(fd.get(), &file) != 0 || !S_ISREG(file.st_mode)) return {};
  if (file.st_ino != file_ || file.st_size < read_) read_ = 0;
  const bool has_same_time = file.st_mtim.tv_sec == changed_.tv_sec && file.st_mtim.tv_nsec == changed_.tv_nsec;
  Looks looks{.any = file.st_ino != file_ || !has_same_time};
  file_ = file.st_ino;
  changed_ = file.st_mtim;
  const std::string text = ReadFrom(fd.get(), read_, kMostAtOnce);
  std::string whole = text.substr(0, text.rfind('\n') + 1);
  if (whole.empty() && text.size() == kMostAtOnce) whole = text;  // no line of ours is so long
  read_ += static_cast<off_t>(whole.size());
  for (const std::string& line : Split(whole, '\n')) {
    const size_t space = line.find(' ');
    const auto epoch = ParseInt(line.substr(0, space));
    if (epoch && space != std::string::npos) looks.named.push_back({{*epoch}, {line.substr(space + 1)}});
  }
  return looks;
}

}  // namespace tony
