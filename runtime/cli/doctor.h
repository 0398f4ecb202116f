// The checks of `tony doctor`, except those of the backend. The checks only read: they create and remove nothing.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/backend/health.h"
#include "runtime/cli/text_table.h"

namespace tony {

// Checks $TONY_HOME, or this user's folder inside it if several users share it.
Checks CheckHome();
// Checks the file system that holds `home`. In the check's text, `about` is appended to the path of `home`.
Check CheckHomeDisk(const std::filesystem::path& home, const std::string& about);
// Warns about jobs that ended long ago and have not been removed.
Checks CheckOldJobs();
// Checks that the programs that jobs start lie in tony's folder and can be executed.
Checks CheckPrograms();
// Warns if jobs that are submitted here would end when a systemd service stops.
Checks CheckService();

// Returns the systemd service to which this process belongs, so that a stop of the service also ends this process; ""
// if the process belongs to none. `cgroups` is the text of /proc/self/cgroup. If it names several services, the deepest
// one is returned. The user's own service manager does not count, and neither does a service with a scope below it.
std::string ServiceIn(const std::string& cgroups);

// Prints the checks as text or as one JSON object. Returns the exit code: 1 if a check failed, otherwise 0.
int ReportChecks(const Checks& checks, bool as_json, const TableRoom& room);

}  // namespace tony
