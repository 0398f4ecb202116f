#include "tests/sim/simulated_am.h"

#include <algorithm>

#include "am/journal_format.h"
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

std::string_view ToString(Flaw flaw) {
  switch (flaw) {
    case Flaw::kNone:
      return "none";
    case Flaw::kActsBeforeJournal:
      return "acts before journal";
    case Flaw::kForgetsJournal:
      return "forgets journal";
    case Flaw::kKeepsTornTail:
      return "keeps torn tail";
    case Flaw::kTellsAhead:
      return "tells ahead";
    case Flaw::kForgetsKill:
      return "forgets kill";
    case Flaw::kRenewsWithoutRule:
      return "renews without rule";
    case Flaw::kSkipsPendingOrders:
      return "skips pending orders";
  }
  return "?";
}

size_t CrashPlan::LeftOf(size_t bytes) {
  const auto by_chance = static_cast<size_t>(random_.Between(0, static_cast<int64_t>(bytes)));
  return std::min(bytes, stage_.plan.am.torn_to.value_or(by_chance));
}

bool CrashPlan::CrashesNow() {
  ++step_;
  if (!MayCrash()) return false;
  const AmPlan& plan = stage_.plan.am;
  const bool planned = std::ranges::count(plan.crash_at_steps, step_) > 0;
  const bool by_chance = stage_.MayFail() && random_.Chance(plan.crashes_per_mille);
  if (planned || by_chance) Count();
  return planned || by_chance;
}

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
  RenewLease();
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
  thaws_at_ = stage_.time.now() + length;
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

bool SimulatedAm::OpenJournal() {
  std::string& file = stage_.disk.journal;
  if (flaw_ == Flaw::kForgetsJournal) file.clear();
  const auto journal = am::DecodeJournal(file);
  if (!journal.ok()) {
    stage_.Note("journal: " + journal.error().message);
    Die();
    return false;
  }
  if (flaw_ != Flaw::kKeepsTornTail) file.resize(journal->valid_bytes);
  stage_.Add(JournalOpened{epoch_, file.size()});
  if (file.empty() && !Write(am::EncodeHeader())) return false;
  for (const am::Decision& decision : journal->decisions) {
    if (const auto evolved = job_.Evolve(decision); !evolved.ok()) {
      stage_.Note("journal: " + evolved.error().message);
      Die();
      return false;
    }
  }
  return true;
}

// A crash at the moment of writing leaves any part of it in the file.
bool SimulatedAm::Write(const std::string& bytes) {
  const bool torn = crashes_.CrashesNow();
  crashes_.AddWrite(bytes.size());
  const size_t written = torn ? crashes_.LeftOf(bytes.size()) : bytes.size();
  stage_.Add(JournalWritten{epoch_, stage_.disk.journal.size(), bytes.substr(0, written)});
  stage_.disk.journal += bytes.substr(0, written);
  if (torn) {
    stage_.Note(StrCat("am ", epoch_.value, " crashes at step ", crashes_.steps(), ", writing"));
    Die();
  }
  return Survives();
}

void SimulatedAm::Observe(const am::Observation& observation, const AttemptId& caller, Done done) {
  if (!alive_) return;
  am::TurnResult turn = am::TakeTurn(job_, observation, stage_.time.now());
  Pending pending{.refusal = turn.refusal, .command = job_.CommandFor(caller), .done = std::move(done)};
  for (const am::Decision& decision : turn.decisions) {
    if (stage_.history.with_trace()) stage_.Note(StrCat("am ", epoch_.value, ": ", am::ToJson(decision)));
    pending.bytes += am::EncodeRecord(decision);
  }
  const bool skip = flaw_ == Flaw::kSkipsPendingOrders && epoch_.value > 1 &&
                    std::holds_alternative<am::AmStarted>(observation);
  if (!skip) pending.actions = std::move(turn.actions);
  for (const am::Action& action : pending.actions) {
    const auto* tell = std::get_if<am::TellExecutor>(&action);
    pending.commands.push_back(tell ? job_.CommandFor(tell->attempt) : Command{});
  }
  if (!pending.bytes.empty() || std::holds_alternative<am::TimePassed>(observation)) ArmTimer();
  if (!pending.bytes.empty() && !Survives()) return;
  if (flaw_ == Flaw::kActsBeforeJournal) {
    Finish(pending);
    pending = {.bytes = pending.bytes};
  }
  if (pending.bytes.empty() && queue_.empty() && !writing_) return Finish(pending);
  queue_.push_back(std::move(pending));
  if (!writing_) WriteQueue();
}

// All that waits is written together; what comes meanwhile waits for the next time.
void SimulatedAm::WriteQueue() {
  writing_ = !queue_.empty();
  if (!writing_) return;
  Later(random_.Between(Duration(0), stage_.plan.am.longest_write),
        [this, batch = std::exchange(queue_, {})] { Written(batch); });
}

void SimulatedAm::Written(const std::vector<Pending>& batch) {
  std::string bytes;
  for (const Pending& turn : batch) bytes += turn.bytes;
  if (!bytes.empty() && !Write(bytes)) return;
  for (const Pending& turn : batch) {
    if (alive_) Finish(turn);
  }
  if (alive_) WriteQueue();
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
    if (resumes && alive_) ArmTimer();
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

void SimulatedAm::RenewLease() {
  if (ruling_ || flaw_ == Flaw::kRenewsWithoutRule) {
    stage_.disk.lease = executor::SeenLease{epoch_, AddressOf(epoch_), ++renewal_};
    stage_.Add(LeaseWritten{epoch_});
    keeper_.Changed();
  }
  Later(stage_.plan.spec.timers.record_fresh / 3, [this] { RenewLease(); });
}

void SimulatedAm::FolderChanged() {
  Later(Duration(1), [this] { ReadKillRequest(); });
}

void SimulatedAm::ReadKillRequest() {
  if (!ruling_ || !stage_.disk.kill_request) return;
  if (job_.Ended() || (flaw_ == Flaw::kForgetsKill && epoch_.value > 1)) return;
  Observe(am::KillAsked{"asked to", *stage_.disk.kill_request}, {}, [this](const auto&, const Command&) {
    stage_.Add(KillAcknowledged{epoch_});
  });
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
