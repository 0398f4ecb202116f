#include "tests/sim/simulated_am.h"

#include <algorithm>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "tests/sim/simulated_keeper.h"

namespace tony::sim {
namespace {

constexpr int kFirstAmPort = 10'000;
constexpr Duration kParkLimit{30'000};
constexpr Duration kKillRequestInterval{1'000};
constexpr Duration kNextTry{1'000};
constexpr Duration kLookAgain{1'000};

const AttemptId& CallerOf(const Question& question) {
  return std::visit(Overloaded{[](const AwaitQuestion& q) -> const AttemptId& { return q.call.caller.attempt; },
                               [](const auto& q) -> const AttemptId& { return q.caller.attempt; }},
                    question);
}

std::optional<Checkpoint> NewestThere(const std::vector<Checkpoint>& all) {
  const auto age = [](const Checkpoint& checkpoint) { return std::pair(checkpoint.modified, checkpoint.step); };
  const auto newest = std::ranges::max_element(all, {}, age);
  return newest == all.end() ? std::nullopt : std::optional(*newest);
}

ListedCheckpoint EntryOf(const Checkpoint& there) {
  return {.name = there.path, .modified_ns = there.modified.time_since_epoch().count()};
}

}  // namespace

Address AddressOf(Epoch epoch) { return Endpoint{"am", kFirstAmPort + static_cast<int>(epoch.value)}; }
Epoch EpochAt(const Address& am) { return {std::get<Endpoint>(am).port - kFirstAmPort}; }

SimulatedAm::SimulatedAm(Stage& stage, Network& network, SimulatedKeeper& keeper, CrashPlan& crashes, Epoch epoch,
                         Flaw flaw)
    : stage_(stage),
      network_(network),
      crashes_(crashes),
      random_(stage.random.Fork()),
      epoch_(epoch),
      flaw_(flaw),
      clock_(stage.MakeClock()),
      scheduler_(stage, keeper, *this, epoch, flaw),
      job_(kJob, stage.plan.spec) {}

void SimulatedAm::Begin() {
  if (!alive_) return;
  stage_.Add(AmBegan{epoch_});
  if (!Survives() || !OpenJournal()) return;
  network_.Listen(AddressOf(epoch_), *this);
  scheduler_.Begin();
  WriteLease();
  Observe(am::AmStarted{epoch_, stage_.plan.claim});
  LookForKillRequest();
}

void SimulatedAm::Die() {
  if (!alive_) return;
  alive_ = false;
  stage_.Add(AmGone{epoch_});
  network_.StopListening(AddressOf(epoch_));
  scheduler_.OnAmGone();
}

void SimulatedAm::Freeze(Duration length) {
  stage_.Note(StrCat("am ", epoch_.value, " stands still for ", length.count(), " ms"));
  thaws_at_ = std::max(thaws_at_, stage_.time.now() + length);
  stage_.time.At(thaws_at_, [this] {
    if (alive_) stage_.Add(AmWoke{epoch_});
  });
}

void SimulatedAm::Later(Duration delay, std::function<void()> what) {
  stage_.time.At(clock_.TruthAfter(stage_.time.now(), delay), [this, what = std::move(what)] {
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

// ---- what it does

void SimulatedAm::Perform(const am::Action& action) {
  std::visit(Overloaded{
                 [&](const am::RequestContainers& a) { scheduler_.Request(a.asks); },
                 [&](const am::WithdrawRequests& a) { scheduler_.Withdraw(a.attempts); },
                 [&](const am::LaunchExecutor& a) { scheduler_.Launch(a.attempt, a.container); },
                 [&](const am::StopContainer& a) { scheduler_.Stop(a.container, a.mode); },
                 [&](const am::TellExecutor& a) { Tell(a); },
                 [&](const am::ListCheckpoints&) { List(); },
                 [&](const am::LookForCheckpoint& a) { Look(a.restart); },
                 [&](const am::EndJob&) { End(); },
             },
             action);
}

void SimulatedAm::Tell(const am::TellExecutor& order) {
  if (!Rules()) return Later(kLookAgain, [this, order] { Tell(order); });
  if (flaw_ != Flaw::kTellsAhead && job_.Tell(order.attempt) != order) return;
  const Command command = job_.CommandFor(order.attempt);
  const auto parked = awaits_.find(order.attempt);
  if (parked == awaits_.end() || command.number <= parked->second.since) return;
  const CallId call = parked->second.call;
  awaits_.erase(parked);
  Answer(call, order.attempt, command);
}

bool SimulatedAm::LookFails() {
  if (!stage_.MayFail() || !random_.Chance(stage_.plan.am.failing_looks)) return false;
  stage_.Add(LookFailed{epoch_});
  return true;
}

void SimulatedAm::List() {
  Later(random_.Between(Duration(0), stage_.plan.am.longest_look), [this] {
    if (!Rules()) return Later(kLookAgain, [this] { List(); });
    CheckpointListing listing;
    if (LookFails()) listing.unknown = "cannot be read";
    for (const Checkpoint& there : stage_.disk.checkpoints) listing.there.push_back(EntryOf(there));
    std::ranges::sort(listing.there, {}, &ListedCheckpoint::name);
    if (job_.spec().checkpoint.resume_latest) listing.newest = NewestThere(stage_.disk.checkpoints);
    Observe(am::CheckpointsThere{listing, std::nullopt});
  });
}

bool SimulatedAm::MayResumeFrom(const Checkpoint& there) const {
  const bool is_own = job_.listing().WriterOf(EntryOf(there)) == CheckpointWriter::kThisJob;
  return is_own || job_.spec().checkpoint.resume_latest || flaw_ == Flaw::kTakesOthersCheckpoints;
}

void SimulatedAm::Look(int restart) {
  Later(random_.Between(Duration(0), stage_.plan.am.longest_look), [this, restart] {
    if (!Rules()) return Later(kLookAgain, [this, restart] { Look(restart); });
    const bool is_known = job_.listing().unknown.empty() || job_.spec().checkpoint.resume_latest;
    if (LookFails() || !is_known) {
      Observe(am::CheckpointSeen{restart, std::nullopt, /*readable=*/false});
      return;
    }
    std::vector<Checkpoint> found = stage_.disk.checkpoints;
    std::erase_if(found, [this](const Checkpoint& there) { return !MayResumeFrom(there); });
    std::optional<Checkpoint> newest = NewestThere(found);
    if (flaw_ == Flaw::kSeesNoCheckpoint) newest.reset();
    Observe(am::CheckpointSeen{restart, newest});
  });
}

void SimulatedAm::End() {
  stage_.disk.status = job_.verdict();
  stage_.Add(StatusWritten{epoch_, *job_.verdict()});
  if (Survives()) scheduler_.Finish();
}

void SimulatedAm::OnScheduler(const SchedulerEvent& event) {
  if (std::holds_alternative<SchedulerLost>(event)) {
    stage_.Note(StrCat("am ", epoch_.value, " no longer rules"));
    ruling_ = false;
    ++timer_;
    return;
  }
  const bool resumes = std::holds_alternative<SchedulerReached>(event) && !std::exchange(ruling_, true);
  Observe(am::ContainerEvent{event});
  if (resumes && alive_) Renew();
  if (resumes && alive_) ReadKillRequest();
}

// ---- calls

void SimulatedAm::Asked(const CallId& call, const Question& question) {
  Later(Duration(0), [this, call, question] {
    const auto* registers = std::get_if<am::RegisterCall>(&question);
    if (!Rules()) return network_.Answer(call, Refusal{RefusalReason::kNotRuling, ""});
    stage_.Add(AmHeard{epoch_, CallerOf(question)});
    if (!trouble_ || !registers) return Ask(call, question);
    Observe(am::AwaitCall{registers->caller}, nullptr);
    network_.Answer(call, Refusal{RefusalReason::kNotRuling, ""});
  });
}

SimulatedAm::Done SimulatedAm::AnswerWith(const CallId& call, const Reply& success) {
  return [this, call, success](const std::optional<Refusal>& refusal) {
    network_.Answer(call, refusal ? Reply(*refusal) : success);
  };
}

void SimulatedAm::Ask(const CallId& call, const Question& question) {
  std::visit(Overloaded{
                 [&](const am::RegisterCall& q) { Observe(q, AnswerWith(call, epoch_)); },
                 [&](const am::HeartbeatCall& q) {
                   Observe(q, trouble_ ? nullptr : AnswerWith(call, std::monostate()));
                   if (trouble_) network_.Answer(call, std::monostate());
                 },
                 [&](const AwaitQuestion& q) {
                   if (trouble_) return AskInTrouble(call, q);
                   const am::TellExecutor now = job_.Tell(q.call.caller.attempt);
                   Observe(q.call, [=, this, since = q.since](const auto& refusal) {
                     if (refusal) return network_.Answer(call, *refusal);
                     Park(call, now.attempt, since);
                     Tell(now);
                   });
                 },
                 [&](const am::PublishCall& q) {
                   Observe(q, [=, this](const auto& refusal) {
                     if (!refusal) stage_.Add(ValuesAcknowledged{epoch_, q.caller.attempt, q.values});
                     network_.Answer(call, refusal ? Reply(*refusal) : Reply(std::monostate()));
                   });
                 },
                 [&](const am::OutcomeCall& q) {
                   Observe(q, [=, this](const auto& refusal) {
                     if (!refusal) stage_.Add(OutcomeAcknowledged{epoch_, q.caller.attempt, q.outcome});
                     network_.Answer(call, refusal ? Reply(*refusal) : Reply(std::monostate()));
                   });
                 },
             },
             question);
}

void SimulatedAm::Park(const CallId& call, const AttemptId& attempt, int64_t since) {
  const auto before = awaits_.find(attempt);
  if (before != awaits_.end()) Answer(before->second.call, attempt, {});  // its caller has asked again
  awaits_[attempt] = {call, since};
  Later(kParkLimit, [this, attempt, call] {
    const auto parked = awaits_.find(attempt);
    if (parked == awaits_.end() || parked->second.call.call != call.call) return;
    awaits_.erase(parked);
    Answer(call, attempt, {});
  });
}

void SimulatedAm::Answer(const CallId& call, const AttemptId& attempt, const Command& command) {
  stage_.Add(Told{epoch_, attempt, command.kind, command.generation, command.attempt});
  network_.Answer(call, command);
}

void SimulatedAm::Abandoned(int64_t connection) {
  Later(Duration(0), [this, connection] {
    std::erase_if(awaits_, [&](const auto& entry) { return entry.second.call.connection == connection; });
  });
}

// ---- files and timers

bool SimulatedAm::WriteLease() {
  const Duration next = stage_.plan.spec.timers.record_fresh / 3;
  const bool written = stage_.time.now() >= stage_.disk.lease_locked_until;
  RenewLater(written ? next : std::min(next, kNextTry));
  if (!written) return flaw_ == Flaw::kRenewsUnwritten;
  published_ = true;
  stage_.disk.lease = executor::SeenLease{epoch_, AddressOf(epoch_), renewal_};
  stage_.Add(LeaseWritten{epoch_});
  scheduler_.TellLeaseChanged();
  return true;
}

void SimulatedAm::Renew() {
  ++renewal_;
  if (!WriteLease()) return;
  Observe(am::LeaseRenewed{});
  ArmTimer();
}

void SimulatedAm::RenewLater(Duration delay) {
  Later(delay, [this, asked = ++renewals_asked_] {
    if (asked == renewals_asked_) RenewLease();
  });
}

void SimulatedAm::RenewLease() {
  const bool rules = Rules() || flaw_ == Flaw::kRenewsWithoutRule;
  if (rules && (!trouble_ || !published_)) return Renew();
  RenewLater(stage_.plan.spec.timers.record_fresh / 3);
}

void SimulatedAm::LookForKillRequest() {
  ReadKillRequest();
  Later(kKillRequestInterval, [this] { LookForKillRequest(); });
}

void SimulatedAm::ReadConditionalKills() {
  const auto kills = stage_.disk.conditional_kills;
  for (auto [number, request] : kills) {
    if (!alive_ || !Rules()) return;
    if (!reading_kills_.insert(number).second) continue;
    if (flaw_ == Flaw::kIgnoresFence) request.if_owner = {}, request.if_watcher = {};
    const bool taken = job_.AnswerTo(request, Now()) == KillAnswer::kTaken;
    Observe(am::KillAsked{request}, [this, taken, number = number](const auto&) {
      if (!taken) stage_.disk.conditional_kills.erase(number);
    });
  }
}

void SimulatedAm::Attach(const Claim& claim, std::function<void()> answered) {
  if (!alive_ || !Rules() || trouble_ || stage_.time.now() < thaws_at_) return;
  Observe(am::AttachAsked{claim},
          [this, claim, answered, asked = stage_.time.now(), attached = job_.MayAttach()](const auto&) {
            stage_.Add(AttachAnswered{epoch_, claim, asked, attached});
            answered();
          });
}

void SimulatedAm::Look(const WatcherToken& watcher, std::function<void()> answered) {
  if (!alive_ || !Rules() || stage_.time.now() < thaws_at_) return;
  Observe(am::Looked{flaw_ == Flaw::kOverlooksWatchers ? WatcherToken() : watcher},
          [this, watcher, answered, asked = stage_.time.now()](const auto&) {
            stage_.Add(LookAnswered{epoch_, watcher, asked});
            answered();
          });
}

void SimulatedAm::ReadKillRequest() {
  ReadConditionalKills();
  if (!Rules() || !stage_.disk.kill_request || job_.Ended()) return;
  if (flaw_ == Flaw::kForgetsKill && epoch_.value > 1) return;
  Observe(am::KillAsked{{.reason = "asked to", .grace = *stage_.disk.kill_request}},
          [this](const auto&) { stage_.Add(KillAcknowledged{epoch_}); });
}

void SimulatedAm::ArmTimer() {
  const int64_t timer = ++timer_;
  const auto deadline = job_.NextDeadline();
  if (!ruling_ || !deadline) return;
  Later(std::max(*deadline - Now(), Duration(0)), [this, timer] {
    if (timer == timer_) OnDeadline(timer);
  });
}

void SimulatedAm::OnDeadline(int64_t timer) {
  if (Rules()) {
    Observe(am::TimePassed{});
    return;
  }
  Later(kLookAgain, [this, timer] {
    if (timer == timer_) OnDeadline(timer);
  });
}

}  // namespace tony::sim
