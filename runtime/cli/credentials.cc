// `tony credentials push`: gives a running job fresh tokens of its cluster. Commands that wait for the job do this by
// themselves; this command is for people, and for a job without such a command, e.g. from cron.
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/token_pusher.h"

namespace tony {

Result<int> RunCredentials(const CommandLine& line) {
  if (line.words().front() != "push")
    return Error{ErrorCode::kUsage, StrCat("credentials: expected \"push JOB\", not \"", line.words().front(), "\"")};
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().back(), TerminalNotes()));
  TRY_ASSIGN(const auto pushed, PushFreshTokens(BackendOf(records.job()).arbiter(), records));
  const std::string& job = records.job().value;
  if (line.Has("json")) {
    PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(job), R"(,"pushed":)",
                     pushed && pushed->reply.taken ? "true" : "false", R"(,"tokens_until":)",
                     pushed ? JsonString(ToIso8601(pushed->reply.until)) : "null", "}"));
  } else if (!pushed) {
    PrintLine(StrCat("job ", job, " uses no tokens, because it does not run on a cluster with Kerberos"));
  } else if (!pushed->in_record.empty()) {
    PrintLine(StrCat("job ", job, " finds tokens that end at ", ToIso8601(pushed->reply.until),
                     " in its folder; its application master cannot be reached now: ", pushed->in_record));
  } else {
    PrintLine(StrCat("job ", job, " can use the cluster until ", ToIso8601(pushed->reply.until),
                     pushed->reply.taken ? "" : "; it already had newer tokens"));
  }
  return 0;
}

}  // namespace tony
