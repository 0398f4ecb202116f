// A digest consists of hashes of everything that a submit wants to run. Two digests show whether two submits under one
// request id want to run the same. Pure functions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/job/claim.h"
#include "runtime/job/ids.h"

namespace tony {

// The parts are "command", "roles", "environment", "checkpoints" and "files", each with a SHA-256. The digest does not
// depend on the owner, the number of the try, times, names and links for people, paths of sources, timers, limits for
// watching, values of secrets, or __pycache__. A job of an early release has an empty digest.
struct SubmitDigest {
  std::map<std::string, std::string> parts;
  bool operator==(const SubmitDigest&) const = default;
};

// Returns the names of the parts whose hashes differ. A part that only one of the digests has is ignored.
std::vector<std::string> DifferingParts(const SubmitDigest& a, const SubmitDigest& b);

// Decides what a submit with a request id does, as one pure function. Workflow engines rely on its table. "attach"
// continues with the running job, "adopt" takes the result of the job that succeeded, and "replace" kills the job and
// creates a new one. N is the submission number. Each column compares the submit's N with the job's N, and names the
// submit's --on-existing.
//
//   existing job under the id         same N, adopt    same N, attach    same N, never    higher N
//   none                              create           create            create           create
//   new or running                    attach           attach            replace          replace
//   being killed, killed, failed      create           create            create           create
//   succeeded                         adopt            create            create           create
//
// A submit is refused if its N is lower than the newest known N, or if its owner was revoked before the submit.
//
// If the submit wants to run something else than the job (SubmitDigest), or if the job's result has been consumed,
// "attach" and "adopt" become:
//
//   submitter                         attach, other digest    adopt, other digest    adopt, consumed
//   an engine's first try             replace                 create                 create
//   a later try of the engine         attach                  adopt                  adopt; with another digest: create
//   a person                          refuse                  create                 adopt; with another digest: create
//
// A later try continues with the job of an earlier try. If an engine dies after a job's end and before the engine has
// recorded that end, its next try therefore does not train again. This holds even if the number of the try, or a file
// that the program wrote, makes the digests differ.
//
// If the first try died before it reached TonY, the job under the id belongs to an earlier run. A submit that names its
// run therefore compares the runs: if an active job belongs to another run, a later try counts as a first try. The
// result of another run is not adopted (create).

enum class OnExisting { kAdopt, kAttach, kNever };
std::string_view ToString(OnExisting policy);  // "adopt", "attach", "never"
std::optional<OnExisting> OnExistingFromString(std::string_view text);

enum class ExistingJob {
  // No job was made, or its folder has been removed.
  kNone,
  kActive,  // new, running, or ending with success
  // Failed, killed, or being killed. A submit makes a new job in place of this one.
  kEnding,
  kSucceeded,  // ended with success
};

enum class SubmitterKind {
  kPerson,  // a submitter without owner token
  // The first try of an engine under this id and submission number.
  kFirstTry,
  kLaterTry,
};

struct SubmitAsk {
  int64_t number = 0;  // the submission number N
  OnExisting on_existing = OnExisting::kAdopt;
  SubmitterKind asker = SubmitterKind::kPerson;
  // The token of the run. All tries of one run have the same token; empty: the submit names no run.
  RunToken run{};
};

// The knowledge about a request id at one moment.
struct KnownRequest {
  // The highest submission number so far; 0: no submit is known.
  int64_t newest_number = 0;
  ExistingJob existing = ExistingJob::kNone;
  int64_t job_number = 0;  // submission number of the existing job
  bool revoked = false;    // the submitter's owner was revoked
  // True if the existing job runs something else than this submit wants to run.
  bool differs = false;
  bool consumed = false;  // the job's result was acknowledged
  // The run of the submit that last made, attached to, or adopted the existing job; empty: unknown.
  RunToken run{};
};

enum class SubmitDecision {
  kCreate,
  // The running job continues under this submit's owner.
  kAttach,
  // The result of the existing job becomes the result of this submit.
  kAdopt,
  // The existing job is killed. When all its processes have ended, a new job is created.
  kReplace,
  // The running job runs something else than this submit wants to run.
  kRefuseDiffers,
  kRefuseStale,  // a newer submission number is known
  // This owner was revoked: a kill by this owner came before the submit.
  kRefuseRevoked,
};
SubmitDecision DecideSubmit(const KnownRequest& known, const SubmitAsk& ask);

// Returns true if the decision depends on `known.differs`. Only in that case is the digest computed, because that means
// reading all sources.
bool DigestDecides(const KnownRequest& known, const SubmitAsk& ask);

// The steps of a submit under a request id, as a pure state machine. The machine names the next step; its caller (the
// shell or the simulator) takes the step and reports the result. At whatever moment the process dies, either no job
// exists, or the request id leads to the job.
//
//   Lock > Read > [decide] > refused --------------------------------------------> Unlock > Done
//                    |  the digest decides, and is unknown: Record N > Unlock > Prepare > Lock > Read ...
//                    |  adopt:   Record the adopter ------------------------------> Unlock > (Prepare) > Done
//                    |  attach:  Attach > (Record its run) > Read the revocation > (Kill its own)
//                    |                                                           -> Unlock > (Prepare) > Done
//                    |             the job is ending or has ended: Read, decide again
//                    |  replace: Record N > Kill > Unlock > (Prepare) > AwaitGone > Lock > Read ...
//                    |  create:  not prepared, or processes of the old job still run:
//                    |           Record N > Unlock > (Prepare) > (AwaitGone) > Lock > Read ...
//                    \           Record the new job > Create > Read the revocation > (Kill its own) > Start
//                                                                                -> Unlock > Done
//
// Steps in parentheses are only taken if needed. Prepare stages the files and computes the digest.
//
// The lock excludes other submits under the same id, and kills never wait for the lock. A kill first writes its
// revocation and then searches for the job. A submit first makes the job, or attaches to it, and then reads the
// revocation. At least one of the two therefore sees the other.
//
// On a cluster, Lock does nothing, because records replace the lock: a record is written only if no other one was
// written since the last Read. Otherwise Record leads back to Read, and the machine decides again. Therefore each
// record is derived from the one before, and only the submit whose record names a new job makes that job.
//
// N is recorded before the submit prepares or kills anything, so a submit with a lower N that comes meanwhile is
// refused. A submit cannot loop forever by its own actions. It prepares only once. A job that this submit has killed,
// or that has refused the attach because it ends, never again counts as active for this submit. This holds even if the
// job's files still show the job as active.

// The record of a request id. Revocations are recorded separately.
struct RequestRecord {
  int64_t newest_number = 0;
  // The newest job. Its folder may not exist yet, or may have been removed.
  std::optional<JobId> job;
  int64_t job_number = 0;
  // The owner that adopted the result of `job` after the job's end; empty: no owner has adopted it.
  OwnerToken adopter;
  SubmitDigest digest{};  // digest of `job`
  // The run that last made, attached to or adopted `job`.
  RunToken run{};
  // The job before `job`, if that earlier job succeeded. If a submit dies before it has made `job`, this earlier result
  // must still be found.
  struct Predecessor {
    JobId job;
    int64_t number = 0;
    OwnerToken adopter;
    SubmitDigest digest{};
    RunToken run{};
    bool operator==(const Predecessor&) const = default;
  };
  std::optional<Predecessor> before;
  // ---- Fields that the index sets in the records that it returns. A record that is derived from a returned record
  // keeps their values.

  // The number of this record, in an index that compares records.
  int64_t revision = 0;
  // The newest job if it is recorded and not made yet: its submit is making it now, or has died. All other fields have
  // the values that they had before this job was recorded.
  std::optional<JobId> coming{};
  bool operator==(const RequestRecord&) const = default;
};
// Returns the record that applies if the folder of `record.job` is missing. If `record.before` is set, its job becomes
// the returned record's `job`. Otherwise `record` is returned unchanged.
RequestRecord WithoutItsJob(const RequestRecord& record);

enum class SubmitStepKind {
  kLock,    // waits for the request's lock
  kRead,    // answered by RequestSeen
  kRecord,  // writes `record`; answered by RecordSeen
  kUnlock,
  // Stages the files and hashes what the submit wants to run. Answered by PreparedSeen. The step may take long,
  // therefore it is never taken under the lock.
  kPrepare,
  kCreate,  // makes the folder of `job`
  // Restarts `job` if it is lost or was never started, and attaches to it. Answered by AttachSeen.
  kAttach,
  kReadRevocation,  // answered by RevocationSeen
  // Records a kill of `job`, so that the job never runs again. If this submit replaces the job, the kill has no
  // condition. With `own`, the kill only works while this submit's owner owns the job.
  kKill,
  // Waits until no process of `job` is left. A kRead would then be answered with `gone`.
  kAwaitGone,
  // Starts the arbiter of `job`. Even a job that is to be killed is started, because otherwise its status would never
  // show the kill.
  kStart,
  // The last step. `end` is the result.
  kDone,
};
std::string_view ToString(SubmitStepKind kind);  // e.g. "lock", "read_revocation"

enum class SubmitEnd { kCreated, kAttached, kAdopted, kRefusedStale, kRefusedRevoked, kRefusedDiffers };
std::string_view ToString(SubmitEnd end);  // e.g. "created", "refused_stale"

struct SubmitStep {
  SubmitStepKind kind = SubmitStepKind::kLock;
  // The job that the step is about. Set for kCreate, kAttach, kReadRevocation, kKill, kAwaitGone and kStart. For
  // kPrepare, it is set only with `only_for_report`. For kDone, it is set unless the submit was refused as stale or
  // revoked.
  JobId job;
  RequestRecord record;  // set for kRecord
  // For kKill: true if the kill is sent because the owner token of this submit was revoked. The kill then has the
  // condition that the job still has this owner token.
  bool own = false;
  // For kPrepare: true if the job is already found, and the digest is needed only to report `differs_in`. The
  // preparation may then fail.
  bool only_for_report = false;
  // For kKill and kDone: the parts of the digest that differ between the job and this submit.
  std::vector<std::string> differs_in{};
  SubmitEnd end = SubmitEnd::kCreated;  // set for kDone
};

struct RequestSeen {
  RequestRecord record;
  ExistingJob existing = ExistingJob::kNone;  // state of record.job
  bool gone = true;                           // no process of record.job is left
  bool revoked = false;
  bool consumed = false;  // the result of record.job was acknowledged
};
struct PreparedSeen {
  // The digest of what the submit wants to run. Empty: the preparation failed, which is allowed only with
  // `only_for_report`.
  SubmitDigest digest;
};
struct RecordSeen {
  // False if another record was written since the last Read, so this one was not written.
  bool written = true;
};
struct AttachSeen {
  // True if the job continues under this submit's owner. False: the job is being ended or has ended.
  bool attached = false;
  // True if the attach failed because the job succeeded meanwhile.
  bool ended = false;
};
struct RevocationSeen {
  bool revoked = false;
};
struct StepDone {};  // answers all other steps
using SubmitObservation = std::variant<StepDone, RequestSeen, AttachSeen, RevocationSeen, PreparedSeen, RecordSeen>;

class SubmitMachine {
 public:
  // If this submit creates a job, the job gets the id `new_job`. If `owner` is empty, this submit cannot be revoked.
  SubmitMachine(SubmitAsk ask, OwnerToken owner, JobId new_job);

  const SubmitStep& step() const { return step_; }  // the step to take now
  // Reports the result of the current step; step() then returns the next one.
  void Take(const SubmitObservation& seen);

 private:
  void Decide(const RequestSeen& seen);
  void PrepareToDecide();
  ExistingJob Existing(const RequestSeen& seen) const;
  void Create(const RequestSeen& seen);
  void PlanToRemoveOldJob(const RequestSeen& seen, bool kill);
  void Hear(const AttachSeen& seen);
  void Hear(const RevocationSeen& seen);
  void Hear(const PreparedSeen& seen);
  void Hear(const RecordSeen& seen);
  void Plan(SubmitStep step) { ahead_.push_back(std::move(step)); }
  void PlanRecord(const RequestRecord& changed);
  void PlanRecordWithRun(RequestRecord taken);
  void PlanNumber();
  void PlanEnd(SubmitEnd end, const JobId& job);
  void PlanFound(SubmitEnd end, const JobId& job);
  SubmitStep Done(SubmitEnd end, const JobId& job) const;

  const SubmitAsk ask_;
  const OwnerToken owner_;
  const JobId new_job_;
  SubmitStep step_;
  // The planned steps after `step_`, up to the next step whose answer decides.
  std::deque<SubmitStep> ahead_;
  bool prepared_ = false;
  // The digest of what this submit wants to run; empty until `prepared_` is true.
  SubmitDigest digest_;
  // The record as it was last read under the lock.
  RequestRecord record_;
  // Set once the result is certain, while only the differences remain to be reported.
  std::optional<SubmitEnd> found_as_;
  // Facts about the job that this submit does not know from the job's files: the submit has killed the job, or the job
  // has refused an attach. The files may show these facts later, or never if the job was not started.
  struct DirectKnowledge {
    JobId job;
    ExistingJob existing = ExistingJob::kActive;
  };
  std::optional<DirectKnowledge> first_hand_;
};

}  // namespace tony
