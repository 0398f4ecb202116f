#include "runtime/records/history_json.h"

#include <boost/json.hpp>

#include "runtime/job/json_fields.h"
#include "runtime/job/outcome_json.h"

namespace tony {
namespace {

namespace json = boost::json;

void WriteTime(json::object& out, std::string_view name, const std::optional<Instant>& time) {
  if (time) out[name] = ToIso8601(*time);
}

json::object AttemptJson(const AttemptHistory& attempt) {
  json::object out;
  out["task"] = ToString(attempt.id.task);
  out["attempt"] = attempt.id.number;
  out["host"] = attempt.host;
  WriteTime(out, "started", attempt.started);
  WriteTime(out, "ended", attempt.ended);
  if (attempt.outcome) out["outcome"] = OutcomeJson(*attempt.outcome);
  return out;
}

json::object RestartJson(const RestartHistory& restart) {
  const RestartDecided& d = restart.decided;
  json::object out;
  out["restart"] = d.number;
  WriteTime(out, "time", restart.time);
  out["scope"] = ToString(d.scope);
  out["task"] = ToString(d.cause.task);
  out["attempt"] = d.cause.number;
  out["reason"] = d.reason;
  out["charged"] = d.charged;
  json::array tasks;
  for (const TaskId& task : d.tasks) tasks.emplace_back(ToString(task));
  out["tasks"] = std::move(tasks);
  WriteTime(out, "began", restart.began);
  return out;
}

json::object TimeJson(const TimeLedger& time) {
  json::object out;
  out["waiting_ms"] = time.waiting.count();
  out["running_ms"] = time.running.count();
  out["restarting_ms"] = time.restarting.count();
  out["stopping_ms"] = time.stopping.count();
  out["total_ms"] = time.Total().count();
  return out;
}

Result<json::array> EventsJson(const std::vector<Decision>& decisions) {
  json::array events;
  for (const Decision& decision : decisions) {
    TRY_ASSIGN(json::value event, ParseJson(ToJson(decision), "decision"));
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace

Result<std::string> HistoryJson(const ToldJob& told, bool with_events) {
  const JobStatus& status = told.status;
  json::object out;
  out["schema"] = 1;
  out["job"] = status.job.value;
  out["name"] = status.name;
  out["state"] = status.state;
  out["epoch"] = told.history.epoch.value;
  out["generation"] = told.history.generation.value;
  WriteTime(out, "submitted", status.submitted);
  WriteTime(out, "ended", status.ended);
  if (status.verdict) out["verdict"] = VerdictJson(*status.verdict);
  if (status.tolerated_failures > 0) out["tolerated_failures"] = status.tolerated_failures;
  out["time"] = TimeJson(told.history.time);
  json::array attempts, restarts;
  for (const AttemptHistory& attempt : told.history.attempts) attempts.push_back(AttemptJson(attempt));
  for (const RestartHistory& restart : told.history.restarts) restarts.push_back(RestartJson(restart));
  out["attempts"] = std::move(attempts);
  out["restarts"] = std::move(restarts);
  out["torn_bytes"] = told.torn_bytes;
  if (with_events) {
    TRY_ASSIGN(out["events"], EventsJson(told.decisions));
  }
  return SerializeJson(out);
}

}  // namespace tony
