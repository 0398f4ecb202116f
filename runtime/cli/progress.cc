#include "runtime/cli/progress.h"

#include <algorithm>
#include <array>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/terminal.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/outputs.h"
#include "runtime/job/job_status.h"

namespace tony {
namespace {

std::string Name(const TaskStatus& task) {
  // The first attempt is shown without its number, because most tasks have only one.
  return task.attempt > 1 ? ToString(AttemptId{task.id, task.attempt}) : ToString(task.id);
}

std::string OutcomeText(const Outcome& outcome) {
  std::string text = outcome.exit ? ToString(*outcome.exit) : std::string(ToString(outcome.cls));
  if (!outcome.message.empty()) text += StrCat(", ", outcome.message);
  return text;
}

std::string TaskLine(const TaskStatus& task) {
  std::string line = StrCat(Name(task), " ", task.attempt_state);
  if (task.attempt_state == "running") {
    if (!task.host.empty()) line += StrCat(" on ", task.host);
    if (task.pid != 0) line += StrCat(" (pid ", task.pid, ")");
  }
  if (task.outcome && !task.outcome->Succeeded()) line += StrCat(": ", OutcomeText(*task.outcome));
  return line;
}

// Finds the task `id`. `place` is the index at which it is searched first.
const TaskStatus* FindTask(const std::optional<JobStatus>& status, const TaskId& id, size_t place) {
  if (!status) return nullptr;
  if (place < status->tasks.size() && status->tasks[place].id == id) return &status->tasks[place];
  const auto found = std::ranges::find(status->tasks, id, &TaskStatus::id);
  return found == status->tasks.end() ? nullptr : &*found;
}

enum class Telling { kEverything, kImportant };

// Returns whether the state of an attempt gets a line. Not every state gets a line, because the lines of a job with a
// thousand tasks would fill the screen.
bool IsNews(const TaskStatus& task, Telling telling) {
  constexpr std::array<std::string_view, 5> kNews = {"failed", "lost", "running", "succeeded", "killed"};
  const size_t known = telling == Telling::kEverything ? kNews.size() : 2;
  return std::ranges::find(kNews.begin(), kNews.begin() + known, task.attempt_state) != kNews.begin() + known;
}

// Returns whether the line about a restart already covers this task. That line names the attempt that caused the
// restart, and implies that the other attempts are stopped.
bool IsCoveredByRestart(const TaskStatus& task, const JobStatus& status) {
  const AttemptId attempt{task.id, task.attempt};
  const bool stopped = status.state == "RESTARTING" && task.attempt_state == "killed";
  return stopped || (task.attempt_state != "running" &&
                     std::ranges::find(status.restarts, attempt, &RestartStatus::cause) != status.restarts.end());
}

void AppendTaskLines(const TaskStatus* before, const TaskStatus& after, bool told, Telling telling,
                     std::vector<std::string>& lines) {
  const bool moved = !before || before->attempt != after.attempt || before->attempt_state != after.attempt_state;
  if (moved && IsNews(after, telling) && !told) lines.push_back(TaskLine(after));
  const bool was_suspect = before && before->suspect;
  if (after.suspect && !was_suspect) lines.push_back(StrCat(Name(after), " has not sent a heartbeat for some time"));
  if (was_suspect && !after.suspect) lines.push_back(StrCat(Name(after), " sends heartbeats again"));
}

// Adds one line for each role that has begun to wait for another role.
void AppendWaitLines(const std::optional<JobStatus>& before, const JobStatus& after, std::vector<std::string>& lines) {
  for (size_t i = 0; i < after.tasks.size(); ++i) {
    const TaskStatus& task = after.tasks[i];
    if (task.id.index != 0 || task.waits_for.empty()) continue;
    const TaskStatus* known = FindTask(before, task.id, i);
    if (!known || known->waits_for != task.waits_for)
      lines.push_back(StrCat(task.id.role, " waits for ", task.waits_for));
  }
}

// Adds a line about the job's state. A gang that has formed again gets a line even if this client missed the previous
// state.
void AppendJobLine(const std::optional<JobStatus>& before, const JobStatus& after, Telling telling,
                   std::vector<std::string>& lines) {
  if (after.verdict) return;
  const bool moved = !before || before->state != after.state;
  const bool again = after.state == "RUNNING" && after.generation.value > 1;
  const bool formed = before && before->generation < after.generation;
  if (again && (moved || formed)) {
    lines.push_back(StrCat("job running again (generation ", after.generation.value, ")"));
    // After a restart, the line about the restart reports the new state already.
  } else if (telling == Telling::kEverything && moved && (after.restart_count == 0 || after.state == "STOPPING")) {
    lines.push_back(StrCat("job ", ToLower(after.state)));
  }
}

// Adds a line if the end of the job's tokens has changed, and a line if fresh tokens are overdue.
void AppendTokenLines(const std::optional<JobStatus>& before, const JobStatus& after, Telling telling,
                      std::vector<std::string>& lines) {
  if (after.verdict || !after.tokens_until) return;
  const std::string until = ToIso8601(*after.tokens_until);
  const bool has_changed = !before || before->tokens_until != after.tokens_until;
  if (after.tokens_are_overdue) {
    if (has_changed || !before->tokens_are_overdue)
      lines.push_back(StrCat("warning: fresh tokens are overdue, so the job can use the cluster only until ", until,
                             "; run: tony credentials push ", after.job.value));
  } else if (has_changed && telling == Telling::kEverything) {
    lines.push_back(StrCat("the job can use the cluster until ", until, "; fresh tokens will extend this time"));
  }
}

std::string ToleratedText(const JobStatus& status) {
  const int failed = status.tolerated_failures;
  return StrCat(failed, failed == 1 ? " task has" : " tasks have", " failed, and the job continues");
}

std::vector<std::string> Tell(const std::optional<JobStatus>& before, const JobStatus& after, Telling telling) {
  std::vector<std::string> lines;
  if (!after.tracking_url.empty() && !after.verdict && (!before || before->tracking_url != after.tracking_url))
    lines.push_back(StrCat("page: ", after.tracking_url));
  if (!after.tensorboard_url.empty() && (!before || before->tensorboard_url != after.tensorboard_url))
    lines.push_back(StrCat("tensorboard: ", after.tensorboard_url));
  if (before && before->epoch < after.epoch && before->epoch.value > 0)
    lines.push_back(StrCat("application master restarted (epoch ", after.epoch.value, "); tasks kept running"));
  if (after.trouble != (before ? before->trouble : "") && !after.verdict)
    lines.push_back(after.trouble.empty() ? "the job is no longer degraded" : StrCat("degraded: ", after.trouble));
  const std::string held = after.held ? Describe(*after.held) : "";
  if (!held.empty() && !(before && before->held && Describe(*before->held) == held)) lines.push_back(held);
  AppendTokenLines(before, after, telling, lines);
  if (telling == Telling::kEverything) {
    const std::string delay = before ? before->delay : "";
    if (after.delay != delay && !after.delay.empty() && !after.verdict) lines.push_back(StrCat("job ", after.delay));
    AppendWaitLines(before, after, lines);
  }
  for (const RestartStatus& restart : after.restarts)
    if (restart.number > (before ? before->restart_count : 0))
      lines.push_back(StrCat("restart ", restart.number, " (", restart.scope, "): ", restart.reason));
  for (size_t i = 0; i < after.tasks.size(); ++i) {
    const TaskStatus& task = after.tasks[i];
    AppendTaskLines(FindTask(before, task.id, i), task, IsCoveredByRestart(task, after), telling, lines);
  }
  if (!after.verdict && after.tolerated_failures > (before ? before->tolerated_failures : 0))
    lines.push_back(ToleratedText(after));
  AppendJobLine(before, after, telling, lines);
  return lines;
}

std::string RestartSummary(const JobStatus& status) {
  if (status.restart_count == 0 || status.restarts.empty()) return "";
  const RestartStatus& last = status.restarts.back();
  return StrCat("  restarts: ", status.restart_count, ", the last (", last.scope, "): ", last.reason, "\n");
}

std::string WriterText(const CheckpointStatus& checkpoint) {
  switch (checkpoint.resumed_from->writer) {
    case CheckpointWriter::kThisJob:
      return "this job wrote the checkpoint";
    case CheckpointWriter::kEarlierJob:
      return StrCat("job ", checkpoint.earlier_job.value_or(JobId{"?"}).value,
                    " of the same request wrote the checkpoint");
    case CheckpointWriter::kOthers:
      return "the checkpoint existed before this job";
    case CheckpointWriter::kUnknown:
      return "the job that wrote the checkpoint is unknown";
  }
  return "";
}

std::string CheckpointSummary(const JobStatus& status) {
  if (!status.checkpoint) return "";
  const CheckpointStatus& checkpoint = *status.checkpoint;
  std::string text;
  if (checkpoint.resumed_from)
    text += StrCat("  resumed from ", checkpoint.resumed_from->path, ": ", WriterText(checkpoint), "\n");
  if (!checkpoint.unknown.empty())
    text +=
        StrCat("  the writer of the checkpoints in ", checkpoint.directory, " is unknown: ", checkpoint.unknown, "\n");
  return text;
}

std::string Indented(const std::string& text) {
  std::string out;
  for (const std::string& line : Split(Trim(text), '\n')) out += StrCat("    ", line, "\n");
  return out;
}

// Returns the addresses at which a cluster's nodes show the logs; empty for a job on this machine.
std::string LogLinks(const JobStatus& status, size_t width) {
  std::string links;
  for (const TaskStatus& task : status.tasks)
    if (!task.log_url.empty()) links += StrCat("  ", FitToWidth(ToString(task.id), width), "  ", task.log_url, "\n");
  return links.empty() ? "" : "  LOGS\n" + links;
}

std::string ReasonOf(const TaskStatus& task) {
  if (task.outcome && !task.outcome->Succeeded()) return SafeLine(OutcomeText(*task.outcome));
  return task.waits_for.empty() ? "" : SafeLine(StrCat("waits for ", task.waits_for));
}

std::string TasksText(const JobStatus& status, const JobRecords& records, const TableRoom& room) {
  constexpr size_t kLeastHost = 9, kLeastReason = 14;
  TextTable table({TextColumn("TASK"), TextColumn("ATTEMPT", 4), TextColumn("STATE"), TextColumn("PID", 6, true),
                   TextColumn("MEMORY", 2, true), TextColumn("PEAK", 5, true), TextColumn("CPU", 3, true),
                   TextColumn("HOST", 3, false, kLeastHost), TextColumn("", 1, false, kLeastReason)},
                  "  ");
  const MemoryLimits limits = MemoryLimitsOf(records);
  for (const TaskStatus& task : status.tasks) {
    const Style style = StyleOfState(StateWord(task));
    const Style others = style == Style::kBad || style == Style::kWarning ? style : Style::kPlain;
    const auto limit = limits.find(task.id.role);
    table.Add({ToString(task.id), StrCat(task.attempt), StyledText(StateWord(task), style),
               task.pid == 0 ? "-" : StrCat(task.pid), MemoryOfLimit(task, limit == limits.end() ? 0 : limit->second),
               PeakMemoryText(task), CpuText(task), task.host.empty() ? "-" : SafeLine(task.host), ReasonOf(task)},
              others);
  }
  size_t width = 4;
  for (const TaskStatus& task : status.tasks) width = std::max(width, ToString(task.id).size());
  return table.Text(room) + LogLinks(status, width);
}

std::string OverdueText(const JobStatus& status) {
  return StrCat("; no client has pushed fresh ones; run: tony credentials push ", status.job.value);
}

std::string TokensText(const JobStatus& status, Instant now) {
  const Duration left = *status.tokens_until - now;
  if (left > Duration(0))
    return StrCat("  the job's tokens for the cluster end in ", HumanDuration(left), ", at ",
                  ToIso8601(*status.tokens_until), status.tokens_are_overdue ? OverdueText(status) : "", "\n");
  return StrCat("  the job's tokens for the cluster have ended at ", ToIso8601(*status.tokens_until),
                ", so it waits for fresh ones; run: tony credentials push ", status.job.value, "\n");
}

std::string JobText(const KnownStatus& known, const JobRecords& records, Instant now) {
  const JobStatus& status = known.status;
  const std::string tags = status.tags.empty() ? "" : StrCat("  tags: ", Join(status.tags, ", "), "\n");
  if (HasEnded(status)) return VerdictText(status, records) + tags;
  std::string text = StrCat("job ", status.job.value, " ", status.state, " for ", HumanDuration(now - status.submitted),
                            ": ", status.name, ", ", status.framework, ", epoch ", status.epoch.value, ", generation ",
                            status.generation.value, "\n");
  text += tags;
  if (!status.tracking_url.empty()) text += StrCat("  page: ", status.tracking_url, "\n");
  if (!status.tensorboard_url.empty()) text += StrCat("  tensorboard: ", status.tensorboard_url, "\n");
  if (!status.notebook_url.empty())
    text += StrCat("  notebook: ", status.notebook_url, ", with its token: tony notebook --attach ", status.job.value,
                   "\n");
  if (status.tokens_until) text += TokensText(status, now);
  if (!status.delay.empty()) text += StrCat("  ", status.delay, "\n");
  if (status.held) text += StrCat("  ", Describe(*status.held), "\n");
  if (!status.trouble.empty()) text += StrCat("  degraded: ", status.trouble, "\n");
  if (status.tolerated_failures > 0) text += StrCat("  ", ToleratedText(status), "\n");
  text += RestartSummary(status) + CheckpointSummary(status);
  if (known.unruled) {
    text += StrCat("  no application master runs for this job; tony wait ", status.job.value, " starts one\n");
  } else if (!known.am_reachable && status.epoch.value == 0) {
    text += "  no application master has started yet\n";
  } else if (!known.am_reachable) {
    text += "  the application master cannot be reached now; this is the last status that it wrote\n";
  }
  return text;
}

}  // namespace

MemoryLimits MemoryLimitsOf(const JobRecords& records) {
  MemoryLimits limits;
  const auto spec = records.ReadSpec();
  if (!spec.ok()) return limits;
  for (const RoleSpec& role : spec->roles) limits[role.name] = role.resources.memory_mb << 20;
  return limits;
}

std::vector<std::string> ChangeLines(const std::optional<JobStatus>& before, const JobStatus& after) {
  return Tell(before, after, Telling::kEverything);
}

std::vector<std::string> ImportantLines(const std::optional<JobStatus>& before, const JobStatus& after) {
  return Tell(before, after, Telling::kImportant);
}

std::string VerdictLine(const JobStatus& status) {
  const Verdict& verdict = *status.verdict;
  return StrCat(ToString(verdict.state), verdict.message.empty() ? "" : ": ", verdict.message);
}

std::string NewsLine(const JobStatus& status) {
  if (status.verdict) return VerdictLine(status);
  if (!status.trouble.empty()) return StrCat("degraded: ", status.trouble);
  if (status.held) return Describe(*status.held);
  return status.delay.empty() ? "-" : status.delay;
}

std::string NoteLines(const JobStatus& status) {
  constexpr int kMost = 3;
  std::string text;
  int found = 0;
  for (const TaskStatus& task : status.tasks) {
    if (!task.outcome || !task.outcome->Succeeded() || task.outcome->message.empty()) continue;
    if (++found <= kMost) text += StrCat("  ", ToString(task.id), ": ", task.outcome->message, "\n");
  }
  if (found > kMost) text += StrCat("  the same for ", Counted(found - kMost, "more task"), "\n");
  return text;
}

std::string VerdictText(const JobStatus& status, const JobRecords& records) {
  const Verdict& verdict = *status.verdict;
  const std::string& job = status.job.value;
  const Duration length = status.ended.value_or(status.submitted) - status.submitted;
  std::string text = StrCat("job ", job, " ", ToString(verdict.state), " after ", HumanDuration(length), "\n");
  if (verdict.state != FinalState::kSucceeded) text += StrCat("  first cause: ", verdict.message, "\n");
  if (status.tolerated_failures > 0 && verdict.state == FinalState::kSucceeded)
    text += StrCat("  despite failures: ", verdict.message, "\n");
  text += NoteLines(status);
  if (!verdict.stderr_tail.empty()) text += StrCat("  last lines on stderr:\n", Indented(verdict.stderr_tail));
  if (!verdict.stdout_tail.empty()) text += StrCat("  last lines on stdout:\n", Indented(verdict.stdout_tail));
  if (verdict.attempt && verdict.state != FinalState::kSucceeded)
    text += StrCat("  more: tony logs ", job, " ", ToString(*verdict.attempt), "\n");
  text += RestartSummary(status) + CheckpointSummary(status);
  if (const std::string problem = OutputsProblem(records, status); !problem.empty())
    text += StrCat("  ", problem, "\n");
  return text + StrCat("  logs: ", BackendOf(records.job()).logs().PlaceOfLogs(records), "\n");
}

std::string StatusText(const KnownStatus& known, const JobRecords& records, Instant now, const TableRoom& room) {
  const auto sweep = ViewSweep(records, known.status);
  return Fitted(JobText(known, records, now), room) +
         (sweep ? SweepText(*sweep, room) : TasksText(known.status, records, room));
}

}  // namespace tony
