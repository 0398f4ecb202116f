#include "executor/executor.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "executor/podman_task.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/logs/log_reader.h"
#include "runtime/logs/log_source.h"
#include "runtime/os/podman.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/start_program.h"
#include "runtime/records/kept_outputs.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

// A task hears of the end of its tokens this long before, or at the last tenth of their life.
constexpr Duration kNoticeOfTokens = std::chrono::minutes(10);
constexpr int kPartForNotice = 10;
constexpr char kTokensEnd[] = "the job's tokens for the cluster end";

std::string Describe(const Outcome& outcome) {
  std::string text(ToString(outcome.cls));
  if (const std::string exit = DescribeExit(outcome); !exit.empty()) text += ", " + exit;
  if (!outcome.message.empty()) text += ", " + outcome.message;
  return text;
}

std::vector<std::string> ReadableLogs(int processes) {
  std::vector<std::string> names = LogNames(processes);
  for (const std::string& log : LogNames(processes)) names.push_back(TimesOf(log));
  return names;
}

Event EventOf(const Result<std::optional<LeaseRecord>>& lease) {
  if (!lease.ok()) return LeaseUnreadable{};
  if (!*lease) return LeaseRead{};
  return LeaseRead{SeenLease{(*lease)->epoch, (*lease)->am.own, (*lease)->renewal}};
}

// Returns the mask for the task's secrets. If the secrets cannot be read, the mask lacks them. This does no harm,
// because Prepare() reads the secrets again, and no process is started if that read fails.
SecretMask MaskFor(const JobRecords& records, const JobSpec& spec, std::vector<std::string> environment) {
  for (const auto* variables : {&spec.container_env, &spec.execution_env})
    for (const auto& [name, value] : *variables) environment.push_back(StrCat(name, "=", value));
  const auto secrets = records.ReadSecrets();
  return SecretMask(SecretValues(secrets.ok() ? *secrets : std::vector<std::string>(), environment));
}

// Returns the path of this program. On YARN the file has another name. The program for GPUs has the usual program beside
// it.
std::string ExecutorProgram() {
  const std::string beside = SiblingProgram("tony-executor");
  std::error_code error;
  return access(beside.c_str(), X_OK) == 0 ? beside : fs::read_symlink("/proc/self/exe", error).string();
}

}  // namespace

Executor::Executor(ExecutorParts surroundings, JobRecords records, JobSpec spec, Caller self, Endpoint endpoint,
                   double jitter)
    : surroundings_(std::move(surroundings)),
      records_(std::move(records)),
      presence_(records_.place()),
      spec_(std::move(spec)),
      place_{.job = self.job,
             .attempt = self.attempt,
             .container = self.container,
             .folder = AttemptFolder(records_.place(), self.attempt),
             .executor = ExecutorProgram()},
      mask_(MaskFor(records_, spec_, surroundings_.environment)),
      run_(std::move(self), std::move(endpoint), spec_.timers, jitter, spec_.ProcessesOf(place_.attempt.task.role),
           surroundings_.lease ? LeasePace::OfSharedStore(spec_, place_.attempt.task) : LeasePace()),
      log_answers_(
          surroundings_.loop,
          {records_.place(), place_.attempt.task, ReadableLogs(spec_.ProcessesOf(place_.attempt.task.role)), mask_},
          [this](int64_t id, const std::vector<LogNews>& news) {
            surroundings_.am.SendLog(caller_, id, news, [](const Answer<Acknowledged>&) {});
          }) {}

void Executor::Begin(std::function<void(int)> left) {
  left_ = std::move(left);
  Feed(Begun{});
}

void Executor::Terminate() { Feed(TermSignal{}); }

// Performing an action may feed further events. These events wait in the queue until the current event has been
// handled.
void Executor::Feed(Event event) {
  events_.push_back(std::move(event));
  if (events_.size() > 1) return;
  while (!events_.empty()) {
    const State state = run_.state();
    const Link link = run_.link();
    const auto actions = run_.Apply(events_.front(), surroundings_.loop.Now());
    LogChange(state, link);
    for (const auto& action : actions) std::visit([this](const auto& what) { Perform(what); }, action);
    events_.pop_front();
  }
  ArmTimer();
}

void Executor::ArmTimer() {
  const auto deadline = run_.NextDeadline();
  timer_ = deadline ? surroundings_.loop.At(*deadline, [this] { Feed(Tick{}); }) : nullptr;
}

void Executor::LogChange(State before_state, Link before_link) const {
  const std::string who = "task " + ToString(place_.attempt);
  if (run_.link() == Link::kLinked && before_link != Link::kLinked) LogInfo(StrCat(who, " registered"));
  const bool goes_on = before_state == State::kEnded && run_.state() == State::kWaiting;  // the next attempt begins
  if (run_.link() != Link::kLinked && before_link == Link::kLinked && !goes_on)
    LogWarn(StrCat(who, " lost the connection to its application master"));
  if (run_.state() == before_state) return;
  std::string line = StrCat(who, " ", ToString(before_state), " -> ", ToString(run_.state()));
  if (run_.state() == State::kEnded) line += ": " + Describe(*run_.outcome());
  LogInfo(line);
}

template <class T, class OnSuccess>
OnAnswer<T> Executor::Answered(OnSuccess on_success) {
  return [this, link = link_, on_success](const Answer<T>& answer) {
    if (const auto* value = std::get_if<T>(&answer)) {
      Feed(on_success(link, *value));
    } else if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      LogWarn(StrCat("the application master refused a call: ", ToString(refusal->reason), ": ", refusal->message));
      Feed(Refused{link, refusal->reason});
    } else {
      const auto& disconnected = std::get<Disconnected>(answer);
      LogDisconnectReason(disconnected.reason);
      Feed(ConnectionLost{link, disconnected.crowded});
    }
  };
}

// The number is stored even if the file cannot be written, because the AM would send the same tokens again at once. The
// next push gives the file another chance.
void Executor::TakeTokens(const ClusterTokens& tokens) {
  if (!surroundings_.replace_tokens || tokens.number <= surroundings_.tokens.number) return;
  surroundings_.tokens = {tokens.number, tokens.until};
  const Status replaced = surroundings_.replace_tokens(tokens);
  if (!replaced.ok())
    return LogWarn(StrCat("the tokens of the cluster cannot be replaced: ", replaced.error().message));
  LogInfo(StrCat("the tokens of the cluster are replaced by tokens that end at ", ToIso8601(tokens.until)));
  if (has_token_notice_) RemoveLeftoverFile(NoticeFile(place_.folder.work));
  AnnounceEndOfTokens();
}

// Announces the end of the tokens to the running processes in time, because they may still save their state in HDFS. A
// notice of a stop is more urgent, and stays.
void Executor::AnnounceEndOfTokens() {
  has_token_notice_ = false;
  const ClusterTokens& tokens = surroundings_.tokens;
  if (tokens.number == 0 || !background_) return;
  const Instant at = tokens.until - std::min(kNoticeOfTokens, tokens.Life() / kPartForNotice);
  tokens_timer_ = surroundings_.loop.After(std::max(at - RealClock().Now(), Duration(0)), [this] {
    std::error_code error;
    if (fs::exists(NoticeFile(place_.folder.work), error)) return;
    Perform(GiveNotice{kTokensEnd, surroundings_.tokens.until});
    has_token_notice_ = true;
  });
}

// Logs a reason only when it changes, because a search can last for minutes.
void Executor::LogDisconnectReason(const std::string& disconnected) {
  if (std::exchange(last_disconnected_, disconnected) != disconnected) LogInfo(disconnected);
}

void Executor::Perform(const UseAm& action) {
  LogInfo(StrCat("connecting to the application master at ", ToString(action.am)));
  link_ = action.link;
  log_answers_.Forget();
  surroundings_.am.Use(action.am);
}

void Executor::Perform(const SendRegister& action) {
  Registration what = action.what;
  if (surroundings_.port) what.endpoint.port = surroundings_.port->port();
  what.ports = surroundings_.named_ports;
  surroundings_.am.Register(action.caller, what, Answered<Epoch>([](int64_t link, Epoch epoch) -> Event {
                              return Registered{link, epoch};
                            }));
}

void Executor::Perform(const SendAwait& action) {
  caller_ = action.caller;
  caller_.tokens = surroundings_.tokens.number;
  surroundings_.am.Await(caller_, action.since,
                         Answered<Command>([this](int64_t link, const Command& command) -> Event {
                           if (link == link_) log_answers_.Take(command.logs);
                           if (link == link_ && command.tokens) TakeTokens(*command.tokens);
                           return CommandReceived{link, command};
                         }));
}

void Executor::Perform(const SendHeartbeat& action) {
  surroundings_.am.Heartbeat(action.caller, action.progress,
                             Answered<Acknowledged>([sent = action.sent](int64_t link, Acknowledged) -> Event {
                               return HeartbeatAnswered{link, sent};
                             }));
}

void Executor::Perform(const SendValues& action) {
  surroundings_.am.Publish(
      action.caller, action.values,
      Answered<Acknowledged>([](int64_t link, Acknowledged) -> Event { return ValuesAcknowledged{link}; }));
}

std::optional<KeptOutputs> Executor::OutputsToReport(const Outcome& outcome) const {
  if (spec_.sweep || !outcome.Succeeded() || !IsOutputTask(spec_, place_.attempt.task)) return std::nullopt;
  auto kept = ReadKeptOutputs(place_.folder.logs);
  return kept.ok() ? *std::move(kept) : KeptOutputs{.problem = kept.error().message};
}

Outcome Executor::WithTrialOutputs(Outcome outcome) const {
  if (!spec_.sweep || !outcome.Succeeded()) return outcome;
  const auto kept = ReadKeptOutputs(place_.folder.logs);
  auto outputs = kept.ok() && *kept ? ParseOutputs((*kept)->text) : Outputs();
  if (!outputs.ok() || outputs->members.empty()) return outcome;
  TrimOutputs(*outputs, kLongestTrialOutputs);
  for (const OutputProblem& problem : outputs->problems) LogWarn(StrCat("outputs: ", Describe(problem)));
  outcome.outputs = ObjectOf(*outputs);
  return outcome;
}

std::vector<LogExcerpt> Executor::LogsToReport(const Outcome& outcome) const {
  if (!surroundings_.sends_log_excerpts || !ShouldKeepLogs(spec_, place_.attempt.task, outcome)) return {};
  return ExcerptsOf(place_.folder.logs, outcome.process.value_or(0), mask_);
}

void Executor::Perform(const SendOutcome& action) {
  surroundings_.am.ReportOutcome(
      action.caller, {WithTrialOutputs(action.outcome), OutputsToReport(action.outcome), LogsToReport(action.outcome)},
      Answered<Acknowledged>([](int64_t link, Acknowledged) -> Event { return OutcomeAcknowledged{link}; }));
}

Event Executor::LeaseNow() {
  const auto lease = records_.ReadLease();
  if (lease.ok() && !*lease && presence_.IsGone(surroundings_.loop.Now())) return FolderGone{};
  return EventOf(lease);
}

void Executor::Perform(const ReadLease&) {
  if (!surroundings_.lease) return Feed(LeaseNow());
  surroundings_.lease->Read([this](const Result<std::optional<LeaseRecord>>& lease) {
    const bool is_gone = !lease.ok() && lease.error().code == ErrorCode::kNotFound;
    Feed(is_gone ? FolderGone{} : EventOf(lease));
  });
}

void Executor::Perform(const WatchLease&) {
  if (lease_watch_) return;
  auto watch = records_.store().Watch(surroundings_.loop, [this] { Feed(LeaseNow()); });
  if (watch.ok()) {
    lease_watch_ = *std::move(watch);
  } else {
    // The error is only a warning, because TaskRun reads the lease record from time to time even without a watch.
    LogWarn(watch.error().message);
  }
}

void Executor::Perform(const UnwatchLease&) { lease_watch_ = nullptr; }

void Executor::Perform(const BeginAttempt& action) {
  usage_ = nullptr;
  published_ = nullptr;
  background_ = nullptr;
  place_.attempt = action.attempt;
  place_.folder = AttemptFolder(records_.place(), action.attempt);
  const Status made =
      surroundings_.make_logs ? surroundings_.make_logs(action.attempt, place_.folder.logs) : Status(Ok());
  if (!made.ok())
    LogWarn(
        StrCat("the logs of ", ToString(action.attempt), " will be lost when the task ends: ", made.error().message));
  auto lock = LockAttempt(place_.folder);
  const Status port = RenewPorts();
  if (lock.ok() && port.ok()) {
    attempt_lock_ = *std::move(lock);
  } else {
    LogError(lock.ok() ? port.error().message : lock.error().message);
    Feed(AttemptNotBegun{});
  }
}

void Executor::Perform(const SignalTree& action) {
  if (surroundings_.processes.ReapAllChildren()) return FeedTreeGone();
  if (action.signal != 0) shared_memory_.Note([] { return SignalDescendants(0).living; });
  if (action.signal == SIGKILL) {
    const TreeWalk met = Kill();
    if (!met.living.empty()) Feed(TreeSurvived{met.Describe(), met.uninterruptible == met.living.size()});
  } else if (action.signal != 0) {
    UsesPodman() ? SignalContainers(action.signal) : SignalDescendants(action.signal);
  }
}

bool Executor::UsesPodman() const {
  const RoleSpec* role = spec_.FindRole(place_.attempt.task.role);
  return spec_.UsesPodman() && role && !role->image.empty();
}

TreeWalk Executor::Kill() {
  // Podman removes a container within a second.
  constexpr Duration kPatience{5000};
  if (!UsesPodman()) return KillDescendants();
  const Instant now = surroundings_.loop.Now();
  if (!containers_killed_) containers_killed_ = now;
  return now < *containers_killed_ + kPatience ? SignalContainers(SIGKILL) : KillDescendants();
}

void Executor::OnChildEnded() {
  const bool gone = surroundings_.processes.ReapAllChildren();
  if (gone && run_.phase() == Phase::kStopping) FeedTreeGone();
}

void Executor::FeedTreeGone() {
  for (const auto& line : shared_memory_.Free()) LogInfo(line);
  if (usage_) Feed(UsageMeasured{usage_->Total()});
  Feed(TreeGone{});
}

void Executor::Perform(const WarnOfTree& action) {
  LogWarn(StrCat("task ", ToString(place_.attempt), ": ", action.what));
}

void Executor::Perform(const GiveNotice& action) {
  has_token_notice_ = false;
  const Status given = WriteNotice(NoticeFile(place_.folder.work), action.reason, action.deadline);
  // The program receives the signal in any case. Without the notice, it only lacks the reason.
  if (!given.ok()) LogWarn(given.error().message);
}

void Executor::Perform(const KeepOutcome& action) {
  if (usage_) usage_->Finish();
  // Writes the outputs before the outcome. Thus an outcome with success is never on disk without its outputs, even if
  // this process dies in between.
  if (action.outcome.Succeeded() && IsOutputTask(spec_, place_.attempt.task)) {
    const auto kept = KeepOutputs(OutputFile(place_.folder.work), place_.folder.logs);
    if (!kept.ok()) LogError(StrCat("cannot store the outputs: ", kept.error().message));
    for (const OutputProblem& problem : kept.ok() ? *kept : std::vector<OutputProblem>())
      LogWarn(StrCat("outputs: ", Describe(problem)));
  }
  const Status kept = place_.folder.WriteOutcome(WithTrialOutputs(action.outcome));
  // The outcome is reported even if it could not be written.
  if (!kept.ok()) LogError(kept.error().message);
  log_answers_.Look();
}

void Executor::Perform(const Leave& action) { left_(action.exit_code); }

// Functions that start the processes of an attempt, and watch them afterwards.

namespace {

Outcome CannotStart(const Error& error) {
  // kInvalid means that the arguments or the environment exceed the limits of the kernel.
  const bool users_fault = error.code == ErrorCode::kInvalid;
  return {users_fault ? OutcomeClass::kUserConfig : OutcomeClass::kInfra, std::nullopt, error.message, ""};
}

}  // namespace

void Executor::Perform(const StartProcesses& action) {
  std::vector<Event> answers = Start(action);
  if (std::holds_alternative<ProcessStarted>(answers.front())) {
    WatchUsage();
    WatchPublished();
    AnnounceEndOfTokens();
    // malloc_trim() gives memory that only the start needed back to the kernel. libc gives back little by itself, and
    // the task may run for weeks.
    malloc_trim(0);
  }
  for (Event& answer : answers) Feed(std::move(answer));
}

std::vector<Event> Executor::Start(const StartProcesses& action) {
  const auto processes = Prepare(action);
  if (!processes.ok()) return {ProcessNotStarted{CannotStart(processes.error())}};
  return Start(*processes);
}

// Prepares everything that the processes need to start.
Result<std::vector<ProcessSpec>> Executor::Prepare(const StartProcesses& action) {
  TRY_ASSIGN(const ClusterSpec cluster, ClusterSpecFromJson(action.cluster_spec));
  const RoleSpec* role = spec_.FindRole(place_.attempt.task.role);
  if (!role) return Error{ErrorCode::kInternal, "the job has no role " + place_.attempt.task.role};
  place_.resume_from = action.resume_from;
  place_.ports = surroundings_.named_ports;
  TRY_ASSIGN(const auto secrets, records_.ReadSecrets());
  std::vector<std::string> inherited = surroundings_.environment;
  if (UsesPodman()) {
    TRY_ASSIGN(const auto image, ImageEnvironment(role->image));
    inherited = ContainerEnvironment(image, inherited, role->resources.gpus > 0);
  }
  const std::string oom_score = OomScoreOfTask();
  std::vector<ProcessSpec> processes;
  std::vector<TaskFile> files;
  for (AttemptPlace place = place_; place.process < role->processes; ++place.process) {
    auto environment = MakeUserEnvironment(spec_, cluster, place, inherited, secrets);
    processes.push_back({.env = std::move(environment.variables),
                         .directory = place_.folder.work.string(),
                         .stdout_file = (place_.folder.logs / NameForProcess("stdout", place.process)).string(),
                         .stderr_file = (place_.folder.logs / NameForProcess("stderr", place.process)).string(),
                         .own_session = true,
                         .oom_score_adj = oom_score});
    std::ranges::move(environment.files, std::back_inserter(files));
  }
  TRY(PrepareWorkFolder(records_, role->name, place_.folder, files));
  if (spec_.hold > Duration(0)) TRY(KeepEnvironment(processes.front().env));
  for (int i = 0; i < role->processes; ++i) RemoveLeftoverFile(ErrorFile(place_.folder.work, i));
  for (const auto& file :
       {OutputFile(place_.folder.work), NoticeFile(place_.folder.work), PublishFile(place_.folder.work)})
    RemoveLeftoverFile(file);
  containers_killed_.reset();
  scripts_.clear();
  AttemptPlace place = place_;
  for (place.process = 0; UsesPodman() && place.process < role->processes; ++place.process) {
    ProcessSpec& process = processes[static_cast<size_t>(place.process)];
    TRY_ASSIGN(ContainerProcess made, InContainer(records_, spec_, place, process, surroundings_.environment));
    process = std::move(made.process);
    scripts_.push_back(std::move(made.script));
  }
  return processes;
}

// Keeps the variables without writing secrets to a disk: the link in the attempt's folder names a file in the memory of
// this process, which exists as long as the process.
Status Executor::KeepEnvironment(const std::vector<std::string>& variables) {
  held_environment_.Reset(memfd_create("environment", MFD_CLOEXEC));
  const std::filesystem::path link = HeldEnvironment(place_.folder);
  if (!held_environment_.valid()) return FileError(ErrorCode::kCannotWrite, "make", link, errno);
  TRY(WriteAll(held_environment_.get(), JoinVariables(variables), link));
  RemoveLeftoverFile(link);
  const std::string target = StrCat("/proc/", getpid(), "/fd/", held_environment_.get());
  return symlink(target.c_str(), link.c_str()) == 0 ? Ok()
                                                    : Status(FileError(ErrorCode::kCannotWrite, "make", link, errno));
}

// Starts the processes in order. Returns an event for each process, up to the first one that cannot be started.
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
  scripts_.clear();
  return answers;
}

// Closes the ports, so that the task's servers can bind them. An ephemeral port is closed only if it is the task's main
// port and the task's server cannot share it.
void Executor::LetPortsGo() {
  const bool binds_alone =
      BindsPortExclusively(spec_, place_.attempt.task) || spec_.framework == FrameworkKind::kStandalone;
  if (surroundings_.port && (surroundings_.port->is_quiet() || binds_alone)) surroundings_.port->LetGo();
  if (!surroundings_.reserved) return;
  for (auto& [name, port] : *surroundings_.reserved)
    if (port.is_quiet()) port.LetGo();
}

// Reserves the ports again. A port may change if no process uses the old address any more: either no other task
// connects to the task, or the whole gang restarts. The named ports of a sidecar keep their numbers, so that people
// find its page again.
Status Executor::RenewPorts() {
  const RoleSpec& role = *spec_.FindRole(place_.attempt.task.role);
  const auto in_place = role.restart_scope.value_or(SmallestScope(spec_, role, /*same_address=*/true));
  const bool may_change = BindsPortExclusively(spec_, place_.attempt.task) || in_place >= RestartScope::kGang ||
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
    Outcome outcome = Judge(end, evidence, files, index);
    Feed(ProcessExited{end.exit, evidence.stderr_tail, std::move(outcome), index});
  };
  const bool podman = UsesPodman();
  const auto on_exit = [=, this](ExitStatus exit) {
    const bool was_last = background_->Ended(index);
    // A container ends with its first process, so no process is left in the background.
    if (podman) return report({.exit = ExitInContainer(exit)});
    if (!exit.Succeeded() || !was_last || run_.state() != State::kRunning) return report({.exit = exit});
    background_->Settle(report);
  };
  TRY_ASSIGN(const pid_t pid, podman ? surroundings_.processes.Start(process, on_exit)
                                     : StartCommand(surroundings_.processes, role.command, process, on_exit));
  background_->Add(pid);
  return int64_t{pid};
}

Outcome Executor::Judge(const BackgroundEnd& end, const Evidence& evidence, const ProcessFiles& files, int index) {
  const Status started = UsesPodman() ? CheckStarted(place_, index, evidence.stderr_tail) : Ok();
  if (!started.ok() && !end.exit.Succeeded())
    return {OutcomeClass::kInfra, end.exit, mask_.Masked(started.error().message), ""};
  Outcome outcome = Classify(evidence, spec_.failure_rules);
  if (outcome.Succeeded() && IsPreprocess(*spec_.FindRole(place_.attempt.task.role)))
    PublishModelParameters(files.stdout_file, outcome);
  if (end.is_refused) outcome.cls = OutcomeClass::kUserError;
  if (!end.note.empty()) outcome.message += StrCat(outcome.message.empty() ? "" : "; ", end.note);
  if (end.is_refused) outcome.message += " (tony.task.background=fail)";
  outcome.message = mask_.Masked(outcome.message);
  return outcome;
}

// Publishes the model parameters that a preprocessing program has printed. The task fails if the parameters cannot be
// published completely, because training with only a part of them would be worse.
void Executor::PublishModelParameters(const std::filesystem::path& stdout_file, Outcome& outcome) {
  auto parameters = ReadModelParameters(stdout_file);
  if (!parameters) return;
  if (IsPublishable(kModelParams, *parameters)) {
    FeedValues({{std::string(kModelParams), *std::move(parameters)}});
    return;
  }
  outcome.cls = OutcomeClass::kUserError;
  outcome.message =
      StrCat("the text that the program printed after \"Model parameters: \" cannot be passed to other tasks in ",
             kModelParams, ": expected one line of UTF-8 text with at most ", kLongestModelParams, " bytes");
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
