#include "tests/sim/journal_rules.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/stage_rules.h"

namespace tony::sim {

void JournalRules::Read(const Decision& decision) {
  const bool stops = std::holds_alternative<JobStopping>(decision.body);
  if (job_ended_ && !std::holds_alternative<EpochBegan>(decision.body)) {
    Complain(StrCat(Name(decision), " after the end of the job"));
  }
  // A restart that has to wait is judged when it may begin: a crash may come between.
  const bool may_come = MayComeBetween(decision) || std::holds_alternative<EpochBegan>(decision.body);
  if (fruitless_cause_ && !stops && !may_come) {
    Complain(StrCat(Name(decision), " although restarts do not help any more"));
  }
  if (pending_ && !MayComeBetween(decision)) {
    const bool restarts = std::holds_alternative<RestartDecided>(decision.body);
    if (DueRestart(judged_at_)) {
      if (!restarts) Complain(StrCat(Name(decision), " although ", ToString(*pending_), " has to start again"));
    } else if (FailsJob() || (TrackedSuccesses() == spec_->TrackedTasks() && !verdict_)) {
      if (!stops) Complain(StrCat(Name(decision), " although the job has to stop"));
    }
    if (!stops && !restarts) pending_.reset();
  }
  std::visit([&](const auto& body) { On(body, decision.time); }, decision.body);
}

// Between an end and what is made of it, which are written in one turn.
bool JournalRules::MayComeBetween(const Decision& decision) const {
  return std::holds_alternative<ContainerEnded>(decision.body) ||
         std::holds_alternative<ContainerKillOrdered>(decision.body);
}

const Outcome* JournalRules::OutcomeOf(const AttemptId& attempt) const {
  const auto found = outcomes_.find(attempt);
  return found == outcomes_.end() ? nullptr : &found->second;
}

std::optional<AttemptId> JournalRules::AttemptIn(const ContainerId& container) const {
  const auto found = containers_.find(container);
  return found == containers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<AttemptId> JournalRules::NewestOf(const TaskId& task) const {
  const auto next = made_.upper_bound({task, std::numeric_limits<int>::max()});
  if (next == made_.begin() || std::prev(next)->first.task != task) return std::nullopt;
  return std::prev(next)->first;
}

size_t JournalRules::CheckpointsBefore(const AttemptId& attempt) const {
  const auto found = made_.find(attempt);
  return found == made_.end() ? 0 : found->second.checkpoints;
}

bool JournalRules::IsTracked(const TaskId& task) const {
  return spec_->FindRole(task.role)->completion == Completion::kTracked;
}

void JournalRules::Make(const AttemptId& attempt, Instant time) {
  const auto newest = NewestOf(attempt.task);
  if (attempt.number != (newest ? newest->number : 0) + 1) Complain(ToString(attempt) + " is not the next one");
  if (newest && !outcomes_.contains(*newest)) Complain(StrCat(ToString(attempt), " before the end of the last one"));
  if (!made_.emplace(attempt, Made{.checkpoints = checkpoints_.size(), .time = time}).second) {
    Complain(ToString(attempt) + " was made twice");
  }
}

void JournalRules::On(const EpochBegan& d, Instant time) {
  if (d.epoch <= epoch_) Complain(StrCat("epoch ", d.epoch.value, " after ", epoch_.value));
  epoch_ = d.epoch;
  judged_at_ = waits_since_ = time;
}

void JournalRules::On(const JobAccepted&, Instant time) {
  if (accepted_) Complain("the job was accepted twice");
  accepted_ = time;
}

void JournalRules::On(const ContainersRequested& d, Instant time) {
  waits_since_ = time;
  for (const AttemptId& attempt : d.attempts) Make(attempt, time);
}

void JournalRules::On(const ContainerAssigned& d, Instant time) {
  const auto attempt = made_.find(d.attempt);
  if (attempt == made_.end() || !attempt->second.container.value.empty() || outcomes_.contains(d.attempt)) {
    Complain(ToString(d.attempt) + " got a container that it did not need");
  } else {
    attempt->second.container = d.container;
    attempt->second.placed = time;
    waits_since_ = time;
  }
  if (!containers_.emplace(d.container, d.attempt).second) Complain(d.container.value + " was assigned twice");
}

void JournalRules::On(const AttemptLaunched& d, Instant time) {
  const auto attempt = made_.find(d.attempt);
  if (attempt == made_.end() || !attempt->second.placed) return Complain(ToString(d.attempt) + " has no container");
  attempt->second.launched = time;
}

void JournalRules::On(const AttemptRegistered& d, Instant time) {
  const auto attempt = made_.find(d.attempt);
  if (attempt == made_.end() || outcomes_.contains(d.attempt)) {
    return Complain(ToString(d.attempt) + " registered and is not there");
  }
  attempt->second.endpoint = d.endpoint;
  attempt->second.ports = d.ports;
  attempt->second.registered = time;
  attempt->second.since = generation_;
  if (together_ || !apart_.empty()) NoteClusterSpec();
}

void JournalRules::On(const GenerationFormed& d, Instant) {
  if (d.generation != generation_.Next()) Complain(StrCat("generation ", d.generation.value));
  if (!spec_->checkpoint.directory.empty() && !listed_) Complain("the gang formed and no checkpoints were listed");
  generation_ = d.generation;
  together_ = true;
  for (const RoleSpec& role : spec_->roles) {
    for (int index = 0; index < role.instances; ++index) {
      const auto newest = NewestOf({role.name, index});
      const bool there = newest && made_.at(*newest).endpoint && !outcomes_.contains(*newest);
      if (!there && spec_->mode == DistributedMode::kGang && !apart_.contains({role.name, index}))
        Complain(StrCat("the gang formed without ", role.name, ":", index));
      if (role.outlives_restarts) apart_.insert({role.name, index});
    }
  }
  NoteClusterSpec();
}

// A task that is being replaced is known by its last address.
void JournalRules::NoteClusterSpec(int stage) {
  ClusterSpec cluster{.generation = generation_};
  std::map<TaskId, const Made*> newest;
  for (const auto& [id, made] : made_) {
    if (made.endpoint) newest[id.task] = &made;
  }
  for (const auto& [task, made] : newest) {
    if (spec_->mode == DistributedMode::kFcfs) break;
    cluster.roles[task.role].push_back(*made->endpoint);
    if (!made->ports.empty()) cluster.ports[task] = made->ports;
    const int processes = spec_->FindRole(task.role)->processes;
    if (processes > 1) cluster.processes[task.role] = processes;
    if (StageRule(*spec_, task.role) < stage) cluster.values[task] = made->values;
  }
  cluster_specs_[{generation_, stage}].insert(ToJson(cluster));
}

const std::set<std::string>& JournalRules::cluster_specs(const std::string& role, Generation generation) {
  return cluster_specs_[{generation, StageRule(*spec_, role)}];
}

bool JournalRules::MayBelongTo(Generation generation, const AttemptId& attempt) const {
  if (generation == generation_) return true;
  const auto found = made_.find(attempt);
  if (found == made_.end() || !spec_->FindRole(attempt.task.role)->outlives_restarts) return false;
  return generation >= found->second.since && generation < generation_ && generation.value > 0;
}

// ---- stages

const PublishedValues& JournalRules::ValuesOf(const AttemptId& attempt) const {
  static const PublishedValues kNone;
  const auto found = made_.find(attempt);
  return found == made_.end() ? kNone : found->second.values;
}

bool JournalRules::Publishes(const AttemptId& attempt) const {
  return !MustPublish(*spec_, attempt.task.role) || ValuesOf(attempt).contains(kPublished);
}

bool JournalRules::MayStart(const AttemptId& attempt) const {
  const auto found = made_.find(attempt);
  return StageRule(*spec_, attempt.task.role) == 0 || (found != made_.end() && found->second.opened);
}

void JournalRules::On(const ValuesPublished& d, Instant) {
  const auto attempt = made_.find(d.attempt);
  const bool there = attempt != made_.end() && attempt->second.endpoint && !outcomes_.contains(d.attempt);
  if (!there || !MayStart(d.attempt)) return Complain(ToString(d.attempt) + " publishes and does not run");
  if (d.values.size() != 1 || !d.values.contains(kPublished) || !attempt->second.values.empty())
    Complain(ToString(d.attempt) + " publishes what it may not");
  attempt->second.values = d.values;
}

// To everybody who has registered and waits.
void JournalRules::On(const StageOpened& d, Instant) {
  if (!together_ || verdict_) Complain("a stage was opened to a gang that is not there");
  for (const RoleSpec& role : spec_->roles) {
    for (int index = 0; index < role.instances; ++index) {
      const auto newest = NewestOf({role.name, index});
      const int stage = StageRule(*spec_, role.name);
      if (stage < d.stage && (!newest || !Publishes(*newest)))
        Complain(StrCat("stage ", d.stage, " was opened before ", role.name, ":", index, " had published"));
      if (stage != d.stage || !newest || outcomes_.contains(*newest) || stopping_.contains(*newest)) continue;
      Made& made = made_.at(*newest);
      made.opened = made.opened || made.endpoint;
    }
  }
  NoteClusterSpec(d.stage);
}

bool JournalRules::IsSilent(Instant time) const {
  return std::ranges::any_of(made_, [&](const auto& entry) {
    const auto& [id, made] = entry;
    if (!made.registered || outcomes_.contains(id) || stopping_.contains(id) || Publishes(id)) return false;
    return time - *made.registered >= spec_->registration_timeout - skew_;
  });
}

void JournalRules::On(const AttemptEnded& d, Instant time) {
  const auto attempt = made_.find(d.attempt);
  if (attempt == made_.end()) return Complain(ToString(d.attempt) + " ended and never was");
  if (!outcomes_.emplace(d.attempt, d.outcome).second) Complain(ToString(d.attempt) + " ended twice");
  attempt->second.ended = time;
  attempt->second.reported = d.reported;
  const bool judged = verdict_ || IsRestarting(d.attempt.task);
  if (!judged) pending_ = d.attempt;
  // Only what failed, and may be tried again, keeps its executor.
  const bool sidecar = spec_->FindRole(d.attempt.task.role)->completion == Completion::kSidecar;
  attempt->second.let_go = !judged && (sidecar || d.outcome.Succeeded());
  judged_at_ = time;
  if (!judged && together_ && d.outcome.Succeeded() && !Publishes(d.attempt))
    Complain(ToString(d.attempt) + " succeeded, and others wait for its values for ever");
}

void JournalRules::On(const ContainerKillOrdered& d, Instant time) { kill_ordered_.emplace(d.container, time); }

void JournalRules::On(const ContainerEnded& d, Instant) {
  if (!containers_.contains(d.container) || !gone_.insert(d.container).second) {
    Complain(d.container.value + " ended twice or never was");
  }
}

// Who ends before the gang has formed is missed, however it ended.
Outcome JournalRules::WhatCounts(const AttemptId& ended) const {
  Outcome outcome = outcomes_.at(ended);
  if (outcome.Succeeded() && !IsTogether(ended.task)) outcome.cls = OutcomeClass::kInfra;
  const bool by_signal = outcome.source == Source::kSignal && outcome.advice == Advice::kNone;
  if (by_signal && outcome.cls == OutcomeClass::kInfra && HadSignalBefore(ended))
    outcome.cls = OutcomeClass::kUserError;
  return outcome;
}

// The second time that a signal ends a task it is taken for the program's own doing.
bool JournalRules::HadSignalBefore(const AttemptId& ended) const {
  const Duration window = spec_->restart.lost.window;
  for (AttemptId earlier{ended.task, 1}; earlier.number < ended.number; ++earlier.number) {
    const auto outcome = outcomes_.find(earlier);
    if (outcome == outcomes_.end() || outcome->second.source != Source::kSignal) continue;
    if (outcome->second.cls != OutcomeClass::kInfra) continue;
    if (window.count() == 0 || *made_.at(ended).ended - *made_.at(earlier).ended < window) return true;
  }
  return false;
}

bool JournalRules::FailsJob() const {
  const Completion completion = spec_->FindRole(pending_->task.role)->completion;
  const bool matters = !IsTogether(pending_->task) || completion != Completion::kSidecar;
  return matters && !WhatCounts(*pending_).Succeeded();
}

std::optional<RestartDue> JournalRules::DueRestart(Instant now) const {
  const Outcome outcome = WhatCounts(*pending_);
  if (outcome.Succeeded()) return std::nullopt;
  const bool together = IsTogether(pending_->task);
  const FailureSeen failure{pending_->task, outcome.cls, outcome.advice, together, CouldGoOn(*pending_)};
  return RestartAfter(*spec_, failure, past_, now);
}

int JournalRules::TrackedSuccesses() const {
  int count = 0;
  for (const RoleSpec& role : spec_->roles) {
    for (int index = 0; index < role.instances; ++index) {
      const TaskId task{role.name, index};
      const auto newest = NewestOf(task);
      const Outcome* outcome = newest ? OutcomeOf(*newest) : nullptr;
      if (IsTracked(task) && outcome && outcome->Succeeded() && !IsRestarting(task)) ++count;
    }
  }
  return count;
}

bool JournalRules::IsOverdue(Instant time, Duration by) const {
  if (!accepted_) return false;
  const auto late = [&](Instant since, Duration limit) { return time - since >= limit + by; };
  if (spec_->timeout.count() > 0 && late(*accepted_, spec_->timeout)) return true;
  return std::ranges::any_of(made_, [&](const auto& entry) {
    const auto& [id, made] = entry;
    if (made.endpoint || outcomes_.contains(id) || stopping_.contains(id)) return false;
    const Duration registry = spec_->registry_timeout;
    if (made.launched && registry.count() > 0 && late(*made.launched, registry)) return true;
    if (made.placed) return late(*made.placed, spec_->registration_timeout);
    return spec_->allocation_timeout.count() > 0 && late(made.time, spec_->allocation_timeout);
  });
}

void JournalRules::ExpectFailed(const Verdict& verdict, const AttemptId& cause) {
  const Outcome& outcome = outcomes_.at(cause);
  const bool right = verdict.state == FinalState::kFailed && verdict.attempt == cause && verdict.exit == outcome.exit;
  if (!right) Complain(StrCat(ToString(verdict.state), ": ", verdict.message, "; but ", ToString(cause), " failed"));
}

void JournalRules::On(const JobStopping& d, Instant time) {
  stop_grace_ = d.grace;
  if (verdict_) Complain("a second verdict");
  verdict_ = d.verdict;
  if (fruitless_cause_) return ExpectFailed(d.verdict, *std::exchange(fruitless_cause_, std::nullopt));
  const bool failed = pending_ && FailsJob();
  if (failed) {
    ExpectFailed(d.verdict, *pending_);
    if (d.verdict.cls != WhatCounts(*pending_).cls) Complain("the verdict has another class than the failure");
  }
  pending_.reset();
  const int successes = TrackedSuccesses();  // a task that waits for its restart has none
  restarts_.clear();
  if (failed) return;
  const FinalState state = d.verdict.state;
  if ((successes == spec_->TrackedTasks()) != (state == FinalState::kSucceeded)) {
    Complain(StrCat(ToString(state), " with ", successes, " of ", spec_->TrackedTasks(), " successes"));
  }
  if (state == FinalState::kFailed &&
      !(d.verdict.cls == OutcomeClass::kTimeout && (IsOverdue(time, -skew_) || IsSilent(time)))) {
    Complain("FAILED without a reason: " + d.verdict.message);
  }
}

void JournalRules::On(const JobEnded&, Instant) {
  job_ended_ = true;
  if (!verdict_) Complain("the job ended without a verdict");
  for (const auto& [attempt, made] : made_) {
    if (!outcomes_.contains(attempt)) Complain(ToString(attempt) + " has no outcome at the end of the job");
  }
  for (const auto& [container, attempt] : containers_) {
    if (!gone_.contains(container)) Complain(container.value + " is held at the end of the job");
  }
}

}  // namespace tony::sim
