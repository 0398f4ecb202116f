// `tony-azkaban install JOBTYPES_FOLDER`: makes `tony` and its aliases job types of an executor server, or upgrades
// them.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"

namespace tony::azkaban {

VerbSpec InstallVerb();

// `arguments`: those after the verb. Prints what it did; the exit code, or an error that left everything as it was.
// Killed at any moment it leaves each job type as it was or as it shall be, and at most a folder beside
// JOBTYPES_FOLDER, which the next run removes: Azkaban reads every folder in there and does not start with a broken
// one.
Result<int> RunInstall(const std::vector<std::string>& arguments);

}  // namespace tony::azkaban
