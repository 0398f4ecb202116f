#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/keys.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/os/users.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr int kMaxTasks = 10'000;
constexpr int kMaxCores = 1'000'000;
constexpr int kMaxGpus = 100'000;
// The longest name of a role. The name is also the name of a folder.
constexpr size_t kLongestRole = 63;

constexpr std::string_view kPrefix = "tony.";
constexpr std::string_view kInstances = ".instances";
constexpr std::string_view kDriver = "driver";
constexpr std::string_view kTensorBoard = "tensorboard";
constexpr std::string_view kSidecarsKey = "tony.application.sidecar.jobtypes";
constexpr std::string_view kAm = "am";
constexpr std::string_view kLogDir = "tony.application.tensorboard-log-dir";
// The prefix of keys for outputs of earlier Azkaban steps. The key tony.output.instances is the output "instances" of a
// step, and not the number of instances of a role "output".
constexpr std::string_view kOutputs = "tony.output.";

std::string KeyOf(std::string_view role, std::string_view what) { return StrCat("tony.", role, ".", what); }

bool HasLettersOnly(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

bool IsInstancesKey(std::string_view key) {
  return key.starts_with(kPrefix) && key.ends_with(kInstances) && !key.starts_with(kOutputs) &&
         key.size() > kPrefix.size() + kInstances.size();
}

// Returns the names in keys tony.<name>.instances. A name has letters only, as in TonY; job_spec_parser.cc warns about
// other names.
std::vector<std::string> RolesWithInstances(const PropertyValues& values) {
  std::vector<std::string> names;
  for (const auto& [key, property] : values.properties().all()) {
    if (!IsInstancesKey(key)) continue;
    // Templates of other products set tony.am.instances, which is a key of its own and does not name a role.
    if (const Key* row = FindKey(key); row && row->name == key) continue;
    std::string name = key.substr(kPrefix.size(), key.size() - kPrefix.size() - kInstances.size());
    if (HasLettersOnly(name)) names.push_back(std::move(name));
  }
  return names;
}

Status CheckName(const PropertyValues& values, const std::string& name) {
  const std::string key = KeyOf(name, "instances");
  if (IsReservedRole(name)) {
    return values.Bad(key, StrCat("\"", name, "\" cannot be a role: tony.", name, ".* keys mean something else"));
  }
  if (name.size() <= kLongestRole) return Ok();
  return values.Bad(key, StrCat("a role's name has at most ", kLongestRole, " letters"));
}

Status CheckCommand(const PropertyValues& values, const std::string& key) {
  const std::string command = values.Text(key);
  if (command.find('\0') != std::string::npos) return values.Bad(key, "the command contains a NUL character");
  if (command.size() < kMaxStringBytes) return Ok();
  return values.Bad(key, StrCat("the command has ", command.size(), " bytes, and the kernel accepts at most ",
                                kMaxStringBytes - 1, " in one argument; put the command into a script"));
}

// Returns the command of a role: the value of the first of `keys` that is set.
Result<std::string> CommandOf(const PropertyValues& values, std::string_view role,
                              const std::vector<std::string>& keys) {
  for (const auto& key : keys) {
    if (!values.Has(key)) continue;
    TRY(CheckCommand(values, key));
    return values.Text(key);
  }
  return Error{ErrorCode::kInvalid, StrCat("role ", role, " has no command: set ", Join(keys, " or "), " (-executes)")};
}

// Reads the amount of a resource type of the cluster. The types that have keys of their own are refused, except GPUs:
// both keys for GPUs mean the same.
Status ReadResource(const PropertyValues& values, std::string_view keys_of, const std::string& type,
                    Resources& resources) {
  const std::string key = KeyOf(keys_of, StrCat("resource.", type));
  const std::string_view own = type == "vcores" ? "vcores" : type == "memory-mb" || type == "memory" ? "memory" : "";
  if (!own.empty()) return values.Bad(key, StrCat("set ", KeyOf(keys_of, own), " instead"));
  const auto amount = ParseAmount(Trim(values.Text(key)));
  if (!amount)
    return values.Bad(key, StrCat("expected a whole number, or a whole number with one of the units ", kAmountUnits));
  if (type != kGpuType) {
    if (amount->value > 0) resources.others[type] = *amount;
    return Ok();
  }
  if (const std::string gpus = KeyOf(keys_of, "gpus"); values.Has(gpus))
    return values.Bad(key, StrCat("this key sets the same amount as ", gpus, "; remove one of the two keys"));
  if (!amount->unit.empty() || amount->value > kMaxGpus)
    return values.Bad(key, StrCat("expected a whole number from 0 to ", kMaxGpus));
  resources.gpus = static_cast<int>(amount->value);
  return Ok();
}

// Reads the further resource types that a role requests. Only YARN has such types.
Status ReadResources(const PropertyValues& values, std::string_view keys_of, Resources& resources) {
  if (SchedulerOf(values) != kYarnScheduler) return Ok();
  const std::string prefix = KeyOf(keys_of, "resource.");
  const auto& all = values.properties().all();
  for (auto it = all.lower_bound(prefix); it != all.end() && it->first.starts_with(prefix); ++it)
    if (it->first.size() > prefix.size())
      TRY(ReadResource(values, keys_of, it->first.substr(prefix.size()), resources));
  return Ok();
}

Result<Resources> ResourcesOf(const PropertyValues& values, std::string_view keys_of) {
  Resources resources;
  TRY_ASSIGN(resources.memory_mb, values.MemoryMb(KeyOf(keys_of, "memory")));
  TRY_ASSIGN(resources.vcores, values.Count(KeyOf(keys_of, "vcores"), 1, kMaxCores));
  TRY_ASSIGN(resources.gpus, values.Count(KeyOf(keys_of, "gpus"), 0, kMaxGpus));
  TRY(ReadResources(values, keys_of, resources));
  return resources;
}

std::string NodeLabelOf(const PropertyValues& values, std::string_view keys_of) {
  const std::string own = KeyOf(keys_of, "node-label");
  return values.Text(values.Has(own) ? own : "tony.application.node-label");
}

// Returns the key that sets a role's part of `what`, e.g. "placement-spec": that of the role, or that of all roles.
std::string KeyOfRoleOrAll(const PropertyValues& values, std::string_view keys_of, std::string_view what) {
  const std::string own = KeyOf(keys_of, what);
  return values.Has(own) ? own : KeyOf("containers", what);
}

// Reads the role's placement constraint and allocation tags.
Status ParseConstraint(const PropertyValues& values, RoleSpec& role) {
  if (SchedulerOf(values) != kYarnScheduler) return Ok();
  const std::string spec_key = KeyOfRoleOrAll(values, role.name, "placement-spec");
  const std::string tags_key = KeyOfRoleOrAll(values, role.name, "allocation-tags");
  TRY_ASSIGN(role.placement_spec, ConstraintText(values, spec_key));
  role.allocation_tags = values.List(tags_key);
  for (const std::string& tag : role.allocation_tags)
    if (tag.find_first_of("/=!():") != tag.npos) return values.Bad(tags_key, "expected tags without / = ! ( ) and :");
  return Ok();
}

// Refuses what a request with a constraint or with tags cannot name: a label and hosts.
Status CheckConstraint(const PropertyValues& values, const RoleSpec& role) {
  if (SchedulerOf(values) != kYarnScheduler) return Ok();
  std::string beside;
  if (!Trim(values.Text(kJobPlacementKey)).empty()) beside = kJobPlacementKey;
  if (!role.allocation_tags.empty()) beside = KeyOfRoleOrAll(values, role.name, "allocation-tags");
  if (!role.placement_spec.empty()) beside = KeyOfRoleOrAll(values, role.name, "placement-spec");
  if (beside.empty()) return Ok();
  const std::string label = role.Key("node-label");
  if (!role.node_label.empty())
    return values.Bad(
        values.Has(label) ? label : "tony.application.node-label",
        StrCat("role ", role.name, " has ", beside, ", and YARN takes no label beside it; remove one of the ",
               "two keys (a constraint can select nodes by attributes: NAME=VALUE)"));
  if (role.placement == Placement::kSpread)
    return values.Bad(
        role.Key("placement"),
        StrCat("role ", role.name, " has ", beside, ", and YARN takes no hosts beside it; remove one of the ",
               "two keys (notin,node,TAG with the tag of the role spreads its tasks)"));
  return Ok();
}

Result<Placement> PlacementOf(const PropertyValues& values, std::string_view keys_of) {
  const std::string key = KeyOf(keys_of, "placement");
  if (const auto placement = FromName<Placement>(Trim(values.Text(key)))) return *placement;
  return values.Bad(key, "expected pack or spread");
}

// Returns the number of processes of each task. The value is a number or "gpu", as for torchrun's --nproc-per-node.
Result<int> ProcessesOf(const PropertyValues& values, std::string_view keys_of, const Resources& resources) {
  const std::string key = KeyOf(keys_of, "nproc-per-node");
  const std::string text(Trim(values.Text(key)));
  if (text == "gpu" && resources.gpus > 0) return resources.gpus;
  if (text == "gpu") return values.Bad(key, StrCat("the task has no GPUs; set ", KeyOf(keys_of, "gpus"), ", too"));
  if (const auto number = ParseInt(text); number && *number >= 1 && *number <= kMostProcesses)
    return static_cast<int>(*number);
  return values.Bad(key, StrCat("expected 1 to ", kMostProcesses, ", or \"gpu\" for one process per GPU of the task"));
}

Result<int> MaxParallelOf(const PropertyValues& values, std::string_view role) {
  const std::string key = KeyOf(role, "max-parallel");
  const std::string text(Trim(values.Text(key)));
  if (text.empty()) return 0;
  if (text == "auto") return kAutoParallel;
  if (const auto number = ParseInt(text); number && *number >= 1 && *number <= kMaxTasks)
    return static_cast<int>(*number);
  return values.Bad(key, StrCat("expected 1 to ", kMaxTasks, ", or auto for as many as the machine holds"));
}

// Returns whether a restart of the gang leaves this role running. By default only TensorBoard is left running, because
// it reads files and is not connected to any task. Other sidecars may know addresses that change in the restart.
Result<bool> OutlivesRestarts(const PropertyValues& values, const RoleSpec& role) {
  const std::string key = role.Key("outlives-restarts");
  const bool is_sidecar = role.completion == Completion::kSidecar;
  if (!values.Has(key)) return is_sidecar && role.name == kTensorBoard;
  TRY_ASSIGN(const bool outlives, values.Flag(key));
  if (!outlives || is_sidecar) return outlives;
  return values.Bad(key, StrCat("only a sidecar can outlive restarts, and role ", role.name, " is not a sidecar; see ",
                                kSidecarsKey));
}

Result<RoleSpec> ParseRole(const PropertyValues& values, const std::string& name, int instances) {
  TRY_ASSIGN(const int most, values.Count(KeyOf(name, "max-instances"), -1, kMaxTasks));
  if (most >= 0 && instances > most) {
    return values.Bad(KeyOf(name, "instances"),
                      StrCat("expected at most ", most, " (", KeyOf(name, "max-instances"), ")"));
  }
  RoleSpec role;
  role.name = name;
  role.instances = instances;
  TRY_ASSIGN(role.max_parallel, MaxParallelOf(values, name));
  TRY_ASSIGN(role.resources, ResourcesOf(values, name));
  TRY_ASSIGN(role.processes, ProcessesOf(values, name, role.resources));
  role.node_label = NodeLabelOf(values, name);
  TRY_ASSIGN(role.placement, PlacementOf(values, name));
  TRY(ParseConstraint(values, role));
  TRY(CheckConstraint(values, role));
  if (StartsRayNode(values, name)) {
    role.command = "ray start";  // AddFrameworkCommands() adds the options
  } else {
    TRY_ASSIGN(role.command, CommandOf(values, name, {KeyOf(name, "command"), "tony.containers.command"}));
  }
  TRY(ParseRoleRestart(values, role));
  return role;
}

// Reads the role with this name. If the role is switched off, returns a role with 0 instances.
Result<RoleSpec> ParseRoleAskedFor(const PropertyValues& values, const std::string& name) {
  TRY(CheckName(values, name));
  const size_t problems_before = values.problems().count();
  TRY_ASSIGN(int instances, values.Count(KeyOf(name, "instances"), 0, kMaxTasks));
  // The user wants the role, even if the number of its instances is invalid, so the role's other keys are checked.
  if (values.problems().count() > problems_before) instances = 1;
  return instances == 0 ? RoleSpec{.instances = 0} : ParseRole(values, name, instances);
}

// Refuses a job in which the name of every role is invalid. Next to valid roles, such a name is ignored with a warning,
// as in TonY. Without valid roles, TonY ran the command once and did not warn, e.g. one task instead of the two workers
// that the user wanted. A refusal costs the user less than a training with the wrong number of tasks.
Status RefuseInvalidRoleNames(const PropertyValues& values) {
  for (const auto& [key, property] : values.properties().all()) {
    if (!IsInstancesKey(key) || FindKey(key) || Trim(property.value) == "0") continue;
    return values.Bad(
        key, StrCat("the role in this key has an invalid name, and no other role has instances; a role's name has ",
                    "lower-case letters only, e.g. tony.worker.instances"));
  }
  return Ok();
}

// Warns if keys of a role are set without its instances, because the user then expects tasks of that role.
void WarnOfSingleTask(const PropertyValues& values, Warnings& warnings) {
  for (const auto& [key, property] : values.properties().all()) {
    const Key* row = FindKey(key);
    if (!row || !row->name.starts_with("tony.<role>.")) continue;
    const std::string role = key.substr(kPrefix.size(), key.find('.', kPrefix.size()) - kPrefix.size());
    if (role == kDriver || values.Has(KeyOf(role, "instances"))) continue;
    warnings.push_back(StrCat("no role has instances, so the command runs once, as task ", kDriver, ":0; set tony.",
                              role, ".instances=N to run it as N tasks of role ", role));
    return;
  }
}

void WarnOfRelativeLogDir(const PropertyValues& values, Warnings& warnings) {
  if (!values.Has(kLogDir)) return;
  const std::string folder = ExpandTilde(std::string(Trim(values.Text(kLogDir))));
  if (folder.starts_with('/') || folder.find("://") != folder.npos) return;
  const std::string why = "each task would have its own folder of this name, and TensorBoard would see none of them";
  values.Warn(kLogDir, StrCat(why, "; expected an absolute path"), warnings);
}

// Returns a role with one task, which TonY ran in the AM's container. The role's keys therefore begin with "tony.am.".
Result<RoleSpec> RoleOfAm(const PropertyValues& values, std::string_view name) {
  RoleSpec role;
  role.name = name;
  role.key_prefix = StrCat(kPrefix, kAm);
  TRY_ASSIGN(role.resources, ResourcesOf(values, kAm));
  role.node_label = NodeLabelOf(values, kAm);
  TRY(CheckConstraint(values, role));
  TRY_ASSIGN(role.command, CommandOf(values, name, {role.Key("command"), "tony.containers.command"}));
  TRY(ParseRoleRestart(values, role));
  return role;
}

Status AddPreprocess(const PropertyValues& values, bool single_task, std::vector<RoleSpec>& roles, Warnings& warnings) {
  constexpr std::string_view kKey = "tony.application.enable-preprocess";
  if (!values.Has(kKey)) return Ok();
  TRY_ASSIGN(const bool enabled, values.Flag(kKey));
  if (!enabled) return Ok();
  if (single_task) {
    values.Warn(kKey, "no effect: the job has no roles, so its command runs once anyway", warnings);
    return Ok();
  }
  if (std::ranges::find(roles, kPreprocess, &RoleSpec::name) != roles.end())
    return values.Bad(kKey, StrCat("the job has a role ", kPreprocess,
                                   " already, and this key would add a second one; rename the role or remove the key"));
  TRY_ASSIGN(RoleSpec role, RoleOfAm(values, kPreprocess));
  for (RoleSpec& other : roles) {
    other.depends_on.push_back({std::string(kPreprocess)});
    std::ranges::sort(other.depends_on, {}, &Dependency::role);
  }
  roles.push_back(std::move(role));
  std::ranges::sort(roles, {}, &RoleSpec::name);
  return Ok();
}

Status CheckTotal(const PropertyValues& values, std::string_view what, int64_t total) {
  const std::string key = StrCat("tony.task.max-total-", what);
  TRY_ASSIGN(const int64_t most, values.Number(key, -1, INT64_MAX));
  if (most < 0 || total <= most) return Ok();
  return values.Bad(key, StrCat("the job requests ", total));
}

Status CheckTotals(const PropertyValues& values, const std::vector<RoleSpec>& roles) {
  int64_t tasks = 0, memory = 0, vcores = 0, gpus = 0;
  for (const auto& role : roles) {
    tasks += role.instances;
    memory += role.instances * role.resources.memory_mb;
    vcores += int64_t{role.instances} * role.resources.vcores;
    gpus += int64_t{role.instances} * role.resources.gpus;
  }
  if (tasks > kMaxTasks) {
    return Error{ErrorCode::kInvalid,
                 StrCat("the job has ", tasks, " tasks, and at most ", kMaxTasks, " are supported")};
  }
  TRY(CheckTotal(values, "instances", tasks));
  TRY(CheckTotal(values, "memory", memory));
  TRY(CheckTotal(values, "vcores", vcores));
  return CheckTotal(values, "gpus", gpus);
}

Status CheckSomeTracked(const std::vector<RoleSpec>& roles) {
  if (std::ranges::find(roles, Completion::kTracked, &RoleSpec::completion) != roles.end()) return Ok();
  return Error{ErrorCode::kInvalid, StrCat("every role is untracked or a sidecar, so the job could never end; remove "
                                           "a role from ",
                                           "tony.application.untracked.jobtypes or tony.application.sidecar.jobtypes")};
}

// ---- The limits on one task. TonY changed their names and meanings between 0.4.6 and 0.5.3.

constexpr std::string_view kTonyVersion = "tony.compat.version";
constexpr std::string_view kTony046 = "0.4.6";
constexpr std::string_view kTony053 = "0.5.3";
constexpr std::string_view kAllocationTimeout = "tony.container.allocation.timeout";
constexpr std::string_view kRegistrationTimeout = "tony.container.registration.timeout";
constexpr std::string_view kWorkerTimeout = "tony.worker.timeout";

constexpr Duration kRegistrationOff = std::chrono::years(10);  // a time that means no limit
constexpr int64_t kMostRegistrySeconds = 365 * 24 * 3600;

// Returns whether the job was written for a TonY release in which the allocation timeout limited the registration.
Result<bool> IsOfOldTony(const PropertyValues& values) {
  const std::string version(Trim(values.Text(kTonyVersion)));
  if (version == kTony046) return true;
  if (version == kTony053) return false;
  return values.Bad(kTonyVersion, StrCat("expected ", kTony046, " or ", kTony053));
}

Status ParseRegistration(const PropertyValues& values, std::string_view key, JobSpec& spec) {
  TRY_ASSIGN(const Duration registration, values.Millis(key, -1));
  spec.registration_timeout = registration > Duration(0) ? registration : kRegistrationOff;
  return Ok();
}

// Reads the allocation timeout, and warns if its meaning is unclear. The key has had two meanings in LinkedIn's TonY,
// and the wrong meaning would end a job that only waits in the queue. If the job also sets the registration timeout of
// newer TonY releases, the meaning is clear, and no warning is needed.
Status ParseAllocation(const PropertyValues& values, Warnings& warnings, JobSpec& spec) {
  TRY_ASSIGN(const Duration allocation, values.Millis(kAllocationTimeout, -1));
  spec.allocation_timeout = std::max(allocation, Duration(0));
  if (allocation <= Duration(0) || values.Has(kTonyVersion) || values.Has(kRegistrationTimeout)) return Ok();
  values.Warn(kAllocationTimeout,
              StrCat("this key limits the wait for containers, as in TonY ", kTony053, "; in TonY ", kTony046,
                     ", this key had the meaning of ", kRegistrationTimeout, "; set ", kTonyVersion,
                     " to the version for which the job was written"),
              warnings);
  return Ok();
}

Status ParseContainerLimits(const PropertyValues& values, Warnings& warnings, JobSpec& spec) {
  TRY_ASSIGN(const bool is_old, IsOfOldTony(values));
  if (!is_old || !values.Has(kAllocationTimeout)) {
    TRY(ParseAllocation(values, warnings, spec));
    return ParseRegistration(values, kRegistrationTimeout, spec);
  }
  if (!values.Has(kRegistrationTimeout)) return ParseRegistration(values, kAllocationTimeout, spec);
  values.Warn(kAllocationTimeout, StrCat("no effect, because ", kRegistrationTimeout, " is set"), warnings);
  return ParseRegistration(values, kRegistrationTimeout, spec);
}

Result<Duration> ParseExecutionLimit(const PropertyValues& values, Warnings& warnings) {
  const bool is_new = values.Has(kExecutionLimitKey);
  if (is_new && values.Has(kWorkerTimeout) && values.Text(kExecutionLimitKey) != values.Text(kWorkerTimeout))
    values.Warn(kWorkerTimeout, StrCat("no effect, because ", kExecutionLimitKey, " is set"), warnings);
  return values.Millis(is_new ? kExecutionLimitKey : kWorkerTimeout, 0);
}

using Variables = std::map<std::string, std::string>;

// The largest size of all variables of a process. The kernel's usual limit is 2 MB, and executors add their own
// variables.
constexpr size_t kMaxTotalBytes = 1'500'000;

Status CheckVariable(std::string_view origin, const std::string& name, const std::string& value) {
  const auto fail = [&](std::string_view what) {
    return Error{ErrorCode::kInvalid, StrCat("variable ", Quoted(name), " (from ", origin, "): ", what)};
  };
  if (name.empty()) return fail("the name is empty");
  if (name.find('=') != std::string::npos) return fail("a name cannot contain =");
  if ((name + value).find('\0') != std::string::npos) return fail("a variable cannot contain a NUL character");
  const size_t bytes = name.size() + 1 + value.size();
  if (bytes < kMaxStringBytes) return Ok();
  return fail(StrCat("NAME=VALUE has ", bytes, " bytes, and the kernel accepts at most ", kMaxStringBytes - 1,
                     "; put the value into a file"));
}

// Reads the variables of two kinds of keys. `list_key` has NAME=VALUE pairs, separated by commas. Each key `prefix` +
// NAME has one variable, whose value may contain commas.
Result<Variables> ParseVariables(const PropertyValues& values, std::string_view list_key, const std::string& prefix,
                                 Warnings& warnings) {
  Variables variables;
  const Property* list = values.properties().Find(list_key);
  const std::string origin = list ? list->origin : "";
  std::string last;
  for (const auto& item : values.List(list_key)) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos) {
      // The value is not quoted in the message, because it may be part of a password.
      return Error{ErrorCode::kInvalid,
                   StrCat(list_key, " (from ", origin, "): expected NAME=VALUE pairs, and ",
                          variables.empty() ? "the first item" : StrCat("the item after ", Quoted(last)),
                          " has no =; put a value that contains a comma into ", prefix, "NAME")};
    }
    const std::string name = item.substr(0, equals), value = item.substr(equals + 1);
    TRY(CheckVariable(origin, name, value));
    if (const auto second = NameAfterBlank(value); !second.empty())
      warnings.push_back(StrCat(list_key, " (from ", origin, "): the blanks are part of the value of ", name,
                                "; to set ", second, " as another variable, put a comma before it"));
    variables[name] = value;
    last = name;
  }
  const auto& all = values.properties().all();
  for (auto it = all.lower_bound(prefix); it != all.end() && it->first.starts_with(prefix); ++it) {
    const std::string name = it->first.substr(prefix.size());
    TRY(CheckVariable(it->second.origin, name, it->second.value));
    variables[name] = it->second.value;
  }
  return variables;
}

size_t TotalBytes(const Variables& variables) {
  size_t bytes = 0;
  for (const auto& [name, value] : variables) bytes += name.size() + value.size() + 2;  // 2 for '=' and NUL
  return bytes;
}

}  // namespace

Result<ParsedRoles> ParseRoles(const PropertyValues& values, Warnings& warnings) {
  ParsedRoles parsed;
  const size_t problems_before = values.problems().count();
  for (const auto& name : RolesWithInstances(values)) {
    auto role = ParseRoleAskedFor(values, name);
    if (!role.ok()) values.problems().Note(role.error());
    if (role.ok() && role->instances > 0) parsed.roles.push_back(*std::move(role));
  }
  // Some roles could not be read, so the checks below would report misleading errors.
  if (values.problems().count() > problems_before) return parsed;
  parsed.single_task = parsed.roles.empty();
  if (parsed.single_task) {
    TRY(RefuseInvalidRoleNames(values));
    WarnOfSingleTask(values, warnings);
    if (values.Has(kLogDir))
      values.Warn(kLogDir,
                  StrCat("TensorBoard is not started for a job without roles; the job's command can start it with the "
                         "variables TB_LOG_DIR and TB_PORT"),
                  warnings);
    TRY_ASSIGN(RoleSpec role, RoleOfAm(values, kDriver));
    parsed.roles.push_back(std::move(role));
  } else {
    WarnOfRelativeLogDir(values, warnings);
    // As in TonY, these limits only apply to jobs with roles.
    TRY(CheckTotals(values, parsed.roles));
  }
  std::ranges::sort(parsed.roles, {}, &RoleSpec::name);
  TRY_ASSIGN(parsed.completion_rule, ParseCompletion(values, parsed.single_task, parsed.roles, warnings));
  if (!parsed.single_task) {
    for (RoleSpec& role : parsed.roles) {
      TRY_ASSIGN(role.outlives_restarts, OutlivesRestarts(values, role));
    }
  }
  TRY(CheckSomeTracked(parsed.roles));
  TRY(ParseDependencies(values, parsed.roles, warnings));
  TRY(ParseOutliving(values, parsed.roles, warnings));
  TRY(AddPreprocess(values, parsed.single_task, parsed.roles, warnings));
  return parsed;
}

Status ParseTaskLimits(const PropertyValues& values, Warnings& warnings, JobSpec& spec) {
  TRY(ParseContainerLimits(values, warnings, spec));
  TRY_ASSIGN(spec.registry_timeout, values.Seconds(kRegistryTimeoutKey, 0, kMostRegistrySeconds));
  TRY_ASSIGN(spec.timers.execution_limit, ParseExecutionLimit(values, warnings));
  return Ok();
}

Result<ParsedEnvironment> ParseEnvironment(const PropertyValues& values, Warnings& warnings) {
  ParsedEnvironment parsed;
  TRY_ASSIGN(parsed.execution, ParseVariables(values, "tony.execution.envs", "tony.execution.env.", warnings));
  TRY_ASSIGN(parsed.container, ParseVariables(values, "tony.containers.envs", "tony.containers.env.", warnings));
  parsed.secrets = values.properties().secrets();
  for (const auto& [name, value] : parsed.secrets) TRY(CheckVariable("secrets", name, value));
  const size_t bytes = TotalBytes(parsed.execution) + TotalBytes(parsed.container) + TotalBytes(parsed.secrets);
  if (bytes < kMaxTotalBytes) return parsed;
  return Error{ErrorCode::kInvalid, StrCat("tony.execution.envs, tony.containers.envs and secrets together have ",
                                           bytes, " bytes; expected less than ", kMaxTotalBytes)};
}

}  // namespace tony
