#include "runtime/records/decisions.h"

#include <boost/json.hpp>
#include <functional>
#include <map>

#include "runtime/base/overloaded.h"
#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/job/outcome_json.h"
#include "runtime/records/checkpoint_json.h"

namespace tony {

namespace json = boost::json;

namespace {

std::string_view NameOf(const DecisionBody& body) {
  // In the order of the variant. The names are in journals: never change one.
  constexpr std::string_view kNames[] = {
      "epoch_began",      "job_accepted",       "containers_requested",   "container_assigned", "gang_allocated",
      "attempt_launched", "attempt_registered", "generation_formed",      "attempt_ran",        "attempt_suspected",
      "attempt_heard",    "attempt_ended",      "container_kill_ordered", "container_ended",    "job_stopping",
      "stop_hurried",     "job_ended",          "restart_decided",        "checkpoint_sought",  "checkpoint_noted",
      "restart_began",    "attempt_stopping",   "owner_changed",          "watcher_changed",    "kill_planned",
      "kill_voided",      "listing_sought",     "checkpoints_listed",     "values_published",   "stage_opened",
      "role_left",        "failure_tolerated",  "role_finished",
  };
  static_assert(std::size(kNames) == std::variant_size_v<DecisionBody>);
  return kNames[body.index()];
}

void WriteAttempt(json::object& out, const AttemptId& id) {
  out["task"] = ToString(id.task);
  out["attempt"] = id.number;
}

json::array AttemptsJson(const std::vector<AttemptId>& attempts) {
  json::array out;
  for (const AttemptId& id : attempts) WriteAttempt(out.emplace_back(json::object()).as_object(), id);
  return out;
}

json::object RenewedJson(const RenewedAttempt& renewed) {
  json::object out;
  WriteAttempt(out, renewed.attempt);
  out["container"] = renewed.container.value;
  return out;
}

void WriteRestart(json::object& out, const RestartDecided& d) {
  out["restart"] = d.number;
  out["scope"] = ToString(d.scope);
  WriteAttempt(out, d.cause);
  out["reason"] = d.reason;
  out["charged"] = d.charged;
  json::array tasks;
  for (const TaskId& task : d.tasks) tasks.emplace_back(ToString(task));
  out["tasks"] = std::move(tasks);
  out["not_before"] = ToMillis(d.not_before);
  out["grace_ms"] = d.grace.count();
}

void WriteBegan(json::object& out, const RestartBegan& d) {
  out["restart"] = d.number;
  json::array renewed;
  for (const RenewedAttempt& attempt : d.renewed) renewed.push_back(RenewedJson(attempt));
  out["renewed"] = std::move(renewed);
  out["requested"] = AttemptsJson(d.requested);
}

void WritePlanned(json::object& out, const KillPlanned& d) {
  out["plan"] = d.number;
  out["reason"] = d.request.reason;
  out["grace_ms"] = d.request.grace.count();
  out["if_owner"] = d.request.if_owner.value;
  out["if_watcher"] = d.request.if_watcher.value;
  out["due"] = ToMillis(d.request.due);
  if (!d.request.asker.empty()) out["asker"] = d.request.asker;
}

void WritePorts(json::object& out, const NamedPorts& ports) {
  if (ports.empty()) return;  // as before there were any
  auto& named = out["ports"].emplace_object();
  for (const auto& [name, port] : ports) named[name] = port;
}

void WriteBody(json::object& out, const DecisionBody& body) {
  std::visit(Overloaded{
                 [&](const EpochBegan& d) { out["epoch"] = d.epoch.value; },
                 [&](const JobAccepted&) {},
                 [&](const ContainersRequested& d) { out["attempts"] = AttemptsJson(d.attempts); },
                 [&](const ContainerAssigned& d) {
                   WriteAttempt(out, d.attempt);
                   out["container"] = d.container.value;
                   out["host"] = d.host;
                 },
                 [&](const GangAllocated&) {},
                 [&](const AttemptLaunched& d) { WriteAttempt(out, d.attempt); },
                 [&](const AttemptRegistered& d) {
                   WriteAttempt(out, d.attempt);
                   out["host"] = d.endpoint.host;
                   out["port"] = d.endpoint.port;
                   WritePorts(out, d.ports);
                 },
                 [&](const GenerationFormed& d) { out["generation"] = d.generation.value; },
                 [&](const AttemptRan& d) {
                   WriteAttempt(out, d.attempt);
                   out["pid"] = d.pid;
                 },
                 [&](const AttemptSuspected& d) { WriteAttempt(out, d.attempt); },
                 [&](const AttemptHeard& d) { WriteAttempt(out, d.attempt); },
                 [&](const AttemptEnded& d) {
                   WriteAttempt(out, d.attempt);
                   out["outcome"] = OutcomeJson(d.outcome);
                   if (d.reported) out["reported"] = true;
                 },
                 [&](const ContainerKillOrdered& d) { out["container"] = d.container.value; },
                 [&](const ContainerEnded& d) { out["container"] = d.container.value; },
                 [&](const JobStopping& d) {
                   out["verdict"] = VerdictJson(d.verdict);
                   out["grace_ms"] = d.grace.count();
                 },
                 [&](const StopHurried& d) { out["grace_ms"] = d.grace.count(); },
                 [&](const JobEnded&) {},
                 [&](const RestartDecided& d) { WriteRestart(out, d); },
                 [&](const CheckpointSought& d) { out["restart"] = d.restart; },
                 [&](const CheckpointNoted& d) {
                   out["restart"] = d.restart;
                   if (d.newest) out["newest"] = CheckpointJson(*d.newest);
                   if (!d.known) out["known"] = false;
                 },
                 [&](const RestartBegan& d) { WriteBegan(out, d); },
                 [&](const AttemptStopping& d) {
                   WriteAttempt(out, d.attempt);
                   out["because"] = OutcomeJson(d.because);
                   out["grace_ms"] = d.grace.count();
                 },
                 [&](const OwnerChanged& d) {
                   out["owner"] = d.claim.owner.value;
                   out["watch_timeout_ms"] = d.claim.watch_timeout.count();
                 },
                 [&](const WatcherChanged& d) { out["watcher"] = d.watcher.value; },
                 [&](const KillPlanned& d) { WritePlanned(out, d); },
                 [&](const KillVoided& d) {
                   out["plan"] = d.number;
                   out["reason"] = d.reason;
                 },
                 [&](const ListingSought&) {},
                 [&](const CheckpointsListed& d) { WriteListing(out, d.listing); },
                 [&](const ValuesPublished& d) {
                   WriteAttempt(out, d.attempt);
                   auto& values = out["values"].emplace_object();
                   for (const auto& [name, value] : d.values) values[name] = value;
                 },
                 [&](const StageOpened& d) {
                   if (d.role.empty()) {
                     out["stage"] = d.stage;
                   } else {
                     out["role"] = d.role;
                   }
                 },
                 [&](const RoleLeft& d) {
                   out["role"] = d.role;
                   out["group"] = d.group;
                 },
                 [&](const FailureTolerated& d) {
                   WriteAttempt(out, d.attempt);
                   out["reason"] = d.reason;
                 },
                 [&](const RoleFinished& d) {
                   out["role"] = d.role;
                   out["reason"] = d.reason;
                   out["grace_ms"] = d.grace.count();
                 },
             },
             body);
}

AttemptId ReadAttempt(JsonFields& fields) {
  const TaskId task = ReadTask(fields);
  return {task, static_cast<int>(fields.Int("attempt", 1, kMaxCount))};
}

std::vector<AttemptId> ReadAttempts(JsonFields& fields, std::string_view name) {
  std::vector<AttemptId> attempts;
  for (JsonFields& item : fields.List(name)) {
    attempts.push_back(ReadAttempt(item));
    if (!item.status().ok()) fields.Fail(name, "tasks with attempt numbers");
  }
  return attempts;
}

int ReadRestartNumber(JsonFields& fields) { return static_cast<int>(fields.Int("restart", 1, kMaxCount)); }

Result<DecisionBody> ReadRestart(JsonFields& f) {
  RestartDecided d{.number = ReadRestartNumber(f)};
  const auto scope = RestartScopeFromString(f.String("scope"));
  if (!scope) f.Fail("scope", "task, role, gang or job");
  d.scope = scope.value_or(RestartScope::kTask);
  d.cause = ReadAttempt(f);
  d.reason = f.String("reason");
  d.charged = f.Bool("charged");
  for (const std::string& text : f.Strings("tasks")) {
    auto task = ParseTaskId(text);
    if (!task.ok()) return Error{ErrorCode::kInvalid, task.error().message};
    d.tasks.push_back(*std::move(task));
  }
  d.not_before = FromMillis(f.Int("not_before"));
  d.grace = f.Millis("grace_ms");
  return DecisionBody(std::move(d));
}

Result<DecisionBody> ReadNoted(JsonFields& f) {
  CheckpointNoted noted{.restart = ReadRestartNumber(f)};
  if (f.Has("known")) noted.known = f.Bool("known");
  TRY_ASSIGN(noted.newest, ReadCheckpointIfThere(f, "newest"));
  return DecisionBody(std::move(noted));
}

Result<DecisionBody> ReadListed(JsonFields& f) {
  TRY_ASSIGN(CheckpointListing listing, ReadListing(f));
  return DecisionBody(CheckpointsListed{std::move(listing)});
}

Result<DecisionBody> ReadBegan(JsonFields& f) {
  RestartBegan began{.number = ReadRestartNumber(f)};
  for (JsonFields& item : f.List("renewed")) {
    began.renewed.push_back({ReadAttempt(item), {item.String("container")}});
    TRY(item.status());
  }
  began.requested = ReadAttempts(f, "requested");
  return DecisionBody(std::move(began));
}

Result<DecisionBody> ReadAttemptStopping(JsonFields& f) {
  AttemptStopping stopping{.attempt = ReadAttempt(f), .grace = f.Millis("grace_ms")};
  TRY_ASSIGN(stopping.because, ReadOutcome(f.Fields("because")));
  return DecisionBody(std::move(stopping));
}

Result<DecisionBody> ReadEnded(JsonFields& f) {
  AttemptEnded ended{.attempt = ReadAttempt(f)};
  TRY_ASSIGN(ended.outcome, ReadOutcome(f.Fields("outcome")));
  ended.reported = f.Has("reported") && f.Bool("reported");
  return DecisionBody(std::move(ended));
}

Result<DecisionBody> ReadStopping(JsonFields& f) {
  JobStopping stopping{.grace = f.Millis("grace_ms")};
  TRY_ASSIGN(stopping.verdict, ReadVerdict(f.Fields("verdict")));
  return DecisionBody(std::move(stopping));
}

Result<DecisionBody> ReadPlanned(JsonFields& f) {
  KillPlanned planned{.number = static_cast<int>(f.Int("plan", 1, kMaxCount))};
  planned.request = {.reason = f.String("reason"),
                     .grace = Duration(f.Int("grace_ms", -1)),
                     .if_owner = {f.String("if_owner")},
                     .if_watcher = {f.String("if_watcher")},
                     .due = FromMillis(f.Int("due"))};
  if (f.Has("asker")) planned.request.asker = f.String("asker");
  return DecisionBody(std::move(planned));
}

using Reader = std::function<Result<DecisionBody>(JsonFields&)>;

constexpr int64_t kMaxPort = 65535;

ContainerId ReadContainer(JsonFields& f) { return {f.String("container")}; }

Endpoint ReadEndpoint(JsonFields& f) {
  std::string host = f.String("host");
  return {std::move(host), static_cast<int>(f.Int("port", 0, kMaxPort))};
}

Result<DecisionBody> ReadRegistered(JsonFields& f) {
  AttemptRegistered registered{ReadAttempt(f), ReadEndpoint(f)};
  if (!f.Has("ports")) return DecisionBody(std::move(registered));
  JsonFields ports = f.Fields("ports");
  for (const std::string& name : ports.Names()) registered.ports[name] = static_cast<int>(ports.Int(name, 1, kMaxPort));
  TRY(ports.status());
  return DecisionBody(std::move(registered));
}

Result<DecisionBody> ReadPublished(JsonFields& f) {
  ValuesPublished published{.attempt = ReadAttempt(f)};
  JsonFields values = f.Fields("values");
  for (const std::string& name : values.Names()) published.values[name] = values.String(name);
  TRY(values.status());
  return DecisionBody(std::move(published));
}

const std::map<std::string_view, Reader>& Readers() {
  using Body = DecisionBody;
  static const std::map<std::string_view, Reader> readers = {
      {"epoch_began", [](JsonFields& f) { return Body(EpochBegan{{f.Int("epoch", 1)}}); }},
      {"job_accepted", [](JsonFields&) { return Body(JobAccepted{}); }},
      {"containers_requested", [](JsonFields& f) { return Body(ContainersRequested{ReadAttempts(f, "attempts")}); }},
      {"container_assigned",
       [](JsonFields& f) {
         return Body(ContainerAssigned{ReadAttempt(f), ReadContainer(f), f.String("host")});
       }},
      {"gang_allocated", [](JsonFields&) { return Body(GangAllocated{}); }},
      {"attempt_launched", [](JsonFields& f) { return Body(AttemptLaunched{ReadAttempt(f)}); }},
      {"attempt_registered", ReadRegistered},
      {"generation_formed", [](JsonFields& f) { return Body(GenerationFormed{{f.Int("generation", 1)}}); }},
      {"attempt_ran",
       [](JsonFields& f) {
         return Body(AttemptRan{ReadAttempt(f), f.Int("pid")});
       }},
      {"attempt_suspected", [](JsonFields& f) { return Body(AttemptSuspected{ReadAttempt(f)}); }},
      {"attempt_heard", [](JsonFields& f) { return Body(AttemptHeard{ReadAttempt(f)}); }},
      {"attempt_ended", ReadEnded},
      {"container_kill_ordered", [](JsonFields& f) { return Body(ContainerKillOrdered{ReadContainer(f)}); }},
      {"container_ended", [](JsonFields& f) { return Body(ContainerEnded{ReadContainer(f)}); }},
      {"job_stopping", ReadStopping},
      {"stop_hurried", [](JsonFields& f) { return Body(StopHurried{f.Millis("grace_ms")}); }},
      {"job_ended", [](JsonFields&) { return Body(JobEnded{}); }},
      {"restart_decided", ReadRestart},
      {"checkpoint_sought", [](JsonFields& f) { return Body(CheckpointSought{ReadRestartNumber(f)}); }},
      {"checkpoint_noted", ReadNoted},
      {"restart_began", ReadBegan},
      {"attempt_stopping", ReadAttemptStopping},
      {"owner_changed",
       [](JsonFields& f) {
         return Body(OwnerChanged{{{f.String("owner")}, f.Millis("watch_timeout_ms")}});
       }},
      {"watcher_changed", [](JsonFields& f) { return Body(WatcherChanged{{f.String("watcher")}}); }},
      {"kill_planned", ReadPlanned},
      {"kill_voided",
       [](JsonFields& f) {
         return Body(KillVoided{static_cast<int>(f.Int("plan", 1, kMaxCount)), f.String("reason")});
       }},
      {"listing_sought", [](JsonFields&) { return Body(ListingSought{}); }},
      {"checkpoints_listed", ReadListed},
      {"values_published", ReadPublished},
      {"role_left",
       [](JsonFields& f) {
         return Body(RoleLeft{f.String("role"), f.String("group")});
       }},
      {"stage_opened",
       [](JsonFields& f) {
         if (f.Has("role")) return Body(StageOpened{.role = f.String("role")});
         return Body(StageOpened{static_cast<int>(f.Int("stage", 1, kMaxCount))});
       }},
      {"failure_tolerated",
       [](JsonFields& f) {
         return Body(FailureTolerated{ReadAttempt(f), f.String("reason")});
       }},
      {"role_finished",
       [](JsonFields& f) {
         return Body(RoleFinished{f.String("role"), f.String("reason"), f.Millis("grace_ms")});
       }},
  };
  return readers;
}

}  // namespace

std::string_view Name(const Decision& decision) { return NameOf(decision.body); }

std::string ToJson(const Decision& decision) {
  json::object out;
  out["time"] = ToMillis(decision.time);
  out["decision"] = NameOf(decision.body);
  WriteBody(out, decision.body);
  return SerializeJson(out);
}

Result<Decision> DecisionFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "decision"));
  JsonFields fields(document);
  const Instant time = FromMillis(fields.Int("time"));
  const std::string name = fields.String("decision");
  TRY(fields.status());
  const auto reader = Readers().find(name);
  if (reader == Readers().end()) return Error{ErrorCode::kInvalid, StrCat("decision \"", name, "\" is not known")};
  TRY_ASSIGN(DecisionBody body, reader->second(fields));
  TRY(fields.status());
  return Decision{time, std::move(body)};
}

}  // namespace tony
