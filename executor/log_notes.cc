#include "executor/log_notes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/logs/log_times.h"
#include "runtime/os/files.h"

namespace tony::executor {

LogNotes::LogNotes(std::filesystem::path log)
    : log_(std::move(log)), notes_(log_.parent_path() / TimesOf(log_.filename().string())) {}

void LogNotes::Look(Instant now) {
  struct stat info {};
  if (lstat(log_.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == size_) return;
  if (info.st_size < size_) {
    LogWarn(StrCat(log_.filename().string(), " had ", size_,
                   " bytes and was emptied by the task, as by \"> /dev/stdout\": ",
                   "\">> /dev/stdout\" or no redirection keeps them"));
  }
  size_ = info.st_size;
  Append(LineOf({now, static_cast<uint64_t>(size_)}));
  if (++count_ >= kMostLogNotes) ThinOut();
}

// The folder is the task's: what it has put in the place of our file is not written to.
void LogNotes::Append(const std::string& line) {
  const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (count_ == 0 ? O_CREAT | O_EXCL : 0);
  const UniqueFd fd(open(notes_.c_str(), flags, 0600));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const Status written = WriteAll(fd.get(), line, notes_);
  if (!written.ok()) LogDebug(written.error().message);
}

void LogNotes::ThinOut() {
  const auto text = ReadFile(notes_);
  if (!text.ok()) return;
  std::string thinned;
  const auto kept = ThinnedOut(LogNotesIn(*text));
  for (const LogNote& note : kept) thinned += LineOf(note);
  const Status written = WriteFileByRename(notes_, thinned, /*durable=*/false);
  if (!written.ok()) return LogDebug(written.error().message);
  count_ = kept.size();
}

}  // namespace tony::executor
