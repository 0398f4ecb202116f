// Starts or restarts the application master (AM) of a job. Interface; implemented by LocalAmLauncher for this machine.
#pragma once

#include <string>

#include "runtime/backend/arbiter.h"
#include "runtime/base/result.h"
#include "runtime/records/job_records.h"

namespace tony {

class AmLauncher : public Arbiter {
 public:
  // Starts the AM, or the process that starts it. Returns once that process runs, which is before the AM answers.
  // False: nothing was started, because a process of the job lives or is starting, or because the job has ended. After
  // a start, Look() returns kStarting to every caller until the started process holds its lock, which may take long on
  // a busy machine.
  virtual Result<bool> Start(const JobRecords& records) = 0;

  // The result of LookAfter(), which checks an arbiter that may hang.
  struct Pulse {
    bool silent = false;    // alive, but does not respond
    bool hopeless = false;  // killed, but still alive
    // A text for people, reported once: which process it is, since when it is silent, and what is done about it.
    std::string note = {};
  };
  // Checks the arbiter; a waiting client calls this about once a second. An arbiter that is silent for too long is
  // killed, so that another can be started.
  virtual Pulse LookAfter(const JobRecords&) { return {}; }
  // Returns, for people, the process that keeps the job from its end. Empty: no such process is visible from here.
  virtual std::string DescribeBlocker(const JobRecords&) const { return {}; }
};

}  // namespace tony
