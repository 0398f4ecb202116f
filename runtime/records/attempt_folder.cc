#include "runtime/records/attempt_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

// A folder counts as removed if it has been missing for this long. It does not count earlier, because a user may be
// moving the folder and putting a link in its place.
constexpr Duration kGoneAfter{10'000};
// The longest time between two checks that counts as normal. After a longer gap, this process has stood still or the
// machine has slept.
constexpr Duration kLongestGap{5'000};

}  // namespace

FolderPresence::FolderPresence(std::filesystem::path path)
    : path_(std::move(path)), folder_(open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

bool FolderPresence::IsMissing() const {
  struct stat now = {}, then = {};
  if (stat(path_.c_str(), &now) != 0) return errno == ENOENT;
  if (!folder_.valid() || fstat(folder_.get(), &then) != 0) return false;
  return now.st_dev != then.st_dev || now.st_ino != then.st_ino;
}

bool FolderPresence::IsGone(Instant now) {
  const bool gap = now - std::exchange(looked_, now) > kLongestGap;
  if (!IsMissing()) {
    missing_since_.reset();
    return false;
  }
  if (!missing_since_ || gap) missing_since_ = now;
  return now - *missing_since_ >= kGoneAfter;
}

Error FolderPresence::RemovedError() const { return NotFoundError(path_.string(), ": the job's folder was removed"); }

namespace {

std::filesystem::path Below(const std::filesystem::path& parent, const AttemptId& attempt) {
  return parent / FolderName(attempt.task) / std::to_string(attempt.number);
}

}  // namespace

AttemptFolder::AttemptFolder(const std::filesystem::path& place, const AttemptId& attempt)
    : work(Below(place / "work", attempt)), logs(Below(place / "logs", attempt)) {}

std::filesystem::path HeldEnvironment(const AttemptFolder& folder) { return folder.logs / "environment"; }

Status AttemptFolder::WriteOutcome(const Outcome& outcome) const {
  return WriteFileByRename(logs / "outcome.json", ToJson(outcome), /*durable=*/false);
}

Result<std::optional<Outcome>> AttemptFolder::ReadOutcome() const {
  return ReadOptional(logs / "outcome.json", OutcomeFromJson);
}

}  // namespace tony
