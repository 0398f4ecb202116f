// `tony status`: what is known of jobs now. Only reads. One job that cannot be found hides none of the others.
#include <optional>

#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/error_json.h"
#include "runtime/cli/next_steps.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/named_job.h"

namespace tony {
namespace {

Result<std::string> Tell(const std::string& id, bool json, const TableRoom& room) {
  TRY_ASSIGN(const JobRecords records, FindNamedJob(id, TerminalNotes()));
  TRY_ASSIGN(const KnownStatus known, AskStatus(records));
  return json ? ToJson(known) : StatusText(known, records, RealClock().Now(), room);
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
      SayNext(line, {StrCat("logs ", line.words().front(), " -f"), StrCat("history ", line.words().front())});
  } else {
    PrintLine(one ? told.front() : StrCat(R"({"schema":1,"jobs":[)", Join(told, ","), "]}"));
  }
  return exit;
}

}  // namespace tony
