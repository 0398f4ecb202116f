#include "tests/sim/history_checker.h"

#include <algorithm>

#include "am/journal_format.h"
#include "runtime/base/strings.h"
#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

// An executor sees the lease record change a little after it did.
constexpr Duration kSlowestLook{1'000};
// One that is put off by an AM asks it again before so long.
constexpr Duration kBetweenTries{5'000};

}  // namespace

std::vector<std::string> HistoryChecker::Check(const JobSpec& spec, const History& history) {
  HistoryChecker checker(spec);
  for (const Seen& seen : history.events()) {
    checker.now_ = seen.time;
    std::visit([&](const auto& event) { checker.On(event); }, seen.event);
  }
  checker.CheckEnd(history);
  return checker.complaints_;
}

void HistoryChecker::Expect(bool so, const std::string& otherwise) {
  if (!so) complaints_.push_back(StrCat(ToMillis(now_) - ToMillis(Timeline::kStart), " ms: ", otherwise));
}

void HistoryChecker::ExpectRules(Epoch epoch, const std::string& what) {
  Expect(epoch == newest_ && am_lives_, StrCat("am ", epoch.value, " is over, yet ", what));
}

// ---- the AM and its files

void HistoryChecker::On(const AmBegan& e) {
  Expect(!am_lives_, "two AMs at once");
  Expect(newest_ < e.epoch, StrCat("am ", e.epoch.value, " after am ", newest_.value));
  newest_ = e.epoch;
  am_lives_ = true;
  renewals_since_kill_ = 0;
}

void HistoryChecker::On(const AmGone&) { am_lives_ = false; }

void HistoryChecker::On(const JournalOpened& e) {
  ExpectRules(e.epoch, "it opened the journal");
  Expect(e.size == read_, StrCat("the journal has ", e.size, " bytes; its whole decisions are ", read_));
  file_.resize(e.size);
  read_ = std::min(read_, e.size);
}

void HistoryChecker::On(const JournalWritten& e) {
  ExpectRules(e.epoch, "it wrote to the journal");
  Expect(e.at == file_.size(), "the journal was written to somewhere else than at its end");
  file_ += e.bytes;
  ReadNewDecisions();
}

void HistoryChecker::ReadNewDecisions() {
  const std::string header = am::EncodeHeader();
  if (read_ == 0 && file_.starts_with(header)) read_ = header.size();
  if (read_ == 0) return;
  const auto fresh = am::DecodeJournal(header + file_.substr(read_));
  Expect(fresh.ok(), fresh.ok() ? "" : "journal: " + fresh.error().message);
  if (!fresh.ok()) return;
  read_ += fresh->valid_bytes - header.size();
  for (const am::Decision& decision : fresh->decisions) {
    rules_.Read(decision);
    const auto* stopping = std::get_if<am::JobStopping>(&decision.body);
    const bool by_kill = stopping && stopping->verdict.state == FinalState::kKilled;
    Expect(!by_kill || kill_written_, "KILLED, and nobody asked for it");
    const auto* ended = std::get_if<am::AttemptEnded>(&decision.body);
    const bool given_up = ended && ended->outcome.cls == OutcomeClass::kNodeLost && !ended->outcome.exit;
    Expect(!given_up || !attempts_[ended->attempt].runs, "given up as lost, but its process runs");
  }
  for (const std::string& complaint : rules_.TakeComplaints()) Expect(false, complaint);
}

void HistoryChecker::On(const LeaseWritten& e) {
  ExpectRules(e.epoch, "it renewed its lease");
  lease_written_ = now_;
  // A ruling AM renews again and again; between two renewals it has read the kill request.
  if (kill_written_ && now_ > *kill_written_ + kSlowestLook) ++renewals_since_kill_;
  Expect(renewals_since_kill_ < 3 || rules_.verdict(), "the kill request is ignored");
}

void HistoryChecker::On(const StatusWritten& e) {
  ExpectRules(e.epoch, "it wrote the final status");
  Expect(rules_.job_ended(), "the final status came before the end of the job");
  Expect(e.verdict == rules_.verdict(), "the final status differs from the journal");
  Expect(containers_.empty(), "the final status came before the last executor had left");
  Expect(std::ranges::none_of(attempts_, [](const auto& entry) { return entry.second.runs; }),
         "the final status came before the last process had ended");
  status_ = e.verdict;
}

// ---- what the AM says: nothing that is not in the journal

void HistoryChecker::On(const Ordered& e) {
  // The keeper still does what an AM that has just died had asked for.
  Expect(e.epoch == newest_, StrCat("an order of am ", e.epoch.value, " after am ", newest_.value, " began"));
  const bool known = rules_.IsAssigned(e.container);
  switch (e.what) {
    case Ordered::What::kLaunch:
    case Ordered::What::kTerm:
      return Expect(known, "an order for a container that is not in the journal");
    case Ordered::What::kKill:
      return Expect(!known || rules_.IsKillOrdered(e.container), "a kill that is not in the journal");
    case Ordered::What::kFinish:
      return Expect(status_.has_value(), "the keeper was dismissed before the final status was written");
  }
}

void HistoryChecker::On(const Told& e) {
  ExpectRules(e.epoch, "it answered an Await");
  switch (e.kind) {
    case Command::Kind::kNone:
      return;
    case Command::Kind::kStart:
      return Expect(e.generation <= rules_.generation(), "told to start a generation that is not in the journal");
    case Command::Kind::kStop:
      return Expect(rules_.verdict().has_value(), "told to stop, which is not in the journal");
    case Command::Kind::kRelease:
      return Expect(rules_.OutcomeOf(e.attempt), "released with no outcome in the journal");
  }
}

void HistoryChecker::On(const OutcomeAcknowledged& e) {
  ExpectRules(e.epoch, "it acknowledged an outcome");
  const Outcome* kept = rules_.OutcomeOf(e.attempt);
  Expect(kept, "acknowledged an outcome that is not in the journal: " + ToString(e.attempt));
  const bool given_up = kept && !kept->exit && !kept->Succeeded();
  Expect(!kept || given_up || *kept == e.outcome, "the journal has another outcome for " + ToString(e.attempt));
}

void HistoryChecker::On(const KillAcknowledged& e) {
  ExpectRules(e.epoch, "it acknowledged a kill");
  Expect(rules_.verdict().has_value(), "acknowledged a kill that is not in the journal");
}

void HistoryChecker::On(const KillWritten&) {
  if (!kill_written_) kill_written_ = now_;
}

void HistoryChecker::On(const JobClosed&) { closed_ = true; }

// ---- executors

void HistoryChecker::On(const ContainerBegan& e) {
  attempts_[e.attempt].heard = now_;
  containers_[e.container] = e.attempt;
}

void HistoryChecker::On(const ContainerGone& e) {
  const auto found = containers_.find(e.container);
  if (found == containers_.end()) return;
  Expect(!attempts_[found->second].runs, "a container is gone and its process runs");
  containers_.erase(found);
}

void HistoryChecker::On(const ExecutorTermed& e) { attempts_[e.attempt].executor_termed = true; }
void HistoryChecker::On(const ExecutorDied& e) { attempts_[e.attempt].executor_died = true; }
void HistoryChecker::On(const ExecutorHeard& e) { attempts_[e.attempt].heard = now_; }
void HistoryChecker::On(const ExecutorPutOff& e) { attempts_[e.attempt].put_off = now_; }
void HistoryChecker::On(const ExecutorStalled& e) { attempts_[e.attempt].stalled_until = now_ + e.length; }
void HistoryChecker::On(const StoreCut& e) { attempts_[e.attempt].store_back = now_ + e.length; }

void HistoryChecker::On(const ExecutorBound& e) {
  Epoch& bound = attempts_[e.attempt].bound_to;
  Expect(bound <= e.epoch, StrCat(ToString(e.attempt), " went back to am ", e.epoch.value));
  bound = std::max(bound, e.epoch);
}

void HistoryChecker::On(const ExecutorObeyed& e) {
  Expect(attempts_[e.attempt].bound_to <= e.epoch, StrCat(ToString(e.attempt), " obeyed am ", e.epoch.value));
}

// ---- processes

void HistoryChecker::On(const ProcessStarted& e) {
  Attempt& attempt = attempts_[e.attempt];
  Expect(attempt.started.insert(e.generation).second, ToString(e.attempt) + " was started again");
  Expect(e.generation.value >= 1 && e.generation <= rules_.generation(), "started before the gang had formed");
  Expect(!rules_.OutcomeOf(e.attempt), ToString(e.attempt) + " was started after its end");
  for (const auto& [other, state] : attempts_) {
    Expect(other.task != e.attempt.task || !state.runs, "two processes of " + ToString(other.task));
  }
  attempt.process = e;
  attempt.runs = true;
}

void HistoryChecker::On(const ProcessSignalled& e) {
  Attempt& attempt = attempts_[e.attempt];
  attempt.signalled = true;
  attempt.stops = attempt.stops || HasReasonToStop(e.attempt);
  Expect(attempt.stops, ToString(e.attempt) + " is being stopped for no reason");
}

void HistoryChecker::On(const ProcessEnded& e) {
  attempts_[e.attempt].runs = false;
  attempts_[e.attempt].exit = e.exit;
}

// A task that nobody stops runs on, whatever becomes of the AM.
bool HistoryChecker::HasReasonToStop(const AttemptId& id) const {
  const Attempt& attempt = attempts_.at(id);
  return rules_.verdict() || rules_.OutcomeOf(id) || attempt.executor_died || attempt.executor_termed ||
         IsCutOff(attempt);
}

bool HistoryChecker::IsCutOff(const Attempt& attempt) const {
  const Duration silence = now_ - attempt.heard;
  if (silence >= spec_.timers.orphan_timeout) return true;
  if (silence < spec_.timers.cutoff_after) return false;
  // One that could not look, or stood still, cannot tell a dead AM from a lost link: it takes the safe way.
  const Instant blind_until = std::max(attempt.stalled_until, attempt.store_back);
  if (now_ - blind_until < spec_.timers.cutoff_after) return true;
  const bool is_put_off = now_ - attempt.put_off < kBetweenTries;
  const bool am_looks_alive = lease_written_ && now_ - *lease_written_ < spec_.timers.record_fresh + kSlowestLook;
  return am_looks_alive && !is_put_off;
}

// ---- the end

void HistoryChecker::CheckOutcome(const AttemptId& id, const Outcome& outcome) {
  const Attempt& attempt = attempts_[id];
  Expect(!outcome.exit || outcome.exit == attempt.exit, ToString(id) + " has another exit status in the journal");
  Expect(!outcome.Succeeded() || (attempt.exit && attempt.exit->Succeeded()), ToString(id) + " did not succeed");
  // Whoever saw the process end by itself must have been able to say so, unless it was given up for lost.
  const bool ended_by_itself = attempt.exit && !attempt.signalled && !attempt.executor_died;
  const bool given_up = outcome.cls == OutcomeClass::kNodeLost;
  Expect(!ended_by_itself || given_up || outcome.exit, "the exit status of " + ToString(id) + " was lost");
}

void HistoryChecker::CheckEnd(const History& history) {
  Expect(closed_, "the job has not ended");
  Expect(file_ == history.journal, "the journal was changed behind the AM's back");
  if (!closed_) return;
  Expect(status_.has_value(), "there is no final status");
  Expect(rules_.job_ended(), "the end of the job is not in the journal");
  for (const auto& [id, outcome] : rules_.outcomes()) CheckOutcome(id, outcome);
  for (const auto& [id, attempt] : attempts_) {
    Expect(!attempt.runs, ToString(id) + " runs after the end of the job");
    Expect(rules_.attempts().contains(id), ToString(id) + " is not in the journal");
    const bool tracked = spec_.FindRole(id.task.role)->completion == Completion::kTracked;
    const bool good = attempt.exit && attempt.exit->Succeeded();
    Expect(!status_ || status_->state != FinalState::kSucceeded || !tracked || good,
           "SUCCEEDED, but " + ToString(id) + " did not");
  }
  Expect(!status_ || status_->state != FinalState::kSucceeded ||
             static_cast<int>(attempts_.size()) >= spec_.TrackedTasks(),
         "SUCCEEDED without having run all tracked tasks");
}

}  // namespace tony::sim
