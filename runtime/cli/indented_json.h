// JSON for people. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tony {

// One member a line, indented. `json`: valid and compact.
std::string IndentedJson(std::string_view json);

}  // namespace tony
