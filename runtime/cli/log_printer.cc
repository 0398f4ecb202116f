#include "runtime/cli/log_printer.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/cli/terminal.h"

namespace tony {
namespace {

constexpr size_t kSeconds = std::string_view("2026-11-26T14:19:00").size();

// Returns the number that selects a task's colour. A task gets the same colour in every run of the command.
size_t ColourOf(const TaskId& task) {
  size_t number = static_cast<size_t>(task.index);
  for (const char c : task.role) number += static_cast<unsigned char>(c);
  return number;
}

// Returns the time in whole seconds, because log times are known only to a second.
std::string TimeText(const LogText& log) {
  return log.when ? StrCat(ToIso8601(*log.when).substr(0, kSeconds), "Z ") : "- ";
}

}  // namespace

void LogPrinter::operator()(const LogText& log) {
  if (!style_.prefixed) return PrintPlain(log);
  const std::string source = StrCat(ToString(log.attempt), "/", log.process, log.stream), prefix = Prefix(log);
  std::string out = unfinished_.empty() || unfinished_ == source ? "" : "\n";
  out.reserve(log.text.size() + log.text.size() / 4);
  bool line_begins = unfinished_ != source;
  for (std::string_view rest = log.text; !rest.empty();) {
    const size_t length = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (line_begins) out += StrCat(prefix, style_.timestamps ? TimeText(log) : "");
    AppendLine(out, rest.substr(0, length));
    line_begins = rest[length - 1] == '\n';
    rest.remove_prefix(length);
  }
  unfinished_ = line_begins ? "" : source;
  write_(out);
}

std::string LogPrinter::Prefix(const LogText& log) {
  // The first attempt is shown without its number, because most tasks have only one.
  std::string label = log.attempt.number > 1 ? ToString(log.attempt) : ToString(log.attempt.task);
  if (log.process > 0) label += StrCat("/", log.process);
  style_.label_width = std::max(style_.label_width, label.size());
  const bool is_error = log.stream == "stderr";
  const std::string prefix = StrCat(FitToWidth(label, style_.label_width), is_error ? " !" : " |");
  return StrCat(style_.colour ? ColouredByNumber(prefix, ColourOf(log.attempt.task)) : prefix, " ");
}

// Appends a line. On a terminal, only the last state of a progress bar is shown, because its earlier states would
// overwrite the prefix of the line.
void LogPrinter::AppendLine(std::string& out, std::string_view line) const {
  if (!style_.is_terminal) {
    out += line;
    return;
  }
  const bool ends = line.ends_with('\n');
  if (ends) line.remove_suffix(1);
  while (line.ends_with('\r')) line.remove_suffix(1);
  line.remove_prefix(line.rfind('\r') + 1);  // without a '\r', this removes nothing
  out += SafeLog(line, style_.colour);
  if (ends) out += '\n';
}

void LogPrinter::PrintPlain(const LogText& log) {
  if (last_ && *last_ != log.attempt) write_(StrCat(line_begins_ ? "" : "\n", "==> ", ToString(log.attempt), " <==\n"));
  line_begins_ = line_begins_ || (last_ && *last_ != log.attempt);
  last_ = log.attempt;
  if (style_.timestamps && line_begins_) write_(TimeText(log));
  line_begins_ = log.text.ends_with('\n');
  if (style_.is_terminal) return write_(SafeLog(log.text, style_.colour));
  write_(log.text);
}

void LogPrinter::Finish() {
  if (!unfinished_.empty()) write_("\n");
  unfinished_.clear();
}

}  // namespace tony
