// Checks of the AM and its messages.
#include "tests/sim/history_checker.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/job_rules.h"
#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

// The longest time after which an executor notices a change of the lease record.
constexpr Duration kSlowestLook{1'000};
// An AM that is leader notices an expired time limit within this time.
constexpr Duration kSlowestTimer{2'000};
// The longest way of an order from the AM to the keeper.
constexpr Duration kOrderTravels{100};
// The longest time from the grant of a container that no attempt needs to its return.
constexpr Duration kSlowestReturn{5'000};
// The keeper gives up after this many ends of AMs within the window.
constexpr size_t kMostAmEnds = 5;
constexpr Duration kAmEndWindow{300'000};

Duration SkewOf(const Bounds& bounds, Duration length) {
  return 2 * (bounds.offset + length * bounds.drift / 1'000'000);
}

Duration LengthOf(const History& history) {
  return history.events().empty() ? Duration(0) : history.events().back().time - Timeline::kStart;
}

}  // namespace

HistoryChecker::HistoryChecker(const JobSpec& spec, const Bounds& bounds, Duration length)
    : spec_(spec),
      drift_(bounds.drift),
      faults_over_(bounds.faults_over),
      longest_end_(bounds.longest_end),
      overlap_(bounds.overlap),
      late_read_(bounds.late_read),
      two_ams_(bounds.two_ams),
      skew_(SkewOf(bounds, length)),
      rules_(spec, skew_),
      attention_(skew_) {}

std::vector<std::string> HistoryChecker::Check(const JobSpec& spec, const History& history) {
  HistoryChecker checker(spec, history.bounds, LengthOf(history));
  for (const Seen& seen : history.events()) {
    checker.now_ = seen.time;
    std::visit([&](const auto& event) { checker.On(event); }, seen.event);
    const bool is_to_end = checker.rules_.verdict() || checker.kill_written_;
    if (is_to_end && !checker.to_end_since_) checker.to_end_since_ = seen.time;
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

// A replaced AM may answer from the journal as it was, until it learns that it is replaced.
void HistoryChecker::ExpectMayAnswer(Epoch epoch, const std::string& what) {
  const auto replaced = replaced_.find(epoch);
  if (replaced == replaced_.end()) return ExpectRules(epoch, what);
  Expect(now_ - replaced->second.contact <= Faster(spec_.timers.am_lease) + kSlowestTimer,
         StrCat("am ", epoch.value, " was replaced and has lost its arbiter, yet ", what));
}

// Decisions that the AM made earlier may have waited for the journal a little.
void HistoryChecker::ExpectInTouch(Epoch epoch, const std::string& what) {
  const bool waited = stuck_ || now_ - written_again_ < kSlowestTimer;
  const Duration alone = now_ - am_contact_;
  Expect(waited || alone <= Faster(spec_.timers.am_lease) + kSlowestTimer,
         StrCat("am ", epoch.value, " has lost its arbiter, yet ", what));
}

// ---- the AM and its files

void HistoryChecker::On(const AmBegan& e) {
  Expect(!am_lives_ || two_ams_, "two AMs at once");
  Expect(newest_ < e.epoch, StrCat("am ", e.epoch.value, " after am ", newest_.value));
}

// From here on no earlier AM writes to the journal or to the job's records.
void HistoryChecker::On(const JournalOpened& e) {
  Expect(e.size == read_, StrCat("the journal has ", e.size, " bytes; its whole decisions are ", read_));
  if (am_lives_) replaced_[newest_] = {am_contact_, stuck_};
  newest_ = e.epoch;
  am_lives_ = true;
  am_began_ = am_contact_ = am_wakes_ = now_;
  stuck_ = false;
  renewals_since_kill_ = 0;
  for (auto& [id, attempt] : attempts_) attempt.heard.push_back(now_);
}

void HistoryChecker::On(const AmStalled& e) {
  if (e.epoch == newest_) am_wakes_ = std::max(am_wakes_, now_ + e.length);
}

void HistoryChecker::On(const AmGone& e) {
  std::erase_if(offers_, [&](const auto& offer) {
    const auto& [epoch, since] = offer.second;
    const bool ends_the_job = epoch == e.epoch && epoch == finished_by_;
    const bool had_time = now_ - std::max({since, written_again_, am_back_, am_wakes_}) > kSlowestReturn;
    Expect(!ends_the_job || !had_time, "container " + offer.first.value + " was granted and neither used nor returned");
    return epoch == e.epoch;
  });
  am_ends_.push_back(now_);
  replaced_.erase(e.epoch);
  if (e.epoch != newest_) return;
  am_lives_ = false;
  if (stuck_ || now_ - written_again_ < kOrderTravels) died_with_unwritten_ = newest_;
}

void HistoryChecker::On(const LeaseWritten& e) {
  ExpectRules(e.epoch, "it renewed its lease");
  ExpectInTouch(e.epoch, "it renewed its lease");
  // The AM's own clock may run fast.
  const bool ruled = lease_written_ && now_ - *lease_written_ <= Slower(spec_.timers.record_fresh);
  lease_written_ = now_;
  // An AM that is leader keeps renewing; between two renewals it has read the kill request.
  if (kill_written_ && now_ > *kill_written_ + kSlowestLook) ++renewals_since_kill_;
  Expect(renewals_since_kill_ < 4 || rules_.verdict(), "the kill request is ignored");
  const Instant settling = std::max({am_began_, am_back_, am_wakes_, written_again_});
  const bool settled = ruled && !stuck_ && now_ - settling > kSlowestTimer;
  Expect(!settled || rules_.verdict() || !rules_.IsOverdue(now_, kSlowestTimer + skew_), "a time limit is ignored");
  Expect(!settled || !rules_.HoldsInVain(std::max(rules_.waits_since(), unruled_), now_, kSlowestTimer + skew_),
         "containers are held for too long");
  if (!ruled) looked_ = unruled_ = now_;  // the AM restarts its waiting times
  CheckAttention(settled);
}

void HistoryChecker::CheckAttention(bool settled) {
  const bool steady = settled && attention_.HasSteadyRequest();
  renewals_since_request_ = steady ? renewals_since_request_ + 1 : 0;
  if (rules_.verdict() || !settled) return;
  Expect(renewals_since_request_ < 4, "a kill request whose condition holds is ignored");
  Expect(!attention_.MustHaveKilled(now_, kSlowestTimer + skew_), "a planned kill is forgotten");
  const Duration timeout = attention_.claim().watch_timeout;
  const Instant looked = std::max({looked_, am_began_, am_back_, am_wakes_, written_again_});
  Expect(timeout == Duration(0) || now_ - looked <= Faster(timeout) + kSlowestTimer + skew_,
         "nobody looks, and the job goes on");
}

void HistoryChecker::ExpectNothingRuns(const std::string& what) {
  Expect(containers_.empty(), what + " came before the last executor had left");
  Expect(std::ranges::none_of(attempts_, [](const auto& entry) { return entry.second.runs; }),
         what + " came before the last process had ended");
}

void HistoryChecker::On(const StatusWritten& e) {
  ExpectRules(e.epoch, "it wrote the final status");
  Expect(rules_.job_ended(), "the final status came before the end of the job");
  Expect(e.verdict == rules_.verdict(), "the final status differs from the journal");
  if (overlap_ == Duration(0)) ExpectNothingRuns("the final status");
  status_ = e.verdict;
}

void HistoryChecker::On(const KeeperGaveUp& e) {
  const auto recent =
      std::ranges::count_if(am_ends_, [&](Instant end) { return now_ - end <= kAmEndWindow + Duration(90'000); });
  Expect(static_cast<size_t>(recent) >= kMostAmEnds, "the keeper gave up too early");
  Expect(!am_lives_, "the keeper gave up an AM that lives");
  Expect(e.verdict.state == FinalState::kFailed && e.verdict.cls == OutcomeClass::kInfra,
         "the keeper's verdict is wrong");
  ExpectNothingRuns("the keeper's verdict");
  gave_up_ = true;
  status_ = e.verdict;
}

// ---- messages of the AM: they contain only what is in the journal

// The time of contact counts from the AM's request.
void HistoryChecker::On(const ArbiterHeard& e) {
  if (const auto replaced = replaced_.find(e.epoch); replaced != replaced_.end()) {
    replaced->second.contact = std::max(replaced->second.contact, now_ - e.age);
  }
  if (e.epoch != newest_) return;
  if (now_ - am_contact_ > Slower(spec_.timers.am_lease)) am_back_ = now_;
  am_contact_ = std::max(am_contact_, now_ - e.age);
}

void HistoryChecker::On(const Ordered& e) {
  offers_.erase(e.container);
  // The keeper still carries out orders of a dead AM until the next AM has greeted it.
  Expect(e.epoch >= listened_to_,
         StrCat("an order of am ", e.epoch.value, " after the keeper had heard am ", listened_to_.value));
  const bool known = rules_.IsAssigned(e.container);
  // While the journal is stuck, the AM stops a job that fails or is killed although no decision is written. The time
  // that counts is that of the order, because an order of a dead AM may travel for long.
  const bool stuck = stuck_ || now_ - written_again_ < kOrderTravels || e.epoch == died_with_unwritten_;
  switch (e.what) {
    case Ordered::What::kLaunch:
      return Expect(known, "an order for a container that is not in the journal");
    case Ordered::What::kTerm:
      return Expect(known || stuck, "an order for a container that is not in the journal");
    case Ordered::What::kKill:
      return Expect(!known || rules_.IsKillOrdered(e.container) || stuck, "a kill that is not in the journal");
    case Ordered::What::kFinish:
      finished_by_ = e.epoch;
      return Expect(status_.has_value(), "the keeper was dismissed before the final status was written");
  }
}

void HistoryChecker::On(const Told& e) {
  // A call that has waited for its whole time ends without a command, whether or not the AM is leader.
  if (e.kind == Command::Kind::kNone) return;
  ExpectMayAnswer(e.epoch, "it sent a command");
  const std::string who = ToString(e.attempt);
  switch (e.kind) {
    case Command::Kind::kNone:
      break;
    case Command::Kind::kStart:
      if (e.epoch == newest_) ExpectInTouch(e.epoch, "it starts " + who);
      Expect(e.generation <= rules_.generation(), "told to start a generation that is not in the journal");
      Expect(rules_.MayStart(e.attempt), who + " is told to start before its stage was open");
      return Expect(rules_.MayBelongTo(e.generation, e.attempt), who + " is told to start an old generation");
    case Command::Kind::kStop: {
      const bool written = rules_.verdict() || rules_.IsToStop(e.attempt);
      attempts_[e.attempt].told_unwritten |= !written;
      attempts_[e.attempt].told_grace = std::max(attempts_[e.attempt].told_grace, e.grace);
      const auto replaced = replaced_.find(e.epoch);
      const bool stuck = replaced == replaced_.end() ? stuck_ : replaced->second.stuck;
      return Expect(written || stuck, who + " is told to stop, which is not in the journal");
    }
    case Command::Kind::kRelease:
      return Expect(rules_.OutcomeOf(e.attempt), "released with no outcome in the journal");
    case Command::Kind::kNext: {
      const auto container = attempts_[e.attempt].executor.container;
      const bool written = rules_.IsRenewed({e.attempt.task, e.next}, container);
      return Expect(written, who + " is told to go on as an attempt that is not in the journal");
    }
  }
}

void HistoryChecker::On(const AmHeard& e) {
  ExpectMayAnswer(e.epoch, "it served a call");
  if (e.epoch == newest_) attempts_[e.attempt].heard.push_back(now_);
}

void HistoryChecker::On(const ValuesAcknowledged& e) {
  ExpectMayAnswer(e.epoch, "it acknowledged values");
  const bool written = rules_.ValuesOf(e.attempt) == e.values || rules_.OutcomeOf(e.attempt);
  Expect(written || !MustPublish(spec_, e.attempt.task.role), "acknowledged values that are not in the journal");
}

void HistoryChecker::On(const OutcomeAcknowledged& e) {
  ExpectMayAnswer(e.epoch, "it acknowledged an outcome");
  const Outcome* kept = rules_.OutcomeOf(e.attempt);
  Expect(kept, "acknowledged an outcome that is not in the journal: " + ToString(e.attempt));
  Expect(!attempts_[e.attempt].runs, ToString(e.attempt) + " has reported its end, and a process of it runs");
  if (!kept) return;
  const bool given_up = !kept->exit && !kept->Succeeded();
  const bool vague = e.outcome.cls == OutcomeClass::kKilled || e.outcome.cls == OutcomeClass::kInfra;
  const bool explained = kept->exit == e.outcome.exit && vague;  // by the scheduler
  // The scheduler's report of the container's end was faster than the attempt's values and its own report.
  const bool told_gone = told_gone_.contains(attempts_[e.attempt].executor.container);
  const bool unheard = kept->cls == OutcomeClass::kUserError || told_gone;
  const bool silent = e.outcome.Succeeded() && kept->exit == e.outcome.exit && unheard && !kept->Succeeded() &&
                      MustPublish(spec_, e.attempt.task.role) && rules_.ValuesOf(e.attempt).empty();
  Expect(given_up || explained || silent || *kept == e.outcome,
         "the journal has another outcome for " + ToString(e.attempt));
}

void HistoryChecker::On(const KillAcknowledged& e) {
  ExpectMayAnswer(e.epoch, "it acknowledged a kill");
  Expect(rules_.verdict().has_value(), "acknowledged a kill that is not in the journal");
}

void HistoryChecker::On(const KillWritten&) {
  if (!kill_written_) kill_written_ = now_;
}

void HistoryChecker::On(const AttachAnswered& e) {
  ExpectMayAnswer(e.epoch, "it attached an owner");
  if (e.epoch != newest_) return;
  looked_ = now_;
  if (e.attached) looks_.push_back(e.asked);
  const bool lost = rules_.verdict() && rules_.verdict()->state != FinalState::kSucceeded;
  if (!e.attached) return Expect(lost || rules_.job_ended(), "an owner was refused, and the job goes on");
  attention_.OnAttached(e.claim);
  for (const std::string& complaint : attention_.TakeComplaints()) Expect(false, complaint);
}

void HistoryChecker::On(const LookAnswered& e) {
  ExpectMayAnswer(e.epoch, "it showed the job");
  if (e.epoch != newest_) return;
  looked_ = now_;
  looks_.push_back(e.asked);
  if (!rules_.job_ended()) attention_.OnClientSeen(e.watcher);
  for (const std::string& complaint : attention_.TakeComplaints()) Expect(false, complaint);
}

// Checks liveness: a client waits for the job's end, and other jobs wait for its resources.
void HistoryChecker::On(const JobClosed&) {
  closed_ = true;
  const Instant since = std::max(to_end_since_.value_or(now_), faults_over_);
  const Duration hold = rules_.had_hold() ? Faster(spec_.hold) : Duration(0);
  Expect(now_ <= since + longest_end_ + hold,
         StrCat("the end of the job has taken ", (now_ - since).count(), " ms: it outlives its bound"));
}

// ---- checks at the end of the run

void HistoryChecker::CheckOutcome(const AttemptId& id, const Outcome& outcome) {
  const Attempt& attempt = attempts_[id];
  CheckExit(id, outcome);
  Expect(!outcome.Succeeded() || AllSucceeded(id), ToString(id) + " did not succeed");
  // An executor that saw the process end by itself must have been able to report it, unless the attempt was given up as
  // lost.
  const bool ended_by_itself = AllEnded(id) && !attempt.signalled && !attempt.executor.died;
  const bool given_up = outcome.cls == OutcomeClass::kNodeLost;
  Expect(!ended_by_itself || given_up || outcome.exit, "the exit status of " + ToString(id) + " was lost");
  const bool lost = outcome.cls == OutcomeClass::kUserError && AllSucceeded(id);
  Expect(!lost || attempt.published.empty(), "what " + ToString(id) + " had published was lost");
}

void HistoryChecker::CheckSuccess() {
  const EndsSeen ends = rules_.Ends();
  for (const RoleSpec& role : spec_.roles) {
    if (role.completion != Completion::kTracked || rules_.IsLeft(role.name)) continue;
    int good = 0;
    for (int index = 0; index < role.instances; ++index) {
      const auto newest = rules_.NewestOf({role.name, index});
      const bool succeeded = newest && AllSucceeded(*newest);
      if (succeeded) ++good;
      const bool spared = role.min_succeeded > 0 || (newest && std::ranges::count(ends.bad, *newest) > 0);
      Expect(succeeded || spared, StrCat("SUCCEEDED, but ", role.name, ":", index, " did not"));
      // The attempt may have ended before it received the stop, or its executor never received it.
      const bool stopped = newest && attempts_[*newest].told_unwritten && attempts_[*newest].signalled;
      Expect(!stopped || spared,
             StrCat("SUCCEEDED, but ", role.name, ":", index, " was told to stop, which was never written"));
    }
    Expect(good >= role.min_succeeded, StrCat("SUCCEEDED with ", good, " of ", role.name));
  }
}

void HistoryChecker::CheckEnd(const History& history) {
  Expect(closed_, "the job has not ended");
  Expect(file_ == history.journal, "the journal was changed behind the AM's back");
  if (!closed_) return;
  Expect(status_.has_value(), "there is no final status");
  for (const auto& [id, attempt] : attempts_) {
    Expect(!attempt.runs, ToString(id) + " runs after the end of the job");
    Expect(rules_.WasMade(id), ToString(id) + " is not in the journal");
  }
  for (const auto& [id, outcome] : rules_.outcomes()) CheckOutcome(id, outcome);
  if (gave_up_) return;
  Expect(rules_.job_ended(), "the end of the job is not in the journal");
  if (status_ && status_->state == FinalState::kSucceeded) CheckSuccess();
}

}  // namespace tony::sim
