// What `tony doctor` finds, wherever it looks.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/names.h"

namespace tony {

enum class Health { kOk, kWarn, kFail };  // fail: jobs cannot run
constexpr auto NamesOf(Health) { return EnumNames("ok", "warn", "fail"); }
struct Check {
  std::string name;  // "ledger"
  Health health = Health::kOk;
  std::string text;    // what was found
  std::string advice;  // what to do; empty where nothing is to be done
};
using Checks = std::vector<Check>;

}  // namespace tony
