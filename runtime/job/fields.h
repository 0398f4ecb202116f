// Each value type has one list of its fields. The list serves every format that the value is written in:
//
//   void Fields(auto& io, Is<GpuUsage> auto& gpu) {
//     io.Field("memory_bytes", gpu.memory_bytes);
//     io.Field("percent", gpu.percent, Between{0, 100});
//   }
//
// The list serves both the writer and the reader. `io` is a JsonWriter or a JsonReader (json_fields.h) for documents,
// journal records and ledger entries, or a PacketWriter or a PacketReader (keeper/message_fields.h). A writer puts the
// members of a JSON object in the order of the list. A reader accepts any order, and ignores members without a field.
//
//   Field(name, value, form)          required: a reader refuses a document without the member
//   Later(name, value, form, absent)  always written (null for an empty optional). Documents of an earlier release lack
//                                     the member: the reader then sets the value to `absent`, or leaves it unchanged
//   IfSet(name, value, form)          written only if the value differs from T{}
//   Unless(name, value, usual, form)  written only if the value differs from `usual`, which it has before it is read
//   Derived(name, value)              written for people and other programs, never read
//   Present(name, written)            whether the fields that depend on `name` are in the document: a writer returns
//                                     `written`, a reader returns whether the member exists
//   Object(name, list)                a nested object; the function list(io) lists its fields
//   Check(name, holds, expected)      a reader refuses the document unless `holds` is true
//
// A number must be at least 0, and an `int` at most kMostCount, unless the form is Between. A Duration is written in
// milliseconds, an Instant in milliseconds since 1970 unless the form is kIso. A type with a function FormOf() is
// written as text.
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

// The upper bound of every count that is kept in an int.
inline constexpr int64_t kMostCount = 1'000'000'000;

// ---- Forms: how a value is written

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

// The form of a value that is written as text. to(value) returns the text, and from(text) returns an optional value.
// `expected` describes a valid text for error messages.
template <class To, class From>
struct TextForm {
  To to;
  From from;
  std::string_view expected;
};
template <class To, class From>
TextForm(To, From, std::string_view) -> TextForm<To, From>;

// An enum with a table of names is written as its name.
template <HasNames Enum>
auto FormOf(const Enum& /*value*/) {
  return TextForm{ToString<Enum>, FromName<Enum>, AllNames<Enum>()};
}

inline constexpr TextForm kIso{ToIso8601, InstantFromIso8601, "a time such as 2026-11-21T09:30:15.123Z"};

// Satisfied if the form writes the whole type as text. If the type is an optional, the form has a text for the empty
// optional too.
template <class Form, class T>
concept TextOf = requires(const Form& form, const T& value) {
  std::string_view(form.to(value));
};
// Satisfied if the type has its own form, the function FormOf().
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

// ---- Helpers for lists of fields

// Returns the value inside the optional. If the optional is empty, a T{} is put into it first, for a reader to fill.
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

// Writes the version of a document, or checks it. A reader refuses a version above `newest`, because a later release
// wrote it.
void Schema(auto& io, int64_t newest, int64_t first = 1) {
  int64_t schema = newest;
  io.Field("schema", schema, Between{first, newest});
}

// Returns a variant that holds the default value of the alternative at `index`.
template <class Variant>
Variant DefaultAlternative(size_t index) {
  Variant blank;
  const auto make = [&]<size_t... kIndexes>(std::index_sequence<kIndexes...>) {
    (void)((index == kIndexes && (blank.template emplace<kIndexes>(), true)) || ...);
  };
  make(std::make_index_sequence<std::variant_size_v<Variant>>());
  return blank;
}

// Lists the fields of a variant. The member `name` holds the kind of the value, and the fields of that kind are in the
// same object. `kinds` names the alternatives in the order of the variant. A reader refuses an unknown kind.
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
    value = DefaultAlternative<Variant>(index);
  }
  std::visit([&](auto& body) { Fields(io, body); }, value);
}

}  // namespace tony
