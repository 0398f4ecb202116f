// Finds a task's daemon that has cut all other ties: no mark in its environment, no ancestor of ours.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace tony::keeper {

// Whether standard output or error of the process is open for writing on a file below `folder`, an absolute path
// without links. Nobody but a job's own processes writes to its logs; who reads them is not meant.
bool WritesBelow(pid_t process, const std::filesystem::path& folder);

}  // namespace tony::keeper
