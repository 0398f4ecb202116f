// Records of which a process knows some without asking: it wrote them itself, and they never have other bytes. Where
// the store is far away, who submits a job asks it for none of what it has just told it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/records/record_store.h"

namespace tony {

// By name; nothing: there is no such record, and there never will be.
using RecordsByName = std::map<std::string, std::optional<std::string>>;

// Get() of these comes from memory; all else goes to `store`. Any thread.
class KnownRecords : public RecordStore {
 public:
  KnownRecords(std::shared_ptr<const RecordStore> store, RecordsByName known)
      : store_(std::move(store)), known_(std::move(known)) {}

  Result<std::optional<StoredRecord>> Get(const std::string& name) const override;
  Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const override {
    return store_->PutNew(name, bytes, durability);
  }
  Status Replace(const std::string& name, std::string_view bytes, Durability durability) const override {
    return store_->Replace(name, bytes, durability);
  }
  Status Remove(const std::string& name) const override { return store_->Remove(name); }
  Result<std::vector<std::string>> List(const std::string& folder) const override { return store_->List(folder); }
  Result<std::unique_ptr<EventLoop::Handle>> Watch(EventLoop& loop, EventLoop::Callback fn) const override {
    return store_->Watch(loop, std::move(fn));
  }
  std::string PlaceOf(const std::string& name) const override { return store_->PlaceOf(name); }

 private:
  const std::shared_ptr<const RecordStore> store_;
  const RecordsByName known_;
};

}  // namespace tony
