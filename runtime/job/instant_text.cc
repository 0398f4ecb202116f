#include "runtime/job/instant_text.h"

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr std::string_view kInstantForm = "dddd-dd-ddTdd:dd:dd.dddZ";

bool HasForm(std::string_view text) {
  if (text.size() != kInstantForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kInstantForm[i] == 'd' ? !digit : text[i] != kInstantForm[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<Instant> InstantFromIso8601(std::string_view text) {
  if (!HasForm(text)) return std::nullopt;
  const auto number = [text](size_t begin, size_t length) {
    return static_cast<int>(ParseInt(text.substr(begin, length)).value_or(0));
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return std::chrono::sys_days(day) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + Duration(number(20, 3));
}

}  // namespace tony
