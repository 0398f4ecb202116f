// What `tony-azkaban VERB --help` prints.
#pragma once

#include <string>
#include <vector>

#include "runtime/client/command_line.h"

namespace tony::azkaban {

bool AsksForHelp(const std::vector<std::string>& arguments);
std::string HelpOf(const VerbSpec& verb);

}  // namespace tony::azkaban
