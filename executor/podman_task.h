// A task in a container: how podman starts its command on one machine, and how its exit status is read
// (runtime/os/podman.h).
//
// Podman starts /bin/sh with a script of ours, which sets the task's variables and runs the command as its child. The
// shell stays, because the kernel ignores SIGTERM for the first process of a PID namespace, and the command must not be
// that process. The script has the job's secrets. It is a file in memory, which podman passes on as descriptor 3: words
// of a command are visible to all users of the machine, and a file on the disk would stay if this process is killed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/exit_status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/framework/task_command.h"
#include "runtime/job/job_spec.h"
#include "runtime/os/process_runner.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_records.h"

namespace tony::executor {

// Returns the variables that tasks in a container inherit: those of the image, and the GPUs that the keeper gave this
// executor, under the numbers that they have in the container. Nothing else of the submitter's environment enters a
// container, as on YARN. Pure.
std::vector<std::string> ContainerEnvironment(const std::vector<std::string>& image,
                                              const std::vector<std::string>& own, bool has_gpus);

// Returns the names of the container's GPUs for podman's option --device. Pure.
std::vector<std::string> GpuDevices(const std::vector<std::string>& own);

// Returns the script that runs the command in a container. It first creates the file `started`. Pure.
std::string LaunchScript(const std::string& command, const std::vector<std::string>& environment,
                         const std::filesystem::path& started);

struct ContainerProcess {
  ProcessSpec process;  // runs podman
  // The file with the script, which the process inherits. Keep it open until the process has started.
  UniqueFd script;
};
// Returns the process that runs `process` in a container of the role's image. An error names what cannot be mounted.
Result<ContainerProcess> InContainer(const JobRecords& records, const JobSpec& spec, const AttemptPlace& place,
                                     const ProcessSpec& process, const std::vector<std::string>& own_environment);

// Returns the exit status of the task's command, from that of podman. Podman and shells report signal N as 128 + N.
ExitStatus ExitInContainer(ExitStatus podman);

// Returns an error with podman's last line if the container never ran the script; the process has ended.
Status CheckStarted(const AttemptPlace& place, int process, const std::string& stderr_tail);

// Signals the processes inside of the containers below this process. Podman and conmon are spared, because they end
// after the container, and remove it. If no container runs yet, a signal other than SIGKILL goes to podman.
TreeWalk SignalContainers(int signal);

}  // namespace tony::executor
