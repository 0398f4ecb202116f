// The AM's turns and its journal: nothing is done or answered before it is written, but for stops while it cannot be.
#include <algorithm>
#include <utility>

#include "am/core/job_clock.h"
#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/sim/simulated_am.h"

namespace tony::sim {
namespace {

// As in am/journal.cc.
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
  am::TurnResult result = am::TakeTurn(job_, observation, Now());
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
  if (trouble_) PerformWhatMayNotWait(Turn(waiting_.back()));
  if (alive_ && !writing_) WriteQueue();
  return result.refusal;
}

// All that waits is written together; what comes meanwhile waits for the next time.
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

// What an earlier try has left behind goes first.
bool SimulatedAm::DiskTakes(const std::string& bytes) {
  std::string& file = stage_.disk.journal;
  if (std::exchange(spoiled_, false)) {  // a new file with all of it takes its place
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
  whole_ = stage_.disk.journal.size();
  return true;
}

// From then on the history's journal has what would have been written. No plan with `patience` lets another AM read it.
bool SimulatedAm::DoesWithoutDisk() {
  const auto& patience = stage_.plan.am.patience;
  if (!patience || !trouble_ || !job_.verdict()) return false;
  if (!ends_in_trouble_since_) ends_in_trouble_since_ = stage_.time.now();
  return stage_.time.now() - *ends_in_trouble_since_ >= *patience;
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

void SimulatedAm::Finish(const Turn& turn) {
  for (const am::Action& action : turn.actions) {
    Perform(action);
    if (!Survives()) return;
  }
  if (turn.done) turn.done(turn.refusal);
}

// ---- am/application_master_trouble.cc

void SimulatedAm::OnTrouble(bool trouble) {
  if (trouble == trouble_) return;
  trouble_ = trouble;
  stage_.Add(JournalStuck{epoch_, trouble});
  if (!trouble) return;
  for (size_t i = 0; i < waiting_.size() && alive_; ++i) PerformWhatMayNotWait(Turn(waiting_[i]));
}

template <class Match>
bool SimulatedAm::Waits(Match match) const {
  return std::ranges::any_of(waiting_, [&](const Turn& turn) { return std::ranges::any_of(turn.actions, match); });
}

bool SimulatedAm::MayNotWait(const am::Action& action) const {
  if (!IsFailure(job_.verdict())) return false;
  if (const auto* tell = std::get_if<am::TellExecutor>(&action)) {
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

void SimulatedAm::PerformWhatMayNotWait(const Turn& turn) {
  for (const am::Action& action : turn.actions) {
    if (!MayNotWait(action)) continue;
    Perform(action);
    if (!Survives()) return;
  }
}

void SimulatedAm::AskInTrouble(const CallId& call, const AwaitQuestion& question) {
  const AttemptId& attempt = question.call.caller.attempt;
  if (Observe(question.call)) return network_.Answer(call, Refusal{RefusalReason::kNotRuling, ""});
  if (!alive_) return;
  Park(call, attempt, question.since);
  const am::TellExecutor now = job_.Tell(attempt);
  const bool unwritten = Waits([&](const am::Action& waiting) {
    const auto* tell = std::get_if<am::TellExecutor>(&waiting);
    return tell && tell->attempt.task == attempt.task;
  });
  if (!unwritten || MayNotWait(now)) Tell(now);
}

}  // namespace tony::sim
