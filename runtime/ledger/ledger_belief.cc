#include "runtime/ledger/ledger_belief.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/base/strings.h"

namespace tony {
namespace {

std::string WhyDoubted(const Sighting& sighting, const Machine& machine, const Machine& detected) {
  const LedgerEntry& entry = sighting.entry;
  if (sighting.writable_by_others) return "others than its owner may write to it";
  if (!sighting.says_job.empty() && sighting.says_job != entry.job.value)
    return "its name and its content speak of two jobs";
  if (entry.number > kMostNumber) return StrCat("no ledger has come to number ", entry.number);
  if (!entry.admitted()) return "";
  if (sighting.says_it_waits) return "its file has another name, and was never admitted";
  const int64_t memory = std::max(machine.memory_mb, detected.memory_mb);
  if (entry.ask.memory_mb > memory)
    return StrCat("it says that it holds ", entry.ask.memory_mb, " MB of memory, this machine has ", memory);
  if (static_cast<int64_t>(entry.gpus.size()) > entry.ask.gpus)
    return StrCat("it holds ", entry.gpus.size(), " GPUs and asks for ", entry.ask.gpus);
  return "";
}

// Of two names of one file, the one that holds most: what has been given away once is not given away again.
bool HoldsMore(const Sighting& a, const Sighting& b) {
  if (a.entry.place != b.entry.place) return a.entry.place > b.entry.place;
  return IsBefore(b.entry, a.entry);
}

}  // namespace

bool IsPlausible(const Sighting& sighting, const Machine& machine, const Machine& detected) {
  return WhyDoubted(sighting, machine, detected).empty();
}

Belief Judge(std::vector<Sighting> sightings, const Machine& machine, const Machine& detected) {
  std::ranges::sort(sightings, HoldsMore);
  Belief belief;
  std::map<uint64_t, std::string> met;  // name by file
  for (Sighting& sighting : sightings) {
    std::string why = WhyDoubted(sighting, machine, detected);
    if (why.empty() && sighting.witness == Witness::kNone) why = "no process of its user runs this job";
    if (why.empty()) {
      const auto [first, is_new] = met.try_emplace(sighting.file, sighting.name);
      if (!is_new) why = StrCat("it is the same file as ", first->second);
    }
    if (why.empty()) {
      belief.entries.push_back(std::move(sighting.entry));
    } else {
      belief.doubts.push_back({sighting.name, sighting.entry.user, std::move(why)});
    }
  }
  return belief;
}

}  // namespace tony
