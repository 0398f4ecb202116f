#include "executor/log_cap.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

// Of a block that is freed in part the rest reads as NULs; no file system has larger blocks than this.
constexpr int64_t kStep = 1 << 20;
constexpr int64_t kStatBlock = 512;  // whatever the file system's is

UniqueFd OpenLogFile(const std::filesystem::path& file) {
  // A task may have put a link there, to a file that it would like to keep.
  auto opened = OpenRegularFile(file, O_WRONLY);
  return opened.ok() ? std::move(opened->fd) : UniqueFd();
}

// Worth another try: a full disk frees nothing, but may have room for the note of it later.
bool MayPass(int error) { return error == EINTR || error == ENOSPC || error == EDQUOT; }

}  // namespace

LogCap::LogCap(const std::filesystem::path& file, int64_t limit_bytes) : LogCap(OpenLogFile(file), limit_bytes) {}

LogCap::LogCap(UniqueFd file, int64_t limit_bytes) : file_(std::move(file)), limit_bytes_(limit_bytes) {
  struct stat info {};
  if (file_.valid() && (fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode))) file_.Reset();
}

Result<int64_t> LogCap::Check() {
  struct stat info {};
  if (!file_.valid() || fstat(file_.get(), &info) != 0) return int64_t{0};
  growth_ = std::max<int64_t>(0, info.st_size - size_);
  size_ = info.st_size;
  freed_to_ = std::min(freed_to_, size_);  // it may have been emptied and begun anew
  // By the room it takes, not by its length: a program may write a log with holes of its own.
  const int64_t room = info.st_blocks * kStatBlock;
  const int64_t end = (size_ - limit_bytes_) / kStep * kStep;
  if (room <= kHeadBytes + limit_bytes_ + kStep || end <= std::max(kHeadBytes, freed_to_)) return int64_t{0};
  if (fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kHeadBytes, end - kHeadBytes) != 0) {
    if (MayPass(errno)) return int64_t{0};
    const int error = errno;
    file_.Reset();
    return Error{ErrorCode::kUnavailable, StrCat("a part of a file cannot be freed here: ", ErrnoText(error))};
  }
  freed_to_ = end;
  fstat(file_.get(), &info);
  return std::max<int64_t>(0, room - info.st_blocks * kStatBlock);
}

Duration UntilNextCheck(int64_t limit_bytes, int64_t growth, Duration since) {
  constexpr int64_t kMostGrowth = 64 << 20;
  constexpr int64_t kBytesEachMs = 1 << 20;
  const Duration quiet(std::clamp<int64_t>(limit_bytes / kBytesEachMs, 100, 1000));
  if (growth <= 0) return quiet;
  const double wanted = static_cast<double>(std::min(limit_bytes / 4, kMostGrowth));
  const double wait = wanted / static_cast<double>(growth) * static_cast<double>(since.count());
  return std::clamp(Duration(static_cast<int64_t>(std::min(wait, 1000.0))), Duration(10), quiet);
}

}  // namespace tony::executor
