// What a submit with a request id does: the contract's table as one pure function.
//
//   existing job under the id         same N, adopt    same N, attach    same N, never    higher N
//   none                              create           create            create           create
//   new or running                    attach           attach            replace          replace
//   being killed, killed, failed      create           create            create           create
//   succeeded                         adopt            create            create           create
//   A lower N than the newest known, or an owner that was told to stop before it came: refused.
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

struct SubmitAsk {
  int64_t number = 0;  // the submission number N
  OnExisting on_existing = OnExisting::kAdopt;
};

// What is known under a request id at one moment.
struct KnownRequest {
  int64_t newest_number = 0;  // the highest that was ever asked; 0 at the beginning, too
  ExistingJob existing = ExistingJob::kNone;
  int64_t job_number = 0;  // of the existing job
  bool revoked = false;    // the asker's owner token has been told to stop
};

enum class SubmitDecision {
  kCreate,
  kAttach,         // the job goes on under a new owner
  kAdopt,          // its result is taken as this submit's own
  kReplace,        // it is killed, and when it is gone a new one is created
  kRefuseStale,    // a newer submission number is known
  kRefuseRevoked,  // a kill by this owner came first
};
SubmitDecision DecideSubmit(const KnownRequest& known, const SubmitAsk& ask);

}  // namespace tony
