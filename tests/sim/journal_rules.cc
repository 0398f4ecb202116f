#include "tests/sim/journal_rules.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/job_rules.h"

namespace tony::sim {

void JournalRules::Read(const Decision& decision) {
  const bool stops = std::holds_alternative<JobStopping>(decision.body);
  if (job_ended_ && !std::holds_alternative<EpochBegan>(decision.body)) {
    Complain(StrCat(Name(decision), " after the end of the job"));
  }
  // A restart that has to wait is judged when it may begin, and an AM may crash before that.
  const bool may_come = MayComeBetween(decision) || std::holds_alternative<EpochBegan>(decision.body);
  if (fruitless_cause_ && !stops && !may_come) {
    Complain(StrCat(Name(decision), " although restarts do not help any more"));
  }
  if (!MayComeBetween(decision)) ExpectDue(decision);
  std::visit([&](const auto& body) { On(body, decision.time); }, decision.body);
}

// A decision that the last one requires must be the next one.
void JournalRules::ExpectDue(const Decision& decision) {
  const bool stops = std::holds_alternative<JobStopping>(decision.body);
  const bool restarts = std::holds_alternative<RestartDecided>(decision.body);
  const auto* tolerated = std::get_if<FailureTolerated>(&decision.body);
  const auto* finished = std::get_if<RoleFinished>(&decision.body);
  if (pending_ && DueRestart(judged_at_)) {
    if (!restarts) Complain(StrCat(Name(decision), " although ", ToString(*pending_), " has to start again"));
  } else if (pending_ && FailsJob()) {
    if (!stops) Complain(StrCat(Name(decision), " although the job has to stop"));
  } else if (pending_ && MustTolerate()) {
    if (!tolerated || tolerated->attempt != *pending_)
      Complain(StrCat(Name(decision), " although the job goes on without ", ToString(*pending_)));
  } else if (together_ && !verdict_ && IsOver(*spec_, Ends())) {
    if (!stops) Complain(StrCat(Name(decision), " although the job has succeeded"));
  } else if (const RoleSpec* role = RoleToFinish()) {
    if (!finished || finished->role != role->name)
      Complain(StrCat(Name(decision), " although enough of ", role->name, " have succeeded"));
  }
  if (!stops && !restarts && !tolerated) pending_.reset();
}

const RoleSpec* JournalRules::RoleToFinish() const {
  if (!together_ || verdict_) return nullptr;
  const EndsSeen ends = Ends();
  const auto due = std::ranges::find_if(spec_->roles, [&](const RoleSpec& role) {
    return IsSatisfied(role, ends) && LeftOf(role, ends) > 0 && !IsFinished(role.name) &&
           !MustPublish(*spec_, role.name);
  });
  return due == spec_->roles.end() ? nullptr : &*due;
}

// These decisions may stand between an end and its judgement, which are written in one step.
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
  AskFor(d);
  for (const AttemptId& attempt : d.attempts) Make(attempt, time);
  for (const RoleSpec& role : spec_->roles)
    if (role.max_parallel > 0 && PlacesTaken(role) > role.max_parallel)
      Complain(StrCat("more tasks of ", role.name, " run than ", role.max_parallel));
}

// Expects a request for all tasks of all roles that are due. Roles that are requested later start together.
void JournalRules::AskFor(const ContainersRequested& d) {
  std::set<TaskId> due;
  for (const RoleSpec& role : spec_->roles) {
    const std::set<std::string> before = PreparersOf(*spec_, role.name);
    const bool waits = std::ranges::any_of(before, [&](const std::string& other) { return !HasSucceeded(other); });
    if (waits || IsFinished(role.name) || left_.contains(role.name)) continue;
    int free = role.max_parallel > 0 ? role.max_parallel - PlacesTaken(role) : role.instances;
    for (int index = 0; index < role.instances; ++index)
      if (!NewestOf({role.name, index}) && free-- > 0) due.insert({role.name, index});
  }
  std::set<TaskId> asked;
  for (const AttemptId& attempt : d.attempts) asked.insert(attempt.task);
  if (asked != due || due.empty()) Complain("containers were asked for whose turn it is not, or not for all others");
  if (!made_.empty() && !together_) Complain("roles were asked for beside a gang that is not there");
  if (together_ && spec_->mode == DistributedMode::kGang) joining_.insert(asked.begin(), asked.end());
}

// A task holds its place until its last container is known to have ended.
int JournalRules::PlacesTaken(const RoleSpec& role) const {
  int taken = 0;
  for (int index = 0; index < role.instances; ++index) {
    const TaskId task{role.name, index};
    const auto newest = NewestOf(task);
    if (!newest) continue;
    const ContainerId& container = made_.at(*newest).container;
    const bool is_gone = container.value.empty() || gone_.contains(container);
    taken += !outcomes_.contains(*newest) || IsRestarting(task) || !is_gone;
  }
  return taken;
}

bool JournalRules::IsOpen(const std::string& role) const { return NewestOf({role, 0}).has_value(); }

bool JournalRules::HasSucceeded(const std::string& role) const {
  return IsFinished(role) || LeftOf(*spec_->FindRole(role), Ends()) == 0;
}

bool JournalRules::IsSettled(const std::string& role) const { return Prepares(*spec_, role) && HasSucceeded(role); }

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
  NoteJoined();
  if (together_ || !apart_.empty()) NoteClusterSpecs();
}

// Lets tasks join that were requested together and are all ready.
void JournalRules::NoteJoined() {
  const auto is_there = [&](const TaskId& task) {
    const auto newest = NewestOf(task);
    return newest && made_.at(*newest).endpoint && !outcomes_.contains(*newest);
  };
  // by the time of the first request
  std::map<Instant, std::set<TaskId>> together;
  for (const TaskId& task : joining_) together[made_.at({task, 1}).time].insert(task);
  for (const auto& [time, tasks] : together) {
    if (!std::ranges::all_of(tasks, is_there)) continue;
    for (const TaskId& task : tasks) {
      joining_.erase(task);
      if (spec_->FindRole(task.role)->outlives_restarts) apart_.insert(task);
    }
  }
}

void JournalRules::On(const GenerationFormed& d, Instant) {
  if (d.generation != generation_.Next()) Complain(StrCat("generation ", d.generation.value));
  if (!spec_->checkpoint.directory.empty() && !listed_) Complain("the gang formed and no checkpoints were listed");
  generation_ = d.generation;
  together_ = true;
  for (const RoleSpec& role : spec_->roles) {
    if (!IsOpen(role.name) || IsSettled(role.name)) continue;
    for (int index = 0; index < role.instances; ++index) {
      const auto newest = NewestOf({role.name, index});
      const bool there = newest && made_.at(*newest).endpoint && !outcomes_.contains(*newest);
      if (!there && spec_->mode == DistributedMode::kGang && !apart_.contains({role.name, index}))
        Complain(StrCat("the gang formed without ", role.name, ":", index));
      if (role.outlives_restarts) apart_.insert({role.name, index});
    }
  }
  NoteClusterSpecs();
}

void JournalRules::NoteClusterSpecs() {
  for (const RoleSpec& role : spec_->roles)
    if (StageRule(*spec_, role.name) == 0 && !WaitsForReady(*spec_, role.name)) NoteClusterSpec(role);
}

// A task that is being replaced keeps its last address. In FCFS mode a task's spec lists only the roles it depends on,
// and itself if it is the only task of a role that takes part in such dependencies.
void JournalRules::NoteClusterSpec(const RoleSpec& role) {
  ClusterSpec cluster{.generation = generation_};
  std::map<TaskId, const Made*> known;
  for (const auto& [id, made] : made_) {
    if (made.endpoint && !joining_.contains(id.task)) known[id.task] = &made;
  }
  const bool involved =
      !role.depends_on.empty() || (MustPublish(*spec_, role.name) && StageRule(*spec_, role.name) == 0);
  for (const auto& [task, made] : known) {
    const bool direct = std::ranges::count(role.depends_on, task.role, &Dependency::role) > 0;
    const bool is_self = task.role == role.name && role.instances == 1 && involved;
    const bool settled = IsSettled(task.role);
    const Made& newest = made_.at(*NewestOf(task));
    if ((direct || settled || StageRule(*spec_, task.role) < StageRule(*spec_, role.name)) && !newest.values.empty())
      cluster.values[task] = newest.values;
    if (spec_->mode == DistributedMode::kFcfs && (settled || !(direct || is_self))) continue;
    cluster.roles[task.role].push_back(*made->endpoint);
    if (!made->ports.empty()) cluster.ports[task] = made->ports;
    const int processes = spec_->FindRole(task.role)->processes;
    if (processes > 1) cluster.processes[task.role] = processes;
  }
  cluster_specs_[{generation_, role.name}].insert(ToJson(cluster));
}

const std::set<std::string>& JournalRules::cluster_specs(const std::string& role, Generation generation) {
  return cluster_specs_[{generation, role}];
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
  return !MustPublish(*spec_, attempt.task.role) || ValuesOf(attempt).contains(PublishedBy(*spec_, attempt.task.role));
}

bool JournalRules::MayStart(const AttemptId& attempt) const {
  const auto found = made_.find(attempt);
  if (joining_.contains(attempt.task)) return false;
  const bool at_once = StageRule(*spec_, attempt.task.role) == 0 && !WaitsForReady(*spec_, attempt.task.role);
  return at_once || (found != made_.end() && found->second.opened);
}

void JournalRules::On(const ValuesPublished& d, Instant) {
  const auto attempt = made_.find(d.attempt);
  const bool there = attempt != made_.end() && attempt->second.endpoint && !outcomes_.contains(d.attempt);
  if (!there || !MayStart(d.attempt)) return Complain(ToString(d.attempt) + " publishes and does not run");
  if (d.values.size() != 1 || !d.values.contains(PublishedBy(*spec_, d.attempt.task.role)) ||
      !attempt->second.values.empty())
    Complain(ToString(d.attempt) + " publishes what it may not");
  attempt->second.values = d.values;
}

// Opens the stage to each task that has registered and waits.
void JournalRules::On(const StageOpened& d, Instant) {
  if (!together_ || verdict_) Complain("a stage was opened to a gang that is not there");
  for (const RoleSpec& role : spec_->roles) {
    for (int index = 0; index < role.instances; ++index) {
      const auto newest = NewestOf({role.name, index});
      const int stage = StageRule(*spec_, role.name);
      const bool before = d.role.empty() ? stage < d.stage : IsReadyFor(*spec_, role.name, d.role);
      if (before && (!newest || !Publishes(*newest)))
        Complain(StrCat("stage ", d.stage, d.role, " was opened before ", role.name, ":", index, " had published"));
      const bool meant = d.role.empty() ? stage == d.stage : role.name == d.role;
      if (!meant || !newest || outcomes_.contains(*newest) || stopping_.contains(*newest)) continue;
      Made& made = made_.at(*newest);
      made.opened = made.opened || made.endpoint;
    }
  }
  for (const RoleSpec& role : spec_->roles)
    if (d.role.empty() ? StageRule(*spec_, role.name) == d.stage : role.name == d.role) NoteClusterSpec(role);
}

// The time counts from the last end of the group, or from a later start of a task of the role.
bool JournalRules::OutlivesTooLong(const RoleSpec& role, Instant time, Duration by, bool ignored) const {
  const auto is_over = [&](const std::string& name) {
    for (int index = 0; index < spec_->FindRole(name)->instances; ++index) {
      const auto newest = NewestOf({name, index});
      if (!newest || !outcomes_.contains(*newest) || IsRestarting({name, index})) return false;
    }
    return true;
  };
  if (!together_ || !IsOpen(role.name) || is_over(role.name)) return false;
  if (left_.contains(role.name) || IsFinished(role.name)) return false;
  return std::ranges::any_of(role.outlives, [&](const OutliveLimit& rule) {
    if (rule.ignored != ignored || !std::ranges::all_of(rule.roles, is_over)) return false;
    Instant since{};
    for (const auto& [id, made] : made_) {
      if (id.task.role == role.name) since = std::max({since, made.time, made.ran.value_or(Instant{})});
      if (std::ranges::count(rule.roles, id.task.role) > 0) since = std::max(since, made.ended.value_or(Instant{}));
    }
    return time - since >= rule.limit + by;
  });
}

void JournalRules::On(const RoleDetached& d, Instant time) {
  if (verdict_ || !OutlivesTooLong(*spec_->FindRole(d.role), time, -skew_, /*ignored=*/true))
    Complain(StrCat("role ", d.role, " is left alone too early"));
  left_.insert(d.role);
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
  const bool unneeded = IsFinished(d.attempt.task.role);
  const bool judged = verdict_ || IsRestarting(d.attempt.task) || unneeded;
  if (!judged) pending_ = d.attempt;
  // Only a failed attempt that may be retried keeps its executor.
  const bool ignored = IsIgnored(*spec_->FindRole(d.attempt.task.role));
  attempt->second.let_go = unneeded || (!judged && (ignored || d.outcome.Succeeded()));
  judged_at_ = time;
  if (!judged && HasFormed(d.attempt.task) && d.outcome.Succeeded() && !Publishes(d.attempt))
    Complain(ToString(d.attempt) + " succeeded, and others wait for its values for ever");
}

void JournalRules::On(const FailureTolerated& d, Instant time) {
  if (verdict_ || pending_ != d.attempt || DueRestart(judged_at_) || FailsJob() || !MustTolerate())
    return Complain(StrCat("the job goes on without ", ToString(d.attempt), " for no reason"));
  pending_.reset();
  NoteHold(d.attempt, time);
  made_.at(d.attempt).let_go = true;
  tolerated_.push_back(d.attempt);
}

void JournalRules::On(const RoleFinished& d, Instant) {
  const RoleSpec* role = RoleToFinish();
  if (!role || role->name != d.role) return Complain(StrCat("role ", d.role, " is finished for no reason"));
  finished_.insert(d.role);
  for (int index = 0; index < role->instances; ++index) {
    const TaskId task{role->name, index};
    const auto newest = NewestOf(task);
    if (!newest) continue;
    if (!outcomes_.contains(*newest)) stopping_.insert(*newest);
    if (IsRestarting(task)) made_.at(*newest).let_go = true;
    for (auto& [number, restart] : restarts_) restart.tasks.erase(task);
  }
  std::erase_if(restarts_, [](const auto& entry) { return entry.second.tasks.empty(); });
}

void JournalRules::On(const ContainerKillOrdered& d, Instant time) {
  kill_ordered_.emplace(d.container, time);
  if (hold_ && hold_->container == d.container && !verdict_ && time < hold_->until - skew_)
    Complain(StrCat(d.container.value, ", which is held for a person, is ended too early"));
}

void JournalRules::NoteHold(const AttemptId& failed, Instant time) {
  const auto outcome = outcomes_.find(failed);
  if (spec_->hold == Duration(0) || outcome == outcomes_.end() || outcome->second.Succeeded()) return;
  if (hold_ && !gone_.contains(hold_->container) && !kill_ordered_.contains(hold_->container)) return;
  if (CouldGoOn(failed)) hold_ = {failed, made_.at(failed).container, time + spec_->hold};
}

void JournalRules::On(const ContainerEnded& d, Instant) {
  if (!containers_.contains(d.container) || !gone_.insert(d.container).second) {
    Complain(d.container.value + " ended twice or never was");
  }
}

// An attempt that ends before the gang has formed counts as a failure, even if it succeeded.
Outcome JournalRules::WhatCounts(const AttemptId& ended) const {
  Outcome outcome = outcomes_.at(ended);
  if (outcome.Succeeded() && !HasFormed(ended.task)) outcome.cls = OutcomeClass::kInfra;
  const bool by_signal = outcome.source == Source::kSignal && outcome.advice == Advice::kNone;
  if (by_signal && outcome.cls == OutcomeClass::kInfra && HadSignalsBefore(ended))
    outcome.cls = OutcomeClass::kUserError;
  return outcome;
}

// The third signal that ends a task is treated as the program's own failure.
bool JournalRules::HadSignalsBefore(const AttemptId& ended) const {
  const Duration window = spec_->restart.lost.window;
  int before = 0;
  for (AttemptId earlier{ended.task, 1}; earlier.number < ended.number; ++earlier.number) {
    const auto outcome = outcomes_.find(earlier);
    if (outcome == outcomes_.end() || outcome->second.source != Source::kSignal) continue;
    if (outcome->second.cls != OutcomeClass::kInfra) continue;
    if (window.count() == 0 || *made_.at(ended).ended - *made_.at(earlier).ended < window) ++before;
  }
  return before >= 2;
}

std::optional<AttemptId> JournalRules::FailsJob() const {
  if (WhatCounts(*pending_).Succeeded()) return std::nullopt;
  return HasFormed(pending_->task) ? FailureNamed(*spec_, Ends(), *pending_) : pending_;
}

bool JournalRules::MustTolerate() const {
  return !WhatCounts(*pending_).Succeeded() && !IsIgnored(*spec_->FindRole(pending_->task.role));
}

std::optional<RestartDue> JournalRules::DueRestart(Instant now) const {
  const Outcome outcome = WhatCounts(*pending_);
  if (outcome.Succeeded()) return std::nullopt;
  const FailureSeen failure{pending_->task, outcome.cls, outcome.advice, HasFormed(pending_->task),
                            CouldGoOn(*pending_)};
  return RestartAfter(*spec_, failure, past_, now);
}

EndsSeen JournalRules::Ends() const {
  EndsSeen ends{.left = left_};
  for (const RoleSpec& role : spec_->roles) {
    for (int index = 0; index < role.instances; ++index) {
      const TaskId task{role.name, index};
      const auto newest = NewestOf(task);
      const Outcome* outcome = newest ? OutcomeOf(*newest) : nullptr;
      if (outcome && outcome->Succeeded() && !IsRestarting(task)) ++ends.good[role.name];
    }
  }
  for (const AttemptId& id : tolerated_)
    if (NewestOf(id.task) == id && !IsRestarting(id.task)) ends.bad.push_back(id);
  return ends;
}

bool JournalRules::IsOverdue(Instant time, Duration by) const {
  if (!accepted_) return false;
  const auto late = [&](Instant since, Duration limit) { return time - since >= limit + by; };
  if (spec_->timeout.count() > 0 && late(*accepted_, spec_->timeout)) return true;
  for (const RoleSpec& role : spec_->roles)
    if (OutlivesTooLong(role, time, by, /*ignored=*/false)) return true;
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
  if (d.verdict.attempt) NoteHold(*d.verdict.attempt, time);
  if (fruitless_cause_) return ExpectFailed(d.verdict, *std::exchange(fruitless_cause_, std::nullopt));
  const auto cause = pending_ ? FailsJob() : std::nullopt;
  if (cause) {
    ExpectFailed(d.verdict, *cause);
    const OutcomeClass cls = cause == pending_ ? WhatCounts(*pending_).cls : outcomes_.at(*cause).cls;
    if (d.verdict.cls != cls) Complain("the verdict has another class than the failure");
  }
  pending_.reset();
  // A task that waits for its restart has not ended.
  const bool over = together_ && IsOver(*spec_, Ends());
  const bool overdue = IsOverdue(time, -skew_) || IsSilent(time);
  restarts_.clear();
  if (cause) return;
  const FinalState state = d.verdict.state;
  if (over != (state == FinalState::kSucceeded))
    Complain(StrCat(ToString(state), over ? " although" : " before", " enough have succeeded"));
  if (state == FinalState::kFailed && !(d.verdict.cls == OutcomeClass::kTimeout && overdue)) {
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
