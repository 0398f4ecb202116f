#include "tests/sim/simulated_am.h"

#include <algorithm>

#include "runtime/base/overloaded.h"
#include "runtime/base/strings.h"
#include "tests/sim/simulated_keeper.h"

namespace tony::sim {
namespace {

constexpr int kFirstAmPort = 10'000;
constexpr Duration kParkLimit{30'000};

}  // namespace

Endpoint AddressOf(Epoch epoch) { return {"am", kFirstAmPort + static_cast<int>(epoch.value)}; }
Epoch EpochAt(const Endpoint& am) { return {am.port - kFirstAmPort}; }

SimulatedAm::SimulatedAm(Stage& stage, Network& network, SimulatedKeeper& keeper, CrashPlan& crashes, Epoch epoch,
                         Flaw flaw)
    : stage_(stage),
      network_(network),
      keeper_(keeper),
      crashes_(crashes),
      random_(stage.random.Fork()),
      epoch_(epoch),
      flaw_(flaw),
      job_(kJob, stage.plan.spec) {}

void SimulatedAm::Begin() {
  stage_.Add(AmBegan{epoch_});
  if (!Survives() || !OpenJournal()) return;
  network_.Listen(AddressOf(epoch_), *this);
  WriteLease();
  Later(stage_.plan.spec.timers.record_fresh / 3, [this] { RenewLease(); });
  Observe(am::AmStarted{epoch_});
  if (flaw_ != Flaw::kForgetsKill || epoch_.value == 1) ReadKillRequest();
  Later(Duration(0), [this] { keeper_.Hello(epoch_); });
}

void SimulatedAm::Die() {
  if (!alive_) return;
  alive_ = false;
  stage_.Add(AmGone{epoch_});
  network_.StopListening(AddressOf(epoch_));
  keeper_.AmEnded(epoch_);
}

void SimulatedAm::Freeze(Duration length) {
  stage_.Note(StrCat("am ", epoch_.value, " stands still for ", length.count(), " ms"));
  thaws_at_ = std::max(thaws_at_, stage_.time.now() + length);
}

// The arbiter is out of reach: the shell learns of it when its lease is over.
void SimulatedAm::LoseKeeper(Duration length) {
  const Duration lease = stage_.plan.spec.timers.am_lease;
  if (length <= lease) return;
  const int64_t loss = ++losses_;
  Later(lease, [this] {
    stage_.Note(StrCat("am ", epoch_.value, " no longer rules"));
    ruling_ = false;
    ++timer_;
  });
  Later(length, [this, loss] {
    if (loss == losses_) keeper_.Hello(epoch_);
  });
}

void SimulatedAm::Later(Duration delay, std::function<void()> what) {
  stage_.time.After(delay, [this, what = std::move(what)] {
    if (!alive_) return;
    if (stage_.time.now() < thaws_at_) return Later(thaws_at_ - stage_.time.now(), what);
    what();
  });
}

bool SimulatedAm::Survives() {
  if (alive_ && crashes_.CrashesNow()) {
    stage_.Note(StrCat("am ", epoch_.value, " crashes at step ", crashes_.steps()));
    Die();
  }
  return alive_;
}

void SimulatedAm::Finish(const Pending& turn) {
  for (size_t i = 0; i < turn.actions.size(); ++i) {
    Perform(turn.actions[i], turn.commands[i]);
    if (!Survives()) return;
  }
  if (turn.done) turn.done(turn.refusal, turn.command);
}

void SimulatedAm::Perform(const am::Action& action, const Command& command) {
  std::visit(Overloaded{
                 [&](const am::RequestContainers& a) { keeper_.Request(epoch_, a.asks); },
                 [&](const am::LaunchExecutor& a) {
                   keeper_.Order({epoch_, Ordered::What::kLaunch, a.container});
                 },
                 [&](const am::StopContainer& a) {
                   const bool kill = a.mode == StopMode::kKill;
                   keeper_.Order({epoch_, kill ? Ordered::What::kKill : Ordered::What::kTerm, a.container});
                 },
                 [&](const am::TellExecutor& a) { AnswerAwait(a.attempt, command); },
                 [&](const am::EndJob&) {
                   stage_.disk.status = job_.verdict();
                   stage_.Add(StatusWritten{epoch_, *job_.verdict()});
                   if (Survives()) keeper_.Order({epoch_, Ordered::What::kFinish, {}});
                 },
             },
             action);
}

void SimulatedAm::OnScheduler(SchedulerEvent event) {
  Later(Duration(0), [this, event = std::move(event)] {
    const bool resumes = std::holds_alternative<SchedulerReached>(event) && !std::exchange(ruling_, true);
    std::optional<Outcome> kept;
    if (const auto* exited = std::get_if<ContainerExited>(&event)) {
      const auto attempt = job_.AttemptIn(exited->container);
      const auto found = attempt ? stage_.disk.outcomes.find(*attempt) : stage_.disk.outcomes.end();
      if (found != stage_.disk.outcomes.end()) kept = found->second;
    }
    Observe(am::ContainerEvent{event, kept});
    if (resumes && alive_) Renew();
    if (resumes && alive_) ReadKillRequest();
  });
}

void SimulatedAm::Asked(const CallId& call, const Question& question) {
  Later(Duration(0), [this, call, question] {
    if (!ruling_) return network_.Answer(call, Refusal{RefusalReason::kNotRuling, ""});
    AskJob(call, question);
  });
}

void SimulatedAm::AskJob(const CallId& call, const Question& question) {
  const auto answer = [this, call](const Reply& success) {
    return [this, call, success](const std::optional<Refusal>& refusal, const Command&) {
      network_.Answer(call, refusal ? Reply(*refusal) : success);
    };
  };
  std::visit(Overloaded{
                 [&](const am::RegisterCall& q) { Observe(q, q.caller.attempt, answer(epoch_)); },
                 [&](const am::HeartbeatCall& q) { Observe(q, q.caller.attempt, answer(std::monostate())); },
                 [&](const AwaitQuestion& q) {
                   const AttemptId attempt = q.call.caller.attempt;
                   Observe(q.call, attempt, [=, this, since = q.since](const auto& refusal, const Command& command) {
                     if (refusal) return network_.Answer(call, *refusal);
                     Park(call, since, attempt, command);
                   });
                 },
                 [&](const am::OutcomeCall& q) {
                   Observe(q, q.caller.attempt, [=, this](const auto& refusal, const Command&) {
                     if (!refusal) stage_.Add(OutcomeAcknowledged{epoch_, q.caller.attempt, q.outcome});
                     network_.Answer(call, refusal ? Reply(*refusal) : Reply(std::monostate()));
                   });
                 },
             },
             question);
}

void SimulatedAm::Park(const CallId& call, int64_t since, const AttemptId& attempt, const Command& command) {
  const auto before = awaits_.find(attempt);
  if (before != awaits_.end()) Answer(before->second.call, attempt, {});  // its caller has asked again
  awaits_[attempt] = {call, since};
  Later(kParkLimit, [this, attempt, call] {
    const auto parked = awaits_.find(attempt);
    if (parked == awaits_.end() || parked->second.call.call != call.call) return;
    awaits_.erase(parked);
    Answer(call, attempt, {});
  });
  AnswerAwait(attempt, command);
}

void SimulatedAm::AnswerAwait(const AttemptId& attempt, const Command& written) {
  const auto parked = awaits_.find(attempt);
  const Command command = flaw_ == Flaw::kTellsAhead ? job_.CommandFor(attempt) : written;
  if (parked == awaits_.end() || command.number <= parked->second.since) return;
  const CallId call = parked->second.call;
  awaits_.erase(parked);
  Answer(call, attempt, command);
}

void SimulatedAm::Answer(const CallId& call, const AttemptId& attempt, const Command& command) {
  stage_.Add(Told{epoch_, attempt, command.kind, command.generation});
  network_.Answer(call, command);
}

void SimulatedAm::Abandoned(int64_t connection) {
  Later(Duration(0), [this, connection] {
    std::erase_if(awaits_, [&](const auto& entry) { return entry.second.call.connection == connection; });
  });
}

void SimulatedAm::WriteLease() {
  stage_.disk.lease = executor::SeenLease{epoch_, AddressOf(epoch_), ++renewal_};
  stage_.Add(LeaseWritten{epoch_});
  keeper_.Changed();
}

void SimulatedAm::Renew() {
  WriteLease();
  Observe(am::LeaseRenewed{});
  ArmTimer();
}

void SimulatedAm::RenewLease() {
  if (ruling_ || flaw_ == Flaw::kRenewsWithoutRule) Renew();
  Later(stage_.plan.spec.timers.record_fresh / 3, [this] { RenewLease(); });
}

void SimulatedAm::FolderChanged() {
  Later(Duration(1), [this] { ReadKillRequest(); });
}

void SimulatedAm::ReadKillRequest() {
  if (!ruling_ || !stage_.disk.kill_request) return;
  if (job_.Ended() || (flaw_ == Flaw::kForgetsKill && epoch_.value > 1)) return;
  Observe(am::KillAsked{"asked to", *stage_.disk.kill_request}, {},
          [this](const auto&, const Command&) { stage_.Add(KillAcknowledged{epoch_}); });
}

void SimulatedAm::ArmTimer() {
  const int64_t timer = ++timer_;
  const auto deadline = job_.NextDeadline();
  if (!ruling_ || !deadline) return;
  Later(std::max(*deadline - stage_.time.now(), Duration(0)), [this, timer] {
    if (timer == timer_) Observe(am::TimePassed{});
  });
}

}  // namespace tony::sim
