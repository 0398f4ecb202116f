// Conversions in both directions between the wire's types and TonY's types, with one list of field pairs per type:
//
//   void Fields(auto& io, auto& wire, Is<LogSpan> auto& span) {
//     io.Field("parts.first", wire.first, span.begin, Between{0, kLargestLog});
//   }
//
// `io` is ToWire or FromWire. An enum is converted with the rows of RowsOf(), or by its names if the field on the wire
// is a text. Only the sources of this folder include this file.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/job/fields.h"
#include "runtime/job/outcome.h"

namespace tony {

// The most bytes in a name of a job or container, a token, or a host (a DNS name is not longer).
inline constexpr size_t kLongestName = 255;
inline constexpr size_t kLongestText = 64 << 10;
inline constexpr size_t kLongestStreamName = 32;
inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// ---- forms of texts and numbers; a text without a form is accepted unchanged

// A name, which is written into logs and messages unchanged. The name must not be empty, and must be printable ASCII
// without blanks.
struct Name {
  size_t longest = kLongestName;
};
struct Longest {
  size_t longest = kLongestName;
};
// A text that becomes the name of a file, and appears in messages.
struct StreamName {};
// A text of at most kLongestText. The sender keeps the beginning of a longer text. Bytes that are not UTF-8 are
// replaced.
struct Head {};
// A text of at most kLongestText. The sender keeps the end of a longer text. Bytes that are not UTF-8 are replaced.
struct Tail {};
// A number below `least` counts as `least`.
struct Floored {
  int64_t least = -1;
  int64_t most = kNoLimit;
};

inline Error Bad(std::string_view field, const std::string& what) { return InvalidError(field, ": ", what); }

inline Status Within(std::string_view field, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return Ok();
  if (highest == kNoLimit) return Bad(field, StrCat(value, ", expected ", lowest, " or more"));
  return Bad(field, StrCat(value, ", expected ", lowest, " to ", highest));
}

inline Status NoLonger(std::string_view field, const std::string& text, size_t longest) {
  if (text.size() <= longest) return Ok();
  return Bad(field, StrCat(text.size(), " bytes, expected at most ", longest));
}

inline Status NoMore(std::string_view field, size_t number, size_t most) {
  if (number <= most) return Ok();
  return Bad(field, StrCat(number, ", expected at most ", most));
}

template <class Form>
Status CheckText(std::string_view field, const std::string& text, const Form& form) {
  if constexpr (std::is_same_v<Form, Head> || std::is_same_v<Form, Tail>) return NoLonger(field, text, kLongestText);
  if constexpr (requires { form.longest; }) TRY(NoLonger(field, text, form.longest));
  const auto all = [&text](const auto& fits) { return std::ranges::all_of(text, fits); };
  if constexpr (std::is_same_v<Form, Name>) {
    if (text.empty()) return Bad(field, "missing");
    if (!all([](char c) { return c > ' ' && c < '\x7f'; })) return Bad(field, "not printable ASCII");
  }
  if constexpr (std::is_same_v<Form, StreamName>) {
    const bool plain =
        all([](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; });
    if (text.empty() || text.size() > kLongestStreamName || !plain) return Bad(field, "not the name of a log");
  }
  return Ok();
}

// Returns the number in a generated enum, which holds any number that was received. Reading an unknown number as an
// enum would be undefined behavior.
template <class WireEnum>
int NumberOf(const WireEnum& value) {
  static_assert(sizeof(WireEnum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

// Converts TonY's values into fields of the wire.
class ToWire {
 public:
  static constexpr bool kReads = false;

  template <class Wire, class T, class Form = Plain>
  void Field(std::string_view name, Wire& wire, const T& value, const Form& form = {}) {
    if constexpr (kIsId<T>) {
      Field(name, wire, value.value, form);
    } else if constexpr (std::is_enum_v<T> && std::is_same_v<Wire, std::string>) {
      wire = ToString(value);
    } else if constexpr (std::is_enum_v<T>) {
      const auto row = std::ranges::find(RowsOf(value), value, &std::pair<int, T>::second);
      CHECK(row != RowsOf(value).end());
      wire = static_cast<Wire>(row->first);
    } else if constexpr (std::is_same_v<T, Duration>) {
      wire = value.count();
    } else if constexpr (std::is_same_v<T, Instant>) {
      wire = ToMillis(value);
    } else if constexpr (std::is_same_v<Form, Head>) {
      wire = value.substr(0, kLongestText);
    } else if constexpr (std::is_same_v<Form, Tail>) {
      wire = value.substr(value.size() - std::min(value.size(), kLongestText));
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Wire>) {
      wire = static_cast<Wire>(value);
    } else {
      Fields(*this, wire, value);
    }
  }
  template <class Wire, class T, class Form = Plain>
  void IfSet(std::string_view name, Wire& wire, bool /*is_set*/, const std::optional<T>& value, const Form& form = {}) {
    if (value) Field(name, wire, *value, form);
  }
  template <class Wire, class T>
  void Newer(std::string_view name, Wire& wire, const T& value) {
    Field(name, wire, value);
  }
  template <class Wire, class T, class Form = Plain>
  void List(std::string_view name, std::vector<Wire>& wire, const std::vector<T>& list, size_t /*most*/,
            const Form& form = {}) {
    for (const T& item : list) Field(name, wire.emplace_back(), item, form);
  }
};

// Converts fields of the wire into TonY's values. The wire is not trusted: the first invalid field becomes the error.
class FromWire {
 public:
  static constexpr bool kReads = true;

  template <class Wire, class T, class Form = Plain>
  void Field(std::string_view name, const Wire& wire, T& value, const Form& form = {}) {
    if constexpr (kIsId<T>) {
      Field(name, wire, value.value, form);
    } else if constexpr (std::is_enum_v<T> && std::is_same_v<Wire, std::string>) {
      const auto known = FromName<T>(wire);
      Accept(known ? Ok() : Bad(name, "unknown value"));
      value = known.value_or(value);
    } else if constexpr (std::is_enum_v<T>) {
      const auto row = std::ranges::find(RowsOf(value), NumberOf(wire), &std::pair<int, T>::first);
      if (row == RowsOf(value).end()) return Accept(Bad(name, StrCat("unknown value ", NumberOf(wire))));
      value = row->second;
    } else if constexpr (std::is_same_v<T, Duration>) {
      value = Duration(Number(name, wire, form));
    } else if constexpr (std::is_same_v<T, Instant>) {
      value = FromMillis(Number(name, wire, form));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = wire;
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(Number(name, wire, form));
    } else if constexpr (std::is_same_v<T, std::string>) {
      Accept(CheckText(path_ + std::string(name), wire, form));
      constexpr bool for_people = std::is_same_v<Form, Head> || std::is_same_v<Form, Tail>;
      if (status_.ok()) value = for_people ? ReplaceInvalidUtf8(wire) : wire;
    } else {
      Fields(*this, wire, value);
    }
  }
  template <class Wire, class T, class Form = Plain>
  void IfSet(std::string_view name, const Wire& wire, bool is_set, std::optional<T>& value, const Form& form = {}) {
    if (!is_set) return;
    const std::string before = path_;
    if constexpr (std::is_class_v<T>) path_ += StrCat(name, ".");
    Field(name, wire, value.emplace(), form);
    path_ = before;
  }
  // Reads a text that earlier releases do not send. An empty text leaves `value` unchanged.
  template <class T>
  void Newer(std::string_view name, const std::string& wire, T& value) {
    if (!wire.empty()) Field(name, wire, value);
  }
  template <class Wire, class T, class Form = Plain>
  void List(std::string_view name, const std::vector<Wire>& wire, std::vector<T>& list, size_t most,
            const Form& form = {}) {
    Accept(NoMore(name, wire.size(), most));
    for (size_t i = 0; status_.ok() && i < wire.size(); ++i) Field(name, wire[i], list.emplace_back(), form);
  }
  void Accept(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  const Status& status() const { return status_; }

 private:
  int64_t Number(std::string_view name, int64_t value, Plain /*form*/) { return Number(name, value, Between{}); }
  int64_t Number(std::string_view name, int64_t value, Between range) {
    Accept(Within(path_ + std::string(name), value, range.least, range.most));
    return value;
  }
  int64_t Number(std::string_view name, int64_t value, Floored range) {
    return Number(name, std::max(value, range.least), Between{range.least, range.most});
  }

  std::string path_;  // e.g. "usage.gpu."
  Status status_;
};

template <class T, class Wire, class Form = Plain>
Result<T> Read(const Wire& wire, std::string_view name = "", const Form& form = {}) {
  T value{};
  FromWire io;
  io.Field(name, wire, value, form);
  TRY(io.status());
  return value;
}

template <class Wire, class T>
Wire Written(const T& value) {
  Wire wire;
  ToWire().Field("", wire, value);
  return wire;
}

template <class Wire, class T>
std::vector<Wire> AllWritten(const std::vector<T>& list) {
  std::vector<Wire> wire;
  ToWire().List("", wire, list, list.size());
  return wire;
}

}  // namespace tony
