// How a role's command is started: as `bash -c` does.
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

// A command for which bash would only look up the program and become it: plain words without anything that a shell
// expands, and no builtin. Nothing where bash is needed, or where in doubt: a script, a program that is not there, a
// shell that the environment configures.
std::optional<SimpleCommand> AsSimpleCommand(const std::string& command, const std::vector<std::string>& environment);

// What bash would add for the program that it becomes: its path, and bash's own depth, which it takes back.
void AddBashVariables(std::vector<std::string>& environment, const std::string& program);

// Starts the command with all else as `spec` has it. A simple one is started without bash, which saves about 1.5 ms of
// CPU; its environment is what bash would have given it. What cannot be started so is left to bash, which says why.
Result<pid_t> StartCommand(ProcessRunner& processes, const std::string& command, ProcessSpec spec,
                           const ProcessRunner::OnExit& on_exit);

// What the processes of a task will be started with, as far as it is known before there is a job: for `tony plan`.

// Where the tasks will run.
struct PlannedNode {
  std::string host;                      // "<host>" where it is not known
  std::vector<std::string> environment;  // what executors inherit there, "NAME=value"
  bool is_here = false;                  // so that programs can be looked for
};

struct PlannedProcess {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value", sorted by name
};

struct PlannedTask {
  std::string directory;
  std::vector<PlannedProcess> processes;  // of the first attempt
};

// What is not known stands as "<job>", "<container>", "<folder>" (the job's on that node) and "<gpus>", what others
// publish as "<READY>" and "<MODEL_PARAMS>", ports as 0. The
// task is one of the spec's. `secrets`: "NAME=value".
PlannedTask PlanTask(const JobSpec& spec, const TaskId& task, const PlannedNode& node,
                     const std::vector<std::string>& secrets);

// The environment of a process of the user's. A pure function, so that `tony plan` may show exactly what a task will
// get.
//
// Later wins: what the executor inherited (without variables of ours, which would be another job's), container_env,
// execution_env, secrets ("NAME=value"), what activates the job's Python environment, the framework's variables, the
// job's own (TONY_TASK, ...). README.md lists them.

struct AttemptPlace {
  JobId job;
  AttemptId attempt;
  ContainerId container;
  AttemptFolder folder;     // `work` is the process's working directory
  std::string resume_from;  // the newest checkpoint, where a restarted task may go on from; empty: none
  int process = 0;          // which one of the task
  NamedPorts ports;         // of the task besides its own
};

// What a process finds in its working directory. A value of ours that is longer than the kernel lets one variable be
// (128 KiB) goes to one, which the variable <NAME>_FILE names instead; <NAME> itself is not set then.
struct GivenFile {
  std::filesystem::path path;
  std::string content;
};

struct UserEnvironment {
  std::vector<std::string> variables;  // "NAME=value", sorted by name
  std::vector<GivenFile> files;        // to be written before the process starts
};

UserEnvironment MakeUserEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const AttemptPlace& place,
                                    const std::vector<std::string>& inherited,
                                    const std::vector<std::string>& secrets = {});

// Where a process may say why it failed: $TONY_ERROR_FILE; see runtime/job/error_report.h.
std::filesystem::path ErrorFile(const std::filesystem::path& work_folder, int process = 0);

// Where the chief may leave the job's outputs as one JSON object: $TONY_OUTPUT_FILE.
std::filesystem::path OutputFile(const std::filesystem::path& work_folder);

// Where a task whose framework names values publishes them, as lines of NAME=value: $TONY_PUBLISH_FILE.
std::filesystem::path PublishFile(const std::filesystem::path& work_folder);

// Where a task is told that it is about to be stopped, and why: $TONY_NOTICE_FILE; see attempt_files.h.
std::filesystem::path NoticeFile(const std::filesystem::path& work_folder);

}  // namespace tony
