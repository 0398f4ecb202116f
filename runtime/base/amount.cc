#include "runtime/base/amount.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// A unit as a multiple (`times`) or a part (`parts`) of the plain number.
struct Unit {
  std::string_view name;
  int64_t times, parts;
};
constexpr int64_t kThousand = 1000, kKi = 1024;
constexpr Unit kAll[] = {
    {"p", 1, kThousand* kThousand* kThousand* kThousand},
    {"n", 1, kThousand* kThousand* kThousand},
    {"u", 1, kThousand* kThousand},
    {"m", 1, kThousand},
    {"", 1, 1},
    {"k", kThousand, 1},
    {"M", kThousand* kThousand, 1},
    {"G", kThousand* kThousand* kThousand, 1},
    {"T", kThousand* kThousand* kThousand* kThousand, 1},
    {"P", kThousand* kThousand* kThousand* kThousand* kThousand, 1},
    {"Ki", kKi, 1},
    {"Mi", kKi* kKi, 1},
    {"Gi", kKi* kKi* kKi, 1},
    {"Ti", kKi* kKi* kKi* kKi, 1},
    {"Pi", kKi* kKi* kKi* kKi* kKi, 1},
};

const Unit* FindUnit(std::string_view name) {
  const auto unit = std::ranges::find(kAll, name, &Unit::name);
  return unit == std::end(kAll) ? nullptr : unit;
}

}  // namespace

std::optional<Amount> ParseAmount(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digits = static_cast<size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  std::string_view unit = text.substr(digits);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto number = ParseInt(text.substr(0, digits));
  if (!number || !FindUnit(unit) || text.ends_with(' ')) return std::nullopt;
  return Amount{*number, std::string(unit)};
}

std::string ToString(const Amount& amount) { return StrCat(amount.value, amount.unit); }

std::optional<int64_t> InUnit(const Amount& amount, std::string_view unit) {
  if (amount.unit.empty() || amount.unit == unit) return amount.value;
  const Unit* const from = FindUnit(amount.unit);
  const Unit* const to = FindUnit(unit);
  if (!from || !to) return std::nullopt;
  __extension__ using Wide = __int128;
  const Wide times = Wide{from->times} * to->parts, parts = Wide{from->parts} * to->times;
  Wide product = 0;
  if (__builtin_mul_overflow(Wide{amount.value}, times, &product)) return std::nullopt;
  if (product % parts != 0 || product / parts > std::numeric_limits<int64_t>::max()) return std::nullopt;
  return static_cast<int64_t>(product / parts);
}

}  // namespace tony
