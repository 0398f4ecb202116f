#include "runtime/cli/log_order.h"

#include <re2/re2.h>

#include "runtime/base/strings.h"
#include "runtime/cli/options.h"

namespace tony {

struct LogPattern::Compiled {
  Compiled(const std::string& expression, const re2::RE2::Options& options) : regex(expression, options) {}
  const re2::RE2 regex;
};

Result<LogPattern> LogPattern::Parse(const std::string& expression) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const Compiled>(expression, options);
  const re2::RE2& regex = compiled->regex;
  if (regex.ok()) return LogPattern(std::move(compiled));
  const size_t place = expression.find(regex.error_arg());
  const std::string where =
      place == std::string::npos || regex.error_arg().empty() ? "" : StrCat(", from character ", place + 1, " on");
  return Error{ErrorCode::kUsage, StrCat("--grep \"", expression, "\": ", regex.error(), where)};
}

bool LogPattern::IsIn(std::string_view line) const {
  return re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), compiled_->regex);
}

namespace {

constexpr int64_t kDefaultAnswer = 1 << 20;  // bytes of text in one JSON answer

Status CheckTogether(const CommandLine& line) {
  if (line.Has("max-bytes") && line.Has("follow"))
    return Error{ErrorCode::kUsage, "logs: --max-bytes does not go with -f"};
  for (const char* option : {"tail", "since"})
    if (line.Has(option) && line.Has("cursor"))
      return Error{ErrorCode::kUsage, StrCat("logs: --", option, " does not go with --cursor")};
  return Ok();
}

// worker, worker:0 or worker:0#2
Result<ChosenTasks> ReadChosen(const std::string& word) {
  if (word.find_first_of(":#") == std::string::npos) return ChosenTasks{.role = word};
  const size_t hash = word.find('#');
  TRY_ASSIGN(const TaskId task, ParseTaskId(word.substr(0, hash)));
  if (hash == std::string::npos) return ChosenTasks{task.role, task.index};
  const auto number = ParseInt(word.substr(hash + 1));
  if (!number || *number < 1 || *number > std::numeric_limits<int>::max())
    return Error{ErrorCode::kUsage, StrCat("attempt \"", word, "\": expected ROLE:INDEX#NUMBER, as in worker:0#1")};
  return ChosenTasks{task.role, task.index, static_cast<int>(*number)};
}

Status CheckIsThere(const ChosenTasks& chosen, const JobId& job, const JobSpec& spec) {
  const RoleSpec* role = spec.FindRole(chosen.role);
  if (role != nullptr && chosen.index.value_or(0) < role->instances) return Ok();
  std::vector<std::string> roles;
  for (const RoleSpec& each : spec.roles) roles.push_back(StrCat(each.instances, " ", each.name));
  const std::string what =
      chosen.index ? StrCat("task ", ToString(TaskId{chosen.role, *chosen.index})) : StrCat("role ", chosen.role);
  return Error{ErrorCode::kNotFound, StrCat("job ", job.value, " has no ", what, "; it has ", Join(roles, ", "))};
}

}  // namespace

Result<LogOrder> ReadLogOrder(const CommandLine& line, Instant now) {
  TRY(CheckTogether(line));
  LogOrder order = {.json = line.Has("json"), .follow = line.Has("follow"), .timestamps = line.Has("timestamps")};
  TRY_ASSIGN(const auto limit, NumberOption(line, "max-bytes"));
  if (limit || (order.json && !order.follow)) order.limit = static_cast<size_t>(limit.value_or(kDefaultAnswer));
  TRY_ASSIGN(order.lines, NumberOption(line, "tail"));
  TRY_ASSIGN(order.since, TimeOption(line, "since", now));
  if (line.Has("grep")) {
    TRY_ASSIGN(order.pattern, LogPattern::Parse(line.Value("grep")));
  }
  TRY(order.cursor.Set(line.Value("cursor")));
  return order;
}

Result<LogChoice> ReadLogChoice(const CommandLine& line, const JobId& job, const JobSpec& spec) {
  LogChoice choice;
  const bool both = line.Has("stdout") == line.Has("stderr");
  choice.standard_output = both || line.Has("stdout");
  choice.standard_error = both || line.Has("stderr");
  for (size_t i = 1; i < line.words().size(); ++i) {
    TRY_ASSIGN(const ChosenTasks chosen, ReadChosen(line.words()[i]));
    TRY(CheckIsThere(chosen, job, spec));
    choice.tasks.push_back(chosen);
  }
  return choice;
}

}  // namespace tony
