// The functions that ParseJobSpec() calls, each of which parses one part of the job spec. They are internal to
// runtime/spec. A comment states which parts must have been parsed before.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
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

// Adds a warning for each tony.* key that is unknown, has no effect in this job, or belongs to a role that the job
// lacks.
void CheckKeys(const PropertyValues& values, Warnings& warnings);

struct ParsedRoles {
  std::vector<RoleSpec> roles;
  // True: no role has instances, so the job has one task, as in TonY's single-node mode.
  bool single_task = false;
  CompletionRule completion_rule = CompletionRule::kStrict;
};
Result<ParsedRoles> ParseRoles(const PropertyValues& values, Warnings& warnings);

// Sets `depends_on` of each role. `roles` has all roles of the job, sorted by name, with their completion.
Status ParseDependencies(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings);

// Sets `outlives` of each role. `roles` has all roles of the job.
Status ParseOutliving(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings);
// Sets when each role is complete, and returns the rule for the whole job. `roles` have their names and instances
// already.
Result<CompletionRule> ParseCompletion(const PropertyValues& values, bool single_task, std::vector<RoleSpec>& roles,
                                       Warnings& warnings);

// Sets three limits on each task: the time until the task has a container, the time until the task is registered, and
// the running time of its processes. If a key changed its name or meaning between releases of TonY,
// `tony.compat.version` decides which meaning applies. `spec` has its timers already.
Status ParseTaskLimits(const PropertyValues& values, Warnings& warnings, JobSpec& spec);

Result<Timers> ParseTimers(const PropertyValues& values, Warnings& warnings);

Result<RestartRules> ParseRestartRules(const PropertyValues& values, Warnings& warnings);
// Sets the role's own restart settings. `role` has its name already.
Status ParseRoleRestart(const PropertyValues& values, RoleSpec& role);
Result<CheckpointSpec> ParseCheckpoint(const PropertyValues& values, const std::filesystem::path& directory,
                                       Warnings& warnings);

// Returns the job's own rules: first the rules by pattern, then by exit code, then by signal. Each of these groups is
// in the order of its keys.
Result<std::vector<FailureRule>> ParseFailureRules(const PropertyValues& values);

struct ParsedEnvironment {
  std::map<std::string, std::string> execution, container, secrets;
};
Result<ParsedEnvironment> ParseEnvironment(const PropertyValues& values, Warnings& warnings);

// Sets the files that the job names for its tasks and its AM. `spec` has its roles already.
Status ParseFiles(const PropertyValues& values, const std::filesystem::path& directory, bool single_task,
                  JobSpec& spec);
// Returns a place in the file system of the job's cluster. Only the cluster knows whether a file exists there. The
// error says what was expected.
Result<HdfsPlace> ParseInHdfs(const PropertyValues& values, std::string_view text);
Result<SiteFiles> ParseSiteFiles(const PropertyValues& values, const std::filesystem::path& directory);

// ---- sweep_parser.cc: the trials of a sweep, from the keys tony.sweep.*

inline constexpr size_t kMostTrials = 10'000;

// Returns the trials; nullopt if no key requests a sweep. Reads the file of tony.sweep.file.
Result<std::optional<Sweep>> ParseSweep(const Properties& properties, const std::filesystem::path& directory);

// Returns the properties with the role of the trials, whose tasks are independent of each other. Keys that are set stay.
Properties WithTrials(const Properties& properties, const Sweep& sweep);

// Sets how many trials may fail, and replaces {NAME} by the value of the parameter in the command of the trials. `spec`
// has its roles already.
Status CompleteTrials(const Properties& properties, const Sweep& sweep, JobSpec& spec);

// Returns the command with a reference to the variable NAME in place of each {NAME} that is a parameter. The shell never
// reads a value as a part of the command.
std::string WithParameters(const std::string& command, const Sweep& sweep);

// Returns the placement constraint of the key, or "".
Result<std::string> ConstraintText(const PropertyValues& values, std::string_view key);

// Sets the images of the job's containers, and the folders that these see. `spec` has its scheduler and roles already.
Status ParseImages(const PropertyValues& values, bool single_task, JobSpec& spec);

// Adapts the commands of all roles. If a command begins with a Python file of the job that cannot be run by its name,
// the job's Python runs the file: the interpreter of the job's Python environment, or else python3. The absolute
// path of a program in src_dir becomes a path in the task's copy. A file name with blanks gets quotes. `spec` has its
// files already.
void RunScriptsByPython(JobSpec& spec, Warnings& warnings);

// Returns whether the tasks of a role run a node of Ray and no command of the user's.
bool StartsRayNode(const PropertyValues& values, std::string_view role);

// Completes the commands of the roles that start a part of the framework: Ray's nodes, and a user's own driver of
// Horovod. `spec` has its other commands in their final form.
Status AddFrameworkCommands(const PropertyValues& values, JobSpec& spec);

// Returns a normalised path without a slash at its end. A relative path is relative to `directory`, or to the current
// directory if `directory` is empty.
std::filesystem::path AbsolutePath(const std::string& text, const std::filesystem::path& directory);

// The kernel does not start a process if one argument or variable has this size: MAX_ARG_STRLEN, 32 pages, including
// the NUL at the end.
inline constexpr size_t kMaxStringBytes = 131072;

}  // namespace tony
