#include "runtime/cli/source_report.h"

#include <cstdio>

#include "runtime/base/strings.h"
#include "runtime/cli/terminal.h"

namespace tony {
namespace {

constexpr size_t kMostRules = 8;

std::string Amount(int64_t files, int64_t bytes) { return StrCat(Counted(files, "file"), ", ", HumanSize(bytes)); }

std::string Paths(const LeftOut& left) {
  std::string paths = Join(left.paths, ", ");
  if (left.paths.size() == LeftOut::kMostNamed) paths += ", ...";
  return SafeLine(paths);
}

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
  return sources.folder.empty() ? "" : Amount(sources.files, sources.bytes);
}

std::vector<std::string> LeftOutLines(const SourceSummary& sources) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < sources.left_out.size() && i < kMostRules; ++i) {
    const LeftOut& left = sources.left_out[i];
    lines.push_back(
        StrCat("left out: ", Paths(left), ": ", Amount(left.files, left.bytes), " (", SafeLine(left.rule), ")"));
  }
  if (sources.left_out.size() > kMostRules)
    lines.push_back(StrCat("left out: what ", sources.left_out.size() - kMostRules, " more rules name"));
  return lines;
}

}  // namespace tony
