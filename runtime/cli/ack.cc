// `tony ack`: an engine says that it has consumed a job's result. Only the newest owner may, or who has adopted it.
#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/contract_options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/named_job.h"

namespace tony {
namespace {

// Who took the result after the job had ended; empty: nobody.
Result<OwnerToken> Adopter(const JobStatus& status) {
  if (status.request.value.empty()) return OwnerToken();
  TRY_ASSIGN(const auto index, BackendOf(status.job).Requests(status.job));
  TRY_ASSIGN(const auto record, index->Read(status.request));
  return record && record->job == status.job ? record->adopter : OwnerToken();
}

// The newest one.
Result<OwnerToken> OwnerOf(const JobStatus& status) {
  TRY_ASSIGN(OwnerToken adopter, Adopter(status));
  return adopter.value.empty() ? status.claim.owner : adopter;
}

}  // namespace

Result<int> RunAck(const CommandLine& line) {
  TRY_ASSIGN(const OwnerToken owner, OwnerOption(line, "owner"));
  if (owner.value.empty()) return Error{ErrorCode::kUsage, "ack: expected --owner"};
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().front(), TerminalNotes()));
  TRY_ASSIGN(const KnownStatus known, AskStatus(records));
  const std::string job = records.job().value;
  if (!HasEnded(known.status)) return Error{ErrorCode::kInvalid, StrCat("job ", job, " has not ended")};
  TRY_ASSIGN(const OwnerToken newest, OwnerOf(known.status));
  const bool acked = owner == newest;
  if (acked && !known.acked) TRY(Acknowledge(records, owner));
  if (line.Has("json")) {
    PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(job), R"(,"acked":)", acked ? "true" : "false", "}"));
  } else {
    PrintLine(StrCat("job ", job, acked ? " is acknowledged" : " has another owner: not acknowledged"));
  }
  return 0;
}

}  // namespace tony
