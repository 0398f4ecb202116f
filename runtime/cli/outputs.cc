// `tony outputs`: the JSON object that a job's chief wrote.
#include "runtime/client/outputs.h"

#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/indented_json.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/job_access.h"
#include "runtime/client/named_job.h"
#include "runtime/job/outputs_parser.h"

namespace tony {

Result<int> RunOutputs(const CommandLine& line) {
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().front(), TerminalNotes()));
  // The AM's word counts, too: it tells of the end a moment before that is in the folder.
  TRY_ASSIGN(const KnownStatus known, AskStatus(records));
  if (!HasEnded(known.status)) {
    return Error{ErrorCode::kUnavailable, StrCat("job ", records.job().value, " has not ended (", known.status.state,
                                                 "); its outputs are there when it has succeeded")};
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

}  // namespace tony
