#include "runtime/cli/verb_help.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/cli/text_table.h"

namespace tony {
namespace {

constexpr size_t kIndent = 2;

}  // namespace

bool AsksForHelp(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(
      arguments, [](const std::string& word) { return word == "--help" || word == "-help" || word == "-h"; });
}

std::string HelpOf(std::string_view program, const VerbSpec& verb) {
  std::string text = StrCat(program, " ", verb.name, verb.words.empty() ? "" : " ", verb.words,
                            verb.options.empty() ? "" : " [OPTIONS]", "\n",
                            Wrapped(StrCat("  ", verb.text), ColumnsOfStandardOutput(), kIndent), "\n\n");
  for (const OptionSpec& option : verb.options) {
    const bool repeated = option.kind == OptionSpec::Kind::kRepeated;
    const std::string letter = option.letter.empty() ? "" : StrCat(Dashed(option.letter), ", ");
    text += HelpRow(
        StrCat(letter, Dashed(option.name), option.value.empty() ? "" : " ", option.value, repeated ? "..." : ""),
        option.text);
  }
  return text;
}

std::string HelpRow(std::string left, std::string_view right) {
  constexpr size_t kLeft = 32;
  left.resize(std::max<size_t>(left.size() + 2, kLeft), ' ');
  return StrCat(Wrapped(StrCat("  ", left, right), ColumnsOfStandardOutput(), kIndent + kLeft), "\n");
}

}  // namespace tony
