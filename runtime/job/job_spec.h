// The typed, validated, immutable description of one job. Past the parser nobody sees a property key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

enum class FrameworkKind { kStandalone, kTensorflow, kPytorch, kJax };
std::string_view ToString(FrameworkKind kind);  // "standalone", "tensorflow", "pytorch", "jax"
std::optional<FrameworkKind> FrameworkKindFromString(std::string_view text);

// What the end of a role's tasks means for the job.
enum class Completion {
  kTracked,    // the job succeeds when all tracked tasks did, and fails when one does
  kUntracked,  // not waited for, but a failure fails the job (parameter servers)
  kSidecar,    // not waited for; a failure is ignored
};
std::string_view ToString(Completion completion);  // "tracked", "untracked", "sidecar"
std::optional<Completion> CompletionFromString(std::string_view text);

struct Resources {
  int64_t memory_mb = 2048;
  int vcores = 1;
  int gpus = 0;
  bool operator==(const Resources&) const = default;
};

struct RoleSpec {
  std::string name;  // lower-case letters, as TonY's job types
  int instances = 1;
  Resources resources;
  std::string command;  // run by `bash -c`; never empty
  Completion completion = Completion::kTracked;
  bool operator==(const RoleSpec&) const = default;
};

// Timers of liveness and recovery. The parser refuses cutoff_after + grace + 5 s >= lost_after: a replaced attempt
// must be dead before its successor starts.
struct Timers {
  Duration heartbeat{1000};
  Duration suspect_after{5000};
  Duration cutoff_after{30000};
  Duration grace{10000};
  Duration lost_after{60000};
  Duration record_fresh{15000};
  Duration am_lease{10000};
  Duration orphan_timeout{1800000};
  bool operator==(const Timers&) const = default;
};

struct JobSpec {
  std::string name = "TonyApplication";
  FrameworkKind framework = FrameworkKind::kTensorflow;
  std::vector<RoleSpec> roles;                       // sorted by name; never empty; at least one is tracked
  std::map<std::string, std::string> execution_env;  // -shell_env: the user's process
  std::map<std::string, std::string> container_env;  // -container_env: also for the user's process; execution_env wins
  std::string src_dir;                               // absolute folder on the submitting machine; empty: none
  Duration timeout{0};                               // of the whole job, from acceptance; 0: none
  Duration registration_timeout{900000};             // from acceptance until the whole gang is registered
  Timers timers;
  bool operator==(const JobSpec&) const = default;

  const RoleSpec* FindRole(std::string_view role) const;
  int TotalTasks() const;
  int TrackedTasks() const;
  // The chief decides for collectives who leads: role "chief" index 0, or else "worker" index 0 (TonY's rule).
  bool IsChief(const TaskId& task) const;
};

// Canonical JSON ("schema": 1): keys in fixed order, every field written. FromJson is the way executors and a new AM
// read it back; it checks types and required fields, kInvalid names the field.
std::string ToJson(const JobSpec& spec);
Result<JobSpec> JobSpecFromJson(std::string_view json);

}  // namespace tony
