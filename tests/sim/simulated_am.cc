#include "tests/sim/simulated_am.h"

#include <algorithm>
#include <utility>

#include "am/core/job_clock.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/sim/simulated_keeper.h"

namespace tony::sim {
namespace {

constexpr int kFirstAmPort = 10'000;
constexpr Duration kParkLimit{30'000};
constexpr Duration kKillRequestInterval{1'000};
constexpr Duration kNextTry{1'000};
constexpr Duration kLookAgain{1'000};
// The value of am/yarn_main.cc.
constexpr Duration kSealInterval{10'000};

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
  if (!alive_ || LeavesBecauseSealed()) return;
  stage_.Add(AmBegan{epoch_});
  if (!Survives() || !OpenJournal()) return;
  network_.Listen(AddressOf(epoch_), *this);
  scheduler_.Begin();
  WriteLease();
  Observe(am::AmStarted{epoch_, stage_.plan.claim});
  LookForKillRequest();
  LookForSeal();
}

void SimulatedAm::Die() {
  if (!alive_) return;
  alive_ = false;
  stage_.Add(AmGone{epoch_});
  network_.StopListening(AddressOf(epoch_));
  scheduler_.OnAmGone();
}

void SimulatedAm::Freeze(Duration length) {
  stage_.Add(AmStalled{epoch_, length});
  thaws_at_ = std::max(thaws_at_, stage_.time.now() + length);
}

void SimulatedAm::CutStore(Duration length) { store_back_ = stage_.time.now() + length; }

// An AM leaves when it finds that a later AM has sealed its journal.
bool SimulatedAm::LeavesBecauseSealed() {
  if (!alive_ || stage_.disk.journal_epoch <= epoch_ || flaw_ == Flaw::kIgnoresSeal) return false;
  stage_.Note(StrCat("am ", epoch_.value, " finds its journal sealed"));
  Die();
  return true;
}

void SimulatedAm::LookForSeal() {
  Later(kSealInterval, [this] {
    if (!ReachesStore() || !LeavesBecauseSealed()) LookForSeal();
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

// ---- actions

void SimulatedAm::Perform(const am::Action& action) {
  std::visit(Overloaded{
                 [&](const am::RequestContainers& a) { scheduler_.Request(a.asks); },
                 [&](const am::WithdrawRequests& a) { scheduler_.Withdraw(a.attempts); },
                 [&](const am::LaunchExecutor& a) { scheduler_.Launch(a.attempt, a.container); },
                 [&](const am::StopContainer& a) {
                   const bool surplus = !job_.AttemptIn(a.container);
                   if (!surplus || flaw_ != Flaw::kKeepsSurplus) scheduler_.Stop(a.container, a.mode);
                 },
                 [&](const am::SendCommand& a) { Tell(a); },
                 [&](const am::ListCheckpoints&) { List(); },
                 [&](const am::SearchCheckpoint& a) { Look(a.restart); },
                 [&](const am::EndJob&) { End(); },
             },
             action);
}

void SimulatedAm::Tell(const am::SendCommand& order) {
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
    Observe(am::CheckpointsFound{listing, std::nullopt});
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
      Observe(am::CheckpointSearched{restart, std::nullopt, /*readable=*/false});
      return;
    }
    std::vector<Checkpoint> found = stage_.disk.checkpoints;
    std::erase_if(found, [this](const Checkpoint& there) { return !MayResumeFrom(there); });
    std::optional<Checkpoint> newest = NewestThere(found);
    if (flaw_ == Flaw::kSeesNoCheckpoint) newest.reset();
    Observe(am::CheckpointSearched{restart, newest});
  });
}

void SimulatedAm::End() {
  if (!ReachesStore()) return Later(kLookAgain, [this] { End(); });
  if (LeavesBecauseSealed()) return;
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
    if (!Rules()) return network_.Answer(call, Refusal{RefusalReason::kNotLeader, ""});
    stage_.Add(AmHeard{epoch_, CallerOf(question)});
    Ask(call, question);
  });
}

SimulatedAm::Done SimulatedAm::AnswerWith(const CallId& call, const Reply& success) {
  return [this, call, success](const std::optional<Refusal>& refusal) {
    network_.Answer(call, refusal ? Reply(*refusal) : success);
  };
}

void SimulatedAm::Ask(const CallId& call, const Question& question) {
  std::visit(Overloaded{
                 [&](const am::RegisterCall& q) {
                   if (!trouble_) return (void)Observe(q, AnswerWith(call, epoch_));
                   const bool refused = Observe(q).has_value();
                   network_.Answer(call, refused ? Reply(Refusal{RefusalReason::kNotLeader, ""}) : Reply(epoch_));
                 },
                 [&](const am::HeartbeatCall& q) {
                   Observe(q, trouble_ ? nullptr : AnswerWith(call, std::monostate()));
                   if (trouble_) network_.Answer(call, std::monostate());
                 },
                 [&](const AwaitQuestion& q) {
                   if (trouble_) return AskInTrouble(call, q);
                   const am::SendCommand now = job_.Tell(q.call.caller.attempt);
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
  if (before != awaits_.end()) Answer(before->second.call, attempt, {});  // the executor has called again
  awaits_[attempt] = {call, since};
  Later(kParkLimit, [this, attempt, call] {
    const auto parked = awaits_.find(attempt);
    if (parked == awaits_.end() || parked->second.call.call != call.call) return;
    awaits_.erase(parked);
    Answer(call, attempt, {});
  });
}

void SimulatedAm::Answer(const CallId& call, const AttemptId& attempt, const Command& command) {
  stage_.Add(Told{epoch_, attempt, command.kind, command.generation, command.attempt, command.grace});
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
  const bool written = ReachesStore() && stage_.time.now() >= stage_.disk.lease_locked_until;
  if (written && LeavesBecauseSealed()) return false;
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
    Observe(am::KillRequested{request}, [this, taken, number = number](const auto&) {
      // The journal of a replaced AM is sealed, and then the AM can remove no record.
      if (!taken && stage_.disk.journal_epoch <= epoch_) stage_.disk.conditional_kills.erase(number);
    });
  }
}

void SimulatedAm::Attach(const Claim& claim, std::function<void()> answered) {
  if (!alive_ || !Rules() || trouble_ || stage_.time.now() < thaws_at_) return;
  Observe(am::AttachRequested{claim},
          [this, claim, answered, asked = stage_.time.now(), attached = job_.MayAttach()](const auto&) {
            stage_.Add(AttachAnswered{epoch_, claim, asked, attached});
            answered();
          });
}

void SimulatedAm::Look(const WatcherToken& watcher, std::function<void()> answered) {
  if (!alive_ || !Rules() || stage_.time.now() < thaws_at_) return;
  Observe(am::ClientSeen{flaw_ == Flaw::kOverlooksWatchers ? WatcherToken() : watcher},
          [this, watcher, answered, asked = stage_.time.now()](const auto&) {
            stage_.Add(LookAnswered{epoch_, watcher, asked});
            answered();
          });
}

void SimulatedAm::ReadKillRequest() {
  if (!ReachesStore()) return;
  ReadConditionalKills();
  if (!Rules() || !stage_.disk.kill_request || job_.Ended()) return;
  if (flaw_ == Flaw::kForgetsKill && epoch_.value > 1) return;
  Observe(am::KillRequested{{.reason = "asked to", .grace = *stage_.disk.kill_request}},
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

// The AM's steps and its journal. Nothing is done or answered before it is written, except stops while the journal
// cannot be written.

namespace {

// The values of am/journal.cc.
constexpr Duration kFirstPause{200};
constexpr Duration kLongestPause{2'000};

bool IsFailure(const std::optional<Verdict>& verdict) { return verdict && verdict->state != FinalState::kSucceeded; }

}  // namespace

bool SimulatedAm::OpenJournal() {
  std::string& file = stage_.disk.journal;
  if (flaw_ == Flaw::kForgetsJournal) file.clear();
  const auto journal = DecodeJournal(file);
  if (!journal.ok()) {
    stage_.Note("journal: " + journal.error().message);
    Die();
    return false;
  }
  whole_ = flaw_ == Flaw::kKeepsTornTail ? file.size() : journal->valid_bytes;
  stage_.disk.journal_epoch = epoch_;
  stage_.Add(JournalOpened{epoch_, whole_});
  SetClock(journal->decisions.empty() ? std::nullopt : std::optional(journal->decisions.back().time));
  for (const Decision& decision : journal->decisions) {
    if (const auto evolved = job_.Evolve(decision); !evolved.ok()) {
      stage_.Note("journal: " + evolved.error().message);
      Die();
      return false;
    }
  }
  return true;
}

void SimulatedAm::SetClock(std::optional<Instant> newest_decision) {
  if (!stage_.plan.clocks.one_machine) return;
  const Instant truth = stage_.time.now();
  const am::OwnClocks own{"boot", stage_.time.age(), clock_.At(truth) + stage_.WallAhead()};
  const Instant now = flaw_ == Flaw::kFollowsWall ? own.wall : am::NowOfJob(stage_.disk.clock, own, newest_decision);
  stage_.disk.clock = {own.boot, now.time_since_epoch() - own.since_boot};
  clock_ = clock_.SetTo(truth, now);
}

std::optional<Refusal> SimulatedAm::Observe(const am::Observation& observation, Done done) {
  if (!alive_) return std::nullopt;
  am::CoreStepResult result = am::RunCoreStep(job_, observation, Now());
  job_.CheckInvariants();
  Turn turn{.refusal = result.refusal, .done = std::move(done)};
  for (const Decision& decision : result.decisions)
    if (stage_.history.with_trace()) stage_.Note(StrCat("am ", epoch_.value, ": ", ToJson(decision)));
  if (!result.decisions.empty()) turn.bytes = EncodeTurn(result.decisions);
  const bool skip =
      flaw_ == Flaw::kSkipsPendingOrders && epoch_.value > 1 && std::holds_alternative<am::AmStarted>(observation);
  if (!skip) turn.actions = std::move(result.actions);
  if (!turn.bytes.empty() || std::holds_alternative<am::TimePassed>(observation)) ArmTimer();
  if (!turn.bytes.empty() && !Survives()) return result.refusal;
  const bool stages_early = flaw_ == Flaw::kOpensStagesEarly && std::holds_alternative<am::PublishCall>(observation);
  if (flaw_ == Flaw::kActsBeforeJournal || stages_early) {
    Finish(turn);
    turn = {.bytes = turn.bytes};
  }
  if (turn.bytes.empty() && waiting_.empty()) {
    Finish(turn);
    return result.refusal;
  }
  waiting_.push_back(std::move(turn));
  if (trouble_) PerformUrgentActions(Turn(waiting_.back()));
  if (alive_ && !writing_) WriteQueue();
  return result.refusal;
}

// Writes all waiting steps together. Steps that come during the write wait for the next keeper.
void SimulatedAm::WriteQueue() {
  writing_ = !waiting_.empty();
  if (!writing_) return;
  Later(random_.Between(Duration(0), stage_.plan.am.longest_write),
        [this, turns = waiting_.size()] { WriteBatch(turns, kFirstPause); });
}

void SimulatedAm::WriteBatch(size_t turns, Duration pause) {
  std::string bytes;
  for (size_t i = 0; i < turns; ++i) bytes += waiting_[i].bytes;
  if (!bytes.empty() && whole_ == 0) bytes = EncodeHeader() + bytes;
  if (!bytes.empty() && !DiskTakes(bytes)) {
    if (alive_) OnTrouble(true);
    return Later(pause, [=, this] { WriteBatch(turns, std::min(pause * 2, kLongestPause)); });
  }
  if (!alive_) return;
  OnTrouble(false);
  for (size_t i = 0; i < turns && alive_; ++i) {
    const Turn turn = std::move(waiting_.front());
    waiting_.pop_front();
    Finish(turn);
  }
  if (alive_) WriteQueue();
}

// Cuts off what an earlier write has left behind before it writes.
bool SimulatedAm::DiskTakes(const std::string& bytes) {
  std::string& file = stage_.disk.journal;
  if (!ReachesStore() || LeavesBecauseSealed()) return false;
  if (std::exchange(unanswered_, false)) {
    whole_ = file.size();
    if (flaw_ != Flaw::kRepeatsUnanswered) return Survives();
  }
  // A new file with the whole journal replaces the old one.
  if (std::exchange(spoiled_, false)) {
    whole_ = file.size();
    return Survives();
  }
  if (file.size() > whole_ && flaw_ != Flaw::kKeepsTornTail) {
    if (!Survives()) return false;
    file.resize(whole_);
    stage_.Add(JournalCutBack{epoch_, whole_});
  }
  const bool full = stage_.time.now() < stage_.disk.full_until && !DoesWithoutDisk();
  const size_t part = full ? static_cast<size_t>(random_.Between(0, static_cast<int64_t>(bytes.size()) - 1)) : 0;
  if (full) return Write(bytes.substr(0, part)) && false;
  if (!Write(bytes)) return false;
  spoiled_ = std::exchange(stage_.disk.sync_fails, false);
  if (spoiled_) return false;
  unanswered_ = stage_.MayFail() && random_.Chance(stage_.plan.am.unanswered_writes);
  if (unanswered_) return false;
  whole_ = stage_.disk.journal.size();
  return true;
}

// After that, the history's journal gets the bytes that would have been written. No plan with `patience` lets another
// AM read it.
bool SimulatedAm::DoesWithoutDisk() {
  const auto& patience = stage_.plan.am.patience;
  if (!patience || !trouble_ || !job_.verdict()) return false;
  if (!ends_in_trouble_since_) ends_in_trouble_since_ = stage_.time.now();
  return stage_.time.now() - *ends_in_trouble_since_ >= *patience;
}

// A crash during the write leaves any part of the bytes in the file.
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

void SimulatedAm::Finish(const Turn& turn) {
  for (const am::Action& action : turn.actions) {
    Perform(action);
    if (!Survives()) return;
  }
  if (turn.done) turn.done(turn.refusal);
}

// ---- am/application_master_degraded.cc

void SimulatedAm::OnTrouble(bool trouble) {
  if (trouble == trouble_) return;
  trouble_ = trouble;
  stage_.Add(JournalStuck{epoch_, trouble});
  if (!trouble) return;
  for (size_t i = 0; i < waiting_.size() && alive_; ++i) PerformUrgentActions(Turn(waiting_[i]));
}

template <class Match>
bool SimulatedAm::Waits(Match match) const {
  return std::ranges::any_of(waiting_, [&](const Turn& turn) { return std::ranges::any_of(turn.actions, match); });
}

bool SimulatedAm::IsUrgent(const am::Action& action) const {
  if (!IsFailure(job_.verdict())) return false;
  if (const auto* tell = std::get_if<am::SendCommand>(&action)) {
    return job_.CommandFor(tell->attempt).kind == Command::Kind::kStop;
  }
  const auto* stop = std::get_if<am::StopContainer>(&action);
  const auto attempt = stop ? job_.AttemptIn(stop->container) : std::nullopt;
  if (!attempt || am::IsFinal(job_.StateOf(*attempt))) return false;
  return !Waits([&](const am::Action& waiting) {
    const auto* launch = std::get_if<am::LaunchExecutor>(&waiting);
    return launch && launch->container == stop->container;
  });
}

void SimulatedAm::PerformUrgentActions(const Turn& turn) {
  for (const am::Action& action : turn.actions) {
    if (!IsUrgent(action)) continue;
    Perform(action);
    if (!Survives()) return;
  }
}

void SimulatedAm::AskInTrouble(const CallId& call, const AwaitQuestion& question) {
  const AttemptId& attempt = question.call.caller.attempt;
  if (Observe(question.call)) return network_.Answer(call, Refusal{RefusalReason::kNotLeader, ""});
  if (!alive_) return;
  Park(call, attempt, question.since);
  const am::SendCommand now = job_.Tell(attempt);
  const bool is_release = job_.CommandFor(now.attempt).kind == Command::Kind::kRelease;
  const bool unwritten = (is_release && !waiting_.empty()) || Waits([&](const am::Action& waiting) {
    const auto* tell = std::get_if<am::SendCommand>(&waiting);
    return tell && tell->attempt.task == attempt.task;
  });
  if (!unwritten || IsUrgent(now)) Tell(now);
}

}  // namespace tony::sim
