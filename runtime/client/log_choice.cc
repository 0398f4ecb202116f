#include "runtime/client/log_choice.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "runtime/base/strings.h"

namespace tony {

Status LogCursor::Set(const std::string& text) {
  for (const std::string& part : Split(text, ',')) {
    const size_t equals = part.rfind('=');
    const auto offset = equals == std::string::npos ? std::nullopt : ParseInt(part.substr(equals + 1));
    if (!offset || *offset < 0)
      return Error{ErrorCode::kUsage, StrCat("--cursor \"", text, "\": expected a cursor from an earlier answer")};
    offsets_[part.substr(0, equals)] = static_cast<uint64_t>(*offset);
  }
  return Ok();
}

std::string LogCursor::Text() const {
  std::vector<std::string> parts;
  for (const auto& [stream, offset] : offsets_) parts.push_back(StrCat(stream, "=", offset));
  return Join(parts, ",");
}

uint64_t& LogCursor::Offset(const AttemptId& attempt, std::string_view stream) {
  return offsets_[StrCat(ToString(attempt), "/", stream)];
}

int LogCursor::OldestBegun(const TaskId& task, int newest) const {
  int oldest = newest;
  const std::string prefix = ToString(task) + "#";
  for (auto entry = offsets_.lower_bound(prefix); entry != offsets_.end() && entry->first.starts_with(prefix);
       ++entry) {
    const std::string_view rest = std::string_view(entry->first).substr(prefix.size());
    oldest = std::min(oldest, static_cast<int>(ParseInt(rest.substr(0, rest.find('/'))).value_or(newest)));
  }
  return oldest;
}

std::vector<AttemptId> ChosenAttempts(const JobFolder& folder, const LogChoice& choice, const LogCursor& cursor) {
  std::vector<AttemptId> attempts;
  for (const std::string& name : FolderNames(folder.path() / "logs")) {
    const auto task = TaskOfFolder(name);
    if (!task || (choice.task && *choice.task != *task)) continue;
    int newest = 0;
    for (const std::string& number : FolderNames(folder.path() / "logs" / name))
      newest = std::max(newest, AttemptOfFolder(number).value_or(0));
    if (newest == 0) continue;
    if (choice.attempt > 0) attempts.push_back({*task, choice.attempt});
    // What an attempt wrote after the last reading must not be lost because another has begun.
    for (int number = cursor.OldestBegun(*task, newest); choice.attempt == 0 && number <= newest; ++number)
      attempts.push_back({*task, number});
  }
  std::ranges::sort(attempts);
  return attempts;
}

std::optional<TaskId> TaskOfFolder(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos) return {};
  const auto task = ParseTaskId(StrCat(name.substr(0, dash), ":", name.substr(dash + 1)));
  return task.ok() ? std::optional(*task) : std::nullopt;
}

std::optional<int> AttemptOfFolder(const std::string& name) {
  const auto number = ParseInt(name);
  if (!number || *number < 1 || *number > std::numeric_limits<int>::max()) return {};
  return static_cast<int>(*number);
}

std::vector<std::string> FolderNames(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

}  // namespace tony
