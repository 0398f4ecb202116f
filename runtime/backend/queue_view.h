// What a scheduler says of all jobs that it has or that wait for it, whosever they are.
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
  std::string queue;    // of a cluster; empty: there is but one
  int64_t process = 0;  // behind it, on this machine; 0: none
  bool runs = false;    // else it waits
  int64_t priority = 0;
  int64_t memory_mb = 0, vcores = 0, gpus = 0;  // that all its tasks ask for
  std::vector<int> held_gpus;
  Instant since{};
  std::string why;  // it waits
};

// An entry that is not what it says, and so is left out.
struct DoubtedJob {
  std::string file, user, why;
};

// Keeps everybody from the queue.
struct QueueBlocker {
  int64_t process = 0;
  std::string user, name;
};

// One of a cluster's queues. Shares are of the whole cluster; 1 is all of it.
struct QueueShare {
  std::string name;
  bool takes_jobs = false;  // it runs and has none below it
  bool is_open = false;     // to this user
  double guaranteed = 0, most = 0, used = 0;
  int running = 0, waiting = 0;  // jobs
};

// What a scheduler does not know, or has not, is empty.
struct QueueView {
  std::string place;        // where it is kept, or who keeps it
  bool is_private = false;  // of this user's jobs alone
  int64_t memory_mb = 0, free_memory_mb = 0;
  int64_t cores = 0, free_cores = 0;
  int nodes = 0;  // of a cluster
  std::vector<int> gpus, free_gpus;
  std::vector<QueueShare> queues;
  std::vector<QueuedJob> jobs;  // in the order of their turns
  int dead = 0;                 // left out: of jobs that nobody rules
  std::vector<DoubtedJob> doubted;
  std::vector<QueueBlocker> blockers;
  std::vector<std::string> warnings;
};

}  // namespace tony
