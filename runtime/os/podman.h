// Podman, which runs tasks in containers on one machine. It runs without a daemon, and with --cgroups=disabled: all
// processes of a container stay in the cgroup of the executor that started podman, and below it in the process tree.
//
//   executor -> podman run -> (ends after the container)
//            -> conmon -> /bin/sh script, process 1 of a PID namespace -> the task's command
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

// The name of the label with the job id on each container of a job.
inline constexpr std::string_view kJobLabel = "tony.job";

struct PodmanRun {
  struct Folder {
    std::string source, target;  // absolute paths
    bool read_only = false;
  };
  std::string image, name, directory;
  // Labels and variables as "NAME=value". All users of the machine can see them.
  std::vector<std::string> labels, environment;
  std::vector<Folder> folders;
  // Names of the Container Device Interface, e.g. "nvidia.com/gpu=0".
  std::vector<std::string> devices;
  std::string oom_score_adj;        // empty: unchanged
  std::vector<std::string> script;  // arguments of /bin/sh
  // True: the container inherits descriptor 3 of podman.
  bool keeps_descriptor_3 = false;
};

// Returns the path of podman on this machine. kNotFound: the machine has no podman.
Result<std::string> FindPodman();

// Returns the words of the command that runs a container as this process's user, with its limits, and with the host's
// network, shared memory and host name. Pure except for the limits.
std::vector<std::string> PodmanCommand(const std::string& podman, const PodmanRun& run);

// Checks that podman can run such a container here, by running one that ends at once; ignores `run.script`. The message
// says what is wrong and what to do. Blocks for half a second.
Status TryContainer(PodmanRun run);

// Returns the variables that the image sets, as "NAME=value". Blocks.
Result<std::vector<std::string>> ImageEnvironment(const std::string& image);

// Removes all containers with this label, "NAME=value", and ends their processes. Blocks.
Status RemoveContainers(const std::string& label);

// Returns whether the process is in a PID namespace below the one of this process, as all processes of a container are,
// and podman and conmon are not.
bool IsInInnerPidNamespace(pid_t pid);

}  // namespace tony
