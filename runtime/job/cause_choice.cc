#include "runtime/job/cause_choice.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/job/failure_lines.h"
#include "runtime/job/log_lines.h"
#include "runtime/job/rule_match.h"
#include "runtime/job/stated_causes.h"

namespace tony {
namespace {

using Kind = StatedCause::Kind;

constexpr size_t kLastLines = 20;
constexpr ExitStatus kUncaught{ExitStatus::Kind::kExited, 1};
constexpr ExitStatus kCannotFlush{ExitStatus::Kind::kExited, 120};

// Python's exit code after an exception that nobody caught, and what native code may make of it afterwards.
bool EndsByException(const std::optional<ExitStatus>& exit) {
  constexpr std::array kCrashes = {SIGABRT, SIGSEGV, SIGBUS};
  return exit == kUncaught || std::ranges::any_of(kCrashes, [&](int signal) { return DiedOf(exit, signal); });
}

bool IsSpecific(const RuleMatch& match) { return match.place > 0 && !IsGeneric(*match.rule); }

class Choice {
 public:
  Choice(const Evidence& evidence, std::string_view text, bool on_stdout)
      : evidence_(evidence), stated_(ReadStatedCauses(text)), on_stdout_(on_stdout) {}

  FirstCause Choose() const {
    const StatedCause* cause = MostLikely();
    FirstCause first = cause ? Judged(*cause) : FirstCause{};
    if (cause) {
      if (const auto other = BetterLine(*cause, first)) first = *other;
    } else if (!stated_.causes.empty() && stated_.causes.front().kind < Kind::kLauncher) {
      // A person is shown this exception, and it decides nothing.
      cause = &stated_.causes.front();
    }
    first.on_stdout = on_stdout_;
    // The last lines of a long traceback are often frames of libraries.
    const bool is_early = cause && cause->begin + kLastLines < stated_.lines.size() && !on_stdout_;
    const bool is_long = cause && cause->end - cause->begin > kLastLines;
    if (is_early && (is_long || !Holds(evidence_.stderr_tail, cause->line))) first.before = cause->shown;
    return first;
  }

  // The last lines, without what was ignored, warnings, and records of loggers about something else.
  std::string Rest() const {
    std::vector<bool> ignored(stated_.lines.size());
    for (const StatedCause& cause : stated_.causes) {
      if (cause.kind == Kind::kIgnored)
        std::fill(ignored.begin() + At(cause.begin), ignored.begin() + At(cause.end), true);
    }
    std::string all, rest;
    for (size_t i = Tail(); i < stated_.lines.size(); ++i) {
      const std::string& line = stated_.lines[i];
      if (ignored[i]) continue;
      all += StrCat(line, "\n");
      if (!IsLoggedOther(line) && !IsWarning(line)) rest += StrCat(line, "\n");
    }
    return IsEmptyLine(rest) ? all : rest;
  }

 private:
  static std::ptrdiff_t At(size_t place) { return static_cast<std::ptrdiff_t>(place); }
  size_t Tail() const { return stated_.lines.size() - std::min(stated_.lines.size(), kLastLines); }

  bool CountsFor(const StatedCause& cause) const {
    if (cause.kind == Kind::kIgnored) return evidence_.exit == kCannotFlush;
    return EndsByException(evidence_.exit) || cause.end > Tail();
  }

  RuleMatch Match(std::vector<std::string> lines) const {
    if (evidence_.report) {
      for (auto& line : Split(evidence_.report->message, '\n')) lines.push_back(std::move(line));
    }
    return FirstThatHolds(BuiltInRules(), evidence_, lines);
  }

  // A process that lost its connection to another is not the first, where several have spoken.
  const StatedCause* MostLikely() const {
    constexpr int kMostCompared = 64;
    int compared = 0;
    const StatedCause* first = nullptr;
    for (const StatedCause& cause : stated_.causes) {
      if (!CountsFor(cause)) continue;
      if (!first) first = &cause;
      if (++compared > kMostCompared || !stated_.has_launcher || cause.kind > Kind::kChild) break;
      if (Match({cause.line}).rule->source != Source::kPeer) return &cause;
    }
    return first;
  }

  FirstCause Judged(const StatedCause& cause) const {
    FirstCause first{.line = cause.line, .remark = cause.remark};
    RuleMatch match = Match({cause.line});
    if (!IsSpecific(match)) {
      const RuleMatch more = FirstThatHolds(BuiltInRules(), evidence_, cause.more);
      if (IsSpecific(more)) match = more;
      if (IsSpecific(more) && first.remark.empty()) first.remark = cause.more[more.place - 1];
    }
    first.rule = ByCode(match);
    if (first.remark.empty()) first.remark = Competing(cause);
    return first;
  }

  // A second cause: of another thread or process before, or of the launcher or the program itself behind it.
  std::string Competing(const StatedCause& cause) const {
    constexpr size_t kFew = 2;
    if (!stated_.first_failed.empty() && Match({cause.line}).rule->source == Source::kPeer)
      return StrCat("the first that failed: ", stated_.first_failed);
    for (const StatedCause& other : stated_.causes) {
      const bool before = other.end <= cause.begin && (other.kind == Kind::kThread || other.kind == Kind::kChild);
      if (before && cause.kind == Kind::kUncaught && !other.remark.empty())
        return StrCat("before it, ", other.remark, ": ", other.line);
    }
    const auto launcher = std::ranges::find(stated_.causes, Kind::kLauncher, &StatedCause::kind);
    const bool is_launched = launcher != stated_.causes.end() && launcher->begin >= cause.end;
    if (is_launched && !launcher->line.ends_with(':')) return StrCat("its launcher: ", launcher->line);
    const auto after = SaidAfter(cause);
    const bool is_said = !after.empty() && (after.size() <= kFew || !EndsByException(evidence_.exit));
    return is_said && !stated_.has_launcher ? StrCat("its last line: ", Trim(stated_.lines[after.back()])) : "";
  }

  // Places of plain lines behind the cause that say something.
  std::vector<size_t> SaidAfter(const StatedCause& cause) const {
    std::vector<size_t> said;
    for (const size_t place : stated_.plain) {
      if (place >= cause.end && place >= Tail() && !SaysNothing(stated_.lines[place])) said.push_back(place);
    }
    return said;
  }

  FirstCause Plain(size_t place, const FailureRule* rule, const FirstCause& other) const {
    return {.line = std::string(Trim(stated_.lines[place])), .remark = other.line, .rule = rule};
  }

  // A line that belongs to no cause, where it says more of the end than the most likely cause.
  std::optional<FirstCause> BetterLine(const StatedCause& cause, const FirstCause& judged) const {
    if (cause.kind == Kind::kLauncher)
      return IsSpecific(Match({cause.line})) ? std::nullopt : SaidBefore(cause, judged);
    const auto after = SaidAfter(cause);
    if (after.empty()) return std::nullopt;
    const RuleMatch last = Match({stated_.lines[after.back()]});
    const bool survived = cause.kind == Kind::kHandled || cause.kind == Kind::kThread;
    // Native code that crashed says nothing, and what it has survived is not the cause.
    if (survived && last.place == 0 && EndsByException(evidence_.exit) && evidence_.exit != kUncaught)
      return FirstCause{.rule = ByCode(last)};
    if (survived || (evidence_.exit == kUncaught && IsOfCommand(stated_.lines[after.back()])))
      return Plain(after.back(), ByCode(last), judged);
    if (EndsByException(evidence_.exit)) return std::nullopt;
    std::vector<std::string> lines;
    for (const size_t place : after) lines.push_back(stated_.lines[place]);
    const RuleMatch match = FirstThatHolds(BuiltInRules(), evidence_, lines);
    return match.place > 0 ? std::optional(Plain(after[match.place - 1], match.rule, judged)) : std::nullopt;
  }

  const FailureRule* ByCode(const RuleMatch& match) const {
    const bool by_code = match.place == 0 && SaysLittle(*match.rule, evidence_) && match.rule->advice == Advice::kNone;
    return by_code ? &BuiltInRules().back() : match.rule;
  }

  // A process that a launcher started wrote its own last line before the launcher's.
  std::optional<FirstCause> SaidBefore(const StatedCause& launcher, const FirstCause& judged) const {
    std::vector<size_t> said;
    for (const size_t place : stated_.plain) {
      if (place < launcher.begin && place + kLastLines >= launcher.begin && !SaysNothing(stated_.lines[place]))
        said.push_back(place);
    }
    if (said.empty()) return std::nullopt;
    std::vector<std::string> lines;
    for (const size_t place : said) lines.push_back(stated_.lines[place]);
    const RuleMatch match = FirstThatHolds(BuiltInRules(), evidence_, lines);
    return Plain(match.place > 0 ? said[match.place - 1] : said.back(), ByCode(match), judged);
  }

  const Evidence& evidence_;
  const StatedCauses stated_;
  bool on_stdout_;
};

}  // namespace

std::string FirstCause::Quoted() const {
  constexpr size_t kLongestRemark = 160;
  std::string text = OneClause(line);
  std::string more = OneClause(remark);
  if (more.size() > kLongestRemark) more = more.substr(0, ValidUtf8Prefix(more.substr(0, kLongestRemark))) + "...";
  if (!more.empty() && more != text) text += StrCat(" (", more, ")");
  return StrCat(text, on_stdout ? " (on stdout)" : "");
}

FirstCause FindFirstCause(const Evidence& evidence) {
  const auto text = [](const std::string& whole, const std::string& tail) { return whole.empty() ? tail : whole; };
  const Choice of_stderr(evidence, text(evidence.stderr_text, evidence.stderr_tail), /*on_stdout=*/false);
  FirstCause first = of_stderr.Choose();
  if (!first.rule && IsEmptyLine(evidence.stderr_tail))
    first = Choice(evidence, text(evidence.stdout_text, evidence.stdout_tail), /*on_stdout=*/true).Choose();
  first.rest = evidence;
  first.rest.stderr_tail = of_stderr.Rest();
  return first;
}

}  // namespace tony
