#include "am/job.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// Numbers of commands grow with the generation, and within one from start to stop to release.
constexpr int64_t kCommandsPerGeneration = 1000;
constexpr int64_t kRelease = kCommandsPerGeneration - 1;

void Append(Actions& to, Actions from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

Job::Job(JobId id, JobSpec spec) : id_(std::move(id)), spec_(std::move(spec)) {
  for (const RoleSpec& role : spec_.roles) {
    for (int index = 0; index < role.instances; ++index) tasks_[TaskId{role.name, index}];
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
    if (attempt->state == AttemptState::kStopping && !attempt->container.value.empty() && !attempt->endpoint) {
      actions.push_back(StopContainer{attempt->container, StopMode::kTerm});
    }
  }
  if (!request.asks.empty()) actions.push_back(request);
  for (const auto& [id, container] : containers_) {
    if (container.state == ContainerState::kKilling) actions.push_back(StopContainer{id, StopMode::kKill});
  }
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
  const int64_t number = CommandNumber(id);
  if (!attempt || number == 0) return {};
  if (IsFinal(attempt->state)) return {.number = number, .kind = Command::Kind::kRelease};
  if (attempt->state == AttemptState::kStopping) {
    return {.number = number, .kind = Command::Kind::kStop, .generation = generation_, .grace = stop_grace_};
  }
  return {.number = number, .kind = Command::Kind::kStart, .generation = generation_, .cluster_spec = cluster_spec_};
}

int64_t Job::CommandNumber(const AttemptId& id) const {
  const Attempt* attempt = Find(id);
  if (!attempt) return 0;
  const int64_t start = generation_.value * kCommandsPerGeneration;  // 0: nothing to do yet
  if (IsFinal(attempt->state)) return start + kRelease;
  if (attempt->state == AttemptState::kStopping) return start + 1 + std::min<int64_t>(hurried_, kRelease - 2);
  return start;
}

ContainerAsk Job::AskFor(const AttemptId& id) const {
  const RoleSpec* role = spec_.FindRole(id.task.role);
  CHECK(role != nullptr);
  return {id, role->resources};
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
  return attempt.state == AttemptState::kRegistered || attempt.state == AttemptState::kRunning;
}

bool Job::CanRun(const Attempt& attempt) const {
  return attempt.state == AttemptState::kRegistered && generation_.value > 0;
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
  while (!turn.decisions.empty()) {
    auto body = job.Consequence();
    if (!body) break;
    evolve(*std::move(body));
  }
  Append(turn.actions, std::move(decided.actions));
  return turn;
}

}  // namespace tony::am
