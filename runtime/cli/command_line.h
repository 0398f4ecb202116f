// The command line of one verb. Parsing is strict: an unknown option or a stray word is an error, never skipped. The
// parser accepts the forms that TonY's submitters accepted: `-executes v`, `--executes v`, `--executes=v`, and values
// that start with a dash.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct OptionSpec {
  // kFirst: the option may be given several times, and only its first value counts, as in TonY.
  enum class Kind { kFlag, kValue, kFirst, kRepeated };
  std::string_view name;  // without dashes
  Kind kind = Kind::kFlag;
  std::string_view value;        // the value's name in the help
  std::string_view text;         // one-line help text
  std::string_view letter = {};  // short name, e.g. "f"
};

struct VerbSpec {
  std::string_view name;
  // The names of the positional words for the help text, e.g. "JOB...". If the text is "-- WORD...", the words are
  // accepted only after `--`.
  std::string_view words;
  size_t min_words = 0;
  size_t max_words = 0;
  std::string_view text;  // one-line help text
  std::vector<OptionSpec> options;
};

class CommandLine {
 public:
  bool Has(std::string_view option) const { return values_.contains(option); }
  std::string Value(std::string_view option) const;  // empty if not given
  std::vector<std::string> Values(std::string_view option) const;
  const std::vector<std::string>& words() const { return words_; }
  // The options with Kind::kFirst that were given more than once, so that all their values except the first were
  // ignored.
  const std::set<std::string>& given_again() const { return given_again_; }

  // Parses the arguments after the verb's name. `--` ends the options. A kUsage error names the wrong word and, for an
  // unknown option, the nearest known option.
  static Result<CommandLine> Parse(const VerbSpec& verb, const std::vector<std::string>& arguments);

 private:
  Status TakeOption(const VerbSpec& verb, const std::vector<std::string>& arguments, size_t& at);
  Status CheckWords(const VerbSpec& verb) const;

  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::set<std::string> given_again_;
  std::vector<std::string> words_;
};

std::string Dashed(std::string_view option);  // e.g. "--json", "-f"

// Returns the candidate that is most similar to `word`; empty if none is similar.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tony
