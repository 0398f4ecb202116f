#include "runtime/page/timeline.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/job/job_status.h"
#include "runtime/page/html.h"
#include "runtime/records/decisions.h"

namespace tony {
namespace {

constexpr size_t kMostLanes = 30;
// A job with fewer tasks needs no grid, because its table is short.
constexpr size_t kLeastCells = 20, kMostCells = 2'000;
constexpr int64_t kWidth = 10'000;
// The smallest width of a part, so that a short attempt is visible.
constexpr int64_t kLeastWidth = 30;

struct Span {
  Instant from, until;
};

// Returns a part of a bar, with a text that browsers show above it.
std::string Part(const Span& all, std::string_view colour, Instant from, Instant until, const std::string& text) {
  const int64_t length = std::max<int64_t>(1, (all.until - all.from).count());
  const auto place = [&](Instant time) {
    return std::clamp<int64_t>((time - all.from).count(), 0, length) * kWidth / length;
  };
  const int64_t width = std::max(kLeastWidth, place(until) - place(from));
  const int64_t x = std::min(place(from), kWidth - kLeastWidth);
  return StrCat("<rect class=\"", colour, "\" x=\"", x, "\" width=\"", std::min(width, kWidth - x), "\" height=\"10\">",
                Element("title", text), "</rect>");
}

std::string Lane(std::string_view name, const std::string& parts) {
  return StrCat("<div class=\"lane\">", Element("span", "who", name), "<svg class=\"bar\" role=\"img\" aria-label=\"",
                Escape(name), "\" viewBox=\"0 0 ", kWidth, " 10\" preserveAspectRatio=\"none\">", parts,
                "</svg></div>\n");
}

std::pair<std::string_view, std::string_view> LookOf(JobPhaseKind kind) {
  switch (kind) {
    case JobPhaseKind::kWaiting:
      return {"idle", "waiting"};
    case JobPhaseKind::kRunning:
      return {"busy", "running"};
    case JobPhaseKind::kRestarting:
      return {"warn", "restarting"};
    case JobPhaseKind::kStopping:
      return {"bad", "stopping"};
  }
  return {};
}

// The attempts of a task, in their order.
using Attempts = std::vector<const AttemptHistory*>;

// Returns whether another attempt replaced attempt `i`, so that its work since the last checkpoint was lost.
bool IsThrownAway(const Attempts& attempts, size_t i) { return i + 1 < attempts.size() && attempts[i]->started; }

bool HasFailed(const AttemptHistory& attempt) {
  return attempt.outcome && !attempt.outcome->Succeeded() && attempt.outcome->cls != OutcomeClass::kKilled;
}

std::string AttemptPart(const Span& all, const Attempts& attempts, size_t i) {
  const AttemptHistory& attempt = *attempts[i];
  const bool is_lost = IsThrownAway(attempts, i);
  const Instant until = attempt.ended.value_or(is_lost ? attempts[i + 1]->started.value_or(all.until) : all.until);
  const std::optional<Outcome>& outcome = attempt.outcome;
  const bool stopped = outcome && outcome->cls == OutcomeClass::kKilled;
  const std::string_view colour = is_lost                ? "lost"
                                  : !outcome             ? "busy"
                                  : stopped              ? "idle"
                                  : outcome->Succeeded() ? "good"
                                                         : "bad";
  return Part(all, colour, *attempt.started, until,
              StrCat(ToString(attempt.id), is_lost ? ", thrown away" : "", ", ran ",
                     ClockText(until - *attempt.started), outcome ? StrCat(": ", Describe(*outcome)) : ""));
}

std::string Key(std::string_view colour, std::string_view text) {
  return StrCat("<span><span class=\"key ", colour, "\"></span> ", text, "</span> ");
}

}  // namespace

std::string TimelineHtml(const JobView& view) {
  if (!view.history || view.history->phases.empty()) return "";
  const Span all{view.status.submitted, view.status.ended.value_or(view.now)};
  std::string phases;
  for (const JobPhase& phase : view.history->phases) {
    const auto [colour, word] = LookOf(phase.kind);
    phases += Part(all, colour, phase.from, phase.until, StrCat(word, " for ", ClockText(phase.until - phase.from)));
  }
  std::map<TaskId, Attempts> by_task;
  for (const AttemptHistory& attempt : view.history->attempts) by_task[attempt.id.task].push_back(&attempt);
  std::vector<std::pair<TaskId, Attempts>> tasks(by_task.begin(), by_task.end());
  std::ranges::stable_sort(tasks, std::greater<>(), [](const auto& task) {
    return std::pair(task.second.size(), HasFailed(*task.second.back()));
  });
  Duration lost{0};
  for (const auto& [task, attempts] : tasks)
    for (size_t i = 0; i < attempts.size(); ++i)
      if (IsThrownAway(attempts, i) && attempts[i]->ended) lost += *attempts[i]->ended - *attempts[i]->started;
  std::string html = StrCat("<section class=\"timeline\">\n<h2>Timeline</h2>\n", Lane("the job", phases));
  for (size_t t = 0; t < std::min(tasks.size(), kMostLanes); ++t) {
    const Attempts& attempts = tasks[t].second;
    std::string parts;
    for (size_t i = 0; i < attempts.size(); ++i)
      if (attempts[i]->started) parts += AttemptPart(all, attempts, i);
    html += Lane(ToString(tasks[t].first), parts);
  }
  html += StrCat("<p class=\"ends\">", TimeHtml(all.from), " ", TimeHtml(all.until), "</p>\n<p class=\"counts\">",
                 Key("idle", "waited, or was stopped"), Key("busy", "runs, or the gang ran"), Key("good", "succeeded"),
                 Key("bad", "failed"), Key("warn", "restarted"), Key("lost", "thrown away"), "</p>\n");
  if (lost.count() > 0)
    html += StrCat("<p>Attempts that others replaced ran ", ClockText(lost),
                   " together; their work since the last checkpoint is lost.</p>\n");
  if (tasks.size() > kMostLanes)
    html += StrCat("<p>The ", kMostLanes, " of ", tasks.size(), " tasks with the most attempts.</p>\n");
  return html + "</section>\n";
}

std::string TaskGridHtml(const JobView& view) {
  std::vector<const TaskStatus*> tasks;
  for (const TaskStatus& task : view.status.tasks) tasks.push_back(&task);
  if (tasks.size() < kLeastCells) return "";
  std::ranges::stable_sort(tasks, {}, [](const TaskStatus* task) { return Urgency(*task); });
  std::string html = StrCat("<section>\n<h2>All tasks <small>", tasks.size(), "</small></h2>\n<div class=\"grid\">\n");
  for (size_t i = 0; i < std::min(tasks.size(), kMostCells); ++i) {
    const TaskStatus& task = *tasks[i];
    const std::string word = StateWord(task);
    const std::string text = Escape(StrCat(ToString(task.id), " ", word));
    const std::string look = StrCat(" class=\"", StateColour(word), "\" title=\"", text, "\"");
    html += task.attempt > 0
                ? StrCat("<a", look, " href=\"", Escape(LogFolderLink({task.id, task.attempt})), "stderr\"></a>")
                : StrCat("<i", look, "></i>");
  }
  html += "\n</div>\n";
  if (tasks.size() > kMostCells)
    html += StrCat("<p>The first ", kMostCells, " tasks, failed and delayed tasks first.</p>\n");
  return html + "</section>\n";
}

}  // namespace tony
