#include "azkaban-plugin/step_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"

namespace tony::azkaban {
namespace {

constexpr mode_t kForAll = 0644;

Error WriteError(const std::filesystem::path& file) { return FileError(ErrorCode::kCannotWrite, "write", file, errno); }

}  // namespace

Status WriteAttachment(const std::filesystem::path& file, std::string_view object) {
  const std::filesystem::path part = StrCat(file.string(), ".part");
  unlink(part.c_str());  // of an adapter that was killed
  const UniqueFd fd(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kForAll));
  if (!fd.valid() || fchmod(fd.get(), kForAll) != 0) return WriteError(part);
  TRY(WriteAll(fd.get(), StrCat("[", object, "]\n"), part));
  return rename(part.c_str(), file.c_str()) == 0 ? Ok() : Status(WriteError(file));
}

Status WriteOutputProperties(const std::filesystem::path& file, std::string_view object) {
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, kForAll));
  if (!fd.valid()) return WriteError(file);
  return WriteAll(fd.get(), StrCat(object, "\n"), file);
}

}  // namespace tony::azkaban
