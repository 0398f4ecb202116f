#include "tests/unit/am/job_script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// ---- events

void AddToOutcome(Outcome& outcome, const std::string& word, Words& words) {
  if (const auto advice = FromName<Advice>(word)) return void(outcome.advice = *advice);
  if (const auto source = FromName<Source>(word)) return void(outcome.source = *source);
  if (const auto cls = FromName<OutcomeClass>(word)) return void(outcome.cls = *cls);
  if (word == "by") return void(outcome.exit = BySignal(words.Next()));
  if (word == "used") return void(outcome.usage = Usage{.samples = 1, .memory_bytes = words.Number()});
  if (word == "says") return void(outcome.message = words.Next());
  ADD_FAILURE() << "not a word of an outcome: " << word;
}

// An outcome is "success", "fails 3", "killed", or a class. Any of these may follow: another class, by TERM, transient,
// permanent, peer, signal, used 7, says `text`.
Outcome OutcomeIn(Words& words) {
  Outcome outcome = Success();
  if (words.Skip("killed")) {
    outcome = Killed();
  } else if (words.Skip("fails")) {
    outcome = Failure(static_cast<int>(words.Number()));
  } else if (!words.Skip("success")) {
    outcome = {};
    AddToOutcome(outcome, words.Next(), words);
  }
  while (words.any()) AddToOutcome(outcome, words.Next(), words);
  return outcome;
}

Phase PhaseNamed(const std::string& name) {
  for (const Phase phase : {Phase::kWaiting, Phase::kRunning, Phase::kStopping, Phase::kEnded})
    if (ToString(phase) == name) return phase;
  ADD_FAILURE() << "no such phase: " << name;
  return Phase::kWaiting;
}

// Reads named ports, "data=5000" or "portless".
NamedPorts PortsIn(Words& words) {
  NamedPorts ports;
  while (words.any() && !words.Skip("portless")) {
    const auto [name, port] = Halves(words.Next(), '=');
    ports[name] = static_cast<int>(ParseInt(port).value());
  }
  return ports;
}

PublishedValues ValuesOf(Words& words) {
  PublishedValues values;
  while (words.any()) values.insert(Halves(words.Next(), '='));
  return values.empty() ? PublishedValues{{"ADDRESS", "here:1"}} : values;
}

// The result of a restart's search: "5" is the checkpoint of step 5; "5 4" was written at the time of step 4; "none"
// and "unreadable" are results, too.
CoreStepResult See(JobDriver& driver, int restart, Words& words) {
  if (words.Skip("none")) return driver.SeeCheckpoint(restart, std::nullopt);
  if (words.Skip("unreadable")) return driver.SeeCheckpoint(restart, std::nullopt, /*readable=*/false);
  const int64_t step = words.Number(), written = words.any() ? words.Number() : step;
  return driver.SeeCheckpoint(restart,
                              Checkpoint{StrCat("/ckpt/step-", step), step, JobDriver::kStart + Duration(written)});
}

// Calls as an executor that gives one wrong fact about itself: "job=job-2", "attempt=worker:0#2", "container=c",
// "epoch=2" or "generation=2". Each of its five calls must be refused for the same reason and must change nothing.
CoreStepResult CallAs(JobDriver& driver, const std::string& task, const std::string& difference) {
  Caller caller = driver.CallerOf(task);
  const auto [what, value] = Halves(difference, '=');
  if (what == "job") caller.job = {value};
  if (what == "attempt") caller.attempt = AttemptOf(value);
  if (what == "container") caller.container = {value};
  if (what == "epoch") caller.epoch = {*ParseInt(value)};
  if (what == "generation") caller.generation = {*ParseInt(value)};
  const std::string before = ToJson(driver.Status());
  CoreStepResult turn;
  std::optional<RefusalReason> reason;
  for (const Observation& call :
       {Observation(RegisterCall{caller, {EndpointOf(task), Phase::kRunning, 100}}), Observation(AwaitCall{caller}),
        Observation(HeartbeatCall{caller, {Phase::kRunning, 100}}),
        Observation(PublishCall{caller, {{"ADDRESS", "here:1"}}}), Observation(OutcomeCall{caller, Success()})}) {
    SCOPED_TRACE(call.index());
    turn = driver.Observe(call);
    EXPECT_TRUE(turn.refusal && turn.refusal->reason == reason.value_or(turn.refusal->reason));
    if (turn.refusal) reason = turn.refusal->reason;
    EXPECT_EQ(Join(Decisions(turn), " ") + Join(Orders(turn), ", "), "");
  }
  EXPECT_EQ(ToJson(driver.Status()), before);
  return turn;
}

// The end of a container: "by SEGV", "unseen", "because CLASS", "left", "says `text`", "kept OUTCOME", in this order.
CoreStepResult Exit(JobDriver& driver, const std::string& task, Words& words) {
  ContainerExited exited{driver.ContainerFor(task), ExitStatus{}, "", {}};
  if (words.Skip("by")) exited.status = BySignal(words.Next());
  if (words.Skip("unseen")) exited.status.reset();
  if (words.Skip("because")) exited.cls = FromName<OutcomeClass>(words.Next());
  if (words.Skip("left")) exited.left = true;
  if (words.Skip("says")) exited.error = words.Next();
  if (words.Skip("kept")) exited.kept = KeptOutcome{driver.CallerOf(task).attempt, OutcomeIn(words)};
  return driver.Observe(ContainerEvent{std::move(exited)});
}

CoreStepResult Kill(JobDriver& driver, Words& its) {
  KillRequest request{.reason = "asked", .grace = Duration(-1)};
  if (its.Skip("within")) request.grace = TimeOf(its.Next());
  if (its.Skip("by")) request.asker = its.Next();
  if (its.any()) request.reason = its.Rest();
  return driver.Observe(KillRequested{request});
}

CoreStepResult Reach(JobDriver& driver, Words& its) {
  std::vector<ContainerId> running;
  while (its.any()) running.push_back({its.Next()});
  return driver.Reach(running);
}

// Replays the first `most` decisions; -1: all decisions except the last.
CoreStepResult Replay(JobDriver& driver, int64_t most) {
  driver.Replay(static_cast<size_t>(most < 0 ? most + static_cast<int64_t>(driver.journal().size()) : most));
  return {};
}

// Applies an event that concerns no task; nullopt if `name` is not one.
std::optional<CoreStepResult> HappenOnce(JobDriver& d, const std::string& name, Words& its) {
  if (name == "running") return d.Running(), CoreStepResult{};
  if (name == "gathering") return d.Gathering(), CoreStepResult{};
  if (name == "all-granted") return d.GrantAll(), CoreStepResult{};
  if (name == "all-registered") return d.RegisterAll(), CoreStepResult{};
  if (name == "all-run") return d.RunAll(), CoreStepResult{};
  if (name == "all-up") return d.GrantAll().RegisterAll().RunAll(), CoreStepResult{};
  if (name == "start") return d.Start({its.any() ? its.Number() : 1});
  if (name == "confirming-start") return d.Observe(AmStarted{{1}, {}, false, /*ends_are_confirmed=*/true});
  if (name == "master") return d.Replay(), d.Start({its.Number()});
  if (name == "replay") return its.any() ? Replay(d, its.Number()) : (d.Replay(), CoreStepResult{});
  if (name == "wait") return d.Wait(TimeOf(its.Next())), CoreStepResult{};
  if (name == "standstill") return d.WaitWithoutRenewal(TimeOf(its.Next())), CoreStepResult{};
  if (name == "pass") return d.Pass(TimeOf(its.Next()));
  if (name == "tick") return d.Observe(TimePassed{});
  if (name == "renew") return d.Observe(LeaseRenewed{});
  if (name == "deadline") return d.PassToDeadline();
  if (name == "kill") return Kill(d, its);
  if (name == "reach") return Reach(d, its);
  if (name == "list") return d.ListCheckpoints();
  if (name == "list-in-use") return d.Observe(CheckpointsFound{{}, JobId{"job-0"}});
  if (name == "list-earlier") {
    const Checkpoint earlier{"/ckpt/step-7", 7, JobDriver::kStart, CheckpointWriter::kEarlierJob};
    return d.ListCheckpoints({.folder = "/ckpt", .earlier_job = JobId{"job-0"}, .newest = earlier});
  }
  if (name == "see") return See(d, static_cast<int>(its.Number()), its);
  return std::nullopt;
}

std::optional<CoreStepResult> HappenTo(const std::string& task, JobDriver& d, const std::string& name, Words& its) {
  if (name == "grant") return d.Grant(task);
  if (name == "surplus") return d.Observe(ContainerEvent{ContainerGranted{AttemptOf(task), {"surplus"}, "node"}});
  if (name == "launched") return d.ConfirmLaunch(task);
  if (name == "place") return d.Grant(task), d.ConfirmLaunch(task), d.Register(task);
  if (name == "await") return d.Await(task);
  if (name == "register" || name == "heartbeat") {
    const bool registers = name == "register";
    const Phase phase = PhaseNamed(its.Or(registers ? "waiting" : "running"));
    const int64_t pid = its.any() ? its.Number() : registers ? 0 : 100;
    if (its.any()) return d.Observe(RegisterCall{d.CallerOf(task), {EndpointOf(task), phase, pid, PortsIn(its)}});
    return registers ? d.Register(task, phase, pid) : d.Heartbeat(task, phase, pid);
  }
  // "used worker:0 7" is memory in bytes; "quiet worker:0 2s 59s" means silent for 2 of 59 seconds.
  if (name == "used" || name == "quiet") {
    Usage usage{.samples = 1};
    if (name == "used") usage.memory_bytes = its.Number();
    if (name == "quiet") usage.quiet = TimeOf(its.Next()), usage.elapsed = TimeOf(its.Next());
    return d.Observe(HeartbeatCall{d.CallerOf(task), {Phase::kRunning, 100, usage}});
  }
  if (name == "impostor") return CallAs(d, task, its.Next());
  if (name == "publish") return d.Publish(task, ValuesOf(its));
  if (name == "report") return d.Report(task, OutcomeIn(its));
  if (name == "exit") return Exit(d, task, its);
  if (name == "end") return d.Report(task, OutcomeIn(its)), d.Exit(task);
  if (name == "preempt") return d.Preempt(task, TimeOf(its.Next()));
  // The task fails, the restart with the attempt's number finds a checkpoint, and all tasks run again.
  if (name == "resume") {
    d.Report(task, Failure(1));
    const CoreStepResult turn = See(d, AttemptOf(task).number, its);
    d.GrantAll().RegisterAll().RunAll();
    return turn;
  }
  return std::nullopt;
}

// ---- one script

class Scene {
 public:
  explicit Scene(const JobSpec& spec) : driver_(spec) {}

  void Step(const std::vector<std::string>& events, const std::vector<std::string>& expected);
  JobDriver& driver() { return driver_; }

 private:
  void Happen(const std::string& event);
  void Expect(const std::string& expected);
  void Note(const std::vector<std::string>& tasks);
  void CheckTold() const;
  bool ExpectOfTurn(Words& words);
  void ExpectVerdict(Words& words) const;
  std::string Deadline(const std::string& when) const;
  TaskStatus StatusOf(const std::string& task) const;
  void ExpectOfTask(const std::string& task, Words words);
  std::optional<std::string> TextAboutJob(const std::string& word) const;
  std::optional<std::string> TextAboutTask(const std::string& task, const std::string& word) const;

  JobDriver driver_;
  CoreStepResult turn_;
  // Commands of the executors when "note" was called.
  std::map<std::string, Command> noted_;
  std::optional<Instant> noted_deadline_;
  std::string noted_status_;
};

void Scene::Step(const std::vector<std::string>& events, const std::vector<std::string>& expected) {
  turn_ = {};
  for (const std::string& event : events) Happen(event);
  EXPECT_EQ(turn_.refusal.has_value(), !expected.empty() && expected[0].starts_with("refused"));
  for (const std::string& what : expected) Expect(what);
}

void Scene::Note(const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) noted_[task] = driver_.CommandFor(task);
  noted_deadline_ = driver_.job().NextDeadline();
  noted_status_ = ToJson(driver_.Status());
}

void Scene::Happen(const std::string& event) {
  SCOPED_TRACE(event);
  Words words(event);
  const std::string name = words.Next();
  if (name == "twice") {
    const std::string call = event.substr(event.find(' ') + 1);
    Happen(call);
    Note({});
    return Happen(call);
  }
  const std::vector<std::string> tasks = words.Tasks();
  if (name == "note") return Note(tasks);
  std::optional<CoreStepResult> turn;
  if (tasks.empty()) turn = HappenOnce(driver_, name, words);
  Words last = words;
  for (const std::string& task : tasks) turn = HappenTo(task, driver_, name, last = words);
  ASSERT_TRUE(turn) << "never happens";
  EXPECT_FALSE((tasks.empty() ? words : last).any()) << "and what else happens?";
  turn_ = *std::move(turn);
  CheckTold();
}

// The last order of a turn for an executor must be the answer to the executor's Await.
void Scene::CheckTold() const {
  std::map<AttemptId, SendCommand> told;
  for (const Action& action : turn_.actions)
    if (const auto* tell = std::get_if<SendCommand>(&action)) told[tell->attempt] = *tell;
  for (const auto& [attempt, tell] : told) EXPECT_TRUE(tell == driver_.job().Tell(attempt)) << ToString(attempt);
}

// ---- expectations

template <class... Body>
bool IsDecision(std::string_view name, const std::variant<Body...>&) {
  return ((Name({{}, Body{}}) == name) || ...);
}

std::string TextOf(Duration time) {
  return time.count() == 0          ? "0"
         : time.count() % 1000 == 0 ? StrCat(time.count() / 1000, "s")
                                    : StrCat(time.count(), "ms");
}

std::string TextOf(const std::optional<ExitStatus>& exit) {
  if (!exit) return "unseen";
  return exit->kind == ExitStatus::Kind::kExited ? StrCat("exit ", exit->value)
                                                 : "by " + SignalName(exit->value).substr(3);
}

std::string TextOf(const RestartDecided& decided) {
  std::vector<std::string> tasks;
  for (const TaskId& task : decided.tasks) tasks.push_back(ToString(task));
  return StrCat(" ", ToString(decided.scope), decided.charged ? " charged" : " free", " of ", ToString(decided.cause),
                " for ", Join(tasks, "+"), " ");
}

// Returns e.g. " SUCCEEDED success of worker:0#1 on node-worker-0 exit 3 stderr Traceback "
std::string TextOf(const Verdict& verdict) {
  std::string text = StrCat(" ", ToString(verdict.state), " ", ToString(verdict.cls));
  if (verdict.attempt) text += StrCat(" of ", ToString(*verdict.attempt), " on ", verdict.host);
  return StrCat(text, " ", TextOf(verdict.exit), " stderr ", verdict.stderr_tail, " ");
}

// Returns the roles with their task counts: "ps*1 worker*2".
std::string RolesOf(const ClusterSpec& cluster) {
  std::vector<std::string> roles;
  for (const auto& [role, endpoints] : cluster.roles) roles.push_back(StrCat(role, "*", endpoints.size()));
  return roles.empty() ? "nobody" : Join(roles, " ");
}

// Returns e.g. "driver:0.ADDRESS=here:1".
std::string ByTask(const auto& values) {
  std::vector<std::string> all;
  for (const auto& [task, its_values] : values)
    for (const auto& [name, value] : its_values) all.push_back(StrCat(ToString(task), ".", name, "=", value));
  return Join(all, " ");
}

// Returns e.g. "/ckpt/step-5 5 this_job", followed by the earlier job that wrote the checkpoint, if any; "never" if the
// job has no checkpoints.
std::string TextOf(const std::optional<CheckpointStatus>& status) {
  if (!status) return "never";
  if (!status->resumed_from) return "nothing";
  const auto& [path, step, modified, writer] = *status->resumed_from;
  return StrCat(path, " ", step, " ", ToString(writer), status->earlier_job ? " " + status->earlier_job->value : "");
}

// Matches like ExpectText(), and additionally: "!TEXT" must not occur, "$TEXT" must be the end.
void ExpectMessage(std::string_view expected, std::string_view actual) {
  const std::string_view text = expected.substr(std::min<size_t>(expected.size(), 1));
  if (expected.starts_with('!')) {
    EXPECT_EQ(actual.find(text), std::string_view::npos) << actual;
  } else if (expected.starts_with('$')) {
    EXPECT_TRUE(actual.ends_with(text)) << actual;
  } else {
    ExpectText(expected, actual);
  }
}

// Expects that the words occur in `text` one behind the other. The word after "says" is matched against `message`.
void ExpectWords(Words& words, const std::string& text, const std::string& message) {
  while (words.any()) {
    if (words.Skip("says")) return ExpectMessage(words.Next(), message);
    std::string word = words.Next();
    for (const std::string_view pair : {"of", "on", "exit", "by", "for", "stderr"})
      if (word == pair) word += " " + words.Next();
    if (word.starts_with("of ") && word.find('#') == std::string::npos) word += "#1";
    EXPECT_NE(text.find(" " + word + " "), std::string::npos) << word << " is not in" << text;
  }
}

void ExpectMembers(Words& words, const std::vector<std::string>& all, const std::string& separator, bool there) {
  for (const std::string& part : PartsBetween(words.Rest(), separator))
    EXPECT_EQ(std::ranges::find(all, part) != all.end(), there) << part;
}

// Expectations of a turn: exactly these decisions, by name; "nothing": no decisions; "has", "lacks"; "orders A, B":
// exactly these; "no orders"; "also A, B", "without A"; "unchanged" since "note"; "refused stale_attempt `text`";
// "restart gang free of worker:0 for worker:0+worker:1", or a part of that; "began 2"; "end CLASS" of an attempt.
bool Scene::ExpectOfTurn(Words& words) {
  const std::string decisions = Join(Decisions(turn_), " "), orders = Join(Orders(turn_), ", ");
  Words from_start = words;
  const std::string word = words.Next();
  if (word == "nothing") return ExpectMessage("", decisions), true;
  if (IsDecision(word, DecisionBody())) return ExpectMessage(from_start.Rest(), decisions), words.Rest(), true;
  if (word == "has" || word == "lacks") return ExpectMembers(words, Decisions(turn_), " ", word == "has"), true;
  if (word == "also" || word == "without") return ExpectMembers(words, Orders(turn_), ", ", word == "also"), true;
  if (word == "orders") return ExpectMessage(words.Rest(), orders), true;
  if (word == "no" && words.Skip("orders")) return ExpectMessage("", orders), true;
  if (word == "unchanged") return ExpectMessage(noted_status_, ToJson(driver_.Status()) + decisions + orders), true;
  if (word == "refused") {
    EXPECT_TRUE(turn_.refusal);
    const Refusal refusal = turn_.refusal.value_or(Refusal{});
    if (words.any()) ExpectMessage(words.Next(), Replaced(std::string(ToString(refusal.reason)), " ", "_"));
    if (words.any()) ExpectMessage(words.Next(), refusal.message);
  } else if (word == "restart") {
    const auto* decided = Find<RestartDecided>(turn_);
    EXPECT_TRUE(decided) << "there is none";
    if (decided) ExpectWords(words, TextOf(*decided), decided->reason);
  } else if (word == "began") {
    const auto* began = Find<RestartBegan>(turn_);
    EXPECT_EQ(began ? began->number : 0, words.Number());
  } else if (word == "end") {
    const auto* ended = Find<AttemptEnded>(turn_);
    EXPECT_EQ(ended ? ToString(ended->outcome.cls) : "none", words.Next());
  } else {
    words = from_start;
    return false;
  }
  return true;
}

// Expects a verdict: "none", "any", or any of SUCCEEDED, a class, "of worker:0#1", "on HOST", "exit 3", "says `text`".
void Scene::ExpectVerdict(Words& words) const {
  const auto& verdict = driver_.job().verdict();
  EXPECT_EQ(driver_.Status().verdict, driver_.job().Ended() ? verdict : std::nullopt) << "shown once it is the end";
  EXPECT_EQ(verdict.has_value(), !words.Skip("none")) << verdict.value_or(Verdict{}).message;
  if (!verdict || words.Skip("any")) return;
  ExpectWords(words, TextOf(*verdict), verdict->message);
}

// Returns the next deadline in the format of `when`: "+5s" from now, "@5s" from the start, "noted-10s", "later" than
// now, "due", "none".
std::string Scene::Deadline(const std::string& when) const {
  const auto due = driver_.job().NextDeadline();
  if (!due) return "none";
  if (when == "later" || when == "due") return *due > driver_.now() ? "later" : "due";
  if (when == "noted" && due == noted_deadline_) return when;
  if (when.starts_with("noted")) return "noted" + TextOf(*due - noted_deadline_.value());
  return when.substr(0, 1) + TextOf(*due - (when[0] == '+' ? driver_.now() : JobDriver::kStart));
}

// Returns the state of the job that `word` names; nullopt if `word` names no state of a job.
std::optional<std::string> Scene::TextAboutJob(const std::string& word) const {
  const JobStatus status = driver_.Status();
  const Job& job = driver_.job();
  if (word == "state") return ToString(job.state()) == status.state ? status.state : "not the one that is shown";
  if (word == "restarts") return StrCat(status.restart_count);
  if (word == "because") return status.restarts.back().reason;
  if (word == "tolerated") return StrCat(status.tolerated_failures);
  if (word == "generation") return StrCat(status.generation.value);
  if (word == "epoch") return StrCat(status.epoch.value);
  if (word == "progress") return StrCat(std::lround(job.Progress() * 100), "%");
  if (word == "tensorboard") return status.tensorboard_url;
  if (word == "resumed") return TextOf(status.checkpoint);
  if (word == "unknown") return status.checkpoint.value_or(CheckpointStatus{}).unknown;
  if (word == "ended") return job.Ended() && status.ended == driver_.now() ? "" : "not now";
  if (word == "runs" || word == "over") return job.MayRunTasks() == (word == "runs") ? "" : "it is otherwise";
  return std::nullopt;
}

// Returns the state of a task or an attempt that `word` names.
std::optional<std::string> Scene::TextAboutTask(const std::string& task, const std::string& word) const {
  const TaskStatus status = StatusOf(task);
  const Command command = driver_.CommandFor(task);
  if (word == "told") return driver_.Told(task);
  if (word == "state") return status.state;
  if (word == "is") {
    const std::string state(ToString(driver_.StateOf(task)));
    const bool is_shown = status.attempt == AttemptOf(task).number;
    return !is_shown || status.attempt_state == state ? state : "not as it is shown";
  }
  if (word == "grace") return TextOf(command.grace);
  if (word == "because") return command.reason;
  if (word == "resumes") return command.resume_from;
  if (word == "reads") return command.cluster_spec;
  if (const auto cluster = ClusterSpecFromJson(command.cluster_spec); cluster.ok()) {
    if (word == "knows") return RolesOf(*cluster);
    if (word == "values") return ByTask(cluster->values);
    if (word == "ports") return ByTask(cluster->ports);
  }
  if (word == "host") return status.host;
  if (word == "attempt") return StrCat(status.attempt);
  if (word == "pid") return StrCat(status.pid);
  if (word == "used") return status.usage ? StrCat(status.usage->memory_bytes) : "nothing";
  if (word == "waits") return status.waits_for;
  if (word == "suspected" || word == "heard") return status.suspect == (word == "suspected") ? "" : "it is otherwise";
  if (word == "started") return status.started == driver_.now() ? "" : "not now";
  if (word == "ended") return status.ended == driver_.now() ? "" : "not now";
  return std::nullopt;
}

// Returns the task's status; an empty status if the job does not have the task.
TaskStatus Scene::StatusOf(const std::string& task) const {
  for (const TaskStatus& status : driver_.Status().tasks)
    if (status.id == AttemptOf(task).task) return status;
  return {};
}

void Scene::ExpectOfTask(const std::string& task, Words words) {
  const TaskStatus status = StatusOf(task);
  const Command command = driver_.CommandFor(task);
  const std::string word = words.Next();
  if (word == "told" && words.Skip("as")) {  // "noted", or another attempt
    const std::string other = words.Next();
    EXPECT_EQ(command, other == "noted" ? noted_.at(task) : driver_.CommandFor(other));
  } else if (word == "cluster" && words.Skip("as")) {
    EXPECT_EQ(command.cluster_spec, driver_.CommandFor(words.Next()).cluster_spec);
    // "numbered 0", or "numbered above" or "numbered as" followed by another attempt or "noted".
  } else if (word == "numbered") {
    const bool above = words.Skip("above");
    const std::string other = words.Next();
    const int64_t number = other == "0"       ? 0
                           : other == "noted" ? noted_.at(words.Or(task)).number
                                              : driver_.CommandFor(other).number;
    EXPECT_EQ(above ? command.number > number : command.number == number, true) << command.number << ", " << number;
  } else if (word == "outcome") {
    ASSERT_TRUE(status.outcome) << "there is none";
    const Outcome& outcome = *status.outcome;
    ExpectWords(words, StrCat(" ", ToString(outcome.cls), " ", TextOf(outcome.exit), " "), outcome.message);
  } else if (word == "ended" && words.Skip("with")) {
    EXPECT_EQ(status.outcome, OutcomeIn(words));
  } else if (const auto text = TextAboutTask(task, word)) {
    ExpectMessage(words.Rest(), *text);
  } else {
    ADD_FAILURE() << "not a word about a task: " << word;
  }
}

void Scene::Expect(const std::string& expected) {
  SCOPED_TRACE(expected + " in: " + Join(Decisions(turn_), " ") + " -> " + Join(Orders(turn_), ", "));
  Words words(expected);
  if (const auto tasks = words.Tasks(); !tasks.empty()) {
    for (const std::string& task : tasks) ExpectOfTask(task, words);
    return;
  }
  if (ExpectOfTurn(words)) return;
  const std::string word = words.Next();
  if (word == "verdict") return ExpectVerdict(words);
  if (word == "in") {  // "in c-worker-0 worker:0#1", or "nobody"
    const auto attempt = driver_.job().AttemptIn({words.Next()});
    return ExpectMessage(words.Next(), attempt ? ToString(*attempt) : "nobody");
  }
  const std::string wanted = words.Rest();
  const auto text = word == "deadline" ? Deadline(wanted) : TextAboutJob(word);
  ASSERT_TRUE(text) << "no such expectation";
  ExpectMessage(wanted, *text);
}

// ---- rows

// Cuts "job WORDS: " or "+WORDS: " off the events, and returns the job.
JobSpec JobBefore(std::string& events, std::string_view usual) {
  std::string words(usual);
  if (events.starts_with("job ") || events.starts_with('+')) {
    const size_t colon = events.find(": ");
    words = events[0] == '+' ? StrCat(usual, " ", events.substr(1, colon - 1)) : events.substr(4, colon - 4);
    events.erase(0, colon + 2);
  }
  return JobOf(words);
}

}  // namespace

JobDriver DriverAfter(std::string_view job, std::string_view events) {
  Scene scene(JobOf(job));
  scene.Step(PartsBetween(events, ", "), {});
  return std::move(scene.driver());
}

void ExpectDamaged(std::string_view job, std::string_view events, const std::vector<DecisionBody>& decisions) {
  for (const DecisionBody& body : decisions) {
    JobDriver driver = DriverAfter(job, events);
    const Decision decision{driver.now(), body};
    SCOPED_TRACE(ToJson(decision));
    const int64_t seq = driver.job().seq();
    const auto evolved = driver.job().Evolve(decision);
    ASSERT_FALSE(evolved.ok());
    EXPECT_EQ(evolved.error().code, ErrorCode::kInvalid);
    ExpectMessage(StrCat("~decision ", seq + 1, " (", Name(decision), ")"), evolved.error().message);
    EXPECT_EQ(driver.job().seq(), seq);
  }
}

void RunScript(const TestRow& row, std::string_view job, std::string_view begun) {
  size_t most = 1;
  for (size_t number = 0; number < most; ++number) {
    std::optional<Scene> scene;
    for (const RowCase& step : row.cases) {
      std::string events = Chosen(step.given, number, most);
      const std::string expected = Chosen(step.expected, number, most);
      SCOPED_TRACE(StrCat(row.name, ": ", events, " -> ", expected));
      if (!scene) scene.emplace(JobBefore(events, job));
      if (events.starts_with("begun")) events.replace(0, 5, begun);
      scene->Step(PartsBetween(events, ", "), PartsBetween(expected, "; "));
    }
  }
}

}  // namespace tony::am
