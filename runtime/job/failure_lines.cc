#include "runtime/job/failure_lines.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony {
namespace {

// What Python exits with after an exception that nobody caught.
constexpr ExitStatus kUncaught{ExitStatus::Kind::kExited, 1};
constexpr std::string_view kOnStdout = " (on stdout)";

bool IsBlank(std::string_view line) { return Trim(line).empty(); }

}  // namespace

FailureLines::FailureLines(const Evidence& evidence) {
  Add(evidence.stdout_tail);
  stdout_end_ = lines_.size();
  if (evidence.exit == kUncaught) Add(evidence.traceback);
  traceback_end_ = lines_.size();
  Add(evidence.stderr_tail);
  stderr_end_ = lines_.size();
  if (evidence.report) Add(evidence.report->message);
}

void FailureLines::Add(std::string_view text) {
  if (text.empty()) return;
  for (auto& line : Split(text, '\n')) lines_.push_back(std::move(line));
}

std::string FailureLines::Quoted(size_t place) const {
  if (place == 0 || place > stderr_end_) return "";
  return StrCat(OneClause(lines_[place - 1]), place <= stdout_end_ ? kOnStdout : "");
}

std::string FailureLines::QuotedLast() const {
  const auto last_before = [this](size_t begin, size_t end) {
    while (end > begin && IsBlank(lines_[end - 1])) --end;
    return end == begin ? 0 : end;
  };
  if (const size_t place = last_before(stdout_end_, traceback_end_)) return Quoted(place);
  for (const auto& [begin, end] : {std::pair(traceback_end_, stderr_end_), std::pair(size_t{0}, stdout_end_)}) {
    if (const size_t place = last_before(begin, end)) return StrCat("its last line: ", Quoted(place));
  }
  return "";
}

bool FailureLines::NeedsStdout(size_t place) const {
  if (place > 0) return place <= stdout_end_;
  return std::all_of(lines_.begin() + static_cast<ptrdiff_t>(stdout_end_), lines_.end(), IsBlank);
}

std::string OneClause(std::string_view text) {
  constexpr size_t kLongest = 300;
  std::string line(Trim(text.substr(0, text.find('\n'))));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  if (line.size() > kLongest) line = line.substr(0, ValidUtf8Prefix(line.substr(0, kLongest))) + "...";
  return line;
}

}  // namespace tony
