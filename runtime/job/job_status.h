// The public status of a job: the document behind `tony status --json`, `wait --json` and status.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/claim.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony {

struct TaskStatus {
  TaskId id;
  std::string state;  // "waiting", "active", "backoff", "done"
  // The number of the newest attempt; 0 before the first attempt.
  int attempt = 0;
  // The state of the newest attempt, e.g. "running" or "failed". Empty before the first attempt.
  std::string attempt_state;
  std::string host;
  // The web page with the task's logs on its node. Empty if the node has no such page, or the page is not known.
  std::string log_url;
  // The process id of the user's program; 0 while no program runs.
  int64_t pid = 0;
  bool suspect = false;            // heartbeats are missing
  std::optional<Outcome> outcome;  // outcome of the newest attempt
  // The usage of the newest attempt, as its executor last reported it.
  std::optional<Usage> usage;
  std::optional<Instant> started, ended;
  // The roles that the task waits for before it starts, e.g. "data, head (ready)". With "(ready)" the task waits until
  // that role is ready, otherwise for the role's success.
  std::string waits_for;
};

// A restart that the AM has decided.
struct RestartStatus {
  int number = 0;  // 1, 2, ...
  Instant time;
  std::string scope;  // "task", "role", "gang", "job"
  // The attempt whose end caused the restart.
  AttemptId cause;
  // The cause for people, e.g. "worker:1 failed on node-3: exit code 3 (user_error)".
  std::string reason;
  // True if the restart is charged to the budget of the user's program.
  bool charged = true;
};

// The checkpoints of a job that has declared a checkpoint directory.
struct CheckpointStatus {
  std::string directory;
  // The checkpoint from which the newest attempts resume.
  std::optional<Checkpoint> resumed_from;
  // The earlier job of the same request. Set only if that job wrote the checkpoint `resumed_from`.
  std::optional<JobId> earlier_job;
  // The reason why the writer of the checkpoints cannot be determined. Empty if the writer is known.
  std::string unknown;
};

// A failed attempt whose container is kept, so that a person can enter it (`tony shell`).
struct HeldTask {
  AttemptId attempt;
  std::string host;
  Instant until;
  // The state in which the job will end. Set while the job waits for nothing but the end of the hold.
  std::optional<FinalState> verdict = {};
};
// Returns the hold for people, e.g. "worker:3#1 is held for tony shell until 2026-11-26T12:31:07.000Z".
std::string Describe(const HeldTask& held);

struct JobStatus {
  JobId job;
  std::string name;
  std::string user;
  std::string framework;
  std::vector<std::string> tags;
  std::string state;  // "ACCEPTED", ..., "SUCCEEDED", "FAILED", "KILLED"
  // A number that grows with every change of the status. `wait --since` compares with it.
  int64_t seq = 0;
  Epoch epoch;
  Generation generation;
  Instant submitted;
  std::optional<Instant> ended;
  // Present exactly when the job has ended.
  std::optional<Verdict> verdict;
  std::vector<TaskStatus> tasks;        // sorted by role, then index
  std::vector<RestartStatus> restarts;  // the newest 20, oldest first
  int restart_count = 0;                // number of all restarts
  // The number of failed tasks that did not fail the job.
  int tolerated_failures = 0;
  std::optional<CheckpointStatus> checkpoint;
  std::optional<HeldTask> held;
  // The pending reason: why requested containers are not granted yet, e.g. "waits for 8192 MB of memory: ...", or why
  // no AM runs, as the scheduler knows it.
  std::string delay;
  // The reason why the job is degraded and has to wait, e.g. "journal: no space left on device".
  std::string trouble;
  // The time until which the job's programs may call their cluster, because their tokens end then. Not set if the
  // cluster needs no tokens.
  std::optional<Instant> tokens_until;
  // The time at which these tokens were issued.
  std::optional<Instant> tokens_issued;
  // True: half of these tokens' life has passed, and no client has pushed fresh ones.
  bool tokens_are_overdue = false;
  // The next fields, up to `planned_kill`, are about the workflow engine (Azkaban or Airflow) that submitted the job.
  RequestId request;  // empty: submitted without a request id
  // The number of the submission under its request id.
  int64_t number = 0;
  // The newest owner with its watch timeout.
  Claim claim;
  // The newest client that has watched the job.
  WatcherToken watcher;
  // The kill of the job that is planned for a later time; the earliest, if there are several.
  std::optional<KillRequest> planned_kill;
  // The address of the job's page; empty if the job has no page.
  std::string tracking_url;
  // The address of the job's TensorBoard sidecar; empty while no TensorBoard runs.
  std::string tensorboard_url;
  // The address of the job's notebook server, without its token; empty while none runs.
  std::string notebook_url;
};

// Writes {"schema":1,"job":...,"state":...,"verdict":{"state","class","retryable","message","task","attempt","host",
// "exit_code" or "signal","stderr_tail"},"tasks":[...]}. Times are in ISO 8601. A task's "usage" (outcome.h) stands
// next to its "outcome". The following members are written only if they have a value: "request_id", "submission",
// "owner", "watcher", "watch_timeout_ms", "planned_kill":{"due","reason"}, "tracking_url", "tensorboard_url",
// "notebook_url", "tokens_until", "tokens_issued", "tokens_overdue", "tags", "tolerated_failures",
// "held":{"task","attempt","host","until","verdict"} and
// "checkpoint":{"directory","resumed_from":{"path","step","writer","job"},"unknown"}.
std::string ToJson(const JobStatus& status);
Result<JobStatus> JobStatusFromJson(std::string_view json);

// Short texts for tables: what a task does, and what it uses.

// Returns the state of a task in one word: "running", "silent", "backoff", ...
std::string StateWord(const TaskStatus& task);

// Returns the memory of a task. For a running task: the current use and the maximum, e.g. "312/340 MB". For other
// tasks: only the maximum.
std::string MemoryText(const TaskStatus& task);
// Returns the memory of a task for terminals: the current use of a running task, the maximum of other tasks. The limit
// follows if `limit_bytes` is above 0: "312/2048 MB", else "312 MB".
std::string MemoryOfLimit(const TaskStatus& task, int64_t limit_bytes);
std::string PeakMemoryText(const TaskStatus& task);  // maximum memory, e.g. "340 MB"
// Returns the CPU use in percent of one core, as top shows it: "98%", "1600%". The value is the current use of a
// running task, and the average use of other tasks.
std::string CpuText(const TaskStatus& task);
// Returns the usage of all tasks, added up as if they were one task. While the job runs, ended tasks are left out.
TaskStatus TotalUsage(const JobStatus& status);

std::string ClockText(Duration length);  // "0:07", "12:30", "2:05:00", "3d 04h"

// Returns a line for each role with the condition under which the role is complete. One more line follows if the job
// has TonY's completion rule. Example: "role shard (tracked): complete when 97 of 100 tasks have succeeded; 4 failures
// fail the job".
std::vector<std::string> CompletionLines(const JobSpec& spec);

}  // namespace tony
