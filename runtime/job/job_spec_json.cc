#include <boost/json.hpp>

#include "runtime/base/strings.h"
#include "runtime/job/dependencies.h"
#include "runtime/job/failure_rules_json.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/json_fields.h"

namespace tony {

namespace json = boost::json;

namespace {

constexpr int64_t kSpecSchema = 1;
constexpr int64_t kMostAsked = 1'000'000'000;  // fits an int

// One table for both ways, so that a timer cannot be written and not read.
struct TimerField {
  std::string_view name;
  Duration Timers::*member;
};
constexpr TimerField kTimerFields[] = {
    {"heartbeat_ms", &Timers::heartbeat},       {"suspect_after_ms", &Timers::suspect_after},
    {"cutoff_after_ms", &Timers::cutoff_after}, {"grace_ms", &Timers::grace},
    {"lost_after_ms", &Timers::lost_after},     {"record_fresh_ms", &Timers::record_fresh},
    {"am_lease_ms", &Timers::am_lease},         {"orphan_timeout_ms", &Timers::orphan_timeout},
};

// What most jobs have none of.
constexpr std::string_view kExecutionLimit = "execution_limit_ms";
constexpr std::string_view kRegistryTimeout = "registry_timeout_ms";
constexpr std::string_view kStartupTimeout = "startup_timeout_ms";

constexpr std::string_view kLatest = "latest";              // what a job resumes from, if not from its own
constexpr std::string_view kAsFrameworkSays = "framework";  // a role without a restart scope of its own

json::array FilesJson(const std::vector<FileSpec>& files) {
  json::array out;
  for (const auto& file : files) {
    out.push_back({{"source", file.source}, {"name", file.name}, {"archive", file.archive}});
  }
  return out;
}

json::array DependenciesJson(const std::vector<Dependency>& dependencies) {
  json::array out;
  for (const auto& [role, until] : dependencies) out.push_back({{"role", role}, {"until", ToString(until)}});
  return out;
}

json::array OutlivesJson(const std::vector<Outliving>& outlives) {
  json::array out;
  for (const auto& [group, roles, limit, ignored] : outlives) {
    out.push_back({{"group", group},
                   {"roles", json::array(roles.begin(), roles.end())},
                   {"limit_ms", limit.count()},
                   {"ignored", ignored}});
  }
  return out;
}

json::object RoleJson(const RoleSpec& role) {
  json::object out;
  out["name"] = role.name;
  out["instances"] = role.instances;
  out["memory_mb"] = role.resources.memory_mb;
  out["vcores"] = role.resources.vcores;
  out["gpus"] = role.resources.gpus;
  if (!role.node_label.empty()) out["node_label"] = role.node_label;
  if (role.placement != Placement::kPack) out["placement"] = ToString(role.placement);
  if (!role.key_prefix.empty()) out["key_prefix"] = role.key_prefix;
  if (role.processes != 1) out["processes"] = role.processes;  // else as in jobs that know of no more
  if (role.outlives_restarts) out["outlives_restarts"] = true;
  out["command"] = role.command;
  out["completion"] = ToString(role.completion);
  if (role.min_succeeded > 0) out["min_succeeded"] = role.min_succeeded;
  if (role.min_failed) out["min_failed"] = *role.min_failed;
  out["restart_scope"] = role.restart_scope ? ToString(*role.restart_scope) : kAsFrameworkSays;
  out["restarts"] = role.restarts ? json::value(*role.restarts) : json::value();
  out["files"] = FilesJson(role.files);
  if (!role.outlives.empty()) out["outlives"] = OutlivesJson(role.outlives);
  if (!role.depends_on.empty()) out["depends_on"] = DependenciesJson(role.depends_on);
  return out;
}

json::object EnvironmentJson(const std::map<std::string, std::string>& environment) {
  json::object out;
  for (const auto& [name, value] : environment) out[name] = value;
  return out;
}

json::object TimersJson(const Timers& timers) {
  json::object out;
  for (const auto& field : kTimerFields) out[field.name] = (timers.*field.member).count();
  if (timers.execution_limit.count() != 0) out[kExecutionLimit] = timers.execution_limit.count();
  return out;
}

json::object BudgetJson(const RestartBudget& budget) {
  json::object out;
  out["most"] = budget.most;
  out["window_ms"] = budget.window.count();
  return out;
}

json::object RestartJson(const RestartRules& rules) {
  json::object out;
  for (size_t level = 0; level < kRestartScopes; ++level) {
    out[ToString(static_cast<RestartScope>(level))] = BudgetJson(rules.levels[level]);
  }
  out["lost"] = BudgetJson(rules.lost);
  out["backoff_ms"] = rules.backoff.count();
  out["longest_backoff_ms"] = rules.longest_backoff.count();
  out["settle_ms"] = rules.settle.count();
  return out;
}

json::object CheckpointJson(const CheckpointSpec& checkpoint) {
  json::object out;
  out["directory"] = checkpoint.directory;
  out["pattern"] = checkpoint.pattern;
  out["most_fruitless"] = checkpoint.most_fruitless;
  if (checkpoint.resume_latest) out["resume"] = kLatest;  // else as in jobs that know of no other
  return out;
}

// Jobs of 0.1 have neither field.
void ReadRoleRestart(JsonFields& fields, RoleSpec& role) {
  const std::string scope =
      fields.Has("restart_scope") ? fields.String("restart_scope") : std::string(kAsFrameworkSays);
  role.restart_scope = RestartScopeFromString(scope);
  if (!role.restart_scope && scope != kAsFrameworkSays) {
    fields.Fail("restart_scope", "framework, task, role, gang or job");
  }
  if (fields.Has("restarts") && !fields.IsNull("restarts")) {
    role.restarts = static_cast<int>(fields.Int("restarts", 0, kMostAsked));
  }
}

Result<std::vector<FileSpec>> ReadFiles(JsonFields& parent, std::string_view name) {
  std::vector<FileSpec> files;
  if (!parent.Has(name)) return files;  // a spec of 0.1
  for (auto& fields : parent.List(name)) {
    FileSpec file;
    file.source = fields.String("source");
    file.name = fields.String("name");
    file.archive = fields.Bool("archive");
    if (!IsFileName(file.name)) fields.Fail("name", "a name without a slash");
    TRY(fields.status());
    files.push_back(std::move(file));
  }
  TRY(parent.status());
  return files;
}

Result<std::vector<Dependency>> ReadDependencies(JsonFields& parent) {
  std::vector<Dependency> dependencies;
  for (auto& fields : parent.List("depends_on")) {
    Dependency dependency{.role = fields.String("role")};
    const auto until = UntilFromString(fields.String("until"));
    if (!until) fields.Fail("until", "succeeded or ready");
    TRY(fields.status());
    dependency.until = *until;
    dependencies.push_back(std::move(dependency));
  }
  TRY(parent.status());
  return dependencies;
}

Result<std::vector<Outliving>> ReadOutlives(JsonFields& parent) {
  std::vector<Outliving> outlives;
  for (auto& fields : parent.List("outlives")) {
    Outliving outliving{.group = fields.String("group")};
    outliving.roles = fields.Strings("roles");
    outliving.limit = fields.Millis("limit_ms");
    outliving.ignored = fields.Bool("ignored");
    if (outliving.roles.empty()) fields.Fail("roles", "at least one role");
    TRY(fields.status());
    outlives.push_back(std::move(outliving));
  }
  TRY(parent.status());
  return outlives;
}

Result<RoleSpec> ReadRole(JsonFields fields) {
  RoleSpec role;
  role.name = fields.String("name");
  role.instances = static_cast<int>(fields.Int("instances", 1, kMostAsked));
  role.resources.memory_mb = fields.Int("memory_mb", 1);
  role.resources.vcores = static_cast<int>(fields.Int("vcores", 1, kMostAsked));
  role.resources.gpus = static_cast<int>(fields.Int("gpus", 0, kMostAsked));
  if (fields.Has("node_label")) role.node_label = fields.String("node_label");
  if (fields.Has("placement")) {
    const auto placement = PlacementFromString(fields.String("placement"));
    if (!placement) fields.Fail("placement", "pack or spread");
    role.placement = placement.value_or(Placement::kPack);
  }
  if (fields.Has("key_prefix")) role.key_prefix = fields.String("key_prefix");
  if (fields.Has("outlives_restarts")) role.outlives_restarts = fields.Bool("outlives_restarts");
  if (fields.Has("processes")) role.processes = static_cast<int>(fields.Int("processes", 1, kMostProcesses));
  role.command = fields.String("command");
  const auto completion = CompletionFromString(fields.String("completion"));
  if (!completion) fields.Fail("completion", "tracked, untracked or sidecar");
  if (fields.Has("min_succeeded"))
    role.min_succeeded = static_cast<int>(fields.Int("min_succeeded", 1, role.instances));
  if (fields.Has("min_failed")) role.min_failed = static_cast<int>(fields.Int("min_failed", 0, role.instances));
  ReadRoleRestart(fields, role);
  if (role.name.empty()) fields.Fail("name", "a role's name");
  if (role.command.empty()) fields.Fail("command", "a command");
  TRY(fields.status());
  role.completion = *completion;
  TRY_ASSIGN(role.files, ReadFiles(fields, "files"));
  if (fields.Has("outlives")) {
    TRY_ASSIGN(role.outlives, ReadOutlives(fields));
  }
  if (fields.Has("depends_on")) {
    TRY_ASSIGN(role.depends_on, ReadDependencies(fields));
  }
  return role;
}

Result<std::map<std::string, std::string>> ReadEnvironment(JsonFields fields) {
  std::map<std::string, std::string> environment;
  for (const auto& name : fields.Names()) environment[name] = fields.String(name);
  TRY(fields.status());
  return environment;
}

Result<Timers> ReadTimers(JsonFields fields) {
  Timers timers;
  for (const auto& field : kTimerFields) timers.*field.member = fields.Millis(field.name);
  if (fields.Has(kExecutionLimit)) timers.execution_limit = fields.Millis(kExecutionLimit);
  TRY(fields.status());
  return timers;
}

Result<RestartBudget> ReadBudget(JsonFields& parent, std::string_view name) {
  JsonFields fields = parent.Fields(name);
  TRY(parent.status());
  RestartBudget budget;
  budget.most = static_cast<int>(fields.Int("most", 0, kMostAsked));
  budget.window = fields.Millis("window_ms");
  TRY(fields.status());
  return budget;
}

Result<RestartRules> ReadRestart(JsonFields fields) {
  RestartRules rules;
  for (size_t level = 0; level < kRestartScopes; ++level) {
    TRY_ASSIGN(rules.levels[level], ReadBudget(fields, ToString(static_cast<RestartScope>(level))));
  }
  TRY_ASSIGN(rules.lost, ReadBudget(fields, "lost"));
  rules.backoff = fields.Millis("backoff_ms");
  rules.longest_backoff = fields.Millis("longest_backoff_ms");
  rules.settle = fields.Millis("settle_ms");
  TRY(fields.status());
  return rules;
}

Result<CheckpointSpec> ReadCheckpoint(JsonFields fields) {
  CheckpointSpec checkpoint;
  checkpoint.directory = fields.String("directory");
  checkpoint.pattern = fields.String("pattern");
  checkpoint.most_fruitless = static_cast<int>(fields.Int("most_fruitless", 1, kMostAsked));
  const std::string resume = fields.Has("resume") ? fields.String("resume") : "";
  checkpoint.resume_latest = resume == kLatest;
  if (!resume.empty() && !checkpoint.resume_latest) fields.Fail("resume", "latest");
  TRY(fields.status());
  return checkpoint;
}

Result<std::vector<RoleSpec>> ReadRoles(JsonFields& fields) {
  std::vector<RoleSpec> roles;
  for (auto& item : fields.List("roles")) {
    TRY_ASSIGN(RoleSpec role, ReadRole(std::move(item)));
    if (!roles.empty() && role.name <= roles.back().name) fields.Fail("roles", "roles sorted by name, each once");
    roles.push_back(std::move(role));
  }
  if (roles.empty()) fields.Fail("roles", "at least one role");
  TRY(fields.status());
  return roles;
}

// Jobs of 0.1 have neither.
Status ReadRestartAndCheckpoint(JsonFields& fields, JobSpec& spec) {
  if (fields.Has("restart")) {
    JsonFields restart = fields.Fields("restart");
    TRY(fields.status());
    TRY_ASSIGN(spec.restart, ReadRestart(std::move(restart)));
  }
  if (fields.Has("checkpoint")) {
    JsonFields checkpoint = fields.Fields("checkpoint");
    TRY(fields.status());
    TRY_ASSIGN(spec.checkpoint, ReadCheckpoint(std::move(checkpoint)));
  }
  return Ok();
}

// What most jobs have none of, by name.
std::map<std::string, std::string*> TextsOf(YarnSpec& yarn) {
  return {{"node_label", &yarn.node_label},
          {"am_node_label", &yarn.am_node_label},
          {"view_acl", &yarn.view_acl},
          {"modify_acl", &yarn.modify_acl},
          {"portal_url", &yarn.portal_url}};
}

json::object YarnJson(YarnSpec yarn) {
  json::object out{{"queue", yarn.queue}, {"am_memory_mb", yarn.am_memory_mb}, {"am_vcores", yarn.am_vcores}};
  if (yarn.type != YarnSpec().type) out["type"] = yarn.type;
  if (yarn.priority != 0) out["priority"] = yarn.priority;
  if (yarn.gang_hold != YarnSpec().gang_hold) out["gang_hold_ms"] = yarn.gang_hold.count();
  for (const auto& [name, text] : TextsOf(yarn))
    if (!text->empty()) out[name] = *text;
  return out;
}

Result<YarnSpec> ReadYarn(JsonFields fields) {
  YarnSpec yarn;
  yarn.queue = fields.String("queue");
  yarn.am_memory_mb = fields.Int("am_memory_mb", 1);
  yarn.am_vcores = static_cast<int>(fields.Int("am_vcores", 1, kMostAsked));
  if (fields.Has("gang_hold_ms")) yarn.gang_hold = Duration(fields.Int("gang_hold_ms", 0, kLongestGangHold.count()));
  if (fields.Has("type")) yarn.type = fields.String("type");
  if (fields.Has("priority")) yarn.priority = static_cast<int>(fields.Int("priority", 0, INT32_MAX));
  for (const auto& [name, text] : TextsOf(yarn))
    if (fields.Has(name)) *text = fields.String(name);
  TRY(fields.status());
  return yarn;
}

// Jobs of 0.1 have none of these.
Status ReadModeAndFiles(JsonFields& fields, JobSpec& spec) {
  if (fields.Has("mode")) {
    const auto mode = DistributedModeFromString(fields.String("mode"));
    if (!mode) fields.Fail("mode", "GANG or FCFS");
    TRY(fields.status());
    spec.mode = *mode;
  }
  if (fields.Has("completion_rule")) {
    const auto rule = CompletionRuleFromString(fields.String("completion_rule"));
    if (!rule) fields.Fail("completion_rule", "strict or tony");
    TRY(fields.status());
    spec.completion_rule = *rule;
  }
  if (fields.Has("python_venv")) spec.python_venv = fields.String("python_venv");
  if (fields.Has("memory_limits")) spec.memory_limits = fields.Bool("memory_limits");
  if (fields.Has("priority")) spec.priority = fields.Int("priority", -kMostJobPriority, kMostJobPriority);
  if (fields.Has("log_limit_mb")) spec.log_limit_mb = fields.Int("log_limit_mb");
  if (fields.Has("background")) {
    const auto background = BackgroundFromString(fields.String("background"));
    if (!background) fields.Fail("background", "auto, end, wait or fail");
    TRY(fields.status());
    spec.background = *background;
  }
  if (fields.Has("allocation_timeout_ms")) spec.allocation_timeout = fields.Millis("allocation_timeout_ms");
  if (fields.Has(kStartupTimeout)) spec.startup_timeout = fields.Millis(kStartupTimeout);
  if (fields.Has(kRegistryTimeout)) spec.registry_timeout = fields.Millis(kRegistryTimeout);
  if (fields.Has("scheduler")) spec.scheduler = fields.String("scheduler");
  if (fields.Has("tags")) spec.tags = fields.Strings("tags");
  if (fields.Has("history_folder")) spec.history_folder = fields.String("history_folder");
  TRY(fields.status());
  TRY_ASSIGN(spec.files, ReadFiles(fields, "files"));
  TRY_ASSIGN(spec.am_files, ReadFiles(fields, "am_files"));
  return Ok();
}

Result<JobSpec> ReadSpec(const json::value& document) {
  JsonFields fields(document);
  JobSpec spec;
  fields.Int("schema", kSpecSchema, kSpecSchema);
  spec.name = fields.String("name");
  const auto framework = FrameworkKindFromString(fields.String("framework"));
  if (!framework) fields.Fail("framework", "standalone, tensorflow, pytorch, jax, lightgbm or xgboost");
  spec.src_dir = fields.String("src_dir");
  spec.timeout = fields.Millis("timeout_ms");
  spec.registration_timeout = fields.Millis("registration_timeout_ms");
  TRY(fields.status());
  spec.framework = *framework;
  TRY_ASSIGN(spec.roles, ReadRoles(fields));
  if (spec.TrackedTasks() == 0) fields.Fail("roles", "at least one tracked role");
  TRY(CheckDependencies(spec));
  JsonFields execution = fields.Fields("execution_env");
  JsonFields container = fields.Fields("container_env");
  JsonFields timers = fields.Fields("timers");
  TRY(fields.status());
  TRY_ASSIGN(spec.execution_env, ReadEnvironment(std::move(execution)));
  TRY_ASSIGN(spec.container_env, ReadEnvironment(std::move(container)));
  TRY_ASSIGN(spec.timers, ReadTimers(std::move(timers)));
  TRY(ReadModeAndFiles(fields, spec));
  TRY(ReadRestartAndCheckpoint(fields, spec));
  TRY_ASSIGN(spec.failure_rules, ReadFailureRules(fields));
  if (fields.Has("yarn")) {
    JsonFields yarn = fields.Fields("yarn");
    TRY(fields.status());
    TRY_ASSIGN(spec.yarn, ReadYarn(std::move(yarn)));
  }
  return spec;
}

}  // namespace

std::string ToJson(const JobSpec& spec) {
  json::array roles;
  for (const auto& role : spec.roles) roles.push_back(RoleJson(role));
  json::object out;
  out["schema"] = kSpecSchema;
  out["name"] = spec.name;
  out["framework"] = ToString(spec.framework);
  if (spec.scheduler != JobSpec().scheduler) out["scheduler"] = spec.scheduler;
  out["mode"] = ToString(spec.mode);
  if (spec.completion_rule != CompletionRule::kStrict) out["completion_rule"] = ToString(spec.completion_rule);
  out["roles"] = std::move(roles);
  out["execution_env"] = EnvironmentJson(spec.execution_env);
  out["container_env"] = EnvironmentJson(spec.container_env);
  out["src_dir"] = spec.src_dir;
  out["python_venv"] = spec.python_venv;
  out["files"] = FilesJson(spec.files);
  out["am_files"] = FilesJson(spec.am_files);
  out["memory_limits"] = spec.memory_limits;
  if (spec.priority != 0) out["priority"] = spec.priority;
  out["log_limit_mb"] = spec.log_limit_mb;
  if (spec.background != Background::kAuto) out["background"] = ToString(spec.background);
  out["timeout_ms"] = spec.timeout.count();
  out["allocation_timeout_ms"] = spec.allocation_timeout.count();
  out["registration_timeout_ms"] = spec.registration_timeout.count();
  if (spec.startup_timeout.count() != 0) out[kStartupTimeout] = spec.startup_timeout.count();
  if (spec.registry_timeout.count() != 0) out[kRegistryTimeout] = spec.registry_timeout.count();
  out["timers"] = TimersJson(spec.timers);
  out["restart"] = RestartJson(spec.restart);
  out["checkpoint"] = CheckpointJson(spec.checkpoint);
  out["failure_rules"] = FailureRulesJson(spec.failure_rules);
  out["tags"] = json::array(spec.tags.begin(), spec.tags.end());
  out["history_folder"] = spec.history_folder;
  if (spec.yarn != YarnSpec()) out["yarn"] = YarnJson(spec.yarn);
  return SerializeJson(out);
}

Result<JobSpec> JobSpecFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "job spec"));
  auto spec = ReadSpec(document);
  if (!spec.ok()) return Annotate(spec.error(), "job spec");
  return spec;
}

}  // namespace tony
