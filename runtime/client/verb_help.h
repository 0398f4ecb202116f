// The help text of one verb, from the table that the parser reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/client/command_line.h"

namespace tony {

bool AsksForHelp(const std::vector<std::string>& arguments);
std::string HelpOf(std::string_view program, const VerbSpec& verb);
std::string HelpRow(std::string left, std::string_view right);  // of two columns

}  // namespace tony
