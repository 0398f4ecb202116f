#include "executor/executor.h"

#include <csignal>
#include <utility>

#include "executor/attempt_files.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/logs/log_source.h"
#include "runtime/logs/log_times.h"
#include "runtime/os/own_tree.h"
#include "runtime/records/kept_logs.h"
#include "runtime/records/kept_outputs.h"

namespace tony::executor {
namespace {

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

// Secrets that cannot be read now cannot be read as the task starts either, and nothing is started without them.
SecretMask MaskFor(const JobRecords& records, const JobSpec& spec, std::vector<std::string> environment) {
  for (const auto* variables : {&spec.container_env, &spec.execution_env})
    for (const auto& [name, value] : *variables) environment.push_back(StrCat(name, "=", value));
  const auto secrets = records.ReadSecrets();
  return SecretMask(SecretValues(secrets.ok() ? *secrets : std::vector<std::string>(), environment));
}

}  // namespace

Executor::Executor(Surroundings surroundings, JobRecords records, JobSpec spec, Caller self, Endpoint endpoint,
                   double jitter)
    : surroundings_(std::move(surroundings)),
      records_(std::move(records)),
      presence_(records_.place()),
      spec_(std::move(spec)),
      place_{self.job, self.attempt, self.container, AttemptFolder(records_.place(), self.attempt)},
      mask_(MaskFor(records_, spec_, surroundings_.environment)),
      run_(std::move(self), std::move(endpoint), spec_.timers, jitter, spec_.ProcessesOf(place_.attempt.task.role)),
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

// Performing an action may feed further events; they wait for their turn.
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
  const bool goes_on = before_state == State::kEnded && run_.state() == State::kWaiting;  // with the next attempt
  if (run_.link() != Link::kLinked && before_link == Link::kLinked && !goes_on)
    LogWarn(StrCat(who, " lost its application master"));
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
      LogWarn(StrCat("refused: ", ToString(refusal->reason), ": ", refusal->message));
      Feed(Refused{link, refusal->reason});
    } else {
      const auto& disconnected = std::get<Disconnected>(answer);
      TellWhy(disconnected.reason);
      Feed(ConnectionLost{link, disconnected.crowded});
    }
  };
}

// Once for each reason: a search goes on for minutes.
void Executor::TellWhy(const std::string& disconnected) {
  if (std::exchange(last_disconnected_, disconnected) != disconnected) LogInfo(disconnected);
}

void Executor::Perform(const UseAm& action) {
  LogInfo(StrCat("application master at ", ToString(action.am)));
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
  surroundings_.am.Await(action.caller, action.since,
                         Answered<Command>([this](int64_t link, const Command& command) -> Event {
                           if (link == link_) log_answers_.Take(command.logs);
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
  if (!outcome.Succeeded() || !LeavesOutputs(spec_, place_.attempt.task)) return std::nullopt;
  auto kept = ReadKeptOutputs(place_.folder.logs);
  return kept.ok() ? *std::move(kept) : KeptOutputs{.problem = kept.error().message};
}

std::vector<LogExcerpt> Executor::LogsToReport(const Outcome& outcome) const {
  if (!surroundings_.tells_logs || !KeepsLogs(spec_, place_.attempt.task, outcome)) return {};
  return ExcerptsOf(place_.folder.logs, outcome.process.value_or(0), mask_);
}

void Executor::Perform(const SendOutcome& action) {
  surroundings_.am.ReportOutcome(
      action.caller, {action.outcome, OutputsToReport(action.outcome), LogsToReport(action.outcome)},
      Answered<Acknowledged>([](int64_t link, Acknowledged) -> Event { return OutcomeAcknowledged{link}; }));
}

Event Executor::LeaseNow() {
  const auto lease = records_.ReadLease();
  if (!lease.ok()) return LeaseUnreadable{};
  if (!*lease && presence_.IsGone(surroundings_.loop.Now())) return FolderGone{};
  if (!*lease) return LeaseRead{};
  return LeaseRead{SeenLease{(*lease)->epoch, (*lease)->am.own, (*lease)->renewal}};
}

void Executor::Perform(const ReadLease&) { Feed(LeaseNow()); }

void Executor::Perform(const WatchLease&) {
  if (lease_watch_) return;
  auto watch = records_.store().Watch(surroundings_.loop, [this] { Feed(LeaseNow()); });
  if (watch.ok()) {
    lease_watch_ = *std::move(watch);
  } else {
    LogWarn(watch.error().message);  // the core reads the record from time to time anyway
  }
}

void Executor::Perform(const UnwatchLease&) { lease_watch_ = nullptr; }

void Executor::Perform(const BeginAttempt& action) {
  usage_ = nullptr;
  published_ = nullptr;
  background_ = nullptr;
  place_.attempt = action.attempt;
  place_.folder = AttemptFolder(records_.place(), action.attempt);
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
  if (surroundings_.processes.ReapStrangers()) return SayTreeGone();
  if (action.signal != 0) shared_memory_.Note([] { return SignalOwnTree(0).living; });
  if (action.signal == SIGKILL) {
    const TreeWalk met = KillOwnTree();
    if (!met.living.empty()) Feed(TreeLives{met.Describe(), met.in_kernel == met.living.size()});
  } else if (action.signal != 0) {
    SignalOwnTree(action.signal);
  }
}

void Executor::OnChildEnded() {
  const bool gone = surroundings_.processes.ReapStrangers();
  if (gone && run_.phase() == Phase::kStopping) SayTreeGone();
}

void Executor::SayTreeGone() {
  for (const auto& line : shared_memory_.Free()) LogInfo(line);
  if (usage_) Feed(UsageMeasured{usage_->Total()});
  Feed(TreeGone{});
}

void Executor::Perform(const WarnOfTree& action) {
  LogWarn(StrCat("task ", ToString(place_.attempt), ": ", action.what));
}

void Executor::Perform(const GiveNotice& action) {
  const Status given = WriteNotice(NoticeFile(place_.folder.work), action.reason, action.deadline);
  if (!given.ok()) LogWarn(given.error().message);  // the signal says the same, but for the reason
}

void Executor::Perform(const KeepOutcome& action) {
  if (usage_) usage_->Finish();
  // Before the outcome: what is known to have succeeded has its outputs beside it, also if this is our last moment.
  if (action.outcome.Succeeded() && LeavesOutputs(spec_, place_.attempt.task)) {
    const auto kept = KeepOutputs(OutputFile(place_.folder.work), place_.folder.logs);
    if (!kept.ok()) LogError(StrCat("outputs: ", kept.error().message));
    for (const OutputProblem& problem : kept.ok() ? *kept : std::vector<OutputProblem>())
      LogWarn(StrCat("outputs: ", Describe(problem)));
  }
  const Status kept = place_.folder.WriteOutcome(action.outcome);
  if (!kept.ok()) LogError(kept.error().message);  // it is reported all the same
  log_answers_.Look();
}

void Executor::Perform(const Leave& action) { left_(action.exit_code); }

}  // namespace tony::executor
