// What stands between the NodeManager and an executor in a container, so that no single death leaves a task behind:
// tasks are in sessions of their own, where nobody else would find them.
//
//   NodeManager --TERM, 250 ms later KILL, to its group--> front -- guard, in another session -- executor -- tasks
//
//   the executor ends, or is killed   the guard is the nearest subreaper above the tasks: it ends what is left of them
//   the guard is killed               the executor is told by the kernel, and the front ends what is left of both
//   the front is killed               the guard is told by the kernel. The NodeManager's KILL does not reach it: it has
//                                     the time it needs
//   somebody is told to end (TERM)    tells the next one and wakes it, if it was stopped. The guard kills an executor
//                                     that does not end
#pragma once

#include <string_view>

namespace tony::executor {

inline bool IsInContainer(std::string_view argument) { return argument == "--container"; }

// Returns in the executor, a grandchild of this process. This process and the one between them wait for its end, leave
// nothing below themselves, and end with its exit code, or with 128 and its signal. Before any thread is started.
void LeaveFrontBehind();

}  // namespace tony::executor
