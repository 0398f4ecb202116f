// The view of a job's supervision from outside: which of its processes live, and whether it is lost. Verbs and adapters
// use it, so they need no knowledge of locks and processes. Interface; implemented by LocalArbiter, and by AmLauncher,
// which can also start an AM.
//
// The process that finalizes a job also writes its records elsewhere: its line in ended.log and the files of TonY's
// history. That process is the arbiter (on one machine the keeper, just before it exits), or Settle() if no arbiter
// lives. No AM, verb or adapter writes these records. `tony gc` and `tony history --export` add the missing ones.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/job/job_status.h"
#include "runtime/net/frame_connection.h"
#include "runtime/records/job_records.h"

namespace tony {

struct ArbiterView {
  // The supervision of a job. It does not show whether the job has ended; the status of the job does.
  enum class Kind {
    // The keeper (supervisor) of the job lives and restarts an AM that dies.
    kKept,
    // A keeper was started, by any process, and does not hold its lock yet.
    kStarting,
    // the AM lives and restarts the keeper
    kAmAlone,
    // No process of the job lives, and the job may be restarted.
    kNobody,
    // No process of the job lives, and none may be started, e.g. because the job's machine was restarted.
    kLost,
  };
  Kind kind = Kind::kNobody;
  // True for an ended job for which no process will be started anymore, not even for its cleanup.
  bool swept = false;
  // Why a supervised job has no AM yet, for people; empty: it has an AM, or the reason is unknown.
  std::string waits = {};

  bool IsKept() const { return kind == Kind::kKept; }
  bool WillBeKept() const { return kind == Kind::kKept || kind == Kind::kStarting; }
  // Returns true if a process of TonY lives for the job.
  bool HasLiveProcess() const { return WillBeKept() || kind == Kind::kAmAlone; }
};

// Calls do not block, except Settle() and calls to the store of the records.
class Arbiter {
 public:
  virtual ~Arbiter() = default;
  virtual ArbiterView Look(const JobRecords& records) const = 0;
  // Returns how the job ended if that is not recorded; nullopt: the job may continue, or its end is recorded. Writes
  // nothing.
  virtual Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const = 0;
  // Finalizes a job that ended without a record: writes that end permanently. Ok if the job has no such end, or if
  // another process does the same now.
  virtual Status Settle(const JobRecords& records) const = 0;
  // Returns how a client reaches the job's AM at a host and port; empty: the job has no AM there.
  virtual Result<MakeChannel> WayToAm(const JobRecords&) const { return MakeChannel(); }
  // Executes a kill of a job that waits for its first AM, because that wait may be long. False: nothing was done,
  // because the AM or the keeper of the job decides about the kill.
  virtual Result<bool> EndBeforeFirstAm(const JobRecords&, const KillRequest&) const { return false; }
  // Ends a job whose records cannot be read or written, as a kill without a condition would. Waits up to `limit` until
  // none of its processes is left. Returns how the job ended, or a status without a verdict if it is still ending.
  // nullopt: this backend cannot do that without records. kUnavailable: no process was found that could end the job.
  virtual Result<std::optional<JobStatus>> EndWithoutRecords(const JobId&, Duration /*limit*/) const {
    return std::optional<JobStatus>();
  }
  // Returns, for people, where to find out why the job's keeper does not stay alive, and its last log line.
  virtual std::string KeeperFailureHint(const JobRecords& records) const = 0;
};

}  // namespace tony
