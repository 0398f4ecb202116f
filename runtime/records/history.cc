#include "runtime/records/history.h"

#include <map>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

class HistoryReader {
 public:
  explicit HistoryReader(Instant from) : since_(from) {}

  void Read(const Decision& decision) {
    std::visit([&](const auto& body) { On(body, decision.time); }, decision.body);
  }

  JobHistory Finish(Instant until) && {
    Spend(until);
    for (auto& [id, attempt] : attempts_) history_.attempts.push_back(std::move(attempt));
    return std::move(history_);
  }

 private:
  void On(const EpochBegan& d, Instant) { history_.epoch = d.epoch; }
  void On(const ContainersRequested& d, Instant) {
    for (const AttemptId& id : d.attempts) Of(id);
  }
  void On(const ContainerAssigned& d, Instant) {
    Of(d.attempt).host = d.host;
    Of(d.attempt).log_url = d.log_url;
    containers_[d.container] = d;
  }
  void On(const GenerationFormed& d, Instant time) {
    history_.generation = d.generation;
    Enter(JobPhaseKind::kRunning, time);
  }
  void On(const AttemptRan& d, Instant time) { Of(d.attempt).started = time; }
  void On(const AttemptEnded& d, Instant time) {
    Of(d.attempt).ended = time;
    Of(d.attempt).outcome = d.outcome;
  }
  void On(const RestartDecided& d, Instant time) {
    history_.restarts.push_back({d, time, std::nullopt});
    if (d.scope == RestartScope::kGang || d.scope == RestartScope::kJob) Enter(JobPhaseKind::kRestarting, time);
  }
  void On(const RestartBegan& d, Instant time) {
    for (RestartHistory& restart : history_.restarts) {
      if (restart.decided.number == d.number) restart.began = time;
    }
    for (const RenewedAttempt& renewed : d.renewed) {
      AttemptHistory& attempt = Of(renewed.attempt);
      attempt.host = containers_[renewed.container].host;
      attempt.log_url = containers_[renewed.container].log_url;
      attempt.is_renewed = true;
    }
    for (const AttemptId& id : d.requested) Of(id);
  }
  void On(const JobStopping& d, Instant time) {
    history_.verdict = d.verdict;
    Enter(JobPhaseKind::kStopping, time);
  }
  void On(const JobEnded&, Instant time) {
    Spend(time);
    history_.ended = time;
  }
  template <class Other>
  void On(const Other&, Instant) {}  // other decisions change nothing here

  AttemptHistory& Of(const AttemptId& id) {
    AttemptHistory& attempt = attempts_[id];
    attempt.id = id;
    return attempt;
  }
  void Enter(JobPhaseKind next, Instant time) {
    Spend(time);
    phase_ = next;
  }
  void Spend(Instant time) {
    if (history_.ended) return;
    PartOf(phase_) += time - since_;
    std::vector<JobPhase>& phases = history_.phases;
    const bool goes_on = !phases.empty() && phases.back().kind == phase_;
    if (goes_on) phases.back().until = time;
    if (!goes_on && time > since_) phases.push_back({phase_, since_, time});
    since_ = time;
  }
  Duration& PartOf(JobPhaseKind kind) {
    switch (kind) {
      case JobPhaseKind::kWaiting:
        return history_.time.waiting;
      case JobPhaseKind::kRunning:
        return history_.time.running;
      case JobPhaseKind::kRestarting:
        return history_.time.restarting;
      case JobPhaseKind::kStopping:
        return history_.time.stopping;
    }
    return history_.time.waiting;
  }

  JobHistory history_;
  std::map<AttemptId, AttemptHistory> attempts_;
  std::map<ContainerId, ContainerAssigned> containers_;
  JobPhaseKind phase_ = JobPhaseKind::kWaiting;
  Instant since_;
};

}  // namespace

JobHistory HistoryOf(const std::vector<Decision>& decisions, Instant from, Instant until) {
  HistoryReader reader(from);
  for (const Decision& decision : decisions) reader.Read(decision);
  return std::move(reader).Finish(until);
}

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

void Fields(JsonWriter& io, const TimeBreakdown& time) {
  io.Field("waiting_ms", time.waiting);
  io.Field("running_ms", time.running);
  io.Field("restarting_ms", time.restarting);
  io.Field("stopping_ms", time.stopping);
  io.Field("total_ms", time.Total());
}

std::string HistoryJson(const HistoryDocument& told, bool with_events) {
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
