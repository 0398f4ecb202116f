// The verbs that read one job or request and return at once: status, outputs, find, ack.

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/client/requests.h"
#include "runtime/job/outputs.h"

namespace tony {
namespace {

Result<std::string> Tell(const std::string& id, bool json, const TableRoom& room) {
  TRY_ASSIGN(const JobRecords records, FindNamedJob(id, TerminalNotes()));
  TRY_ASSIGN(const KnownStatus known, QueryStatus(records));
  return json ? WithSweep(ToJson(known), records, known.status) : StatusText(known, records, RealClock().Now(), room);
}

// Returns the newest owner: the owner that took over the result after the job's end, or else the owner of the job.
Result<OwnerToken> OwnerOf(const JobStatus& status) {
  if (status.request.value.empty()) return status.claim.owner;
  TRY_ASSIGN(const auto index, BackendOf(status.job).Requests(status.job));
  TRY_ASSIGN(const auto record, index->Read(status.request));
  const bool is_taken = record && record->job == status.job && !record->adopter.value.empty();
  return is_taken ? record->adopter : status.claim.owner;
}

}  // namespace

Result<int> RunStatus(const CommandLine& line) {
  const bool json = line.Has("json"), one = line.words().size() == 1;
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  std::vector<std::string> told;
  int exit = 0;
  for (const std::string& id : line.words()) {
    Result<std::string> text = Tell(id, json, room);
    if (text.ok()) {
      told.push_back(*std::move(text));
      continue;
    }
    if (one) return text.error();
    const int code = Fail(text.error(), /*json=*/false);
    if (exit == 0) exit = code;
    if (json) told.push_back(StrCat(R"({"job":)", JsonString(id), R"(,"error":)", ErrorJson(text.error()), "}"));
  }
  if (!json) {
    PrintAsIs(Join(told, ""));
    if (one && exit == 0)
      SuggestNext(line, {StrCat("logs ", line.words().front(), " -f"), StrCat("history ", line.words().front())});
  } else {
    PrintLine(one ? told.front() : StrCat(R"({"schema":1,"jobs":[)", Join(told, ","), "]}"));
  }
  return exit;
}

Result<int> RunOutputs(const CommandLine& line) {
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().front(), TerminalNotes()));
  // The AM is queried as well, because the AM reports the end a moment before the status file contains the end.
  TRY_ASSIGN(const KnownStatus known, QueryStatus(records));
  if (!HasEnded(known.status)) {
    return Error{ErrorCode::kUnavailable, StrCat("job ", records.job().value, " has not ended (", known.status.state,
                                                 "); the outputs exist after the job has succeeded")};
  }
  TRY_ASSIGN(const JobOutputs outputs, ReadOutputs(records, known.status));
  if (!line.Has("json")) {
    for (const OutputProblem& problem : outputs.problems) Say(StrCat("tony: ", Describe(problem)));
    PrintLine(IndentedJson(ObjectOf(outputs)));
    return 0;
  }
  std::string document = StrCat(R"({"schema":1,"job":)", JsonString(records.job().value));
  if (outputs.attempt) document += StrCat(R"(,"task":)", JsonString(ToString(outputs.attempt->task)));
  document += StrCat(R"(,"outputs":)", ObjectOf(outputs));
  if (!outputs.problems.empty()) document += StrCat(R"(,"problems":)", ToJson(outputs.problems));
  PrintLine(document + "}");
  return 0;
}

Result<int> RunFind(const CommandLine& line) {
  TRY_ASSIGN(const RequestId request, RequestIdOption(line));
  if (request.value.empty()) return Error{ErrorCode::kUsage, "find: expected --request-id"};
  TRY_ASSIGN(const auto found, FindRequest(request));
  if (!found || !found->job) return Error{ErrorCode::kNotFound, StrCat("request ", request.value, " has no job")};
  const RequestRecord& record = found->record;
  const std::string& job = found->job->job().value;
  TRY_ASSIGN(const KnownStatus known, QueryStatus(*found->job));
  if (!line.Has("json")) {
    PrintLine(StrCat(job, " ", known.status.state));
    return 0;
  }
  const std::string adopter =
      record.adopter.value.empty() ? "" : StrCat(R"(,"adopter":)", JsonString(record.adopter.value));
  PrintLine(StrCat(R"({"schema":1,"request_id":)", JsonString(request.value), R"(,"submission":)", record.job_number,
                   R"(,"job":)", JsonString(job), R"(,"state":)", JsonString(known.status.state), adopter, "}"));
  return 0;
}

Result<int> RunAck(const CommandLine& line) {
  TRY_ASSIGN(const OwnerToken owner, OwnerOption(line, "owner"));
  if (owner.value.empty()) return Error{ErrorCode::kUsage, "ack: expected --owner"};
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().front(), TerminalNotes()));
  TRY_ASSIGN(const KnownStatus known, QueryStatus(records));
  const std::string job = records.job().value;
  if (!HasEnded(known.status))
    return Error{ErrorCode::kInvalid, StrCat("job ", job, " has not ended, so its result cannot be acknowledged")};
  TRY_ASSIGN(const OwnerToken newest, OwnerOf(known.status));
  const bool acked = owner == newest;
  if (acked && !known.acked) TRY(Acknowledge(records, owner));
  if (line.Has("json")) {
    PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(job), R"(,"acked":)", acked ? "true" : "false", "}"));
  } else {
    PrintLine(StrCat("job ", job, acked ? " is acknowledged" : " is not acknowledged, because it has another owner"));
  }
  return 0;
}

}  // namespace tony
