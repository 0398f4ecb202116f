#include "am/core/job.h"

#include <algorithm>
#include <utility>

#include "am/core/evolve_parts.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// Numbers of an attempt's commands grow with its generation, and within one from start to stop to next and release.
constexpr int64_t kCommandsPerGeneration = 1000;
constexpr int64_t kRelease = kCommandsPerGeneration - 1;
constexpr int64_t kNext = kRelease - 1;

void Append(Actions& to, Actions from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

Job::Job(JobId id, JobSpec spec) : id_(std::move(id)), spec_(std::move(spec)) {
  for (const RoleSpec& role : spec_.roles) {
    for (int index = 0; index < role.instances; ++index) tasks_[TaskId{role.name, index}];
    closed_.insert(role.name);
    for (const Dependency& dependency : role.depends_on)
      if (dependency.until == Dependency::Until::kSucceeded) prepares_.insert(dependency.role);
  }
}

Actions Job::PendingActions() const {
  Actions actions;
  RequestContainers request;
  for (const auto& [id, task] : tasks_) {
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
  for (const auto& [id, container] : containers_) {
    if (container.state == ContainerState::kKilling) actions.push_back(StopContainer{id, StopMode::kKill});
  }
  for (const auto& [number, restart] : restarts_) {
    if (restart.sought && !restart.noted) actions.push_back(LookForCheckpoint{number});
  }
  if (AwaitsListing()) actions.push_back(ListCheckpoints{});
  if (Ended()) actions.push_back(EndJob{});
  return actions;
}

Actions Job::TellAll() const {
  Actions actions;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (attempt && !IsFinal(attempt->state)) actions.push_back(Tell(attempt->id));
  }
  return actions;
}

Command Job::CommandFor(const AttemptId& id) const {
  const Attempt* attempt = Find(id);
  TellExecutor tell = Tell(id);
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

// Of a task that starts for the first time, maybe long after others, what was there before the job.
std::optional<Checkpoint> Job::ResumeOf(const AttemptId& id) const {
  return id.number > 1 ? checkpoint_ : listing().newest;
}

const CheckpointListing& Job::listing() const {
  static const CheckpointListing kNone{.unknown = "a release without listings began this job"};
  return listing_ ? *listing_ : kNone;
}

bool Job::MayRunTasks() const {
  using enum AttemptState;
  return !verdict_ || Count(kLaunching) + Count(kRegistered) + Count(kRunning) + Count(kStopping) > 0;
}

int64_t Job::CommandNumber(const AttemptId& id) const {
  const Attempt* attempt = Find(id);
  if (!attempt) return 0;
  const int64_t start = attempt->generation.value * kCommandsPerGeneration;  // 0: nothing to do yet
  if (!IsFinal(attempt->state)) return start + std::min<int64_t>(attempt->stops, kNext - 1);
  if (IsHeld(*attempt)) return 0;
  return start + (NextIn(*attempt) > 0 ? kNext : kRelease);
}

int Job::NextIn(const Attempt& ended) const {
  const auto container = containers_.find(ended.container);
  if (container == containers_.end()) return 0;
  const AttemptId& newest = container->second.attempt;
  return newest.number > ended.id.number ? newest.number : 0;
}

TellExecutor Job::Tell(const AttemptId& id) const {
  const Attempt* attempt = Find(id);
  TellExecutor tell{.attempt = id, .number = CommandNumber(id)};
  if (!attempt || attempt->state == AttemptState::kStopping) return tell;
  if (IsFinal(attempt->state)) {
    tell.next = NextIn(*attempt);
  } else if (const auto resume = ResumeOf(id)) {
    tell.resume_from = resume->path;
  }
  return tell;
}

// An executor that had trouble of its own, or is about to lose its container, is not trusted with another attempt; one
// that was told to leave may be gone.
bool Job::CanRenew(const Attempt& ended) const {
  if (!ended.reported || ended.container.value.empty()) return false;
  const Container& container = containers_.at(ended.container);
  const bool leaves = container.leave_by != Instant{};
  if (container.state != ContainerState::kHeld || leaves || container.attempt != ended.id) return false;
  return !WasTakenAway(*ended.outcome);
}

bool Job::IsHeld(const Attempt& ended) const {
  if (verdict_ || !CanRenew(ended)) return false;
  const auto restart = restarts_.find(tasks_.at(ended.id.task).restart);
  if (restart != restarts_.end()) return restart->second.keeps;
  return failed_.contains({*ended.ended, ended.id});  // not judged yet
}

ContainerAsk Job::AskFor(const AttemptId& id) const {
  const RoleSpec* role = spec_.FindRole(id.task.role);
  CHECK(role != nullptr);
  return {id, role->resources, role->node_label, role->placement};
}

Job::Attempt* Job::Find(const AttemptId& id) { return const_cast<Attempt*>(std::as_const(*this).Find(id)); }

const Job::Attempt* Job::Find(const AttemptId& id) const {
  const auto found = tasks_.find(id.task);
  if (found == tasks_.end()) return nullptr;
  const auto& attempts = found->second.attempts;
  if (id.number < 1 || id.number > static_cast<int>(attempts.size())) return nullptr;
  return &attempts[static_cast<size_t>(id.number) - 1];
}

AttemptState Job::StateOf(const AttemptId& id) const {
  const Attempt* attempt = Find(id);
  return attempt ? attempt->state : AttemptState::kNew;
}

std::optional<AttemptId> Job::AttemptIn(const ContainerId& container) const {
  const auto found = containers_.find(container);
  if (found == containers_.end()) return std::nullopt;
  return found->second.attempt;
}

bool Job::IsWatched(const Attempt& attempt) const {
  if (attempt.give_up_at != Instant{}) return false;
  if (attempt.state == AttemptState::kLaunching) return attempt.renewed;
  return attempt.state == AttemptState::kRegistered || attempt.state == AttemptState::kRunning;
}

bool Job::IsTracked(const TaskId& id) const { return spec_.FindRole(id.role)->completion == Completion::kTracked; }

bool Job::IsFormed(const TaskId& id) const { return state_ == JobState::kRunning || beside_.contains(id); }

int Job::CountInGang(AttemptState state) const {
  return Count(state) - static_cast<int>(std::ranges::count_if(
                            beside_, [&](const TaskId& id) { return tasks_.at(id).newest()->state == state; }));
}

bool Job::HasGathered() const {
  return CountInGang(AttemptState::kRegistered) == GangSize() - static_cast<int>(beside_.size());
}

bool Job::CanRun(const Attempt& attempt) const {
  return attempt.state == AttemptState::kRegistered && attempt.generation.value > 0;
}

bool Job::MayReport(const Attempt& attempt) const {
  return attempt.endpoint || attempt.state == AttemptState::kStopping;
}

TurnResult TakeTurn(Job& job, const Observation& observation, Instant now) {
  TurnResult turn;
  const auto evolve = [&](DecisionBody body) {
    Decision decision{now, std::move(body)};
    Result<Actions> actions = job.Evolve(decision);
    CHECK(actions.ok());  // Decide() and Consequence() only say what fits the state.
    Append(turn.actions, *std::move(actions));
    turn.decisions.push_back(std::move(decision));
  };
  Decided decided = job.Decide(observation, now);
  turn.refusal = std::move(decided.refusal);
  for (DecisionBody& body : decided.decisions) evolve(std::move(body));
  // What was seen and changed nothing has no consequences either: a heartbeat costs a look-up.
  const bool timed = std::holds_alternative<TimePassed>(observation);
  while (timed || !turn.decisions.empty()) {
    auto body = job.Consequence(now);
    if (!body) break;
    evolve(*std::move(body));
  }
  Append(turn.actions, std::move(decided.actions));
  return turn;
}

}  // namespace tony::am
