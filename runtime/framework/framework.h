// How the processes of a job find each other and form one training cluster: the environment variables that each
// framework reads. Pure functions of (spec, cluster spec, task). Golden files: tests/unit/framework/golden.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_spec.h"

namespace tony {

using Environment = std::map<std::string, std::string>;

// Returns kInvalid with the reason if the framework cannot run the spec. Standalone runs one task next to sidecars, and
// any number of tasks in FCFS mode. Collectives do not run in FCFS mode. No role may wait for the values of a sidecar,
// and all tasks together publish at most kMostPublishedValuesOfJob values.
Status CheckFramework(const JobSpec& spec);

// Returns the variables that a process of the task gets in addition to the variables of the job. They are TonY's
// variables (JOB_NAME, TASK_INDEX, TASK_NUM, IS_CHIEF, DISTRIBUTED_MODE, ...) and the framework's variables (TF_CONFIG,
// RANK, ...), which describe only the roles that run at the same time. In FCFS mode, a task gets the framework's
// variables only if it waits for other tasks, or other tasks wait for it. `process` is the number of the process in its
// task, from 0; most tasks have only process 0.
Environment FrameworkEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int process = 0);

// Returns the job spec and the cluster spec as a task of the role sees them: only with roles that may run at the same
// time and are in the cluster spec.
std::pair<JobSpec, ClusterSpec> Together(const JobSpec& spec, const ClusterSpec& cluster, const std::string& role);

// Returns whether the task's process binds its port with neither SO_REUSEADDR nor SO_REUSEPORT. If so, the executor
// must free the port before the process starts.
bool BindsPortExclusively(const JobSpec& spec, const TaskId& task);

// The name of the port for TensorBoard. Only one task of a job serves TensorBoard; its process finds the number of the
// port in TB_PORT. As in TonY, this task is the first task of a role "tensorboard", or else the chief, or the only
// task of a job without roles. In a job of framework standalone with roles, only a role "tensorboard" has such a task.
inline constexpr std::string_view kTensorBoardPort = "tensorboard";
bool ServesTensorBoard(const JobSpec& spec, const TaskId& task);

// The role of a notebook server (`tony notebook`). Its first task finds the port to listen at in TB_PORT, too, as in
// LinkedIn's TonY.
inline constexpr std::string_view kNotebookRole = "notebook";
// The secret variable with the token that protects the server.
inline constexpr char kNotebookToken[] = "JUPYTER_TOKEN";

// Returns the names of the task's ports in addition to its main port, including TensorBoard's port and those of its
// single processes. The result has at most kMostNamedPorts names, and IsPortName() holds for each of them.
std::vector<std::string> PortNames(const JobSpec& spec, const TaskId& task);

// Returns the stage in which the tasks of a role start. Stage 0 starts when the gang has formed. A later stage starts
// when every task of the stages before it has published its ValueNames().
int StageOf(const JobSpec& spec, std::string_view role);

// Returns the names of the values that the task publishes: for its framework, for roles that wait until the task is
// ready, or for the tasks after a preprocessing task. The result has at most kMostPublishedValues names, and
// IsValueName() holds for each of them.
std::vector<std::string> ValueNames(const JobSpec& spec, const TaskId& task);
// Returns the names among ValueNames() whose values other tasks wait for. The framework's values are among
// them only if some task starts in a later stage than `task`.
std::vector<std::string> AwaitedValues(const JobSpec& spec, const TaskId& task);

// Returns the sorted names of all variables that TonY may set in a task of this job: the framework's and TonY's own.
std::vector<std::string> ReservedVariables(const JobSpec& spec);

// Returns kInvalid if the user's own environment sets a reserved variable, because it would be accidental which value a
// process gets.
Status CheckEnvironment(const JobSpec& spec, const std::map<std::string, std::string>& secrets);

// Returns the rank of a task among all tracked tasks, for frameworks that count ranks over the whole job. The chief has
// rank 0; the other tracked tasks follow in the order of the spec, by index. Returns -1 for tasks that are not tracked.
int GlobalRank(const JobSpec& spec, const TaskId& task);

// ---- The hosts of a job, for programs that start processes there: MPI's mpirun --hostfile, deepspeed --hostfile.

// Returns lines of "HOST slots=N", each host once, in the order of GlobalRank(). A task has one slot for each of its
// GPUs, or for each of its cores if it has no GPUs, and at least one for each of its processes. Only tracked tasks
// count. Open MPI and DeepSpeed read this format. MPICH needs HOST:N instead.
std::string Hostfile(const JobSpec& spec, const ClusterSpec& cluster);

// ---- How much of a job has to restart when one of its tasks restarts. Pure functions of the spec.

// Returns the smallest restart after which all tasks compute correct results. `same_address`: the task restarts under
// the address that the other tasks know.
//
//   sidecars; all roles in FCFS mode or of standalone    task: no other task is connected to them
//   TensorFlow's evaluator                               task: no other task is connected to it
//   PyTorch, JAX, LightGBM, XGBoost: tracked roles       gang: a collective cannot accept a restarted member
//   PyTorch, JAX, LightGBM, XGBoost: untracked roles     task if its address stays, else gang
//   TensorFlow without ps (MultiWorkerMirrored)          gang: it is a collective too
//   TensorFlow with ps: ps, chief                        gang: the variables, or the knowledge of progress, are lost
//   TensorFlow with ps: other roles                      task if its address stays, because the coordinator reconnects
//   roles whose published values others wait for         gang: the running tasks know the values of the ended attempt
//   other roles of staged                                task if its address stays, else gang
RestartScope SmallestScope(const JobSpec& spec, const RoleSpec& role, bool same_address);

// Returns a line for each role whose restart scope is below SmallestScope(), even if its tasks keep their addresses.
std::vector<std::string> ScopeWarnings(const JobSpec& spec);

// Returns a line for each role whose tasks may fail without failing the job, although the other tasks cannot continue
// without them.
std::vector<std::string> ToleranceWarnings(const JobSpec& spec);

}  // namespace tony
