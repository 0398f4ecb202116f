// A table of names for an enum whose values count from 0 without a gap. ToString() and FromName() both read it.
//
//   enum class Completion { kTracked, kUntracked, kSidecar };
//   constexpr auto NamesOf(Completion) { return EnumNames("tracked", "untracked", "sidecar"); }
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/base/check.h"

namespace tony {

// Returns the table of names for NamesOf(). `texts` must be in the order of the enum's values.
template <class... Texts>
constexpr auto EnumNames(const Texts&... texts) {
  return std::array<std::string_view, sizeof...(Texts)>{texts...};
}

template <class Enum>
concept HasNames = std::is_enum_v<Enum> && requires(Enum value) {
  NamesOf(value);
};

template <HasNames Enum>
constexpr std::string_view ToString(Enum value) {
  const auto place = static_cast<size_t>(value);
  CHECK(place < NamesOf(value).size());
  return NamesOf(value)[place];
}

template <HasNames Enum>
constexpr std::optional<Enum> FromName(std::string_view name) {
  constexpr auto names = NamesOf(Enum{});
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<Enum>(found - names.begin()));
}

// Returns all names for a message, e.g. "strict or tony", or "task, role, gang or job".
template <HasNames Enum>
const std::string& AllNames() {
  static const std::string& all = *new std::string([] {
    constexpr auto names = NamesOf(Enum{});
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
      text.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
    return text;
  }());
  return all;
}

}  // namespace tony
