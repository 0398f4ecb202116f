// The lists of fields of all decisions. Journals of earlier releases lack what is IfSet() here: they may have been
// written before it was known.
#include "runtime/records/decisions.h"

#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {

// In the order of the variant. The names are in journals: never change one.
constexpr std::array<std::string_view, std::variant_size_v<DecisionBody>> kDecisionNames = {
    "epoch_began",      "job_accepted",       "containers_requested",   "container_assigned", "gang_allocated",
    "attempt_launched", "attempt_registered", "generation_formed",      "attempt_ran",        "attempt_suspected",
    "attempt_heard",    "attempt_ended",      "container_kill_ordered", "container_ended",    "job_stopping",
    "stop_hurried",     "job_ended",          "restart_decided",        "checkpoint_sought",  "checkpoint_noted",
    "restart_began",    "attempt_stopping",   "owner_changed",          "watcher_changed",    "kill_planned",
    "kill_voided",      "listing_sought",     "checkpoints_listed",     "values_published",   "stage_opened",
    "role_left",        "failure_tolerated",  "role_finished",
};
static_assert(!kDecisionNames.back().empty());

constexpr Between kCounted{1, kMostCount};
constexpr int64_t kMaxPort = 65535;

void Fields(auto& io, Is<EpochBegan> auto& d) { io.Field("epoch", d.epoch, AtLeast(1)); }
void Fields(auto&, Is<JobAccepted> auto&) {}
void Fields(auto& io, Is<ContainersRequested> auto& d) { io.Field("attempts", d.attempts); }
void Fields(auto& io, Is<ContainerAssigned> auto& d) {
  Fields(io, d.attempt);
  io.Field("container", d.container);
  io.Field("host", d.host);
}
void Fields(auto&, Is<GangAllocated> auto&) {}
void Fields(auto& io, Is<AttemptLaunched> auto& d) { Fields(io, d.attempt); }
void Fields(auto& io, Is<AttemptRegistered> auto& d) {
  Fields(io, d.attempt);
  io.Field("host", d.endpoint.host);
  io.Field("port", d.endpoint.port, Between{0, kMaxPort});
  io.IfSet("ports", d.ports, Between{1, kMaxPort});
}
void Fields(auto& io, Is<GenerationFormed> auto& d) { io.Field("generation", d.generation, AtLeast(1)); }
void Fields(auto& io, Is<AttemptRan> auto& d) {
  Fields(io, d.attempt);
  io.Field("pid", d.pid);
}
void Fields(auto& io, Is<AttemptSuspected> auto& d) { Fields(io, d.attempt); }
void Fields(auto& io, Is<AttemptHeard> auto& d) { Fields(io, d.attempt); }
void Fields(auto& io, Is<AttemptEnded> auto& d) {
  Fields(io, d.attempt);
  io.Field("outcome", d.outcome);
  io.IfSet("reported", d.reported);
}
void Fields(auto& io, Is<ContainerKillOrdered> auto& d) { io.Field("container", d.container); }
void Fields(auto& io, Is<ContainerEnded> auto& d) { io.Field("container", d.container); }
void Fields(auto& io, Is<JobStopping> auto& d) {
  io.Field("verdict", d.verdict);
  io.Field("grace_ms", d.grace);
}
void Fields(auto& io, Is<StopHurried> auto& d) { io.Field("grace_ms", d.grace); }
void Fields(auto&, Is<JobEnded> auto&) {}
void Fields(auto& io, Is<RestartDecided> auto& d) {
  io.Field("restart", d.number, kCounted);
  io.Field("scope", d.scope);
  Fields(io, d.cause);
  io.Field("reason", d.reason);
  io.Field("charged", d.charged);
  io.Field("tasks", d.tasks);
  io.Field("not_before", d.not_before);
  io.Field("grace_ms", d.grace);
}
void Fields(auto& io, Is<CheckpointSought> auto& d) { io.Field("restart", d.restart, kCounted); }
void Fields(auto& io, Is<CheckpointNoted> auto& d) {
  io.Field("restart", d.restart, kCounted);
  io.IfSet("newest", d.newest);
  io.Unless("known", d.known, true);
}
void Fields(auto& io, Is<RenewedAttempt> auto& renewed) {
  Fields(io, renewed.attempt);
  io.Field("container", renewed.container);
}
void Fields(auto& io, Is<RestartBegan> auto& d) {
  io.Field("restart", d.number, kCounted);
  io.Field("renewed", d.renewed);
  io.Field("requested", d.requested);
}
void Fields(auto& io, Is<AttemptStopping> auto& d) {
  Fields(io, d.attempt);
  io.Field("because", d.because);
  io.Field("grace_ms", d.grace);
}
void Fields(auto& io, Is<OwnerChanged> auto& d) {
  io.Field("owner", d.claim.owner);
  io.Field("watch_timeout_ms", d.claim.watch_timeout);
}
void Fields(auto& io, Is<WatcherChanged> auto& d) { io.Field("watcher", d.watcher); }
void Fields(auto& io, Is<KillPlanned> auto& d) {
  io.Field("plan", d.number, kCounted);
  io.Field("reason", d.request.reason);
  io.Field("grace_ms", d.request.grace, AtLeast(-1));
  io.Field("if_owner", d.request.if_owner);
  io.Field("if_watcher", d.request.if_watcher);
  io.Field("due", d.request.due);
  io.IfSet("asker", d.request.asker);
}
void Fields(auto& io, Is<KillVoided> auto& d) {
  io.Field("plan", d.number, kCounted);
  io.Field("reason", d.reason);
}
void Fields(auto&, Is<ListingSought> auto&) {}
void Fields(auto& io, Is<CheckpointsListed> auto& d) { Fields(io, d.listing); }
void Fields(auto& io, Is<ValuesPublished> auto& d) {
  Fields(io, d.attempt);
  io.Field("values", d.values);
}
void Fields(auto& io, Is<StageOpened> auto& d) {
  if (io.Present("role", !d.role.empty())) return io.Field("role", d.role);
  io.Field("stage", d.stage, kCounted);
}
void Fields(auto& io, Is<RoleLeft> auto& d) {
  io.Field("role", d.role);
  io.Field("group", d.group);
}
void Fields(auto& io, Is<FailureTolerated> auto& d) {
  Fields(io, d.attempt);
  io.Field("reason", d.reason);
}
void Fields(auto& io, Is<RoleFinished> auto& d) {
  io.Field("role", d.role);
  io.Field("reason", d.reason);
  io.Field("grace_ms", d.grace);
}

void Fields(auto& io, Is<Decision> auto& decision) {
  io.Field("time", decision.time);
  OneOf(io, "decision", decision.body, kDecisionNames);
}

std::string_view Name(const Decision& decision) { return kDecisionNames[decision.body.index()]; }

std::string ToJson(const Decision& decision) { return WriteJson(decision); }

Result<Decision> DecisionFromJson(std::string_view text) { return ReadJson<Decision>(text, "decision"); }

}  // namespace tony
