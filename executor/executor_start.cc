// How the processes of an attempt are started, and watched from then on.
#include <malloc.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "executor/attempt_files.h"
#include "executor/executor.h"
#include "executor/model_parameters.h"
#include "runtime/base/strings.h"
#include "runtime/framework/command.h"
#include "runtime/framework/framework.h"
#include "runtime/framework/restart_scope.h"
#include "runtime/job/dependencies.h"

namespace tony::executor {
namespace {

Outcome CannotStart(const Error& error) {
  const bool users_fault = error.code == ErrorCode::kInvalid;  // more arguments or environment than the kernel takes
  return {users_fault ? OutcomeClass::kUserConfig : OutcomeClass::kInfra, std::nullopt, error.message, ""};
}

}  // namespace

void Executor::Perform(const StartProcesses& action) {
  std::vector<Event> answers = Start(action);
  if (std::holds_alternative<ProcessStarted>(answers.front())) {
    WatchUsage();
    WatchPublished();
    // The task may run for weeks, and what its start took is free, but still ours: libc returns little by itself.
    malloc_trim(0);
  }
  for (Event& answer : answers) Feed(std::move(answer));
}

std::vector<Event> Executor::Start(const StartProcesses& action) {
  const auto processes = Prepare(action);
  if (!processes.ok()) return {ProcessNotStarted{CannotStart(processes.error())}};
  return Start(*processes);
}

// All that they need to start.
Result<std::vector<ProcessSpec>> Executor::Prepare(const StartProcesses& action) {
  TRY_ASSIGN(const ClusterSpec cluster, ClusterSpecFromJson(action.cluster_spec));
  const RoleSpec* role = spec_.FindRole(place_.attempt.task.role);
  if (!role) return Error{ErrorCode::kInternal, "no role " + place_.attempt.task.role};
  place_.resume_from = action.resume_from;
  place_.ports = surroundings_.named_ports;
  TRY_ASSIGN(const auto secrets, records_.ReadSecrets());
  const std::string oom_score = OomScoreOfTask();
  std::vector<ProcessSpec> processes;
  std::vector<GivenFile> files;
  for (AttemptPlace place = place_; place.process < role->processes; ++place.process) {
    auto environment = MakeUserEnvironment(spec_, cluster, place, surroundings_.environment, secrets);
    processes.push_back({.env = std::move(environment.variables),
                         .directory = place_.folder.work.string(),
                         .stdout_file = (place_.folder.logs / OfProcess("stdout", place.process)).string(),
                         .stderr_file = (place_.folder.logs / OfProcess("stderr", place.process)).string(),
                         .own_session = true,
                         .oom_score_adj = oom_score});
    std::ranges::move(environment.files, std::back_inserter(files));
  }
  TRY(PrepareWorkFolder(records_, role->name, place_.folder, files));
  for (int i = 0; i < role->processes; ++i) ForgetFile(ErrorFile(place_.folder.work, i));
  for (const auto& file :
       {OutputFile(place_.folder.work), NoticeFile(place_.folder.work), PublishFile(place_.folder.work)})
    ForgetFile(file);
  return processes;
}

// What became of each.
std::vector<Event> Executor::Start(const std::vector<ProcessSpec>& processes) {
  const OomKills killed_before = CountOomKills();
  LetPortsGo();
  background_ = std::make_unique<BackgroundWatch>(surroundings_.loop, surroundings_.processes, spec_.background);
  std::vector<Event> answers;
  for (const ProcessSpec& process : processes) {
    const int index = static_cast<int>(answers.size());
    const auto pid = Start(process, index, killed_before);
    answers.push_back(pid.ok() ? Event(ProcessStarted{*pid, index})
                               : Event(ProcessNotStarted{CannotStart(pid.error()), index}));
    if (!pid.ok()) break;
  }
  return answers;
}

// A port that is not a quiet one stays held for those whose servers are known to share it.
void Executor::LetPortsGo() {
  const bool binds_alone = BindsPortAlone(spec_, place_.attempt.task) || spec_.framework == FrameworkKind::kStandalone;
  if (surroundings_.port && (surroundings_.port->is_quiet() || binds_alone)) surroundings_.port->LetGo();
  if (!surroundings_.reserved) return;
  for (auto& [name, port] : *surroundings_.reserved)
    if (port.is_quiet()) port.LetGo();
}

// A port may be another one where nobody goes on with the address that they were told: nobody connects to the task, or
// the whole gang begins again. The page of a sidecar stays where people have found it.
Status Executor::RenewPorts() {
  const RoleSpec& role = *spec_.FindRole(place_.attempt.task.role);
  const auto in_place = role.restart_scope.value_or(SmallestScope(spec_, role, /*same_address=*/true));
  const bool may_change = BindsPortAlone(spec_, place_.attempt.task) || in_place >= RestartScope::kGang ||
                          SmallestScope(spec_, role, /*same_address=*/false) == RestartScope::kTask;
  if (surroundings_.port) TRY(surroundings_.port->Renew(may_change));
  if (!surroundings_.reserved) return Ok();
  for (auto& [name, port] : *surroundings_.reserved) {
    TRY(port.Renew(may_change && role.completion != Completion::kSidecar));
    surroundings_.named_ports[name] = port.port();
  }
  return Ok();
}

Result<int64_t> Executor::Start(const ProcessSpec& process, int index, const OomKills& killed_before) {
  const RoleSpec& role = *spec_.FindRole(place_.attempt.task.role);
  const ProcessFiles files = {ErrorFile(place_.folder.work, index), process.stdout_file, process.stderr_file};
  const std::string memory_key = role.Key("memory");
  const auto report = [=, this](const BackgroundEnd& end) {
    if (published_) published_->Look();
    const Evidence evidence = Gather(end.exit, files, killed_before, memory_key, mask_);
    Outcome outcome = Judge(end, evidence, files);
    Feed(ProcessExited{end.exit, evidence.stderr_tail, std::move(outcome), index});
  };
  TRY_ASSIGN(const pid_t pid, StartCommand(surroundings_.processes, role.command, process, [=, this](ExitStatus exit) {
               const bool was_last = background_->Ended(index);
               if (!exit.Succeeded() || !was_last || run_.state() != State::kRunning) return report({.exit = exit});
               background_->Settle(report);
             }));
  background_->Add(pid);
  return int64_t{pid};
}

Outcome Executor::Judge(const BackgroundEnd& end, const Evidence& evidence, const ProcessFiles& files) {
  Outcome outcome = Classify(evidence, spec_.failure_rules);
  if (outcome.Succeeded() && IsPreprocess(*spec_.FindRole(place_.attempt.task.role)))
    HandOnParameters(files.stdout_file, outcome);
  if (end.is_refused) outcome.cls = OutcomeClass::kUserError;
  if (!end.note.empty()) outcome.message += StrCat(outcome.message.empty() ? "" : "; ", end.note);
  if (end.is_refused) outcome.message += " (tony.task.background=fail)";
  outcome.message = mask_.Masked(outcome.message);
  return outcome;
}

// What cannot be handed on whole is better not trained with.
void Executor::HandOnParameters(const std::filesystem::path& stdout_file, Outcome& outcome) {
  auto parameters = ReadModelParameters(stdout_file);
  if (!parameters) return;
  if (IsPublishable(kModelParams, *parameters)) {
    FeedValues({{std::string(kModelParams), *std::move(parameters)}});
    return;
  }
  outcome.cls = OutcomeClass::kUserError;
  outcome.message = StrCat("what it printed after \"Model parameters: \" cannot be handed on in ", kModelParams,
                           ": expected at most ", kLongestModelParams, " bytes of one line of UTF-8 text");
}

void Executor::WatchUsage() {
  std::vector<std::string> gpus;
  for (const std::string& variable : surroundings_.environment) {
    constexpr std::string_view kName = "CUDA_VISIBLE_DEVICES=";
    if (variable.starts_with(kName)) gpus = VisibleGpus(std::string_view(variable).substr(kName.size()));
  }
  usage_ = std::make_unique<UsageWatch>(surroundings_.loop,
                                        WatchedAttempt{place_.folder.logs, spec_.log_limit_mb, std::move(gpus),
                                                       spec_.ProcessesOf(place_.attempt.task.role)},
                                        [this](const Usage& usage) { Feed(UsageMeasured{usage}); });
}

void Executor::WatchPublished() {
  const std::vector<std::string> names = ValueNames(spec_, place_.attempt.task);
  if (names.empty()) return;
  published_ = std::make_unique<PublishWatch>(surroundings_.loop, PublishFile(place_.folder.work), names,
                                              [this](const PublishedValues& values) { FeedValues(values); });
}

void Executor::FeedValues(PublishedValues values) {
  for (auto& [name, value] : values) value = mask_.Masked(value);
  Feed(ValuesSeen{std::move(values)});
}

}  // namespace tony::executor
