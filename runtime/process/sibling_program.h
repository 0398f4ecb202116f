// Our programs find each other in one folder, in the build tree as when installed.
#pragma once

#include <string>
#include <string_view>

namespace tony {

std::string SiblingProgram(std::string_view name);  // "tony-am" -> "/folder/of/this/program/tony-am"

}  // namespace tony
