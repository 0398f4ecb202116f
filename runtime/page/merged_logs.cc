#include "runtime/page/merged_logs.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/logs/log_reader.h"
#include "runtime/page/html.h"
#include "runtime/page/job_html.h"

namespace tony {
namespace {

constexpr size_t kMostTasks = 200;
constexpr int64_t kMostRead = 16 << 20;  // bytes of all logs together
constexpr int64_t kMostOfLog = 4 << 20;  // bytes of one log
constexpr size_t kMostLines = 1'000;
constexpr size_t kLongestLine = 4'000;  // bytes

struct Stream {
  AttemptId attempt;
  std::string name;
  int process = 0;
};

bool IsNamed(const TaskId& task, const std::string& wanted) {
  return wanted.empty() || task.role == wanted || ToString(task) == wanted;
}

std::vector<Stream> StreamsOf(const LogSource& logs, const TaskId& task, int attempt) {
  std::vector<Stream> streams;
  for (int process = 0; process < logs.Processes(task); ++process)
    for (const char* name : {"stdout", "stderr"}) streams.push_back({{task, attempt}, name, process});
  return streams;
}

// Adds the matching lines at the end of one log.
void AddLines(const LogSource& logs, const Stream& stream, int64_t most, const std::string& lower, LogClock& clock,
              Instant now, MergedLogs& merged) {
  const TaskStream of_task{stream.name, stream.process};
  const LogPiece piece = ReadLogPiece(logs, stream.attempt, of_task.File(), std::nullopt, most);
  if (piece.text.empty()) return;
  merged.is_cut = merged.is_cut || piece.begin > 0;
  const LogTimes& times = clock.TimesTo(stream.attempt, of_task, static_cast<uint64_t>(piece.next), now);
  const std::string_view text = piece.text;
  std::vector<MergedLine> found;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (lower.empty() || ToLower(line).find(lower) != std::string::npos) {
      ++merged.matched;
      const auto offset = static_cast<uint64_t>(piece.begin) + end;
      found.push_back({stream.attempt, of_task.File(), std::string(line.substr(0, kLongestLine)), times.At(offset)});
    }
    begin = end + 1;
  }
  const size_t first = found.size() - std::min(found.size(), kMostLines);
  std::move(found.begin() + static_cast<ptrdiff_t>(first), found.end(), std::back_inserter(merged.lines));
}

}  // namespace

MergedLogs ReadMergedLogs(const LogSource& logs, const JobStatus& status, const MergedQuery& query, Instant now) {
  std::vector<const TaskStatus*> tasks;
  for (const TaskStatus& task : status.tasks)
    if (task.attempt > 0 && IsNamed(task.id, query.task)) tasks.push_back(&task);
  std::ranges::stable_sort(tasks, {}, [](const TaskStatus* task) { return Urgency(*task); });
  MergedLogs merged;
  merged.tasks = std::min(tasks.size(), kMostTasks);
  merged.tasks_left_out = tasks.size() - merged.tasks;
  std::vector<Stream> streams;
  for (size_t i = 0; i < merged.tasks; ++i)
    std::ranges::move(StreamsOf(logs, tasks[i]->id, tasks[i]->attempt), std::back_inserter(streams));
  const int64_t most = std::min(kMostOfLog, kMostRead / std::max<int64_t>(1, static_cast<int64_t>(streams.size())));
  LogClock clock(logs);
  const std::string lower = ToLower(query.text);
  for (const Stream& stream : streams) AddLines(logs, stream, most, lower, clock, now, merged);
  std::ranges::stable_sort(merged.lines, {}, [](const MergedLine& line) { return line.when.value_or(Instant::max()); });
  if (merged.lines.size() > kMostLines)
    merged.lines.erase(merged.lines.begin(), merged.lines.end() - static_cast<ptrdiff_t>(kMostLines));
  return merged;
}

std::string MergedLogsHtml(const JobStatus& status, const MergedQuery& query, const MergedLogs& logs) {
  const std::string title = StrCat("Merged logs of ", status.name);
  std::string content =
      StrCat(Element("h1", title), "\n<p class=\"links\">", Link("../", "The job"), " · ", Link("./", "All logs"),
             "</p>\n<form class=\"search\" role=\"search\" action=\"all\">\n<label>Search <input name=\"q\" value=\"",
             Escape(query.text), "\"></label>\n<label>Role or task <input name=\"task\" value=\"", Escape(query.task),
             "\" placeholder=\"worker:3\"></label>\n<button>Search</button>\n</form>\n");
  content += StrCat("<p class=\"counts\">", Counted(static_cast<int64_t>(logs.matched), "line"),
                    query.text.empty() ? "" : " found", " in the newest attempts of ",
                    Counted(static_cast<int64_t>(logs.tasks), "task"), ".",
                    logs.lines.size() < logs.matched ? StrCat(" The newest ", logs.lines.size(), " are shown.") : "",
                    logs.is_cut ? " Only the ends of long logs were read." : "",
                    logs.tasks_left_out > 0 ? StrCat(" ", Counted(static_cast<int64_t>(logs.tasks_left_out), "task"),
                                                     " were left out; name a role or a task.")
                                            : "",
                    "</p>\n<pre>");
  for (const MergedLine& line : logs.lines) {
    const std::string folder = StrCat(FolderName(line.attempt.task), "/", line.attempt.number, "/");
    content += StrCat(Link(folder + line.stream, ToString(line.attempt.task)),
                      line.stream.starts_with("stderr") ? " ! " : " | ", Escape(ReadableLog(line.text)), "\n");
  }
  return WholePage({StrCat(title, " · TonY"), "../", ""}, content + "</pre>\n");
}

}  // namespace tony
