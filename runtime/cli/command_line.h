// The command line of one verb, read strictly: an unknown option or a stray word is an error, never skipped. Accepts
// what TonY's submitters accepted: `-executes v`, `--executes v`, `--executes=v`, values that start with a dash.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct OptionSpec {
  enum class Kind { kFlag, kValue, kFirst, kRepeated };  // kFirst: TonY's rule, of several the first counts
  std::string_view name;                                 // without dashes
  Kind kind = Kind::kFlag;
  std::string_view value;        // what the value is called in the help text
  std::string_view text;         // one line for the help text
  std::string_view letter = {};  // its short name: "f"
};

struct VerbSpec {
  std::string_view name;
  std::string_view words;  // positional words in the help text: "JOB..."; "-- WORD..." has them behind -- alone
  size_t min_words = 0;
  size_t max_words = 0;
  std::string_view text;  // one line for the help text
  std::vector<OptionSpec> options;
};

class CommandLine {
 public:
  bool Has(std::string_view option) const { return values_.contains(option); }
  std::string Value(std::string_view option) const;  // empty if it was not given
  std::vector<std::string> Values(std::string_view option) const;
  const std::vector<std::string>& words() const { return words_; }
  // Options of which only the first value counts, and that were given again.
  const std::set<std::string>& given_again() const { return given_again_; }

  // kUsage names the word at fault and, for an option, the nearest known one. `--` ends the options.
  static Result<CommandLine> Parse(const VerbSpec& verb, const std::vector<std::string>& arguments);

 private:
  Status TakeOption(const VerbSpec& verb, const std::vector<std::string>& arguments, size_t& at);
  Status CheckWords(const VerbSpec& verb) const;

  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::set<std::string> given_again_;
  std::vector<std::string> words_;
};

std::string Dashed(std::string_view option);  // "--json", "-f"

// The candidate that `word` was most likely meant to be; empty if none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tony
