// How long a job's first application master may take to start: for whoever waits for it, the keeper on one machine and
// the client on a cluster.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/names.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/job/failure_rules.h"
#include "runtime/job/ids.h"

namespace tony {

inline constexpr std::string_view kStartupTimeoutKey = "tony.am.startup-timeout";

// What such a job's end begins with, also in a cluster's own words.
inline constexpr std::string_view kStartedTooLate = "the application master had not started";

// `waits`: why, as far as that is known.
inline std::string StartedTooLate(Duration passed, Duration limit, const std::string& waits) {
  return StrCat(kStartedTooLate, " ", Seconds(passed), " after the submission (", kStartupTimeoutKey, "=",
                limit.count(), ")", waits.empty() ? "" : ": the job ", waits);
}

// Of the limit since the submission, by the wall clock, which may have stepped meanwhile.
inline Duration SpentOf(Duration limit, Instant submitted, Instant now) {
  return std::clamp(now - submitted, Duration(0), limit);
}

// The typed, validated, immutable description of one job. Past the parser nobody sees a property key.

// kStaged is for tests of TonY itself: a job spec may have it, and no property can ask for it.
enum class FrameworkKind { kStandalone, kTensorflow, kPytorch, kJax, kLightgbm, kXgboost, kStaged };
constexpr auto NamesOf(FrameworkKind) {
  return EnumNames("standalone", "tensorflow", "pytorch", "jax", "lightgbm", "xgboost", "staged");
}

// What the end of a role's tasks means for the job.
enum class Completion {
  kTracked,    // the job succeeds when all tracked tasks did, and fails when one does
  kUntracked,  // not waited for, but a failure fails the job (parameter servers)
  kSidecar,    // not waited for; a failure is ignored
};
constexpr auto NamesOf(Completion) { return EnumNames("tracked", "untracked", "sidecar"); }

// Whose rule says when tracked tasks that failed, and are not restarted, fail the job.
enum class CompletionRule {
  kStrict,  // the first of a role does, unless the role says otherwise
  kTony,    // TonY's: the chief's does, and that all of them failed; of other roles only if they say so
};
constexpr auto NamesOf(CompletionRule) { return EnumNames("strict", "tony"); }

// The rule for processes that the command of a task has left running in the background when it ends with 0.
enum class Background {
  kAuto,  // the task waits for its work, and ends the helpers of work that is done (executor/background.h)
  kEnd,   // the task ends them
  kWait,  // the task waits for all of them
  kFail,  // the task has failed
};
constexpr auto NamesOf(Background) { return EnumNames("auto", "end", "wait", "fail"); }

struct Resources {
  int64_t memory_mb = 2048;
  int vcores = 1;
  int gpus = 0;
  bool operator==(const Resources&) const = default;
};

// When a registered task may start.
enum class DistributedMode {
  kGang,  // when all are registered: they know each other
  kFcfs,  // at once, first come first served: batch inference
};
// As TonY wrote them, and read them in any case.
constexpr auto NamesOf(DistributedMode) { return EnumNames("GANG", "FCFS"); }
std::optional<DistributedMode> DistributedModeFromString(std::string_view text);

// A file or folder of the submitter's that a process finds in its own folder. TonY: SRC[::NAME][#archive].
struct FileSpec {
  // A file or a folder: an absolute path of the submitting machine, or a place in HDFS (hdfs_place.h).
  std::string source;
  std::string name;      // what it is called there: one component of a path; empty: its content is in the folder itself
  bool archive = false;  // `name` is a folder with what is in the archive `source`
  bool operator==(const FileSpec&) const = default;
};
bool IsFileName(std::string_view name);  // one component of a path: a name may stand in a folder
// What the executor and the program write into a task's folder. A link there would be written through.
bool IsTonysOwnFile(std::string_view name);

inline constexpr std::string_view kVenvFolder = "venv";  // where a task finds the job's Python environment

// How much of a job starts again when an attempt of it has ended. In order of size.
enum class RestartScope {
  kTask,  // the task alone; everybody else runs on
  kRole,  // all tasks of its role
  kGang,  // every task, in the next generation; containers and executors stay
  kJob,   // every task, in new containers
};
constexpr size_t kRestartScopes = 4;
constexpr auto NamesOf(RestartScope) { return EnumNames("task", "role", "gang", "job"); }

// How many restarts there may be.
struct RestartBudget {
  int most = 0;
  Duration window{0};  // restarts that are longer ago do not count; 0: all count
  bool operator==(const RestartBudget&) const = default;
};

// Whose fault an end is decides what pays for the restart: a failure of the user's program one of `levels`, anything
// that is not the program's fault (lost nodes, preemption, our own infrastructure) only `lost`.
struct RestartRules {
  // By RestartScope: counted for each task, each role, the job, the job. A level that is used up escalates to the next.
  std::array<RestartBudget, kRestartScopes> levels;
  RestartBudget lost{.most = 10, .window = Duration(3'600'000)};  // of the job
  // The first restart of a kind is at once; the second waits this long, each further one twice as long.
  Duration backoff{1000};
  Duration longest_backoff{60'000};
  // In a collective one lost node makes all the others fail, and they may be heard of first. So a failure that would
  // end the job is judged only so much later; what shows up meanwhile and is not the program's fault goes before it.
  Duration settle{300};
  bool operator==(const RestartRules&) const = default;
};

// Where the user's program leaves its checkpoints.
struct CheckpointSpec {
  std::string directory;       // absolute, or in HDFS (hdfs_place.h); empty: none declared
  std::string pattern = "*";   // of the names in it, as of a shell: * ? [a-z]
  int most_fruitless = 3;      // restarts in a row without a newer checkpoint, after which the job has failed
  bool resume_latest = false;  // from whatever is newest, also where others wrote it, and from the first attempt on
  bool operator==(const CheckpointSpec&) const = default;
};

enum class Placement { kPack, kSpread };  // of a role's tasks on machines: where room is; as evenly as room allows
constexpr auto NamesOf(Placement) { return EnumNames("pack", "spread"); }

// What every task of another role has come to before this one's tasks start.
struct Dependency {
  enum class Until {
    kSucceeded,  // it has ended well; only then containers are asked for
    kReady,      // it has published READY, and may run on; until then who has a container waits in it
  };
  std::string role;
  Until until = Until::kSucceeded;
  bool operator==(const Dependency&) const = default;
};
constexpr auto NamesOf(Dependency::Until) { return EnumNames("succeeded", "ready"); }

// How long a role's tasks may run on once every task of a group of roles has ended.
struct Outliving {
  std::string group;               // its name, as the properties have it
  std::vector<std::string> roles;  // of the job; never empty
  Duration limit{0};
  bool ignored = false;  // the job then goes on without the role, and else fails
  bool operator==(const Outliving&) const = default;

  std::string Key(std::string_view role) const;  // "tony.application.dependency.worker.timeout.after.A"
};

struct RoleSpec {
  std::string name;  // lower-case letters, as TonY's job types
  int instances = 1;
  Resources resources;
  std::string command;  // as for `bash -c`; never empty
  Completion completion = Completion::kTracked;
  std::optional<RestartScope> restart_scope;  // nothing: what the framework says
  std::optional<int> restarts;                // instead of the `most` of the smallest scope's level, for this role
  int min_succeeded = 0;          // of a tracked role: so many successes are enough; 0: each of its tasks ends
  std::optional<int> min_failed;  // so many failures that are not restarted fail the job; 0: however many there are
  std::vector<FileSpec> files;    // for its tasks, beside the job's
  std::string node_label;  // of the nodes that will do, as the scheduler's administrator has named them; empty: any
  Placement placement = Placement::kPack;
  std::string key_prefix;  // of its property keys, "tony.am" in a job without roles; empty: "tony." and its name
  int processes = 1;       // of each of its tasks, side by side; at most kMostProcesses
  std::vector<Dependency> depends_on;  // sorted by role, each once; as cluster_spec.h says
  std::vector<Outliving> outlives;     // all of them count
  bool outlives_restarts = false;      // of the gang: it runs on as it is; sidecars only
  bool operator==(const RoleSpec&) const = default;

  std::string Key(std::string_view what) const;  // "memory" -> "tony.worker.memory", for messages
  // How many failures fail the job; 0: no number does. Where `min_failed` does not say, those that leave
  // `min_succeeded` out of reach, or else the first one; of a sidecar none.
  int FailsAt() const;
  bool CountsFailures() const { return completion != Completion::kSidecar || FailsAt() > 0; }
};

// Timers of liveness and recovery. The parser refuses cutoff_after + grace + 5 s >= lost_after: a replaced attempt
// must be dead before its successor starts.
struct Timers {
  Duration heartbeat{1000};
  Duration suspect_after{5000};
  Duration cutoff_after{30000};
  Duration grace{10000};
  Duration lost_after{60000};
  Duration record_fresh{15000};
  Duration am_lease{10000};
  Duration orphan_timeout{1800000};
  Duration execution_limit{0};  // of the processes of one attempt, from their start; 0: none
  bool operator==(const Timers&) const = default;
};

// An executor whose call has not been answered for so long takes the connection for lost.
Duration CallLimit(const Timers& timers);

inline constexpr int64_t kMostJobPriority = 1000;  // and the least is as far below 0

// For messages: what limits an attempt's processes, and the time from its container's start to its registration.
inline constexpr std::string_view kExecutionLimitKey = "tony.task.executor.execution-timeout-ms";
inline constexpr std::string_view kRegistryTimeoutKey = "tony.task.executor.registry-timeout-sec";

// Well below the ten minutes after which a ResourceManager takes a container away that was not started.
inline constexpr Duration kLongestGangHold{240'000};

inline constexpr std::string_view kYarnScheduler = "yarn";

// What a job asks of YARN beside its containers.
struct YarnSpec {
  std::string queue = "default";
  std::string type = "TONY";  // what kind of application it is listed as
  int priority = 0;           // among the applications of its queue; higher ones go first
  // Of the nodes that will do for its containers, where they name none of their own; and for its master. Empty: any.
  std::string node_label, am_node_label;
  // Who else may see it with its logs, and who may end it, as Hadoop writes access lists: users, a blank, groups, each
  // separated by commas; "*" is everybody. Empty: its user alone.
  std::string view_acl, modify_acl;
  // Where TonY's portal is, "https://portal.example.org:19886": the application leads there once it has ended. Empty:
  // it leads to the ResourceManager's own page of it.
  std::string portal_url;
  // Of the container of its application master, whose own need is 30 MB and 20 KB for each task.
  int64_t am_memory_mb = 512;
  int am_vcores = 1;
  // After so long without a further one, up to twice as long, a gang gives its containers back for a while, and a task
  // that does not start again before is not waited for in its container; 0: never.
  Duration gang_hold{30'000};
  bool operator==(const YarnSpec&) const = default;
};

struct JobSpec {
  std::string name = "TonyApplication";
  FrameworkKind framework = FrameworkKind::kTensorflow;
  std::string scheduler = "local";                   // what runs it; runtime/backend knows which there are
  std::vector<RoleSpec> roles;                       // sorted by name; never empty; at least one is tracked
  std::map<std::string, std::string> execution_env;  // -shell_env: the user's process
  std::map<std::string, std::string> container_env;  // -container_env: also for the user's process; execution_env wins
  DistributedMode mode = DistributedMode::kGang;
  CompletionRule completion_rule = CompletionRule::kStrict;
  // On the submitting machine, absolute, or in HDFS (hdfs_place.h); empty: none.
  std::string src_dir;             // a folder or an archive; its content is in each task's folder
  std::string python_venv;         // an archive or a folder; its content is in kVenvFolder there
  std::vector<FileSpec> files;     // for every task
  std::vector<FileSpec> am_files;  // for the AM's own folder
  bool memory_limits = true;       // on one machine: a task that takes more than it asked for is ended
  int64_t priority = 0;            // on one machine: among its user's own jobs that wait; the highest first
  int64_t log_limit_mb = 1024;     // of stdout and of stderr of an attempt, on the disk; 0: none
  Background background = Background::kAuto;
  Duration timeout{0};                    // of the whole job, from acceptance; 0: none
  Duration startup_timeout{0};            // from the submission until its first master has started; 0: none
  Duration allocation_timeout{0};         // from a task's request until it has a container; 0: none
  Duration registration_timeout{900000};  // from then until it is registered
  Duration registry_timeout{0};           // from its container's start until it is registered; 0: none
  Timers timers;
  RestartRules restart;
  CheckpointSpec checkpoint;
  std::vector<FailureRule> failure_rules;  // its own, which go before the built-in ones
  std::vector<std::string> tags;           // for people and tools to find it by; each once, none empty
  YarnSpec yarn;
  // Where TonY's portal and Dr. Elephant find its history: absolute, or in HDFS (hdfs_place.h); empty: none is kept.
  std::string history_folder;
  bool operator==(const JobSpec&) const = default;

  const RoleSpec* FindRole(std::string_view role) const;
  Duration LongestHold() const;  // of a container in which nothing runs yet, or again; 0: as long as it takes
  int ProcessesOf(std::string_view role) const;  // of each task; 1 where there is no such role
  bool AsksForGpus() const;
  int TotalTasks() const;
  int TrackedTasks() const;
  // The chief decides for collectives who leads: role "chief" index 0, or else "worker" index 0 (TonY's rule).
  bool IsChief(const TaskId& task) const;
};

// Canonical JSON ("schema": 1): keys in fixed order, every field written. FromJson is the way executors and a new AM
// read it back; it checks types and required fields, kInvalid names the field.
std::string ToJson(const JobSpec& spec);
Result<JobSpec> JobSpecFromJson(std::string_view json);

}  // namespace tony
