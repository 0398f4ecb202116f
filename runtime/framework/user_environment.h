// The environment of a process of the user's. A pure function, so that `tony plan` may show exactly what a task will
// get.
//
// Later wins: what the executor inherited (without variables of ours, which would be another job's), container_env,
// execution_env, secrets ("NAME=value"), what activates the job's Python environment, the framework's variables, the
// job's own (TONY_TASK, ...). README.md lists them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/job/cluster_spec.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/attempt_folder.h"

namespace tony {

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
