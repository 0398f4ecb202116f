// What a preprocessing program hands on, as TonY read it: the rest of the first line of its standard output that holds
// "Model parameters: ".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "executor/secret_mask.h"
#include "runtime/job/failure_rules.h"

namespace tony::executor {

// At most kLongestModelParams + 1 bytes of it; nothing where there is no such line, or no regular file.
std::optional<std::string> ReadModelParameters(const std::filesystem::path& stdout_file);

// What was seen of an attempt's end, for the rules of runtime/job/failure_rules.h.

// How many processes the kernel's out-of-memory killer has ended so far. Nothing: cannot be known.
struct OomKills {
  std::optional<int64_t> cgroup;   // of the cgroup that this process and its task are in
  std::optional<int64_t> machine;  // of any cgroup or none
};

// `root` is "/" but in tests. Reads the cgroup's memory.events (cgroup v2) or memory.oom_control (v1), and
// /proc/vmstat. The kernel's log would tell less: few may read it, and its process ids are not those of a container.
OomKills CountOomKills(const std::filesystem::path& root = "/");

OomEvidence Compare(const OomKills& before, const OomKills& after);

// Why the kernel ended `kills` processes of our cgroup: "out of memory: the container's limit of 2048 MB was reached
// (peak 2047 MB), 1 process was killed by the kernel; tony.worker.memory sets it". Empty where the cgroup has no limit.
std::string DescribeOom(int64_t kills, const std::string& memory_key, const std::filesystem::path& root = "/");

// The oom_score_adj of a task's processes: so much above our own that the kernel, where memory runs out, chooses any of
// them before their executor, and no more, because a machine that runs out as a whole compares them with all other
// processes. A point stands for a thousandth of the limit of our cgroup, or of the machine's memory where there is no
// limit. The processes get the points of twice the executor's resident memory, and one more. "": it cannot be known.
std::string OomScoreOfTask(const std::filesystem::path& root = "/");

// Removes what stands where a file will be that the program writes for us, or we for it: a link into the user's
// sources, perhaps.
void ForgetFile(const std::filesystem::path& file);

// The folder, if its disk has no room left; else "".
std::string FullDiskUnder(const std::filesystem::path& folder);

struct ProcessFiles {
  std::filesystem::path error_file, stdout_file, stderr_file;
};

// To be called once the process was reaped; `before` was counted before it started. `memory_key` sets its limit.
// Secrets of the task are masked in all that it said.
Evidence Gather(ExitStatus exit, const ProcessFiles& files, const OomKills& before, const std::string& memory_key,
                const SecretMask& mask = SecretMask());

}  // namespace tony::executor
