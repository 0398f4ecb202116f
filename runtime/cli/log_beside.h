// Shows what the tasks of a job write while the command waits for it.
#pragma once

#include <thread>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/records/job_records.h"

namespace tony {

class LogsBeside {
 public:
  // On a thread of its own, for reading may wait. To `fd`.
  LogsBeside(const JobRecords& records, int fd);
  ~LogsBeside() { End(/*stop=*/true); }
  LogsBeside(const LogsBeside&) = delete;

  // Returns when everything has been shown, or now if it is to stop. Once.
  void End(bool stop);

 private:
  Status Show();

  const JobRecords records_;
  const int fd_;
  EventLoop loop_;
  std::thread thread_;
};

}  // namespace tony
