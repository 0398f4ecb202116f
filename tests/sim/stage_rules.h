// When the tasks of a staged job start, said again from the manual and not from runtime/framework. Whoever changes one
// of the two has to change the other.
#pragma once

#include <string>

#include "runtime/job/job_spec.h"

namespace tony::sim {

inline constexpr char kPublished[] = "ADDRESS";  // the one value that there is

int StageRule(const JobSpec& spec, const std::string& role);
bool MustPublish(const JobSpec& spec, const std::string& role);  // others wait for it

}  // namespace tony::sim
