#include "runtime/base/amount.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/support/table_test.h"

namespace tony {
namespace {

// "TEXT" or "TEXT in UNIT".
std::string Read(const std::string& given) {
  const size_t in = given.find(" in ");
  const auto amount = ParseAmount(given.substr(0, in));
  if (!amount) return "not an amount";
  if (in == std::string::npos) return StrCat(amount->value, " of unit '", amount->unit, "'");
  const auto number = InUnit(*amount, given.substr(in + 4));
  return number ? StrCat(*number) : "not whole";
}

const TestRow kAmounts[] = {
    {"AnAmountIsAWholeNumberWithAnOptionalUnit",
     {{"2", "2 of unit ''"},
      {"0", "0 of unit ''"},
      {"500M", "500 of unit 'M'"},
      {"4 Gi", "4 of unit 'Gi'"},
      {"3m", "3 of unit 'm'"},
      {"9223372036854775807", "9223372036854775807 of unit ''"}}},
    {"TextThatIsNotAWholeNumberWithAKnownUnitIsRefused",
     {{"", "not an amount"},
      {"M", "not an amount"},
      {"-1", "not an amount"},
      {"1.5", "not an amount"},
      {"2g", "not an amount"},
      {"2GB", "not an amount"},
      {"2  G", "not an amount"},
      {"2 ", "not an amount"},
      {"+2", "not an amount"},
      {"9223372036854775808", "not an amount"}}},
    {"AnAmountIsConvertedOnlyIfTheResultIsAWholeNumber",
     {{"2G in M", "2000"},
      {"2Gi in Mi", "2048"},
      {"2k in ", "2000"},
      {"1Ki in ", "1024"},
      {"3000m in ", "3"},
      {"5 in m", "5"},  // without a unit: the cluster's own
      {"125Ki in k", "128"},
      {"7P in p", "not whole"},  // too large
      {"500M in G", "not whole"},
      {"1Ki in k", "not whole"},
      {"9223372036854775807k in ", "not whole"},
      {"9223372036854775807P in p", "not whole"},
      {"1k in parsecs", "not whole"}}},
};
TABLE_TEST(AmountTest, kAmounts, Gives(Read));

}  // namespace
}  // namespace tony
