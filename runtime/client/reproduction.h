// `tony reproduce`: starts one attempt of a task again, on this machine or on a cluster. A Reproduction is all that the
// attempt needs, read from the records of its job or from a pack (reproduction_pack.h). ReproductionSpec() makes a job
// from it, which runs as any other job.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/decisions.h"
#include "runtime/records/job_records.h"
#include "runtime/records/staged_files.h"

namespace tony {

// The content of a job's journal about one attempt.
struct JournalledAttempt {
  AttemptId attempt;
  Generation generation{1};
  // The addresses and values that the attempt found. The host of each task is the host on which the task ran.
  ClusterSpec cluster;
  // The checkpoint from which the attempt resumed.
  std::optional<Checkpoint> resumed_from;
  // nullopt: the attempt has not ended.
  std::optional<Outcome> outcome;
};

struct Reproduction {
  JobId job;
  // The user and the machine of the submit.
  std::string user, host;
  JobSpec spec;
  JournalledAttempt ran;
  StagedFiles staged;
  // The submitter's variables, "NAME=value".
  std::vector<std::string> environment;
  // The names of secret variables that the task needs, and whose values are not known.
  std::vector<std::string> secrets;
  // The names of variables of the submitter that a pack leaves out, because their values may be secret.
  std::vector<std::string> left_out;
};

// A task or an attempt that a person named. Number 0: the newest attempt of the task.
Result<AttemptId> ParseAttemptWord(const std::string& word);  // "worker:2", "worker:2#1"

// Returns the attempt as the decisions of its job describe it. kNotFound: the attempt was never started.
Result<JournalledAttempt> FindAttempt(const JobSpec& spec, const std::vector<Decision>& decisions,
                                      const AttemptId& asked);

// Reads what the job's records keep about the attempt. Without `asked`, the attempt is the first cause of the job's
// failure, or the attempt of the only task. The paths of staged entries may not exist here (FetchMissing()).
Result<Reproduction> ReadReproduction(const JobRecords& records, const std::optional<AttemptId>& asked);

// Returns why the checkpoint, an entry of `folder`, is not what it was when an attempt resumed from it; empty: it is
// unchanged.
std::string CheckpointDamage(const Checkpoint& checkpoint, const CheckpointFolder& folder);

// Returns whether a task of the role needs no other task, so that it can be started alone.
bool RunsAlone(const JobSpec& spec, const RoleSpec& role);

struct ReproductionPlan {
  // True: all tasks that run at the same time as the attempt are started, too. False: the attempt's task alone, with
  // the variables that it has among the others.
  bool gang = false;
  // The folder in which the job finds its checkpoints; empty: the job declares none.
  std::string checkpoints;
  // True: `checkpoints` has the checkpoint from which the attempt resumes.
  bool resumes = false;
  // The memory and the GPUs of each task; nullopt: those of the job.
  std::optional<int64_t> memory_mb;
  std::optional<int> gpus;
  // Replaces the command of the task; empty: its own command.
  std::string command;
  // The scheduler that runs the job, as a value of tony.scheduler.
  std::string scheduler = "local";
  // The queue of a cluster; empty: the job's.
  std::string queue;
};

// Returns the spec of the job that starts the attempt again. It restarts nothing, writes no history for others, and
// waits for its containers without a limit. Pure.
JobSpec ReproductionSpec(const Reproduction& kept, const ReproductionPlan& plan);
// Returns the task of that job which is the reproduced one.
TaskId ReproducedTask(const Reproduction& kept, const ReproductionPlan& plan);

// Moves the cluster to one machine: all tasks are on the loopback device. The ports of `task` are ports that are free on
// this machine, its earlier ones if they are free.
ClusterSpec OnThisMachine(ClusterSpec cluster, const TaskId& task);

// Returns the variables with which the reproduction starts: those of the submitter, except that TonY's own variables
// have this process's values. With `is_foreign`, the submit came from another machine or user: variables that name
// places of an account have this process's values, too, and this process's PATH follows the submitter's.
std::vector<std::string> ReproductionEnvironment(const Reproduction& kept, const std::vector<std::string>& own,
                                                 bool is_foreign);

// Copies a checkpoint, a file or a folder, into the existing folder `to`.
Status CopyCheckpoint(const std::filesystem::path& checkpoint, const std::filesystem::path& to);

}  // namespace tony
