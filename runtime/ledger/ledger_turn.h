// What one job does next in the ledger, as a pure core with a memory of its own: who was there before it.
//
// The job counts those before it once, as it joins the line: of each other user the first. Nobody who comes later goes
// before it, whatever number he gives himself, and who could take his turn and does not is passed after a while. So
// a job waits for one job of each other user at most, and nobody who is stopped, or only pretends to wait, holds it up.
//
//   kAside --its user's next, and within his limits--> kInLine --its turn, and free--> kAdmitted
//      ^---- another of its user's goes before it, or his limits are used up ----'
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/ledger/ledger.h"

namespace tony {

// How long a job that could be admitted may take for it: ten times what a keeper on a busy machine was seen to need.
inline constexpr Duration kTurnPatience{5000};
// More for each job further back, since those before it wait for it, too, before they pass it.
inline constexpr Duration kTurnPatienceMore{500};

struct TurnStep {
  enum class Kind {
    kWait,
    kJoin,       // the line, under `number`
    kStepAside,  // out of it
    kAdmit,      // with `gpus`
  };
  Kind kind = Kind::kWait;
  std::string why;  // it does not have what it asks for, for people
  int64_t number = 0;
  std::optional<LedgerEntry> displaced;  // kJoin: a job of its user that gives up its place in line for it
  std::vector<int> gpus;
  std::vector<LedgerEntry> waits_for;  // as long as one of them is where it is, there is nothing new
  std::optional<Instant> look_again;   // when somebody is to be passed, if nothing changes
};

class LedgerTurn {
 public:
  // `mine` is in the ledger, and not admitted.
  TurnStep Next(const Ledger& ledger, const LedgerEntry& mine, Instant now);
  void Forget() { earlier_.reset(); }  // who was before it: its entry was lost
  // Those who do not take their turn, as of the last Next().
  std::vector<LedgerEntry> Passed() const;

 private:
  struct Earlier {
    LedgerEntry entry;
    std::optional<Instant> could_since;  // have been admitted
    bool passed = false;
  };

  static TurnStep NextAside(const Ledger& ledger, const LedgerEntry& mine);
  void LookAtEarlier(const Ledger& ledger, const LedgerEntry& mine, Instant now);
  std::vector<LedgerEntry> Blocking(const Ledger& ledger, TurnStep& step) const;

  std::optional<std::vector<Earlier>> earlier_;  // of other users, in the order of the line
};

// Whether there is room for `mine` beside all others that are admitted: asked after it was admitted for all to see. Of
// two that were admitted at once the later one asks when the other is to be seen, so one of them is told at least.
bool HasRoomFor(const LedgerEntry& mine, const Ledger& ledger);

}  // namespace tony
