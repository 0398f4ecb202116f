#include "tests/sim/simulated_executor.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/job/failure_rules.h"
#include "tests/sim/job_rules.h"
#include "tests/sim/simulated_am.h"

namespace tony::sim {
namespace {

constexpr Duration kDyingLasts{1};  // from SIGKILL to the end

// The step in a checkpoint's name is the work that it holds.
Duration WorkIn(const Disk& disk, const std::string& path) {
  const auto found = std::ranges::find(disk.checkpoints, path, &Checkpoint::path);
  return found == disk.checkpoints.end() ? Duration(0) : Duration(found->step);
}

}  // namespace

SimulatedProcess::SimulatedProcess(Stage& stage, const ProcessStarted& start, const ProcessPlan& plan,
                                   std::function<void(const PublishedValues&)> on_publish,
                                   std::function<void(ExitStatus)> on_end)
    : stage_(stage),
      start_(start),
      plan_(plan),
      on_publish_(std::move(on_publish)),
      on_end_(std::move(on_end)),
      children_(plan.leaves_children || plan.children_stay) {
  stage_.Add(start_);
  const Duration done = WorkIn(stage_.disk, start_.resume_from);
  const Duration run = std::max(plan_.run - done, Duration(0));
  if (plan_.publish_after) PublishAfter(std::min(*plan_.publish_after, run / 2));
  EndAfter(run, {ExitStatus::Kind::kExited, plan_.exit_code});
  if (plan_.checkpoint_every.count() > 0) WriteCheckpoint(done + plan_.checkpoint_every);
}

void SimulatedProcess::Signal(int signal) {
  if (signal == 0) return;
  if (running_) stage_.Add(ProcessSignalled{start_.attempt, start_.pid, signal});
  if (signal == SIGTERM) {
    if (plan_.obeys_term) EndAfter(*plan_.obeys_term, {ExitStatus::Kind::kSignaled, SIGTERM});
    return;
  }
  EndAfter(kDyingLasts, {ExitStatus::Kind::kSignaled, signal});
  if (!plan_.children_stay) stage_.time.After(kDyingLasts, [this] { children_ = false; });
}

void SimulatedProcess::WriteCheckpoint(Duration work) {
  stage_.time.After(plan_.checkpoint_every, [this, work] {
    if (!running_) return;
    const std::string path = StrCat(stage_.plan.spec.checkpoint.directory, "/", start_.attempt.task.role, "-",
                                    start_.attempt.task.index, "-", work.count());
    std::erase_if(stage_.disk.checkpoints, [&](const Checkpoint& old) { return old.path == path; });
    stage_.disk.checkpoints.push_back({path, work.count(), stage_.time.now()});
    stage_.Add(CheckpointWritten{start_.attempt, stage_.disk.checkpoints.back()});
    WriteCheckpoint(work + plan_.checkpoint_every);
  });
}

void SimulatedProcess::PublishAfter(Duration delay) {
  stage_.time.After(delay, [this] {
    if (!running_) return;
    const PublishedValues values{
        {PublishedBy(stage_.plan.spec, start_.attempt.task.role), StrCat("process ", start_.pid)}};
    stage_.Add(ValuesWritten{start_.attempt, values});
    on_publish_(values);
  });
}

void SimulatedProcess::EndAfter(Duration delay, ExitStatus exit) {
  stage_.time.After(delay, [this, exit] {
    if (!running_) return;
    running_ = false;
    stage_.Add(ProcessEnded{start_.attempt, start_.pid, exit, start_.process});
    on_end_(exit);
  });
}

namespace {

constexpr Duration kSlowestReaping{20};
constexpr Duration kFileNotice{10};  // delay to notice a changed file

double JitterFrom(Random& random) { return static_cast<double>(random.Between(0, 999)) / 1000.0; }

}  // namespace

SimulatedExecutor::SimulatedExecutor(Stage& stage, Network& network, const AttemptId& attempt,
                                     const ContainerId& container, int port, Flaw flaw)
    : stage_(stage),
      network_(network),
      random_(stage.random.Fork()),
      clock_(stage.MakeClock()),
      attempt_(attempt),
      container_(container),
      flaw_(flaw),
      run_({.job = kJob, .attempt = attempt, .container = container}, {"node", port}, stage.plan.spec.timers,
           JitterFrom(random_), stage.plan.spec.ProcessesOf(attempt.task.role),
           stage.plan.shared_store ? executor::LeasePace::OfSharedStore(stage.plan.spec, attempt.task)
                                   : executor::LeasePace()) {}

void SimulatedExecutor::Begin(std::function<void(int)> left) {
  left_ = std::move(left);
  stage_.Add(ContainerBegan{container_, attempt_});
  Feed(executor::Begun{});
}

void SimulatedExecutor::Terminate() {
  if (!alive_) return;
  stage_.Add(ExecutorTermed{attempt_});
  Feed(executor::TermSignal{});
}

void SimulatedExecutor::Die() {
  if (!alive_) return;
  alive_ = false;
  stage_.Add(ExecutorDied{attempt_});
  if (connection_ > 0) network_.Close(connection_);
}

void SimulatedExecutor::Stall(Duration length) {
  stage_.Add(ExecutorStalled{attempt_, length});
  stalled_until_ = stage_.time.now() + length;
}

void SimulatedExecutor::LeaseChanged() {
  if (watches_lease_) {
    stage_.time.After(random_.Between(Duration(0), kFileNotice), [this] { Perform(executor::ReadLease{}); });
  }
}

void SimulatedExecutor::CutStore(Duration length) {
  store_back_at_ = stage_.time.now() + length;
  stage_.Add(StoreCut{attempt_, length});
}

// An action may feed further events; they wait until the current event is done.
void SimulatedExecutor::Feed(executor::Event event) {
  if (!alive_) return;
  if (stage_.time.now() < stalled_until_) return FeedAfter(stalled_until_ - stage_.time.now(), std::move(event));
  events_.push_back(std::move(event));
  if (events_.size() > 1) return;
  for (; alive_ && !events_.empty(); events_.pop_front()) {
    const executor::State state = run_.state();
    const executor::Link link = run_.link();
    const auto actions = run_.Apply(events_.front(), clock_.At(stage_.time.now()));
    Observe(events_.front(), state, link, actions.size());
    for (const auto& action : actions) std::visit([this](const auto& what) { Perform(what); }, action);
  }
  ArmTimer();
}

void SimulatedExecutor::FeedAfter(Duration delay, executor::Event event) {
  stage_.time.After(delay, [this, event = std::move(event)] { Feed(event); });
}

void SimulatedExecutor::ArmTimer() {
  const auto deadline = run_.NextDeadline();
  const int64_t timer = ++timer_;
  if (!alive_ || !deadline) return;
  stage_.time.At(clock_.TruthAt(*deadline), [this, timer] {
    if (timer == timer_) Feed(executor::Tick{});
  });
}

void SimulatedExecutor::Observe(const executor::Event& event, executor::State state, executor::Link link,
                                size_t actions) {
  stage_.coverage.AddExecutor(state, event, run_.state());
  if (stage_.history.with_trace() && (state != run_.state() || link != run_.link())) {
    stage_.Note(StrCat(ToString(attempt_), " executor is ", ToString(run_.state()), ", ", ToString(run_.link())));
  }
  if (link != executor::Link::kLinked && run_.link() == executor::Link::kLinked) {
    stage_.Add(ExecutorBound{attempt_, epochs_[link_]});
  }
  const auto* command = std::get_if<executor::CommandReceived>(&event);
  // A command always leads to the next Await; any further action means that the executor obeyed.
  if (command && (state != run_.state() || actions > 1)) {
    stage_.Add(ExecutorObeyed{attempt_, epochs_[command->link]});
  }
}

void SimulatedExecutor::Answered(int64_t link, const Question& question, Instant asked, const Reply& reply) {
  if (!alive_) return;
  // A frozen executor receives the answer after it wakes; a timer that expired before goes first.
  if (stage_.time.now() < stalled_until_) {
    return stage_.time.At(stalled_until_, [=, this] { Answered(link, question, asked, reply); });
  }
  const bool known = run_.link() == executor::Link::kLinked || run_.link() == executor::Link::kRegistering;
  const auto* refusal = std::get_if<Refusal>(&reply);
  const bool counts = link == link_ && known;
  if (counts && !refusal) stage_.Add(ExecutorHeard{attempt_, epochs_[link], asked});
  if (counts && refusal && refusal->reason == RefusalReason::kNotLeader) stage_.Add(ExecutorPutOff{attempt_});
  Feed(EventOf(link, question, asked, reply));
}

void SimulatedExecutor::Disconnected(int64_t link) { Feed(executor::ConnectionLost{link}); }

executor::Event SimulatedExecutor::EventOf(int64_t link, const Question& question, Instant asked,
                                           const Reply& reply) const {
  using executor::Event;
  if (const auto* refusal = std::get_if<Refusal>(&reply)) return executor::Refused{link, refusal->reason};
  if (const auto* command = std::get_if<Command>(&reply)) return executor::CommandReceived{link, *command};
  if (const auto* epoch = std::get_if<Epoch>(&reply)) return executor::Registered{link, *epoch};
  if (std::holds_alternative<am::PublishCall>(question)) return executor::ValuesAcknowledged{link};
  if (std::holds_alternative<am::OutcomeCall>(question)) return executor::OutcomeAcknowledged{link};
  return executor::HeartbeatAnswered{link, clock_.At(asked)};
}

void SimulatedExecutor::Perform(const executor::UseAm& action) {
  if (connection_ > 0) network_.Close(connection_);
  link_ = action.link;
  epochs_[link_] = EpochAt(action.am);
  connection_ = network_.Open(*this, container_, link_, action.am);
}

void SimulatedExecutor::Perform(const executor::SendRegister& action) {
  Registration what = action.what;
  for (const std::string& name : PortNames(stage_.plan.spec, attempt_.task))
    what.ports[name] = what.endpoint.port + 10'000 + static_cast<int>(what.ports.size());
  network_.Ask(connection_, am::RegisterCall{action.caller, what});
}

void SimulatedExecutor::Perform(const executor::SendAwait& action) {
  network_.Ask(connection_, AwaitQuestion{{action.caller}, action.since});
}

void SimulatedExecutor::Perform(const executor::SendHeartbeat& action) {
  network_.Ask(connection_, am::HeartbeatCall{action.caller, action.progress});
}

void SimulatedExecutor::Perform(const executor::SendValues& action) {
  network_.Ask(connection_, am::PublishCall{action.caller, action.values});
}

void SimulatedExecutor::Perform(const executor::SendOutcome& action) {
  network_.Ask(connection_, am::OutcomeCall{action.caller, action.outcome});
}

executor::Event SimulatedExecutor::LeaseNow() const {
  if (stage_.time.now() < store_back_at_) return executor::LeaseUnreadable{};
  return executor::LeaseRead{stage_.disk.lease};
}

// The first record comes with the container.
void SimulatedExecutor::Perform(const executor::ReadLease&) {
  if (stage_.plan.shared_store && link_ > 0) return ReadSharedLease();
  Feed(LeaseNow());
}

// The answer may be as old as the read.
void SimulatedExecutor::ReadSharedLease() {
  if (std::exchange(reads_lease_, true)) return;
  const bool is_old = random_.Chance(500);
  const executor::Event then = LeaseNow();
  const bool is_readable = std::holds_alternative<executor::LeaseRead>(then);
  const Duration takes = is_readable ? random_.Between(Duration(0), *stage_.plan.shared_store)
                                     : executor::LeasePace::ReadLimit(stage_.plan.spec.timers);
  stage_.time.After(takes, [this, is_old, then] {
    reads_lease_ = false;
    Feed(is_old ? then : LeaseNow());
  });
}

void SimulatedExecutor::Perform(const executor::WatchLease&) { watches_lease_ = true; }
void SimulatedExecutor::Perform(const executor::UnwatchLease&) { watches_lease_ = false; }

void SimulatedExecutor::Perform(const executor::BeginAttempt& action) {
  if (flaw_ == Flaw::kForgetsAttempt) return;
  attempt_ = action.attempt;
  stage_.Add(AttemptBegun{container_, attempt_});
  // The executor acts as the new attempt even if it cannot begin it, so the AM may send kNext once more.
  if (stage_.plan.tasks.at(attempt_.task).cannot_begin) Feed(executor::AttemptNotBegun{});
}

void SimulatedExecutor::Perform(const executor::StartProcesses& action) {
  const ProcessPlan& plan = stage_.plan.tasks.at(attempt_.task).ProcessOf(attempt_.number);
  if (plan.cannot_start) {
    return FeedAfter(plan.start, executor::ProcessNotStarted{{OutcomeClass::kInfra, std::nullopt, "no fork", ""}});
  }
  const int64_t pid = 1000 + random_.Between(0, 1'000'000'000);
  ProcessStarted start{attempt_, container_, action.generation, pid, action.cluster_spec, action.resume_from};
  if (flaw_ == Flaw::kLosesResume) start.resume_from.clear();
  if (flaw_ == Flaw::kAltersClusterSpec && random_.Chance(500)) start.cluster_spec += " ";
  stage_.time.After(plan.start, [this, plan, start] {
    if (alive_) StartAll(start, plan);
  });
}

void SimulatedExecutor::StartAll(ProcessStarted start, const ProcessPlan& plan) {
  Start(start, plan);
  Feed(executor::ProcessStarted{start.pid, start.process});
  for (const ProcessPlan& other : plan.beside) {
    ++start.pid;
    ++start.process;
    Start(start, other);
    Feed(executor::ProcessStarted{start.pid, start.process});
  }
}

void SimulatedExecutor::Start(const ProcessStarted& start, const ProcessPlan& plan) {
  const auto published = std::make_shared<PublishedValues>();
  // The file of an earlier attempt is not watched.
  const auto look = [this, attempt = start.attempt, published] {
    if (attempt == attempt_ && !published->empty()) Feed(executor::ValuesSeen{*published});
  };
  const auto write = [this, published, look](const PublishedValues& values) {
    *published = values;
    if (flaw_ != Flaw::kLosesValues) stage_.time.After(random_.Between(Duration(0), kFileNotice), look);
  };
  const auto reaped = [this, start, plan, look](ExitStatus exit) {
    if (flaw_ == Flaw::kStartsTwice && !exit.Succeeded() && processes_.size() == 1) return Start(start, plan);
    stage_.time.After(random_.Between(Duration(0), kSlowestReaping), [this, exit, look, process = start.process] {
      if (flaw_ != Flaw::kLosesValues) look();
      Reaped(process, exit);
    });
  };
  processes_.push_back(std::make_unique<SimulatedProcess>(stage_, start, plan, write, reaped));
}

void SimulatedExecutor::Reaped(int process, ExitStatus exit) {
  if (flaw_ == Flaw::kSeesFirstProcessOnly && process > 0) exit = {};
  Feed(executor::ProcessExited{exit, "", Classify({.exit = exit}, {}), process});
}

void SimulatedExecutor::Perform(const executor::SignalTree& action) {
  if (!AnythingLeft()) return Feed(executor::TreeGone{});
  if (flaw_ != Flaw::kIgnoresStop) SignalAll(action.signal);
  if (action.signal == SIGKILL) Feed(executor::TreeSurvived{"1 process", /*in_kernel=*/false});
}

void SimulatedExecutor::SignalAll(int signal) {
  for (const auto& process : processes_) process->Signal(signal);
}

bool SimulatedExecutor::AnythingLeft() const {
  return std::ranges::any_of(processes_, [](const auto& process) { return process->AnythingLeft(); });
}

void SimulatedExecutor::Perform(const executor::KeepOutcome& action) {
  stage_.disk.outcomes[attempt_] = action.outcome;
}

void SimulatedExecutor::Perform(const executor::Leave& action) {
  alive_ = false;
  network_.Close(connection_);
  left_(action.exit_code);
}

}  // namespace tony::sim
