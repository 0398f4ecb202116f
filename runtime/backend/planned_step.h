// What a submit would have a scheduler do, in words for people, as `tony plan` tells it.
#pragma once

#include <string>
#include <vector>

namespace tony {

struct PlannedStep {
  std::string what;  // "asked", "shipped", "started"
  std::string text;
};
using PlannedSteps = std::vector<PlannedStep>;

}  // namespace tony
