#include "am/decisions.h"

#include <boost/json.hpp>
#include <functional>
#include <map>

#include "runtime/base/overloaded.h"
#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/job/outcome_json.h"

namespace tony::am {

namespace json = boost::json;

namespace {

std::string_view NameOf(const DecisionBody& body) {
  // In the order of the variant. The names are in journals: never change one.
  constexpr std::string_view kNames[] = {
      "epoch_began",      "job_accepted",       "containers_requested",   "container_assigned", "gang_allocated",
      "attempt_launched", "attempt_registered", "generation_formed",      "attempt_ran",        "attempt_suspected",
      "attempt_heard",    "attempt_ended",      "container_kill_ordered", "container_ended",    "job_stopping",
      "stop_hurried",     "job_ended",
  };
  static_assert(std::size(kNames) == std::variant_size_v<DecisionBody>);
  return kNames[body.index()];
}

void WriteAttempt(json::object& out, const AttemptId& id) {
  out["task"] = ToString(id.task);
  out["attempt"] = id.number;
}

void WriteBody(json::object& out, const DecisionBody& body) {
  std::visit(Overloaded{
                 [&](const EpochBegan& d) { out["epoch"] = d.epoch.value; },
                 [&](const JobAccepted&) {},
                 [&](const ContainersRequested& d) {
                   json::array attempts;
                   for (const AttemptId& id : d.attempts)
                     WriteAttempt(attempts.emplace_back(json::object()).as_object(), id);
                   out["attempts"] = std::move(attempts);
                 },
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
                 },
                 [&](const ContainerKillOrdered& d) { out["container"] = d.container.value; },
                 [&](const ContainerEnded& d) { out["container"] = d.container.value; },
                 [&](const JobStopping& d) {
                   out["verdict"] = VerdictJson(d.verdict);
                   out["grace_ms"] = d.grace.count();
                 },
                 [&](const StopHurried& d) { out["grace_ms"] = d.grace.count(); },
                 [&](const JobEnded&) {},
             },
             body);
}

AttemptId ReadAttempt(JsonFields& fields) {
  const TaskId task = ReadTask(fields);
  return {task, static_cast<int>(fields.Int("attempt", 1, kMaxCount))};
}

std::vector<AttemptId> ReadAttempts(JsonFields& fields) {
  std::vector<AttemptId> attempts;
  for (JsonFields& item : fields.List("attempts")) {
    attempts.push_back(ReadAttempt(item));
    if (!item.status().ok()) fields.Fail("attempts", "tasks with attempt numbers");
  }
  return attempts;
}

Result<DecisionBody> ReadEnded(JsonFields& f) {
  AttemptEnded ended{.attempt = ReadAttempt(f)};
  TRY_ASSIGN(ended.outcome, ReadOutcome(f.Fields("outcome")));
  return DecisionBody(std::move(ended));
}

Result<DecisionBody> ReadStopping(JsonFields& f) {
  JobStopping stopping{.grace = f.Millis("grace_ms")};
  TRY_ASSIGN(stopping.verdict, ReadVerdict(f.Fields("verdict")));
  return DecisionBody(std::move(stopping));
}

using Reader = std::function<Result<DecisionBody>(JsonFields&)>;

ContainerId ReadContainer(JsonFields& f) { return {f.String("container")}; }

Endpoint ReadEndpoint(JsonFields& f) {
  std::string host = f.String("host");
  return {std::move(host), static_cast<int>(f.Int("port", 0, 65535))};
}

const std::map<std::string_view, Reader>& Readers() {
  using Body = DecisionBody;
  static const std::map<std::string_view, Reader> readers = {
      {"epoch_began", [](JsonFields& f) { return Body(EpochBegan{{f.Int("epoch", 1)}}); }},
      {"job_accepted", [](JsonFields&) { return Body(JobAccepted{}); }},
      {"containers_requested", [](JsonFields& f) { return Body(ContainersRequested{ReadAttempts(f)}); }},
      {"container_assigned",
       [](JsonFields& f) {
         return Body(ContainerAssigned{ReadAttempt(f), ReadContainer(f), f.String("host")});
       }},
      {"gang_allocated", [](JsonFields&) { return Body(GangAllocated{}); }},
      {"attempt_launched", [](JsonFields& f) { return Body(AttemptLaunched{ReadAttempt(f)}); }},
      {"attempt_registered",
       [](JsonFields& f) {
         return Body(AttemptRegistered{ReadAttempt(f), ReadEndpoint(f)});
       }},
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
  };
  return readers;
}

}  // namespace

std::string_view Name(const Decision& decision) { return NameOf(decision.body); }

bool MustBeDurable(const Decision& decision) { return std::holds_alternative<JobEnded>(decision.body); }

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

}  // namespace tony::am
