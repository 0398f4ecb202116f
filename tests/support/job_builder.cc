#include "tests/support/job_builder.h"

#include <algorithm>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"

namespace tony::am {
namespace {

const JobId kJob{"job-1"};
constexpr int kFirstPort = 4000;
constexpr int kFirstNamedPort = 5000;

TaskId TaskOf(std::string_view text) {
  auto task = ParseTaskId(text.substr(0, text.find('#')));
  CHECK(task.ok());
  return *std::move(task);
}

std::string Suffix(const AttemptId& attempt) {
  const std::string folder = FolderName(attempt.task);
  return attempt.number == 1 ? folder : StrCat(folder, "-", attempt.number);
}

// Returns the endpoint of the executor in that container. A renewed attempt keeps the executor.
Endpoint EndpointIn(const ContainerId& container, const TaskId& task) {
  return {StrCat("node-", container.value.substr(2)), kFirstPort + task.index};
}

std::string Order(const Action& action) {
  return std::visit(
      Overloaded{
          [](const RequestContainers& a) {
            std::vector<std::string> attempts;
            for (const ContainerRequest& ask : a.asks) attempts.push_back(ToString(ask.attempt));
            return StrCat("request ", Join(attempts, " "));
          },
          [](const WithdrawRequests& a) {
            std::vector<std::string> attempts;
            for (const AttemptId& attempt : a.attempts) attempts.push_back(ToString(attempt));
            return StrCat("withdraw ", Join(attempts, " "));
          },
          [](const LaunchExecutor& a) { return StrCat("launch ", ToString(a.attempt), " in ", a.container.value); },
          [](const StopContainer& a) {
            return StrCat(a.mode == StopMode::kTerm ? "term " : "kill ", a.container.value);
          },
          [](const SendCommand& a) { return StrCat("tell ", ToString(a.attempt)); },
          [](const ListCheckpoints&) { return std::string("list"); },
          [](const SearchCheckpoint& a) { return StrCat("look ", a.restart); },
          [](const EndJob&) { return std::string("end job"); },
      },
      action);
}

}  // namespace

JobBuilder& JobBuilder::Role(const std::string& name, int instances, Completion completion) {
  spec_.roles.push_back({.name = name, .instances = instances, .command = "true", .completion = completion});
  std::ranges::sort(spec_.roles, {}, &RoleSpec::name);
  return *this;
}

JobBuilder& JobBuilder::Waits(const std::string& name, const std::string& other, Dependency::Until until) {
  auto& dependencies = std::ranges::find(spec_.roles, name, &RoleSpec::name)->depends_on;
  dependencies.push_back({other, until});
  std::ranges::sort(dependencies, {}, &Dependency::role);
  return *this;
}

JobBuilder& JobBuilder::OutlivesRestarts(const std::string& role) {
  std::ranges::find(spec_.roles, role, &RoleSpec::name)->outlives_restarts = true;
  return *this;
}

JobBuilder& JobBuilder::Timeout(Duration timeout) {
  spec_.timeout = timeout;
  return *this;
}

JobBuilder& JobBuilder::RegistrationTimeout(Duration timeout) {
  spec_.registration_timeout = timeout;
  return *this;
}

JobBuilder& JobBuilder::RegistryTimeout(Duration timeout) {
  spec_.registry_timeout = timeout;
  return *this;
}

JobBuilder& JobBuilder::AllocationTimeout(Duration timeout) {
  spec_.allocation_timeout = timeout;
  return *this;
}

JobBuilder& JobBuilder::Fcfs() {
  spec_.mode = DistributedMode::kFcfs;
  return *this;
}

JobBuilder& JobBuilder::With(const Timers& timers) {
  spec_.timers = timers;
  return *this;
}

JobBuilder& JobBuilder::Framework(FrameworkKind framework) {
  spec_.framework = framework;
  return *this;
}

JobBuilder& JobBuilder::Completes(int min_succeeded, int min_failed) {
  spec_.roles.back().min_succeeded = min_succeeded;
  if (min_failed > 0) spec_.roles.back().min_failed = min_failed;
  return *this;
}

JobBuilder& JobBuilder::TonysRule() {
  spec_.completion_rule = CompletionRule::kTony;
  for (RoleSpec& role : spec_.roles)
    if (role.completion == Completion::kTracked) role.min_failed = 0;
  return *this;
}

JobBuilder& JobBuilder::Restarts(RestartScope level, int most, Duration window) {
  spec_.restart.levels[static_cast<size_t>(level)] = {most, window};
  return *this;
}

JobBuilder& JobBuilder::LostRestarts(int most, Duration window) {
  spec_.restart.lost = {most, window};
  return *this;
}

JobBuilder& JobBuilder::NoRestarts() { return LostRestarts(0); }

JobBuilder& JobBuilder::Backoff(Duration first, Duration longest) {
  spec_.restart.backoff = first;
  spec_.restart.longest_backoff = longest;
  return *this;
}

JobBuilder& JobBuilder::Settle(Duration time) {
  spec_.restart.settle = time;
  return *this;
}

JobBuilder& JobBuilder::Checkpoints(const std::string& directory, int most_fruitless) {
  spec_.checkpoint = {.directory = directory, .most_fruitless = most_fruitless};
  return *this;
}

JobSpec JobBuilder::Build() const { return spec_; }

std::vector<std::string> Decisions(const CoreStepResult& turn) {
  std::vector<std::string> names;
  for (const Decision& decision : turn.decisions) names.emplace_back(Name(decision));
  return names;
}

std::vector<std::string> Orders(const Actions& actions) {
  std::vector<std::string> orders;
  for (const Action& action : actions) orders.push_back(Order(action));
  return orders;
}

Outcome Success() { return {.cls = OutcomeClass::kSuccess, .exit = ExitStatus{}}; }

Outcome Failure(int exit_code) {
  return {.cls = OutcomeClass::kUserError, .exit = ExitStatus{.value = exit_code}, .stderr_tail = "Traceback"};
}

Outcome Killed() { return {.cls = OutcomeClass::kKilled, .exit = ExitStatus{ExitStatus::Kind::kSignaled, 15}}; }

AttemptId AttemptOf(std::string_view task) {
  const size_t number = task.find('#');
  if (number == std::string_view::npos) return {TaskOf(task), 1};
  return {TaskOf(task), static_cast<int>(ParseInt(task.substr(number + 1)).value())};
}
ContainerId ContainerOf(std::string_view task) { return {StrCat("c-", Suffix(AttemptOf(task)))}; }
std::string HostOf(std::string_view task) { return StrCat("node-", Suffix(AttemptOf(task))); }
Endpoint EndpointOf(std::string_view task) { return {HostOf(task), kFirstPort + TaskOf(task).index}; }

NamedPorts PortsOf(const JobSpec& spec, std::string_view task) {
  NamedPorts ports;
  for (const std::string& name : PortNames(spec, TaskOf(task)))
    ports[name] = kFirstNamedPort + static_cast<int>(ports.size());
  return ports;
}

JobDriver::JobDriver(JobSpec spec) : spec_(std::move(spec)), job_(std::make_unique<Job>(kJob, spec_)) {}

TaskStatus JobDriver::StatusOf(std::string_view task) const {
  const JobStatus status = Status();
  const auto row = std::ranges::find(status.tasks, TaskOf(task), &TaskStatus::id);
  CHECK(row != status.tasks.end());
  return *row;
}

Caller JobDriver::CallerOf(std::string_view task) const {
  return {.job = kJob,
          .attempt = AttemptOf(task),
          .container = ContainerFor(task),
          .generation = generation_,
          .epoch = job_->epoch()};
}

ContainerId JobDriver::ContainerFor(std::string_view task) const {
  const auto found = containers_.find(AttemptOf(task));
  return found == containers_.end() ? ContainerOf(task) : found->second;
}

std::string JobDriver::Told(std::string_view task) const {
  const Command command = CommandFor(task);
  switch (command.kind) {
    case Command::Kind::kNone:
      return "none";
    case Command::Kind::kStart:
      return StrCat("start ", command.generation.value);
    case Command::Kind::kStop:
      return "stop";
    case Command::Kind::kRelease:
      return "release";
    case Command::Kind::kNext:
      return StrCat("next ", command.attempt);
  }
  return "";
}

CoreStepResult JobDriver::Observe(const Observation& observation) {
  CoreStepResult turn = RunCoreStep(*job_, observation, now_);
  // CheckInvariants() visits all tasks, so a large job is checked only now and then.
  constexpr size_t kFew = 64;
  if (job_->spec().TrackedTasks() <= static_cast<int>(kFew) || journal_.size() % kFew == 0) job_->CheckInvariants();
  for (const Decision& decision : turn.decisions) Keep(decision);
  return turn;
}

void JobDriver::Keep(const Decision& decision) {
  if (const auto* formed = std::get_if<GenerationFormed>(&decision.body)) generation_ = formed->generation;
  if (const auto* assigned = std::get_if<ContainerAssigned>(&decision.body))
    containers_[assigned->attempt] = assigned->container;
  if (const auto* began = std::get_if<RestartBegan>(&decision.body)) {
    for (const RenewedAttempt& renewed : began->renewed) containers_[renewed.attempt] = renewed.container;
  }
  journal_.push_back(decision);
}

CoreStepResult JobDriver::Grant(std::string_view task) {
  return Observe(ContainerEvent{ContainerGranted{AttemptOf(task), ContainerOf(task), HostOf(task)}});
}

CoreStepResult JobDriver::ConfirmLaunch(std::string_view task) {
  return Observe(ContainerEvent{ContainerStarted{ContainerFor(task)}});
}

CoreStepResult JobDriver::Register(std::string_view task, Phase phase, int64_t pid) {
  return Observe(
      RegisterCall{CallerOf(task), {EndpointIn(ContainerFor(task), TaskOf(task)), phase, pid, PortsOf(spec_, task)}});
}

CoreStepResult JobDriver::Heartbeat(std::string_view task, Phase phase, int64_t pid) {
  return Observe(HeartbeatCall{CallerOf(task), {phase, pid}});
}

CoreStepResult JobDriver::Report(std::string_view task, const Outcome& outcome) {
  return Observe(OutcomeCall{CallerOf(task), outcome});
}

CoreStepResult JobDriver::Exit(std::string_view task, std::optional<Outcome> kept) {
  ContainerExited exited{ContainerFor(task), ExitStatus{}, "", {}};
  if (kept) exited.kept = KeptOutcome{CallerOf(task).attempt, *std::move(kept)};
  return Observe(ContainerEvent{std::move(exited)});
}

CoreStepResult JobDriver::Preempt(std::string_view task, Duration notice) {
  return Observe(ContainerEvent{ContainerPreempting{ContainerFor(task), notice}});
}

CoreStepResult JobDriver::SeeCheckpoint(int restart, std::optional<Checkpoint> newest, bool readable) {
  return Observe(CheckpointSearched{restart, std::move(newest), readable});
}

CoreStepResult JobDriver::Kill(const std::string& reason, Duration grace) {
  return Observe(KillRequested{{.reason = reason, .grace = grace}});
}

CoreStepResult JobDriver::Reach(const std::vector<ContainerId>& running) {
  return Observe(ContainerEvent{SchedulerReached{running}});
}

void JobDriver::Wait(Duration time) {
  const Instant end = now_ + time;
  while (now_ < end) {
    now_ = std::min(end, now_ + job_->spec().timers.record_fresh / 3);
    Observe(LeaseRenewed{});
  }
}

CoreStepResult JobDriver::Pass(Duration time) {
  Wait(time);
  return Observe(TimePassed{});
}

CoreStepResult JobDriver::PassToDeadline() {
  const auto deadline = job_->NextDeadline();
  CHECK(deadline.has_value());
  now_ = std::max(now_, *deadline);
  return Observe(TimePassed{});
}

JobDriver& JobDriver::GrantAll() {
  for (const std::string& attempt : Newest()) {
    if (StateOf(attempt) == AttemptState::kRequested) Grant(attempt);
  }
  return *this;
}

JobDriver& JobDriver::RegisterAll() {
  for (const std::string& attempt : Newest()) {
    ConfirmLaunch(attempt);
    if (!job_->Ended() && StateOf(attempt) < AttemptState::kRegistered) Register(attempt);
  }
  return *this;
}

JobDriver& JobDriver::RunAll() {
  for (const std::string& attempt : Newest()) {
    if (StateOf(attempt) == AttemptState::kRegistered) Heartbeat(attempt);
  }
  return *this;
}

JobDriver& JobDriver::Accepted() {
  Start();
  return *this;
}

JobDriver& JobDriver::Gathering() { return Accepted().GrantAll(); }

JobDriver& JobDriver::Running() {
  Gathering().RegisterAll().ListCheckpoints();
  return RunAll();
}

void JobDriver::Replay(size_t decisions) {
  const std::vector<Decision> kept(journal_.begin(), journal_.begin() + static_cast<std::ptrdiff_t>(decisions));
  journal_.clear();
  generation_ = {};
  containers_.clear();
  job_ = std::make_unique<Job>(kJob, spec_);
  for (const Decision& decision : kept) {
    CHECK(job_->Evolve(decision).ok());
    Keep(decision);
  }
}

std::vector<std::string> JobDriver::Newest() const {
  std::vector<std::string> attempts;
  for (const TaskStatus& task : Status().tasks)
    attempts.push_back(ToString(AttemptId{task.id, std::max(1, task.attempt)}));
  return attempts;
}

}  // namespace tony::am
