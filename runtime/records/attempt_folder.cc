#include "runtime/records/attempt_folder.h"

#include <string>

#include "runtime/os/files.h"

namespace tony {
namespace {

std::filesystem::path Below(const std::filesystem::path& parent, const AttemptId& attempt) {
  return parent / FolderName(attempt.task) / std::to_string(attempt.number);
}

}  // namespace

AttemptFolder::AttemptFolder(const std::filesystem::path& place, const AttemptId& attempt)
    : work(Below(place / "work", attempt)), logs(Below(place / "logs", attempt)) {}

Status AttemptFolder::WriteOutcome(const Outcome& outcome) const {
  return WriteFileByRename(logs / "outcome.json", ToJson(outcome), /*durable=*/false);
}

Result<std::optional<Outcome>> AttemptFolder::ReadOutcome() const {
  return ReadOptional(logs / "outcome.json", OutcomeFromJson);
}

}  // namespace tony
