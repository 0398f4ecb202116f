#include "runtime/cli/command_line.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// Returns the Levenshtein distance of two words.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

Error UsageError(const std::string& message) { return {ErrorCode::kUsage, message}; }

Error UnknownOption(const VerbSpec& verb, const std::string& argument, std::string_view name) {
  std::vector<std::string> known;
  for (const OptionSpec& option : verb.options) known.emplace_back(option.name);
  const std::string nearest = Nearest(name, known);
  const std::string hint = nearest.empty() ? StrCat("\"tony help ", verb.name, "\" lists the options")
                                           : StrCat("did you mean ", Dashed(nearest), "?");
  return UsageError(StrCat(verb.name, ": unknown option \"", argument, "\"; ", hint));
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  // A candidate is similar if its distance is below this: half of the word's length, and at least 2.
  size_t least = std::max<size_t>(2, word.size() / 2);
  for (const std::string& candidate : candidates) {
    const size_t distance = Distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string Dashed(std::string_view option) { return StrCat(option.size() == 1 ? "-" : "--", option); }

std::string CommandLine::Value(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? "" : found->second.back();
}

std::vector<std::string> CommandLine::Values(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

Result<CommandLine> CommandLine::Parse(const VerbSpec& verb, const std::vector<std::string>& arguments) {
  CommandLine line;
  bool options_ended = false;
  for (size_t at = 0; at < arguments.size(); ++at) {
    // An argument such as "-5" is a word and not an option, because no option's name begins with a digit.
    const std::string& argument = arguments[at];
    const bool is_option = argument.size() > 1 && argument[0] == '-' && (argument[1] < '0' || argument[1] > '9');
    if (!options_ended && argument == "--") {
      options_ended = true;
    } else if (!options_ended && is_option) {
      TRY(line.TakeOption(verb, arguments, at));
    } else if (!options_ended && verb.words.starts_with("-- ")) {
      return UsageError(StrCat(verb.name, ": unexpected word \"", argument, "\"; write the command after --"));
    } else {
      line.words_.push_back(argument);
    }
  }
  TRY(line.CheckWords(verb));
  return line;
}

Status CommandLine::TakeOption(const VerbSpec& verb, const std::vector<std::string>& arguments, size_t& at) {
  const std::string& argument = arguments[at];
  const size_t start = argument.find_first_not_of('-');
  if (start == std::string::npos || start > 2) return UnknownOption(verb, argument, argument);
  const size_t equals = argument.find('=');
  const std::string given = argument.substr(start, equals == std::string::npos ? equals : equals - start);
  const auto option = std::ranges::find_if(verb.options, [&](const OptionSpec& one) {
    return one.name == given || (!given.empty() && one.letter == given);
  });
  if (option == verb.options.end()) return UnknownOption(verb, argument, given);
  const std::string name(option->name);

  std::vector<std::string>& values = values_[name];
  if (!values.empty() && option->kind == OptionSpec::Kind::kValue)
    return UsageError(StrCat(verb.name, ": ", Dashed(name), " is given twice"));
  if (!values.empty() && option->kind == OptionSpec::Kind::kFirst) given_again_.insert(name);
  if (option->kind == OptionSpec::Kind::kFlag) {
    if (equals != std::string::npos) return UsageError(StrCat(verb.name, ": ", Dashed(name), " takes no value"));
    values = {""};
  } else if (equals != std::string::npos) {
    values.push_back(argument.substr(equals + 1));
  } else if (at + 1 < arguments.size()) {
    values.push_back(arguments[++at]);
  } else {
    return UsageError(StrCat(verb.name, ": ", Dashed(name), " needs a value: ", option->value));
  }
  if (given_again_.contains(name)) values.resize(1);
  return Ok();
}

Status CommandLine::CheckWords(const VerbSpec& verb) const {
  if (words_.size() > verb.max_words) {
    // The user has usually given a value of several words without quotes: `-executes python train.py`.
    return UsageError(StrCat(verb.name, ": unexpected word \"", words_[verb.max_words],
                             "\"; put a value of several words in quotes"));
  }
  if (words_.size() < verb.min_words) return UsageError(StrCat(verb.name, ": expected ", verb.words));
  return Ok();
}

}  // namespace tony
