// The checks of `tony doctor`, except those of the backend. The checks only read: they create and remove nothing.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/backend/health.h"
#include "runtime/cli/text_table.h"

namespace tony {

// Checks $TONY_HOME, or this user's folder in it.
Checks CheckHome();
// Checks the file system that holds `home`. `about` follows the path of `home` in the text.
Check CheckHomeDisk(const std::filesystem::path& home, const std::string& about);
// Warns about jobs that ended long ago and have not been removed.
Checks CheckOldJobs();
// Checks that the programs of jobs lie in tony's folder and can be executed.
Checks CheckPrograms();
// Warns if jobs submitted here would end together with a systemd service.
Checks CheckService();

// Returns the systemd service whose stop also ends the processes in `cgroups`, the text of /proc/self/cgroup. The
// service is the deepest one, except the user's own manager and services with a scope below them. Returns "" if no
// service applies.
std::string ServiceIn(const std::string& cgroups);

// Prints the checks as text or as one JSON object. Returns the exit code: 1 if a check failed, otherwise 0.
int ReportChecks(const Checks& checks, bool as_json, const TableRoom& room);

}  // namespace tony
