#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/line_pattern.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kFailurePrefix = "tony.failure.";
constexpr std::string_view kPatternPrefix = "tony.failure.pattern.";
constexpr std::string_view kExit = "tony.failure.exit.";
constexpr std::string_view kSignalPrefix = "tony.failure.signal.";

constexpr std::string_view kArrow = "=>";
constexpr size_t kMostRules = 64;  // each costs a look at every line of a failed task's stderr tail
constexpr size_t kLongestMeaning = 200;

// "CLASS[, transient|permanent][, MEANING]". The error says what was expected instead of `text`.
Result<FailureRule> ParseMeaning(std::string_view text, std::string_view name) {
  const auto cut = [&text] {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string word(Trim(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
    return word;
  };
  const auto cls = UserClassFromString(ToLower(cut()));
  if (!cls) return Error{ErrorCode::kInvalid, StrCat("expected one of the classes ", kUserClasses)};
  FailureRule rule{.name = std::string(name), .cls = *cls};
  const std::string_view behind_class = text;
  const auto advice = AdviceFromString(ToLower(cut()));
  rule.advice = advice.value_or(Advice::kNone);
  rule.meaning = Trim(advice ? text : behind_class);
  if (!rule.meaning.empty() && rule.meaning.find(' ') == std::string::npos) {  // a slip of the pen, most likely
    return Error{ErrorCode::kInvalid,
                 StrCat("expected transient, permanent or a meaning of several words, not ", Quoted(rule.meaning))};
  }
  if (rule.meaning.empty()) rule.meaning = StrCat("as ", kFailurePrefix, name, " says");
  if (rule.meaning.size() > kLongestMeaning) {
    return Error{ErrorCode::kInvalid, StrCat("expected a meaning of at most ", kLongestMeaning, " bytes")};
  }
  if (std::ranges::any_of(rule.meaning, [](char c) { return c >= 0 && c < ' '; })) {
    return Error{ErrorCode::kInvalid, "expected a meaning of one line"};
  }
  return rule;
}

Result<FailureRule> ParsePattern(std::string_view text, std::string_view name) {
  const size_t arrow = text.rfind(kArrow);
  if (arrow == std::string_view::npos) {
    return Error{ErrorCode::kInvalid, "expected REGEX => CLASS[, transient|permanent][, MEANING]"};
  }
  const std::string_view pattern = Trim(text.substr(0, arrow));
  const auto compiled = LinePattern::Parse(pattern);
  if (!compiled.ok()) {
    return Error{ErrorCode::kInvalid,
                 StrCat("expected a POSIX extended regular expression before =>: ", compiled.error().message)};
  }
  TRY_ASSIGN(FailureRule rule, ParseMeaning(text.substr(arrow + kArrow.size()), name));
  rule.pattern = pattern;
  return rule;
}

// The rules of the keys that begin with `prefix`, in the order of their names.
template <class Parse>
Status AddRules(const PropertyValues& values, std::string_view prefix, Parse parse, std::vector<FailureRule>& rules) {
  const auto& all = values.properties().all();
  for (auto it = all.lower_bound(prefix); it != all.end() && it->first.starts_with(prefix); ++it) {
    const std::string_view key = it->first;
    auto rule = parse(it->second.value, key.substr(kFailurePrefix.size()), key.substr(prefix.size()));
    if (!rule.ok()) return values.Bad(key, rule.error().message);
    rules.push_back(*std::move(rule));
  }
  return Ok();
}

Result<FailureRule> ParseExit(std::string_view text, std::string_view name, std::string_view code) {
  const auto number = ParseInt(code);
  if (!number || *number < 1 || *number > 255) {
    return Error{ErrorCode::kInvalid, StrCat("expected an exit code from 1 to 255 in the key, not ", Quoted(code))};
  }
  TRY_ASSIGN(FailureRule rule, ParseMeaning(text, name));
  rule.exit_code = static_cast<int>(*number);
  return rule;
}

Result<FailureRule> ParseSignal(std::string_view text, std::string_view name, std::string_view signal) {
  const auto number = SignalFromString(signal);
  if (!number) {
    return Error{ErrorCode::kInvalid,
                 StrCat("expected a signal such as 9 or SIGKILL in the key, not ", Quoted(signal))};
  }
  TRY_ASSIGN(FailureRule rule, ParseMeaning(text, name));
  rule.signal = *number;
  return rule;
}

}  // namespace

Result<std::vector<FailureRule>> ParseFailureRules(const PropertyValues& values) {
  std::vector<FailureRule> rules;
  const auto pattern = [](std::string_view text, std::string_view name, std::string_view) {
    return ParsePattern(text, name);
  };
  TRY(AddRules(values, kPatternPrefix, pattern, rules));
  TRY(AddRules(values, kExit, ParseExit, rules));
  TRY(AddRules(values, kSignalPrefix, ParseSignal, rules));
  if (rules.size() <= kMostRules) return rules;
  return Error{ErrorCode::kInvalid, StrCat("tony.failure.*: ", rules.size(), " rules; expected at most ", kMostRules)};
}

}  // namespace tony
