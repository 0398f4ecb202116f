// Fuzzes an entry of the machine's ledger (queue), which any user may have written: the file's name on the first line,
// followed by its content. Validation keeps the entry's values within bounds, and the ledger still works with it.
#include "runtime/ledger/ledger.h"
#include "runtime/ledger/ledger_files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/work_folder.h"

namespace tony::fuzz {
namespace {

LedgerEntry Honest(int64_t number) {
  return {.number = number, .job = JobId{"local-1700000000-4f2a9c"}, .user = 1000, .ask = {2048, 2, 1}};
}

UncheckedEntry HonestSighting(const std::string& name, int64_t number) {
  return {.name = name, .entry = Honest(number)};
}

void CheckBounds(const LedgerEntry& entry) {
  for (const int64_t amount : {entry.ask.memory_mb, entry.ask.vcores, entry.ask.gpus})
    CHECK(amount >= 0 && amount <= kMostAsked);
}

}  // namespace

void Read(std::string_view input) {
  const size_t end = std::min(input.find('\n'), input.size());
  const auto name = ParseEntryName(std::string(input.substr(0, end)));
  if (!name) return;
  const std::string_view content = input.substr(std::min(end + 1, input.size()));
  OpenEntry file;
  file.fd = NamelessFile(content);
  file.owner = 1001;
  file.size = static_cast<int64_t>(content.size());
  const auto sighting = SightingOf(*name, file);
  if (!sighting.ok()) return;
  const Machine machine{.memory_mb = 16000, .cores = 8, .gpus = {0, 1}};
  const ValidatedEntries belief = Judge({HonestSighting("1", 1), *sighting, HonestSighting("2", 2)}, machine, machine);
  for (const LedgerEntry& entry : belief.entries) CheckBounds(entry);
  const Ledger ledger(machine, belief.entries);
  CHECK(ledger.FreeMemory() >= 0 && ledger.FreeMemory() <= machine.memory_mb);
  CHECK(ledger.FreeGpus().size() <= machine.gpus.size());
  for (const LedgerEntry& each : ledger.entries()) {
    (void)ledger.MayBeAdmitted(each);
    (void)ledger.GpusFor(each);
    (void)ledger.WhyItWaits(each, ledger.Before(each).size());
  }
  CHECK(ledger.NextNumber() > 0);
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  LedgerEntry entry = Honest(12);
  seeds.push_back(NameOf(entry) + "\n" + EntryJson(entry));
  entry.place = Place::kAdmitted;
  entry.gpus = {1};
  seeds.push_back(NameOf(entry) + "\n" + EntryJson(entry));
  entry.number = kMostNumber;
  entry.ask = {kMostAsked, kMostAsked, kMostAsked};
  seeds.push_back(NameOf(entry) + "\n" + EntryJson(entry));
  return seeds;
}

}  // namespace tony::fuzz
