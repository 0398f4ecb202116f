// Reads and writes JSON, by the lists of fields.h or field by field. Boost.JSON is hidden behind the reader.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/job/fields.h"

namespace boost::json {
class array;
class object;
class value;
}  // namespace boost::json

namespace tony {

// Parses a JSON object. kInvalid says what is wrong with the text; `what` names the document in the message, e.g. "job
// spec".
Result<boost::json::value> ParseJson(std::string_view text, std::string_view what);

// Returns compact text. Strings are made valid UTF-8 first, because a task's stderr may hold any bytes.
std::string SerializeJson(const boost::json::value& value);

// A text that is already JSON and is written unchanged.
struct RawJson {
  std::string text;
};

// Writes the members of one object, without its braces, to the end of `out`.
class JsonWriter {
 public:
  static constexpr bool kReads = false;
  explicit JsonWriter(std::string& out) : out_(out) {}

  template <class T, class Form = Plain>
  void Field(std::string_view name, const T& value, const Form& form = {}) {
    AppendName(name);
    Append(out_, value, form);
  }
  template <class T, class Form = Plain, class Absent = Plain>
  void Later(std::string_view name, const T& value, const Form& form = {}, const Absent& /*absent*/ = {}) {
    Field(name, value, form);
  }
  template <class T, class Form = Plain>
  void IfSet(std::string_view name, const T& value, const Form& form = {}) {
    if constexpr (kIsOptional<T>) {
      if (value) Field(name, value, form);
    } else {
      if (value != T{}) Field(name, value, form);
    }
  }
  template <class T, class Usual, class Form = Plain>
  void Unless(std::string_view name, const T& value, const Usual& usual, const Form& form = {}) {
    if (value != usual) Field(name, value, form);
  }
  template <class T>
  void Derived(std::string_view name, const T& value) {
    Field(name, value);
  }
  template <class List>
  void Object(std::string_view name, const List& list) {
    AppendName(name);
    AppendObject(out_, list);
  }
  bool Present(std::string_view /*name*/, bool written) const { return written; }
  void Check(std::string_view /*name*/, bool /*holds*/, std::string_view /*expected*/) const {}

  template <class List>
  static void AppendObject(std::string& out, const List& list) {
    out += '{';
    JsonWriter io(out);
    list(io);
    out += '}';
  }
  template <class T, class Form = Plain>
  static void Append(std::string& out, const T& value, const Form& form = {}) {
    if constexpr (TextOf<Form, T>) {
      AppendJsonString(out, form.to(value));
    } else if constexpr (kIsOptional<T>) {
      value ? Append(out, *value, form) : (void)(out += "null");
    } else if constexpr (HasTextForm<T>) {
      AppendJsonString(out, FormOf(value).to(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      out += value ? "true" : "false";
    } else if constexpr (std::integral<T>) {
      out += std::to_string(value);
    } else if constexpr (std::convertible_to<T, std::string_view>) {
      AppendJsonString(out, value);
    } else if constexpr (std::is_same_v<T, RawJson>) {
      out += value.text;
    } else if constexpr (std::is_same_v<T, Duration>) {
      out += std::to_string(value.count());
    } else if constexpr (std::is_same_v<T, Instant>) {
      out += std::to_string(ToMillis(value));
    } else if constexpr (requires { typename T::mapped_type; }) {
      AppendObject(out, [&](JsonWriter& io) {
        for (const auto& [name, item] : value) io.Field(name, item, form);
      });
    } else if constexpr (requires { value.begin(); }) {
      std::string_view before = "[";
      for (const auto& item : value) {
        out += std::exchange(before, ",");
        Append(out, item, form);
      }
      out += value.empty() ? "[]" : "]";
    } else if constexpr (kIsId<T>) {
      Append(out, value.value, form);
    } else {
      AppendObject(out, [&](JsonWriter& io) { Fields(io, value); });
    }
  }

 private:
  void AppendName(std::string_view name) {
    if (!std::exchange(first_, false)) out_ += ',';
    AppendJsonString(out_, name);
    out_ += ':';
  }

  std::string& out_;
  bool first_ = true;
};

// Reads the members of one JSON object. The first member that is missing or of a wrong type is remembered as an error
// with its path ("roles[2].instances"). After an error nothing is read, so check status() before you use any value.
// Readers of nested objects share the status. A nested reader must not outlive the reader that returned it.
class JsonReader {
 public:
  static constexpr bool kReads = true;
  // `value` must outlive the reader. `path` is empty for the whole document.
  explicit JsonReader(const boost::json::value& value, std::string path = "");

  template <class T, class Form = Plain>
  void Field(std::string_view name, T& value, const Form& form = {}) {
    if (const Place place = Find(name, KindOf<T, Form>()); place.value) Read(place, value, form);
  }
  template <class T, class Form = Plain>
  void Later(std::string_view name, T& value, const Form& form = {}) {
    if (kIsOptional<T> && !TextOf<Form, T> && IsNull(name)) return;
    IfSet(name, value, form);
  }
  template <class T, class Form>
  void Later(std::string_view name, T& value, const Form& form, const T& absent) {
    if (Has(name)) return Field(name, value, form);
    value = absent;
  }
  template <class T, class Form = Plain>
  void IfSet(std::string_view name, T& value, const Form& form = {}) {
    if (Has(name)) Field(name, value, form);
  }
  template <class T, class Usual, class Form = Plain>
  void Unless(std::string_view name, T& value, const Usual& /*usual*/, const Form& form = {}) {
    IfSet(name, value, form);
  }
  template <class T>
  void Derived(std::string_view /*name*/, const T& /*value*/) const {}
  template <class List>
  void Object(std::string_view name, const List& list) {
    if (const Place place = Find(name, "an object"); place.value) ReadObject(place, list);
  }
  bool Present(std::string_view name, bool /*written*/) const { return Has(name); }
  void Check(std::string_view name, bool holds, std::string_view expected) {
    if (!holds) Fail(name, expected);
  }

  // ---- For documents without a list of fields
  bool Has(std::string_view name) const;
  // Returns whether the member exists and is null.
  bool IsNull(std::string_view name) const;
  std::string String(std::string_view name) { return Read<std::string>(name, Plain{}); }
  bool Bool(std::string_view name) { return Read<bool>(name, Plain{}); }
  int64_t Int(std::string_view name, int64_t least = 0, int64_t most = std::numeric_limits<int64_t>::max()) {
    return Read<int64_t>(name, Between{least, most});
  }
  Duration Millis(std::string_view name) { return Read<Duration>(name, Plain{}); }
  std::vector<std::string> Strings(std::string_view name) { return Read<std::vector<std::string>>(name, Plain{}); }
  std::vector<int64_t> Ints(std::string_view name, int64_t least, int64_t most) {
    return Read<std::vector<int64_t>>(name, Between{least, most});
  }
  // Returns a reader for a member that is an object. If the member is something else, sets status() and returns a
  // reader without members.
  JsonReader Nested(std::string_view name) const;
  // Returns a reader for each object in a list.
  std::vector<JsonReader> List(std::string_view name) const;
  // Returns the names of all members, in the order of the document.
  std::vector<std::string> Names() const;

  void Fail(std::string_view name, std::string_view expected) const { Fail(Place{nullptr, name}, expected); }
  const Status& status() const { return *status_; }

 private:
  // A member, or an item of a member that is a list.
  struct Place {
    const boost::json::value* value = nullptr;
    std::string_view name;
    int64_t item = -1;
  };
  JsonReader(const Place& place, const JsonReader& parent);

  template <class T, class Form>
  static constexpr std::string_view KindOf() {
    if constexpr (kIsOptional<T> && !TextOf<Form, T>) return KindOf<typename T::value_type, Form>();
    if constexpr (TextOf<Form, T> || HasTextForm<T> || std::is_same_v<T, std::string>) return "a string";
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::integral<T> || std::is_same_v<T, Duration> || std::is_same_v<T, Instant>)
      return "a whole number";
    if constexpr (kIsId<T>) return KindOf<decltype(T::value), Form>();
    if constexpr (requires(T & t) { t.emplace_back(); }) return "a list";
    return "an object";
  }
  template <class T, class Form>
  T Read(std::string_view name, const Form& form) {
    T value{};
    Field(name, value, form);
    return value;
  }
  template <class T, class Form>
  void Read(const Place& place, T& value, const Form& form) {
    if constexpr (TextOf<Form, T>) {
      std::string text;
      Get(place, text);
      if (!status_->ok()) return;
      if (auto read = form.from(text)) {
        value = *std::move(read);
      } else {
        Fail(place, form.expected);
      }
    } else if constexpr (kIsOptional<T>) {
      Read(place, value.emplace(typename T::value_type{}), form);
    } else if constexpr (HasTextForm<T>) {
      Read(place, value, FormOf(value));
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
      Get(place, value);
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(Number(place, RangeOf<T>(form)));
    } else if constexpr (std::is_same_v<T, Duration>) {
      value = Duration(Number(place, RangeOf<T>(form)));
    } else if constexpr (std::is_same_v<T, Instant>) {
      value = FromMillis(Number(place, RangeOf<T>(form)));
    } else if constexpr (kIsId<T>) {
      Read(place, value.value, form);
    } else if constexpr (requires { value.emplace_back(); }) {
      for (const Place& item : Items(place)) Read(item, value.emplace_back(), form);
    } else if constexpr (requires { typename T::mapped_type; }) {
      ReadObject(place, [&](JsonReader& io) {
        for (const std::string& name : io.Names()) io.Field(name, value[name], form);
      });
    } else {
      ReadObject(place, [&](JsonReader& io) { Fields(io, value); });
    }
  }
  template <class List>
  void ReadObject(const Place& place, const List& list) {
    JsonReader io(place, *this);
    if (io.object_) list(io);
  }
  Place Find(std::string_view name, std::string_view expected) const;
  void Get(const Place& place, std::string& value) const;
  void Get(const Place& place, bool& value) const;
  int64_t Number(const Place& place, Between range) const;
  std::vector<Place> Items(const Place& place) const;
  void Fail(const Place& place, std::string_view expected) const;
  std::string PathOf(const Place& place) const;

  const boost::json::object* object_ = nullptr;
  // The path of a reader that has no parent.
  std::string path_;
  const JsonReader* parent_ = nullptr;
  // The place of this object in the parent.
  Place place_;
  std::shared_ptr<Status> status_ = std::make_shared<Status>();
};

// Returns a value as a JSON document. The list of fields of its type writes the document.
template <class T>
std::string WriteJson(const T& value) {
  std::string out;
  JsonWriter::Append(out, value);
  return out;
}
// Returns a JSON object with the fields that `list` writes.
template <class List>
std::string WriteJsonObject(const List& list) {
  std::string out;
  JsonWriter::AppendObject(out, list);
  return out;
}

Status ReadJsonObject(std::string_view text, std::string_view what, const std::function<void(JsonReader&)>& list);

// Reads a whole document by the list of fields of its type. Messages begin with `what`: "job spec: field roles:
// expected at least one role". The error is kInvalid.
template <class T>
Result<T> ReadJson(std::string_view text, std::string_view what) {
  T value;
  TRY(ReadJsonObject(text, what, [&](JsonReader& io) { Fields(io, value); }));
  return value;
}

}  // namespace tony
