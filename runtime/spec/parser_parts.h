// The parts of the job spec parser. They are internal to runtime/spec; ParseJobSpec() calls them in its order.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/job/job_spec.h"
#include "runtime/spec/property_values.h"

namespace tony {

using Warnings = std::vector<std::string>;

// Returns the value of tony.scheduler in lower case.
std::string SchedulerOf(const PropertyValues& values);

// Checks that every tony.* key is known, has an effect in this job, and belongs to a role with instances. Otherwise
// adds a warning, or returns an error if the job would run differently from what the key means.
Status CheckKeys(const PropertyValues& values, Warnings& warnings);

struct ParsedRoles {
  std::vector<RoleSpec> roles;
  // True: no role has instances, so the job has one task, as in TonY's single-node mode.
  bool single_task = false;
  CompletionRule completion_rule = CompletionRule::kStrict;
};
Result<ParsedRoles> ParseRoles(const PropertyValues& values, Warnings& warnings);

// Sets `depends_on` of each role. `roles` has all roles of the job, sorted, with their completion.
Status ParseDependencies(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings);

// Sets `outlives` of each role. `roles` has all roles of the job.
Status ParseOutliving(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings);
// Sets when each role is complete. `roles` have their names and instances already. Returns the rule for the whole job.
Result<CompletionRule> ParseCompletion(const PropertyValues& values, bool single_task, std::vector<RoleSpec>& roles,
                                       Warnings& warnings);

// Sets the limits on each task: until it has a container, until it is registered, and on the run of its processes. If a
// key changed its name or meaning between releases of TonY, `tony.compat.version` decides. `spec` has its timers
// already.
Status ParseTaskLimits(const PropertyValues& values, Warnings& warnings, JobSpec& spec);

Result<Timers> ParseTimers(const PropertyValues& values, Warnings& warnings);

Result<RestartRules> ParseRestartRules(const PropertyValues& values, Warnings& warnings);
Status ParseRoleRestart(const PropertyValues& values, RoleSpec& role);  // `role` has its name already.
Result<CheckpointSpec> ParseCheckpoint(const PropertyValues& values, const std::filesystem::path& directory,
                                       Warnings& warnings);

// Returns patterns, then exit codes, then signals, each in the order of the keys.
Result<std::vector<FailureRule>> ParseFailureRules(const PropertyValues& values);

struct ParsedEnvironment {
  std::map<std::string, std::string> execution, container, secrets;
};
Result<ParsedEnvironment> ParseEnvironment(const PropertyValues& values, Warnings& warnings);

// Sets the files that the job brings along. `spec` has its roles already.
Status ParseFiles(const PropertyValues& values, const std::filesystem::path& directory, bool single_task,
                  JobSpec& spec);
// Returns a place in the file system of the job's cluster. Only the cluster knows whether a file exists there. The
// error says what was expected.
Result<HdfsPlace> ParseInHdfs(const PropertyValues& values, std::string_view text);
Result<SiteFiles> ParseSiteFiles(const PropertyValues& values, const std::filesystem::path& directory);

// Adapts the commands of all roles. A command may begin with a Python file of the job that cannot be run by its name.
// It is then run by the job's Python: that of its Python environment, else python3. The absolute path of a program in
// src_dir becomes a path in the task's copy, and a file name with blanks gets quotes. `spec` has its files already.
void RunScriptsByPython(JobSpec& spec, Warnings& warnings);

// Returns a normalised path without a slash at its end. A relative path is relative to `directory`, or to the current
// directory if `directory` is empty.
std::filesystem::path AbsolutePath(const std::string& text, const std::filesystem::path& directory);

// The kernel does not start a process with one argument or variable of this size: MAX_ARG_STRLEN, 32 pages, including
// the NUL at the end.
inline constexpr size_t kMaxStringBytes = 131072;

}  // namespace tony
