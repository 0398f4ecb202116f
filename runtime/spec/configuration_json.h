// A configuration as conf.json keeps it and `tony plan --explain --json` shows it: [{"key","value","source"}].
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/config/configuration.h"

namespace tony {

std::string ToJson(const Configuration& configuration);
Result<Configuration> ConfigurationFromJson(std::string_view json);

}  // namespace tony
