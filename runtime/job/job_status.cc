#include "runtime/job/job_status.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

constexpr int64_t kMega = 1 << 20, kGiga = 1 << 30;

std::string_view UnitOf(int64_t most) { return most < kGiga ? " MB" : " GB"; }

// Returns `bytes` as a short number, in MB or GB depending on `most`. UnitOf() names the unit.
std::string InUnit(int64_t bytes, int64_t most) {
  if (most < kGiga) return std::to_string((bytes + kMega / 2) / kMega);
  const int64_t tenths = (bytes + kGiga / 20) / (kGiga / 10);
  return most < 100 * kGiga ? StrCat(tenths / 10, ".", tenths % 10) : std::to_string(tenths / 10);
}

std::string EndText(const RoleSpec& role) {
  if (role.completion != Completion::kTracked) return "the job does not wait for it";
  if (role.min_succeeded > 0)
    return StrCat("complete when ", role.min_succeeded, " of ", role.instances, " tasks have succeeded");
  return role.instances == 1 ? "complete when its task has ended"
                             : StrCat("complete when its ", role.instances, " tasks have ended");
}

std::string FailureText(int fails_at) {
  if (fails_at == 0) return "failures are tolerated";
  return fails_at == 1 ? "the first failure fails the job" : StrCat(fails_at, " failures fail the job");
}

}  // namespace

// The usage is written once, next to the outcome and not inside the outcome.
template <class Io>
void Fields(Io& io, Is<TaskStatus> auto& task) {
  io.Field("task", task.id);
  io.Field("state", task.state);
  io.Field("attempt", task.attempt);
  io.Field("attempt_state", task.attempt_state);
  io.Field("host", task.host);
  io.IfSet("log_url", task.log_url);
  io.Field("pid", task.pid);
  io.IfSet("waits_for", task.waits_for);
  io.Field("suspect", task.suspect);
  io.IfSet("started", task.started, kIso);
  io.IfSet("ended", task.ended, kIso);
  if constexpr (Io::kReads) {
    io.IfSet("outcome", task.outcome);
    io.IfSet("usage", task.usage);
    if (task.outcome) task.outcome->usage = task.usage;
  } else {
    if (task.outcome) io.Object("outcome", [&](Io& nested) { FieldsWithoutUsage(nested, *task.outcome); });
    io.IfSet("usage", task.outcome && task.outcome->usage ? task.outcome->usage : task.usage);
  }
}

void Fields(auto& io, Is<RestartStatus> auto& restart) {
  io.Field("number", restart.number, Between{1, kMostCount});
  io.Field("time", restart.time, kIso);
  io.Field("scope", restart.scope);
  Fields(io, restart.cause, 0);
  io.Field("reason", restart.reason);
  io.Field("charged", restart.charged);
}

void Fields(auto& io, Is<CheckpointStatus> auto& checkpoint) {
  io.Field("directory", checkpoint.directory);
  if (io.Present("resumed_from", checkpoint.resumed_from.has_value())) {
    io.Object("resumed_from", [&](auto& from) {
      auto& newest = Value(checkpoint.resumed_from);
      from.Field("path", newest.path);
      from.Unless("step", newest.step, -1);
      from.Field("writer", newest.writer);
      from.IfSet("job", checkpoint.earlier_job);
    });
  }
  io.IfSet("unknown", checkpoint.unknown);
}

void Fields(auto& io, Is<HeldTask> auto& held) {
  Fields(io, held.attempt);
  io.Field("host", held.host);
  io.Field("until", held.until, kIso);
  io.IfSet("verdict", held.verdict);
}

// The condition of a planned kill is not written. Documents of release 0.1 have no restarts.
void Fields(auto& io, Is<JobStatus> auto& status) {
  Schema(io, 1);
  io.Field("job", status.job);
  io.Field("name", status.name);
  io.Field("user", status.user);
  io.Field("framework", status.framework);
  io.IfSet("tags", status.tags);
  io.Field("state", status.state);
  io.Field("seq", status.seq);
  io.Field("epoch", status.epoch);
  io.Field("generation", status.generation);
  io.Field("submitted", status.submitted, kIso);
  io.IfSet("ended", status.ended, kIso);
  io.IfSet("verdict", status.verdict);
  io.IfSet("checkpoint", status.checkpoint);
  io.IfSet("tolerated_failures", status.tolerated_failures);
  io.IfSet("held", status.held);
  io.Field("tasks", status.tasks);
  io.Later("restart_count", status.restart_count);
  io.Later("restarts", status.restarts);
  io.IfSet("delay", status.delay);
  io.IfSet("trouble", status.trouble);
  io.IfSet("request_id", status.request);
  if (io.Present("submission", !status.request.value.empty())) io.Field("submission", status.number);
  io.IfSet("owner", status.claim.owner);
  io.IfSet("watcher", status.watcher);
  io.IfSet("watch_timeout_ms", status.claim.watch_timeout);
  if (io.Present("planned_kill", status.planned_kill.has_value())) {
    io.Object("planned_kill", [&](auto& kill) {
      kill.Field("due", Value(status.planned_kill).due, kIso);
      kill.Field("reason", Value(status.planned_kill).reason);
    });
  }
  io.IfSet("tracking_url", status.tracking_url);
  io.IfSet("tensorboard_url", status.tensorboard_url);
  io.IfSet("notebook_url", status.notebook_url);
  io.IfSet("tokens_until", status.tokens_until, kIso);
  io.IfSet("tokens_issued", status.tokens_issued, kIso);
  io.IfSet("tokens_overdue", status.tokens_are_overdue);
}

std::string ToJson(const JobStatus& status) { return WriteJson(status); }

Result<JobStatus> JobStatusFromJson(std::string_view text) { return ReadJson<JobStatus>(text, "job status"); }

std::string StateWord(const TaskStatus& task) {
  if (task.suspect) return "silent";
  return task.attempt_state.empty() || task.state == "backoff" ? task.state : task.attempt_state;
}

std::string MemoryText(const TaskStatus& task) {
  if (!task.usage) return "-";
  const Usage& usage = *task.usage;
  const int64_t most = std::max(usage.memory_bytes, usage.most_memory_bytes);
  if (most == 0) return "-";
  const bool known = usage.samples > 0 && !task.ended;
  return StrCat(known ? StrCat(InUnit(usage.memory_bytes, most), "/") : "", InUnit(most, most), UnitOf(most));
}

std::string MemoryOfLimit(const TaskStatus& task, int64_t limit_bytes) {
  if (!task.usage) return "-";
  const Usage& usage = *task.usage;
  const bool known = usage.samples > 0 && !task.ended;
  const int64_t used = known ? usage.memory_bytes : std::max(usage.memory_bytes, usage.most_memory_bytes);
  if (used == 0) return "-";
  const int64_t most = std::max(used, limit_bytes);
  return StrCat(InUnit(used, most), limit_bytes > 0 ? StrCat("/", InUnit(limit_bytes, most)) : "", UnitOf(most));
}

std::string PeakMemoryText(const TaskStatus& task) {
  const int64_t most = task.usage ? std::max(task.usage->memory_bytes, task.usage->most_memory_bytes) : 0;
  return most == 0 ? "-" : StrCat(InUnit(most, most), UnitOf(most));
}

std::string CpuText(const TaskStatus& task) {
  if (!task.usage) return "-";
  const Usage& usage = *task.usage;
  const bool known = usage.samples > 0 && !task.ended;
  if (!known && usage.elapsed.count() <= 0) return "-";
  const int64_t millicores = known ? usage.millicores : usage.cpu.count() * 1000 / usage.elapsed.count();
  return StrCat((millicores + 5) / 10, "%");
}

TaskStatus TotalUsage(const JobStatus& status) {
  TaskStatus all;
  Usage sum;
  bool known = false;
  for (const TaskStatus& task : status.tasks) {
    if (!task.usage || (task.ended && !status.verdict)) continue;
    known = true;
    sum.samples += task.usage->samples;
    sum.memory_bytes += task.usage->memory_bytes;
    sum.most_memory_bytes += task.usage->most_memory_bytes;
    sum.cpu += task.usage->cpu;
    sum.elapsed = std::max(sum.elapsed, task.usage->elapsed);
    sum.millicores += task.usage->millicores;
  }
  if (known) all.usage = sum;
  all.ended = status.ended;
  return all;
}

std::string Describe(const HeldTask& held) {
  const std::string task = ToString(held.attempt), until = ToIso8601(held.until);
  if (!held.verdict) return StrCat(task, " is held for tony shell until ", until);
  return StrCat("verdict ", ToString(*held.verdict), " is known; waiting until ", until, " because ", task,
                " is held for tony shell; tony kill ends the hold");
}

std::string ClockText(Duration length) {
  const int64_t seconds = std::max<int64_t>(0, length.count()) / 1000;
  const auto two = [](int64_t number) { return StrCat(number < 10 ? "0" : "", number); };
  if (seconds < 3600) return StrCat(seconds / 60, ":", two(seconds % 60));
  if (seconds < 86400) return StrCat(seconds / 3600, ":", two(seconds % 3600 / 60), ":", two(seconds % 60));
  return StrCat(seconds / 86400, "d ", two(seconds % 86400 / 3600), "h");
}

std::vector<std::string> CompletionLines(const JobSpec& spec) {
  std::vector<std::string> lines;
  std::string chief;
  for (const RoleSpec& role : spec.roles) {
    lines.push_back(StrCat("role ", role.name, " (", ToString(role.completion), "): ", EndText(role), "; ",
                           FailureText(role.FailureLimit())));
    if (spec.IsChief({role.name, 0})) chief = StrCat(role.name, ":0 fails, or if ");
  }
  if (spec.completion_rule == CompletionRule::kTony)
    lines.push_back(StrCat("completion rule tony: the job fails if ", chief, "all tracked tasks fail"));
  return lines;
}

}  // namespace tony
