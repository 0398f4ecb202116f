// `tony help`: made from the same table that the parser reads.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/output.h"

namespace tony {
namespace {

std::string Row(std::string left, std::string_view right) {
  left.resize(std::max<size_t>(left.size() + 2, 32), ' ');
  return StrCat("  ", left, right, "\n");
}

std::string Overview() {
  std::string text = "tony runs distributed machine-learning jobs\n\n";
  for (const Command& command : Commands())
    text += Row(StrCat(command.verb.name, " ", command.verb.words), command.verb.text);
  return text +
         "\n\"tony help COMMAND\" lists its options; -name V, --name V and --name=V are the same\n"
         "exit codes: 0 done, the job succeeded; 1 the job ended otherwise; 64 usage; 65 spec or properties invalid;\n"
         "66 unknown job; 69 not reachable or not ended, try again; 70 a bug; 73 cannot write; 77 not permitted;\n"
         "129, 130, 143 interrupted\n";
}

std::string Describe(const VerbSpec& verb) {
  std::string text = StrCat("tony ", verb.name, verb.words.empty() ? "" : " ", verb.words,
                            verb.options.empty() ? "" : " [OPTIONS]", "\n  ", verb.text, "\n\n");
  for (const OptionSpec& option : verb.options) {
    const bool repeated = option.kind == OptionSpec::Kind::kRepeated;
    text += Row(StrCat(Dashed(option.name), option.value.empty() ? "" : " ", option.value, repeated ? "..." : ""),
                option.text);
  }
  return text;
}

}  // namespace

Result<int> RunHelp(const CommandLine& line) {
  if (line.words().empty()) {
    Print(Overview());
    return 0;
  }
  for (const Command& command : Commands()) {
    if (command.verb.name != line.words().front()) continue;
    Print(Describe(command.verb));
    return 0;
  }
  return Error{ErrorCode::kUsage, StrCat("unknown command \"", line.words().front(), "\"; \"tony help\" lists them")};
}

}  // namespace tony
