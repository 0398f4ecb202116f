// How a role's processes are wired into one training cluster: the environment variables that each framework reads.
// Pure functions of (spec, cluster spec, task); one file per framework. Golden files: tests/unit/framework/golden.
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

// Whether the framework can run the spec at all (standalone: one task beside sidecars, unless FCFS; collectives: never
// FCFS; nobody waits for a sidecar's values, and there are at most kMostPublishedValuesOfJob); kInvalid says why not.
Status CheckFramework(const JobSpec& spec);

// What a process of the task gets beside the job's own variables: TonY's (JOB_NAME, TASK_INDEX, TASK_NUM, IS_CHIEF,
// DISTRIBUTED_MODE, ...) and the framework's (TF_CONFIG, RANK, ...), for the roles that run together. In FCFS mode
// TonY's only, unless the task waits for others, or they for it. A task's processes are counted from 0; most tasks have
// no other.
Environment FrameworkEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int process = 0);

// The job as a task of the role finds it: of the roles that may run while it does, those that are there.
std::pair<JobSpec, ClusterSpec> Together(const JobSpec& spec, const ClusterSpec& cluster, const std::string& role);

// Whether the task's process binds its port with neither SO_REUSEADDR nor SO_REUSEPORT, so that nobody may hold it.
bool BindsPortAlone(const JobSpec& spec, const TaskId& task);

// The one task that is to serve TensorBoard, on a port of this name; its process finds the number in TB_PORT. As TonY
// chose it: the first of a role "tensorboard", else the chief, or the command of a job without roles; in no job of
// framework standalone with roles.
inline constexpr std::string_view kTensorBoardPort = "tensorboard";
bool ServesTensorBoard(const JobSpec& spec, const TaskId& task);

// Names of the ports that the task has besides its own, TensorBoard's and those of its single processes among them; at
// most kMostNamedPorts, each an IsPortName().
std::vector<std::string> PortNames(const JobSpec& spec, const TaskId& task);

// When the tasks of a role start. Those of stage 0 do as the gang has formed, those of a later one when every task of
// the stages before it has published its ValueNames().
int StageOf(const JobSpec& spec, std::string_view role);

// What the task publishes, for its framework, as others wait until it is ready, or for those after it: at most
// kMostPublishedValues, each an IsValueName().
std::vector<std::string> ValueNames(const JobSpec& spec, const TaskId& task);
// Those of them for which others wait: none in the last stage.
std::vector<std::string> AwaitedValues(const JobSpec& spec, const TaskId& task);

// Names of all variables that a task of this job may get from us: the framework's, TonY's and our own TONY_*. Sorted.
std::vector<std::string> ReservedVariables(const JobSpec& spec);

// kInvalid if the user's own environment sets one of them: either side would win by accident.
Status CheckEnvironment(const JobSpec& spec, const std::map<std::string, std::string>& secrets);

// Place of a task among all tracked tasks, for frameworks that count ranks over the whole job: the chief first, then
// the other tracked roles in the order of the spec, by index. -1 for tasks that are not tracked.
int GlobalRank(const JobSpec& spec, const TaskId& task);

// The machines of a job, for what starts processes on them by itself: MPI's mpirun --hostfile, deepspeed --hostfile.

// Lines of "HOST slots=N", each host once, in the order of GlobalRank(). A task has as many slots as GPUs, without GPUs as
// cores, and never fewer than processes. Only tracked tasks count. Open MPI and DeepSpeed read it so; MPICH wants HOST:N.
std::string Hostfile(const JobSpec& spec, const ClusterSpec& cluster);

// How much of a job has to start again when one of its tasks does. A pure function of the spec.

// The smallest restart after which the tasks still compute the right thing. `same_address`: the task comes back under
// the address that the others were told.
//
//   sidecars, standalone and FCFS jobs, TensorFlow's
//   evaluator                                           task: nobody is connected to them
//   PyTorch, JAX, LightGBM and XGBoost, tracked roles   gang: a collective cannot take a member back
//   TensorFlow without ps (MultiWorkerMirrored)         gang: the same
//   TensorFlow with ps: a worker                        task, if it keeps its address; the coordinator connects again
//   TensorFlow with ps: ps, chief                       gang: the variables, or who knows of the progress, are gone
//   untracked roles of these                            task, if they keep their address
//   whose published values others wait for              gang: those who run were told the values of this attempt
//   others of staged                                    task, if they keep their address
RestartScope SmallestScope(const JobSpec& spec, const RoleSpec& role, bool same_address);

// One line for each role that asks for less than that, even where its tasks keep their address.
std::vector<std::string> ScopeWarnings(const JobSpec& spec);

// One line for each role whose tasks may fail without failing the job, and without whom the others cannot go on.
std::vector<std::string> ToleranceWarnings(const JobSpec& spec);

}  // namespace tony
