// The parts of the job spec parser, one file each. Only job_spec_parser.cc calls them, in its order.
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

std::string SchedulerOf(const PropertyValues& values);  // tony.scheduler, in lower case

// Every tony.* key is known, has an effect here, and speaks of a role that was asked for; else a warning, or an error
// where to ignore it would run the wrong thing.
Status CheckKeys(const PropertyValues& values, Warnings& warnings);

struct ParsedRoles {
  std::vector<RoleSpec> roles;
  bool single_task = false;  // no role was asked for: one task, as TonY's single-node mode
  CompletionRule completion_rule = CompletionRule::kStrict;
};
Result<ParsedRoles> ParseRoles(const PropertyValues& values, Warnings& warnings);

// Into `roles`, which are all there are, sorted, with their completion.
Status ParseDependencies(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings);

Status ParseOutliving(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings);  // the same
// When the job is over, into `roles`, which have their names and instances; gives the rule for all.
Result<CompletionRule> ParseCompletion(const PropertyValues& values, bool single_task, std::vector<RoleSpec>& roles,
                                       Warnings& warnings);

// Of one task: until it has a container, until it is registered, of its processes. Where TonY gave a key another name
// or another meaning, `tony.compat.version` says whose is meant. `spec` has its timers already.
Status ParseTaskLimits(const PropertyValues& values, Warnings& warnings, JobSpec& spec);

Result<Timers> ParseTimers(const PropertyValues& values, Warnings& warnings);

Result<RestartRules> ParseRestartRules(const PropertyValues& values, Warnings& warnings);
Status ParseRoleRestart(const PropertyValues& values, RoleSpec& role);  // `role` has its name already
Result<CheckpointSpec> ParseCheckpoint(const PropertyValues& values, const std::filesystem::path& directory,
                                       Warnings& warnings);

// Patterns, then exit codes, then signals; each in the order of the keys.
Result<std::vector<FailureRule>> ParseFailureRules(const PropertyValues& values);

struct ParsedEnvironment {
  std::map<std::string, std::string> execution, container, secrets;
};
Result<ParsedEnvironment> ParseEnvironment(const PropertyValues& values, Warnings& warnings);

// What the job brings along, into `spec`, which has its roles already.
Status ParseFiles(const PropertyValues& values, const std::filesystem::path& directory, bool single_task,
                  JobSpec& spec);
// A place in the file system of the job's cluster, which alone knows whether there is something; else what was
// expected.
Result<HdfsPlace> ParseInHdfs(const PropertyValues& values, std::string_view text);
Result<SiteFiles> ParseSiteFiles(const PropertyValues& values, const std::filesystem::path& directory);

// A command that begins with a Python file of the job's that could not be run by its name gets the job's Python before
// it: that of its environment, else python3. A program of src_dir that it names by its absolute path becomes the one of
// the task's copy, and a name with blanks gets quotes. `spec` has its files already.
void RunScriptsByPython(JobSpec& spec, Warnings& warnings);

// Normalised, without a slash at its end; relative to `directory`, or where that is empty to the current one.
std::filesystem::path AbsolutePath(const std::string& text, const std::filesystem::path& directory);

// The kernel refuses to start a process with one argument or variable of this size: MAX_ARG_STRLEN, 32 pages, with
// the NUL at its end.
inline constexpr size_t kMaxStringBytes = 131072;

}  // namespace tony
