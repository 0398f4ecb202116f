// The typed, validated, immutable description of one job. Only the parser reads property keys; all other code reads
// this description.
//
// The first part of this file is about the time limit for the start of a job's first application master (AM). On one
// machine the keeper (supervisor of one job) enforces the limit, on a cluster the client enforces it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/amount.h"
#include "runtime/base/names.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/job/failure_rules.h"
#include "runtime/job/ids.h"

namespace tony {

inline constexpr char kKeytabKey[] = "tony.yarn.keytab";
inline constexpr char kGpuDevicesKey[] = "tony.local.gpu-devices";
inline constexpr char kOtherNameNodesKey[] = "tony.other.namenodes";
inline constexpr char kProgramsKey[] = "tony.yarn.programs";
inline constexpr std::string_view kStartupTimeoutKey = "tony.am.startup-timeout";

// The beginning of the verdict on a job whose AM started too late. On a cluster, the application's diagnostics contain
// these words.
inline constexpr std::string_view kStartedTooLate = "the application master had not started";

// Returns the message of the verdict on a job whose AM started too late. `waits` completes "the job ..." with what the
// job waits for. Empty: that is not known.
inline std::string StartTimeoutMessage(Duration passed, Duration limit, const std::string& waits) {
  return StrCat(kStartedTooLate, " ", Seconds(passed), " after the submission (", kStartupTimeoutKey, "=",
                limit.count(), ")", waits.empty() ? "" : ": the job ", waits);
}

// Returns how much of the limit has passed since the submission. The wall clock may have been set meanwhile, so the
// result is kept between 0 and `limit`.
inline Duration ElapsedOfLimit(Duration limit, Instant submitted, Instant now) {
  return std::clamp(now - submitted, Duration(0), limit);
}

// kStaged exists for tests of TonY itself: a job spec may contain it, but no property can request it.
enum class FrameworkKind {
  kStandalone,
  kTensorflow,
  kPytorch,
  kJax,
  kLightgbm,
  kXgboost,
  kHorovod,
  kMxnet,
  kRay,
  kStaged
};
constexpr auto NamesOf(FrameworkKind) {
  return EnumNames("standalone", "tensorflow", "pytorch", "jax", "lightgbm", "xgboost", "horovod", "mxnet", "ray",
                   "staged");
}
// The frameworks that a job may name, for messages.
inline constexpr std::string_view kFrameworkNames =
    "tensorflow, pytorch, jax, lightgbm, xgboost, horovod, mxnet, ray or standalone";

// How the end of a role's tasks affects the job.
enum class Completion {
  // The job succeeds when all tracked tasks have succeeded, and fails when a tracked task fails.
  kTracked,
  // The job does not wait for the task. A failure of the task fails the job (parameter servers).
  kUntracked,
  // The job does not wait for the task, and its failure is ignored.
  kSidecar,
};
constexpr auto NamesOf(Completion) { return EnumNames("tracked", "untracked", "sidecar"); }

// The rule that decides when failures of tracked tasks fail the job. Only failures without a restart count.
enum class CompletionRule {
  // The first failure in a role fails the job, unless the role has its own limit.
  kStrict,
  // TonY's rule: the job fails if the chief fails, or if all tracked tasks fail. Failures in other roles fail the job
  // only if the role has its own limit.
  kTony,
};
constexpr auto NamesOf(CompletionRule) { return EnumNames("strict", "tony"); }

// How a task treats processes that its command has left in the background when the command exits with 0.
enum class Background {
  // The task waits for background processes that do its work. When the work is done, the task ends its helper processes
  // (executor/background.h).
  kAuto,
  kEnd,   // The task ends these processes.
  kWait,  // The task waits for these processes.
  // The task fails because of these processes.
  kFail,
};
constexpr auto NamesOf(Background) { return EnumNames("auto", "end", "wait", "fail"); }

inline constexpr char kGpuType[] = "yarn.io/gpu";  // the name of Hadoop

struct Resources {
  int64_t memory_mb = 2048;
  int vcores = 1;
  int gpus = 0;
  // Amounts of other resources of a Hadoop cluster, such as "yarn.io/fpga" -> 1; never "yarn.io/gpu". None is 0.
  std::map<std::string, Amount> others;
  bool operator==(const Resources&) const = default;
};

// When the program of a registered task may start.
enum class DistributedMode {
  // The program starts when all tasks are registered, so that they know each other's addresses.
  kGang,
  // The program starts at once (first come, first served), e.g. for batch inference.
  kFcfs,
};
// The names are written as TonY wrote them. DistributedModeFromString() ignores case, as TonY did.
constexpr auto NamesOf(DistributedMode) { return EnumNames("GANG", "FCFS"); }
std::optional<DistributedMode> DistributedModeFromString(std::string_view text);

// A file or folder of the submitter that a process finds in its working folder. TonY's notation: SRC[::NAME][#archive].
struct FileSpec {
  // A file or a folder: an absolute path on the submitting machine, or a place in HDFS (hdfs_place.h).
  std::string source;
  // The name in the working folder, one component of a path. Empty: the content of `source` is in the working folder
  // itself.
  std::string name;
  // True if `name` is a folder with the unpacked content of the archive `source`.
  bool archive = false;
  bool operator==(const FileSpec&) const = default;
};
// A folder of the machine that a container sees.
struct Mount {
  std::string source, target;  // absolute paths
  bool read_only = false;
  bool operator==(const Mount&) const = default;
};

// Parses SOURCE:TARGET[:ro|rw], separated by commas. The error says what was expected.
Result<std::vector<Mount>> ParseMounts(std::string_view text);

// Returns whether the name is one component of a path, as the name of a file must be.
bool IsFileName(std::string_view name);
// Returns whether the executor or the program writes a file of this name into a task's folder. If the user linked a
// file under this name, the write would go through the link.
bool IsReservedFileName(std::string_view name);

inline constexpr std::string_view kVenvFolder = "venv";  // folder of the job's Python environment

// How much of a job restarts when one of its attempts has ended, from the smallest scope to the largest.
enum class RestartScope {
  kTask,  // only the task itself
  kRole,  // all tasks of its role
  // Every task restarts in the next generation. Containers and executors are kept.
  kGang,
  kJob,  // every task, in new containers
};
constexpr size_t kRestartScopes = 4;
constexpr auto NamesOf(RestartScope) { return EnumNames("task", "role", "gang", "job"); }

// A limit on the number of restarts.
struct RestartBudget {
  int most = 0;
  // Restarts longer ago than this do not count; 0: all restarts count.
  Duration window{0};
  bool operator==(const RestartBudget&) const = default;
};

// The restart policy. The reason why an attempt ended decides which budget pays for its restart. A failure of the
// user's program is charged to one of `levels`. If the program is not at fault (lost node, preemption, TonY's own
// infrastructure), the restart is charged to `lost` alone.
struct RestartRules {
  // The budgets, indexed by RestartScope. The budget of kTask is counted for each task, and the budget of kRole for
  // each role. The budgets of kGang and kJob are counted for the whole job. When the budget of a level is used up, the
  // restart escalates to the next level.
  std::array<RestartBudget, kRestartScopes> levels;
  // The budget for attempts that ended without a fault of the program, counted for the whole job.
  RestartBudget lost{.most = 10, .window = Duration(3'600'000)};
  // The delay before a restart grows with the number of earlier restarts of the same scope (task, role, gang or job).
  // Restarts that are charged to the budget `lost` are counted for each task. The first restart starts at once, the
  // second waits for `backoff`, and each further one twice as long as the one before, up to `longest_backoff`.
  Duration backoff{1000};
  Duration longest_backoff{60'000};
  // The delay before a failure that would end the job is judged. In a collective, a lost node makes all other tasks
  // fail, and the failures of these tasks may be reported first. If an attempt that ended without a fault of the
  // program is reported within the delay, that attempt counts as the cause.
  Duration settle{300};
  bool operator==(const RestartRules&) const = default;
};

// The place where the user's program writes its checkpoints.
struct CheckpointSpec {
  // An absolute path, or a place in HDFS (hdfs_place.h). Empty if the job has declared no directory.
  std::string directory;
  // The pattern for names of checkpoints, as in a shell: * ? [a-z].
  std::string pattern = "*";
  // The job fails after this many restarts in a row without a newer checkpoint.
  int most_fruitless = 3;
  // True: all attempts, including the first ones, resume from the newest checkpoint, even if another job wrote it.
  bool resume_latest = false;
  bool operator==(const CheckpointSpec&) const = default;
};

// How the tasks of a role are placed on machines. kPack: wherever resources are free. kSpread: as evenly as the free
// resources allow.
enum class Placement { kPack, kSpread };
constexpr auto NamesOf(Placement) { return EnumNames("pack", "spread"); }

// A condition that all tasks of another role meet before the tasks of this role start.
struct Dependency {
  enum class Until {
    // Each task has succeeded. Containers for this role are requested only after that.
    kSucceeded,
    // Each task has published READY, and may still run. Until then, the tasks of this role wait in their containers.
    kReady,
  };
  std::string role;
  Until until = Until::kSucceeded;
  bool operator==(const Dependency&) const = default;
};
constexpr auto NamesOf(Dependency::Until) { return EnumNames("succeeded", "ready"); }

// A limit on how long a role's tasks may continue after every task of a group of roles has ended.
struct OutliveLimit {
  std::string group;               // name of the group in properties
  std::vector<std::string> roles;  // roles of the job; never empty
  Duration limit{0};
  // True: the job continues without the role after the limit. False: the job fails.
  bool ignored = false;
  bool operator==(const OutliveLimit&) const = default;

  std::string Key(std::string_view role) const;  // e.g. "tony.application.dependency.worker.timeout.after.A"
};

inline constexpr int kAutoParallel = -1;

struct RoleSpec {
  std::string name;  // lower-case letters, as in TonY
  int instances = 1;
  Resources resources;
  // The command line for `bash -c`; never empty.
  std::string command;
  Completion completion = Completion::kTracked;
  // The smallest part of the job that restarts with a task of this role. Not set: the framework decides
  // (SmallestScope()).
  std::optional<RestartScope> restart_scope;
  // The role's own number of restarts. It replaces RestartBudget::most at the level of the role's smallest scope. Not
  // set: the job's budget applies.
  std::optional<int> restarts;
  // How many successes complete a tracked role. 0: each of its tasks has to end.
  int min_succeeded = 0;
  // How many failures without a restart fail the job. 0: any number of failures is tolerated. Not set: FailureLimit()
  // decides.
  std::optional<int> min_failed;
  // Files for the tasks of this role, in addition to the job's files.
  std::vector<FileSpec> files;
  // The label of nodes that may run the tasks, as the scheduler's administrator has named it. Empty: any node.
  std::string node_label;
  Placement placement = Placement::kPack;
  // On YARN: the condition on the nodes of the role's containers, as ParsePlacementConstraint() reads it, and the tags
  // by which such conditions name the containers. Empty: any node; no tags. If one of them or YarnSpec::placement_spec
  // is set, the role has no node label and is not spread.
  std::string placement_spec;
  std::vector<std::string> allocation_tags;
  // The image of the containers in which the tasks run: by podman on one machine, by the nodes on YARN. Empty: tasks run
  // without a container.
  std::string image;
  // The prefix of the role's property keys. Empty: the prefix is "tony." and the role's name. The prefix is "tony.am"
  // for the task of a job without roles and for the preprocessing task.
  std::string key_prefix;
  // The number of processes that each task runs in parallel; at most kMostProcesses.
  int processes = 1;
  // In FCFS mode: how many tasks of the role run at the same time. kAutoParallel: as many as the machine's memory, GPUs
  // and cores hold, and without a limit on YARN. 0: no limit.
  int max_parallel = 0;
  // The roles that this role waits for, sorted by role, without duplicates. CheckDependencies() checks further rules.
  std::vector<Dependency> depends_on;
  std::vector<OutliveLimit> outlives;  // All of these limits apply.
  // True: a restart of the gang does not affect the running tasks of this role. Only sidecars may set it.
  bool outlives_restarts = false;
  bool operator==(const RoleSpec&) const = default;

  std::string Key(std::string_view what) const;  // "memory" -> "tony.worker.memory", for messages
  // Returns the number of tasks that run, or wait for a container, at the same time.
  int AtOnce() const { return max_parallel > 0 ? std::min(max_parallel, instances) : instances; }
  // Returns how many failures of the role fail the job; 0: any number is tolerated. If `min_failed` is not set, the
  // limit is the number of failures that makes `min_succeeded` impossible. If neither is set, the limit is 1, and 0 for
  // a sidecar.
  int FailureLimit() const;
  bool CountsFailures() const { return completion != Completion::kSidecar || FailureLimit() > 0; }
};

// Timers of liveness and recovery. The parser refuses cutoff_after + grace + 5 s >= lost_after, because a replaced
// attempt must be dead before its successor starts.
struct Timers {
  Duration heartbeat{1000};
  Duration suspect_after{5000};
  Duration cutoff_after{30000};
  Duration grace{10000};
  Duration lost_after{60000};
  Duration record_fresh{15000};
  Duration am_lease{10000};
  Duration orphan_timeout{1800000};
  // The limit on the running time of an attempt's processes; 0: no limit.
  Duration execution_limit{0};
  bool operator==(const Timers&) const = default;
};

// Returns how long an executor waits for the answer to a call before it considers the connection lost.
Duration CallTimeout(const Timers& timers);

// The highest priority; the lowest is -kMostJobPriority.
inline constexpr int64_t kMostJobPriority = 1000;

// Keys for messages: the limit on the running time of an attempt's processes, and the limit on the time from a
// container's start to the registration of its task.
inline constexpr std::string_view kExecutionLimitKey = "tony.task.executor.execution-timeout-ms";
inline constexpr std::string_view kRegistryTimeoutKey = "tony.task.executor.registry-timeout-sec";

// The largest valid value of YarnSpec::gang_hold. It is well below ten minutes, because after that time a
// ResourceManager takes back a container in which nothing was started.
inline constexpr Duration kLongestGangHold{240'000};

inline constexpr std::string_view kYarnScheduler = "yarn";
inline constexpr char kJobPlacementKey[] = "tony.application.placement-spec";

// A job's settings for YARN, except the settings of its containers.
struct YarnSpec {
  std::string queue = "default";
  // The application type that YARN shows in its lists.
  std::string type = "TONY";
  // The priority among the applications of the queue; higher values go first.
  int priority = 0;
  // The labels of nodes on which containers may run. `node_label` is for tasks whose role has no label of its own,
  // `am_node_label` is for the AM. Empty: any node.
  std::string node_label, am_node_label;
  // A condition on the nodes of all containers except the AM's, in addition to RoleSpec::placement_spec. Empty: none.
  std::string placement_spec;
  // The users who may view the application and its logs, and the users who may end it, in addition to the job's own
  // user. The format is Hadoop's: users separated by commas, a blank, then groups separated by commas. "*" means
  // everybody.
  std::string view_acl, modify_acl;
  // The URLs of further HDFS, for which the job gets tokens on a cluster with Kerberos.
  std::vector<std::string> other_name_nodes;
  // The path of the keytab that the AM gets, on the machine of the submit. Empty: none.
  std::string keytab;
  // The folder of HDFS for TonY's own programs, e.g. "hdfs:///apps/tony". Empty: a folder in the user's home folder.
  std::string programs;
  // The address of TonY's portal, e.g. "https://portal.example.org:19886". YARN links a finished application to the
  // portal. Empty: YARN links it to the ResourceManager's own page of the application.
  std::string portal_url;
  // The size of the AM's container. The AM itself needs 30 MB and 20 KB for each task.
  int64_t am_memory_mb = 512;
  int am_vcores = 1;
  // The image of the container in which the AM runs. Empty: the AM runs without one.
  std::string am_image;
  // How long an incomplete gang keeps its containers while it gets no further container. After this time, or at most
  // after twice this time, the gang returns its containers for a while. A restart keeps a task's container only if the
  // delay before the restart is at most this long. 0: containers are kept without a time limit.
  Duration gang_hold{30'000};
  // How long a failed attempt of the AM counts towards the cluster's limit of attempts. Only the death of the AM's
  // container or node is a failed attempt, because a dead AM process is replaced in its container.
  Duration am_validity_interval{10'000};
  bool operator==(const YarnSpec&) const = default;
};

// A process of a job that reproduces a task of another job (client/reproduction.h).
struct ReproducedProcess {
  // Variables with the values that the process had in the other job. They take precedence over the values that TonY
  // computes for this job.
  std::map<std::string, std::string> variables;
  bool operator==(const ReproducedProcess&) const = default;
};

// Task N of this role runs trial N of a sweep.
inline constexpr std::string_view kTrialRole = "trial";

// The trials of a sweep.
struct Sweep {
  // Each trial's parameters as a JSON object with texts, numbers and booleans as values. Each name is valid for a
  // variable.
  std::vector<std::string> trials;
  // The name of the value by which the trials are compared. Empty: they are not compared.
  std::string metric;
  bool maximize = false;
  // The job whose missing trials this job runs; empty: none.
  JobId resumes;
  bool operator==(const Sweep&) const = default;
};

struct JobSpec {
  std::string name = "TonyApplication";
  FrameworkKind framework = FrameworkKind::kTensorflow;
  // The backend that runs the job; runtime/backend knows the possible names.
  std::string scheduler = "local";
  // The roles, sorted by name. The list is never empty, and at least one role is tracked.
  std::vector<RoleSpec> roles;
  std::map<std::string, std::string> execution_env;  // -shell_env: variables of the user's process
  // -container_env: variables of the executor and the user's process. execution_env takes precedence.
  std::map<std::string, std::string> container_env;
  DistributedMode mode = DistributedMode::kGang;
  CompletionRule completion_rule = CompletionRule::kStrict;
  // A folder or an archive whose content is put into each task's folder. It is an absolute path on the submitting
  // machine or a place in HDFS (hdfs_place.h). Empty: none.
  std::string src_dir;
  // An archive or a folder whose content is put into the folder kVenvFolder in each task's folder. It has the same form
  // as `src_dir`.
  std::string python_venv;
  std::vector<FileSpec> files;     // files for every task
  std::vector<FileSpec> am_files;  // files for the AM's folder
  // Folders that containers with an image see besides their own: SOURCE:TARGET[:ro|rw], separated by commas.
  std::string mounts;
  // On one machine: a task that uses more memory than it requested is ended.
  bool memory_limits = true;
  // On one machine: the only GPUs that the job may get, as their numbers or names (UUIDs). Empty: any.
  std::vector<std::string> gpu_devices;
  // On one machine: the priority among the waiting jobs of the same user. The highest goes first.
  int64_t priority = 0;
  // The limit on the size of an attempt's stdout, and of its stderr, on the disk; 0: no limit.
  int64_t log_limit_mb = 1024;
  Background background = Background::kAuto;
  // How long the container of a failed task is kept, so that a person can enter it; 0: it is not kept.
  Duration hold{0};
  // The limit on the whole job, from its acceptance; 0: no limit.
  Duration timeout{0};
  // The limit from the submission until the first AM has started; 0: no limit.
  Duration startup_timeout{0};
  // The limit from the request of a task's container until the container is granted; 0: no limit.
  Duration allocation_timeout{0};
  // The limit from the grant of a task's container until the task is registered.
  Duration registration_timeout{900000};
  // The limit from the start of a task's container until the task is registered; 0: no limit.
  Duration registry_timeout{0};
  Timers timers;
  RestartRules restart;
  CheckpointSpec checkpoint;
  // The job's own rules, which are checked before the built-in ones.
  std::vector<FailureRule> failure_rules;
  // Labels by which people and tools find the job. No label is empty or repeated.
  std::vector<std::string> tags;
  // The address of the portal to which the job's links lead, without a slash at its end. Empty: the job's own page.
  std::string page_url;
  YarnSpec yarn;
  // The folder for the job's history, where TonY's portal and Dr. Elephant read it: an absolute path, or a place in
  // HDFS (hdfs_place.h). Empty: no history is written.
  std::string history_folder;
  // Set if the job reproduces a task. Process N of each task uses element N, and further processes use the last one.
  std::vector<ReproducedProcess> reproduced;
  // Set if the tasks of the role kTrialRole are the trials of a sweep.
  std::optional<Sweep> sweep;
  bool operator==(const JobSpec&) const = default;

  const RoleSpec* FindRole(std::string_view role) const;
  // Returns how long the job may keep a container in which no program runs; 0: without limit.
  Duration ContainerHoldLimit() const;
  // Returns the number of processes of each task; 1 if the role does not exist.
  int ProcessesOf(std::string_view role) const;
  bool RequestsGpus() const;
  // Returns whether a role has a limit on the tasks that run at the same time.
  bool HasMaxParallel() const;
  // Returns whether podman runs tasks of the job.
  bool UsesPodman() const;
  int TotalTasks() const;
  int TrackedTasks() const;
  // Returns the role whose first task is the chief, which leads a collective: "chief" if the job has it, or else "worker"
  // (TonY's rule). In a Ray job, it is "head". The job may lack the role.
  std::string ChiefRole() const;
  bool IsChief(const TaskId& task) const;
};

// Returns canonical JSON ("schema": 1) with keys in a fixed order. Executors and a restarted AM read it with
// JobSpecFromJson(), which checks types and required fields; kInvalid names the field.
std::string ToJson(const JobSpec& spec);
Result<JobSpec> JobSpecFromJson(std::string_view json);

}  // namespace tony
