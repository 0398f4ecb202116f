#include "runtime/store/kept_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

fs::path ProblemFile(const fs::path& log_folder) { return log_folder / "output.problem"; }

Error Problem(std::string text) { return {ErrorCode::kInvalid, std::move(text)}; }

Error TooLong(int64_t bytes) {
  return Problem(StrCat("it has ", bytes, " bytes, and at most ", kLongestOutputs, " are kept"));
}

Result<std::string> ReadBounded(int fd, int64_t size) {
  std::string text(static_cast<size_t>(size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = read(fd, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Problem(ErrnoText(errno));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

// kInvalid: what is there is not such a file.
Result<std::optional<std::string>> ReadSmallFile(const fs::path& file) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid() && errno == ENOENT) return std::optional<std::string>();
  if (!fd.valid() && errno == ELOOP) return Problem("it is a symbolic link, expected a regular file");
  if (!fd.valid() && errno == ENXIO) return Problem("it is a socket, expected a regular file");
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return Problem(ErrnoText(errno));
  if (!S_ISREG(info.st_mode)) return Problem("it is no regular file");
  if (info.st_size > kLongestOutputs) return TooLong(info.st_size);
  TRY_ASSIGN(std::string text, ReadBounded(fd.get(), info.st_size));
  return std::optional(std::move(text));
}

}  // namespace

fs::path KeptOutputsFile(const fs::path& log_folder) { return log_folder / "output.json"; }

Status KeepOutputs(const fs::path& file, const fs::path& log_folder) {
  const auto text = ReadSmallFile(file);
  if (text.ok() && !*text) return Ok();
  Status kept = text.error();
  if (text.ok()) kept = WriteFileByRename(KeptOutputsFile(log_folder), **text, /*durable=*/true);
  if (kept.ok()) return kept;
  // Where the disk is full there may still be room for a line.
  return WriteFileByRename(ProblemFile(log_folder), kept.error().message + "\n", /*durable=*/true);
}

Result<std::optional<std::string>> ReadKeptOutputs(const fs::path& log_folder) {
  TRY_ASSIGN(const auto problem, ReadSmallFile(ProblemFile(log_folder)));
  if (problem) return Problem(std::string(Trim(*problem)));
  return ReadSmallFile(KeptOutputsFile(log_folder));
}

}  // namespace tony
