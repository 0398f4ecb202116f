// What `tony doctor` looks at, beside what the backend says of itself. Each check only looks: it makes and removes
// nothing.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/backend/health.h"
#include "runtime/cli/text_table.h"

namespace tony {

Checks CheckHome();  // $TONY_HOME, or this user's folder in it
Check CheckHomeDisk(const std::filesystem::path& home, const std::string& about);  // what it lies on; `about`: of it
Checks CheckOldJobs();                                                             // whether anybody removes them
Checks CheckPrograms();                                                            // beside tony
Checks CheckService();  // whether the jobs end with somebody else's service

// The service whose end ends what runs in the cgroups of /proc/self/cgroup: the deepest one that is not the user's own
// manager, unless a scope of its own is below it. Empty: none.
std::string ServiceIn(const std::string& cgroups);

// Prints them, as text or as one JSON object; the exit code: 0, or 1 where one failed.
int ReportChecks(const Checks& checks, bool as_json, const TableRoom& room);

}  // namespace tony
