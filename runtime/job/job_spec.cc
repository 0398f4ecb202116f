#include "runtime/job/job_spec.h"

#include <algorithm>
#include <functional>

#include "runtime/base/check.h"
#include "runtime/base/placement_constraint.h"
#include "runtime/base/strings.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {

std::optional<DistributedMode> DistributedModeFromString(std::string_view text) {
  for (const auto mode : {DistributedMode::kGang, DistributedMode::kFcfs})
    if (ToLower(ToString(mode)) == ToLower(text)) return mode;
  return std::nullopt;
}

Result<std::vector<Mount>> ParseMounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string& item : Split(text, ',')) {
    const std::string_view trimmed = Trim(item);
    if (trimmed.empty()) continue;
    const auto parts = Split(trimmed, ':');
    const bool has_mode = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
    const bool is_mount = (parts.size() == 2 || has_mode) && parts[0].starts_with('/') && parts[1].starts_with('/');
    if (!is_mount) return InvalidError("expected SOURCE:TARGET or SOURCE:TARGET:ro with absolute paths");
    mounts.push_back({parts[0], parts[1], has_mode && parts[2] == "ro"});
  }
  return mounts;
}

bool IsFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

bool IsReservedFileName(std::string_view name) {
  return name == "tony-error.json" || name == "tony-hostfile" || name == "tony-output.json";
}

Duration CallTimeout(const Timers& timers) { return std::min(Duration(5000), timers.record_fresh); }

std::string RoleSpec::Key(std::string_view what) const {
  return StrCat(key_prefix.empty() ? StrCat("tony.", name) : key_prefix, ".", what);
}

std::string OutliveLimit::Key(std::string_view role) const {
  return StrCat("tony.application.dependency.", role, ".timeout.after.", group);
}

int RoleSpec::FailureLimit() const {
  if (min_failed) return *min_failed;
  if (min_succeeded > 0) return instances - min_succeeded + 1;
  return completion == Completion::kSidecar ? 0 : 1;
}

const RoleSpec* JobSpec::FindRole(std::string_view role) const {
  for (const auto& candidate : roles) {
    if (candidate.name == role) return &candidate;
  }
  return nullptr;
}

bool JobSpec::RequestsGpus() const {
  return std::ranges::any_of(roles, [](const RoleSpec& role) { return role.resources.gpus > 0; });
}

bool JobSpec::HasMaxParallel() const {
  return std::ranges::any_of(roles, [](const RoleSpec& role) { return role.max_parallel != 0; });
}

bool JobSpec::UsesPodman() const {
  return scheduler != kYarnScheduler &&
         std::ranges::any_of(roles, [](const RoleSpec& role) { return !role.image.empty(); });
}

// The limit applies only on YARN, where a job may have some containers while it waits for others. Other schedulers give
// a job all resources when the job starts, and take them back when the job ends.
Duration JobSpec::ContainerHoldLimit() const { return scheduler == kYarnScheduler ? yarn.gang_hold : Duration(0); }

int JobSpec::ProcessesOf(std::string_view role) const {
  const RoleSpec* found = FindRole(role);
  return found ? found->processes : 1;
}

int JobSpec::TotalTasks() const {
  int total = 0;
  for (const auto& role : roles) total += role.instances;
  return total;
}

int JobSpec::TrackedTasks() const {
  int total = 0;
  for (const auto& role : roles) {
    if (role.completion == Completion::kTracked) total += role.instances;
  }
  return total;
}

std::string JobSpec::ChiefRole() const {
  return FindRole("chief") ? "chief" : framework == FrameworkKind::kRay ? "head" : "worker";
}

bool JobSpec::IsChief(const TaskId& task) const {
  return task.index == 0 && task.role == ChiefRole() && FindRole(task.role);
}

// The list of fields of a job spec. Job specs of release 0.1 lack each field that is listed with Later().

constexpr auto FormOf(const FrameworkKind&) {
  return TextForm{ToString<FrameworkKind>, FromName<FrameworkKind>, kFrameworkNames};
}
constexpr auto FormOf(const DistributedMode&) {
  return TextForm{ToString<DistributedMode>, DistributedModeFromString, "GANG or FCFS"};
}

// A role without a restart scope of its own is written as "framework".
using OwnScope = std::optional<RestartScope>;
constexpr TextForm kOwnScope{[](const OwnScope& scope) { return scope ? ToString(*scope) : "framework"; },
                             [](std::string_view text) -> std::optional<OwnScope> {
                               const OwnScope scope = FromName<RestartScope>(text);
                               return scope || text == "framework" ? std::optional<OwnScope>(scope) : std::nullopt;
                             },
                             "framework, task, role, gang or job"};

// The text is "latest" if the job resumes from the newest checkpoint of any job. The text is empty if the job resumes
// only from its own checkpoints.
constexpr TextForm kResumeLatest{[](const bool& latest) { return latest ? "latest" : ""; },
                                 [](std::string_view text) {
                                   return text.empty() || text == "latest" ? std::optional(!text.empty())
                                                                           : std::nullopt;
                                 },
                                 "latest"};

void Fields(auto& io, Is<FileSpec> auto& file) {
  io.Field("source", file.source);
  io.Field("name", file.name);
  io.Field("archive", file.archive);
  io.Check("name", IsFileName(file.name), "a name without a slash");
}

bool IsPlacementSpec(const std::string& text) { return text.empty() || ParsePlacementConstraint(text).ok(); }

void Fields(auto& io, Is<Dependency> auto& dependency) {
  io.Field("role", dependency.role);
  io.Field("until", dependency.until);
}

void Fields(auto& io, Is<OutliveLimit> auto& outliving) {
  io.Field("group", outliving.group);
  io.Field("roles", outliving.roles);
  io.Field("limit_ms", outliving.limit);
  io.Field("ignored", outliving.ignored);
  io.Check("roles", !outliving.roles.empty(), "at least one role");
}

void Fields(auto& io, Is<RoleSpec> auto& role) {
  io.Field("name", role.name);
  io.Field("instances", role.instances, Between{1, kMostCount});
  io.IfSet("max_parallel", role.max_parallel, Between{kAutoParallel, kMostCount});
  Fields(io, role.resources);
  io.IfSet("resources", role.resources.others);
  io.IfSet("node_label", role.node_label);
  io.IfSet("placement", role.placement);
  io.IfSet("placement_spec", role.placement_spec);
  io.IfSet("allocation_tags", role.allocation_tags);
  io.IfSet("image", role.image);
  io.IfSet("key_prefix", role.key_prefix);
  io.Unless("processes", role.processes, 1, Between{1, kMostProcesses});
  io.IfSet("outlives_restarts", role.outlives_restarts);
  io.Field("command", role.command);
  io.Field("completion", role.completion);
  io.IfSet("min_succeeded", role.min_succeeded, Between{1, role.instances});
  io.IfSet("min_failed", role.min_failed, Between{0, role.instances});
  io.Later("restart_scope", role.restart_scope, kOwnScope);
  io.Later("restarts", role.restarts);
  io.Check("name", !role.name.empty(), "a role's name");
  io.Check("command", !role.command.empty(), "a command");
  io.Check("placement_spec", IsPlacementSpec(role.placement_spec), "a placement constraint");
  io.Later("files", role.files);
  io.IfSet("outlives", role.outlives);
  io.IfSet("depends_on", role.depends_on);
}

void Fields(auto& io, Is<Timers> auto& timers) {
  io.Field("heartbeat_ms", timers.heartbeat);
  io.Field("suspect_after_ms", timers.suspect_after);
  io.Field("cutoff_after_ms", timers.cutoff_after);
  io.Field("grace_ms", timers.grace);
  io.Field("lost_after_ms", timers.lost_after);
  io.Field("record_fresh_ms", timers.record_fresh);
  io.Field("am_lease_ms", timers.am_lease);
  io.Field("orphan_timeout_ms", timers.orphan_timeout);
  io.IfSet("execution_limit_ms", timers.execution_limit);
}

void Fields(auto& io, Is<RestartBudget> auto& budget) {
  io.Field("most", budget.most);
  io.Field("window_ms", budget.window);
}

void Fields(auto& io, Is<RestartRules> auto& rules) {
  for (size_t level = 0; level < kRestartScopes; ++level)
    io.Field(ToString(static_cast<RestartScope>(level)), rules.levels[level]);
  io.Field("lost", rules.lost);
  io.Field("backoff_ms", rules.backoff);
  io.Field("longest_backoff_ms", rules.longest_backoff);
  io.Field("settle_ms", rules.settle);
}

void Fields(auto& io, Is<CheckpointSpec> auto& checkpoint) {
  io.Field("directory", checkpoint.directory);
  io.Field("pattern", checkpoint.pattern);
  io.Field("most_fruitless", checkpoint.most_fruitless, Between{1, kMostCount});
  io.IfSet("resume", checkpoint.resume_latest, kResumeLatest);
}

void Fields(auto& io, Is<YarnSpec> auto& yarn) {
  static const YarnSpec usual;
  io.Field("queue", yarn.queue);
  io.Field("am_memory_mb", yarn.am_memory_mb, AtLeast(1));
  io.Field("am_vcores", yarn.am_vcores, Between{1, kMostCount});
  io.Unless("type", yarn.type, usual.type);
  io.IfSet("priority", yarn.priority, Between{0, INT32_MAX});
  io.Unless("am_validity_interval_ms", yarn.am_validity_interval, usual.am_validity_interval, AtLeast(1));
  io.Unless("gang_hold_ms", yarn.gang_hold, usual.gang_hold, Between{0, kLongestGangHold.count()});
  io.IfSet("am_image", yarn.am_image);
  io.IfSet("am_node_label", yarn.am_node_label);
  io.IfSet("modify_acl", yarn.modify_acl);
  io.IfSet("node_label", yarn.node_label);
  io.IfSet("placement_spec", yarn.placement_spec);
  io.IfSet("other_name_nodes", yarn.other_name_nodes);
  io.IfSet("keytab", yarn.keytab);
  io.IfSet("portal_url", yarn.portal_url);
  io.IfSet("programs", yarn.programs);
  io.IfSet("view_acl", yarn.view_acl);
  io.Check("placement_spec", IsPlacementSpec(yarn.placement_spec), "a placement constraint");
}

void Fields(auto& io, Is<Sweep> auto& sweep) {
  io.Field("trials", sweep.trials);
  io.IfSet("metric", sweep.metric);
  io.IfSet("maximize", sweep.maximize);
  io.IfSet("resumes", sweep.resumes);
}

void Fields(auto& io, Is<ReproducedProcess> auto& process) { io.Field("variables", process.variables); }

void Fields(auto& io, Is<JobSpec> auto& spec) {
  static const JobSpec usual;
  Schema(io, 1);
  io.Field("name", spec.name);
  io.Field("framework", spec.framework);
  io.Unless("scheduler", spec.scheduler, usual.scheduler);
  io.Later("mode", spec.mode);
  io.IfSet("completion_rule", spec.completion_rule);
  io.Field("roles", spec.roles);
  const auto in_order = [](const RoleSpec& a, const RoleSpec& b) { return a.name < b.name; };
  const bool sorted = std::ranges::adjacent_find(spec.roles, std::not_fn(in_order)) == spec.roles.end();
  io.Check("roles", sorted, "roles sorted by name, each once");
  io.Check("roles", !spec.roles.empty(), "at least one role");
  io.Check("roles", spec.TrackedTasks() > 0, "at least one tracked role");
  io.Field("execution_env", spec.execution_env);
  io.Field("container_env", spec.container_env);
  io.Field("src_dir", spec.src_dir);
  io.Later("python_venv", spec.python_venv);
  io.Later("files", spec.files);
  io.Later("am_files", spec.am_files);
  io.IfSet("mounts", spec.mounts);
  io.Later("memory_limits", spec.memory_limits);
  io.IfSet("gpu_devices", spec.gpu_devices);
  io.IfSet("priority", spec.priority, Between{-kMostJobPriority, kMostJobPriority});
  io.Later("log_limit_mb", spec.log_limit_mb);
  io.IfSet("background", spec.background);
  io.IfSet("hold_ms", spec.hold);
  io.Field("timeout_ms", spec.timeout);
  io.Later("allocation_timeout_ms", spec.allocation_timeout);
  io.Field("registration_timeout_ms", spec.registration_timeout);
  io.IfSet("startup_timeout_ms", spec.startup_timeout);
  io.IfSet("registry_timeout_ms", spec.registry_timeout);
  io.Field("timers", spec.timers);
  io.Later("restart", spec.restart);
  io.Later("checkpoint", spec.checkpoint);
  io.Later("failure_rules", spec.failure_rules);
  io.Later("tags", spec.tags);
  io.Later("history_folder", spec.history_folder);
  io.IfSet("reproduced", spec.reproduced);
  io.IfSet("page_url", spec.page_url);
  io.IfSet("sweep", spec.sweep);
  io.IfSet("yarn", spec.yarn);
}

std::string ToJson(const JobSpec& spec) { return WriteJson(spec); }

Result<JobSpec> JobSpecFromJson(std::string_view text) {
  TRY_ASSIGN(JobSpec spec, ReadJson<JobSpec>(text, "job spec"));
  if (const Status sound = CheckDependencies(spec); !sound.ok()) return Annotate(sound.error(), "job spec");
  return spec;
}

}  // namespace tony
