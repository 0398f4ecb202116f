// Starts or restarts the application master (AM) of a job. Interface; implemented by LocalAmLauncher for this machine.
#pragma once

#include <string>

#include "runtime/backend/arbiter.h"
#include "runtime/base/result.h"
#include "runtime/records/job_records.h"

namespace tony {

class AmLauncher : public Arbiter {
 public:
  // Starts the AM, or the process that starts the AM. Returns true as soon as the started process runs; the AM may not
  // answer calls yet. Returns false if nothing was started, because a process of the job lives or is starting, or
  // because the job has ended. After a start, Look() returns kStarting to every caller until the started process has
  // taken its lock. On a busy machine this may take long.
  virtual Result<bool> Start(const JobRecords& records) = 0;

  // The result of LookAfter(), which checks an arbiter that may hang.
  struct Pulse {
    bool silent = false;    // alive, but does not respond
    bool hopeless = false;  // killed, but still alive
    // A text for people, which is reported once. It names the process that does not respond, the time since when it
    // does not respond, and the action that is taken against it.
    std::string note = {};
  };
  // Checks the arbiter. A client that waits for the job calls this function about once a second. An arbiter that does
  // not respond for too long is killed, so that another arbiter can be started.
  virtual Pulse LookAfter(const JobRecords&) { return {}; }
  // Describes for people the process that prevents the end of the job; empty if no such process is visible from here.
  virtual std::string DescribeBlocker(const JobRecords&) const { return {}; }
};

}  // namespace tony
