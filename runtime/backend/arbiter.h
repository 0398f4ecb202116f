// Who rules a job, seen from outside: what verbs and adapters ask, so that they know neither locks nor processes. Seam:
// LocalArbiter; AmLauncher, which can also start one.
//
// Who brings a job to its end for good also writes what is kept of it elsewhere: its line of ended.log and the files of
// TonY's history. That is the arbiter, here the keeper as it leaves, or Settle() for one that can no longer; no master,
// no verb and no adapter writes them. `tony gc` and `tony history --export` add what was not written then.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/job/job_status.h"
#include "runtime/net/frame_connection.h"
#include "runtime/records/job_records.h"

namespace tony {

struct ArbiterView {
  // Says nothing of whether the job has ended: that is what its status is for.
  enum class Kind {
    kKept,      // its keeper lives: an AM that dies comes back by itself
    kStarting,  // a keeper was started, by whomever, and does not keep it yet
    kAmAlone,   // its AM lives, and brings the keeper back
    kNobody,    // nothing of it lives, and it may be brought back
    kLost,      // nothing of it lives, and nothing may be started for it: its machine was started anew
  };
  Kind kind = Kind::kNobody;
  bool swept = false;      // of a job that has ended: nothing will be started to sweep up after it
  std::string waits = {};  // why a job that is ruled has no master yet, for people; empty: it has, or nobody knows

  bool IsKept() const { return kind == Kind::kKept; }
  bool WillBeKept() const { return kind == Kind::kKept || kind == Kind::kStarting; }
  bool IsRuled() const { return WillBeKept() || kind == Kind::kAmAlone; }  // whether a process of ours lives for it
};

// Calls do not wait, but for Settle, and the store of the records.
class Arbiter {
 public:
  virtual ~Arbiter() = default;
  virtual ArbiterView Look(const JobRecords& records) const = 0;
  // How a job has ended that nobody could write the end of. Writes nothing; nothing: it may go on, or has its end.
  virtual Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const = 0;
  // Writes such an end, for ever. Harmless where there is none, or somebody else does the same now.
  virtual Status Settle(const JobRecords& records) const = 0;
  // How a client speaks to an AM at a host and port; empty: there is none of this job's.
  virtual Result<MakeChannel> WayToAm(const JobRecords&) const { return MakeChannel(); }
  // Ends a job that waits for its first AM and may wait long, as a kill that is in its records already asks; false: it
  // is the AM's to decide, or the keeper's.
  virtual Result<bool> EndUnruled(const JobRecords&, const KillRequest&) const { return false; }
  // Ends a job whose records cannot be read or written, as a plain kill would, and waits for `limit` until nothing of
  // it is left. Returns how it ended, or a status without a verdict where it still ends; nothing: that cannot be done
  // without records. kUnavailable: nobody was found who could end it.
  virtual Result<std::optional<JobStatus>> EndWithoutRecords(const JobId&, Duration /*limit*/) const {
    return std::optional<JobStatus>();
  }
  // For people: where to see why its keeper cannot stay alive, and its last words.
  virtual std::string WhyItEnds(const JobRecords& records) const = 0;
};

}  // namespace tony
