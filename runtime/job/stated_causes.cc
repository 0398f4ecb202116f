#include "runtime/job/stated_causes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "runtime/base/strings.h"
#include "runtime/job/cause_readers.h"
#include "runtime/job/line_pattern.h"

namespace tony {
namespace {

using Kind = StatedCause::Kind;
using Chain = ReadCause::Chain;

// A cause takes the place of the one that it belongs to, and keeps what was said before that one.
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

// All causes in the lines of one process; their places are still those in `lines`.
std::vector<StatedCause> ReadProcess(const LogLines& lines) {
  // Lines between a cause and the one that it belongs to.
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

// A long traceback is shown without the frames of libraries, and then by its end.
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

// An exception that is logged and followed by nothing is what the program ended with, if nothing else is.
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
    if (said[i] && !SaysNothing(lines[i].text)) return;
  }
  last->kind = Kind::kUncaught;
}

// torchrun's report of the process that failed first.
struct FirstFailed {
  // The line of the log at which the report of the process begins.
  size_t place = 0;
  std::string rank, local_rank, exit_code;
  // "Signal 9 (SIGKILL) received by PID 4242"; empty: the process has no traceback, or one follows.
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

// Processes in torchrun's report that are not the first that failed may be victims.
void WeakenOthers(const std::vector<std::string>& lines, std::vector<StatedCause>& causes) {
  for (StatedCause& cause : causes) {
    if (cause.kind == Kind::kUncaught && lines[cause.begin].starts_with("  traceback : ")) cause.kind = Kind::kChild;
  }
}

// The last exception of a process ended it. Where several processes wrote, the one that ended first is the cause.
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
      // A worker of Ray is no launched copy of the program: the driver may say more.
      if (process.starts_with('(') && cause.kind == Kind::kUncaught) cause.kind = Kind::kChild;
      cause.begin = lines[cause.begin].place;
      cause.end = lines[cause.end - 1].place + 1;
      stated.has_launcher = stated.has_launcher || cause.kind == Kind::kLauncher || !process.empty();
      stated.causes.push_back(std::move(cause));
    }
  }
  WeakenOthers(stated.lines, stated.causes);
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

bool IsOfCommand(std::string_view line) {
  constexpr std::string_view kCleanup[] = {"rm: ", "rmdir: ", "umount: ", "kill: ", "unlink: "};
  if (std::ranges::any_of(kCleanup, [&](std::string_view command) { return line.starts_with(command); })) return false;
  static const LinePattern& pattern = *new LinePattern(*LinePattern::Parse(
      "^[A-Za-z0-9_./+-]+: (line [0-9]+: |cannot |can't |.*: (No such file or directory|Permission denied|command not "
      "found|not found|Is a directory|Not a directory|No space left on device)$)"));
  return pattern.Matches(line) && !Holds(line, ": kill: ");
}

}  // namespace tony
