#include "runtime/job/job_status.h"

#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {

// What a task used is written once, beside its outcome.
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

// The condition of a planned kill is not reported. Documents of 0.1 have no restarts.
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
}

std::string ToJson(const JobStatus& status) { return WriteJson(status); }

Result<JobStatus> JobStatusFromJson(std::string_view text) { return ReadJson<JobStatus>(text, "job status"); }

}  // namespace tony
