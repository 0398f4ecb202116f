// What was seen of an attempt's end, for the rules of runtime/job/failure_rules.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "runtime/job/failure_rules.h"

namespace tony::executor {

// How many processes the kernel's out-of-memory killer has ended so far. Nothing: cannot be known.
struct OomKills {
  std::optional<int64_t> cgroup;   // of the cgroup that this process and its task are in
  std::optional<int64_t> machine;  // of any cgroup or none
};

// `root` is "/" but in tests. Reads the cgroup's memory.events (cgroup v2) or memory.oom_control (v1), and
// /proc/vmstat. The kernel's log would tell less: few may read it, and its process ids are not those of a container.
OomKills CountOomKills(const std::filesystem::path& root = "/");

OomEvidence Compare(const OomKills& before, const OomKills& after);

// Removes what stands where the program's error file will be: a link into the user's sources, perhaps.
void ForgetErrorFile(const std::filesystem::path& file);

// To be called once the process was reaped; `before` was counted before it started.
Evidence Gather(ExitStatus exit, const std::filesystem::path& error_file, const std::filesystem::path& stderr_file,
                const OomKills& before);

}  // namespace tony::executor
