#include "runtime/records/journal_store.h"

#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// The maximum number of tries of ReadJournal(). A try fails if it misses a record and finds a later one, because
// records are added while an epoch is read.
constexpr int kMostLooks = 5;

Result<std::vector<JournalRecord>> ReadRecords(const JournalStore& store, const std::vector<Epoch>& epochs) {
  std::vector<JournalRecord> all;
  for (const Epoch epoch : epochs) {
    TRY_ASSIGN(std::vector<JournalRecord> records, store.Read(epoch));
    for (JournalRecord& record : records) {
      const auto expected = static_cast<int64_t>(all.size()) + 1;
      if (record.number != expected)
        return InvalidError(record.place, ": the journal is damaged: record ", expected, " is missing before this one");
      all.push_back(std::move(record));
    }
  }
  return all;
}

std::optional<std::string> BytesOf(const std::vector<JournalRecord>& records) {
  if (records.empty()) return std::nullopt;
  std::string bytes;
  for (const JournalRecord& record : records) bytes += record.bytes;
  return bytes;
}

Error Replaced(Epoch by) {
  if (by == kFinalizerEpoch) return NotPermittedError("this job was finalized without an application master");
  return NotPermittedError("application master ", by.value, " is leader of this job");
}

}  // namespace

// The AM begins its own epoch first and then reads the list of epochs. If two AMs do this at once, at least one of them
// finds the other's epoch.
Result<std::vector<JournalRecord>> TakeOverJournal(const JournalStore& store, Epoch own) {
  TRY_ASSIGN(const bool is_new, store.Begin(own));
  if (!is_new) return NotPermittedError("application master ", own.value, " has already begun its journal");
  TRY_ASSIGN(std::vector<Epoch> epochs, store.Epochs());
  std::vector<Epoch> earlier;
  for (const Epoch epoch : epochs) {
    if (epoch > own) return Replaced(epoch);
    if (epoch < own) earlier.push_back(epoch);
  }
  for (const Epoch epoch : earlier) TRY(store.Seal(epoch));
  return ReadRecords(store, earlier);
}

Result<std::optional<std::string>> ReadJournal(const JournalStore& store) {
  for (int look = 1;; ++look) {
    TRY_ASSIGN(const std::vector<Epoch> epochs, store.Epochs());
    const auto records = ReadRecords(store, epochs);
    if (!records.ok() && records.error().code == ErrorCode::kInvalid && look < kMostLooks) continue;
    if (!records.ok()) return records.error();
    return BytesOf(*records);
  }
}

// Like an AM, this function begins its own epoch first and then reads the list of epochs. If an AM starts at the same
// moment, at least one of the two finds the other's epoch.
Result<std::optional<std::string>> SealJournal(const JournalStore& store) {
  TRY(store.Begin(kFinalizerEpoch));  // false: a parallel finalizer began it
  TRY_ASSIGN(std::vector<Epoch> epochs, store.Epochs());
  std::erase(epochs, kFinalizerEpoch);
  for (const Epoch epoch : epochs) TRY(store.Seal(epoch));
  TRY_ASSIGN(const std::vector<JournalRecord> records, ReadRecords(store, epochs));
  return BytesOf(records);
}

}  // namespace tony
