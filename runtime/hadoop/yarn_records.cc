#include "runtime/hadoop/yarn_records.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

constexpr int kContainerBits = 40;  // ContainerId.CONTAINER_ID_BITMASK
constexpr int64_t kContainerMask = (int64_t{1} << kContainerBits) - 1;
constexpr int64_t kMostEpoch = (int64_t{1} << (63 - kContainerBits)) - 1;

std::string Padded(int64_t number, size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

std::string Tail(const ApplicationId& id) { return StrCat(id.cluster_timestamp, "_", Padded(id.number, 4)); }

// Returns `count` numbers from index `first` of `parts` on, such as {1700000000000, 1}. nullopt if `parts` has another
// form.
std::optional<std::vector<int64_t>> Numbers(const std::vector<std::string>& parts, size_t first, size_t count) {
  if (parts.size() != first + count) return std::nullopt;
  std::vector<int64_t> numbers;
  for (size_t i = first; i < parts.size(); ++i) {
    const auto number = ParseInt(parts[i]);
    const bool is_small = i == first || (number && *number <= INT32_MAX) || i + 1 == parts.size();
    if (!number || *number < 0 || !is_small) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::string ToString(const ApplicationId& id) { return "application_" + Tail(id); }
std::string ToString(const AttemptId& id) {
  return StrCat("appattempt_", Tail(id.application), "_", Padded(id.number, 6));
}
std::string ToString(const ContainerId& id) {
  const int64_t epoch = id.number >> kContainerBits;
  return StrCat("container_", epoch > 0 ? StrCat("e", Padded(epoch, 2), "_") : "", Tail(id.attempt.application), "_",
                Padded(id.attempt.number, 2), "_", Padded(id.number & kContainerMask, 6));
}
std::string ToString(const NodeId& id) { return StrCat(id.host, ":", id.port); }

std::optional<ApplicationId> ParseApplicationId(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '_');
  const auto numbers = Numbers(parts, 1, 2);
  if (!numbers || parts[0] != "application" || (*numbers)[1] > INT32_MAX) return std::nullopt;
  return ApplicationId{(*numbers)[0], static_cast<int32_t>((*numbers)[1])};
}

std::optional<ContainerId> ParseContainerId(std::string_view text) {
  std::vector<std::string> parts = Split(text, '_');
  int64_t epoch = 0;
  if (parts.size() > 1 && parts[1].starts_with('e')) {
    const auto number = ParseInt(parts[1].substr(1));
    if (!number || *number < 0 || *number > kMostEpoch) return std::nullopt;
    epoch = *number;
    parts.erase(parts.begin() + 1);
  }
  const auto numbers = Numbers(parts, 1, 4);
  if (!numbers || parts[0] != "container" || (*numbers)[3] > kContainerMask) return std::nullopt;
  const AttemptId attempt{{(*numbers)[0], static_cast<int32_t>((*numbers)[1])}, static_cast<int32_t>((*numbers)[2])};
  return ContainerId{attempt, epoch << kContainerBits | (*numbers)[3]};
}

namespace {

// Beginnings of lines that Hadoop 3.3 to 3.5 writes for every reason, so these lines do not explain an end. The texts
// are from ContainerLaunch, ContainerExecutor, RMAppImpl, RMAppAttemptImpl and the native container-executor.
constexpr std::string_view kFixed[] = {"Exception from container-launch",
                                       "Container id: ",
                                       "Error file: ",
                                       "Container killed on request. Exit code is ",
                                       "For more detailed output, check ",
                                       "Then click on links to logs of each attempt",
                                       "Failing the application",
                                       "Failing this attempt",
                                       "Launch container failed",
                                       "Nonzero exit code=",
                                       "main : ",
                                       "Getting exit code file",
                                       "Creating script paths",
                                       "Writing pid file",
                                       "Writing to tmp file ",
                                       "Writing to cgroup task files",
                                       "Creating local dirs",
                                       "Launching container",
                                       "Launching docker container"};
// Texts that Hadoop writes before the reason in the same line.
constexpr std::string_view kHeads[] = {
    "Diagnostics: ", "Exception message: ", "Shell error output: ", "Shell output: ", "Uncaught exception: "};
// Texts that Hadoop appends to another text without a line end. LinesOf() replaces each of them with a line end.
constexpr std::string_view kBreaks[] = {"Failing this attempt.Diagnostics: ", ". Failing the application."};

bool IsTrace(std::string_view line) {
  return line.starts_with("at ") || line.starts_with("Caused by: ") || line.starts_with("Suppressed: ") ||
         (line.starts_with("... ") && line.ends_with(" more"));
}

bool IsProcess(std::string_view line) {
  return line.starts_with("|-") || line.starts_with("Dump of the process-tree for ");
}

bool IsFixed(std::string_view line) {
  const bool is_tail = line.starts_with("Last ") && line.find(" bytes of ") != std::string_view::npos;
  const auto begins = [line](std::string_view fixed) { return line.starts_with(fixed); };
  return is_tail || line.empty() || line == "." || line == "N/A" || std::ranges::any_of(kFixed, begins);
}

// Removes the texts that Hadoop writes before the reason.
std::string_view WithoutHeads(std::string_view line) {
  const auto skip = [&line](std::string_view begin, std::string_view mark) {
    const size_t at = line.starts_with(begin) ? line.find(mark) : std::string_view::npos;
    if (at != std::string_view::npos) line.remove_prefix(at + mark.size());
  };
  skip("Application application_", " due to ");
  skip("Error launching appattempt_", "Got exception: ");
  for (const std::string_view head : kHeads) skip(head, head);
  return Trim(line);
}

// Splits the text at line ends, at times ("[2026-11-21 07:44:31.200]") and at the texts of kBreaks.
std::vector<std::string> LinesOf(std::string_view text) {
  std::string broken(text);
  for (const std::string_view mark : kBreaks)
    for (size_t at = broken.find(mark); at != std::string::npos; at = broken.find(mark, at + 1))
      broken.replace(at, mark.size(), "\n");
  for (size_t at = broken.find('['); at != std::string::npos; at = broken.find('[', at + 1)) {
    const size_t end = broken.find(']', at);
    const std::string_view inside =
        std::string_view(broken).substr(at + 1, end == std::string::npos ? 0 : end - at - 1);
    const bool is_time = inside.size() >= 19 && inside.size() <= 24 &&
                         inside.find_first_not_of("0123456789-:. ,") == std::string_view::npos;
    if (is_time) broken.replace(at, end - at + 1, "\n");
  }
  return Split(broken, '\n');
}

// Removes the packages of the exceptions' classes: "java.io.IOException: x" becomes "IOException: x".
std::string WithoutPackages(std::string_view line) {
  std::string text;
  for (size_t at = 0; at < line.size();) {
    size_t end = at, name = at;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '.' ||
                                 line[end] == '$' || line[end] == '_')) {
      if (line[end] == '.' || line[end] == '$') name = end + 1;
      ++end;
    }
    const std::string_view word = line.substr(at, end - at), last = line.substr(name, end - name);
    const bool is_class = word.starts_with("java.") || word.starts_with("javax.") || word.starts_with("org.") ||
                          word.starts_with("com.") || word.starts_with("sun.");
    const bool is_exception = last.ends_with("Exception") || last.ends_with("Error") || word.find('$') < word.size();
    text += is_class && is_exception ? last : word;
    if (end < line.size()) text += line[end++];
    at = end;
  }
  return text;
}

// Returns the exit code of a line that only reports an exit code; nullopt for any other line.
std::optional<int> ExitIn(std::string_view line) {
  constexpr std::string_view kBegins[] = {"Exit code: ", "Container exited with a non-zero exit code "};
  // The ResourceManager's line about an AM is "AM Container for appattempt_... exited with  exitCode: 126".
  constexpr std::string_view kMaster = "exitCode: ";
  size_t at = line.starts_with("AM Container ") ? line.find(kMaster) : std::string_view::npos;
  if (at != std::string_view::npos) at += kMaster.size();
  for (const std::string_view begin : kBegins)
    if (line.starts_with(begin)) at = begin.size();
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at);
  const auto number = ParseInt(rest.substr(0, rest.find_first_not_of("-0123456789")));
  return number && *number >= INT32_MIN && *number <= INT32_MAX ? std::optional(static_cast<int>(*number))
                                                                : std::nullopt;
}

std::string Printable(std::string_view line) {
  std::string text = ReplaceInvalidUtf8(line);
  std::erase_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return text;
}

// Returns true if `text` equals one of `lines`, or if one of the two only has more text before the other, such as the
// class in "IOException: LINE".
bool Repeats(const std::string& text, const std::vector<std::string>& lines) {
  return std::ranges::any_of(lines,
                             [&](const std::string& line) { return text.ends_with(line) || line.ends_with(text); });
}

struct Found {
  std::vector<std::string> lines;
  std::optional<int> exit;
  bool is_cut = false;  // a trace was left out
};

Found FindLines(std::string_view diagnostics) {
  Found found;
  for (const std::string& raw : LinesOf(diagnostics)) {
    const std::string_view line = WithoutHeads(Trim(raw));
    if (IsFixed(line)) continue;
    if (IsTrace(line) || IsProcess(line)) {
      found.is_cut = true;
    } else if (const auto exit = ExitIn(line)) {
      found.exit = *exit;
    } else if (std::string text = Printable(WithoutPackages(line)); !Repeats(text, found.lines)) {
      found.lines.push_back(std::move(text));
    }
  }
  return found;
}

}  // namespace

std::string ReasonIn(std::string_view diagnostics, std::string_view all) {
  Found found = FindLines(diagnostics);
  // YARN itself sets negative exit codes, and the code 143 after its own SIGTERM. The other lines explain such an end
  // better, so the code is left out.
  constexpr int kTerminated = 143;
  const bool is_told = found.exit && (*found.exit < 0 || *found.exit == kTerminated) && !found.lines.empty();
  if (found.exit && !is_told) found.lines.insert(found.lines.begin(), StrCat("exit code ", *found.exit));
  std::string reason = Join(found.lines, "; ");
  if (reason.size() > kLongestReason) {
    constexpr std::string_view kDots = "...";
    reason.resize(ValidUtf8Prefix(std::string_view(reason).substr(0, kLongestReason - kDots.size())));
    reason += kDots;
    found.is_cut = true;
  }
  if (found.is_cut && !all.empty() && !reason.empty()) reason += StrCat(" (", all, " shows the whole text)");
  return reason;
}

}  // namespace tony::hadoop
