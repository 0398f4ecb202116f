#include "runtime/job/log_lines.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "runtime/base/strings.h"

namespace tony {
namespace {

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

size_t SkipDigits(std::string_view text, size_t at) {
  while (at < text.size() && IsDecimal(text[at])) ++at;
  return at;
}

// Returns the length of torchrun's prefix, e.g. "[rank1]:" or "[default0]:". The text in the brackets is letters and
// then digits.
size_t TagOfTorch(std::string_view line) {
  size_t at = 1;
  while (at < line.size() && (std::isalpha(static_cast<unsigned char>(line[at])) != 0 || line[at] == '_')) ++at;
  const size_t end = SkipDigits(line, at);
  return at > 1 && end > at && line.substr(end, 2) == "]:" ? end + 2 : 0;
}

// Returns the length of the prefix of Open MPI and Horovod, e.g. "[1,0]<stderr>:", and in newer releases
// "[prterun-node1-4242@1,0]<stderr>:".
size_t TagOfMpi(std::string_view line) {
  const size_t end = line.find("]<std");
  if (end == std::string_view::npos || end > 80 || !IsDecimal(line[end - 1])) return 0;
  const size_t colon = line.find(">:", end);
  return colon != std::string_view::npos && colon - end < 10 ? colon + 2 : 0;
}

// Returns the length of Ray's prefix, e.g. "(train pid=4242, ip=10.0.0.7) ".
size_t TagOfRay(std::string_view line) {
  const size_t end = line.find(") ");
  if (end == std::string_view::npos || end > 80) return 0;
  return Holds(line.substr(0, end), " pid=") ? end + 2 : 0;
}

size_t TagSize(std::string_view line) {
  if (line.starts_with('(')) return TagOfRay(line);
  if (!line.starts_with('[')) return 0;
  const size_t size = TagOfTorch(line);
  return size > 0 ? size : TagOfMpi(line);
}

// Removes the prefix from the line. Open MPI writes the prefix before each piece of output, so it may also stand inside
// the line.
std::string WithoutTag(std::string_view line, std::string_view tag) {
  std::string text;
  size_t at = tag.size();
  for (size_t next = line.find(tag, at); tag.ends_with(">:") && next != std::string_view::npos;
       next = line.find(tag, at)) {
    text += line.substr(at, next - at);
    at = next + tag.size();
  }
  text += line.substr(at);
  const bool spaced = tag.ends_with("]:") || tag.find('@') != std::string_view::npos;
  return spaced && text.starts_with(' ') ? text.substr(1) : text;
}

bool HoldsAny(std::string_view line, std::span<const std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return Holds(line, part); });
}

bool BeginsWithAny(std::string_view line, std::span<const std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return line.starts_with(part); });
}

// Returns whether the line is a record of glog, absl or torch, e.g. "E1128 21:49:00.123 ...".
bool IsOfGlog(std::string_view line, std::string_view levels) {
  if (line.starts_with('[')) line.remove_prefix(1);
  return line.size() > 6 && levels.find(line[0]) != std::string_view::npos && SkipDigits(line, 1) >= 5 &&
         (line[5] == ' ' || IsDecimal(line[5]));
}

// Returns whether the line has the log level, e.g. "ERROR", as a separate word near its beginning.
bool HasLevel(std::string_view line, std::string_view level) {
  constexpr size_t kNear = 100;
  const auto is_letter = [&](size_t at) {
    return at < line.size() && (std::isalpha(static_cast<unsigned char>(line[at])) != 0 || line[at] == '_');
  };
  for (size_t at = line.find(level); at < kNear; at = line.find(level, at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + level.size())) return true;
  }
  return false;
}

bool IsRule(std::string_view line) {
  constexpr size_t kShortest = 40;
  return line.size() >= kShortest && (line.find_first_not_of('-') == std::string_view::npos ||
                                      line.find_first_not_of('=') == std::string_view::npos);
}

}  // namespace

bool IsEmptyLine(std::string_view line) { return Trim(line).empty(); }
bool Holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::map<std::string, std::vector<LogLine>> ByProcess(const std::vector<std::string>& lines) {
  std::map<std::string, std::vector<LogLine>> processes;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string tag = lines[i].substr(0, TagSize(lines[i]));
    processes[tag].push_back({tag.empty() ? lines[i] : WithoutTag(lines[i], tag), i});
  }
  return processes;
}

bool IsLoggedError(std::string_view line) {
  constexpr std::string_view kLevels[] = {"ERROR", "CRITICAL", "WARNING", "WARN", "SEVERE:", "FATAL", "WARNING:"};
  constexpr std::string_view kOthers[] = {"level=error", "[error", "[warning", "[exception", "\"error\"", "| ERROR"};
  return IsOfGlog(line, "EFW") || HoldsAny(line, kOthers) ||
         std::ranges::any_of(kLevels, [&](std::string_view level) { return HasLevel(line, level); });
}

bool IsLoggedOther(std::string_view line) {
  constexpr std::string_view kLevels[] = {"INFO", "DEBUG", "TRACE", "NOTICE"};
  return IsOfGlog(line, "IW") ||
         std::ranges::any_of(kLevels, [&](std::string_view level) { return HasLevel(line, level); });
}

bool IsWarning(std::string_view line) { return Holds(line, "Warning: ") || Holds(line, "warnings.warn("); }

bool IsMpirunMessage(std::string_view line) {
  constexpr std::string_view kBegins[] = {"mpirun ", "prterun ", "mpiexec ", "MPI_ABORT "};
  return BeginsWithAny(line, kBegins);
}

bool ExplainsNothing(std::string_view line) {
  constexpr std::string_view kBegins[] = {"Execution halted",
                                          "+ ",
                                          "exit status ",
                                          "Calls: ",
                                          "In addition: Warning",
                                          "make: *** ",
                                          "make[",
                                          "srun: ",
                                          "slurmstepd: ",
                                          "npm ERR",
                                          "note: run with",
                                          "note: Some det",
                                          "Node.js v",
                                          "wandb:",
                                          "Command exited",
                                          "mpirun ",
                                          "prterun ",
                                          "mpiexec",
                                          "During handling o",
                                          "The above exce",
                                          "ERROR conda",
                                          "CUDA kernel errors",
                                          "For debugging consider passing"};
  constexpr std::string_view kParts[] = {
      "warnings.warn(",     "resource_tracker",         "leaked semaphore", "Killing subprocess", "closing signal SIG",
      "failed (exitcode: ", "exits with return code",   "Please note that", "TORCH_USE_CUDA_DSA", "[W ",
      "backtrace:",         "terminated with exit code"};
  const std::string_view text = Trim(line);
  if (text.find_first_not_of("-=*_+|^~{}()[];, ") == std::string_view::npos) return true;
  return BeginsWithAny(text, kBegins) || HoldsAny(text, kParts) || IsWarning(text) || IsLoggedOther(text);
}

std::vector<bool> InReports(const std::vector<std::string>& lines) {
  constexpr size_t kLongestPart = 40;
  constexpr std::string_view kOfReport[] = {"mpirun", "prterun", "mpiexec",   "MPI_ABORT", "Primary job",
                                            "PMIX",   " FAILED", "Failures:", "Root Cause"};
  std::vector<bool> in(lines.size());
  for (size_t begin = 0; begin < lines.size(); ++begin) {
    if (!IsRule(lines[begin])) continue;
    size_t end = begin + 1;
    bool is_report = false;
    while (end < lines.size() && end - begin < kLongestPart && !IsRule(lines[end]))
      is_report = HoldsAny(lines[end++], kOfReport) || is_report;
    if (!is_report || end == lines.size() || !IsRule(lines[end])) continue;
    std::fill(in.begin() + static_cast<ptrdiff_t>(begin), in.begin() + static_cast<ptrdiff_t>(end) + 1, true);
    begin = end - 1;
  }
  return in;
}

size_t MatchingPrefixSize(std::string_view line, std::string_view prefix) {
  size_t at = 0;
  for (size_t i = 0; i < prefix.size();) {
    if (at == line.size()) return std::string_view::npos;
    if (IsDecimal(prefix[i]) && IsDecimal(line[at])) {
      i = SkipDigits(prefix, i);
      at = SkipDigits(line, at);
    } else if (prefix[i++] != line[at++]) {
      return std::string_view::npos;
    }
  }
  return at;
}

}  // namespace tony
