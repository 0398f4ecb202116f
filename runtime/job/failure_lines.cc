#include "runtime/job/failure_lines.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/log_lines.h"

namespace tony {
namespace {

constexpr std::string_view kOnStdout = " (on stdout)";

}  // namespace

FailureLines::FailureLines(const Evidence& evidence, std::string_view before) {
  Add(evidence.stdout_tail);
  stdout_end_ = lines_.size();
  Add(before);
  before_end_ = lines_.size();
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
  const auto of_report = InReports(lines_);
  const auto says_something = [&](size_t at) { return !of_report[at] && !SaysNothing(lines_[at]); };
  const auto is_text = [&](size_t at) { return lines_[at].find_first_not_of("-=*_ \t") != std::string::npos; };
  const auto last_before = [](size_t begin, size_t end, const auto& is_good) {
    while (end > begin && !is_good(end - 1)) --end;
    return end == begin ? 0 : end;
  };
  size_t place = last_before(before_end_, stderr_end_, says_something);
  if (place == 0) place = last_before(0, stdout_end_, says_something);
  if (place == 0) place = last_before(before_end_, stderr_end_, [&](size_t at) { return IsOfMpirun(lines_[at]); });
  if (place == 0) place = last_before(before_end_, stderr_end_, is_text);
  return place == 0 ? "" : StrCat("its last line: ", Quoted(place));
}

bool FailureLines::NeedsStdout(size_t place) const {
  if (place > 0) return place <= stdout_end_;
  return std::all_of(lines_.begin() + static_cast<ptrdiff_t>(stdout_end_), lines_.end(), IsEmptyLine);
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
