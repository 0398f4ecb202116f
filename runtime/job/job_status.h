// What the outside sees of a job: the document behind `tony status --json`, `wait --json` and status.json.
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
  std::string state;          // task state: "waiting", "active", "done"
  int attempt = 0;            // number of the newest attempt; 0: none yet
  std::string attempt_state;  // "running", "failed", ...; empty without an attempt
  std::string host;
  std::string log_url;             // where its node shows its logs; empty: it does not, or that is not known
  int64_t pid = 0;                 // the user's process; 0 while none runs
  bool suspect = false;            // heartbeats are missing
  std::optional<Outcome> outcome;  // of the newest attempt
  std::optional<Usage> usage;      // of the newest attempt, as last heard
  std::optional<Instant> started, ended;
  std::string
      waits_for;  // the roles before whose success, or until whose word, it does not start: "data, head (ready)"
};

// One restart, as its decision was made.
struct RestartStatus {
  int number = 0;  // 1, 2, ...
  Instant time;
  std::string scope;    // "task", "role", "gang", "job"
  AttemptId cause;      // whose end brought it about
  std::string reason;   // "worker:1 failed on node-3: exit code 3 (user_error)"
  bool charged = true;  // to the budget of the user's program
};

// Of a job with a checkpoint directory.
struct CheckpointStatus {
  std::string directory;
  std::optional<Checkpoint> resumed_from;  // what the newest attempt was told to go on from
  std::optional<JobId> earlier_job;        // of the same request, which wrote it
  std::string unknown;                     // why nobody knows whose the checkpoints are; empty: it is known
};

struct JobStatus {
  JobId job;
  std::string name;
  std::string user;
  std::string framework;
  std::vector<std::string> tags;
  std::string state;  // "ACCEPTED", ..., "SUCCEEDED", "FAILED", "KILLED"
  int64_t seq = 0;    // grows with every change; `wait --since`
  Epoch epoch;
  Generation generation;
  Instant submitted;
  std::optional<Instant> ended;
  std::optional<Verdict> verdict;       // present exactly when the job has ended
  std::vector<TaskStatus> tasks;        // by role, then index
  std::vector<RestartStatus> restarts;  // the newest 20, oldest first
  int restart_count = 0;                // all there were
  int tolerated_failures = 0;           // tasks that have failed, and the job goes on, or has succeeded, without them
  std::optional<CheckpointStatus> checkpoint;
  std::string delay;    // why containers that were asked for are not there yet: "waits for 8192 MB of memory: ..."
  std::string trouble;  // what the job waits for that it should not have to: "journal: no space left on device"
  // Of the contract with workflow engines.
  RequestId request;                        // empty: submitted without one
  int64_t number = 0;                       // submission number under that request id
  Claim claim;                              // the newest
  WatcherToken watcher;                     // the newest that has looked
  std::optional<KillRequest> planned_kill;  // the one that is due first
  std::string tracking_url;                 // the job's page; empty: there is none
  std::string tensorboard_url;              // of its sidecar; empty: none runs
};

// {"schema":1,"job":...,"state":...,"verdict":{"state","class","retryable","message","task","attempt","host",
// "exit_code" or "signal","stderr_tail"},"tasks":[...]}; times in ISO 8601. A task's "usage" (outcome.h) is beside
// its "outcome". "request_id", "submission", "owner", "watcher", "watch_timeout_ms", "planned_kill":{"due","reason"},
// "tracking_url", "tensorboard_url", "tags", "tolerated_failures" and
// "checkpoint":{"directory","resumed_from":{"path","step","writer","job"},"unknown"} are there where they have a value.
std::string ToJson(const JobStatus& status);
Result<JobStatus> JobStatusFromJson(std::string_view json);

// Short words for what a task does and uses, for tables.

// "running", "silent", "backoff", ...: what the task does now, in one word.
std::string StateWord(const TaskStatus& task);

// Of a task that runs what it uses now and the most it has used, "312/340 MB"; of another the most.
std::string MemoryText(const TaskStatus& task);
// For terminals: of a task that runs what it uses now, of another the most, and of its limit if that is known (0: not):
// "312/2048 MB", "312 MB".
std::string MemoryOfLimit(const TaskStatus& task, int64_t limit_bytes);
std::string PeakMemoryText(const TaskStatus& task);  // the most it has used: "340 MB"
// Of one core, as top says: "98%", "1600%". Of a task that runs, now; of another, on average.
std::string CpuText(const TaskStatus& task);
// As of one task: the sum over the tasks that run, or over all of a job that has ended.
TaskStatus UsedTogether(const JobStatus& status);

std::string ClockText(Duration length);  // "0:07", "12:30", "2:05:00", "3d 04h"

// When a job is over, in words for people.

// A line for each role, and one more where it is TonY's rule:
// "role shard (tracked): over when 97 of 100 tasks have succeeded; 4 failures fail the job".
std::vector<std::string> CompletionLines(const JobSpec& spec);

}  // namespace tony
