// How far the entries of a ledger are believed, as a pure core. Any user may put any file into the folder, so each
// entry counts only as far as its owner's keeper could have made it. An entry that is not believed is named to people
// and counts for nothing; nobody removes it but its owner or root.
//
// What this cannot tell apart is a program that plays a keeper well: it has what a real job of its user has, no more,
// and what users may have is limited by machine.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ledger/ledger.h"

namespace tony {

// What processes of its user show of an entry's job.
enum class Witness {
  kRuns,        // one of them runs it: a keeper or an executor
  kNone,        // none does
  kCannotTell,  // processes of that user are not to be seen from here
};

// An entry as it was found, with a lock on it that only its owner can have taken.
struct Sighting {
  std::string name;  // of its file
  LedgerEntry entry;
  std::string says_job;             // the job that its content speaks of; empty: it does not say
  uint64_t file = 0;                // the same for two names of one file
  bool writable_by_others = false;  // so that the lock may be another user's
  // The file has several names, which other users may have made (fs.protected_hardlinks=0), and was never admitted.
  bool says_it_waits = false;
  Witness witness = Witness::kRuns;
};

struct Doubt {
  std::string name;  // of the file
  int64_t user = 0;
  std::string why;  // "no process of its user runs this job"
  bool operator==(const Doubt&) const = default;
};

struct Belief {
  std::vector<LedgerEntry> entries;
  std::vector<Doubt> doubts;
};

// `machine`: what jobs may have. `detected`: what there is; an entry that was admitted before machine.json said less is
// still believed.
Belief Judge(std::vector<Sighting> sightings, const Machine& machine, const Machine& detected);

// Whether its processes are to be looked at: what is doubted anyway need not be.
bool IsPlausible(const Sighting& sighting, const Machine& machine, const Machine& detected);

}  // namespace tony
