// `tony find`: the job of a request.
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/contract_options.h"
#include "runtime/client/job_access.h"
#include "runtime/client/output.h"
#include "runtime/store/request_index.h"
#include "runtime/store/user_home.h"

namespace tony {

Result<int> RunFind(const CommandLine& line) {
  TRY_ASSIGN(const RequestId request, RequestIdOption(line));
  if (request.value.empty()) return Error{ErrorCode::kUsage, "find: expected --request-id"};
  TRY_ASSIGN(const auto home, TonyHome());
  TRY_ASSIGN(const auto record, RequestIndex(home).Read(request));
  TRY_ASSIGN(const auto folder, FindIfThere(record ? record->job : std::nullopt));
  if (!folder) return Error{ErrorCode::kNotFound, StrCat("request ", request.value, ": no job")};
  TRY_ASSIGN(const KnownStatus known, AskStatus(*folder));
  if (!line.Has("json")) {
    PrintLine(StrCat(folder->job().value, " ", known.status.state));
    return 0;
  }
  const std::string adopter =
      record->adopter.value.empty() ? "" : StrCat(R"(,"adopter":)", JsonString(record->adopter.value));
  PrintLine(StrCat(R"({"schema":1,"request_id":)", JsonString(request.value), R"(,"submission":)", record->job_number,
                   R"(,"job":)", JsonString(folder->job().value), R"(,"state":)", JsonString(known.status.state),
                   adopter, "}"));
  return 0;
}

}  // namespace tony
