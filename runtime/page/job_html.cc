#include "runtime/page/job_html.h"

#include <algorithm>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/job/job_status.h"
#include "runtime/page/html.h"
#include "runtime/page/timeline.h"
#include "runtime/records/decisions.h"

namespace tony {
namespace {

std::string Fact(std::string_view name, const std::string& html) {
  return StrCat("<div>", Element("dt", name), "<dd>", html, "</dd></div>\n");
}

// Returns a bar with the number of tasks in each state, and the same numbers as text, e.g. "8 tasks: 6 running, 2
// waiting".
std::string Progress(const JobStatus& status) {
  std::map<std::string, int64_t> by_word, by_colour;
  for (const TaskStatus& task : status.tasks) {
    const std::string word = StateWord(task);
    ++by_word[word];
    ++by_colour[std::string(StateColour(word))];
  }
  std::vector<std::pair<std::string, int64_t>> parts;
  for (const char* colour : {"good", "busy", "warn", "bad", "idle"}) parts.emplace_back(colour, by_colour[colour]);
  std::vector<std::string> words;
  for (const auto& [word, count] : by_word) words.push_back(StrCat(count, " ", word));
  const std::string text = StrCat(Counted(static_cast<int64_t>(status.tasks.size()), "task"), ": ", Join(words, ", "));
  return PartsBar(parts, text) + Element("p", "counts", text) + "\n";
}

std::string Header(const JobView& view) {
  const JobStatus& status = view.status;
  const Duration length = status.ended.value_or(view.now) - status.submitted;
  std::string html =
      StrCat(view.list.empty() ? "" : StrCat("<p class=\"links\">", Link(view.list, "All jobs"), "</p>\n"),
             "<header>\n<h1>", Escape(status.name), " ", StateBadge(status.state), "</h1>\n<dl class=\"facts\">\n");
  html += Fact("Job", Element("code", status.job.value));
  html += Fact("User", Escape(status.user)) + Fact("Framework", Escape(status.framework));
  html += Fact("Submitted", TimeHtml(status.submitted));
  html += Fact(status.ended ? "Took" : "Running for", Escape(ClockText(length)));
  const TaskStatus all = TotalUsage(status);
  html += Fact(status.ended ? "Peak memory" : "Memory now / peak", Escape(MemoryText(all)));
  html += Fact("CPU (100%: one core)", Escape(CpuText(all)));
  html += Fact("Restarts", StrCat(status.restart_count));
  if (status.epoch.value > 1) html += Fact("Application masters", StrCat(status.epoch.value));
  if (status.generation.value > 1) html += Fact("Generation", StrCat(status.generation.value));
  if (!status.tensorboard_url.empty()) html += Fact("TensorBoard", Link(status.tensorboard_url, "open"));
  if (!status.notebook_url.empty()) {
    const std::string attach = Element("code", StrCat("tony notebook --attach ", status.job.value));
    html += Fact("Notebook", StrCat(Link(status.notebook_url, status.notebook_url), ", opened by ", attach));
  }
  if (!status.request.value.empty()) html += Fact("Request", Element("code", status.request.value));
  return StrCat(html, "</dl>\n", Progress(status), "</header>\n");
}

std::string Banner(std::string_view colour, std::string_view title, std::string_view text) {
  return StrCat("<p class=\"banner ", colour, "\">", Element("strong", title), " ", Escape(text), "</p>\n");
}

std::string ToleratedText(const JobStatus& status) {
  if (status.verdict && status.verdict->state == FinalState::kSucceeded) return status.verdict->message;
  const int failed = status.tolerated_failures;
  return failed == 1 ? "1 task has failed; the job tolerates this failure"
                     : StrCat(failed, " tasks have failed; the job tolerates these failures");
}

std::string Banners(const JobView& view) {
  const JobStatus& status = view.status;
  std::string html;
  if (!status.trouble.empty()) html += Banner("bad", "Degraded:", status.trouble);
  if (!status.delay.empty()) html += Banner("warn", "Waiting:", status.delay);
  if (status.tokens_are_overdue && status.tokens_until)
    html += Banner(
        "warn", "No fresh tokens:", StrCat("the job can use the cluster only until ", ToIso8601(*status.tokens_until)));
  if (status.planned_kill) {
    const std::string what = StrCat("at ", ToIso8601(status.planned_kill->due), ": ", status.planned_kill->reason);
    html += Banner("warn", "Will be killed", what);
  }
  if (status.tolerated_failures > 0) html += Banner("warn", "Failed tasks:", ToleratedText(status));
  return html + EndBanner(status, view.ends_with_job);
}

std::string MoreCommand(const JobStatus& status, const AttemptId& attempt) {
  return StrCat("tony logs ", status.job.value, " ", ToString(attempt));
}

std::string FirstCause(const JobStatus& status) {
  const Verdict& verdict = *status.verdict;
  std::string html;
  if (verdict.attempt) {
    const std::string logs = LogFolderLink(*verdict.attempt);
    html += Fact("Task", StrCat(Escape(ToString(*verdict.attempt)), " · ", Link(logs + "stderr", "stderr"), " · ",
                                Link(logs + "stdout", "stdout")));
  }
  if (!verdict.host.empty()) html += Fact("Host", Escape(verdict.host));
  if (verdict.exit) html += Fact("Ended with", Escape(ToString(*verdict.exit)));
  const bool again = IsRetryable(verdict.cls, verdict.advice);
  return html + Fact("Class", StrCat(Element("code", ToString(verdict.cls)),
                                     again ? ": trying again may help" : ": trying again would not help"));
}

std::string FailureReport(const JobStatus& status) {
  if (!status.verdict || status.verdict->state == FinalState::kSucceeded) return "";
  const Verdict& verdict = *status.verdict;
  const bool killed = verdict.state == FinalState::kKilled;
  std::string html =
      StrCat("<section class=\"report ", killed ? "warn" : "bad", "\" role=\"alert\">\n",
             Element("h2", killed ? "The job was killed" : "What failed first"), "\n",
             Element("p", "cause", verdict.message), "\n<dl class=\"facts\">\n", FirstCause(status), "</dl>\n");
  if (!verdict.stderr_tail.empty())
    html += StrCat("<h3>The last lines of the task's standard error</h3>\n",
                   Element("pre", ReadableLog(verdict.stderr_tail)), "\n");
  if (!verdict.stdout_tail.empty())
    html += StrCat("<h3>The last lines of the task's standard output</h3>\n",
                   Element("pre", ReadableLog(verdict.stdout_tail)), "\n");
  if (verdict.attempt)
    html += StrCat("<p>More of the log: ", Element("code", MoreCommand(status, *verdict.attempt)), "</p>\n");
  return html + "</section>\n";
}

std::string Footer() {
  return StrCat("<footer>Times are in UTC. ", Link("logs/", "Logs"), " · ", Link("conf", "Configuration"), " · ",
                Link("status.json", "status.json"), " · ", Link("history.json", "history.json"), "</footer>\n");
}

// The tables of the job's page.

// The maximum number of rows for each role, unless all tasks are requested.
constexpr size_t kMostRows = 100;

std::string Cell(const std::string& html) { return StrCat("<td>", html, "</td>"); }

std::string Length(const TaskStatus& task, Instant now) {
  return task.started ? ClockText(task.ended.value_or(now) - *task.started) : "-";
}

std::string LogLinks(const AttemptId& attempt) {
  if (attempt.number == 0) return "";
  const std::string logs = LogFolderLink(attempt);
  return StrCat(Link(logs + "stdout", "stdout"), "&nbsp;&nbsp;", Link(logs + "stderr", "stderr"));
}

std::string TaskRow(const TaskStatus& task, Instant now) {
  const bool failed = task.outcome && !task.outcome->Succeeded();
  const std::string waits = task.waits_for.empty() ? "" : StrCat("waits for ", task.waits_for);
  const std::string end = failed ? Describe(*task.outcome) : waits;
  return StrCat("<tr>", Cell(Element("span", "task", ToString(task.id))), Cell(StateBadge(StateWord(task))),
                Cell(task.attempt > 0 ? StrCat(task.attempt) : "-"), Cell(StrCat(std::max(0, task.attempt - 1))),
                Cell(Escape(task.host)), Cell(Escape(MemoryText(task))), Cell(Escape(CpuText(task))),
                Cell(task.started ? TimeHtml(*task.started) : "-"), Cell(Length(task, now)),
                Cell(LogLinks({task.id, task.attempt})), Cell(Escape(end)), "</tr>\n");
}

std::string RoleHtml(const RoleTasks& tasks, const JobView& view) {
  std::string html = StrCat(
      "<section>\n", RoleHeading(tasks),
      "<div "
      "class=\"wide\"><table>\n<thead><tr><th>Task</th><th>State</th><th>Attempt</th><th>Restarts</th><th>Host</th>"
      "<th>Memory</th><th>CPU</th><th>Started</th><th>Ran for</th><th>Logs</th><th>End</th></tr></thead>\n<tbody>\n");
  for (const TaskStatus* task : tasks.shown) html += TaskRow(*task, view.now);
  return html + "</tbody></table></div>\n</section>\n";
}

// Returns the time as text. A time below a minute is shown with tenths of a second, because short jobs spend less than
// a second in some phases.
std::string Exact(Duration time) {
  const int64_t tenths = (time.count() + 50) / 100;
  return time < std::chrono::minutes(1) ? StrCat(tenths / 10, ".", tenths % 10, " s") : ClockText(time);
}

std::string LedgerLine(std::string_view colour, std::string_view name, Duration time) {
  return StrCat("<div><dt><span class=\"key ", colour, "\"></span> ", name, "</dt><dd>", Exact(time), "</dd></div>\n");
}

// The path from the page of a log, e.g. logs/worker-3/1/stderr, to the page of the job.
constexpr std::string_view kToJob = "../../../";

std::string Pieces(const LogView& view) {
  const bool is_output = view.stream.starts_with("stdout"), is_error = view.stream.starts_with("stderr");
  const std::string of_process = is_output || is_error ? view.stream.substr(std::string_view("stdout").size()) : "";
  const std::string other = (is_output ? "stderr" : "stdout") + of_process;
  std::string html = StrCat(Link(StrCat(kToJob, "./"), "The job"), " · ", Link("../../", "All logs"));
  html += StrCat(" · ", Link(other, other), " · ", Link("executor.log", "executor.log"));
  html += StrCat(" · ", Link(StrCat(view.stream, "?cursor=0"), "From the beginning"));
  if (view.piece.next < view.piece.size)
    html += StrCat(" · ", Link(StrCat(view.stream, "?cursor=", view.piece.next), "Next part"));
  html += StrCat(" · ", Link(view.stream, "The end"), " · ", Link(StrCat(view.stream, ".txt"), "Plain text"));
  return StrCat("<p class=\"links\">", html, "</p>\n");
}

// Returns the table cell for one log. `from` is the path from logs/ to the folder of the attempt.
std::string LogCell(const std::string& from, std::string_view name, const std::optional<LogFile>& file) {
  if (!file) return "<td>-</td>";
  return StrCat("<td>", Link(StrCat(from, name), name), " ", SizeText(file->size), "<br>", TimeHtml(file->changed),
                "</td>");
}

std::string RowBegin(const AttemptId& attempt, int process) {
  return StrCat("<tr><td>", Element("span", "task", ToString(attempt.task)), "</td><td>", attempt.number,
                process > 0 ? StrCat(", process ", process) : "", "</td>");
}

// Returns a row for each process; the first row also has the executor's log.
std::string AttemptRows(const AttemptLogs& logs) {
  const std::string from = StrCat(FolderName(logs.attempt.task), "/", logs.attempt.number, "/");
  const int processes = static_cast<int>(logs.files.size() - 1) / 2;
  const std::vector<std::string> names = LogNames(processes);
  const auto cell = [&](size_t i) { return LogCell(from, names[i], logs.files[i]); };
  std::string html = StrCat(RowBegin(logs.attempt, 0), cell(0), cell(1), cell(2), "</tr>\n");
  for (int process = 1; process < processes; ++process) {
    const size_t first = static_cast<size_t>(process) * 2 + 1;
    html += StrCat(RowBegin(logs.attempt, process), cell(first), cell(first + 1), "<td>-</td></tr>\n");
  }
  return html;
}

// Returns the number of attempts that are listed for each task: at most ten, and about a thousand for all tasks
// together. The number is limited, because the page must stay small, and because making the page must not block the
// loop for long.
int AttemptsListed(size_t tasks) {
  constexpr size_t kMost = 10, kMostListed = 1000;
  return static_cast<int>(std::clamp<size_t>(kMostListed / std::max<size_t>(tasks, 1), 1, kMost));
}

// Returns the table of a role's logs; an empty text if no task of the role has a log.
std::string RoleLogs(const RoleTasks& tasks, const LogListView& view) {
  std::string rows;
  bool has_older = false;
  const int most = AttemptsListed(tasks.shown.size());
  for (const TaskStatus* task : tasks.shown) {
    for (const AttemptLogs& logs : view.logs(*task, most)) rows += AttemptRows(logs);
    has_older = has_older || task->attempt > most;
  }
  if (rows.empty()) return "";
  std::string html = StrCat("<section>\n", RoleHeading(tasks));
  if (has_older)
    html += StrCat("<p>The table shows only the newest ", most == 1 ? "attempt" : StrCat(most, " attempts"),
                   " of each task; to see older attempts, run ",
                   Element("code", StrCat("tony logs ", view.status.job.value, " TASK#ATTEMPT")), ".</p>\n");
  html += "<div class=\"wide\"><table>\n<thead><tr><th>Task</th><th>Attempt</th>";
  for (const std::string& name : LogNames(1)) html += Element("th", name);
  return StrCat(html, "</tr></thead>\n<tbody>\n", rows, "</tbody></table></div>\n</section>\n");
}

}  // namespace

std::string LiveAttributes(const JobStatus& status, Duration pause) {
  return StrCat(" data-live=\"", status.verdict ? 0 : 1, "\" data-seq=\"", status.seq, "\" data-pause=\"",
                pause.count(), "\"");
}

int Urgency(const TaskStatus& task) {
  const std::string_view colour = StateColour(StateWord(task));
  return colour == "bad" ? 0 : colour == "warn" ? 1 : colour == "busy" ? 2 : colour == "idle" ? 3 : 4;
}

std::string LogFolderLink(const AttemptId& attempt) {
  return StrCat("logs/", FolderName(attempt.task), "/", attempt.number, "/");
}

std::string EndBanner(const JobStatus& status, bool ends_with_job) {
  if (!status.verdict || !ends_with_job) return "";
  return Banner("idle", "The job has ended,", "and this page ends with it. To see the job later, run tony portal");
}

namespace {

// The sections of the page, in their order. A section without content is empty.
constexpr std::string (*kSections[])(const JobView& view) = {
    Header,
    Banners,
    [](const JobView& view) { return FailureReport(view.status); },
    TaskGridHtml,
    TimelineHtml,
    TasksHtml,
    [](const JobView& view) { return RestartsHtml(view.status); },
    [](const JobView& view) { return view.history ? TimeBreakdownHtml(view.history->time) : ""; },
};

}  // namespace

std::string JobHtml(const JobView& view) {
  const JobStatus& status = view.status;
  std::string content;
  for (const auto& section : kSections) content += section(view);
  return WholePage({StrCat(status.state, " · ", status.name, " · TonY"), "", LiveAttributes(status, view.pause)},
                   content + Footer());
}

std::vector<RoleTasks> TasksByRole(const JobStatus& status, bool all_tasks) {
  std::map<std::string, std::vector<const TaskStatus*>> by_role;
  for (const TaskStatus& task : status.tasks) by_role[task.id.role].push_back(&task);
  std::vector<RoleTasks> roles;
  for (auto& [role, tasks] : by_role) {
    const size_t all = tasks.size();
    if (!all_tasks && all > kMostRows) {
      std::ranges::stable_sort(tasks, {}, [](const TaskStatus* task) { return Urgency(*task); });
      tasks.resize(kMostRows);
    }
    roles.push_back({role, std::move(tasks), all});
  }
  return roles;
}

std::string RoleHeading(const RoleTasks& tasks) {
  std::string html = StrCat("<h2>", Escape(tasks.role), " ", Element("small", StrCat(tasks.all)), "</h2>\n");
  if (tasks.shown.size() < tasks.all)
    html += StrCat("<p>", tasks.shown.size(), " of ", tasks.all, " tasks, failed and delayed tasks first. ",
                   Link("./?all=1", "All tasks"), "</p>\n");
  return html;
}

std::string TasksHtml(const JobView& view) {
  std::string html;
  for (const RoleTasks& tasks : TasksByRole(view.status, view.all_tasks)) html += RoleHtml(tasks, view);
  return html;
}

std::string RestartsHtml(const JobStatus& status) {
  if (status.restarts.empty()) return "";
  const auto shown = static_cast<int>(status.restarts.size());
  std::string html = "<section>\n<h2>Restarts</h2>\n";
  if (shown < status.restart_count)
    html += StrCat("<p>The newest ", shown, " of ", status.restart_count, " restarts.</p>\n");
  html +=
      "<div class=\"wide\"><table>\n<thead><tr><th>Number</th><th>Time</th><th>Scope</th><th>Reason</th><th>Logs</th>"
      "<th>Charged</th></tr></thead>\n<tbody>\n";
  for (const RestartStatus& restart : status.restarts) {
    html += StrCat("<tr>", Cell(StrCat(restart.number)), Cell(TimeHtml(restart.time)), Cell(Escape(restart.scope)),
                   Cell(Escape(restart.reason)), Cell(LogLinks(restart.cause)), Cell(restart.charged ? "yes" : "no"),
                   "</tr>\n");
  }
  return html + "</tbody></table></div>\n</section>\n";
}

std::string TimeBreakdownHtml(const TimeBreakdown& time) {
  const std::string bar = PartsBar({{"idle", time.waiting.count()},
                                    {"busy", time.running.count()},
                                    {"warn", time.restarting.count()},
                                    {"bad", time.stopping.count()}},
                                   "where the time went");
  return StrCat("<section>\n<h2>Where the time went</h2>\n", bar, "<dl class=\"facts\">\n",
                LedgerLine("idle", "Waiting", time.waiting), LedgerLine("busy", "Running", time.running),
                LedgerLine("warn", "Restarting", time.restarting), LedgerLine("bad", "Stopping", time.stopping),
                "</dl>\n</section>\n");
}

std::string LogListHtml(const LogListView& view) {
  const JobStatus& status = view.status;
  const std::string title = StrCat("Logs of ", status.name);
  std::string content =
      StrCat("<h1>", Escape(title), " ", StateBadge(status.state), "</h1>\n<p class=\"links\">", Link("../", "The job"),
             " · ", Link("all", "Merged, with search"), "</p>\n", EndBanner(status, view.ends_with_job));
  std::string roles;
  for (const RoleTasks& tasks : TasksByRole(status, view.all_tasks)) roles += RoleLogs(tasks, view);
  if (roles.empty()) roles = status.verdict ? "<p>There are no logs.</p>\n" : "<p>There are no logs yet.</p>\n";
  return WholePage({StrCat(title, " · TonY"), "../", LiveAttributes(status, view.pause)},
                   StrCat(content, roles, "<footer>Times show the last change, in UTC.</footer>\n"));
}

std::string LogHtml(const LogView& view) {
  const std::string title = StrCat(ToString(view.attempt), " ", view.stream);
  const LogPiece& piece = view.piece;
  const std::string where =
      piece.size == 0 ? "Nothing was written."
                      : StrCat("From byte ", piece.begin, " of ", piece.size, " (", SizeText(piece.size), ").");
  const std::string content =
      StrCat(Element("h1", title), "\n", Pieces(view), Element("p", "counts", where), "\n<pre id=\"log\" data-text=\"",
             Escape(view.stream), ".txt\" data-cursor=\"", view.at_end ? StrCat(piece.next) : "", "\">",
             Escape(ReadableLog(piece.text)), "</pre>\n");
  return WholePage({title, std::string(kToJob), ""}, content);
}

std::string NoTensorBoardHtml(const JobStatus& status) {
  const std::string why = status.verdict ? "The job has ended, and TensorBoard has ended with it."
                                         : "The job has no TensorBoard now. This page checks again by itself.";
  const PageFrame frame{.title = StrCat("TensorBoard of ", status.job.value), .up = "", .attributes = ""};
  return WholePage(frame, StrCat(Element("h1", "TensorBoard"), Element("p", why), "<p class=\"links\">",
                                 Link("./", "The job"), "</p>\n"));
}

// Values that somebody set come first. Defaults are folded.
std::string ConfigurationHtml(const Configuration& configuration) {
  std::string own, defaults;
  int64_t default_count = 0;
  for (const ConfiguredValue& value : configuration) {
    const bool is_default = value.source == kDefaultSource;
    default_count += is_default ? 1 : 0;
    (is_default ? defaults : own) +=
        StrCat("<tr><td>", Element("code", value.key), "</td><td>", Element("code", value.value), "</td>",
               Element("td", value.source), "</tr>\n");
  }
  const auto table = [](const std::string& rows) {
    return StrCat(
        "<div class=\"wide\"><table>\n<thead><tr><th>Key</th><th>Value</th><th>From</th></tr></thead>\n<tbody>\n", rows,
        "</tbody></table></div>\n");
  };
  std::string content =
      StrCat("<h1>Configuration</h1>\n<p class=\"links\">", Link("./", "The job"), "</p>\n", table(own));
  if (default_count > 0)
    content += StrCat("<details>\n", Element("summary", Counted(default_count, "default")), "\n", table(defaults),
                      "</details>\n");
  return WholePage({"Configuration", "", ""}, content);
}

}  // namespace tony
