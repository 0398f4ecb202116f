#include "tests/sim/altered_history.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/world.h"

namespace tony::sim {

History RightHistory(const Plan& plan) {
  World world(plan);
  world.Run();
  return world.history();
}

void InsertBefore(History& history, std::vector<Seen>::iterator place, Event event) {
  history.events().insert(place, {place->time, std::move(event)});
}

void RewriteJournal(History& history, const std::function<void(std::vector<Decision>&)>& change) {
  const std::string header = EncodeHeader();
  history.journal.clear();
  for (Seen& seen : history.events()) {
    auto* written = std::get_if<JournalWritten>(&seen.event);
    if (!written) continue;
    const bool first = history.journal.empty();
    auto decoded = DecodeJournal(first ? written->bytes : header + written->bytes);
    CHECK(decoded.ok());
    change(decoded->decisions);
    written->at = history.journal.size();
    written->bytes = first ? header : "";
    for (const Decision& decision : decoded->decisions) written->bytes += EncodeTurn({decision});
    history.journal += written->bytes;
  }
}

void ExpectComplaint(const Plan& plan, const History& history, const std::string& text) {
  const std::string complaints = Join(HistoryChecker::Check(plan.spec, history), "\n");
  EXPECT_NE(complaints.find(text), std::string::npos) << "expected '" << text << "' in:\n" << complaints;
}

}  // namespace tony::sim
