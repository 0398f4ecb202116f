// looked: the sign of those who look at a job while no AM can be told of it. Its time says when somebody looked last;
// its lines name watchers, in the order in which they came: "EPOCH WATCHER", the epoch of the AM that ruled last.
#pragma once

#include <ctime>
#include <vector>

#include "runtime/records/job_records.h"

namespace tony {

// Leaves the sign, if an AM has ruled and none lives; false: it does. `watcher` may be empty: somebody without a name.
Result<bool> LeaveLook(const JobRecords& records, const WatcherToken& watcher);

// Reads signs as they come.
class LookReader {
 public:
  explicit LookReader(JobRecords records) : records_(std::move(records)) {}

  struct Look {
    Epoch epoch;
    WatcherToken watcher;
  };
  struct Looks {
    bool any = false;  // somebody has looked since the Read() before
    std::vector<Look> named;
  };
  // What cannot be read is no look. The first Read() tells of all watchers that the file names.
  Looks Read();

 private:
  JobRecords records_;
  ino_t file_ = 0;
  timespec changed_{};
  off_t read_ = 0;  // up to here, in whole lines
};

}  // namespace tony
