// The tables of the job's page.
#include <algorithm>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/job/task_text.h"
#include "runtime/page/html.h"
#include "runtime/page/job_html.h"
#include "runtime/page/page_frame.h"
#include "runtime/records/describe.h"

namespace tony {
namespace {

constexpr size_t kMostRows = 100;  // of a role, unless all are asked for

std::string Cell(const std::string& html) { return StrCat("<td>", html, "</td>"); }

// What a person looks for first comes first.
int Urgency(const TaskStatus& task) {
  const std::string_view colour = StateColour(StateWord(task));
  return colour == "bad" ? 0 : colour == "warn" ? 1 : colour == "busy" ? 2 : colour == "idle" ? 3 : 4;
}

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

// Short jobs spend less than a second in some of these.
std::string Exact(Duration time) {
  const int64_t tenths = (time.count() + 50) / 100;
  return time < std::chrono::minutes(1) ? StrCat(tenths / 10, ".", tenths % 10, " s") : ClockText(time);
}

std::string LedgerLine(std::string_view colour, std::string_view name, Duration time) {
  return StrCat("<div><dt><span class=\"key ", colour, "\"></span> ", name, "</dt><dd>", Exact(time), "</dd></div>\n");
}

}  // namespace

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
    html += StrCat("<p>", tasks.shown.size(), " of ", tasks.all, ", those in trouble first. ",
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
  if (shown < status.restart_count) html += StrCat("<p>The newest ", shown, " of ", status.restart_count, ".</p>\n");
  html +=
      "<div class=\"wide\"><table>\n<thead><tr><th>Number</th><th>Time</th><th>What</th><th>Because "
      "of</th><th>Logs</th>"
      "<th>Charged</th></tr></thead>\n<tbody>\n";
  for (const RestartStatus& restart : status.restarts) {
    html += StrCat("<tr>", Cell(StrCat(restart.number)), Cell(TimeHtml(restart.time)), Cell(Escape(restart.scope)),
                   Cell(Escape(restart.reason)), Cell(LogLinks(restart.cause)), Cell(restart.charged ? "yes" : "no"),
                   "</tr>\n");
  }
  return html + "</tbody></table></div>\n</section>\n";
}

std::string TimeLedgerHtml(const TimeLedger& time) {
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

}  // namespace tony
