#include "runtime/job/job_status.h"

#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/job/instant_text.h"
#include "runtime/job/json_fields.h"
#include "runtime/job/outcome_json.h"
#include "runtime/job/usage_json.h"

namespace tony {

namespace json = boost::json;

namespace {

constexpr int64_t kStatusSchema = 1;

void WriteTime(json::object& out, std::string_view name, const std::optional<Instant>& time) {
  if (time) out[name] = ToIso8601(*time);
}

json::object TaskJson(const TaskStatus& task) {
  json::object out;
  out["task"] = ToString(task.id);
  out["state"] = task.state;
  out["attempt"] = task.attempt;
  out["attempt_state"] = task.attempt_state;
  out["host"] = task.host;
  if (!task.log_url.empty()) out["log_url"] = task.log_url;
  out["pid"] = task.pid;
  if (!task.waits_for.empty()) out["waits_for"] = task.waits_for;
  out["suspect"] = task.suspect;
  WriteTime(out, "started", task.started);
  WriteTime(out, "ended", task.ended);
  std::optional<Usage> usage = task.usage;
  if (task.outcome) {
    if (task.outcome->usage) usage = task.outcome->usage;
    out["outcome"] = OutcomeJson(*task.outcome);
    out["outcome"].as_object().erase("usage");  // once is enough
  }
  if (usage) out["usage"] = UsageJson(*usage);
  return out;
}

json::object RestartJson(const RestartStatus& restart) {
  json::object out;
  out["number"] = restart.number;
  WriteTime(out, "time", restart.time);
  out["scope"] = restart.scope;
  out["task"] = ToString(restart.cause.task);
  out["attempt"] = restart.cause.number;
  out["reason"] = restart.reason;
  out["charged"] = restart.charged;
  return out;
}

Instant ReadTime(JsonFields& fields, std::string_view name) {
  const auto time = InstantFromIso8601(fields.String(name));
  if (!time) fields.Fail(name, "a time such as 2026-11-21T09:30:15.123Z");
  return time.value_or(Instant());
}

std::optional<Instant> ReadTimeIfPresent(JsonFields& fields, std::string_view name) {
  if (!fields.Has(name)) return std::nullopt;
  return ReadTime(fields, name);
}

Result<TaskStatus> ReadTaskStatus(JsonFields fields) {
  TaskStatus task;
  task.id = ReadTask(fields);
  task.state = fields.String("state");
  task.attempt = static_cast<int>(fields.Int("attempt", 0, kMaxCount));
  task.attempt_state = fields.String("attempt_state");
  task.host = fields.String("host");
  if (fields.Has("log_url")) task.log_url = fields.String("log_url");
  task.pid = fields.Int("pid");
  task.suspect = fields.Bool("suspect");
  task.started = ReadTimeIfPresent(fields, "started");
  task.ended = ReadTimeIfPresent(fields, "ended");
  if (fields.Has("waits_for")) task.waits_for = fields.String("waits_for");
  TRY(fields.status());
  if (fields.Has("outcome")) {
    TRY_ASSIGN(task.outcome, ReadOutcome(fields.Fields("outcome")));
  }
  if (fields.Has("usage")) {
    TRY_ASSIGN(task.usage, ReadUsage(fields.Fields("usage")));
  }
  if (task.outcome) task.outcome->usage = task.usage;
  return task;
}

Result<RestartStatus> ReadRestartStatus(JsonFields fields) {
  RestartStatus restart;
  restart.number = static_cast<int>(fields.Int("number", 1, kMaxCount));
  restart.time = ReadTime(fields, "time");
  restart.scope = fields.String("scope");
  restart.cause = {ReadTask(fields), static_cast<int>(fields.Int("attempt", 0, kMaxCount))};
  restart.reason = fields.String("reason");
  restart.charged = fields.Bool("charged");
  TRY(fields.status());
  return restart;
}

std::string TextIfPresent(JsonFields& fields, std::string_view name) {
  return fields.Has(name) ? fields.String(name) : "";
}

json::object CheckpointJson(const CheckpointStatus& checkpoint) {
  json::object out;
  out["directory"] = checkpoint.directory;
  if (checkpoint.resumed_from) {
    json::object from;
    from["path"] = checkpoint.resumed_from->path;
    if (checkpoint.resumed_from->step >= 0) from["step"] = checkpoint.resumed_from->step;
    from["writer"] = ToString(checkpoint.resumed_from->writer);
    if (checkpoint.earlier_job) from["job"] = checkpoint.earlier_job->value;
    out["resumed_from"] = std::move(from);
  }
  if (!checkpoint.unknown.empty()) out["unknown"] = checkpoint.unknown;
  return out;
}

Result<CheckpointStatus> ReadCheckpointStatus(JsonFields fields) {
  CheckpointStatus checkpoint{.directory = fields.String("directory")};
  checkpoint.unknown = TextIfPresent(fields, "unknown");
  if (fields.Has("resumed_from")) {
    JsonFields from = fields.Fields("resumed_from");
    const auto writer = CheckpointWriterFromString(from.String("writer"));
    if (!writer) from.Fail("writer", "this_job, earlier_job, others or unknown");
    checkpoint.resumed_from = Checkpoint{.path = from.String("path"),
                                         .step = from.Has("step") ? from.Int("step") : -1,
                                         .writer = writer.value_or(CheckpointWriter::kUnknown)};
    if (from.Has("job")) checkpoint.earlier_job = JobId{from.String("job")};
    TRY(from.status());
  }
  TRY(fields.status());
  return checkpoint;
}

void WriteContract(json::object& out, const JobStatus& status) {
  if (!status.request.value.empty()) {
    out["request_id"] = status.request.value;
    out["submission"] = status.number;
  }
  if (!status.claim.owner.value.empty()) out["owner"] = status.claim.owner.value;
  if (!status.watcher.value.empty()) out["watcher"] = status.watcher.value;
  if (status.claim.watch_timeout > Duration(0)) out["watch_timeout_ms"] = status.claim.watch_timeout.count();
  if (status.planned_kill) {
    json::object planned;
    WriteTime(planned, "due", status.planned_kill->due);
    planned["reason"] = status.planned_kill->reason;
    out["planned_kill"] = std::move(planned);
  }
  if (!status.tracking_url.empty()) out["tracking_url"] = status.tracking_url;
  if (!status.tensorboard_url.empty()) out["tensorboard_url"] = status.tensorboard_url;
}

// Of a planned kill the condition is not told.
void ReadContract(JsonFields& fields, JobStatus& status) {
  status.request.value = TextIfPresent(fields, "request_id");
  if (fields.Has("submission")) status.number = fields.Int("submission", 0);
  status.claim.owner.value = TextIfPresent(fields, "owner");
  status.watcher.value = TextIfPresent(fields, "watcher");
  if (fields.Has("watch_timeout_ms")) status.claim.watch_timeout = fields.Millis("watch_timeout_ms");
  if (fields.Has("planned_kill")) {
    JsonFields planned = fields.Fields("planned_kill");
    status.planned_kill = KillRequest{.reason = planned.String("reason"), .due = ReadTime(planned, "due")};
    if (!planned.status().ok()) fields.Fail("planned_kill", "a time and a reason");
  }
  status.tracking_url = TextIfPresent(fields, "tracking_url");
  status.tensorboard_url = TextIfPresent(fields, "tensorboard_url");
}

Result<JobStatus> ReadStatus(const json::value& document) {
  JsonFields fields(document);
  JobStatus status;
  fields.Int("schema", kStatusSchema, kStatusSchema);
  status.job.value = fields.String("job");
  status.name = fields.String("name");
  status.user = fields.String("user");
  status.framework = fields.String("framework");
  if (fields.Has("tags")) status.tags = fields.Strings("tags");
  status.state = fields.String("state");
  status.seq = fields.Int("seq");
  status.epoch.value = fields.Int("epoch");
  status.generation.value = fields.Int("generation");
  status.submitted = ReadTime(fields, "submitted");
  status.ended = ReadTimeIfPresent(fields, "ended");
  auto tasks = fields.List("tasks");
  // Documents of 0.1 have none of these.
  auto restarts = fields.Has("restarts") ? fields.List("restarts") : std::vector<JsonFields>();
  if (fields.Has("restart_count")) status.restart_count = static_cast<int>(fields.Int("restart_count", 0, kMaxCount));
  if (fields.Has("tolerated_failures"))
    status.tolerated_failures = static_cast<int>(fields.Int("tolerated_failures", 0, kMaxCount));
  if (fields.Has("delay")) status.delay = fields.String("delay");
  if (fields.Has("trouble")) status.trouble = fields.String("trouble");
  ReadContract(fields, status);
  TRY(fields.status());
  if (fields.Has("verdict")) {
    TRY_ASSIGN(status.verdict, ReadVerdict(fields.Fields("verdict")));
  }
  if (fields.Has("checkpoint")) {
    TRY_ASSIGN(status.checkpoint, ReadCheckpointStatus(fields.Fields("checkpoint")));
  }
  for (auto& item : tasks) {
    TRY_ASSIGN(TaskStatus task, ReadTaskStatus(std::move(item)));
    status.tasks.push_back(std::move(task));
  }
  for (auto& item : restarts) {
    TRY_ASSIGN(RestartStatus restart, ReadRestartStatus(std::move(item)));
    status.restarts.push_back(std::move(restart));
  }
  return status;
}

}  // namespace

std::string ToJson(const JobStatus& status) {
  json::object out;
  out["schema"] = kStatusSchema;
  out["job"] = status.job.value;
  out["name"] = status.name;
  out["user"] = status.user;
  out["framework"] = status.framework;
  if (!status.tags.empty()) out["tags"] = json::array(status.tags.begin(), status.tags.end());
  out["state"] = status.state;
  out["seq"] = status.seq;
  out["epoch"] = status.epoch.value;
  out["generation"] = status.generation.value;
  WriteTime(out, "submitted", status.submitted);
  WriteTime(out, "ended", status.ended);
  if (status.verdict) out["verdict"] = VerdictJson(*status.verdict);
  if (status.checkpoint) out["checkpoint"] = CheckpointJson(*status.checkpoint);
  if (status.tolerated_failures > 0) out["tolerated_failures"] = status.tolerated_failures;
  json::array tasks;
  for (const auto& task : status.tasks) tasks.push_back(TaskJson(task));
  out["tasks"] = std::move(tasks);
  out["restart_count"] = status.restart_count;
  json::array restarts;
  for (const auto& restart : status.restarts) restarts.push_back(RestartJson(restart));
  out["restarts"] = std::move(restarts);
  if (!status.delay.empty()) out["delay"] = status.delay;
  if (!status.trouble.empty()) out["trouble"] = status.trouble;
  WriteContract(out, status);
  return SerializeJson(out);
}

Result<JobStatus> JobStatusFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "job status"));
  auto status = ReadStatus(document);
  if (!status.ok()) return Annotate(status.error(), "job status");
  return status;
}

}  // namespace tony
