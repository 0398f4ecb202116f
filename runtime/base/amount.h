// An amount of a resource, with a unit as Hadoop writes it (UnitsConversionUtil): "4", "500M", "2 Gi". Pure.
//
// YARN counts each resource type in a unit of the cluster's choice, such as "G" for disks. A request may name another
// unit, and the ResourceManager converts it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tony {

// A number with its unit. Two amounts with different units are unequal, even if they mean the same.
struct Amount {
  Amount(int64_t amount = 0, std::string its_unit = "") : value(amount), unit(std::move(its_unit)) {}
  bool operator==(const Amount&) const = default;

  int64_t value;
  // The unit, as in kAmountUnits. In a request an empty unit stands for the unit in which the cluster counts the
  // resource. In a report of the cluster it stands for the plain number.
  std::string unit;
};

// The units. "p" is a billionth of a thousandth, "m" a thousandth, "M" a million, and "Mi" 1024 times "Ki".
inline constexpr std::string_view kAmountUnits = "p n u m k M G T P Ki Mi Gi Ti Pi";

// Parses digits and a unit, with at most one blank between them. nullopt: the text has another form, for example a
// fraction or a sign, or the number does not fit into 64 bits.
std::optional<Amount> ParseAmount(std::string_view text);

// Returns the text that ParseAmount() reads, e.g. "500M".
std::string ToString(const Amount& amount);

// Converts the amount of a request to `unit`, the unit in which a cluster counts the resource. nullopt: the result is
// not a whole number or does not fit into 64 bits, or a unit is unknown. Hadoop would round a fraction down without a
// message.
std::optional<int64_t> InUnit(const Amount& amount, std::string_view unit);

}  // namespace tony
