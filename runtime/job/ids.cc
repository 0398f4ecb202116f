#include "runtime/job/ids.h"

#include "runtime/base/strings.h"

namespace tony {

std::string ToString(const TaskId& id) { return StrCat(id.role, ":", id.index); }
std::string ToString(const AttemptId& id) { return StrCat(ToString(id.task), "#", id.number); }
std::string FolderName(const TaskId& id) { return StrCat(id.role, "-", id.index); }
std::string NameForProcess(std::string_view name, int process) {
  return process == 0 ? std::string(name) : StrCat(name, "-", process);
}

Result<TaskId> ParseTaskId(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && colon > 0) {
    const auto index = ParseInt(text.substr(colon + 1));
    if (index && *index >= 0 && *index <= 1'000'000)
      return TaskId{std::string(text.substr(0, colon)), static_cast<int>(*index)};
  }
  return Error{ErrorCode::kUsage, StrCat("task \"", text, "\": expected ROLE:INDEX, as in worker:0")};
}

}  // namespace tony
