// One job that has ended, as a line of $TONY_HOME/history/ended.log:
//
//   1 job name user framework state class request-id submission submitted ended tasks restarts cause checksum
//
// Separated by tabs, ended by a line end. Times are in milliseconds; in texts control characters and backslashes are
// written as \hh. The checksum is CRC-32 (that of gzip) over all before its tab, in eight hex digits: a line that was
// cut or changed is never taken for one that was written. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/time.h"
#include "runtime/job/claim.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/job/outcome.h"

namespace tony {

struct EndedJob {
  JobId job;
  std::string name, user, framework;
  FinalState state = FinalState::kSucceeded;
  OutcomeClass cls = OutcomeClass::kSuccess;
  RequestId request;
  int64_t number = 0;  // of the submission under that request id
  Instant submitted, ended;
  int64_t tasks = 0, restarts = 0;
  std::string cause;  // the first, at most 200 bytes
  bool operator==(const EndedJob&) const = default;
};

// Of a document with a verdict.
EndedJob EndedJobOf(const JobStatus& status);

// The same as it stands in a line: its texts are the line's, still escaped, and live as long as it.
struct EndedLine {
  std::string_view job, name, user, framework, request, cause;
  FinalState state = FinalState::kSucceeded;
  OutcomeClass cls = OutcomeClass::kSuccess;
  int64_t number = 0;
  Instant submitted, ended;
  int64_t tasks = 0, restarts = 0;
};

std::string ToLine(const EndedJob& job);  // with its line end
// `line`: without its line end. Nothing: torn, damaged, or of a version that we do not know.
std::optional<EndedLine> ReadEndedLine(std::string_view line);
EndedJob ToEndedJob(const EndedLine& line);

// Whether the checksum is right, whatever the version.
bool IsWholeLine(std::string_view line);

std::string EscapeField(std::string_view text);
std::string UnescapeField(std::string_view text);

}  // namespace tony
