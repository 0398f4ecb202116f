#include "runtime/page/side_html.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/task_text.h"
#include "runtime/page/html.h"
#include "runtime/page/job_html.h"
#include "runtime/page/page_frame.h"

namespace tony {
namespace {

constexpr std::string_view kToJob = "../../../";  // from logs/worker-3/1/stderr

std::string Pieces(const LogView& view) {
  const bool is_output = view.stream.starts_with("stdout"), is_error = view.stream.starts_with("stderr");
  const std::string of_process = is_output || is_error ? view.stream.substr(std::string_view("stdout").size()) : "";
  const std::string other = (is_output ? "stderr" : "stdout") + of_process;
  std::string html = StrCat(Link(StrCat(kToJob, "./"), "The job"), " · ", Link("../../", "All logs"));
  html += StrCat(" · ", Link(other, other), " · ", Link("executor.log", "executor.log"));
  html += StrCat(" · ", Link(StrCat(view.stream, "?cursor=0"), "From the beginning"));
  if (view.piece.next < view.piece.size)
    html += StrCat(" · ", Link(StrCat(view.stream, "?cursor=", view.piece.next), "Go on"));
  html += StrCat(" · ", Link(view.stream, "The end"), " · ", Link(StrCat(view.stream, ".txt"), "Plain text"));
  return StrCat("<p class=\"links\">", html, "</p>\n");
}

// `from`: the folder of the attempt, from logs/.
std::string LogCell(const std::string& from, std::string_view name, const std::optional<LogFile>& file) {
  if (!file) return "<td>-</td>";
  return StrCat("<td>", Link(StrCat(from, name), name), " ", SizeText(file->size), "<br>", TimeHtml(file->changed),
                "</td>");
}

std::string RowBegin(const AttemptId& attempt, int process) {
  return StrCat("<tr><td>", Element("span", "task", ToString(attempt.task)), "</td><td>", attempt.number,
                process > 0 ? StrCat(", process ", process) : "", "</td>");
}

// A row for each process; the first one has the executor's log.
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

// Of one task more are not read, and of many no more than keep the page small and the loop free.
int AttemptsListed(size_t tasks) {
  constexpr size_t kMost = 10, kMostListed = 1000;
  return static_cast<int>(std::clamp<size_t>(kMostListed / std::max<size_t>(tasks, 1), 1, kMost));
}

// Nothing where none of the role's tasks has a log.
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
    html += StrCat("<p>Of each task the newest ", most == 1 ? "attempt" : StrCat(most, " attempts"), "; of older ones ",
                   Element("code", StrCat("tony logs ", view.status.job.value, " TASK#ATTEMPT")), " tells.</p>\n");
  html += "<div class=\"wide\"><table>\n<thead><tr><th>Task</th><th>Attempt</th>";
  for (const std::string& name : LogNames(1)) html += Element("th", name);
  return StrCat(html, "</tr></thead>\n<tbody>\n", rows, "</tbody></table></div>\n</section>\n");
}

}  // namespace

std::string LogListHtml(const LogListView& view) {
  const JobStatus& status = view.status;
  const std::string title = StrCat("Logs of ", status.name);
  std::string content = StrCat("<h1>", Escape(title), " ", StateBadge(status.state), "</h1>\n<p class=\"links\">",
                               Link("../", "The job"), "</p>\n", EndBanner(status, view.ends_with_job));
  std::string roles;
  for (const RoleTasks& tasks : TasksByRole(status, view.all_tasks)) roles += RoleLogs(tasks, view);
  if (roles.empty()) roles = status.verdict ? "<p>There are no logs.</p>\n" : "<p>There are no logs yet.</p>\n";
  return WholePage({StrCat(title, " · TonY"), "../", LiveAttributes(status, view.pause)},
                   StrCat(content, roles, "<footer>Times are of the last change, in UTC.</footer>\n"));
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
  const std::string why = status.verdict ? "The job has ended, and with it TensorBoard."
                                         : "No TensorBoard runs beside the job now. This page looks again by itself.";
  const PageFrame frame{.title = StrCat("TensorBoard of ", status.job.value), .up = "", .attributes = ""};
  return WholePage(frame, StrCat(Element("h1", "TensorBoard"), Element("p", why), "<p class=\"links\">",
                                 Link("./", "The job"), "</p>\n"));
}

std::string ConfigurationHtml(const Configuration& configuration) {
  std::string content = StrCat(
      "<h1>Configuration</h1>\n<p class=\"links\">", Link("./", "The job"),
      "</p>\n<div class=\"wide\"><table>\n<thead><tr><th>Key</th><th>Value</th><th>From</th></tr></thead>\n<tbody>\n");
  for (const ConfiguredValue& value : configuration) {
    content += StrCat("<tr><td>", Element("code", value.key), "</td><td>", Element("code", value.value), "</td>",
                      Element("td", value.source), "</tr>\n");
  }
  return WholePage({"Configuration", "", ""}, content + "</tbody></table></div>\n");
}

std::string JobListHtml(const std::vector<ListedJob>& jobs, bool more) {
  std::string content =
      "<h1>Jobs</h1>\n<div class=\"wide\"><table>\n<thead><tr><th>Job</th><th>State</th><th>Name</th><th>User</th>"
      "<th>Submitted</th><th>Took</th><th>First cause</th></tr></thead>\n<tbody>\n";
  for (const ListedJob& job : jobs) {
    content +=
        StrCat("<tr><td>", job.kept ? Link(StrCat(job.job.value, "/"), job.job.value) : Escape(job.job.value),
               "</td><td>", StateBadge(job.state), "</td>", Element("td", job.name), Element("td", job.user), "<td>",
               TimeHtml(job.submitted), "</td>", Element("td", job.ended ? ClockText(*job.ended - job.submitted) : "-"),
               Element("td", job.cause), "</tr>\n");
  }
  content += "</tbody></table></div>\n";
  if (jobs.empty()) content += "<p>None.</p>\n";
  if (more) content += "<p>There are older ones: <code>tony history</code> finds them.</p>\n";
  return WholePage({"Jobs", "", ""}, content);
}

}  // namespace tony
