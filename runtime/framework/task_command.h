// Starts the command of a task in its environment. The effect is the same as the effect of `bash -c`. `tony plan` uses
// these functions for the plan that it shows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/cluster_spec.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/os/process_runner.h"
#include "runtime/records/attempt_folder.h"

namespace tony {

struct SimpleCommand {
  std::string program;  // absolute path of a binary
  std::vector<std::string> argv;
};

// Returns the program and the arguments of a command that can be started without bash. For such a command, bash would
// only look up the program and replace itself with it. The command consists of plain words, which a shell does not
// expand, and does not begin with a builtin. Returns nothing if bash is needed, or may be needed: for a script, for a
// missing program, and if the environment configures a shell.
std::optional<SimpleCommand> AsSimpleCommand(const std::string& command, const std::vector<std::string>& environment);

// Adds the variables that bash sets for a program that replaces it. `_` is the program's path. SHLVL has the value that
// it had before bash, or 0.
void AddBashVariables(std::vector<std::string>& environment, const std::string& program);

// Starts the command; all other settings are those of `spec`. A simple command is started without bash, which saves
// about 1.5 ms of CPU. Its environment is the one that bash would have given it. If this start fails, bash is started
// after all, because bash reports the reason.
Result<pid_t> StartCommand(ProcessRunner& processes, const std::string& command, ProcessSpec spec,
                           const ProcessRunner::OnExit& on_exit);

// ---- The processes of a task, as far as they are known before the job exists: for `tony plan`.

// The node where the tasks will run.
struct PlannedNode {
  // The host's name, or "<host>" if it is not known.
  std::string host;
  // The variables that executors inherit on the node, as "NAME=value".
  std::vector<std::string> environment;
  // True: the node is this machine, where programs can be looked up.
  bool is_here = false;
};

struct PlannedProcess {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value", sorted by name
};

struct PlannedTask {
  std::string directory;
  // The processes that the first attempt starts.
  std::vector<PlannedProcess> processes;
};

// Returns the plan of a task of the spec. Unknown values are written as "<job>", "<container>", "<folder>" (the job's
// folder on that node) and "<gpus>". Values that other tasks publish are "<READY>" and "<MODEL_PARAMS>", and ports are
// 0. `secrets` are "NAME=value".
PlannedTask PlanTask(const JobSpec& spec, const TaskId& task, const PlannedNode& node,
                     const std::vector<std::string>& secrets);

// ---- The environment of a process of the user. A pure function, so that `tony plan` shows exactly what a task will
// get.
//
// Later sources override earlier ones: the variables that the executor inherited (without TonY's variables, which would
// be those of another job), container_env, execution_env, secrets ("NAME=value"), the variables that activate the job's
// Python environment, the framework's variables, and the job's own (TONY_TASK, ...). docs/reference/variables.md lists
// the variables.

struct AttemptPlace {
  JobId job;
  AttemptId attempt;
  ContainerId container;
  AttemptFolder folder;  // `work` is the process's working directory
  // The newest checkpoint, from which a restarted task may resume; empty: none.
  std::string resume_from;
  int process = 0;   // index of the task's process
  NamedPorts ports;  // additional ports of the task
  // The path of the executor, which also runs Horovod's driver.
  std::string executor = {};
};

// A file that TonY writes into a process's working directory. A value that is longer than the kernel allows for one
// variable (128 KiB) goes to such a file. The variable <NAME>_FILE then names the file, and <NAME> is not set.
struct TaskFile {
  std::filesystem::path path;
  std::string content;
};

struct UserEnvironment {
  std::vector<std::string> variables;  // "NAME=value", sorted by name
  // The files to write before the process starts.
  std::vector<TaskFile> files;
};

// Returns whether a task of the role `reader` knows the addresses of the role `other`. In FCFS mode, a cluster spec has
// the roles that the reader depends on. The reader's own role is in it only if the role has one task, and depends on
// others or is awaited as ready.
bool KnowsRole(const JobSpec& spec, const RoleSpec& reader, const RoleSpec& other);

UserEnvironment MakeUserEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const AttemptPlace& place,
                                    const std::vector<std::string>& inherited,
                                    const std::vector<std::string>& secrets = {});

// Returns the file in which a process may report why it failed: $TONY_ERROR_FILE (runtime/job/error_report.h).
std::filesystem::path ErrorFile(const std::filesystem::path& work_folder, int process = 0);

// Returns the file in which the chief may leave the job's outputs as one JSON object: $TONY_OUTPUT_FILE.
std::filesystem::path OutputFile(const std::filesystem::path& work_folder);

// Returns the file in which a task publishes its values as lines of NAME=value: $TONY_PUBLISH_FILE. Only tasks with
// ValueNames() have it.
std::filesystem::path PublishFile(const std::filesystem::path& work_folder);

// Returns the file in which a task finds a notice, with the reason, before it is stopped: $TONY_NOTICE_FILE
// (attempt_files.h).
std::filesystem::path NoticeFile(const std::filesystem::path& work_folder);

}  // namespace tony
