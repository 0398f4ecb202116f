// A scheduler's view of the running and waiting jobs of all users.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

struct QueuedJob {
  JobId job;
  std::string user;
  // The name of a cluster's queue; empty if the scheduler has only one queue.
  std::string queue;
  int64_t process = 0;  // pid on this machine; 0: none
  bool runs = false;    // false: waits
  int64_t priority = 0;
  int64_t memory_mb = 0, vcores = 0, gpus = 0;  // sums over all its tasks
  std::vector<int> held_gpus;
  Instant since{};
  std::string why;  // the pending reason
};

// An entry that the queue rejected, with the reason.
struct DoubtedJob {
  std::string file, user, why;
};

// A process that blocks the queue for all users.
struct QueueBlocker {
  int64_t process = 0;
  std::string user, name;
};

// A queue of a cluster. Shares are relative to the whole cluster; 1 is the whole cluster.
struct QueueShare {
  std::string name;
  // True if the queue runs and has no child queues.
  bool takes_jobs = false;
  // True if this user may submit jobs to the queue.
  bool is_open = false;
  double guaranteed = 0, most = 0, used = 0;
  int running = 0, waiting = 0;  // numbers of jobs
};

// The state of a scheduler's queue. A field is empty if the scheduler does not have or know its value.
struct QueueView {
  std::string place;        // folder or address of the queue
  bool is_private = false;  // only this user's jobs
  int64_t memory_mb = 0, free_memory_mb = 0;
  int64_t cores = 0, free_cores = 0;
  int nodes = 0;  // number of a cluster's nodes
  std::vector<int> gpus, free_gpus;
  std::vector<QueueShare> queues;
  // True if the scheduler makes a queue when the first job names it.
  bool makes_queues = false;
  std::vector<QueuedJob> jobs;  // in queue order
  // The number of entries that are ignored, because no process of their jobs lives.
  int dead = 0;
  std::vector<DoubtedJob> doubted;
  std::vector<QueueBlocker> blockers;
  std::vector<std::string> warnings;
};

}  // namespace tony
