#include "am/core/job.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/job/cluster_spec.h"

namespace tony::am {
namespace {

// The command numbers of an attempt grow with its generation, and within a generation from START to STOP, NEXT and
// RELEASE.
constexpr int64_t kCommandsPerGeneration = 1000;
constexpr int64_t kRelease = kCommandsPerGeneration - 1;
constexpr int64_t kNext = kRelease - 1;

void Append(Actions& to, Actions from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

Job::Job(JobId id, JobSpec spec) : id_(std::move(id)), spec_(std::move(spec)), tasks_(spec_), late_roles_(spec_) {}

Actions Job::PendingActions() const {
  Actions actions;
  RequestContainers request;
  for (const auto& [id, task] : tasks_.all()) {
    const Attempt* attempt = task.newest();
    if (!attempt) continue;
    if (attempt->state == AttemptState::kRequested) request.asks.push_back(AskFor(attempt->id));
    if (attempt->state == AttemptState::kAllocated) actions.push_back(LaunchExecutor{attempt->id, attempt->container});
    if (attempt->state == AttemptState::kStopping && !attempt->container.value.empty() && !attempt->endpoint &&
        !attempt->renewed) {
      actions.push_back(StopContainer{attempt->container, StopMode::kTerm});
    }
  }
  if (!request.asks.empty()) actions.push_back(request);
  for (const auto& [id, container] : containers_.all()) {
    if (container.state == ContainerState::kKilling) actions.push_back(StopContainer{id, StopMode::kKill});
  }
  for (const auto& [number, restart] : restarts_.open()) {
    if (restart.sought && !restart.noted) actions.push_back(SearchCheckpoint{number});
  }
  if (AwaitsListing()) actions.push_back(ListCheckpoints{});
  if (Ended()) actions.push_back(EndJob{});
  return actions;
}

Command Job::CommandFor(const AttemptId& id) const {
  const Attempt* attempt = tasks_.Find(id);
  SendCommand tell = Tell(id);
  if (!attempt || tell.number == 0) return {};
  if (IsFinal(attempt->state)) {
    if (tell.next == 0) return {.number = tell.number, .kind = Command::Kind::kRelease};
    return {.number = tell.number, .kind = Command::Kind::kNext, .generation = generation_, .attempt = tell.next};
  }
  if (attempt->state == AttemptState::kStopping) {
    return {.number = tell.number,
            .kind = Command::Kind::kStop,
            .generation = attempt->generation,
            .grace = attempt->stop_grace,
            .reason = attempt->because ? std::string(ToString(attempt->because->cls)) : ""};
  }
  return {.number = tell.number,
          .kind = Command::Kind::kStart,
          .generation = attempt->generation,
          .cluster_spec = attempt->cluster_spec ? *attempt->cluster_spec : "",
          .resume_from = std::move(tell.resume_from)};
}

bool Job::MayRunTasks() const {
  using enum AttemptState;
  return !verdict_ ||
         tasks_.Count(kLaunching) + tasks_.Count(kRegistered) + tasks_.Count(kRunning) + tasks_.Count(kStopping) > 0;
}

int64_t Job::CommandNumber(const AttemptId& id) const {
  const Attempt* attempt = tasks_.Find(id);
  if (!attempt) return 0;
  const int64_t start = attempt->generation.value * kCommandsPerGeneration;  // 0: no command yet
  if (!IsFinal(attempt->state)) return start + std::min<int64_t>(attempt->stops, kNext - 1);
  if (IsKept(*attempt) || IsHeldForShell(*attempt)) return 0;
  return start + (NextIn(*attempt) > 0 ? kNext : kRelease);
}

int Job::NextIn(const Attempt& ended) const {
  const Container* container = containers_.Find(ended.container);
  if (!container) return 0;
  const AttemptId& newest = container->attempt;
  return newest.number > ended.id.number ? newest.number : 0;
}

SendCommand Job::Tell(const AttemptId& id) const {
  const Attempt* attempt = tasks_.Find(id);
  SendCommand tell{.attempt = id, .number = CommandNumber(id)};
  if (!attempt || attempt->state == AttemptState::kStopping) return tell;
  if (IsFinal(attempt->state)) {
    tell.next = NextIn(*attempt);
  } else if (const auto resume = checkpoints_.ResumeOf(id)) {
    tell.resume_from = resume->path;
  }
  return tell;
}

ContainerRequest Job::AskFor(const AttemptId& id) const {
  const RoleSpec* role = spec_.FindRole(id.task.role);
  CHECK(role != nullptr);
  return {.attempt = id,
          .resources = role->resources,
          .node_label = role->node_label,
          .placement = role->placement,
          .placement_spec = role->placement_spec,
          .job_placement_spec = spec_.yarn.placement_spec,
          .allocation_tags = role->allocation_tags};
}

const Attempt* Job::HeldForShell() const {
  if (spec_.hold == Duration(0)) return nullptr;
  for (const auto& [due, id] : deadlines_.all(ContainerLimit::kLeave)) {
    const Attempt* attempt = tasks_.Find(containers_.at(id).attempt);
    if (IsHeldForShell(*attempt)) return attempt;
  }
  return nullptr;
}

AttemptState Job::StateOf(const AttemptId& id) const {
  const Attempt* attempt = tasks_.Find(id);
  return attempt ? attempt->state : AttemptState::kNew;
}

std::optional<AttemptId> Job::AttemptIn(const ContainerId& container) const {
  const Container* found = containers_.Find(container);
  return found ? std::optional(found->attempt) : std::nullopt;
}

bool Job::OwesHeartbeats(const Attempt& attempt) const {
  if (attempt.give_up_at != Instant{}) return false;
  if (attempt.state == AttemptState::kLaunching) return attempt.renewed;
  return attempt.state == AttemptState::kRegistered || attempt.state == AttemptState::kRunning;
}

bool Job::IsFormed(const TaskId& id) const { return state_ == JobState::kRunning || tasks_.persistent().contains(id); }

bool Job::HasGathered() const {
  return tasks_.CountInGang(AttemptState::kRegistered) == GangSize() - static_cast<int>(tasks_.persistent().size());
}

bool Job::AnyWatched() const {
  using enum AttemptState;
  return tasks_.Count(kLaunching) + tasks_.Count(kRegistered) + tasks_.Count(kRunning) > 0;
}

bool Job::CanRun(const Attempt& attempt) const {
  return attempt.state == AttemptState::kRegistered && attempt.generation.value > 0;
}

bool Job::MayReport(const Attempt& attempt) const {
  return attempt.endpoint || attempt.state == AttemptState::kStopping;
}

CoreStepResult RunCoreStep(Job& job, const Observation& observation, Instant now) {
  CoreStepResult turn;
  const auto numbers = std::tuple(job.epoch(), job.seq());
  const auto evolve = [&](DecisionBody body) {
    Decision decision{now, std::move(body)};
    Result<Actions> actions = job.Evolve(decision);
    // Decide() and Consequence() return only decisions that fit the state.
    CHECK(actions.ok());
    Append(turn.actions, *std::move(actions));
    turn.decisions.push_back(std::move(decision));
  };
  Decided decided = job.Decide(observation, now);
  turn.refusal = std::move(decided.refusal);
  for (DecisionBody& body : decided.decisions) evolve(std::move(body));
  // Consequence() is called only after a decision or when time has passed, so that a heartbeat without a decision costs
  // little time.
  const bool timed = std::holds_alternative<TimePassed>(observation);
  while (timed || !turn.decisions.empty()) {
    auto body = job.Consequence(now);
    if (!body) break;
    evolve(*std::move(body));
  }
  Append(turn.actions, std::move(decided.actions));
  // Executors and clients recognize changes by these numbers, so the numbers only grow.
  CHECK(std::tuple(job.epoch(), job.seq()) >= numbers);
  return turn;
}

CheckpointStatus Job::SnapshotOfCheckpoints() const {
  CheckpointStatus checkpoint{.directory = spec_.checkpoint.directory, .resumed_from = checkpoints_.resumed_from()};
  if (generation_.value > 0) checkpoint.unknown = listing().unknown;
  const bool from_earlier =
      checkpoints_.resumed_from() && checkpoints_.resumed_from()->writer == CheckpointWriter::kEarlierJob;
  if (from_earlier) checkpoint.earlier_job = listing().earlier_job;
  return checkpoint;
}

JobStatus Job::Snapshot(const std::string& user, Instant submitted) const {
  JobStatus status{.job = id_,
                   .name = spec_.name,
                   .user = user,
                   .framework = std::string(ToString(spec_.framework)),
                   .tags = spec_.tags,
                   .state = std::string(ToString(state_)),
                   .seq = seq_,
                   .epoch = epoch_,
                   .generation = generation_,
                   .submitted = submitted,
                   .ended = ended_at_};
  if (Ended()) status.verdict = verdict_;
  if (const Attempt* held = HeldForShell()) {
    status.held = HeldTask{held->id, held->host, held->held_until};
    const bool is_last = containers_.left() == 1 && tasks_.Count(AttemptState::kStopping) == 0;
    if (verdict_ && is_last) status.held->verdict = verdict_->state;
  }
  if (!spec_.checkpoint.directory.empty()) status.checkpoint = SnapshotOfCheckpoints();
  status.claim = ownership_.claim();
  status.watcher = ownership_.watcher();
  if (!verdict_) status.planned_kill = ownership_.NextPlanned();
  status.tensorboard_url = UrlOf(kTensorBoardPort);
  status.notebook_url = UrlOf(kNotebookRole);
  status.restarts = restarts_.shown();
  status.restart_count = static_cast<int>(restarts_.past().size());
  status.tolerated_failures = static_cast<int>(results_.tolerated().size());
  for (const auto& [id, task] : tasks_.all()) {
    TaskStatus row{.id = id, .state = std::string(ToString(task.state))};
    if (const Attempt* attempt = task.newest()) {
      row.attempt = attempt->id.number;
      row.attempt_state = ToString(attempt->state);
      row.host = attempt->host;
      row.log_url = attempt->log_url;
      row.pid = attempt->pid;
      row.suspect = attempt->suspect;
      row.outcome = attempt->outcome;
      row.usage = attempt->outcome && attempt->outcome->usage ? attempt->outcome->usage : attempt->usage;
      row.started = attempt->started;
      row.ended = attempt->ended;
    }
    if (!verdict_) row.waits_for = WhatWaits(*spec_.FindRole(id.role), task);
    status.tasks.push_back(std::move(row));
  }
  return status;
}

std::string Job::WhatWaits(const RoleSpec& role, const Task& task) const {
  const Attempt* attempt = task.newest();
  if (role.depends_on.empty() || (attempt && !stages_.IsHeld(spec_, attempt->id))) return {};
  std::vector<std::string> names;
  for (const auto& [name, until] : role.depends_on) {
    if (until == Dependency::Until::kReady) {
      if (!attempt || !IsReady({.depends_on = {{name, until}}})) names.push_back(name + " (ready)");
    } else if (!HasSucceeded(name)) {
      names.push_back(name);
    }
  }
  return Join(names, ", ");
}

// Returns the address that the first task of a role serves; empty if no such task runs. A TensorBoard that the chief may
// serve is not included, because the AM does not know whether the chief serves one.
std::string Job::UrlOf(std::string_view role) const {
  const TaskId id{std::string(role), 0};
  const auto task = tasks_.all().find(id);
  if (task == tasks_.all().end()) return {};
  const Attempt* attempt = task->second.newest();
  if (!attempt || attempt->state != AttemptState::kRunning || !attempt->endpoint) return {};
  const auto port = attempt->ports.find(std::string(kTensorBoardPort));
  if (port == attempt->ports.end()) return {};
  return StrCat("http://", ToString(Endpoint{attempt->endpoint->host, port->second}), "/");
}

}  // namespace tony::am
