// The store of the small named records of one job, for all of the job's processes. Interface, implemented by
// LocalRecordStore (a folder on this machine), by HdfsRecordStore, and by FlakyStore in tests.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"

namespace tony {

struct StoredRecord {
  std::string bytes;
  // The user who wrote the record if it is another user, for people: "user eve (uid 1001)". Empty: our own user.
  std::string writer;
};

enum class Durability { kLostWithPower, kSurvivesPowerCut };

// A store of records. Get() returns a whole record, as it was last written or as it was before, even while another
// process writes it. A record's name may begin with one folder: "kill-requests/4f2a.json". Thread-safe. Calls wait for
// the store. A write that fails may have been done nevertheless, if only its answer was lost; the caller may repeat it.
// Errors name the record: kUnavailable, kNotPermitted, and for writes kCannotWrite.
class RecordStore {
 public:
  virtual ~RecordStore() = default;
  virtual Result<std::optional<StoredRecord>> Get(const std::string& name) const = 0;  // nullopt: no such record
  // Returns false if the record existed already. If a caller repeats a write whose answer was lost, the existing record
  // may be its own.
  virtual Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const = 0;
  virtual Status Replace(const std::string& name, std::string_view bytes, Durability durability) const = 0;
  virtual Status Remove(const std::string& name) const = 0;  // does nothing if already removed
  // Returns the names in `folder`, in no particular order.
  virtual Result<std::vector<std::string>> List(const std::string& folder) const = 0;
  // Calls `fn` on the loop whenever records outside of folders may have changed, until the handle is destroyed. Returns
  // null if this store never sends notifications, and an error if it cannot send them now. In both cases the caller
  // must check at intervals.
  virtual Result<std::unique_ptr<EventLoop::Handle>> Watch(EventLoop& loop, EventLoop::Callback fn) const = 0;
  // Returns the place of the record for people, e.g. "/home/me/.tony/jobs/x/status.json".
  virtual std::string PlaceOf(const std::string& name) const = 0;
};

// Keeps records as files, private to the user, in an existing folder.
class LocalRecordStore : public RecordStore {
 public:
  explicit LocalRecordStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Result<std::optional<StoredRecord>> Get(const std::string& name) const override;
  Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const override;
  Status Replace(const std::string& name, std::string_view bytes, Durability durability) const override;
  Status Remove(const std::string& name) const override;
  Result<std::vector<std::string>> List(const std::string& folder) const override;
  Result<std::unique_ptr<EventLoop::Handle>> Watch(EventLoop& loop, EventLoop::Callback fn) const override;
  std::string PlaceOf(const std::string& name) const override;

 private:
  std::filesystem::path folder_;
};

// Functions that read a whole record and parse it; an error names the record's place. For runtime/records only.

// Returns a record, parsed by `parse`; nullopt if the record does not exist.
template <class T>
Result<std::optional<T>> ReadOptional(const RecordStore& store, const std::string& name,
                                      Result<T> (*parse)(std::string_view)) {
  TRY_ASSIGN(const auto record, store.Get(name));
  if (!record) return std::optional<T>();
  auto parsed = parse(record->bytes);
  if (!parsed.ok()) return Annotate(parsed.error(), "read " + store.PlaceOf(name));
  return std::optional<T>(*std::move(parsed));
}

// Reads a record that every job has; kNotFound if it is missing.
inline Result<std::string> ReadWhole(const RecordStore& store, const std::string& name) {
  TRY_ASSIGN(auto record, store.Get(name));
  if (record) return std::move(record->bytes);
  return NotFoundError("open ", store.PlaceOf(name), ": no such file or directory");
}

template <class T>
Result<T> ReadParsed(const RecordStore& store, const std::string& name, Result<T> (*parse)(std::string_view)) {
  TRY_ASSIGN(const std::string bytes, ReadWhole(store, name));
  return Annotate(parse(bytes), "read " + store.PlaceOf(name));
}

}  // namespace tony
