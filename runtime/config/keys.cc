#include "runtime/config/keys.h"

#include <algorithm>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

// A longer name is not a misspelled key, and the time for a comparison grows with the square of its length.
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
  if (placeholder == "<NAME>") return text.size();
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
    {"tony.application.completion-rule", kText, "strict", kImplemented, "when failed tasks that are not restarted fail the job: strict (the first of a role does) or tony (the chief's does, one of tony.application.stop-on-failure-jobtypes, or that all tracked tasks failed)"},
    {"tony.application.dependency.<role>.timeout.after.<group>", kSeconds, "", kImplemented, "how long the role's tasks may run on once all of the group have ended; then the job fails. Several of a role all count"},
    {"tony.application.dependency.<role>.timeout.after.<group>.ignored", kFlag, "false", kImplemented, "then the job does not wait for the role any more, instead of failing"},
    {"tony.application.distributed-mode", kText, "GANG", kImplemented, "GANG: tasks start when all are there; FCFS: each at once, and they do not know each other"},
    {"tony.application.enable-preprocess", kFlag, "false", kImplemented, "run tony.am.command, or else tony.containers.command, once before the tasks, with PREPROCESSING_JOB=true; what it prints after the first \"Model parameters: \" they find in MODEL_PARAMS"},
    {"tony.application.fail-on-worker-failure-enabled", kFlag, "false", kImplemented, "the first failed task fails the job, whatever its role, as tony.application.completion-rule=strict has it of all but sidecars"},
    {"tony.application.framework", kText, "tensorflow", kImplemented, "how tasks are wired: tensorflow, pytorch, jax, lightgbm, xgboost or standalone"},
    {"tony.application.group.<group>", kList, "", kImplemented, "names a group of roles, of which a dependency timeout may speak"},
    {"tony.application.name", kText, "TonyApplication", kImplemented, "the job's name"},
    {"tony.application.prepare-stage", kList, "", kImplemented, "roles that run first; all others start when the tracked ones of them have succeeded"},
    {"tony.application.sidecar.jobtypes", kList, "tensorboard", kImplemented, "roles that are not waited for and whose failure is ignored"},
    {"tony.application.stop-on-failure-jobtypes", kList, "ps", kImplemented, "roles of which the first failed task fails the job, as if tony.<role>.min-failed were 1; for sidecars, and with tony.application.completion-rule=tony"},
    {"tony.application.tags", kList, "", kImplemented, "words to find the job by; Azkaban's execution, flow, project and host are added"},
    {"tony.application.tensorboard-log-dir", kText, "", kImplemented, "run TensorBoard beside a job with roles on this folder, which every task finds in TB_LOG_DIR; tony.tensorboard.* says how"},
    {"tony.application.timeout", kMillis, "0", kImplemented, "limit of the whole job from its acceptance; 0: none"},
    {"tony.application.training-stage", kList, "", kImplemented, "roles that run after the tracked ones of the prepare stage have succeeded; those that are not in it prepare"},
    {"tony.application.untracked.jobtypes", kList, "ps", kImplemented, "roles that are not waited for, but whose failure fails the job"},
    {"tony.scheduler", kText, "local", kImplemented, "what the job runs on: local, which is this machine"},
    {"tony.src-dir", kText, "", kImplemented, "folder or archive with the user's program, on YARN also of HDFS (hdfs://...), whose content is in each task's folder (-src_dir)"},

    // The job's command and environment.
    {"tony.containers.command", kText, "", kImplemented, "command of every role without its own (-executes)"},
    {"tony.containers.env.<NAME>", kText, "", kImplemented, "one variable for executors and tasks, whatever its value holds (-container_env)"},
    {"tony.containers.envs", kList, "", kImplemented, "NAME=VALUE pairs for executors and tasks"},
    {"tony.containers.resources", kList, "", kImplemented, "SRC[::NAME][#archive]: files and folders of this machine, on YARN also of HDFS (hdfs://...), for every task"},
    {"tony.execution.env.<NAME>", kText, "", kImplemented, "one variable for tasks, whatever its value holds (-shell_env)"},
    {"tony.execution.envs", kList, "", kImplemented, "NAME=VALUE pairs for tasks"},
    {"tony.hdfs-classpath", kList, "", kNotNeeded, "Hadoop's jars, for TonY's programs in the containers (-hdfs_classpath)", "there is no Java in ours"},
    {"tony.python-exec-path", kText, "", kNotNeeded, "interpreter of TonY's Horovod driver", "a command is run as it stands, a Python file by the Python of the job"},
    {"tony.python-venv", kText, "", kImplemented, "archive or folder with a virtual environment, or a lock file that uv (uv.lock, pylock.toml, requirements.txt) or a client of conda (a file with a line @EXPLICIT) makes one from, on YARN also an archive of HDFS (hdfs://...), which is venv in each task's folder (-python_venv)"},

    // Roles.
    {"tony.<role>.allocation-tags", kList, "", kNone, "YARN allocation tags"},
    {"tony.<role>.command", kText, "", kImplemented, "the role's command, run by bash"},
    {"tony.<role>.depends-on", kList, "", kImplemented, "roles before this one: ROLE, which has to succeed before it is asked for, or ROLE:ready, which has to have published READY before it starts"},
    {"tony.<role>.gpus", kNumber, "0", kImplemented, "GPUs for each task"},
    {"tony.<role>.instances", kNumber, "0", kImplemented, "number of tasks; a role's name has lower-case letters only"},
    {"tony.<role>.max-instances", kNumber, "-1", kImplemented, "most tasks that the role may ask for; below 0: any number"},
    {"tony.<role>.memory", kMemory, "2g", kImplemented, "memory for each task"},
    {"tony.<role>.min-failed", kNumber, "", kImplemented, "so many failed tasks of the role, which are not restarted, fail the job; if not set those that put min-succeeded out of reach, else the first"},
    {"tony.<role>.min-succeeded", kNumber, "", kImplemented, "so many successes of a tracked role are enough: the rest of it is stopped then, and may fail before; if not set each task has to end"},
    {"tony.<role>.node-label", kText, "", kYarn, "label of the nodes that will do for the role's tasks"},
    {"tony.<role>.nproc-per-node", kText, "1", kImplemented, "processes of each task, side by side, as torchrun starts them (pytorch); gpu: one for each of its GPUs"},
    {"tony.<role>.outlives-restarts", kFlag, "false", kImplemented, "a sidecar runs on, with its address, when the gang starts again, and is told nothing of it; default of a sidecar tensorboard: true"},
    {"tony.<role>.placement", kText, "pack", kYarn, "pack: tasks go where room is; spread: as evenly over the nodes as room allows"},
    {"tony.<role>.placement-spec", kText, "", kNone, "YARN placement constraint", "tony.<role>.placement and node-label say where tasks go"},
    {"tony.<role>.resources", kList, "", kImplemented, "SRC[::NAME][#archive]: files and folders of this machine, on YARN also of HDFS (hdfs://...), for the role's tasks"},
    {"tony.<role>.vcores", kNumber, "1", kImplemented, "cores for each task"},
    {"tony.task.background", kText, "auto", kImplemented, "processes that the command left in the background when it ended with 0: auto: the task waits for them where nothing else did the work (nohup python train.py &), and else ends them; end; wait; fail: the task has failed"},
    {"tony.task.log-limit", kMemory, "1g", kImplemented, "most of an attempt's stdout, and of its stderr, that is kept, the end of it; 0: all"},
    {"tony.task.max-total-gpus", kNumber, "-1", kImplemented, "most GPUs that all tasks together may ask for; below 0: any number"},
    {"tony.task.max-total-instances", kNumber, "-1", kImplemented, "most tasks that the job may have; below 0: any number"},
    {"tony.task.max-total-memory", kNumber, "-1", kImplemented, "most MB that all tasks together may ask for; below 0: any number"},
    {"tony.task.max-total-vcores", kNumber, "-1", kImplemented, "most cores that all tasks together may ask for; below 0: any number"},
    {"tony.task.max-total-<resource>", kNumber, "-1", kNotNeeded, "most of another YARN resource that all tasks together may ask for", "no task can ask for another resource than memory, vcores and gpus"},

    // A job without roles is one task, which TonY ran in the AM's container.
    {"tony.am.command", kText, "", kImplemented, "command of a job without roles, and of tony.application.enable-preprocess; otherwise tony.containers.command"},
    {"tony.am.gpus", kNumber, "0", kImplemented, "GPUs of a job without roles, and of tony.application.enable-preprocess"},
    {"tony.am.memory", kMemory, "2g", kImplemented, "memory of a job without roles, and of tony.application.enable-preprocess"},
    {"tony.am.vcores", kNumber, "1", kImplemented, "cores of a job without roles, and of tony.application.enable-preprocess"},

    // Liveness and recovery.
    {"tony.am.lease-ms", kMillis, "10000", kImplemented, "an application master that has not reached its arbiter for so long stops ruling"},
    {"tony.compat.version", kText, "0.5.3", kImplemented, "0.4.6 or 0.5.3: whose meaning tony.container.allocation.timeout has"},
    {"tony.container.allocation.timeout", kMillis, "-1", kImplemented, "limit of a task's wait for its container; with tony.compat.version=0.4.6 that of tony.container.registration.timeout; 0 or below: none"},
    {"tony.container.registration.timeout", kMillis, "900000", kImplemented, "limit from a task's container to its registration; 0 or below: none"},
    {"tony.local.memory-limits", kText, "auto", kLocal, "auto (by cgroup, where one may be made) or off"},
    {"tony.local.priority", kNumber, "0", kLocal, "-1000 to 1000; moves a job before its user's own waiting jobs of a lower one, never before another user's"},
    {"tony.task.cutoff-after-ms", kMillis, "30000", kImplemented, "an executor that is cut off for so long stops its task"},
    {"tony.task.executor.execution-timeout-ms", kMillis, "0", kImplemented, "limit of each attempt of a task, from the start of its processes; 0: none"},
    {"tony.task.executor.registry-timeout-sec", kSeconds, "0", kImplemented, "limit from the start of a task's container, on YARN with the fetching of its files, to its registration; 0: none but tony.container.registration.timeout"},
    {"tony.task.heartbeat-interval-ms", kMillis, "1000", kImplemented, "how often an executor tells the application master that it lives"},
    {"tony.task.lost-after-ms", kMillis, "60000", kImplemented, "a task that has been silent for so long is lost"},
    {"tony.task.max-missed-heartbeats", kNumber, "", kImplemented, "TonY's way to set tony.task.lost-after-ms, as a number of heartbeats"},
    {"tony.task.orphan-timeout-ms", kMillis, "1800000", kImplemented, "an executor whose application master is dead gives up after so long"},
    {"tony.task.record-fresh-ms", kMillis, "15000", kImplemented, "a lease record that has not changed for so long is stale"},
    {"tony.task.stop-grace-ms", kMillis, "10000", kImplemented, "time between SIGTERM and SIGKILL for a task"},
    {"tony.task.suspect-after-ms", kMillis, "", kImplemented, "silence after which a task is called suspect; five heartbeats if not set"},
    {"tony.worker.timeout", kMillis, "0", kImplemented, "what TonY 0.4.6 called tony.task.executor.execution-timeout-ms: of every role, not of workers alone"},

    // Restarts.
    {"tony.am.retry-count", kNumber, "0", kImplemented, "TonY's word for tony.restart.job.budget"},
    {"tony.checkpoint.dir", kText, "", kImplemented, "folder where the program leaves checkpoints, on YARN also in HDFS (hdfs://...); a restarted task gets the job's newest as TONY_RESUME_FROM"},
    {"tony.checkpoint.fruitless-restarts", kNumber, "3", kImplemented, "restarts in a row without a newer checkpoint that end the job"},
    {"tony.checkpoint.pattern", kText, "*", kImplemented, "which names in tony.checkpoint.dir are checkpoints, as in a shell: * ? [a-z]"},
    {"tony.checkpoint.resume", kText, "own", kImplemented, "from whose checkpoints tasks go on: own (the job's) or latest (the newest there is, whoever wrote it; the first attempts too)"},
    {"tony.restart.backoff-ms", kMillis, "1000", kImplemented, "wait before the second restart; doubled for each further one"},
    {"tony.restart.gang.budget", kNumber, "0", kImplemented, "restarts of all tasks together that failures of the program may cost"},
    {"tony.restart.gang.window-ms", kMillis, "0", kImplemented, "those longer ago do not count; 0: all count"},
    {"tony.restart.job.budget", kNumber, "0", kImplemented, "restarts of all tasks in new containers that failures of the program may cost"},
    {"tony.restart.job.window-ms", kMillis, "0", kImplemented, "those longer ago do not count; 0: all count"},
    {"tony.restart.longest-backoff-ms", kMillis, "60000", kImplemented, "the wait before a restart is never longer"},
    {"tony.restart.lost.budget", kNumber, "10", kImplemented, "restarts for what is not the program's fault: lost nodes, preemption, our own failures"},
    {"tony.restart.lost.window-ms", kMillis, "3600000", kImplemented, "those longer ago do not count; 0: all count"},
    {"tony.restart.role.budget", kNumber, "0", kImplemented, "restarts of a role's tasks together that failures of the program may cost, for each role"},
    {"tony.restart.role.window-ms", kMillis, "0", kImplemented, "those longer ago do not count; 0: all count"},
    {"tony.restart.scope", kText, "framework", kImplemented, "what a failed task restarts: framework (as far as its framework needs), task, role, gang or job"},
    {"tony.restart.settle-ms", kMillis, "300", kImplemented, "wait before a failure that nothing pays for ends a collective job: its cause, a lost node or executor, may show up; ten times as long where the failure is a broken connection to another task"},
    {"tony.restart.task.budget", kNumber, "0", kImplemented, "restarts of a task alone that failures of the program may cost, for each task"},
    {"tony.restart.task.window-ms", kMillis, "0", kImplemented, "those longer ago do not count; 0: all count"},
    {"tony.<role>.restart.budget", kNumber, "", kImplemented, "the role's own budget, instead of that of its smallest scope"},
    {"tony.<role>.restart.scope", kText, "", kImplemented, "the role's own scope, instead of tony.restart.scope"},

    // The meaning of failures.
    {"tony.failure.exit.<NAME>", kText, "", kImplemented, "CLASS[, transient or permanent][, MEANING] of that exit code of a task"},
    {"tony.failure.pattern.<NAME>", kText, "", kImplemented, "REGEX => CLASS[, transient or permanent][, MEANING] of a line among the last of a failed task's stderr"},
    {"tony.failure.signal.<NAME>", kText, "", kImplemented, "CLASS[, transient or permanent][, MEANING] of a task that this signal ended, as 9 or SIGKILL"},

    // The application master and executors: settings of YARN and Java.
    {"tony.am.instances", kNumber, "1", kNone, "application masters", "a job has one"},
    {"tony.am.node-label", kText, "", kYarn, "label of the nodes that will do for the application master, or for the task of a job without roles"},
    {"tony.am.resources", kList, "", kImplemented, "SRC[::NAME][#archive]: files and folders for the application master, or for the task of a job without roles"},
    {"tony.am.startup-timeout", kMillis, "0", kImplemented, "limit from the submission until the application master has started; on YARN as long as somebody waits for the job (submit, wait); 0: none"},
    {"tony.am.wait-client-signal-stop-timeout-sec", kSeconds, "15", kNotNeeded, "how long the application master waited for its client's goodbye", "ours waits for no client"},
    {"tony.default.jvm.opts", kText, "", kNotNeeded, "Java options of TonY's programs, of its Azkaban job type", "there is no Java in ours"},
    {"tony.task.am.jvm.opts", kText, "", kNotNeeded, "Java options of TonY's application master", "there is no Java in ours"},
    {"tony.task.default.jvm.opts", kText, "", kNotNeeded, "Java options of all of TonY's programs", "there is no Java in ours"},
    {"tony.task.executor.execution.error-message-max-depth", kNumber, "20", kNotNeeded, "lines of standard error in the message of a failure", "ours has the last traceback or the last lines, as many as tell what happened"},
    {"tony.task.executor.jvm.opts", kText, "-Xmx1536m", kNotNeeded, "Java options of TonY's executors", "there is no Java in ours"},
    {"tony.task.gpu-metrics.enabled", kFlag, "true", kNone, "collect GPU metrics", "they are always collected where a task has GPUs"},
    {"tony.task.metrics-interval-ms", kMillis, "5000", kNotNeeded, "how often to collect metrics", "every second at first, later every 5 s, whatever costs the least"},

    // YARN, HDFS and Docker.
    {"tony.application.hadoop.classpath", kList, "", kNotNeeded, "Hadoop's class path in containers", "there is no Java in ours"},
    {"tony.application.hadoop.location", kText, "", kNotNeeded, "archive with Hadoop", "there is no Java in ours"},
    {"tony.application.hdfs-conf-path", kText, "", kYarn, "another hdfs-site.xml"},
    {"tony.application.mapred-conf-path", kText, "", kNotNeeded, "another mapred-site.xml", "TonY found Hadoop's jars by it; there is no Java in ours"},
    {"tony.application.node-label", kText, "", kYarn, "label of the nodes that will do for roles, and an application master, without their own"},
    {"tony.application.num-client-rm-connect-retries", kNumber, "3", kNotNeeded, "connection attempts to the resource manager", "a call has two seconds before the job is submitted, and is repeated afterwards"},
    {"tony.application.placement-spec", kText, "", kNone, "YARN placement constraint of the job", "tony.<role>.placement and node-label say where tasks go"},
    {"tony.application.security.enabled", kFlag, "true", kNotNeeded, "fetch Hadoop's tokens", "whether a cluster is secure its core-site.xml says; one that is cannot be used yet"},
    {"tony.application.type", kText, "TONY", kYarn, "what kind of application YARN lists it as, in at most 20 characters"},
    {"tony.application.yarn-conf-path", kText, "", kYarn, "another yarn-site.xml"},
    {"tony.containers.allocation-tags", kList, "", kNone, "YARN allocation tags of roles without their own"},
    {"tony.containers.placement-spec", kText, "", kNone, "YARN placement constraint of roles without their own", "tony.<role>.placement and node-label say where tasks go"},
    {"tony.docker.containers.image", kText, "", kNotNeeded, "Docker image of roles without their own", "only tony.docker.enabled=true would use it, which is refused"},
    {"tony.docker.containers.mount", kText, "", kNotNeeded, "Docker mounts", "only tony.docker.enabled=true would use it, which is refused"},
    {"tony.docker.enabled", kFlag, "false", kRefused, "run tasks in Docker containers", "tasks would run without their image"},
    {"tony.docker.<role>.image", kText, "", kNotNeeded, "Docker image of a role", "only tony.docker.enabled=true would use it, which is refused"},
    {"tony.gpu-exec-path", kText, "nvidia-smi", kNotNeeded, "program that tells of GPUs", "without effect in TonY too; ours asks the driver's library"},
    {"tony.other.namenodes", kList, "", kNotNeeded, "further file systems to fetch tokens for", "there are no tokens: a cluster with Kerberos is refused"},
    {"tony.yarn.gang-hold", kMillis, "30000", kYarn, "a gang that has had no more containers for so long, or up to twice as long, gives those that it has back for a while; 0: never"},
    {"tony.yarn.modify-acl", kText, "", kYarn, "who else may end the job in YARN: USER,... GROUP,... or *"},
    {"tony.yarn.priority", kNumber, "0", kYarn, "the application's priority in its queue, at most the cluster's highest; higher ones go first"},
    {"tony.yarn.queue", kText, "default", kYarn, "YARN queue"},
    {"tony.yarn.view-acl", kText, "", kYarn, "who else may see the job and its logs in YARN: USER,... GROUP,... or *"},

    // Horovod.
    {"tony.horovod.driver.mode.debug", kFlag, "false", kNotNeeded, "the user brings the driver", "tony.application.framework=horovod is refused"},
    {"tony.horovod.mode.test", kFlag, "false", kNotNeeded, "for TonY's own tests: the driver invents its plan", "tony.application.framework=horovod is refused"},
    {"tony.horovod.mode.test.fast.fail", kFlag, "false", kNotNeeded, "for TonY's own tests: the driver fails", "tony.application.framework=horovod is refused"},

    // Azkaban.
    {"tony.azkaban.replace-older", kFlag, "false", kImplemented, "Azkaban's adapter: a newer execution's step ends the job that an older one's still runs, and trains then"},
    {"tony.azkaban.watch-timeout", kSeconds, "7200", kImplemented, "Azkaban's adapter: the job ends as abandoned when no adapter has looked at it for so long"},
    {"tony.job.id", kText, "", kImplemented, "written by an Azkaban step for the steps after it: its job; says nothing to a job"},
    {"tony.job.logs", kText, "", kImplemented, "written by an Azkaban step for the steps after it: where its logs are; says nothing to a job"},
    {"tony.job.url", kText, "", kImplemented, "written by an Azkaban step for the steps after it: where a browser finds its logs; says nothing to a job"},
    {"tony.model.path", kText, "", kImplemented, "written by an Azkaban step for the steps after it: where its model is; says nothing to a job"},
    {"tony.output.<NAME>", kText, "", kImplemented, "written by an Azkaban step for the steps after it: what its chief wrote; says nothing to a job"},

    // History and portal.
    {"tony.history.finished", kText, "", kImplemented, "where TonY's portal moves the histories of finished jobs; only the portal reads it"},
    {"tony.history.finished-dir-timezone", kText, "UTC", kNotNeeded, "time zone of its date folders", "only TonY's portal reads it"},
    {"tony.history.host", kText, "", kNotNeeded, "the portal's host", "only TonY's portal reads it"},
    {"tony.history.intermediate", kText, "", kImplemented, "where histories are written for TonY's portal, on YARN in HDFS; tony.history.location/intermediate if not set"},
    {"tony.history.location", kText, "/path/to/tony-history", kImplemented, "folder of TonY's portal and Dr. Elephant; the default means none"},
    {"tony.history.mover-interval-ms", kMillis, "300000", kNotNeeded, "how often finished jobs are moved", "only TonY's portal reads it"},
    {"tony.history.purger-interval-ms", kMillis, "21600000", kNotNeeded, "how often old jobs are removed", "only TonY's portal reads it"},
    {"tony.history.retention-sec", kSeconds, "2592000", kNotNeeded, "age of jobs to remove", "only TonY's portal reads it"},
    {"tony.http.port", kText, "disabled", kNotNeeded, "the portal's port", "only TonY's portal reads it"},
    {"tony.https.keystore.algorithm", kText, "SunX509", kNotNeeded, "the portal's certificate", "only TonY's portal reads it"},
    {"tony.https.keystore.password", kText, "password", kNotNeeded, "the portal's certificate", "only TonY's portal reads it", kSecret},
    {"tony.https.keystore.path", kText, "/location/to/tony.jks", kNotNeeded, "the portal's certificate", "only TonY's portal reads it"},
    {"tony.https.keystore.type", kText, "JKS", kNotNeeded, "the portal's certificate", "only TonY's portal reads it"},
    {"tony.https.port", kText, "19886", kNotNeeded, "the portal's TLS port", "only TonY's portal reads it"},
    {"tony.init.module", kText, "Startup", kNotNeeded, "the portal's first class", "only TonY's portal reads it"},
    {"tony.keytab.location", kText, "/location/to/tony.keytab", kNotNeeded, "the portal's Kerberos login", "only TonY's portal reads it"},
    {"tony.keytab.user", kText, "user1", kNotNeeded, "the portal's Kerberos login", "only TonY's portal reads it"},
    {"tony.portal.cache.max-entries", kNumber, "10000", kNotNeeded, "size of the portal's caches", "only TonY's portal reads it"},
    {"tony.portal.url", kText, "https://localhost:19886", kYarn, "where TonY's portal is: YARN's link to a job leads there once that has ended; the default means none"},
    {"tony.secret.key", kText, "changeme", kNotNeeded, "the portal's session key", "only TonY's portal reads it", kSecret},
    {"tony.version-info.<NAME>", kText, "", kNotNeeded, "TonY's build, stamped by its client", "it says which TonY wrote the file; tony version says what ours is"},
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
    // In a job that runs, this key is empty or false, because any other value is refused.
    case KeyEffect::kRefused:
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
  // Up to a fifth of the name may be wrong, and always two characters.
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
