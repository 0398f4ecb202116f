// Checks of journal writes and of decisions that only the journal shows.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/sim/history_checker.h"

namespace tony::sim {
namespace {

// The longest time after which a change of the lease record is noticed.
constexpr Duration kLateLook{1'000};
// A file system that has not answered after this time is not waited for.
constexpr Duration kLongestLook{55'000};

auto AgeOf(const Checkpoint& checkpoint) { return std::pair(checkpoint.modified, checkpoint.step); }

std::optional<Checkpoint> NewestOf(const std::vector<Checkpoint>& all) {
  if (all.empty()) return std::nullopt;
  return *std::ranges::max_element(all, {}, AgeOf);
}

}  // namespace

void HistoryChecker::On(const JournalWritten& e) {
  ExpectRules(e.epoch, "it wrote to the journal");
  Expect(e.at == file_.size(), "the journal was written to somewhere else than at its end");
  file_ += e.bytes;
  ReadNewDecisions();
}

void HistoryChecker::On(const JournalStuck& e) {
  const auto replaced = replaced_.find(e.epoch);
  if (replaced != replaced_.end()) return void(replaced->second.stuck = e.stuck);
  stuck_ = e.stuck;
  if (!stuck_) written_again_ = now_;
}

// A failed write takes back even whole decisions, because no other process has learned of them.
void HistoryChecker::On(const JournalCutBack& e) {
  Expect(e.size <= file_.size(), "the journal was cut back to more than there was");
  file_.resize(std::min(e.size, file_.size()));
  if (e.size >= read_) return;
  Expect(stuck_, "written decisions were taken back");
  rules_ = JournalRules(spec_, skew_);
  attention_.Reread({});
  const auto kept = DecodeJournal(file_);
  read_ = kept.ok() ? kept->valid_bytes : 0;
  newest_decision_ = {};
  for (size_t i = 0; kept.ok() && i < kept->decisions.size(); ++i) {
    rules_.Read(kept->decisions[i]);
    newest_decision_ = kept->decisions[i].time;
  }
  // Complaints about these decisions were reported before.
  rules_.TakeComplaints();
  if (kept.ok()) attention_.Reread(kept->decisions);
}

void HistoryChecker::ReadNewDecisions() {
  const std::string header = EncodeHeader();
  if (read_ == 0 && file_.starts_with(header)) read_ = header.size();
  if (read_ == 0) return;
  const auto fresh = DecodeJournal(header + file_.substr(read_));
  Expect(fresh.ok(), fresh.ok() ? "" : "journal: " + fresh.error().message);
  if (!fresh.ok()) return;
  read_ += fresh->valid_bytes - header.size();
  for (const Decision& decision : fresh->decisions) Read(decision);
}

void HistoryChecker::Read(const Decision& decision) {
  const bool steady = decision.time <= now_ + skew_ && decision.time >= newest_decision_ - skew_;
  Expect(steady, "the job's clock has stepped");
  newest_decision_ = std::max(newest_decision_, decision.time);
  rules_.Read(decision);
  for (const std::string& complaint : rules_.TakeComplaints()) Expect(false, complaint);
  attention_.Read(decision);
  for (const std::string& complaint : attention_.TakeComplaints()) Expect(false, complaint);
  if (const auto* stopping = std::get_if<JobStopping>(&decision.body)) {
    if (stopping->verdict.state == FinalState::kKilled) CheckKilled(stopping->verdict, decision.time);
  }
  if (const auto* ended = std::get_if<AttemptEnded>(&decision.body)) {
    Attempt& attempt = attempts_[ended->attempt];
    if (attempt.runs) attempt.given_up = now_;
  }
  if (const auto* order = std::get_if<ContainerKillOrdered>(&decision.body)) {
    const auto id = rules_.AttemptIn(order->container);
    if (id && !rules_.OutcomeOf(*id) && !rules_.IsToStop(*id) && !rules_.verdict()) {
      CheckSilence(*id, decision.time);
    }
  }
  if (const auto* published = std::get_if<ValuesPublished>(&decision.body)) CheckPublished(*published);
  if (std::holds_alternative<ListingStarted>(decision.body)) listing_sought_ = decision.time;
  if (const auto* listed = std::get_if<CheckpointsListed>(&decision.body)) CheckListed(listed->listing, decision.time);
  if (const auto* sought = std::get_if<CheckpointSearchStarted>(&decision.body)) {
    sought_[sought->restart] = decision.time;
    newest_when_sought_[sought->restart] = NewestOf(checkpoints_);
  }
  if (const auto* noted = std::get_if<CheckpointNoted>(&decision.body)) CheckNoted(*noted, decision.time);
}

void HistoryChecker::CheckPublished(const ValuesPublished& published) {
  Expect(attempts_[published.attempt].published == published.values,
         ToString(published.attempt) + " published something else");
}

void HistoryChecker::CheckKilled(const Verdict& verdict, Instant time) {
  if (verdict.cls != OutcomeClass::kAbandoned)
    return Expect(kill_written_ || attention_.MayKill(time), "KILLED, and nobody may ask for it");
  const Duration timeout = attention_.claim().watch_timeout;
  // The decision's earliest time, because the decision may have waited for the journal.
  const Instant decided = time - skew_;
  Instant looked{};
  for (const Instant look : looks_)
    if (look <= decided) looked = std::max(looked, look);
  Expect(timeout > Duration(0) && time + skew_ - looked >= Slower(timeout), "abandoned, and somebody has looked");
}

// Checks an attempt that was given up for its silence. Silence counts only while the lease record is renewed, and only
// after the whole time. The decision may have waited for the journal.
void HistoryChecker::CheckSilence(const AttemptId& id, Instant time) {
  const Attempt& attempt = attempts_[id];
  if (attempt.told_gone) return;
  const Timers& timers = spec_.timers;
  // A dead executor's processes on a lost node are ended when the node is back; until then the container has not
  // exited. An executor that was frozen had no time to notice that it is cut off.
  const bool stood_still = now_ - attempt.executor.stalled_until < Slower(timers.lost_after) - Duration(1);
  Expect(!attempt.runs || attempt.executor.died || stood_still, ToString(id) + " is given up, but its process runs");
  const Instant earliest = std::min(now_, time - skew_), latest = std::min(now_, time + skew_);
  // at equal times the decision came first
  const auto later = std::ranges::lower_bound(attempt.heard, earliest);
  const Instant heard = later == attempt.heard.begin() ? Instant{} : *std::prev(later);
  Expect(latest - heard >= Slower(timers.lost_after) - Duration(1), ToString(id) + " is given up too early");
  const Duration unrenewed = lease_written_ ? earliest - *lease_written_ : Duration::max();
  Expect(unrenewed <= Faster(timers.record_fresh) + kLateLook,
         ToString(id) + " is given up while the lease record is not renewed");
}

// The listing has no checkpoint of the job itself because nothing of the job has started.
void HistoryChecker::CheckListed(const CheckpointListing& listing, Instant time) {
  const bool failed = look_failed_ >= listing_sought_ - skew_ || time - listing_sought_ > Slower(kLongestLook) - skew_;
  Expect(listing.unknown.empty() || failed, "the listing of the checkpoints was given up");
  if (!listing.unknown.empty()) return;
  Expect(listing.newest == NewestOf(checkpoints_), "the first attempts do not begin where they may");
}

void HistoryChecker::CheckNoted(const CheckpointNoted& noted, Instant time) {
  const Instant sought = sought_[noted.restart];
  const bool failed = look_failed_ >= sought - skew_ || time - sought > Slower(kLongestLook) - skew_;
  const bool may_know = rules_.is_listing_known() || spec_.checkpoint.resume_latest;
  Expect(noted.known || failed || !may_know, "a look for a checkpoint was given up");
  if (!noted.known) return;
  const auto& before = newest_when_sought_[noted.restart];
  const auto& newest = noted.newest;
  const auto was_there_since = [&](const auto& old) { return old.second == *newest && old.first >= sought - skew_; };
  Expect(!newest || std::ranges::count(checkpoints_, *newest) > 0 || std::ranges::any_of(overwritten_, was_there_since),
         "noted a checkpoint that never was");
  Expect(!before || (newest && AgeOf(*newest) >= AgeOf(*before)), "there was a newer checkpoint than the one noted");
}

// Checks of executors and the processes that they run.

namespace {

// An executor that an AM has put off calls again within this time.
constexpr Duration kBetweenTries{5'000};
// The time for the kill, the cleanup, and the notice of both.
constexpr Duration kDyingTakes{3'000};

}  // namespace

void HistoryChecker::On(const ContainerBegan& e) {
  attempts_[e.attempt].executor = {.container = e.container, .heard = now_, .answered = now_};
  if (told_gone_.contains(e.container)) attempts_[e.attempt].told_gone = told_gone_[e.container];
  containers_[e.container] = e.attempt;
}

void HistoryChecker::On(const ContainerGone& e) {
  const auto found = containers_.find(e.container);
  if (found == containers_.end()) return;
  Expect(!attempts_[found->second].runs, "a container is gone and its process runs");
  containers_.erase(found);
}

void HistoryChecker::On(const ContainerToldGone& e) {
  told_gone_[e.container] = now_;
  const auto found = containers_.find(e.container);
  if (found == containers_.end()) return;
  Expect(overlap_ > Duration(0), "a container is said to be gone and is not: " + e.container.value);
  attempts_[found->second].told_gone = now_;
}

void HistoryChecker::On(const AttemptBegun& e) {
  AttemptId& current = containers_[e.container];
  Expect(current.task == e.attempt.task && current.number < e.attempt.number,
         StrCat(ToString(current), " goes on as ", ToString(e.attempt)));
  Expect(!attempts_[current].runs, ToString(current) + " goes on while its process runs");
  Expect(rules_.IsRenewed(e.attempt, e.container), ToString(e.attempt) + " goes on, which is not in the journal");
  attempts_[e.attempt].executor = attempts_[current].executor;
  current = e.attempt;
}

void HistoryChecker::On(const ExecutorTermed& e) { attempts_[e.attempt].executor.termed = true; }
void HistoryChecker::On(const ExecutorDied& e) { attempts_[e.attempt].executor.died = true; }

// An executor that was cut off until now has decided to stop and may still have a process to start.
void HistoryChecker::On(const ExecutorHeard& e) {
  Attempt& attempt = attempts_[e.attempt];
  attempt.stops = attempt.stops || IsCutOff(attempt.executor);
  attempt.executor.heard = std::max(attempt.executor.heard, e.asked);
  attempt.executor.answered = now_;
}

void HistoryChecker::On(const ExecutorPutOff& e) { attempts_[e.attempt].executor.put_off = now_; }
void HistoryChecker::On(const ExecutorStalled& e) { attempts_[e.attempt].executor.stalled_until = now_ + e.length; }
void HistoryChecker::On(const StoreCut& e) { attempts_[e.attempt].executor.store_back = now_ + e.length; }

void HistoryChecker::On(const ExecutorBound& e) {
  Epoch& bound = attempts_[e.attempt].executor.bound_to;
  Expect(bound <= e.epoch, StrCat(ToString(e.attempt), " went back to am ", e.epoch.value));
  bound = std::max(bound, e.epoch);
}

void HistoryChecker::On(const ExecutorObeyed& e) {
  Expect(attempts_[e.attempt].executor.bound_to <= e.epoch, StrCat(ToString(e.attempt), " obeyed am ", e.epoch.value));
}

// ---- processes

void HistoryChecker::On(const ProcessStarted& e) {
  Attempt& attempt = attempts_[e.attempt];
  const bool again = !attempt.started.insert(e.process).second;
  Expect(!again, ToString(e.attempt) + " was started again");
  Expect(e.generation.value >= 1 && e.generation <= rules_.generation(), "started before the gang had formed");
  Expect(rules_.MayBelongTo(e.generation, e.attempt) || attempt.told_gone,
         StrCat(ToString(e.attempt), " was started in generation ", e.generation.value, " after the next had formed"));
  Expect(!rules_.OutcomeOf(e.attempt) || attempt.told_gone, ToString(e.attempt) + " was started after its end");
  CheckAlone(e);
  CheckEnvironment(e);
  ++attempt.runs;
  attempt.last_start = now_;
}

// A process may run beside another one whose container's end was falsely reported, for as long as such a report may be
// wrong. A dead executor's processes on a lost node are ended when the node is back.
void HistoryChecker::CheckAlone(const ProcessStarted& e) {
  for (const auto& [other, state] : attempts_) {
    if (other.task != e.attempt.task || other == e.attempt || !state.runs) continue;
    const auto lied_about = [this](const Attempt& attempt) {
      if (attempt.given_up && attempt.executor.died) return true;
      return attempt.told_gone && (attempt.executor.died || now_ - *attempt.told_gone <= overlap_ + kDyingTakes);
    };
    Expect(lied_about(state) || lied_about(attempts_[e.attempt]), StrCat("two processes of ", ToString(other.task)));
  }
}

void HistoryChecker::CheckEnvironment(const ProcessStarted& e) {
  const bool stale = !rules_.MayBelongTo(e.generation, e.attempt);
  Expect(stale || rules_.MayStart(e.attempt), ToString(e.attempt) + " was started before its stage was open");
  Expect(stale || rules_.cluster_specs(e.attempt.task.role, e.generation).contains(e.cluster_spec),
         ToString(e.attempt) + " got another cluster spec than its generation has");
  const auto& noted = rules_.checkpoints();
  const size_t before = rules_.CheckpointsBefore(e.attempt);
  const std::string first = rules_.first_checkpoint().value_or(Checkpoint()).path;
  bool right = e.resume_from == first && (e.attempt.number == 1 || before == 0);
  for (size_t i = before == 0 ? 0 : before - 1; e.attempt.number > 1 && i < noted.size(); ++i) {
    right = right || noted[i] == e.resume_from;
  }
  Expect(right, StrCat(ToString(e.attempt), " resumes from '", e.resume_from, "'"));
}

void HistoryChecker::On(const ProcessSignalled& e) {
  Attempt& attempt = attempts_[e.attempt];
  attempt.signalled = true;
  attempt.stops = attempt.stops || HasReasonToStop(e.attempt);
  Expect(attempt.stops, ToString(e.attempt) + " is being stopped for no reason");
}

// An executor whose attempt was given up learns that from an AM, or loses contact and stops by itself. While the lease
// is not renewed, it does not know that an AM lives, so it goes on. The processes of a dead executor wait for a keeper.
void HistoryChecker::On(const ProcessEnded& e) {
  Attempt& attempt = attempts_[e.attempt];
  --attempt.runs;
  attempt.exits[e.process] = e.exit;
  CheckRanNoLonger(e.attempt, attempt);
  if (!attempt.given_up || attempt.executor.died) return;
  const Timers& timers = spec_.timers;
  if (lease_written_ && now_ - *lease_written_ > Slower(timers.record_fresh)) return;
  const Instant since = std::max(*attempt.given_up, unruled_);
  const Duration stalled = std::max(Duration(0), attempt.executor.stalled_until - since);
  const Duration limit =
      Faster(timers.cutoff_after + timers.grace) + timers.heartbeat + kBetweenTries + kDyingTakes + stalled;
  Expect(now_ - since <= limit, ToString(e.attempt) + " ran on long after it was given up");
}

// The executor ends an attempt that exceeds its time limit, whatever happens to the AM. The processes of a dead
// executor have no limit.
void HistoryChecker::CheckRanNoLonger(const AttemptId& id, const Attempt& attempt) {
  const Duration most = spec_.timers.execution_limit;
  if (most.count() == 0 || attempt.executor.died) return;
  const Duration stalled = std::max(Duration(0), attempt.executor.stalled_until - attempt.last_start);
  const Duration grace = std::max(rules_.LongestGrace(id), attempt.told_grace);
  const Duration limit = Faster(most + grace) + kDyingTakes + stalled;
  Expect(now_ - attempt.last_start <= limit, ToString(id) + " ran longer than it may");
}

bool HistoryChecker::HasRunItsTime(const AttemptId& id) const {
  const Duration most = spec_.timers.execution_limit;
  return most.count() > 0 && now_ - attempts_.at(id).last_start >= Slower(most) - Duration(2);
}

bool HistoryChecker::AllEnded(const AttemptId& id) const {
  const auto attempt = attempts_.find(id);
  const auto all = static_cast<size_t>(spec_.FindRole(id.task.role)->processes);
  return attempt != attempts_.end() && attempt->second.exits.size() == all;
}

bool HistoryChecker::AnyFailed(const AttemptId& id) const {
  return std::ranges::any_of(attempts_.at(id).exits, [](const auto& entry) { return !entry.second.Succeeded(); });
}

// An attempt with several processes names the process of the exit status, unless the attempt was stopped.
void HistoryChecker::CheckExit(const AttemptId& id, const Outcome& outcome) {
  const auto& exits = attempts_[id].exits;
  const bool known = std::ranges::any_of(exits, [&](const auto& entry) {
    return entry.second == outcome.exit && entry.first == outcome.process.value_or(entry.first);
  });
  Expect(!outcome.exit || known, ToString(id) + " has another exit status in the journal");
  Expect(!outcome.process || exits.contains(*outcome.process), ToString(id) + " failed by a process that did not end");
}

// The job resumes only from its own checkpoints, unless it resumes from the newest of any job.
void HistoryChecker::On(const CheckpointThere& e) {
  if (spec_.checkpoint.resume_latest) checkpoints_.push_back(e.checkpoint);
}

void HistoryChecker::On(const CheckpointWritten& e) {
  const auto same = std::partition(checkpoints_.begin(), checkpoints_.end(),
                                   [&](const Checkpoint& old) { return old.path != e.checkpoint.path; });
  for (auto old = same; old != checkpoints_.end(); ++old) overwritten_.emplace_back(now_, *old);
  checkpoints_.erase(same, checkpoints_.end());
  checkpoints_.push_back(e.checkpoint);
}

// A task runs on if no party stops it, whatever happens to the AM.
bool HistoryChecker::HasReasonToStop(const AttemptId& id) const {
  const Executor& executor = attempts_.at(id).executor;
  // When one process fails, the others end, too.
  if (AnyFailed(id)) return true;
  return rules_.verdict() || rules_.OutcomeOf(id) || rules_.IsToStop(id) || executor.died || executor.termed ||
         attempts_.at(id).told_unwritten || gave_up_ || IsCutOff(executor) || HasRunItsTime(id);
}

bool HistoryChecker::IsCutOff(const Executor& executor) const {
  const Duration silence = now_ - executor.heard;
  const Duration limit = Slower(spec_.timers.cutoff_after) - Duration(2);
  if (silence >= Slower(spec_.timers.orphan_timeout) - Duration(2)) return true;
  if (silence < limit) return false;
  // An executor that could not read the record, or was frozen, cannot distinguish a dead AM from a lost link: it
  // chooses the safe way.
  const Instant blind_until = std::max(executor.stalled_until, executor.store_back);
  if (now_ - blind_until < Faster(spec_.timers.cutoff_after)) return true;
  const bool is_put_off = now_ - executor.put_off < kBetweenTries;
  // The executor first reads the record when a call has been unanswered for this long.
  const Instant looked = executor.answered + spec_.timers.heartbeat + CallTimeout(spec_.timers);
  const bool am_looks_alive =
      lease_written_ && now_ - std::max(*lease_written_, looked) < Faster(spec_.timers.record_fresh) + late_read_;
  return am_looks_alive && !is_put_off;
}

}  // namespace tony::sim
