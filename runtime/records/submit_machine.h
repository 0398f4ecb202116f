// Hashes of what a submit wants to run. They show whether two submits under one request id want the same. Pure
// functions.
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
// depend on the owner, the try, times, names and links for people, paths of sources, timers, limits for watching,
// values of secrets, or __pycache__. An empty digest belongs to a job that a release without digests made.
struct SubmitDigest {
  std::map<std::string, std::string> parts;
  bool operator==(const SubmitDigest&) const = default;
};

// Returns the names of the parts that both digests have, with different hashes.
std::vector<std::string> DifferingParts(const SubmitDigest& a, const SubmitDigest& b);

// The decision about a submit with a request id: the contract's table as one pure function.
//
//   existing job under the id         same N, adopt    same N, attach    same N, never    higher N
//   none                              create           create            create           create
//   new or running                    attach           attach            replace          replace
//   being killed, killed, failed      create           create            create           create
//   succeeded                         adopt            create            create           create
//
// A submit is refused if its N is lower than the newest known, or if its owner was revoked before it came.
//
// If the submit wants something else than the job was made of (SubmitDigest), or if the job's result has been consumed,
// "attach" and "adopt" become:
//
//   submitter                         attach, other digest    adopt, other digest    adopt, consumed
//   an engine's first try             replace                 create                 create
//   a later try of the engine         attach                  adopt                  adopt; with another digest: create
//   a person                          refuse                  create                 adopt; with another digest: create
//
// A later try continues with what an earlier try made. An engine that dies between a job's end and its own record of
// that end therefore does not train twice, even if the number of the try, or a file that the program wrote, makes the
// digests differ. If the first try died before it reached TonY, the job under the id does not belong to this run.
// Therefore a submit that names a run is judged more strictly: if an active job belongs to another run, a later try
// counts as a first try; the result of another run is not adopted (create).

enum class OnExisting { kAdopt, kAttach, kNever };
std::string_view ToString(OnExisting policy);  // "adopt", "attach", "never"
std::optional<OnExisting> OnExistingFromString(std::string_view text);

enum class ExistingJob {
  // No job was made, or its folder has been removed.
  kNone,
  kActive,     // new, running, or stopping after success
  kEnding,     // failed, killed, or about to be
  kSucceeded,  // has ended with success
};

enum class SubmitterKind {
  kPerson,  // has no owner token
  // The first try of an engine under this id and submission number.
  kFirstTry,
  kLaterTry,
};

struct SubmitAsk {
  int64_t number = 0;  // the submission number N
  OnExisting on_existing = OnExisting::kAdopt;
  SubmitterKind asker = SubmitterKind::kPerson;
  // All tries of one run have the same token; empty: the submit names no run.
  RunToken run{};
};

// The knowledge about a request id at one moment.
struct KnownRequest {
  // The highest submission number so far; 0 if there was no submit.
  int64_t newest_number = 0;
  ExistingJob existing = ExistingJob::kNone;
  int64_t job_number = 0;  // submission number of the existing job
  bool revoked = false;    // the submitter's owner was revoked
  // The existing job was made of something else than this submit wants.
  bool differs = false;
  bool consumed = false;  // the job's result was acknowledged
  // The run of the submit that last made, attached to or adopted the existing job; empty: unknown.
  RunToken run{};
};

enum class SubmitDecision {
  kCreate,
  // The job continues under a new owner.
  kAttach,
  // The job's result becomes the result of this submit.
  kAdopt,
  // The job is killed; after all of it has ended, a new job is created.
  kReplace,
  // A job is running that was made of something else.
  kRefuseDiffers,
  kRefuseStale,  // a newer submission number is known
  // A kill by this owner came before the submit.
  kRefuseRevoked,
};
SubmitDecision DecideSubmit(const KnownRequest& known, const SubmitAsk& ask);

// Returns true if the decision depends on `known.differs`. Only then is the digest needed; computing it means reading
// all sources.
bool DigestDecides(const KnownRequest& known, const SubmitAsk& ask);

// The course of a submit under a request id, as a pure state machine. The machine names the next step; the shell (or
// the simulator) takes the step and reports its result. At whatever step the process dies, there is either no job, or a
// job that the request id finds.
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
// The lock excludes other submits under the same id. Kills never wait for it: a kill first writes its revocation and
// then searches the job; a submit first makes the job, or attaches to it, and then reads the revocation. At
// least one of the two therefore sees the other.
//
// On a cluster, records replace the lock: Lock does nothing, and a record counts only if no other one was written since
// it was read. Otherwise Record leads back to Read, and the machine decides again. Therefore each record follows from
// the one before, and only the submit whose record names a new job makes that job.
//
// N is recorded before anything is prepared or killed for it, so that a lower N that comes meanwhile is refused. No
// submit loops forever by its own doing: it prepares once. A job that it has killed, or that has refused its attach
// because it was ending, never counts as active for it again, whatever the job's files say.

// The record of a request id; revocations are recorded apart from it.
struct RequestRecord {
  int64_t newest_number = 0;
  // The newest job; its folder may not exist yet, or not any more.
  std::optional<JobId> job;
  int64_t job_number = 0;
  // The owner that adopted the result of `job` after its end; empty: no owner has.
  OwnerToken adopter;
  SubmitDigest digest{};  // digest of `job`
  // The run that last made, attached to or adopted `job`.
  RunToken run{};
  // The job before `job`, if it succeeded: a submit that dies before it has made `job` must not hide that result.
  struct Predecessor {
    JobId job;
    int64_t number = 0;
    OwnerToken adopter;
    SubmitDigest digest{};
    RunToken run{};
    bool operator==(const Predecessor&) const = default;
  };
  std::optional<Predecessor> before;
  // ---- The index sets the next fields in records that it returns; records derived from them keep the values.

  // The number of the record, in an index that compares records.
  int64_t revision = 0;
  // The newest job, if it is recorded but not made: its submit is making it now, or has died. The other fields are as
  // if this job were not recorded.
  std::optional<JobId> coming{};
  bool operator==(const RequestRecord&) const = default;
};
// Returns the record that counts if the folder of `record.job` is missing: with the job before, if there was one.
RequestRecord WithoutItsJob(const RequestRecord& record);

enum class SubmitStepKind {
  kLock,    // wait for the request's lock
  kRead,    // answer: RequestSeen
  kRecord,  // write `record`, answer: RecordSeen
  kUnlock,
  // Stage files and hash what the submit wants to run. Answer: PreparedSeen. This may take long, therefore it is never
  // done under the lock.
  kPrepare,
  kCreate,  // make the folder of `job`
  // Restart `job` if it is lost or was never started, and attach to it. Answer: AttachSeen.
  kAttach,
  kReadRevocation,  // answer: RevocationSeen
  // Record the end of `job`, so that it never runs again: without a condition if this submit replaces the job; with
  // `own`, only while this submit's owner owns the job.
  kKill,
  // Wait until no process of `job` is left, that is, until kRead would answer `gone`.
  kAwaitGone,
  // Start the arbiter of `job`. A job that is to be killed is started too, because only then its status shows the kill.
  kStart,
  kDone,  // `end` names the result
};
std::string_view ToString(SubmitStepKind kind);  // "lock", "read_revocation", ...

enum class SubmitEnd { kCreated, kAttached, kAdopted, kRefusedStale, kRefusedRevoked, kRefusedDiffers };
std::string_view ToString(SubmitEnd end);  // "created", "attached", "adopted", "refused_stale", ...

struct SubmitStep {
  SubmitStepKind kind = SubmitStepKind::kLock;
  // Set for kCreate, kAttach, kReadRevocation, kKill, kAwaitGone, kStart, and for kPrepare with `only_for_report`; also for
  // kDone, unless the submit was refused as stale or revoked.
  JobId job;
  RequestRecord record;  // set for kRecord
  // For kKill: true if this submit's owner was revoked; the kill then has the condition that this owner owns the job.
  bool own = false;
  // For kPrepare: the job is found already, and only `differs_in` needs the preparation, which may fail.
  bool only_for_report = false;
  // For kKill and kDone: the parts of the digest in which the job that was found differs.
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
  SubmitDigest digest;  // empty: a preparation `only_for_report` has failed
};
struct RecordSeen {
  bool written = true;  // false: another record was written since
};
struct AttachSeen {
  // False if the job is being ended or has ended.
  bool attached = false;
  // True if the job succeeded meanwhile: read again.
  bool ended = false;
};
struct RevocationSeen {
  bool revoked = false;
};
struct StepDone {};  // for steps without an answer
using SubmitObservation = std::variant<StepDone, RequestSeen, AttachSeen, RevocationSeen, PreparedSeen, RecordSeen>;

class SubmitMachine {
 public:
  // `new_job` is the id that a created job gets. If `owner` is empty, this submit cannot be revoked.
  SubmitMachine(SubmitAsk ask, OwnerToken owner, JobId new_job);

  const SubmitStep& step() const { return step_; }  // the step to be taken now
  // Reports the result of step(), which then returns the next step.
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
  // The steps after `step_`, as far as they do not depend on an answer.
  std::deque<SubmitStep> ahead_;
  bool prepared_ = false;
  // The digest of what this submit wants to run, once prepared.
  SubmitDigest digest_;
  // The record as it was last read under the lock.
  RequestRecord record_;
  // Set if the job is found and only the differences are still to be reported.
  std::optional<SubmitEnd> found_as_;
  // Knowledge about a job that does not come from its files: this submit killed the job, or the job answered an attach.
  // The files may show this later, or never if the job was not started.
  struct DirectKnowledge {
    JobId job;
    ExistingJob existing = ExistingJob::kActive;
  };
  std::optional<DirectKnowledge> first_hand_;
};

}  // namespace tony
