#include "runtime/records/known_records.h"

namespace tony {

Result<std::optional<StoredRecord>> KnownRecords::Get(const std::string& name) const {
  const auto known = known_.find(name);
  if (known == known_.end()) return store_->Get(name);
  if (!known->second) return std::optional<StoredRecord>();
  return std::optional(StoredRecord{*known->second, ""});
}

}  // namespace tony
