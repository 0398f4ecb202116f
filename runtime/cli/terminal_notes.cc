#include "runtime/cli/terminal_notes.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"

namespace tony {
namespace {

constexpr size_t kMostRules = 8;

std::string FilesAndBytes(int64_t files, int64_t bytes) {
  return StrCat(Counted(files, "file"), ", ", HumanSize(bytes));
}

std::string Paths(const LeftOut& left) {
  std::string paths = Join(left.paths, ", ");
  if (left.paths.size() == LeftOut::kMostNamed) paths += ", ...";
  return SafeLine(paths);
}

// Returns a line about the progress, e.g. "staging src_dir /x: 0.3 of 4.1 GB".
std::string ProgressLine(std::string_view doing, const StageProgress& progress) {
  if (progress.total == 0) return StrCat(doing, " ", SafeLine(progress.what));  // e.g. while uv makes an environment
  constexpr double kGiga = 1e9, kMega = 1e6;
  const bool large = static_cast<double>(progress.total) >= kGiga;
  char amount[64];
  std::snprintf(amount, sizeof amount, large ? "%.1f of %.1f GB" : "%.0f of %.0f MB",
                static_cast<double>(progress.done) / (large ? kGiga : kMega),
                static_cast<double>(progress.total) / (large ? kGiga : kMega));
  return StrCat(doing, " ", SafeLine(progress.what), ": ", amount);
}

// The line of progress. On a terminal the line is redrawn in place. Elsewhere a new line is printed at the beginning
// and every five seconds.
class MovingLine {
 public:
  void Show(const std::string& line) {
    if (live_) {
      is_drawn_ = true;
      return Write(StrCat("\r", CutToWidth(line, static_cast<size_t>(SizeOf(STDERR_FILENO).columns - 1)), "\x1b[K"));
    }
    const auto now = std::chrono::steady_clock::now();
    if (said_ && now - *said_ < kNextLine) return;
    said_ = now;
    Say(line);
  }
  void End() {
    if (std::exchange(is_drawn_, false)) Write("\r\x1b[K");
    said_.reset();
  }

 private:
  static constexpr Duration kNextLine{5000};

  static void Write(const std::string& text) {
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // the terminal has hung up
  }

  const bool live_ = IsTerminal(STDERR_FILENO);
  bool is_drawn_ = false;
  std::optional<std::chrono::steady_clock::time_point> said_;
};

}  // namespace

std::string HumanSize(int64_t bytes) {
  constexpr const char* kUnits[] = {"kB", "MB", "GB"};
  constexpr double kStep = 1000;
  if (bytes < static_cast<int64_t>(kStep)) return Counted(bytes, "byte");
  double size = static_cast<double>(bytes) / kStep;
  size_t unit = 0;
  for (; size >= kStep && unit + 1 < std::size(kUnits); ++unit) size /= kStep;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", size, kUnits[unit]);
  return text;
}

std::string AmountOf(const SourceSummary& sources) {
  return sources.folder.empty() ? "" : FilesAndBytes(sources.files, sources.bytes);
}

std::vector<std::string> LeftOutLines(const SourceSummary& sources) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < sources.left_out.size() && i < kMostRules; ++i) {
    const LeftOut& left = sources.left_out[i];
    lines.push_back(
        StrCat("left out: ", Paths(left), ": ", FilesAndBytes(left.files, left.bytes), " (", SafeLine(left.rule), ")"));
  }
  if (sources.left_out.size() > kMostRules)
    lines.push_back(StrCat("left out: files that match ", sources.left_out.size() - kMostRules, " more rules"));
  return lines;
}

ClientNotes TerminalNotes() {
  const auto moving = std::make_shared<MovingLine>();
  return {.note = [](const std::string& line) { Say(line); },
          .moving = [moving](std::string_view doing,
                             const StageProgress& progress) { moving->Show(ProgressLine(doing, progress)); },
          .moved = [moving] { moving->End(); },
          .created = [](const JobId&, const StagedFiles& files) { SayStaged(files); }};
}

void SayStaged(const StagedFiles& files) {
  const SourceSummary& sources = files.sources;
  if (!sources.folder.empty()) Say(StrCat("tony: src_dir ", SafeLine(sources.folder), ": ", AmountOf(sources)));
  for (const std::string& line : LeftOutLines(sources)) Say(StrCat("tony: ", line));
  for (const std::string& warning : files.warnings) Say(StrCat("tony: warning: ", warning));
}

std::function<bool(const JobStatus&)> SayChanges() {
  return [before = std::optional<JobStatus>()](const JobStatus& status) mutable {
    for (const std::string& line : ChangeLines(before, status)) Say(line);
    before = status;
    return true;
  };
}

}  // namespace tony
