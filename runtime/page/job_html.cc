#include "runtime/page/job_html.h"

#include <algorithm>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/job/task_text.h"
#include "runtime/page/html.h"
#include "runtime/page/page_frame.h"

namespace tony {
namespace {

std::string Fact(std::string_view name, const std::string& html) {
  return StrCat("<div>", Element("dt", name), "<dd>", html, "</dd></div>\n");
}

// "6 running, 2 waiting", and a bar of the same.
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
      StrCat("<header>\n<h1>", Escape(status.name), " ", StateBadge(status.state), "</h1>\n<dl class=\"facts\">\n");
  html += Fact("Job", Element("code", status.job.value));
  html += Fact("User", Escape(status.user)) + Fact("Framework", Escape(status.framework));
  html += Fact("Submitted", TimeHtml(status.submitted));
  html += Fact(status.ended ? "Took" : "For", Escape(ClockText(length)));
  const TaskStatus all = UsedTogether(status);
  html += Fact(status.ended ? "Memory at most" : "Memory now / most", Escape(MemoryText(all)));
  html += Fact("CPU, of a core", Escape(CpuText(all)));
  html += Fact("Restarts", StrCat(status.restart_count));
  if (status.epoch.value > 1) html += Fact("Application masters", StrCat(status.epoch.value));
  if (status.generation.value > 1) html += Fact("Generation", StrCat(status.generation.value));
  if (!status.tensorboard_url.empty()) html += Fact("TensorBoard", Link(status.tensorboard_url, "open"));
  if (!status.request.value.empty()) html += Fact("Request", Element("code", status.request.value));
  return StrCat(html, "</dl>\n", Progress(status), "</header>\n");
}

std::string Banner(std::string_view colour, std::string_view title, std::string_view text) {
  return StrCat("<p class=\"banner ", colour, "\">", Element("strong", title), " ", Escape(text), "</p>\n");
}

std::string ToleratedText(const JobStatus& status) {
  if (status.verdict && status.verdict->state == FinalState::kSucceeded) return status.verdict->message;
  const int failed = status.tolerated_failures;
  return StrCat(failed, failed == 1 ? " has" : " have", " failed without failing the job");
}

std::string Banners(const JobView& view) {
  const JobStatus& status = view.status;
  std::string html;
  if (!status.trouble.empty()) html += Banner("bad", "Trouble:", status.trouble);
  if (!status.delay.empty()) html += Banner("warn", "Waiting:", status.delay);
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
    html += StrCat("<h3>The last lines of its standard error</h3>\n", Element("pre", ReadableLog(verdict.stderr_tail)),
                   "\n");
  if (!verdict.stdout_tail.empty())
    html += StrCat("<h3>The last lines of its standard output</h3>\n", Element("pre", ReadableLog(verdict.stdout_tail)),
                   "\n");
  if (verdict.attempt)
    html += StrCat("<p>More of it: ", Element("code", MoreCommand(status, *verdict.attempt)), "</p>\n");
  return html + "</section>\n";
}

std::string Footer() {
  return StrCat("<footer>Times are in UTC. ", Link("logs/", "Logs"), " · ", Link("conf", "Configuration"), " · ",
                Link("status.json", "status.json"), " · ", Link("history.json", "history.json"), "</footer>\n");
}

}  // namespace

std::string LiveAttributes(const JobStatus& status, Duration pause) {
  return StrCat(" data-live=\"", status.verdict ? 0 : 1, "\" data-seq=\"", status.seq, "\" data-pause=\"",
                pause.count(), "\"");
}

std::string LogFolderLink(const AttemptId& attempt) {
  return StrCat("logs/", FolderName(attempt.task), "/", attempt.number, "/");
}

std::string EndBanner(const JobStatus& status, bool ends_with_job) {
  if (!status.verdict || !ends_with_job) return "";
  return Banner("idle", "The job has ended,", "and its page with it. Afterwards: tony history --serve");
}

std::string JobHtml(const JobView& view) {
  const JobStatus& status = view.status;
  std::string content = Header(view) + Banners(view) + FailureReport(status) + TasksHtml(view) + RestartsHtml(status);
  if (view.history) content += TimeLedgerHtml(view.history->time);
  return WholePage({StrCat(status.state, " · ", status.name, " · TonY"), "", LiveAttributes(status, view.pause)},
                   content + Footer());
}

}  // namespace tony
