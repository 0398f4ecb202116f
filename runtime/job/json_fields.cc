#include "runtime/job/json_fields.h"

#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony {

namespace json = boost::json;

namespace {

void MakeValidUtf8(json::value& value) {
  if (auto* text = value.if_string()) {
    if (!IsUtf8(*text)) *text = ReplaceInvalidUtf8(*text);
    return;
  }
  if (auto* array = value.if_array()) {
    for (auto& item : *array) MakeValidUtf8(item);
    return;
  }
  if (auto* object = value.if_object()) {
    for (auto& field : *object) MakeValidUtf8(field.value());
  }
}

}  // namespace

Result<json::value> ParseJson(std::string_view text, std::string_view what) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error) return Error{ErrorCode::kInvalid, StrCat(what, ": not JSON: ", error.message())};
  if (!value.is_object()) return Error{ErrorCode::kInvalid, StrCat(what, ": expected a JSON object")};
  return value;
}

std::string SerializeJson(const json::value& value) {
  json::value copy = value;
  MakeValidUtf8(copy);
  return json::serialize(copy);
}

JsonFields::JsonFields(const json::value& value, std::string path)
    : object_(value.if_object()), path_(std::move(path)) {
  if (!object_) status_ = Error{ErrorCode::kInvalid, StrCat("field ", path_, ": expected an object")};
}

std::string JsonFields::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : StrCat(path_, ".", name);
}

void JsonFields::Fail(std::string_view name, std::string_view expected) {
  if (status_.ok()) status_ = Error{ErrorCode::kInvalid, StrCat("field ", PathOf(name), ": expected ", expected)};
}

bool JsonFields::Has(std::string_view name) const { return object_ && object_->contains(name); }

bool JsonFields::IsNull(std::string_view name) const { return Has(name) && object_->at(name).is_null(); }

const json::value* JsonFields::Find(std::string_view name, std::string_view expected) {
  const json::value* value = object_ ? object_->if_contains(name) : nullptr;
  if (!value) Fail(name, StrCat(expected, ", and it is missing"));
  return value;
}

std::string JsonFields::String(std::string_view name) {
  const json::value* value = Find(name, "a string");
  if (!value) return {};
  if (const auto* text = value->if_string()) return std::string(*text);
  Fail(name, "a string");
  return {};
}

bool JsonFields::Bool(std::string_view name) {
  const json::value* value = Find(name, "true or false");
  if (!value) return false;
  if (const bool* flag = value->if_bool()) return *flag;
  Fail(name, "true or false");
  return false;
}

int64_t JsonFields::Int(std::string_view name, int64_t least, int64_t most) {
  const json::value* value = Find(name, "a whole number");
  if (!value) return 0;
  const int64_t* number = value->if_int64();
  if (number && *number >= least && *number <= most) return *number;
  Fail(name, StrCat("a whole number from ", least, " to ", most));
  return 0;
}

Duration JsonFields::Millis(std::string_view name) { return Duration(Int(name)); }

JsonFields JsonFields::Fields(std::string_view name) {
  static const json::value empty = json::object();
  const json::value* value = Find(name, "an object");
  if (value && !value->is_object()) Fail(name, "an object");
  return JsonFields(value && value->is_object() ? *value : empty, PathOf(name));
}

const json::array* JsonFields::FindArray(std::string_view name) {
  const json::value* value = Find(name, "a list");
  if (value && !value->is_array()) Fail(name, "a list");
  return value ? value->if_array() : nullptr;
}

std::vector<JsonFields> JsonFields::List(std::string_view name) {
  std::vector<JsonFields> items;
  const json::array* array = FindArray(name);
  if (!array) return items;
  for (const auto& item : *array) items.emplace_back(item, StrCat(PathOf(name), "[", items.size(), "]"));
  return items;
}

std::vector<std::string> JsonFields::Strings(std::string_view name) {
  std::vector<std::string> items;
  const json::array* array = FindArray(name);
  if (!array) return items;
  for (const auto& item : *array) {
    if (!item.is_string()) {
      Fail(name, "a list of strings");
      return {};
    }
    items.emplace_back(item.get_string());
  }
  return items;
}

std::vector<int64_t> JsonFields::Ints(std::string_view name, int64_t least, int64_t most) {
  std::vector<int64_t> items;
  const json::array* array = FindArray(name);
  if (!array) return items;
  for (const auto& item : *array) {
    const int64_t* number = item.if_int64();
    if (!number || *number < least || *number > most) {
      Fail(name, StrCat("a list of whole numbers from ", least, " to ", most));
      return {};
    }
    items.push_back(*number);
  }
  return items;
}

std::vector<std::string> JsonFields::Names() const {
  std::vector<std::string> names;
  if (!object_) return names;
  for (const auto& field : *object_) names.emplace_back(field.key());
  return names;
}

}  // namespace tony
