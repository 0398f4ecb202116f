#include "runtime/logs/log_choice.h"

#include <algorithm>
#include <map>

#include "runtime/base/strings.h"

namespace tony {
namespace {

bool Includes(const ChosenTasks& chosen, const TaskId& task) {
  return chosen.role == task.role && (!chosen.index || *chosen.index == task.index);
}

}  // namespace

bool LogChoice::Has(const TaskId& task) const {
  return tasks.empty() || std::ranges::any_of(tasks, [&](const ChosenTasks& chosen) { return Includes(chosen, task); });
}

int LogChoice::AttemptOf(const TaskId& task) const {
  const auto found = std::ranges::find_if(tasks, [&](const ChosenTasks& chosen) { return Includes(chosen, task); });
  return found == tasks.end() ? 0 : found->attempt;
}

std::optional<TaskId> LogChoice::OnlyTask() const {
  if (tasks.size() != 1 || !tasks.front().index) return std::nullopt;
  return TaskId{tasks.front().role, *tasks.front().index};
}

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

uint64_t& LogCursor::Offset(const AttemptId& attempt, const TaskStream& stream) {
  return offsets_[StrCat(ToString(attempt), "/", stream.File())];
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

std::vector<TaskStream> ChosenStreams(const LogSource& logs, const LogChoice& choice, const TaskId& task) {
  std::vector<TaskStream> streams;
  const int processes = logs.Processes(task);
  for (int process = 0; process < processes; ++process) {
    if (choice.standard_output) streams.push_back({"stdout", process});
    if (choice.standard_error) streams.push_back({"stderr", process});
  }
  return streams;
}

std::vector<AttemptId> ChosenAttempts(const LogSource& logs, const LogChoice& choice, const LogCursor& cursor) {
  std::map<TaskId, std::vector<int>> there;
  for (const AttemptId& attempt : logs.Attempts(choice.OnlyTask()))
    if (choice.Has(attempt.task)) there[attempt.task].push_back(attempt.number);
  std::vector<AttemptId> attempts;
  for (const auto& [task, numbers] : there) {
    if (const int attempt = choice.AttemptOf(task); attempt > 0) {
      attempts.push_back({task, attempt});
      continue;
    }
    // An earlier attempt is included if the cursor has an offset of it. Otherwise the text that this attempt wrote
    // after the last read would be lost when another attempt begins.
    const int oldest = cursor.OldestBegun(task, numbers.back());
    for (const int number : numbers)
      if (number >= oldest) attempts.push_back({task, number});
  }
  return attempts;
}

}  // namespace tony
