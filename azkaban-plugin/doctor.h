// `tony-azkaban doctor`: what stands in the way of steps of type=tony on this executor server, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"

namespace tony::azkaban {

VerbSpec DoctorVerb();

// `arguments`: those after the verb. Prints the checks; 0: healthy, 1: not. Only looks.
Result<int> RunAzkabanDoctor(const std::vector<std::string>& arguments);

}  // namespace tony::azkaban
