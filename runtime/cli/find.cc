// `tony find`: the job of a request.
#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/contract_options.h"
#include "runtime/cli/output.h"
#include "runtime/client/find_request.h"
#include "runtime/client/job_access.h"

namespace tony {

Result<int> RunFind(const CommandLine& line) {
  TRY_ASSIGN(const RequestId request, RequestIdOption(line));
  if (request.value.empty()) return Error{ErrorCode::kUsage, "find: expected --request-id"};
  TRY_ASSIGN(const auto found, FindRequest(request));
  if (!found || !found->job) return Error{ErrorCode::kNotFound, StrCat("request ", request.value, ": no job")};
  const RequestRecord& record = found->record;
  const std::string& job = found->job->job().value;
  TRY_ASSIGN(const KnownStatus known, AskStatus(*found->job));
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

}  // namespace tony
