#include "runtime/job/stated_causes.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "runtime/base/strings.h"
#include "runtime/job/failure_rules.h"
#include "runtime/job/log_lines.h"

namespace tony {
namespace {

using Kind = StatedCause::Kind;
using Chain = ReadCause::Chain;

// Replaces an earlier cause (`before`) with `read`, the cause that is linked to it. The new cause begins where the
// earlier one began, and its remark keeps the earlier statement.
void Merge(ReadCause read, ReadCause& before) {
  StatedCause cause = std::move(read.cause);
  StatedCause& earlier = before.cause;
  const bool of_launcher = cause.kind == Kind::kLauncher || earlier.kind == Kind::kLauncher;
  cause.begin = earlier.begin;
  cause.kind = earlier.kind;
  if (read.chain == Chain::kIsInside) {
    if (of_launcher) cause.kind = Kind::kUncaught;
    cause.remark = earlier.remark;
  } else {
    if (of_launcher) cause.kind = Kind::kLauncher;
    if (read.chain == Chain::kCausedBy) {
      cause.more.push_back(earlier.line);
      cause.more.insert(cause.more.end(), earlier.more.begin(), earlier.more.end());
    }
    const bool same = Holds(earlier.line, cause.line);
    const std::string_view how = read.chain == Chain::kCausedBy ? "caused by " : "while handling ";
    cause.remark = same ? earlier.remark : StrCat(how, earlier.line);
  }
  earlier = std::move(cause);
  if (read.chain != Chain::kIsInside) before.is_caught = read.is_caught;
}

// Returns all causes in the lines of one process. The places of the causes are indices of `lines`; the caller converts
// them to places in the whole text.
std::vector<StatedCause> ReadProcess(const LogLines& lines) {
  // The longest distance, in lines, between two linked causes.
  constexpr size_t kNear = 12;
  const auto last =
      std::find_if(lines.rbegin(), lines.rend(), [](const LogLine& line) { return line.text == "Execution halted"; });
  const auto halted = static_cast<size_t>(lines.rend() - last);
  std::vector<ReadCause> found;
  for (size_t at = 0; at < lines.size();) {
    const size_t floor = found.empty() ? 0 : found.back().cause.end;
    auto read = ReadPython(lines, at, floor);
    if (!read) read = ReadJava(lines, at, floor);
    if (!read && halted > 0) read = ReadR(lines, at, halted - 1);
    if (!read) read = ReadPanic(lines, at);
    if (!read) {
      ++at;
      continue;
    }
    at = read->cause.end;
    const bool near = !found.empty() && read->cause.begin <= floor + kNear;
    if (read->chain != Chain::kNone && near) {
      Merge(*std::move(read), found.back());
    } else {
      found.push_back(*std::move(read));
    }
  }
  std::vector<StatedCause> causes;
  for (ReadCause& read : found) {
    if (read.is_caught && read.cause.kind == Kind::kUncaught) read.cause.kind = Kind::kHandled;
    causes.push_back(std::move(read.cause));
  }
  return causes;
}

bool IsOfLibrary(std::string_view line) {
  return Holds(line, "/site-packages/") || Holds(line, "/dist-packages/") || Holds(line, "/lib/python") ||
         Holds(line, "<frozen ");
}

// Returns the text of a cause for people. A long traceback is shown without the frames of libraries, and without its
// beginning if it is still too long.
std::string Shown(const LogLines& lines, const StatedCause& cause) {
  constexpr size_t kMostLines = 16, kMostBytes = 2048;
  std::vector<std::string_view> shown;
  bool in_library = false;
  for (size_t i = cause.begin; i < cause.end; ++i) {
    const std::string_view line = lines[i].text;
    const size_t depth = line.find_first_not_of(" |>");
    const bool is_frame = depth != std::string_view::npos && line.substr(depth).starts_with("File \"");
    if (is_frame || depth < 2) in_library = is_frame && IsOfLibrary(line);
    if (!in_library || cause.end - cause.begin <= kMostLines) shown.push_back(line);
  }
  std::string text;
  size_t begin = shown.size() - std::min(shown.size(), kMostLines);
  size_t bytes = 0;
  for (size_t i = shown.size(); i > begin; --i) {
    bytes += shown[i - 1].size() + 1;
    if (bytes > kMostBytes) begin = i;
  }
  for (; begin < shown.size(); ++begin) text += StrCat(shown[begin], "\n");
  return text;
}

// Marks the last exception as uncaught if the program logged it, no output follows it, and no other exception was
// uncaught. In this case, the logged exception ended the program.
void PromoteLast(const LogLines& lines, std::vector<StatedCause>& causes) {
  const auto last =
      std::find_if(causes.rbegin(), causes.rend(), [](const auto& cause) { return cause.kind != Kind::kIgnored; });
  if (last == causes.rend() || last->kind != Kind::kHandled) return;
  if (std::ranges::find(causes, Kind::kUncaught, &StatedCause::kind) != causes.end()) return;
  std::vector<bool> said(lines.size(), true);
  for (const StatedCause& cause : causes)
    std::fill(said.begin() + static_cast<ptrdiff_t>(cause.begin),
              said.begin() + static_cast<ptrdiff_t>(std::min(cause.end, lines.size())), false);
  for (size_t i = last->end; i < lines.size(); ++i) {
    if (said[i] && !ExplainsNothing(lines[i].text)) return;
  }
  last->kind = Kind::kUncaught;
}

// The first failed process in torchrun's report.
struct FirstFailed {
  // The line of the log at which the report on this process begins.
  size_t place = 0;
  std::string rank, local_rank, exit_code;
  // The signal that ended the process, e.g. "Signal 9 (SIGKILL) received by PID 4242". Empty: the report names no
  // signal.
  std::string died;
};

std::optional<FirstFailed> FindFirstFailed(const std::vector<std::string>& lines) {
  constexpr size_t kMostLines = 10;
  const auto root = std::find_if(lines.rbegin(), lines.rend(), [](const auto& line) {
    return line.starts_with("Root Cause (first observed failure)");
  });
  if (root == lines.rend()) return std::nullopt;
  FirstFailed first{.place = static_cast<size_t>(lines.rend() - root) - 1};
  const auto number_behind = [](std::string_view line, std::string_view name) {
    const size_t begin = line.find(name);
    if (begin == std::string_view::npos) return std::string();
    line.remove_prefix(begin + name.size());
    return std::string(line.substr(0, std::min(line.find_first_not_of("0123456789"), line.size())));
  };
  for (size_t i = first.place; i < std::min(first.place + kMostLines, lines.size()); ++i) {
    const std::string_view line = lines[i];
    if (line.starts_with("  rank ")) {
      first.rank = number_behind(line, ": ");
      first.local_rank = number_behind(line, "local_rank: ");
    }
    if (line.starts_with("  exitcode ")) first.exit_code = number_behind(line, ": ");
    if (line.starts_with("  traceback : Signal")) first.died = Trim(line.substr(line.find(": ") + 2));
  }
  return first;
}

void NameFirstFailed(const FirstFailed& first, std::vector<StatedCause>& causes) {
  for (StatedCause& cause : causes) {
    if (cause.kind != Kind::kUncaught && cause.kind != Kind::kChild) continue;
    const bool is_first = !first.rank.empty() && cause.process == StrCat("[rank", first.rank, "]:");
    const bool is_default = !first.local_rank.empty() && cause.process == StrCat("[default", first.local_rank, "]:");
    if (is_first || is_default || (cause.process.empty() && cause.begin > first.place)) cause.kind = Kind::kNamed;
  }
  if (!first.died.empty())
    causes.push_back({.kind = Kind::kNamed, .line = first.died, .begin = first.place, .end = first.place + 1});
}

// Sorts the causes by kind, then by place. Within a process the last exception goes first, because it ended the
// process. Among several processes, the process that ended first goes first.
void SortByLikelihood(std::vector<StatedCause>& causes) {
  std::map<std::pair<Kind, std::string>, size_t> ends;
  for (const StatedCause& cause : causes) {
    size_t& end = ends[{cause.kind, cause.process}];
    end = std::max(end, cause.end);
  }
  std::ranges::stable_sort(causes, std::less(), [&](const StatedCause& cause) {
    return std::tuple(cause.kind, ends[{cause.kind, cause.process}], cause.process, -static_cast<int64_t>(cause.end));
  });
}

constexpr size_t kLastLines = 20;
constexpr ExitStatus kUncaught{ExitStatus::Kind::kExited, 1};
constexpr ExitStatus kCannotFlush{ExitStatus::Kind::kExited, 120};

// Returns whether the exit status is the one of Python after an uncaught exception, or of a crash of native code that
// may follow an exception.
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
      // The exception is shown to people, but no rule is matched against it.
      cause = &stated_.causes.front();
    }
    first.on_stdout = on_stdout_;
    // The last lines of a long traceback are often frames of libraries, so the cause is shown before them.
    const bool is_early = cause && cause->begin + kLastLines < stated_.lines.size() && !on_stdout_;
    const bool is_long = cause && cause->end - cause->begin > kLastLines;
    if (is_early && (is_long || !Holds(evidence_.stderr_tail, cause->line))) first.before = cause->shown;
    return first;
  }

  // Returns the last lines without ignored exceptions, warnings, and log records that are not about a problem.
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
    return FirstMatchingRule(BuiltInRules(), evidence_, lines);
  }

  // Returns the most likely cause. If several processes wrote the text, a lost connection to another process is only
  // chosen if every process states one.
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
      const RuleMatch more = FirstMatchingRule(BuiltInRules(), evidence_, cause.more);
      if (IsSpecific(more)) match = more;
      if (IsSpecific(more) && first.remark.empty()) first.remark = cause.more[more.place - 1];
    }
    first.rule = ByCode(match);
    if (first.remark.empty()) first.remark = Competing(cause);
    return first;
  }

  // Returns a second cause: from another thread or process before the first one, or from the launcher or the program
  // after it.
  std::string Competing(const StatedCause& cause) const {
    constexpr size_t kFew = 2;
    if (!stated_.first_failed.empty() && Match({cause.line}).rule->source == Source::kPeer)
      return StrCat("the first failed process: ", stated_.first_failed);
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

  // Returns the places of plain lines after the cause that may explain why the program ended.
  std::vector<size_t> SaidAfter(const StatedCause& cause) const {
    std::vector<size_t> said;
    for (const size_t place : stated_.plain) {
      if (place >= cause.end && place >= Tail() && !ExplainsNothing(stated_.lines[place])) said.push_back(place);
    }
    return said;
  }

  FirstCause Plain(size_t place, const FailureRule* rule, const FirstCause& other) const {
    return {.line = std::string(Trim(stated_.lines[place])), .remark = other.line, .rule = rule};
  }

  // Returns a line that belongs to no cause, if it explains better why the program ended than the most likely cause
  // does.
  std::optional<FirstCause> BetterLine(const StatedCause& cause, const FirstCause& judged) const {
    if (cause.kind == Kind::kLauncher)
      return IsSpecific(Match({cause.line})) ? std::nullopt : SaidBefore(cause, judged);
    const auto after = SaidAfter(cause);
    if (after.empty()) return std::nullopt;
    const RuleMatch last = Match({stated_.lines[after.back()]});
    const bool survived = cause.kind == Kind::kHandled || cause.kind == Kind::kThread;
    // The exit alone decides. Native code that crashes leaves no message, and an exception that the program survived is
    // not the cause.
    if (survived && last.place == 0 && EndsByException(evidence_.exit) && evidence_.exit != kUncaught)
      return FirstCause{.rule = ByCode(last)};
    if (survived || (evidence_.exit == kUncaught && IsFailedCommand(stated_.lines[after.back()])))
      return Plain(after.back(), ByCode(last), judged);
    if (EndsByException(evidence_.exit)) return std::nullopt;
    std::vector<std::string> lines;
    for (const size_t place : after) lines.push_back(stated_.lines[place]);
    const RuleMatch match = FirstMatchingRule(BuiltInRules(), evidence_, lines);
    return match.place > 0 ? std::optional(Plain(after[match.place - 1], match.rule, judged)) : std::nullopt;
  }

  const FailureRule* ByCode(const RuleMatch& match) const {
    const bool by_code =
        match.place == 0 && HoldsByExitCodeAlone(*match.rule, evidence_) && match.rule->advice == Advice::kNone;
    return by_code ? &BuiltInRules().back() : match.rule;
  }

  // Searches the lines before a launcher's statement, because the failed process wrote its last line before the
  // launcher wrote about it.
  std::optional<FirstCause> SaidBefore(const StatedCause& launcher, const FirstCause& judged) const {
    std::vector<size_t> said;
    for (const size_t place : stated_.plain) {
      if (place < launcher.begin && place + kLastLines >= launcher.begin && !ExplainsNothing(stated_.lines[place]))
        said.push_back(place);
    }
    if (said.empty()) return std::nullopt;
    std::vector<std::string> lines;
    for (const size_t place : said) lines.push_back(stated_.lines[place]);
    const RuleMatch match = FirstMatchingRule(BuiltInRules(), evidence_, lines);
    return Plain(match.place > 0 ? said[match.place - 1] : said.back(), ByCode(match), judged);
  }

  const Evidence& evidence_;
  const StatedCauses stated_;
  bool on_stdout_;
};

}  // namespace

StatedCauses ReadStatedCauses(std::string_view text) {
  StatedCauses stated{.lines = Split(text, '\n')};
  if (!stated.lines.empty() && stated.lines.back().empty()) stated.lines.pop_back();
  std::vector<bool> taken = InReports(stated.lines);
  stated.has_launcher = std::ranges::find(taken, true) != taken.end();
  std::vector<bool> in_cause(taken.size());
  for (const auto& [process, lines] : ByProcess(stated.lines)) {
    auto causes = ReadProcess(lines);
    PromoteLast(lines, causes);
    for (StatedCause& cause : causes) {
      cause.end = std::min(cause.end, lines.size());
      for (size_t i = cause.begin; i < cause.end; ++i) in_cause[lines[i].place] = true;
      cause.shown = Shown(lines, cause);
      cause.process = process;
      // A prefix in round brackets names a worker of Ray. The cause of a worker counts like the cause of a child
      // process, because the main program, Ray's driver, may state more.
      if (process.starts_with('(') && cause.kind == Kind::kUncaught) cause.kind = Kind::kChild;
      cause.begin = lines[cause.begin].place;
      cause.end = lines[cause.end - 1].place + 1;
      stated.has_launcher = stated.has_launcher || cause.kind == Kind::kLauncher || !process.empty();
      stated.causes.push_back(std::move(cause));
    }
  }
  // In torchrun's report, every process except the first failed one may be a victim of the first failure. The cause of
  // each of these processes therefore counts like the cause of a child process.
  for (StatedCause& cause : stated.causes)
    if (cause.kind == Kind::kUncaught && stated.lines[cause.begin].starts_with("  traceback : "))
      cause.kind = Kind::kChild;
  if (const auto first = FindFirstFailed(stated.lines)) {
    NameFirstFailed(*first, stated.causes);
    if (!first->exit_code.empty()) stated.first_failed = StrCat("rank ", first->rank, ", exit code ", first->exit_code);
  }
  SortByLikelihood(stated.causes);
  for (size_t i = 0; i < stated.lines.size(); ++i) {
    if (!taken[i] && !in_cause[i]) stated.plain.push_back(i);
  }
  return stated;
}

bool IsFailedCommand(std::string_view line) {
  constexpr std::string_view kCleanup[] = {"rm: ", "rmdir: ", "umount: ", "kill: ", "unlink: "};
  if (std::ranges::any_of(kCleanup, [&](std::string_view command) { return line.starts_with(command); })) return false;
  static const LinePattern& pattern = *new LinePattern(*LinePattern::Parse(
      "^[A-Za-z0-9_./+-]+: (line [0-9]+: |cannot |can't |.*: (No such file or directory|Permission denied|command not "
      "found|not found|Is a directory|Not a directory|No space left on device)$)"));
  return pattern.Matches(line) && !Holds(line, ": kill: ");
}

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
