// Where the small named records of one job are kept, for all of the job's processes: a folder here. Seam:
// LocalRecordStore; FakeRecordStore in tests.
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
  std::string writer;  // for people: which other user wrote it, "user eve (uid 1001)"; "": our own
};

enum class Durability { kLostWithPower, kSurvivesPowerCut };

// A record is read whole, as it was written last or before that, also while others write it. A name may have one
// folder before it: "kill-requests/4f2a.json". Any thread. Calls wait for the store. A write that fails may have been
// done all the same, if the answer was lost: it may be repeated. Errors name the record: kUnavailable, kNotPermitted;
// of writes kCannotWrite.
class RecordStore {
 public:
  virtual ~RecordStore() = default;
  virtual Result<std::optional<StoredRecord>> Get(const std::string& name) const = 0;  // nothing: there is none
  // False: somebody was first. Who repeats one whose answer was lost may have been that somebody.
  virtual Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const = 0;
  virtual Status Replace(const std::string& name, std::string_view bytes, Durability durability) const = 0;
  virtual Status Remove(const std::string& name) const = 0;                            // harmless if it is gone
  virtual Result<std::vector<std::string>> List(const std::string& folder) const = 0;  // names in it, in no order
  // Calls `fn` on the loop after records outside of folders may have changed, until the handle is destroyed. Where there
  // is none, the caller looks by its own clock: null if the store never tells, an error if it cannot now.
  virtual Result<std::unique_ptr<EventLoop::Handle>> Watch(EventLoop& loop, EventLoop::Callback fn) const = 0;
  virtual std::string PlaceOf(const std::string& name) const = 0;  // for people: "/home/me/.tony/jobs/x/status.json"
};

// The files of a folder, private to the user. The folder is there.
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

// Records that are read whole and parsed; what is wrong with one names its place. Private to the store.

// `parse`: bytes -> Result. Nothing: there is no such record.
template <class T>
Result<std::optional<T>> ReadOptional(const RecordStore& store, const std::string& name,
                                      Result<T> (*parse)(std::string_view)) {
  TRY_ASSIGN(const auto record, store.Get(name));
  if (!record) return std::optional<T>();
  auto parsed = parse(record->bytes);
  if (!parsed.ok()) return Annotate(parsed.error(), "read " + store.PlaceOf(name));
  return std::optional<T>(*std::move(parsed));
}

// Of a record that every job has. kNotFound.
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
