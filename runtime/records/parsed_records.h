// Records that are read whole and parsed; what is wrong with one names its place. Private to the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/records/record_store.h"

namespace tony {

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
  return Error{ErrorCode::kNotFound, StrCat("open ", store.PlaceOf(name), ": no such file or directory")};
}

template <class T>
Result<T> ReadParsed(const RecordStore& store, const std::string& name, Result<T> (*parse)(std::string_view)) {
  TRY_ASSIGN(const std::string bytes, ReadWhole(store, name));
  auto parsed = parse(bytes);
  if (!parsed.ok()) return Annotate(parsed.error(), "read " + store.PlaceOf(name));
  return parsed;
}

}  // namespace tony
