// The results of `tony doctor` for all backends.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/names.h"

namespace tony {

enum class Health { kOk, kWarn, kFail };  // kFail: jobs cannot run
constexpr auto NamesOf(Health) { return EnumNames("ok", "warn", "fail"); }
struct Check {
  std::string name;  // e.g. "ledger"
  Health health = Health::kOk;
  std::string text;    // the finding
  std::string advice;  // empty: no action needed
};
using Checks = std::vector<Check>;

}  // namespace tony
