// Executors and the processes that they run.
#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/history_checker.h"

namespace tony::sim {
namespace {

// An executor sees the lease record change a little after it did.
constexpr Duration kLateRead{1'000};
// One that is put off by an AM asks it again before so long.
constexpr Duration kBetweenTries{5'000};
// Killing, sweeping and noticing.
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

// One that was cut off until now has made up its mind, and may have a process that is still to start.
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

// With one that was said to be gone it may run at the same time, for as long as such a word may be wrong; what a dead
// executor leaves behind on a lost node is ended when the node is back.
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

// Whoever was given up hears of it, or of nobody, and then stops by itself. What a dead executor leaves behind waits
// for a keeper.
void HistoryChecker::On(const ProcessEnded& e) {
  Attempt& attempt = attempts_[e.attempt];
  --attempt.runs;
  attempt.exits[e.process] = e.exit;
  CheckRanNoLonger(e.attempt, attempt);
  if (!attempt.given_up || attempt.executor.died) return;
  const Timers& timers = spec_.timers;
  const Duration stalled = std::max(Duration(0), attempt.executor.stalled_until - *attempt.given_up);
  const Duration limit =
      Faster(timers.cutoff_after + timers.grace) + timers.heartbeat + kBetweenTries + kDyingTakes + stalled;
  Expect(now_ - *attempt.given_up <= limit, ToString(e.attempt) + " ran on long after it was given up");
}

// Its executor ends it, whatever becomes of the AM; what a dead one leaves behind has no limit.
void HistoryChecker::CheckRanNoLonger(const AttemptId& id, const Attempt& attempt) {
  const Duration most = spec_.timers.execution_limit;
  if (most.count() == 0 || attempt.executor.died) return;
  const Duration stalled = std::max(Duration(0), attempt.executor.stalled_until - attempt.last_start);
  const Duration limit = Faster(most + rules_.LongestGrace(id)) + kDyingTakes + stalled;
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

// One that has several processes says whose exit it is, unless it was told to stop.
void HistoryChecker::CheckExit(const AttemptId& id, const Outcome& outcome) {
  const auto& exits = attempts_[id].exits;
  const bool known = std::ranges::any_of(exits, [&](const auto& entry) {
    return entry.second == outcome.exit && entry.first == outcome.process.value_or(entry.first);
  });
  Expect(!outcome.exit || known, ToString(id) + " has another exit status in the journal");
  Expect(!outcome.process || exits.contains(*outcome.process), ToString(id) + " failed by a process that did not end");
}

// The job goes on only from what it wrote itself, unless it asks for whatever is newest.
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

// A task that nobody stops runs on, whatever becomes of the AM.
bool HistoryChecker::HasReasonToStop(const AttemptId& id) const {
  const Executor& executor = attempts_.at(id).executor;
  if (AnyFailed(id)) return true;  // of several processes one: the others end, too
  return rules_.verdict() || rules_.OutcomeOf(id) || rules_.IsToStop(id) || executor.died || executor.termed ||
         attempts_.at(id).told_unwritten || gave_up_ || IsCutOff(executor) || HasRunItsTime(id);
}

bool HistoryChecker::IsCutOff(const Executor& executor) const {
  const Duration silence = now_ - executor.heard;
  const Duration limit = Slower(spec_.timers.cutoff_after) - Duration(2);
  if (silence >= Slower(spec_.timers.orphan_timeout) - Duration(2)) return true;
  if (silence < limit) return false;
  // One that could not look, or stood still, cannot tell a dead AM from a lost link: it takes the safe way.
  const Instant blind_until = std::max(executor.stalled_until, executor.store_back);
  if (now_ - blind_until < Faster(spec_.timers.cutoff_after)) return true;
  const bool is_put_off = now_ - executor.put_off < kBetweenTries;
  // It looks at the record, which it does not know, when a call has had no answer for so long.
  const Instant looked = executor.answered + spec_.timers.heartbeat + CallLimit(spec_.timers);
  const bool am_looks_alive =
      lease_written_ && now_ - std::max(*lease_written_, looked) < Faster(spec_.timers.record_fresh) + kLateRead;
  return am_looks_alive && !is_put_off;
}

}  // namespace tony::sim
