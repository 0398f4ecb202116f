#include "runtime/job/rule_match.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>

#include "runtime/job/line_pattern.h"

namespace tony {
namespace {

constexpr int kShellBase = 128;  // a shell says 128 + n of a command that signal n ended

// All conditions except the pattern.
bool FactsHold(const FailureRule& rule, const Evidence& evidence) {
  if (rule.exit_code && evidence.exit != ExitStatus{ExitStatus::Kind::kExited, *rule.exit_code}) return false;
  if (rule.signal && !DiedOf(evidence.exit, *rule.signal)) return false;
  if (rule.scheduler_status && evidence.scheduler_status != rule.scheduler_status) return false;
  if (rule.full_disk && (evidence.full_disk.empty() || !EndedByItself(evidence.exit))) return false;
  return !rule.oom || evidence.oom == *rule.oom;
}

// A rule may have no pattern, or one of a spec by another version that this one does not take.
std::optional<LinePattern> Compiled(const FailureRule& rule) {
  const auto parsed = LinePattern::Parse(rule.pattern);
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

// The built-in ones are compiled once.
std::optional<LinePattern> PatternOf(const FailureRule& rule) {
  const auto built_in = BuiltInRules();
  static const auto& all = *[&] {
    auto* patterns = new std::vector<std::optional<LinePattern>>;
    for (const FailureRule& one : built_in) patterns->push_back(Compiled(one));
    return patterns;
  }();
  const bool is_built_in =
      std::less_equal()(built_in.data(), &rule) && std::less()(&rule, built_in.data() + built_in.size());
  return is_built_in ? all[static_cast<size_t>(&rule - built_in.data())] : Compiled(rule);
}

// The place of the latest line that `rule` holds for, counted from 1; 0: there is none.
size_t PlaceOf(const FailureRule& rule, const Evidence& evidence, const std::vector<std::string>& lines) {
  if (!FactsHold(rule, evidence)) return 0;
  const auto pattern = PatternOf(rule);
  if (!pattern) return 0;
  const auto last =
      std::find_if(lines.rbegin(), lines.rend(), [&](const auto& line) { return pattern->Matches(line); });
  return static_cast<size_t>(lines.rend() - last);
}

}  // namespace

bool DiedOf(const std::optional<ExitStatus>& exit, int signal) {
  if (!exit) return false;
  return exit->value == (exit->kind == ExitStatus::Kind::kSignaled ? signal : kShellBase + signal);
}

bool EndedByItself(const std::optional<ExitStatus>& exit) {
  constexpr std::array kFromOthers = {SIGHUP, SIGINT, SIGTERM, SIGKILL};
  return std::ranges::none_of(kFromOthers, [&](int signal) { return DiedOf(exit, signal); });
}

RuleMatch FirstThatHolds(std::span<const FailureRule> rules, const Evidence& evidence,
                         const std::vector<std::string>& lines) {
  RuleMatch latest;
  for (const auto& rule : rules) {
    if (!rule.pattern.empty()) {
      const size_t place = PlaceOf(rule, evidence, lines);
      if (place > latest.place) latest = {&rule, place};
      continue;
    }
    if (latest.rule) return latest;
    if (FactsHold(rule, evidence)) return {&rule};
  }
  return latest;
}

bool SaysLittle(const FailureRule& rule, const Evidence& evidence) {
  const bool by_code = evidence.exit && evidence.exit->kind == ExitStatus::Kind::kExited && !rule.signal && !rule.oom;
  return by_code && (rule.cls == OutcomeClass::kUserError || rule.cls == OutcomeClass::kUserConfig);
}

bool IsGeneric(const FailureRule& rule) { return &rule == &BuiltInRules().back() || rule.name == "python-exception"; }

}  // namespace tony
