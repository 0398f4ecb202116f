// The journal as it is written, and what only its decisions tell.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/sim/history_checker.h"

namespace tony::sim {
namespace {

// Of the lease record: seen a little after it changed.
constexpr Duration kLateLook{1'000};
// A file system that does not answer for so long is not waited for.
constexpr Duration kLongestLook{55'000};

auto AgeOf(const Checkpoint& checkpoint) { return std::pair(checkpoint.modified, checkpoint.step); }

std::optional<Checkpoint> NewestOf(const std::vector<Checkpoint>& all) {
  if (all.empty()) return std::nullopt;
  return *std::ranges::max_element(all, {}, AgeOf);
}

}  // namespace

void HistoryChecker::On(const JournalOpened& e) {
  ExpectRules(e.epoch, "it opened the journal");
  Expect(e.size == read_, StrCat("the journal has ", e.size, " bytes; its whole decisions are ", read_));
}

void HistoryChecker::On(const JournalWritten& e) {
  ExpectRules(e.epoch, "it wrote to the journal");
  Expect(e.at == file_.size(), "the journal was written to somewhere else than at its end");
  file_ += e.bytes;
  ReadNewDecisions();
}

void HistoryChecker::On(const JournalStuck& e) {
  stuck_ = e.stuck;
  if (!stuck_) written_again_ = now_;
}

// Of a write that failed even whole decisions are taken back: nobody has heard of them.
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
  rules_.TakeComplaints();  // they were made before
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
  if (std::holds_alternative<ListingSought>(decision.body)) listing_sought_ = decision.time;
  if (const auto* listed = std::get_if<CheckpointsListed>(&decision.body)) CheckListed(listed->listing, decision.time);
  if (const auto* sought = std::get_if<CheckpointSought>(&decision.body)) {
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
  const Instant decided = time - skew_;  // at the earliest; it may have waited for the journal
  Instant looked{};
  for (const Instant look : looks_)
    if (look <= decided) looked = std::max(looked, look);
  Expect(timeout > Duration(0) && time + skew_ - looked >= Slower(timeout), "abandoned, and somebody has looked");
}

// It was given up for its silence, which counts only while the lease record is being renewed, and after the whole time.
// The decision may have waited for the journal.
void HistoryChecker::CheckSilence(const AttemptId& id, Instant time) {
  const Attempt& attempt = attempts_[id];
  if (attempt.told_gone) return;
  const Timers& timers = spec_.timers;
  // What a dead executor leaves behind on a lost node is ended when the node is back; its container is gone only then.
  // One that stood still had no time to see that it is cut off.
  const bool stood_still = now_ - attempt.executor.stalled_until < Slower(timers.lost_after) - Duration(1);
  Expect(!attempt.runs || attempt.executor.died || stood_still, ToString(id) + " is given up, but its process runs");
  const Instant earliest = std::min(now_, time - skew_), latest = std::min(now_, time + skew_);
  const auto later = std::ranges::lower_bound(attempt.heard, earliest);  // of the same moment, the decision came first
  const Instant heard = later == attempt.heard.begin() ? Instant{} : *std::prev(later);
  Expect(latest - heard >= Slower(timers.lost_after) - Duration(1), ToString(id) + " is given up too early");
  const Duration unrenewed = lease_written_ ? earliest - *lease_written_ : Duration::max();
  Expect(unrenewed <= Faster(timers.record_fresh) + kLateLook,
         ToString(id) + " is given up while the lease record is not renewed");
}

// None of the job's own can be there: nothing of it has started.
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

}  // namespace tony::sim
