// The AM's turns and its journal: nothing is done or answered before it is written.
#include <utility>

#include "am/journal_format.h"
#include "runtime/base/strings.h"
#include "tests/sim/simulated_am.h"

namespace tony::sim {

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
  const bool skip =
      flaw_ == Flaw::kSkipsPendingOrders && epoch_.value > 1 && std::holds_alternative<am::AmStarted>(observation);
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

}  // namespace tony::sim
