// Collects evidence about how an attempt ended, for the rules of runtime/job/failure_rules.h. Also reads the result of
// a preprocessing program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "executor/secret_mask.h"
#include "runtime/job/failure_rules.h"

namespace tony::executor {

// Returns the model parameters that a preprocessing program has printed. As in TonY, they are the rest of the first
// line of standard output that contains "Model parameters: ". The result has at most kLongestModelParams + 1 bytes,
// which is enough to show that the text is too long. nullopt: the file has no such line, or is not a regular file.
std::optional<std::string> ReadModelParameters(const std::filesystem::path& stdout_file);

// The number of processes that the kernel's out-of-memory killer has ended so far; nullopt: unknown.
struct OomKills {
  std::optional<int64_t> cgroup;   // in the cgroup of the executor
  std::optional<int64_t> machine;  // on the whole machine
};

// Reads the counts from the cgroup's memory.events (cgroup v2) or memory.oom_control (v1), and from /proc/vmstat.
// `root` is "/" except in tests. The kernel's log is not used, because few users may read it, and its process ids are
// not those of a container.
OomKills CountOomKills(const std::filesystem::path& root = "/");

OomEvidence Compare(const OomKills& before, const OomKills& after);

// Returns an explanation why the kernel killed `kills` processes of the executor's cgroup, e.g. "out of memory: the
// container's limit of 2048 MB was reached (peak 2047 MB), 1 process was killed by the kernel; tony.worker.memory sets
// the limit". Empty if the cgroup has no limit.
std::string DescribeOom(int64_t kills, const std::string& memory_key, const std::filesystem::path& root = "/");

// Returns the oom_score_adj for the task's processes; "" if it cannot be computed. The score is higher than the
// executor's own, so that the kernel kills a process of the task before the executor when memory runs out. The score is
// only as high as needed, because the kernel compares the task's processes with all others on the machine. A point
// stands for a thousandth of the cgroup's memory limit, or of the machine's memory if no limit exists. The score
// exceeds the executor's own by the points for twice the executor's resident memory, plus one.
std::string OomScoreOfTask(const std::filesystem::path& root = "/");

// Removes an old `file` before the executor and the program use this path to pass data to each other. Otherwise an old
// link at this path could lead a write into the user's sources.
void RemoveLeftoverFile(const std::filesystem::path& file);

// Returns `folder` if its disk has no room or no free inodes left, otherwise "".
std::string FullDiskUnder(const std::filesystem::path& folder);

struct ProcessFiles {
  std::filesystem::path error_file, stdout_file, stderr_file;
};

// Collects the evidence about a process that was reaped. `before` has the counts from before the process started.
// `memory_key` is the key that sets the task's memory limit. `mask` hides the task's secrets in all texts.
Evidence Gather(ExitStatus exit, const ProcessFiles& files, const OomKills& before, const std::string& memory_key,
                const SecretMask& mask = SecretMask());

}  // namespace tony::executor
