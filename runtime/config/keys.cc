#include "runtime/config/keys.h"

#include <algorithm>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

// The longest name that is compared with known keys. A longer name is not a misspelled key, and the time for a
// comparison grows with the square of the name's length.
constexpr size_t kLongestKnownKey = 120;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsLetter(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

// These words follow "tony." in some keys, e.g. "tony.am.memory", and are not names of roles.
constexpr std::string_view kReservedRoles[] = {"am",         "application", "checkpoint", "container",
                                               "containers", "docker",      "execution",  "failure",
                                               "history",    "output",      "restart",    "task"};
constexpr std::string_view kKeyOfRole = "tony.<role>.";

// Returns how many characters of `text` the placeholder matches.
size_t Match(std::string_view placeholder, std::string_view text) {
  if (placeholder == "<NAME>" || placeholder == "<CODE>") return text.size();
  const auto belongs = placeholder == "<group>" ? IsLetter : IsLower;
  return static_cast<size_t>(std::ranges::find_if_not(text, belongs) - text.begin());
}

bool Matches(std::string_view pattern, std::string_view name) {
  for (;;) {
    const size_t start = pattern.find('<');
    if (start == std::string_view::npos) return pattern == name;
    if (!name.starts_with(pattern.substr(0, start))) return false;
    const size_t end = pattern.find('>', start) + 1;
    const size_t taken = Match(pattern.substr(start, end - start), name.substr(start));
    if (taken == 0 || (pattern.starts_with(kKeyOfRole) && IsReservedRole(name.substr(start, taken)))) return false;
    pattern.remove_prefix(end);
    name.remove_prefix(start + taken);
  }
}

bool IsPattern(const Key& key) { return key.name.find('<') != std::string_view::npos; }

// Returns the number of insertions, removals, replacements and swaps of neighbours that turn `a` into `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// Returns the pattern with each placeholder replaced by the same part of `name`, so that the rest can be compared:
// "tony.<role>.memory" and "tony.worker.memroy" give "tony.worker.memory". Returns "" if a placeholder does not match
// its part.
std::string Instantiate(std::string_view pattern, std::string_view name) {
  const auto parts = Split(name, '.');
  if (pattern.starts_with(kKeyOfRole) && parts.size() > 1 && IsReservedRole(parts[1])) return {};
  auto pattern_parts = Split(pattern, '.');
  for (size_t i = 0; i < pattern_parts.size(); ++i) {
    if (!pattern_parts[i].starts_with('<')) continue;
    if (i >= parts.size() || Match(pattern_parts[i], parts[i]) != parts[i].size() || parts[i].empty()) return {};
    pattern_parts[i] = parts[i];
  }
  const std::string instance = Join(pattern_parts, ".");
  return instance.find('<') == std::string::npos ? instance : std::string();
}

// The rows of the table. Within a subject they are in alphabetical order.

using enum KeyType;
using enum KeyEffect;
using enum KeySecrecy;

// clang-format off
constexpr Key kKeys[] = {
    // The job.
    {"tony.application.completion-rule", kText, "strict", kImplemented, "which failures fail the job, if the failed tasks are not restarted: strict (the first failed task of any role except sidecars) or tony (a failed chief, a failed task of a role in tony.application.stop-on-failure-jobtypes, or the failure of all tracked tasks)"},
    {"tony.application.dependency.<role>.timeout.after.<group>", kSeconds, "", kImplemented, "how long the role's tasks may continue after all tasks of the group have ended; after that the job fails. A role may have several such limits"},
    {"tony.application.dependency.<role>.timeout.after.<group>.ignored", kFlag, "false", kImplemented, "true: after the time limit that the same key without .ignored sets, the job does not fail; it stops waiting for the role"},
    {"tony.application.distributed-mode", kText, "GANG", kImplemented, "GANG: tasks start when all are ready; FCFS: each task starts at once and does not know the others"},
    {"tony.application.enable-preprocess", kFlag, "false", kImplemented, "true: a preprocessing command (tony.am.command, or tony.containers.command if the former is not set) runs once before the tasks, with PREPROCESSING_JOB=true; the text that this command prints after the first \"Model parameters: \" becomes the variable MODEL_PARAMS of the tasks"},
    {"tony.application.fail-on-worker-failure-enabled", kFlag, "false", kImplemented, "true: the first failed task of any role fails the job; tony.application.completion-rule=strict has this effect for all roles except sidecars"},
    {"tony.application.framework", kText, "tensorflow", kImplemented, "framework whose variables the tasks get: tensorflow, pytorch, jax, lightgbm, xgboost, horovod, mxnet, ray or standalone"},
    {"tony.application.group.<group>", kList, "", kImplemented, "roles that form the group, for dependency timeouts"},
    {"tony.application.name", kText, "TonyApplication", kImplemented, "the job's name"},
    {"tony.application.prepare-stage", kList, "", kImplemented, "roles that run first; all other roles start when the tracked roles in this list have succeeded"},
    {"tony.application.sidecar.jobtypes", kList, "tensorboard", kImplemented, "roles that the job does not wait for, and whose failures are ignored"},
    {"tony.application.stop-on-failure-jobtypes", kList, "ps", kImplemented, "roles whose first failed task fails the job, as if tony.<role>.min-failed were 1; applies to sidecars, and with tony.application.completion-rule=tony to all roles"},
    {"tony.application.tags", kList, "", kImplemented, "labels of the job, by which a user can find it; an Azkaban step adds its execution, flow, project and host"},
    {"tony.application.tensorboard-log-dir", kText, "", kImplemented, "folder that TensorBoard shows, in a job with roles; every task finds the folder in TB_LOG_DIR; the keys tony.tensorboard.* configure TensorBoard"},
    {"tony.application.timeout", kMillis, "0", kImplemented, "time limit of the whole job, from its acceptance; 0: none"},
    {"tony.application.training-stage", kList, "", kImplemented, "roles that run after the tracked roles of the prepare stage have succeeded; all roles outside this list belong to the prepare stage"},
    {"tony.application.untracked.jobtypes", kList, "ps", kImplemented, "roles that the job does not wait for, but whose failures fail the job"},
    {"tony.scheduler", kText, "local", kImplemented, "system that runs the job: local (this machine) or yarn (a Hadoop cluster)"},
    {"tony.src-dir", kText, "", kImplemented, "folder or archive with the user's program, whose content each task gets in its own folder; on YARN also a path in HDFS (hdfs://...) (-src_dir)"},

    // The job's command and environment.
    {"tony.containers.command", kText, "", kImplemented, "command of each role for which tony.<role>.command is not set (-executes)"},
    {"tony.containers.env.<NAME>", kText, "", kImplemented, "a variable for executors and tasks, whose value may contain commas (-container_env)"},
    {"tony.containers.envs", kList, "", kImplemented, "NAME=VALUE pairs for executors and tasks"},
    {"tony.containers.image", kText, "", kImplemented, "image of the containers in which tasks run: by podman on one machine, by the nodes of a YARN cluster that runs Docker; if not set, tasks run without a container"},
    {"tony.containers.mounts", kList, "", kImplemented, "further folders for tasks in containers: SOURCE:TARGET or SOURCE:TARGET:ro, absolute paths"},
    {"tony.containers.resources", kList, "", kImplemented, "files and folders for every task's folder, as SRC[::NAME][#archive]: NAME is the file's name in the task's folder, #archive unpacks the file. On YARN SRC may be in HDFS, too (hdfs://...)"},
    {"tony.execution.env.<NAME>", kText, "", kImplemented, "a variable for tasks, whose value may contain commas (-shell_env)"},
    {"tony.execution.envs", kList, "", kImplemented, "NAME=VALUE pairs for tasks"},
    {"tony.hdfs-classpath", kList, "", kNotNeeded, "Hadoop's jars, for TonY's programs in the containers (-hdfs_classpath)", "TonY in C++ runs no Java"},
    {"tony.python-exec-path", kText, "", kNotNeeded, "interpreter of LinkedIn's Horovod driver, which is a Python program", "TonY's driver needs no Python; a command runs unchanged, and a Python file runs with the job's Python"},
    {"tony.python-venv", kText, "", kImplemented, "the Python environment, named venv in each task's folder: an archive or a folder, or a lock file from which uv (uv.lock, pylock.toml, requirements.txt) or conda (a file with a line @EXPLICIT) makes one. On YARN an archive may be in HDFS, too (hdfs://...) (-python_venv)"},

    // Roles.
    {"tony.<role>.allocation-tags", kList, "", kYarn, "tags by which placement constraints name the role's containers"},
    {"tony.<role>.command", kText, "", kImplemented, "the role's command, run by bash"},
    {"tony.<role>.depends-on", kList, "", kImplemented, "roles that this role waits for: ROLE must succeed before this role's containers are requested; with ROLE:ready, ROLE must publish READY before this role starts"},
    {"tony.<role>.gpus", kNumber, "0", kImplemented, "GPUs for each task"},
    {"tony.<role>.image", kText, "", kImplemented, "image of the role's containers, instead of tony.containers.image; none: the role runs without a container"},
    {"tony.<role>.instances", kNumber, "0", kImplemented, "number of tasks; a role's name has lower-case letters only"},
    {"tony.<role>.max-instances", kNumber, "-1", kImplemented, "maximum number of tasks of the role; below 0: any number"},
    {"tony.<role>.max-parallel", kText, "", kImplemented, "number of tasks of the role that run at the same time; a waiting task starts when another one has ended; auto: as many as the memory, GPUs and cores of the machine hold, and without a limit on YARN; only in mode FCFS; if not set, all tasks start at once"},
    {"tony.<role>.memory", kMemory, "2g", kImplemented, "memory for each task"},
    {"tony.<role>.min-failed", kNumber, "", kImplemented, "the job fails when this many tasks of the role have failed, not counting tasks that were restarted; if not set: the number of failures that makes min-succeeded impossible, or 1 if min-succeeded is not set either"},
    {"tony.<role>.min-succeeded", kNumber, "", kImplemented, "number of tasks of a tracked role that must succeed; after that the other tasks are stopped, and earlier failures of tasks of the role are ignored; if not set, the role ends when all its tasks have ended"},
    {"tony.<role>.node-label", kText, "", kYarn, "label of the nodes on which the role's tasks may run"},
    {"tony.<role>.nproc-per-node", kText, "1", kImplemented, "parallel processes of each task, as torchrun starts them (pytorch); gpu: one process for each GPU of the task"},
    {"tony.<role>.outlives-restarts", kFlag, "false", kImplemented, "for a sidecar role; true: the sidecar keeps running at its address when the gang restarts, and is not notified of the restart; default for the role tensorboard: true"},
    {"tony.<role>.placement", kText, "pack", kYarn, "pack: tasks run on any nodes with free resources; spread: tasks run as evenly over the nodes as free resources allow"},
    {"tony.<role>.placement-spec", kText, "", kYarn, "placement constraint of the role's containers, in the notation of Hadoop's PlacementConstraintParser: notin,node,TAG; in,rack,TAG; cardinality,node,TAG,MIN,MAX; ATTRIBUTE=VALUE; and(C:C); or(C:C)"},
    {"tony.<role>.resource.<NAME>", kText, "", kYarn, "amount of another resource type of the cluster that each task gets, e.g. tony.worker.resource.yarn.io/fpga=1; the amount may have a unit of Hadoop (500M, 4Gi)"},
    {"tony.<role>.resources", kList, "", kImplemented, "files and folders for the folders of the role's tasks: SRC[::NAME][#archive]. On YARN SRC may be in HDFS, too (hdfs://...)"},
    {"tony.<role>.vcores", kNumber, "1", kImplemented, "cores for each task"},
    {"tony.sweep.file", kText, "", kImplemented, "file with the trials of a sweep: FILE.json, a list of objects, or FILE.csv, whose first line has the names of the parameters"},
    {"tony.sweep.metric", kText, "", kImplemented, "value by which the trials of a sweep are compared: a member of the object that each trial writes to TONY_OUTPUT_FILE; NAME:max if the highest is best"},
    {"tony.sweep.parameters", kText, "", kImplemented, "JSON object with the values of each parameter of a sweep, e.g. {\"lr\":[0.1,0.2],\"depth\":[2,4]}; each combination is a trial, a task of the role trial; with tony.sweep.random also ranges: \"0.1..0.9\", \"1..8\", \"log:1e-5..1e-1\""},
    {"tony.sweep.random", kNumber, "0", kImplemented, "number of trials with random values of tony.sweep.parameters; 0: every combination"},
    {"tony.sweep.seed", kNumber, "0", kImplemented, "seed of tony.sweep.random; the same seed gives the same trials"},
    {"tony.sweep.tolerate", kNumber, "-1", kImplemented, "number of trials that may fail without failing the job; below 0: the job fails only if all trials fail"},
    {"tony.sweep.trials", kText, "", kImplemented, "JSON list of the trials of a sweep, each an object NAME: value"},
    {"tony.task.background", kText, "auto", kImplemented, "what a task does if its command exits with 0 and leaves processes in the background: end: the task ends them; wait: the task waits for them; fail: the task fails; auto: wait if they do the task's work (nohup python train.py &), otherwise end"},
    {"tony.task.hold", kMillis, "0", kImplemented, "how long the container of a failed task is kept, with its folder and variables, so that tony shell can enter it; the other tasks go on meanwhile, and the job ends after it; at most one container is kept at a time; 0: none; refused on YARN"},
    {"tony.task.log-limit", kMemory, "1g", kImplemented, "maximum size of an attempt's stdout log, and of its stderr log; only the end of a larger log is kept; 0: no maximum"},
    {"tony.task.max-total-gpus", kNumber, "-1", kImplemented, "maximum number of GPUs of all tasks together; below 0: any number"},
    {"tony.task.max-total-instances", kNumber, "-1", kImplemented, "maximum number of tasks of the job; below 0: any number"},
    {"tony.task.max-total-memory", kNumber, "-1", kImplemented, "maximum memory of all tasks together, in MB; below 0: any amount"},
    {"tony.task.max-total-vcores", kNumber, "-1", kImplemented, "maximum number of cores of all tasks together; below 0: any number"},
    {"tony.task.max-total-<resource>", kNumber, "-1", kNotNeeded, "maximum of another YARN resource for all tasks together", "only instances, memory, vcores and gpus have such a maximum"},

    // A job without roles is one task, which TonY ran in the AM's container.
    {"tony.am.command", kText, "", kImplemented, "command of a job without roles, or of the preprocessing step (tony.application.enable-preprocess); if it is empty, tony.containers.command is used"},
    {"tony.am.gpus", kNumber, "0", kImplemented, "GPUs for the command of a job without roles, or for the preprocessing step (tony.application.enable-preprocess)"},
    {"tony.am.memory", kMemory, "2g", kImplemented, "memory for the command of a job without roles, or for the preprocessing step (tony.application.enable-preprocess)"},
    {"tony.am.resource.<NAME>", kText, "", kYarn, "amount of another resource type of the cluster, for a job without roles, or for the preprocessing step (tony.application.enable-preprocess)"},
    {"tony.am.vcores", kNumber, "1", kImplemented, "cores for the command of a job without roles, or for the preprocessing step (tony.application.enable-preprocess)"},

    // Liveness and recovery.
    {"tony.am.lease-ms", kMillis, "10000", kImplemented, "an application master stops leading if it gets no answer for this long from its arbiter: on YARN the ResourceManager, otherwise the keeper (the supervisor of the job on this machine)"},
    {"tony.compat.version", kText, "0.5.3", kImplemented, "TonY version, 0.4.6 or 0.5.3, that defines the meaning of tony.container.allocation.timeout"},
    {"tony.container.allocation.timeout", kMillis, "-1", kImplemented, "time limit for a task to get its container; with tony.compat.version=0.4.6 this key has the meaning of tony.container.registration.timeout; 0 or below: none"},
    {"tony.container.registration.timeout", kMillis, "900000", kImplemented, "time limit from the allocation of a task's container to the task's registration; 0 or below: none"},
    {"tony.local.gpu-devices", kList, "", kLocal, "the only GPUs that the job may get: numbers, or names such as GPU-8f3c... and MIG-5a1b... that \"tony doctor\" lists"},
    {"tony.local.memory-limits", kText, "auto", kLocal, "auto: a cgroup limits the memory of each task, if TonY may create one; off: no limit"},
    {"tony.local.priority", kNumber, "0", kLocal, "priority among the user's own waiting jobs, -1000 to 1000; the job with the highest priority runs first; other users' jobs are not affected"},
    {"tony.task.cutoff-after-ms", kMillis, "30000", kImplemented, "an executor that cannot reach its application master for this long stops its task"},
    {"tony.task.executor.execution-timeout-ms", kMillis, "0", kImplemented, "time limit of each attempt of a task, from the start of its processes; 0: none"},
    {"tony.task.executor.registry-timeout-sec", kSeconds, "0", kImplemented, "time limit from the start of a task's container to the task's registration; on YARN the limit includes the download of the container's files; 0: only tony.container.registration.timeout applies"},
    {"tony.task.heartbeat-interval-ms", kMillis, "1000", kImplemented, "how often an executor sends a heartbeat to the application master"},
    {"tony.task.lost-after-ms", kMillis, "60000", kImplemented, "a task without a heartbeat for this long is lost"},
    {"tony.task.max-missed-heartbeats", kNumber, "", kImplemented, "number of missed heartbeats after which a task is lost; TonY's form of tony.task.lost-after-ms"},
    {"tony.task.orphan-timeout-ms", kMillis, "1800000", kImplemented, "time after which an executor whose application master has died ends its task and exits"},
    {"tony.task.record-fresh-ms", kMillis, "15000", kImplemented, "an application master whose lease record has not changed for this long counts as dead"},
    {"tony.task.stop-grace-ms", kMillis, "10000", kImplemented, "time between SIGTERM and SIGKILL for a task"},
    {"tony.task.suspect-after-ms", kMillis, "", kImplemented, "time without a heartbeat after which a task is suspect; if not set, five heartbeat intervals"},
    {"tony.worker.timeout", kMillis, "0", kImplemented, "TonY 0.4.6's name for tony.task.executor.execution-timeout-ms; it applies to every role, not only to workers"},

    // Restarts.
    {"tony.am.retry-count", kNumber, "0", kImplemented, "TonY's name for tony.restart.job.budget"},
    {"tony.checkpoint.dir", kText, "", kImplemented, "folder where the program leaves checkpoints, on YARN also in HDFS (hdfs://...); a restarted task gets the path of the job's newest checkpoint in TONY_RESUME_FROM"},
    {"tony.checkpoint.fruitless-restarts", kNumber, "3", kImplemented, "number of consecutive restarts without a newer checkpoint after which the job ends"},
    {"tony.checkpoint.pattern", kText, "*", kImplemented, "pattern for the names of checkpoints in tony.checkpoint.dir, as in a shell: * ? [a-z]"},
    {"tony.checkpoint.resume", kText, "own", kImplemented, "checkpoints that tasks continue from: own (the job's own) or latest (the newest in the folder, also of other jobs, and also for first attempts)"},
    {"tony.restart.backoff-ms", kMillis, "1000", kImplemented, "wait before the second restart; the wait doubles with each further restart"},
    {"tony.restart.gang.budget", kNumber, "0", kImplemented, "how often all tasks together may restart because of program failures"},
    {"tony.restart.gang.window-ms", kMillis, "0", kImplemented, "restarts longer ago than this do not count against tony.restart.gang.budget; 0: all restarts count"},
    {"tony.restart.job.budget", kNumber, "0", kImplemented, "how often all tasks may restart in new containers because of program failures"},
    {"tony.restart.job.window-ms", kMillis, "0", kImplemented, "restarts longer ago than this do not count against tony.restart.job.budget; 0: all restarts count"},
    {"tony.restart.longest-backoff-ms", kMillis, "60000", kImplemented, "longest wait before a restart"},
    {"tony.restart.lost.budget", kNumber, "10", kImplemented, "how often tasks may restart for reasons other than the program: lost nodes, preemption, failures of TonY"},
    {"tony.restart.lost.window-ms", kMillis, "3600000", kImplemented, "restarts longer ago than this do not count against tony.restart.lost.budget; 0: all restarts count"},
    {"tony.restart.role.budget", kNumber, "0", kImplemented, "how often the tasks of a role together may restart because of program failures, for each role"},
    {"tony.restart.role.window-ms", kMillis, "0", kImplemented, "restarts longer ago than this do not count against tony.restart.role.budget; 0: all restarts count"},
    {"tony.restart.scope", kText, "framework", kImplemented, "scope of a restart after a task fails: task, role, gang or job; framework: the smallest scope that the job's framework allows"},
    {"tony.restart.settle-ms", kMillis, "300", kImplemented, "how long a job of a collective framework waits, when its restart budget is used up, before a further failure ends the job; the wait is needed because the cause (a lost node or executor) may be reported later. The wait is ten times as long if the failure is a broken connection to another task"},
    {"tony.restart.task.budget", kNumber, "0", kImplemented, "how often a single task may restart because of program failures, for each task"},
    {"tony.restart.task.window-ms", kMillis, "0", kImplemented, "restarts longer ago than this do not count against tony.restart.task.budget; 0: all restarts count"},
    {"tony.<role>.restart.budget", kNumber, "", kImplemented, "how often the role's tasks may restart because of program failures; replaces the budget of the role's smallest restart scope"},
    {"tony.<role>.restart.scope", kText, "", kImplemented, "scope of a restart after a task of this role fails; replaces tony.restart.scope"},

    // The meaning of failures.
    {"tony.failure.exit.<CODE>", kText, "", kImplemented, "CLASS[, transient or permanent][, MEANING] for tasks with this exit code"},
    {"tony.failure.pattern.<NAME>", kText, "", kImplemented, "REGEX => CLASS[, transient or permanent][, MEANING] if one of the last lines of a failed task's stderr matches"},
    {"tony.failure.signal.<NAME>", kText, "", kImplemented, "CLASS[, transient or permanent][, MEANING] for tasks that this signal ended, e.g. 9 or SIGKILL"},

    // The application master and executors: settings of YARN and Java.
    {"tony.am.image", kText, "", kImplemented, "image of the task of a job without roles, or on YARN of the application master"},
    {"tony.am.instances", kNumber, "1", kNone, "number of application masters", "a job has one"},
    {"tony.am.node-label", kText, "", kYarn, "label of the nodes on which the application master, or the task of a job without roles, may run"},
    {"tony.am.resources", kList, "", kImplemented, "files and folders for the application master, or for the task of a job without roles: SRC[::NAME][#archive]"},
    {"tony.am.startup-timeout", kMillis, "0", kImplemented, "time limit from the submission to the start of the application master; on YARN the limit applies only while a client waits for the job (tony submit, tony wait); 0: none"},
    {"tony.am.wait-client-signal-stop-timeout-sec", kSeconds, "15", kNotNeeded, "how long the application master waited for its client's last message", "the application master does not wait for its client"},
    {"tony.default.jvm.opts", kText, "", kNotNeeded, "Java options of TonY's programs in TonY's Azkaban job type", "TonY in C++ runs no Java"},
    {"tony.task.am.jvm.opts", kText, "", kNotNeeded, "Java options of TonY's application master", "TonY in C++ runs no Java"},
    {"tony.task.default.jvm.opts", kText, "", kNotNeeded, "Java options of all of TonY's programs", "TonY in C++ runs no Java"},
    {"tony.task.executor.execution.error-message-max-depth", kNumber, "20", kNotNeeded, "lines of standard error in the message of a failure", "the message has the last traceback, or as many last lines as explain the failure"},
    {"tony.task.executor.jvm.opts", kText, "-Xmx1536m", kNotNeeded, "Java options of TonY's executors", "TonY in C++ runs no Java"},
    {"tony.task.gpu-metrics.enabled", kFlag, "true", kNone, "collect GPU metrics", "GPU metrics are always collected if a task has GPUs"},
    {"tony.task.metrics-interval-ms", kMillis, "5000", kNotNeeded, "interval between collections of metrics", "metrics are collected every second at first, later every 5 s"},

    // YARN, HDFS and Docker.
    {"tony.application.hadoop.classpath", kList, "", kNotNeeded, "Hadoop's class path in containers", "TonY in C++ runs no Java"},
    {"tony.application.hadoop.location", kText, "", kNotNeeded, "archive with Hadoop", "TonY in C++ runs no Java"},
    {"tony.application.hdfs-conf-path", kText, "", kYarn, "path of an hdfs-site.xml that replaces the cluster's"},
    {"tony.application.mapred-conf-path", kText, "", kNotNeeded, "path of a mapred-site.xml that replaces the cluster's", "TonY found Hadoop's jars in that file; TonY in C++ runs no Java"},
    {"tony.application.node-label", kText, "", kYarn, "node label for roles, and for the application master, that have no label of their own"},
    {"tony.application.num-client-rm-connect-retries", kNumber, "3", kNotNeeded, "connection attempts to the resource manager", "before the submission, a call has a limit of two seconds; after the submission, calls are retried"},
    {"tony.application.placement-spec", kText, "", kYarn, "placement constraint of all containers of tasks, in addition to that of their role"},
    {"tony.application.security.enabled", kFlag, "true", kNotNeeded, "fetch Hadoop's tokens", "core-site.xml decides whether the cluster is secure"},
    {"tony.application.type", kText, "TONY", kYarn, "type under which YARN lists the application, at most 20 characters"},
    {"tony.application.yarn-conf-path", kText, "", kYarn, "path of a yarn-site.xml that replaces the cluster's"},
    {"tony.containers.allocation-tags", kList, "", kYarn, "allocation tags of roles without their own"},
    {"tony.containers.placement-spec", kText, "", kYarn, "placement constraint of roles without their own"},
    {"tony.docker.containers.image", kText, "", kImplemented, "image of the application master and of roles without their own, with tony.docker.enabled=true"},
    {"tony.docker.containers.mount", kText, "", kImplemented, "the same as tony.containers.mounts, with tony.docker.enabled=true"},
    {"tony.docker.enabled", kFlag, "false", kImplemented, "true: the images of tony.docker.* count, as those of tony.containers.image and tony.<role>.image do"},
    {"tony.docker.<role>.image", kText, "", kImplemented, "image of a role, or of the application master (am), with tony.docker.enabled=true"},
    {"tony.gpu-exec-path", kText, "nvidia-smi", kNotNeeded, "program that lists GPUs", "the key had no effect in LinkedIn's TonY either; GPUs are read from the driver's library"},
    {"tony.other.namenodes", kList, "", kYarn, "further HDFS, for which the job gets tokens on a cluster with Kerberos: hdfs://HOST:PORT,... or hdfs://NAME,... with a name of dfs.nameservices"},
    {"tony.yarn.am-validity-interval", kMillis, "10000", kYarn, "how long a lost container of the application master counts towards the cluster's limit of attempts (yarn.resourcemanager.am.max-attempts)"},
    {"tony.yarn.gang-hold", kMillis, "30000", kYarn, "how long an incomplete gang keeps its containers while YARN grants no further one (at most twice this time in all); then the gang returns these containers, and requests all of its containers again later; 0: without limit"},
    {"tony.yarn.keytab", kText, "", kYarn, "keytab of the job's user, with which the application master renews its tokens on a cluster with Kerberos; it reaches the application master in its container's credentials"},
    {"tony.yarn.modify-acl", kText, "", kYarn, "users and groups, besides the owner, that may end the job in YARN: USER,... GROUP,... or *"},
    {"tony.yarn.priority", kNumber, "0", kYarn, "the application's priority in its queue, at most the cluster's highest; applications with a higher priority go first"},
    {"tony.yarn.programs", kText, "", kYarn, "folder of HDFS for TonY's own programs, such as hdfs:///apps/tony, instead of one in the user's home folder; it, its parents and its files have to belong to the user or to the owner of HDFS's root folder, and be open to everybody"},
    {"tony.yarn.queue", kText, "default", kYarn, "YARN queue"},
    {"tony.yarn.view-acl", kText, "", kImplemented, "users and groups, besides the owner, that may see the job and its logs, in YARN and in tony portal: USER,... GROUP,... or *"},

    // Horovod.
    {"tony.horovod.driver.mode.debug", kFlag, "false", kImplemented, "true: the command tony.driver.command is the driver of framework horovod, instead of TonY's own rendezvous server; it finds CLUSTER_WORKER_LIST and writes PORT____HOROVOD_RENDEZVOUS_SERVER____ into DRIVER_OUTPUT_PATH"},
    {"tony.horovod.mode.test", kFlag, "false", kImplemented, "true: the driver of framework horovod serves nothing and names port 9999, so that a command can be tried without Horovod"},
    {"tony.horovod.mode.test.fast.fail", kFlag, "false", kImplemented, "true: the driver of framework horovod fails at once"},

    // Azkaban.
    {"tony.azkaban.replace-older", kFlag, "false", kImplemented, "Azkaban's adapter: the step of a newer execution ends the running job of an older execution, and starts after that"},
    {"tony.azkaban.watch-timeout", kSeconds, "7200", kImplemented, "Azkaban's adapter: the job ends as abandoned when no adapter has watched it for this long"},
    {"tony.job.id", kText, "", kImplemented, "output of an Azkaban step for the next steps: id of the step's job; has no effect on a job"},
    {"tony.job.logs", kText, "", kImplemented, "output of an Azkaban step for the next steps: folder of the logs of the step's job; has no effect on a job"},
    {"tony.job.url", kText, "", kImplemented, "output of an Azkaban step for the next steps: address of the logs of the step's job, for a browser; has no effect on a job"},
    {"tony.model.path", kText, "", kImplemented, "output of an Azkaban step for the next steps: path of the model of the step's job; has no effect on a job"},
    {"tony.output.<NAME>", kText, "", kImplemented, "output of an Azkaban step for the next steps: a value that the chief of the step's job wrote; has no effect on a job"},

    // History and portal.
    {"tony.history.finished", kText, "", kImplemented, "folder into which TonY's portal moves the histories of finished jobs; only the portal reads this key"},
    {"tony.history.finished-dir-timezone", kText, "UTC", kNotNeeded, "time zone of the portal's date folders", "only TonY's portal reads this key"},
    {"tony.history.host", kText, "", kNotNeeded, "the portal's host", "only TonY's portal reads this key"},
    {"tony.history.intermediate", kText, "", kImplemented, "folder where histories for TonY's portal are written, on YARN in HDFS; if not set: tony.history.location/intermediate"},
    {"tony.history.location", kText, "/path/to/tony-history", kImplemented, "folder where histories for TonY's portal and Dr. Elephant are written; with the default value, none are written"},
    {"tony.history.mover-interval-ms", kMillis, "300000", kNotNeeded, "interval after which the portal moves finished jobs", "only TonY's portal reads this key"},
    {"tony.history.purger-interval-ms", kMillis, "21600000", kNotNeeded, "interval after which the portal removes old jobs", "only TonY's portal reads this key"},
    {"tony.history.retention-sec", kSeconds, "2592000", kNotNeeded, "age of a job at which the portal removes it", "only TonY's portal reads this key"},
    {"tony.http.port", kText, "disabled", kNotNeeded, "the portal's port", "only TonY's portal reads this key"},
    {"tony.https.keystore.algorithm", kText, "SunX509", kNotNeeded, "algorithm of the keystore with the portal's certificate", "only TonY's portal reads this key"},
    {"tony.https.keystore.password", kText, "password", kNotNeeded, "password of the keystore with the portal's certificate", "only TonY's portal reads this key", kSecret},
    {"tony.https.keystore.path", kText, "/location/to/tony.jks", kNotNeeded, "path of the keystore with the portal's certificate", "only TonY's portal reads this key"},
    {"tony.https.keystore.type", kText, "JKS", kNotNeeded, "type of the keystore with the portal's certificate", "only TonY's portal reads this key"},
    {"tony.https.port", kText, "19886", kNotNeeded, "the portal's TLS port", "only TonY's portal reads this key"},
    {"tony.init.module", kText, "Startup", kNotNeeded, "name of the portal's start class", "only TonY's portal reads this key"},
    {"tony.keytab.location", kText, "/location/to/tony.keytab", kNotNeeded, "keytab file of the portal's Kerberos login", "only TonY's portal reads this key"},
    {"tony.keytab.user", kText, "user1", kNotNeeded, "user of the portal's Kerberos login", "only TonY's portal reads this key"},
    {"tony.portal.cache.max-entries", kNumber, "10000", kNotNeeded, "size of the portal's caches", "only TonY's portal reads this key"},
    {"tony.page.url", kText, "", kImplemented, "address of tony portal, to which the links of the job lead: in its status, in Azkaban and in Airflow; if not set, they lead to the job's own page"},
    {"tony.portal.url", kText, "https://localhost:19886", kYarn, "address of TonY's portal, to which YARN's link leads after the job has ended; with the default value the job has no portal"},
    {"tony.secret.key", kText, "changeme", kNotNeeded, "the portal's session key", "only TonY's portal reads this key", kSecret},
    {"tony.version-info.<NAME>", kText, "", kNotNeeded, "details of the TonY build, which TonY's client writes", "the key describes the TonY that wrote the file; `tony version` prints the version of the installed TonY"},
};
// clang-format on

}  // namespace

bool IsReservedRole(std::string_view name) {
  return std::ranges::find(kReservedRoles, name) != std::end(kReservedRoles);
}

bool IsDefault(const Key& row, std::string_view value) {
  const std::string_view text = Trim(value);
  switch (row.type) {
    case KeyType::kNumber:
    case KeyType::kMillis:
    case KeyType::kSeconds:
      return text == row.default_value || (ParseInt(text) && ParseInt(text) == ParseInt(row.default_value));
    case KeyType::kFlag:
    case KeyType::kMemory:
      return ToLower(text) == row.default_value;
    case KeyType::kText:
    case KeyType::kList:
      return text == row.default_value;
  }
  CHECK(false);
}

std::string WhyNoEffect(const Key& row, std::string_view scheduler) {
  const auto elsewhere = [&](std::string_view only) {
    return scheduler == only ? std::string() : StrCat("no effect without tony.scheduler=", only);
  };
  switch (row.effect) {
    case KeyEffect::kImplemented:
      return {};
    case KeyEffect::kLocal:
      return elsewhere("local");
    case KeyEffect::kYarn:
      return elsewhere("yarn");
    case KeyEffect::kNone:
    case KeyEffect::kNotNeeded:
      return row.reason.empty() ? "no effect yet" : StrCat("no effect: ", row.reason);
  }
  CHECK(false);
}

const Key* FindKey(std::string_view name) {
  const auto exact = std::ranges::find(AllKeys(), name, &Key::name);
  if (exact != AllKeys().end() && !IsPattern(*exact)) return &*exact;
  for (const auto& key : AllKeys()) {
    if (IsPattern(key) && Matches(key.name, name)) return &key;
  }
  return nullptr;
}

std::string NearestKey(std::string_view name) {
  if (name.size() > kLongestKnownKey) return {};
  std::string nearest;
  // A name is similar to a key if at most a fifth of its characters is wrong, or at most two.
  size_t least = std::max<size_t>(2, name.size() / 5) + 1;
  for (const auto& key : AllKeys()) {
    const std::string candidate = IsPattern(key) ? Instantiate(key.name, name) : std::string(key.name);
    const size_t longer = std::max(candidate.size(), name.size()), shorter = std::min(candidate.size(), name.size());
    if (candidate.empty() || longer - shorter >= least) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::span<const Key> AllKeys() { return kKeys; }

}  // namespace tony
