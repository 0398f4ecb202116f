// `tony help`: made from the same table that the parser reads.
#include <cstdlib>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/key_list.h"
#include "runtime/cli/manual.h"
#include "runtime/cli/output.h"
#include "runtime/cli/text_table.h"
#include "runtime/cli/verb_help.h"

namespace tony {
namespace {

constexpr int64_t kYear10000 = 253'402'300'800;  // seconds

std::string Overview() {
  std::string text = "tony runs distributed machine-learning jobs\n\n";
  for (const Verb& command : Verbs())
    text += HelpRow(StrCat(command.verb.name, " ", command.verb.words), command.verb.text);
  const std::string notes =
      "\n" + std::string(kJobWords) +
      "\n"
      "\"tony help COMMAND\" lists its options; -name V, --name V and --name=V are the same\n"
      "\"tony help keys [PART]\" lists the keys of a job's properties, those with PART in their names\n"
      "exit codes: 0 done, the job succeeded; 1 the job ended otherwise; 64 usage; 65 spec or properties invalid;\n"
      "66 unknown job; 69 not reachable or not ended, try again; 70 a bug; 73 cannot write; 77 not permitted;\n"
      "129, 130, 143 interrupted\n";
  return text + Fitted(notes, {ColumnsOfStandardOutput()});
}

Result<int> HelpWithKeys(const CommandLine& line) {
  if (line.Has("markdown")) {
    Print(KeyRowsInMarkdown());
    return 0;
  }
  const std::string part = line.words().size() > 1 ? line.words()[1] : "";
  const std::string list = KeyList(part);
  if (list.empty()) return Error{ErrorCode::kUsage, StrCat("no key has \"", part, "\" in its name")};
  Print(list);
  return 0;
}

// So that two builds of the same sources make the same page.
Result<Instant> DateOfManual() {
  const char* const epoch = getenv("SOURCE_DATE_EPOCH");
  if (epoch == nullptr || *epoch == '\0') return RealClock().Now();
  const auto seconds = ParseInt(epoch);
  if (seconds && *seconds >= 0 && *seconds < kYear10000) return FromMillis(*seconds * 1000);
  return Error{ErrorCode::kUsage, StrCat("SOURCE_DATE_EPOCH \"", epoch, "\": expected seconds since 1970")};
}

}  // namespace

Result<int> RunHelp(const CommandLine& line) {
  if (line.Has("man")) {
    TRY_ASSIGN(const Instant date, DateOfManual());
    PrintAsIs(ManualPage(date));
    return 0;
  }
  if (line.words().empty()) {
    Print(Overview());
    return 0;
  }
  if (line.words().front() == "keys") return HelpWithKeys(line);
  if (line.words().size() > 1) return Error{ErrorCode::kUsage, StrCat("help: stray word \"", line.words()[1], "\"")};
  for (const Verb& command : Verbs()) {
    if (command.verb.name != line.words().front()) continue;
    Print(HelpOf("tony", command.verb));
    return 0;
  }
  return Error{ErrorCode::kUsage, StrCat("unknown command \"", line.words().front(), "\"; \"tony help\" lists them")};
}

}  // namespace tony
