// Where the journal of a job is kept that has no file of its own: numbered records, in a folder for each epoch. Seam:
// HdfsJournalStore, and the tests' fake stores.
//
//   Begin(epoch) -> Add(1), Add(2), ...          numbers go on through all epochs
//         \____________ Seal(epoch) -> Add() adds nothing any more and says so
//
// The bytes of all records, one after the other, are a journal as runtime/records/journal_format.h has it.
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
  std::string place;  // for people: "hdfs://nn:8020/user/eve/x/journal/1/17"
};

// Any thread. Calls wait for the store. A write that fails may have been done all the same: it is repeated as it was.
// Errors name the place; kUnavailable may pass.
class JournalStore {
 public:
  virtual ~JournalStore() = default;
  virtual Result<bool> Begin(Epoch epoch) const = 0;      // false: it has been begun, by whomever
  virtual Result<std::vector<Epoch>> Epochs() const = 0;  // all that were begun, in order
  // False: the epoch is sealed, or its job's folder is gone. When it is true the record is found by each Read() that
  // begins later, also after a seal; what is found by one that begins after the seal stays so for ever.
  virtual Result<bool> Add(Epoch epoch, int64_t number, std::string_view bytes) const = 0;
  virtual Status Seal(Epoch epoch) const = 0;                              // harmless if it is
  virtual Result<std::vector<JournalRecord>> Read(Epoch epoch) const = 0;  // by number, whole
};

// For a master of this epoch, before it rules: nobody else adds anything from now on, and these are the records that
// count. kNotPermitted: this epoch has been begun before, or a later one. kInvalid: a record is missing; it is named.
Result<std::vector<JournalRecord>> TakeOverJournal(const JournalStore& store, Epoch own);

// The epoch of who settles a job that has no master any more. No master rules after it.
inline constexpr Epoch kSettlersEpoch{1'000'000'000};

// For who settles a job, also several at once: no master adds anything from now on, nor begins to rule. The bytes are
// as ReadJournal() has them, the same for all. Errors as TakeOverJournal; after kInvalid the journal is sealed, too.
Result<std::optional<std::string>> SealJournal(const JournalStore& store);

// As far as it is now, also while somebody writes it. Nothing: it has no record yet.
Result<std::optional<std::string>> ReadJournal(const JournalStore& store);

}  // namespace tony
