// This interface shows the supervision of a job to programs outside the job: which processes of the job live, and
// whether the job is lost. Verbs (the commands of `tony`) and adapters (the plugins for workflow engines) use this
// interface, so they need no knowledge of locks and processes. LocalArbiter implements this interface, and so does
// AmLauncher, which can also start an AM.
//
// The process that finalizes a job also writes the job's records in other places: the job's line in ended.log and the
// files of TonY's history. That process is the arbiter (on one machine the keeper, just before it exits), or the
// caller of Settle() if no arbiter lives. No AM, verb or adapter writes these records. `tony gc` and `tony history
// --export` add missing records.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/job_status.h"
#include "runtime/net/frame_connection.h"
#include "runtime/records/job_records.h"

namespace tony {

struct ArbiterView {
  // The supervision of a job. The kind does not show whether the job has ended; the job's status does.
  enum class Kind {
    // The keeper (supervisor) of the job lives and restarts an AM that dies.
    kKept,
    // A process has started a keeper, which does not hold its lock yet.
    kStarting,
    // The AM lives and restarts the keeper.
    kAmAlone,
    // No process of the job lives, and the job may be restarted.
    kNobody,
    // No process of the job lives, and none may be started, e.g. because the job's machine was restarted.
    kLost,
  };
  Kind kind = Kind::kNobody;
  // True if the job has ended and no process will be started for it any more, not even for its cleanup.
  bool swept = false;
  // Why a supervised job has no AM now, as a text for people; empty if the job has an AM or the reason is unknown.
  std::string waits = {};
  // The scheduler has ended the AMs of all lower epochs, so clients do not call the addresses of these AMs. The value
  // is 0 if the scheduler does not report such epochs.
  Epoch oldest_epoch{};

  bool IsKept() const { return kind == Kind::kKept; }
  bool WillBeKept() const { return kind == Kind::kKept || kind == Kind::kStarting; }
  // Returns true if a process of TonY lives for the job.
  bool HasLiveProcess() const { return WillBeKept() || kind == Kind::kAmAlone; }
};

// The calls do not block, except Settle() and calls that wait for the store of the records.
class Arbiter {
 public:
  virtual ~Arbiter() = default;
  virtual ArbiterView Look(const JobRecords& records) const = 0;
  // Returns how the job ended if its end is not recorded. Returns nullopt if the job may continue, or if its end is
  // recorded. Writes nothing.
  virtual Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const = 0;
  // Finalizes a job that ended without a record: writes the final status permanently. Returns Ok if the job's end is
  // recorded or has not happened, or if another process is finalizing the job now.
  virtual Status Settle(const JobRecords& records) const = 0;
  // Returns a function that makes a client's channel to the job's AM at a host and port. The function is empty if AMs
  // of this backend do not listen at a host and port.
  virtual Result<MakeChannel> WayToAm(const JobRecords&) const { return MakeChannel(); }
  // Kills a job that still waits for its first AM. Such a wait may be long. Returns false, and does nothing, if the AM
  // or the keeper of the job decides about the kill.
  virtual Result<bool> EndBeforeFirstAm(const JobRecords&, const KillRequest&) const { return false; }
  // Ends a job whose records cannot be read or written, as a kill without a condition would. Waits up to `limit` until
  // no process of the job is left. Returns how the job ended, or a status without a verdict if the job is still ending.
  // Returns nullopt if this backend cannot do that without records, and kUnavailable if no process was found that could
  // end the job.
  virtual Result<std::optional<JobStatus>> EndWithoutRecords(const JobId&, const std::string& /*reason*/,
                                                             Duration /*limit*/) const {
    return std::optional<JobStatus>();
  }
  // Asks the scheduler to end the job. This needs neither an AM nor the job's records. The caller has already checked
  // the conditions of the kill. The call waits at most a few seconds, may be repeated, and may be made on any thread.
  // Returns false if only keepers end the jobs of this backend.
  virtual Result<bool> EndInScheduler(const JobId&, const std::string& /*reason*/) const { return false; }
  // Gets fresh tokens of the cluster for a job, and the address of the job's AM, as the scheduler knows it (nullopt: no
  // AM runs now). Waits for the cluster. nullopt: the job uses no tokens. kNotFound: the job has ended. kNotPermitted:
  // the user of this process gets no tokens, for example because the Kerberos ticket has ended.
  struct TokenPush {
    ClusterTokens tokens;
    std::optional<Address> am;
  };
  virtual Result<std::optional<TokenPush>> PrepareTokenPush(const JobRecords&) const {
    return std::optional<TokenPush>();
  }
  // Returns a text for people that says where to find the reason why the job's keeper does not stay alive, and contains
  // the keeper's last log line.
  virtual std::string KeeperFailureHint(const JobRecords& records) const = 0;
};

}  // namespace tony
