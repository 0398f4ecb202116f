#include "tests/support/job_builder.h"

#include <algorithm>

#include "runtime/base/overloaded.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

const JobId kJob{"job-1"};
constexpr int kFirstPort = 4000;

TaskId TaskOf(std::string_view text) {
  auto task = ParseTaskId(text);
  CHECK(task.ok());
  return *std::move(task);
}

std::string Order(const Action& action) {
  return std::visit(
      Overloaded{
          [](const RequestContainers& a) {
            std::vector<std::string> attempts;
            for (const ContainerAsk& ask : a.asks) attempts.push_back(ToString(ask.attempt));
            return StrCat("request ", Join(attempts, " "));
          },
          [](const LaunchExecutor& a) { return StrCat("launch ", ToString(a.attempt), " in ", a.container.value); },
          [](const StopContainer& a) {
            return StrCat(a.mode == StopMode::kTerm ? "term " : "kill ", a.container.value);
          },
          [](const TellExecutor& a) { return StrCat("tell ", ToString(a.attempt)); },
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

JobBuilder& JobBuilder::Timeout(Duration timeout) {
  spec_.timeout = timeout;
  return *this;
}

JobBuilder& JobBuilder::RegistrationTimeout(Duration timeout) {
  spec_.registration_timeout = timeout;
  return *this;
}

JobBuilder& JobBuilder::With(const Timers& timers) {
  spec_.timers = timers;
  return *this;
}

JobSpec JobBuilder::Build() const { return spec_; }

std::vector<std::string> Decisions(const TurnResult& turn) {
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

AttemptId AttemptOf(std::string_view task) { return {TaskOf(task), 1}; }
ContainerId ContainerOf(std::string_view task) { return {StrCat("c-", FolderName(TaskOf(task)))}; }
std::string HostOf(std::string_view task) { return StrCat("node-", FolderName(TaskOf(task))); }
Endpoint EndpointOf(std::string_view task) { return {HostOf(task), kFirstPort + TaskOf(task).index}; }

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
          .container = ContainerOf(task),
          .generation = generation_,
          .epoch = job_->epoch()};
}

TurnResult JobDriver::Observe(const Observation& observation) {
  TurnResult turn = TakeTurn(*job_, observation, now_);
  for (const Decision& decision : turn.decisions) Keep(decision);
  return turn;
}

void JobDriver::Keep(const Decision& decision) {
  if (const auto* formed = std::get_if<GenerationFormed>(&decision.body)) generation_ = formed->generation;
  journal_.push_back(decision);
}

TurnResult JobDriver::Grant(std::string_view task) {
  return Observe(ContainerEvent{ContainerGranted{AttemptOf(task), ContainerOf(task), HostOf(task)}, std::nullopt});
}

TurnResult JobDriver::ConfirmLaunch(std::string_view task) {
  return Observe(ContainerEvent{ContainerStarted{ContainerOf(task)}, std::nullopt});
}

TurnResult JobDriver::Register(std::string_view task, Phase phase, int64_t pid) {
  return Observe(RegisterCall{CallerOf(task), {EndpointOf(task), phase, pid}});
}

TurnResult JobDriver::Heartbeat(std::string_view task, Phase phase, int64_t pid) {
  return Observe(HeartbeatCall{CallerOf(task), {phase, pid}});
}

TurnResult JobDriver::Report(std::string_view task, const Outcome& outcome) {
  return Observe(OutcomeCall{CallerOf(task), outcome});
}

TurnResult JobDriver::Exit(std::string_view task, std::optional<Outcome> kept) {
  return Observe(ContainerEvent{ContainerExited{ContainerOf(task), ExitStatus{}, ""}, std::move(kept)});
}

TurnResult JobDriver::Kill(const std::string& reason, Duration grace) { return Observe(KillAsked{reason, grace}); }

TurnResult JobDriver::Reach(const std::vector<ContainerId>& running) {
  return Observe(ContainerEvent{SchedulerReached{running}, std::nullopt});
}

void JobDriver::Wait(Duration time) {
  const Instant end = now_ + time;
  while (now_ < end) {
    now_ = std::min(end, now_ + job_->spec().timers.record_fresh / 3);
    Observe(LeaseRenewed{});
  }
}

TurnResult JobDriver::Pass(Duration time) {
  Wait(time);
  return Observe(TimePassed{});
}

TurnResult JobDriver::PassToDeadline() {
  const auto deadline = job_->NextDeadline();
  CHECK(deadline.has_value());
  now_ = std::max(now_, *deadline);
  return Observe(TimePassed{});
}

JobDriver& JobDriver::GrantAll() {
  for (const std::string& task : Tasks()) Grant(task);
  return *this;
}

JobDriver& JobDriver::RegisterAll() {
  for (const std::string& task : Tasks()) {
    ConfirmLaunch(task);
    Register(task);
  }
  return *this;
}

JobDriver& JobDriver::RunAll() {
  for (const std::string& task : Tasks()) Heartbeat(task);
  return *this;
}

JobDriver& JobDriver::Accepted() {
  Start();
  return *this;
}

JobDriver& JobDriver::Gathering() { return Accepted().GrantAll(); }

JobDriver& JobDriver::Running() { return Gathering().RegisterAll().RunAll(); }

void JobDriver::Replay(size_t decisions) {
  const std::vector<Decision> kept(journal_.begin(), journal_.begin() + static_cast<std::ptrdiff_t>(decisions));
  journal_.clear();
  generation_ = {};
  job_ = std::make_unique<Job>(kJob, spec_);
  for (const Decision& decision : kept) {
    CHECK(job_->Evolve(decision).ok());
    Keep(decision);
  }
}

std::vector<std::string> JobDriver::Tasks() const {
  std::vector<std::string> tasks;
  for (const RoleSpec& role : spec_.roles) {
    for (int index = 0; index < role.instances; ++index) tasks.push_back(StrCat(role.name, ":", index));
  }
  return tasks;
}

}  // namespace tony::am
