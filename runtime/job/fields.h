// One list of fields for each value, whatever the value is written as:
//
//   void Fields(auto& io, Is<GpuUsage> auto& gpu) {
//     io.Field("memory_bytes", gpu.memory_bytes);
//     io.Field("percent", gpu.percent, Between{0, 100});
//   }
//
// The list serves the writer and the reader. `io` is a JsonWriter or a JsonReader (json_fields.h) for documents,
// journal records and ledger entries, or a PacketWriter or a PacketReader (keeper/message_fields.h). Members of a
// JSON object stand in the order of the list; a reader takes them in any order, and ignores members that no list names.
//
//   Field(name, value, form)          always there: a reader refuses a document without it
//   Later(name, value, form, absent)  always written (null for an empty optional); documents of an earlier release lack
//                                     it, and then the value becomes `absent`, or stays as it is
//   IfSet(name, value, form)          written where it differs from T{}
//   Unless(name, value, usual, form)  written where it differs from `usual`, which is its value before it is read
//   Derived(name, value)              written for others, and never read
//   Present(name, written)            whether the fields that depend on `name` are there: a writer returns `written`, a
//                                     reader looks for the member
//   Object(name, list)                a nested object; the function list(io) lists its fields
//   Check(name, holds, expected)      a reader refuses the document unless `holds`
//
// Numbers have bounds: from 0, and an `int` to kMostCount, unless the form is Between. A Duration is in milliseconds,
// an Instant in milliseconds since 1970 unless the form is kIso. A type with a function FormOf() stands as text.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "runtime/base/names.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

template <class T, class Value>
concept Is = std::is_same_v<std::remove_const_t<T>, Value>;

inline constexpr int64_t kMostCount = 1'000'000'000;  // of anything that is counted in an int

// ---- forms

struct Plain {};

struct Between {
  int64_t least = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
};
inline constexpr Between kAnyNumber{std::numeric_limits<int64_t>::min()};
constexpr Between AtLeast(int64_t least) { return {least}; }

template <class T>
constexpr Between RangeOf(Plain) {
  return std::is_same_v<T, int> ? Between{0, kMostCount} : Between{};
}
template <class T>
constexpr Between RangeOf(Between range) {
  return range;
}

// A value as text: to(value) is the text, from(text) an optional value, and `expected` says what a text should be.
template <class To, class From>
struct TextForm {
  To to;
  From from;
  std::string_view expected;
};
template <class To, class From>
TextForm(To, From, std::string_view) -> TextForm<To, From>;

// An enum with a table of names stands as its name.
template <HasNames Enum>
auto FormOf(const Enum& /*value*/) {
  return TextForm{ToString<Enum>, FromName<Enum>, AllNames<Enum>()};
}

inline constexpr TextForm kIso{ToIso8601, InstantFromIso8601, "a time such as 2026-11-21T09:30:15.123Z"};

// The form suits the whole type: an optional, too, where the text says that there is no value.
template <class Form, class T>
concept TextOf = requires(const Form& form, const T& value) {
  std::string_view(form.to(value));
};
// The type has a form of its own.
template <class T>
concept HasTextForm = requires(const T& value) {
  FormOf(value);
};

template <class T>
inline constexpr bool kIsId = false;
template <class Tag>
inline constexpr bool kIsId<NamedId<Tag>> = true;
template <class Tag>
inline constexpr bool kIsId<NumberedId<Tag>> = true;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// ---- for lists

// What is read into, or written: a reader makes the value first.
template <class T>
T& Value(std::optional<T>& value) {
  return value ? *value : value.emplace(T{});
}
template <class T>
const T& Value(const std::optional<T>& value) {
  return *value;
}
template <class T, class... Types>
T& Alternative(std::variant<Types...>& value) {
  return std::holds_alternative<T>(value) ? std::get<T>(value) : value.template emplace<T>();
}
template <class T, class... Types>
const T& Alternative(const std::variant<Types...>& value) {
  return std::get<T>(value);
}

// The version of a document. Readers refuse those of later releases.
void Schema(auto& io, int64_t newest, int64_t first = 1) {
  int64_t schema = newest;
  io.Field("schema", schema, Between{first, newest});
}

// The variant's alternative at `index`, empty.
template <class Variant>
Variant BlankAlternative(size_t index) {
  Variant blank;
  const auto make = [&]<size_t... kIndexes>(std::index_sequence<kIndexes...>) {
    (void)((index == kIndexes && (blank.template emplace<kIndexes>(), true)) || ...);
  };
  make(std::make_index_sequence<std::variant_size_v<Variant>>());
  return blank;
}

// One of several kinds of values: the member `name` has its kind, and its fields are in the same object. `kinds` are in
// the order of the variant. A reader refuses a kind that is not among them.
template <class Io, class Variant, size_t kSize>
void OneOf(Io& io, std::string_view name, Variant& value, const std::array<std::string_view, kSize>& kinds) {
  static_assert(kSize == std::variant_size_v<std::remove_const_t<Variant>>);
  std::string kind(kinds[value.index()]);
  io.Field(name, kind);
  if constexpr (Io::kReads) {
    size_t index = 0;
    while (index < kSize && kinds[index] != kind) ++index;
    io.Check(name, index < kSize, "a kind that this release knows, not \"" + kind + "\"");
    if (!io.status().ok()) return;
    value = BlankAlternative<Variant>(index);
  }
  std::visit([&](auto& body) { Fields(io, body); }, value);
}

}  // namespace tony
