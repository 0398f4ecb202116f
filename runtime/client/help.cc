// `tony help`: made from the same table that the parser reads.
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/output.h"
#include "runtime/client/verb_help.h"

namespace tony {
namespace {

std::string Overview() {
  std::string text = "tony runs distributed machine-learning jobs\n\n";
  for (const Verb& command : Verbs())
    text += HelpRow(StrCat(command.verb.name, " ", command.verb.words), command.verb.text);
  return text +
         "\n\"tony help COMMAND\" lists its options; -name V, --name V and --name=V are the same\n"
         "exit codes: 0 done, the job succeeded; 1 the job ended otherwise; 64 usage; 65 spec or properties invalid;\n"
         "66 unknown job; 69 not reachable or not ended, try again; 70 a bug; 73 cannot write; 77 not permitted;\n"
         "129, 130, 143 interrupted\n";
}

}  // namespace

Result<int> RunHelp(const CommandLine& line) {
  if (line.words().empty()) {
    Print(Overview());
    return 0;
  }
  for (const Verb& command : Verbs()) {
    if (command.verb.name != line.words().front()) continue;
    Print(HelpOf("tony", command.verb));
    return 0;
  }
  return Error{ErrorCode::kUsage, StrCat("unknown command \"", line.words().front(), "\"; \"tony help\" lists them")};
}

}  // namespace tony
