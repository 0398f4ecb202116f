#include "runtime/records/kept_logs.h"

#include <algorithm>
#include <boost/json.hpp>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/job/outputs.h"

namespace tony {
namespace {

namespace json = boost::json;

constexpr const char* kLogsFolder = "logs";
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

std::string RecordOf(const AttemptId& attempt) { return StrCat(FolderName(attempt.task), ".", attempt.number); }

// Nothing: the name of something else, as what a writer that died has left.
std::optional<AttemptId> AttemptOf(const std::string& name) {
  const size_t dot = name.rfind('.');
  const size_t dash = name.rfind('-', dot);
  if (dot == std::string::npos || dash == std::string::npos) return std::nullopt;
  const auto task = ParseTaskId(StrCat(name.substr(0, dash), ":", name.substr(dash + 1, dot - dash - 1)));
  const auto number = ParseInt(name.substr(dot + 1));
  if (!task.ok() || !number || *number < 1 || *number > std::numeric_limits<int>::max()) return std::nullopt;
  const AttemptId attempt{*task, static_cast<int>(*number)};
  return RecordOf(attempt) == name ? std::optional(attempt) : std::nullopt;
}

// `text` loses what the excerpt has of it.
Result<LogExcerpt> ReadExcerpt(JsonReader fields, std::string_view& text) {
  LogExcerpt excerpt{.stream = fields.String("stream"), .size = fields.Int("size", 0, kLargest)};
  for (JsonReader& part : fields.List("parts")) {
    const int64_t begin = part.Int("begin", 0, kLargest);
    const auto length = static_cast<size_t>(part.Int("length", 0, kLargest));
    TRY(part.status());
    if (length > text.size()) return Error{ErrorCode::kInvalid, "it is cut off"};
    excerpt.parts.push_back({begin, std::string(text.substr(0, length))});
    text.remove_prefix(length);
  }
  TRY(fields.status());
  return excerpt;
}

}  // namespace

bool KeepsLogs(const JobSpec& spec, const TaskId& task, const Outcome& outcome) {
  return !outcome.Succeeded() || LeavesOutputs(spec, task);
}

Status WriteKeptLogs(const JobRecords& records, const AttemptId& attempt, const std::vector<LogExcerpt>& logs) {
  json::array about;
  std::string text;
  for (const LogExcerpt& log : logs) {
    json::array parts;
    for (const LogExcerpt::Part& part : log.parts) {
      parts.push_back({{"begin", part.begin}, {"length", part.text.size()}});
      text += part.text;
    }
    about.push_back({{"stream", log.stream}, {"size", log.size}, {"parts", std::move(parts)}});
  }
  return records.store().Replace(StrCat(kLogsFolder, "/", RecordOf(attempt)),
                                 StrCat(SerializeJson(json::object{{"logs", std::move(about)}}), "\n", text),
                                 Durability::kLostWithPower);
}

Status RemoveKeptLogs(const JobRecords& records, const AttemptId& attempt) {
  return records.store().Remove(StrCat(kLogsFolder, "/", RecordOf(attempt)));
}

Result<std::vector<AttemptId>> ListKeptLogs(const JobRecords& records) {
  TRY_ASSIGN(const auto names, records.store().List(kLogsFolder));
  std::vector<AttemptId> attempts;
  for (const std::string& name : names)
    if (const auto attempt = AttemptOf(name)) attempts.push_back(*attempt);
  std::ranges::sort(attempts);
  return attempts;
}

Result<std::optional<std::vector<LogExcerpt>>> ReadKeptLogs(const JobRecords& records, const AttemptId& attempt) {
  TRY_ASSIGN(const auto record, records.store().Get(StrCat(kLogsFolder, "/", RecordOf(attempt))));
  if (!record) return std::optional<std::vector<LogExcerpt>>();
  std::string_view text = record->bytes;
  const size_t line = std::min(text.find('\n'), text.size());
  TRY_ASSIGN(const auto about, ParseJson(text.substr(0, line), "kept logs"));
  text.remove_prefix(std::min(line + 1, text.size()));
  JsonReader fields(about);
  auto logs = fields.List("logs");
  TRY(fields.status());
  std::vector<LogExcerpt> excerpts;
  for (JsonReader& log : logs) {
    TRY_ASSIGN(excerpts.emplace_back(), ReadExcerpt(std::move(log), text));
  }
  return std::optional(std::move(excerpts));
}

}  // namespace tony
