#include "runtime/job/json_fields.h"

#include <boost/json.hpp>

#include "runtime/base/strings.h"

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

Status ReadJsonObject(std::string_view text, std::string_view what, const std::function<void(JsonReader&)>& list) {
  TRY_ASSIGN(const json::value document, ParseJson(text, what));
  JsonReader io(document);
  list(io);
  if (!io.status().ok()) return Annotate(io.status().error(), std::string(what));
  return Ok();
}

JsonReader::JsonReader(const json::value& value, std::string path)
    : object_(value.if_object()), path_(std::move(path)) {
  if (!object_) *status_ = Error{ErrorCode::kInvalid, StrCat("field ", path_, ": expected an object")};
}

JsonReader::JsonReader(const Place& place, const JsonReader& parent)
    : object_(place.value->if_object()), parent_(&parent), place_(place), status_(parent.status_) {
  if (!object_) parent.Fail(place, "an object");
}

std::string JsonReader::PathOf(const Place& place) const {
  std::string path = parent_ ? parent_->PathOf(place_) : path_;
  if (!path.empty()) path += '.';
  path += place.name;
  return place.item < 0 ? path : StrCat(path, "[", place.item, "]");
}

void JsonReader::Fail(const Place& place, std::string_view expected) const {
  if (status_->ok()) *status_ = Error{ErrorCode::kInvalid, StrCat("field ", PathOf(place), ": expected ", expected)};
}

bool JsonReader::Has(std::string_view name) const { return object_ && object_->contains(name); }

bool JsonReader::IsNull(std::string_view name) const { return Has(name) && object_->at(name).is_null(); }

JsonReader::Place JsonReader::Find(std::string_view name, std::string_view expected) const {
  const json::value* value = object_ && status_->ok() ? object_->if_contains(name) : nullptr;
  if (!value) Fail(name, StrCat(expected, ", but the field is missing"));
  return {value, name};
}

void JsonReader::Get(const Place& place, std::string& value) const {
  const auto* text = place.value->if_string();
  if (!text) return Fail(place, "a string");
  value.assign(text->data(), text->size());
}

void JsonReader::Get(const Place& place, bool& value) const {
  const bool* flag = place.value->if_bool();
  if (!flag) return Fail(place, "true or false");
  value = *flag;
}

int64_t JsonReader::Number(const Place& place, Between range) const {
  const int64_t* number = place.value->if_int64();
  if (number && *number >= range.least && *number <= range.most) return *number;
  Fail(place, StrCat("a whole number from ", range.least, " to ", range.most));
  return 0;
}

std::vector<JsonReader::Place> JsonReader::Items(const Place& place) const {
  std::vector<Place> items;
  const json::array* array = place.value->if_array();
  if (!array) Fail(place, "a list");
  if (!array) return items;
  for (const auto& item : *array) items.push_back({&item, place.name, static_cast<int64_t>(items.size())});
  return items;
}

JsonReader JsonReader::Nested(std::string_view name) const {
  static const json::value empty = json::object();
  const Place place = Find(name, "an object");
  return JsonReader(place.value ? place : Place{&empty, name}, *this);
}

std::vector<JsonReader> JsonReader::List(std::string_view name) const {
  std::vector<JsonReader> readers;
  const Place place = Find(name, "a list");
  if (!place.value) return readers;
  for (const Place& item : Items(place)) readers.push_back(JsonReader(item, *this));
  return readers;
}

std::vector<std::string> JsonReader::Names() const {
  std::vector<std::string> names;
  if (!object_) return names;
  for (const auto& field : *object_) names.emplace_back(field.key());
  return names;
}

}  // namespace tony
