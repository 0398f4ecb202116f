// The store of a job's journal if the journal is not a file: numbered records, in a folder for each epoch. Interface,
// implemented by HdfsJournalStore, and by fake stores in tests.
//
//   Begin(epoch) -> Add(1), Add(2), ...          numbers continue through all epochs
//         \____________ Seal(epoch) -> Add() adds nothing any more and returns false
//
// The bytes of all records, in the order of their numbers, are a journal in the format of
// runtime/records/journal_format.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"

namespace tony {

struct JournalRecord {
  int64_t number = 0;  // 1, 2, ...
  std::string bytes;
  std::string place;  // shown to people: "hdfs://nn:8020/user/eve/x/journal/1/17"
};

// Thread-safe. Calls wait for the store. A write that fails may have been done nevertheless, so the caller repeats it
// with the same bytes. Errors name the place; kUnavailable may be temporary.
class JournalStore {
 public:
  virtual ~JournalStore() = default;
  virtual Result<bool> Begin(Epoch epoch) const = 0;      // false: the epoch had begun already
  virtual Result<std::vector<Epoch>> Epochs() const = 0;  // all begun epochs, in order
  // Adds a record. Returns false if the epoch is sealed, or if the job's folder was removed. If true is returned, each
  // later Read() finds the record, even after a seal. After the seal, the records that Read() finds never change.
  virtual Result<bool> Add(Epoch epoch, int64_t number, std::string_view bytes) const = 0;
  virtual Status Seal(Epoch epoch) const = 0;  // does nothing if already sealed
  // Returns the complete records of an epoch, sorted by number.
  virtual Result<std::vector<JournalRecord>> Read(Epoch epoch) const = 0;
};

// Seals all earlier epochs and returns the records that count; afterwards no other AM can add records. An AM must call
// this before it becomes leader. kNotPermitted: the epoch `own` or a later one has begun already. kInvalid: a record is
// missing; the message names it.
Result<std::vector<JournalRecord>> TakeOverJournal(const JournalStore& store, Epoch own);

// The epoch of a process that finalizes a job without an AM. No AM can become leader after it.
inline constexpr Epoch kFinalizerEpoch{1'000'000'000};

// Ends the journal for a process that finalizes a job: afterwards no AM adds records or becomes leader. Returns the
// journal's bytes, like ReadJournal(). If several processes finalize a job at once, all get the same bytes. Errors
// are those of TakeOverJournal(); the journal is sealed even after kInvalid.
Result<std::optional<std::string>> SealJournal(const JournalStore& store);

// Returns the journal as far as it is written; a process may still be writing it. nullopt: it has no record yet.
Result<std::optional<std::string>> ReadJournal(const JournalStore& store);

}  // namespace tony
