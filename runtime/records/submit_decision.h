// What a submit with a request id does: the contract's table as one pure function.
//
//   existing job under the id         same N, adopt    same N, attach    same N, never    higher N
//   none                              create           create            create           create
//   new or running                    attach           attach            replace          replace
//   being killed, killed, failed      create           create            create           create
//   succeeded                         adopt            create            create           create
//   A lower N than the newest known, or an owner that was told to stop before it came: refused.
//
// Where the submit asks for something else than the job was made of (submit_digest.h), or the job's result has been
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
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/job/claim.h"

namespace tony {

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

}  // namespace tony
