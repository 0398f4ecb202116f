#include "runtime/records/decisions.h"

#include <cstdio>

#include "runtime/base/strings.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

// The field lists of all decisions. A field that is read with IfSet() may be missing from journals of earlier releases,
// which did not have it.
namespace tony {

// The decisions' names, in the order of the variant. Journals contain these names, so they must never change.
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
  io.IfSet("log_url", d.log_url);
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
void Fields(auto& io, Is<HeartbeatsReturned> auto& d) { Fields(io, d.attempt); }
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
void Fields(auto& io, Is<GraceShortened> auto& d) { io.Field("grace_ms", d.grace); }
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
void Fields(auto& io, Is<CheckpointSearchStarted> auto& d) { io.Field("restart", d.restart, kCounted); }
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
  io.IfSet("record", d.request.record);
}
void Fields(auto& io, Is<KillVoided> auto& d) {
  io.Field("plan", d.number, kCounted);
  io.Field("reason", d.reason);
}
void Fields(auto&, Is<ListingStarted> auto&) {}
void Fields(auto& io, Is<CheckpointsListed> auto& d) { Fields(io, d.listing); }
void Fields(auto& io, Is<ValuesPublished> auto& d) {
  Fields(io, d.attempt);
  io.Field("values", d.values);
}
void Fields(auto& io, Is<StageOpened> auto& d) {
  if (io.Present("role", !d.role.empty())) return io.Field("role", d.role);
  io.Field("stage", d.stage, kCounted);
}
void Fields(auto& io, Is<RoleDetached> auto& d) {
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

namespace {

// The text of a decision names at most this many tasks, because a decision may be about thousands.
constexpr size_t kNamed = 8;

template <class List, class ToText>
std::string Names(const List& list, ToText to_text) {
  std::vector<std::string> names;
  for (const auto& item : list) {
    if (names.size() == kNamed) break;
    names.push_back(to_text(item));
  }
  std::string text = Join(names, " ");
  if (list.size() > kNamed) text += StrCat(" and ", list.size() - kNamed, " more");
  return text;
}

std::string Attempts(const std::vector<AttemptId>& attempts) {
  return Names(attempts, [](const AttemptId& id) { return ToString(id); });
}

std::string MillisText(Duration d) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(d.count()) / 1000);
  return text;
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string Restart(const RestartDecided& d) {
  const std::string tasks = Names(d.tasks, [](const TaskId& id) { return ToString(id); });
  return StrCat("restart ", d.number, " (", ToString(d.scope), d.charged ? "" : ", not charged", "): ", tasks,
                "; because ", d.reason);
}

std::string Began(const RestartBegan& d) {
  std::string text = StrCat("restart ", d.number);
  if (!d.renewed.empty())
    text += "; renewed " + Names(d.renewed, [](const RenewedAttempt& r) { return ToString(r.attempt); });
  if (!d.requested.empty()) text += "; requested " + Attempts(d.requested);
  return text;
}

std::string Newest(const std::optional<Checkpoint>& newest) {
  if (!newest) return "none";
  const std::string step = newest->step < 0 ? "" : StrCat(", step ", newest->step);
  return StrCat(newest->path, step, " (", ToString(newest->writer), ")");
}

std::string Noted(const CheckpointNoted& d) {
  return StrCat("restart ", d.restart, ": ", d.known ? Newest(d.newest) : "unknown");
}

std::string Listed(const CheckpointListing& listing) {
  if (!listing.unknown.empty())
    return StrCat(listing.folder, ": the writer of the checkpoints is unknown: ", listing.unknown);
  std::string text = StrCat(listing.folder, ": ", Counted(std::ssize(listing.there), "checkpoint"),
                            " existed before this job");
  if (listing.earlier_job) text += StrCat("; this job continues job ", listing.earlier_job->value);
  return StrCat(text, "; this job resumes from ", listing.newest ? Newest(listing.newest) : "no checkpoint");
}

std::string Planned(const KillPlanned& d) {
  const KillRequest& kill = d.request;
  std::string text = StrCat("kill ", d.number, " at ", ToIso8601(kill.due));
  if (!kill.if_owner.value.empty()) text += StrCat(", if the owner is ", kill.if_owner.value);
  if (!kill.if_watcher.value.empty()) text += StrCat(", if the newest watcher is ", kill.if_watcher.value);
  return StrCat(text, ": ", kill.reason);
}

}  // namespace

std::string Describe(const Outcome& outcome) {
  std::string text = DescribeExit(outcome);
  text += StrCat(text.empty() ? "" : ", ", ToString(outcome.cls));
  if (!outcome.message.empty()) text += StrCat(", ", OneLine(outcome.message));
  return text;
}

std::string Describe(const Decision& decision) {
  return OneLine(std::visit(
      Overloaded{
          [](const EpochBegan& d) { return StrCat("epoch ", d.epoch.value); },
          [](const JobAccepted&) { return std::string(); },
          [](const ContainersRequested& d) { return Attempts(d.attempts); },
          [](const ContainerAssigned& d) {
            return StrCat(ToString(d.attempt), " in ", d.container.value, " on ", d.host);
          },
          [](const GangAllocated&) { return std::string(); },
          [](const AttemptLaunched& d) { return ToString(d.attempt); },
          [](const AttemptRegistered& d) { return StrCat(ToString(d.attempt), " at ", ToString(d.endpoint)); },
          [](const GenerationFormed& d) { return StrCat("generation ", d.generation.value); },
          [](const AttemptRan& d) { return StrCat(ToString(d.attempt), " as process ", d.pid); },
          [](const AttemptSuspected& d) { return ToString(d.attempt); },
          [](const HeartbeatsReturned& d) { return ToString(d.attempt); },
          [](const AttemptEnded& d) { return StrCat(ToString(d.attempt), ": ", Describe(d.outcome)); },
          [](const ContainerKillOrdered& d) { return d.container.value; },
          [](const ContainerEnded& d) { return d.container.value; },
          [](const JobStopping& d) {
            return StrCat(ToString(d.verdict.state), ": ", d.verdict.message, "; grace ", MillisText(d.grace));
          },
          [](const GraceShortened& d) { return StrCat("grace ", MillisText(d.grace)); },
          [](const JobEnded&) { return std::string(); },
          [](const RestartDecided& d) { return Restart(d); },
          [](const CheckpointSearchStarted& d) { return StrCat("restart ", d.restart); },
          [](const CheckpointNoted& d) { return Noted(d); },
          [](const RestartBegan& d) { return Began(d); },
          [](const AttemptStopping& d) {
            return StrCat(ToString(d.attempt), ": ", Describe(d.because), "; grace ", MillisText(d.grace));
          },
          [](const OwnerChanged& d) {
            const Duration timeout = d.claim.watch_timeout;
            return StrCat("owner ", d.claim.owner.value,
                          timeout > Duration(0) ? StrCat("; watch timeout ", MillisText(timeout)) : "");
          },
          [](const WatcherChanged& d) { return StrCat("watcher ", d.watcher.value); },
          [](const KillPlanned& d) { return Planned(d); },
          [](const KillVoided& d) { return StrCat("kill ", d.number, ": ", d.reason); },
          [](const ListingStarted&) { return std::string(); },
          [](const CheckpointsListed& d) { return Listed(d.listing); },
          [](const ValuesPublished& d) {
            return StrCat(ToString(d.attempt), ": ",
                          Names(d.values, [](const auto& value) { return StrCat(value.first, "=", value.second); }));
          },
          [](const RoleDetached& d) {
            return StrCat("role ", d.role, " still ran when its time limit after group ", d.group, " was over");
          },
          [](const StageOpened& d) { return d.role.empty() ? StrCat("stage ", d.stage) : StrCat("role ", d.role); },
          [](const FailureTolerated& d) { return StrCat(ToString(d.attempt), "; the job continues: ", d.reason); },
          [](const RoleFinished& d) { return StrCat(d.reason, "; grace ", MillisText(d.grace)); },
      },
      decision.body));
}

std::string EventLine(const Decision& decision, Instant start) {
  const double since = static_cast<double>((decision.time - start).count()) / 1000;
  char head[80];
  std::snprintf(head, sizeof head, "%10.3f  %s  ", since, ToIso8601(decision.time).c_str());
  std::string name(Name(decision));
  const std::string what = Describe(decision);
  if (!what.empty()) name.resize(std::max<size_t>(name.size(), 22), ' ');
  return StrCat(head, name, what.empty() ? "" : "  ", what);
}

}  // namespace tony
