// What a submit asks to be run, as hashes: whether two submits under one request id ask for the same. Pure.
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

// "command", "roles", "environment", "checkpoints" and "files", each with a SHA-256. Not of the owner, the try, times,
// names and links for people, paths of sources, timers, the limits of watching, values of secrets, __pycache__. Empty:
// of a job that a release without digests has made.
struct SubmitDigest {
  std::map<std::string, std::string> parts;
  bool operator==(const SubmitDigest&) const = default;
};

// The parts that both have, and not alike.
std::vector<std::string> DiffersIn(const SubmitDigest& a, const SubmitDigest& b);

// What a submit with a request id does: the contract's table as one pure function.
//
//   existing job under the id         same N, adopt    same N, attach    same N, never    higher N
//   none                              create           create            create           create
//   new or running                    attach           attach            replace          replace
//   being killed, killed, failed      create           create            create           create
//   succeeded                         adopt            create            create           create
//   A lower N than the newest known, or an owner that was told to stop before it came: refused.
//
// Where the submit asks for something else than the job was made of (submit_course.h), or the job's result has been
// consumed, "attach" and "adopt" become:
//
//   who asks                          attach, other digest    adopt, other digest    adopt, consumed
//   an engine's first try             replace                 create                 create
//   a later try of the engine         attach                  adopt                  adopt, of another digest: create
//   a person                          refuse                  create                 adopt, of another digest: create
//
// A later try goes on with what an earlier one made: an engine that dies between a job's end and its own record of it
// does not train twice, also where the try's number or a file that the program wrote makes the digests differ. Where
// the first try died before it came here, the job is none of theirs. Hence, for who names a run: to a job of another
// run that is active a later try is a first one, and the result of another run is not adopted (create).

enum class OnExisting { kAdopt, kAttach, kNever };
std::string_view ToString(OnExisting policy);  // "adopt", "attach", "never"
std::optional<OnExisting> OnExistingFromString(std::string_view text);

enum class ExistingJob {
  kNone,       // never, or its folder has been removed since
  kActive,     // new, running, or stopping after it has succeeded
  kEnding,     // failed, killed, or on its way there
  kSucceeded,  // has ended so
};

enum class SubmitAsker {
  kPerson,    // who has no owner token
  kFirstTry,  // an engine's first try under this id and number
  kLaterTry,
};

struct SubmitAsk {
  int64_t number = 0;  // the submission number N
  OnExisting on_existing = OnExisting::kAdopt;
  SubmitAsker asker = SubmitAsker::kPerson;
  RunToken run{};  // the same for all tries of one run; empty: none is named
};

// What is known under a request id at one moment.
struct KnownRequest {
  int64_t newest_number = 0;  // the highest that was ever asked; 0 at the beginning, too
  ExistingJob existing = ExistingJob::kNone;
  int64_t job_number = 0;  // of the existing job
  bool revoked = false;    // the asker's owner token has been told to stop
  bool differs = false;    // the existing job from what is asked for
  bool consumed = false;   // its result was acknowledged
  RunToken run{};          // of whoever had the existing job last; empty: not known
};

enum class SubmitDecision {
  kCreate,
  kAttach,         // the job goes on under a new owner
  kAdopt,          // its result is taken as this submit's own
  kReplace,        // it is killed, and when it is gone a new one is created
  kRefuseDiffers,  // a job runs that was made of something else
  kRefuseStale,    // a newer submission number is known
  kRefuseRevoked,  // a kill by this owner came first
};
SubmitDecision DecideSubmit(const KnownRequest& known, const SubmitAsk& ask);

// Whether it depends on `known.differs`: digests cost the reading of all sources.
bool DigestDecides(const KnownRequest& known, const SubmitAsk& ask);

// The course of a submit under a request id, as a pure state machine: it says the next step, the shell (or the
// simulator) takes it and says what came of it. Whatever step the process dies at, there is nothing or a job that the
// request id finds.
//
//   Lock > Read > [decide] > refused --------------------------------------------> Unlock > Done
//                    |  its digest decides, and is not known: Unlock > Prepare > Lock > Read ...
//                    |  adopt:   Record the adopter ------------------------------> Unlock > (Prepare) > Done
//                    |  attach:  Attach > (Record its run) > Read the revocation > (Kill its own)
//                    |                                                           -> Unlock > (Prepare) > Done
//                    |             the job is ending or has ended: Read, decide anew
//                    |  replace: Record N > Kill > Unlock > (Prepare) > AwaitGone > Lock > Read ...
//                    |  create:  not prepared, or the old job not gone yet:
//                    |           Record N > Unlock > (Prepare) > (AwaitGone) > Lock > Read ...
//                    \           Record the new job > Create > Read the revocation > (Kill its own) > Start > Unlock >
//                    Done
//
// The lock keeps other submits under the same id out, kills never wait for it: a kill writes its revocation first and
// then looks for the job; a submit makes or attaches to the job first and then looks for a revocation. One of the two
// sees the other.
//
// Where no lock can be had (a cluster's records), locking does nothing, and a record counts only if nobody has written
// one since it was read: else Record > Read, and decide anew. So each record follows from the one before, and whose
// record names a new job alone makes it.
//
// N is recorded before anything is prepared or killed for it, so a lower one that comes meanwhile is refused. No submit
// goes round for ever on its own account: it prepares once, and what it has killed, or what told it that it is ending,
// it does not take for a living job again, whatever that job's files say.

// What is recorded under a request id, beside revocations.
struct RequestRecord {
  int64_t newest_number = 0;
  std::optional<JobId> job;  // the newest; its folder may not be there yet, or any more
  int64_t job_number = 0;
  OwnerToken adopter;     // who took the result of `job` after its end; empty: nobody
  SubmitDigest digest{};  // of `job`
  RunToken run{};         // of who made it, or attached to it or adopted it last
  // The one before, if it succeeded: a submit that dies before it has made `job` must not hide a result.
  struct Predecessor {
    JobId job;
    int64_t number = 0;
    OwnerToken adopter;
    SubmitDigest digest{};
    RunToken run{};
    bool operator==(const Predecessor&) const = default;
  };
  std::optional<Predecessor> before;
  // ---- of a record that was read (RequestIndex); kept in the records that follow from it
  int64_t revision = 0;  // where records are compared: which one it is
  // The newest, where it is recorded and not made: its submit makes it now, or has died. The rest is as without it.
  std::optional<JobId> coming{};
  bool operator==(const RequestRecord&) const = default;
};
// The record as it counts where the folder of its job is not there: that of the one before, if there was one.
RequestRecord WithoutItsJob(const RequestRecord& record);

enum class SubmitStepKind {
  kLock,    // wait for the request's lock
  kRead,    // answer: RequestSeen
  kRecord,  // write `record`, answer: RecordSeen
  kUnlock,
  kPrepare,  // stage files and hash what is asked for, answer: PreparedSeen; may take long, so never under the lock
  kCreate,   // make the folder of `job`
  kAttach,   // bring `job` back if it is lost or was never started, and attach; answer: AttachSeen
  kReadRevocation,  // answer: RevocationSeen
  kKill,            // record the end of `job`, so that it is never run again: unconditional if the course replaces it;
                    // `own`: on condition of its owner
  kAwaitGone,       // wait until nothing of `job` runs: until kRead would say `gone`
  kStart,           // start its arbiter; also if it is to be killed, for then it is seen to have been
  kDone,            // `end` says how
};
std::string_view ToString(SubmitStepKind kind);  // "lock", "read_revocation", ...

enum class SubmitEnd { kCreated, kAttached, kAdopted, kRefusedStale, kRefusedRevoked, kRefusedDiffers };
std::string_view ToString(SubmitEnd end);  // "created", "attached", "adopted", "refused_stale", ...

struct SubmitStep {
  SubmitStepKind kind = SubmitStepKind::kLock;
  JobId job;  // of kCreate, kAttach, kReadRevocation, kKill, kAwaitGone, kStart; of kDone unless stale or revoked
  RequestRecord record;  // of kRecord
  bool own = false;      // of kKill: because this submit's owner was revoked, and only while it owns the job
  bool to_tell = false;  // of kPrepare: the job is found already, only for `differs_in`; it may fail
  std::vector<std::string>
      differs_in{};  // of kKill and kDone: parts of the digest in which the job that was found differs
  SubmitEnd end = SubmitEnd::kCreated;  // of kDone
};

struct RequestSeen {
  RequestRecord record;
  ExistingJob existing = ExistingJob::kNone;  // of record.job
  bool gone = true;                           // nothing of record.job runs any more
  bool revoked = false;
  bool consumed = false;  // the result of record.job was acknowledged
};
struct PreparedSeen {
  SubmitDigest digest;  // empty: a preparation `to_tell` has failed
};
struct RecordSeen {
  bool written = true;  // false: somebody else has written one since it was read
};
struct AttachSeen {
  bool attached = false;  // false: it is being ended, or has ended otherwise than well
  bool ended = false;     // it ended well meanwhile: read again
};
struct RevocationSeen {
  bool revoked = false;
};
struct StepTaken {};  // of all steps without an answer
using SubmitObservation = std::variant<StepTaken, RequestSeen, AttachSeen, RevocationSeen, PreparedSeen, RecordSeen>;

class SubmitCourse {
 public:
  // `new_job`: the id that a created job will have. `owner` may be empty: then nothing revokes it.
  SubmitCourse(SubmitAsk ask, OwnerToken owner, JobId new_job);

  const SubmitStep& step() const { return step_; }  // to be taken now
  void Take(const SubmitObservation& seen);         // it was taken; step() is the next one

 private:
  void Decide(const RequestSeen& seen);
  void PrepareToDecide();
  ExistingJob Existing(const RequestSeen& seen) const;
  void Create(const RequestSeen& seen);
  void MakeWay(const RequestSeen& seen, bool kill);
  void Hear(const AttachSeen& seen);
  void Hear(const RevocationSeen& seen);
  void Hear(const PreparedSeen& seen);
  void Hear(const RecordSeen& seen);
  void Plan(SubmitStep step) { ahead_.push_back(std::move(step)); }
  void PlanRecord(const RequestRecord& changed);
  void PlanTaken(RequestRecord taken);
  void PlanNumber();
  void PlanEnd(SubmitEnd end, const JobId& job);
  void PlanFound(SubmitEnd end, const JobId& job);
  SubmitStep Done(SubmitEnd end, const JobId& job) const;

  const SubmitAsk ask_;
  const OwnerToken owner_;
  const JobId new_job_;
  SubmitStep step_;
  std::deque<SubmitStep> ahead_;  // what follows it, as far as that does not depend on an answer
  bool prepared_ = false;
  SubmitDigest digest_;                // of what is asked for, once prepared
  RequestRecord record_;               // as it was read last, under the lock
  std::optional<SubmitEnd> found_as_;  // the job is found; what differs is still to be told
  // What this course knows of a job at first hand: that it was killed here, or what its attach was told. Its files may
  // be behind that, or stay so for ever if the job was never started.
  struct FirstHand {
    JobId job;
    ExistingJob existing = ExistingJob::kActive;
  };
  std::optional<FirstHand> first_hand_;
};

}  // namespace tony
