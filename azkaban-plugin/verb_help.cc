#include "azkaban-plugin/verb_help.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony::azkaban {
namespace {

constexpr size_t kTextAt = 26;  // beyond the longest option

}  // namespace

bool AsksForHelp(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(
      arguments, [](const std::string& word) { return word == "--help" || word == "-help" || word == "-h"; });
}

std::string HelpOf(const VerbSpec& verb) {
  std::string text = StrCat("tony-azkaban ", verb.name, " ", verb.words, " [OPTIONS]\n  ", verb.text, "\n\n");
  for (const OptionSpec& option : verb.options) {
    const bool repeated = option.kind == OptionSpec::Kind::kRepeated;
    std::string row =
        StrCat("  ", Dashed(option.name), option.value.empty() ? "" : " ", option.value, repeated ? "..." : "");
    row.resize(std::max(row.size() + 2, kTextAt), ' ');
    text += StrCat(row, option.text, "\n");
  }
  return text;
}

}  // namespace tony::azkaban
