// How many files keeper, AM and tasks may have open. An AM has a connection to each executor and a keeper a descriptor
// of each, so theirs is raised; a task keeps what its submitter had, as programs that use select() break above 1024.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace tony::keeper {

void RaiseOpenFiles();                             // of this process, and of what it starts
void LimitOpenFiles(pid_t process, int64_t soft);  // of a child

}  // namespace tony::keeper
