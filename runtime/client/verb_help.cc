#include "runtime/client/verb_help.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {

bool AsksForHelp(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(
      arguments, [](const std::string& word) { return word == "--help" || word == "-help" || word == "-h"; });
}

std::string HelpOf(std::string_view program, const VerbSpec& verb) {
  std::string text = StrCat(program, " ", verb.name, verb.words.empty() ? "" : " ", verb.words,
                            verb.options.empty() ? "" : " [OPTIONS]", "\n  ", verb.text, "\n\n");
  for (const OptionSpec& option : verb.options) {
    const bool repeated = option.kind == OptionSpec::Kind::kRepeated;
    text += HelpRow(StrCat(Dashed(option.name), option.value.empty() ? "" : " ", option.value, repeated ? "..." : ""),
                    option.text);
  }
  return text;
}

std::string HelpRow(std::string left, std::string_view right) {
  left.resize(std::max<size_t>(left.size() + 2, 32), ' ');
  return StrCat("  ", left, right, "\n");
}

}  // namespace tony
