#include "runtime/records/history_json.h"

#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {

void Fields(JsonWriter& io, const AttemptHistory& attempt) {
  Fields(io, attempt.id);
  io.Field("host", attempt.host);
  io.IfSet("started", attempt.started, kIso);
  io.IfSet("ended", attempt.ended, kIso);
  io.IfSet("outcome", attempt.outcome);
}

void Fields(JsonWriter& io, const RestartHistory& restart) {
  const RestartDecided& d = restart.decided;
  io.Field("restart", d.number);
  io.Field("time", restart.time, kIso);
  io.Field("scope", d.scope);
  Fields(io, d.cause);
  io.Field("reason", d.reason);
  io.Field("charged", d.charged);
  io.Field("tasks", d.tasks);
  io.IfSet("began", restart.began, kIso);
}

void Fields(JsonWriter& io, const TimeLedger& time) {
  io.Field("waiting_ms", time.waiting);
  io.Field("running_ms", time.running);
  io.Field("restarting_ms", time.restarting);
  io.Field("stopping_ms", time.stopping);
  io.Field("total_ms", time.Total());
}

std::string HistoryJson(const ToldJob& told, bool with_events) {
  return WriteJsonObject([&](JsonWriter& io) {
    const JobStatus& status = told.status;
    Schema(io, 1);
    io.Field("job", status.job);
    io.Field("name", status.name);
    io.Field("state", status.state);
    io.Field("epoch", told.history.epoch);
    io.Field("generation", told.history.generation);
    io.Field("submitted", status.submitted, kIso);
    io.IfSet("ended", status.ended, kIso);
    io.IfSet("verdict", status.verdict);
    io.IfSet("tolerated_failures", status.tolerated_failures);
    io.Field("time", told.history.time);
    io.Field("attempts", told.history.attempts);
    io.Field("restarts", told.history.restarts);
    io.Field("torn_bytes", told.torn_bytes);
    std::vector<RawJson> events;
    for (const Decision& decision : told.decisions) events.push_back({ToJson(decision)});
    if (with_events) io.Field("events", events);
  });
}

}  // namespace tony
