#include "runtime/store/journal_store.h"

#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// Records come while an epoch is read: one may be missed that came before another one which is not.
constexpr int kMostLooks = 5;

Result<std::vector<JournalRecord>> ReadRecords(const JournalStore& store, const std::vector<Epoch>& epochs) {
  std::vector<JournalRecord> all;
  for (const Epoch epoch : epochs) {
    TRY_ASSIGN(std::vector<JournalRecord> records, store.Read(epoch));
    for (JournalRecord& record : records) {
      const auto expected = static_cast<int64_t>(all.size()) + 1;
      if (record.number != expected) {
        return Error{ErrorCode::kInvalid,
                     StrCat(record.place, ": damaged: record ", expected, " is missing before it")};
      }
      all.push_back(std::move(record));
    }
  }
  return all;
}

}  // namespace

// First the own epoch, then a look at the others: of two who do so at once, one sees the other.
Result<std::vector<JournalRecord>> TakeOverJournal(const JournalStore& store, Epoch own) {
  TRY_ASSIGN(const bool is_new, store.Begin(own));
  if (!is_new) return Error{ErrorCode::kNotPermitted, StrCat("master ", own.value, " has begun its journal before")};
  TRY_ASSIGN(std::vector<Epoch> epochs, store.Epochs());
  std::vector<Epoch> earlier;
  for (const Epoch epoch : epochs) {
    if (epoch > own) return Error{ErrorCode::kNotPermitted, StrCat("master ", epoch.value, " rules this job")};
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
    if ((*records).empty()) return std::optional<std::string>();
    std::string bytes;
    for (const JournalRecord& record : *records) bytes += record.bytes;
    return std::optional(std::move(bytes));
  }
}

}  // namespace tony
