#include "runtime/records/finished_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr char kFinishedFile[] = ".finished";
// Names in a row whose folders have gone. More are looked for in vain, and then the file is written anew.
constexpr int kMostGone = 64;

// A copy of the folder has another.
std::string HeadOf(int folder) {
  struct stat info {};
  if (fstat(folder, &info) != 0) return "";
  return StrCat("finished jobs of ", info.st_dev, ":", info.st_ino, "\n");
}

std::string ReadKnown(const fs::path& file, int folder) {
  const auto opened = OpenRegularFile(kFinishedFile, O_RDONLY, folder);
  if (!opened.ok()) return "";
  auto text = ReadAll(opened->fd.get(), file);
  return text.ok() ? *std::move(text) : "";
}

}  // namespace

FinishedNames::FinishedNames(fs::path jobs, size_t worth_keeping)
    : jobs_(std::move(jobs)),
      worth_keeping_(worth_keeping),
      folder_(open(jobs_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      known_(ReadKnown(jobs_ / kFinishedFile, folder_.get())),
      seen_(HeadOf(folder_.get())) {
  at_ = known_.starts_with(seen_) ? seen_.size() : known_.size();
}

bool FinishedNames::HasFinished(std::string_view name) {
  if (!IsKnown(name)) {
    if (faccessat(folder_.get(), StrCat(name, "/finished").c_str(), F_OK, 0) != 0) return false;
    ++looked_up_;
  }
  seen_.append(name).push_back('\n');
  return true;
}

bool FinishedNames::IsKnown(std::string_view name) {
  size_t at = at_;
  for (int gone = 0; gone <= kMostGone; ++gone) {
    const size_t end = known_.find('\n', at);
    if (end == std::string::npos) return false;  // a line that is torn is no name
    const bool found = std::string_view(known_).substr(at, end - at) == name;
    at = end + 1;
    if (found) at_ = at;
    if (found) return true;
  }
  return false;
}

void FinishedNames::Keep() const {
  if (looked_up_ >= worth_keeping_) (void)WriteFileByRename(jobs_ / kFinishedFile, seen_, /*durable=*/false);
}

}  // namespace tony
