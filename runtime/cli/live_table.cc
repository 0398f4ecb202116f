#include "runtime/cli/live_table.h"

#include <algorithm>
#include <array>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/cli/text_table.h"
#include "runtime/job/job_status.h"

namespace tony {
namespace {

constexpr size_t kFollowingIndent = 4;  // indent of continuation rows
constexpr std::string_view kToEndOfLine = "\x1b[K";
constexpr std::string_view kToEndOfScreen = "\x1b[J";

// Removes the styles from a line. A style is an escape sequence: ESC [ digits m.
std::string Unstyled(std::string line) {
  for (size_t at = line.find('\x1b'); at != std::string::npos; at = line.find('\x1b', at))
    line.erase(at, line.find('m', at) - at + 1);
  return line;
}

using Tasks = std::vector<const TaskStatus*>;
using Lines = std::vector<std::string>;

constexpr std::string_view kGap = "  ";
constexpr size_t kLeastNote = 12;  // minimum width of a note

// The states of tasks. The state that most needs attention comes first.
constexpr std::array<std::string_view, 15> kByInterest = {
    "failed",    "lost",      "silent",     "backoff", "stopping",  "waiting", "new", "requested",
    "allocated", "launching", "registered", "running", "succeeded", "killed",  "done"};

size_t Interest(std::string_view state) {
  return static_cast<size_t>(std::ranges::find(kByInterest, state) - kByInterest.begin());
}

struct Column {
  std::string_view title;
  // The minimum width in columns. This minimum keeps the table from jumping when texts change.
  size_t least;
  bool to_the_right;
  std::string (*text)(const TaskStatus&, const TableView& view);
};

std::string Name(const TaskStatus& task, const TableView&) { return SafeLine(ToString(task.id)); }
std::string State(const TaskStatus& task, const TableView&) { return SafeLine(StateWord(task)); }
std::string Attempt(const TaskStatus& task, const TableView&) {
  return task.attempt == 0 ? "-" : std::to_string(task.attempt);
}
std::string Host(const TaskStatus& task, const TableView&) { return task.host.empty() ? "-" : SafeLine(task.host); }
std::string Memory(const TaskStatus& task, const TableView& view) {
  const auto limit = view.memory_limits.find(task.id.role);
  return MemoryOfLimit(task, limit == view.memory_limits.end() ? 0 : limit->second);
}
std::string Cpu(const TaskStatus& task, const TableView&) { return CpuText(task); }
std::string Gpu(const TaskStatus& task, const TableView&) {
  return task.usage && task.usage->gpu ? StrCat(task.usage->gpu->percent, "%") : "-";
}
std::string Elapsed(const TaskStatus& task, const TableView& view) {
  return task.started ? ClockText(task.ended.value_or(view.now) - *task.started) : "-";
}
// Returns the note in a task's row: why the task ended as it did, or why it has not started.
std::string Note(const TaskStatus& task) {
  if (!task.waits_for.empty()) return SafeLine("waits for " + task.waits_for);
  if (!task.outcome || task.outcome->Succeeded()) return "";
  const Outcome& outcome = *task.outcome;
  const std::string exit = outcome.exit ? ToString(*outcome.exit) : std::string(ToString(outcome.cls));
  return SafeLine(outcome.message.empty() ? exit : StrCat(exit, ", ", outcome.message));
}

constexpr Column kName = {"TASK", 4, false, Name}, kState = {"STATE", 10, false, State},
                 kTime = {"TIME", 5, true, Elapsed}, kMemory = {"MEMORY", 10, true, Memory},
                 kCpu = {"CPU", 4, true, Cpu}, kGpu = {"GPU", 4, true, Gpu}, kAttempt = {"ATTEMPT", 7, true, Attempt},
                 kHost = {"HOST", 9, false, Host};

// The columns in two orders. kWanted begins with the most important column, because a narrow terminal shows only the
// first columns of this order. kStanding has the columns from left to right.
constexpr std::array kWanted = {kName, kState, kTime, kMemory, kCpu, kGpu, kAttempt, kHost};
constexpr std::array kStanding = {kName, kState, kAttempt, kTime, kMemory, kCpu, kGpu, kHost};

class TaskTable {
 public:
  TaskTable(const Tasks& tasks, const TableView& view) : view_(view) {
    size_t room = static_cast<size_t>(view.size.columns) - 1;
    const bool has_gpu = std::ranges::any_of(tasks, [](const TaskStatus* t) { return t->usage && t->usage->gpu; });
    for (const Column& column : kWanted) {
      if (column.title == kGpu.title && !has_gpu) continue;
      size_t width = column.least;
      for (const TaskStatus* task : tasks) width = std::max(width, TextWidth(column.text(*task, view)));
      const size_t needed = width + (widths_.empty() ? 0 : kGap.size());
      if (needed > room && !widths_.empty()) break;
      widths_[column.title] = std::min(width, room);
      room -= std::min(needed, room);
    }
    note_room_ = room > kGap.size() + kLeastNote ? room - kGap.size() : 0;
  }

  std::string Titles() const {
    std::string line = Line([](const Column& c) { return std::string(c.title); }, Style::kPlain);
    return Styled(line, Style::kFaint, view_.colour);
  }

  std::string Row(const TaskStatus& task) const {
    const Style style = StyleOfState(StateWord(task));
    // In a row that needs attention, the whole row is coloured. In any other row, only the state is coloured.
    const bool whole = style == Style::kBad || style == Style::kWarning;
    std::string line = Line([&](const Column& c) { return c.text(task, view_); }, whole ? Style::kPlain : style);
    const std::string note = Note(task);
    if (!note.empty() && note_room_ > 0) line += StrCat(kGap, CutToWidth(note, note_room_));
    return whole ? Styled(line, style, view_.colour) : line;
  }

 private:
  template <class Text>
  std::string Line(Text text, Style state_style) const {
    std::string line;
    for (const Column& column : kStanding) {
      const auto width = widths_.find(column.title);
      if (width == widths_.end()) continue;
      const std::string cell = FitToWidth(text(column), width->second, column.to_the_right);
      line += line.empty() ? "" : kGap;
      line += column.title == kState.title ? Styled(cell, state_style, view_.colour) : cell;
    }
    return line;
  }

  const TableView& view_;
  std::map<std::string_view, size_t> widths_;  // width of each shown column
  size_t note_room_ = 0;
};

std::string JobLine(const JobStatus& status, const TableView& view) {
  std::string line = StrCat(" ", ClockText(status.ended.value_or(view.now) - status.submitted));
  if (status.generation.value > 1) line += StrCat(", generation ", status.generation.value);
  if (status.restart_count > 0) line += StrCat(", ", Counted(status.restart_count, "restart"));
  if (!status.name.empty()) line += StrCat(": ", SafeLine(status.name));
  if (!status.framework.empty()) line += StrCat(" (", SafeLine(status.framework), ")");
  const auto columns = static_cast<size_t>(view.size.columns) - 1;
  const std::string state = CutToWidth(StrCat("job ", SafeLine(status.state)), columns);
  return StrCat(Styled(state, Style::kStrong, view.colour), CutToWidth(line, columns - TextWidth(state)));
}

void AppendReason(const std::string& text, const TableView& view, Lines& lines) {
  const std::string line = CutToWidth(StrCat("  ", SafeLine(text)), static_cast<size_t>(view.size.columns) - 1);
  lines.push_back(Styled(line, Style::kWarning, view.colour));
}

std::vector<std::pair<std::string, Tasks>> ByRole(const JobStatus& status) {
  std::vector<std::pair<std::string, Tasks>> roles;
  for (const TaskStatus& task : status.tasks) {
    if (roles.empty() || roles.back().first != task.id.role) roles.emplace_back(task.id.role, Tasks());
    roles.back().second.push_back(&task);
  }
  return roles;
}

// Appends the lines of the roles. These lines take at most half of the room, because the lines of tasks are more
// important.
void AppendRoles(const JobStatus& status, size_t room, const TableView& view, Lines& lines) {
  const auto roles = ByRole(status);
  const size_t most = std::max<size_t>(1, room / 2);
  const size_t shown = roles.size() <= most ? roles.size() : most - 1;
  size_t width = 0;
  for (const auto& [role, tasks] : roles) width = std::max(width, TextWidth(SafeLine(role)));
  const auto columns = static_cast<size_t>(view.size.columns) - 1;
  for (size_t i = 0; i < shown; ++i) {
    const auto& [role, tasks] = roles[i];
    lines.push_back(CutToWidth(StrCat("  ", FitToWidth(SafeLine(role), width), kGap, CountedStates(tasks)), columns));
  }
  if (shown < roles.size())
    lines.push_back(CutToWidth(StrCat("  ... and ", roles.size() - shown, " more roles"), columns));
}

void AppendTasks(const JobStatus& status, size_t room, const TableView& view, Lines& lines) {
  Tasks tasks;
  for (const TaskStatus& task : status.tasks) tasks.push_back(&task);
  const bool all = tasks.size() + 1 <= room;
  if (room < 3 && !all) return;  // role lines already count the tasks
  const size_t shown = all ? tasks.size() : room - 2;
  if (!all) {
    std::ranges::stable_sort(tasks, {}, [](const TaskStatus* task) {
      return std::pair(Interest(StateWord(*task)), -task->attempt);  // restarted tasks first
    });
  }
  const TaskTable table(Tasks(tasks.begin(), tasks.begin() + static_cast<ptrdiff_t>(shown)), view);
  lines.push_back(table.Titles());
  for (size_t i = 0; i < shown; ++i) lines.push_back(table.Row(*tasks[i]));
  if (all) return;
  const std::string rest = StrCat("... and ", tasks.size() - shown, " more: ", CountedStates(tasks, shown));
  lines.push_back(Styled(CutToWidth(rest, static_cast<size_t>(view.size.columns) - 1), Style::kFaint, view.colour));
}

}  // namespace

size_t StyledWidth(const std::string& line) { return TextWidth(Unstyled(line)); }

std::string Screen::Draw(const std::vector<std::string>& above, const std::vector<std::string>& lines,
                         TerminalSize size) {
  std::string out = "\r";
  if (const int up = RowsToGoUp(size); up > 0) out += StrCat("\x1b[", up, "A");
  // Each row is erased before it is written, because erasing after a full row would remove the row's last character. A
  // word that is longer than a row, for example a path, is not split, so that people can copy the word. The terminal
  // wraps such a word into further rows, which are erased together with the first row.
  const auto columns = static_cast<size_t>(std::max(2, size.columns));
  for (const std::string& line : above)
    for (const std::string& row : Split(Wrapped(line, columns - 1, kFollowingIndent), '\n'))
      out += StrCat(TextWidth(row) < columns ? kToEndOfLine : kToEndOfScreen, row, "\r\n");
  lines_.clear();
  for (const std::string& line : lines) {
    out += StrCat(line, kToEndOfLine, "\r\n");
    lines_.push_back(Unstyled(line));
  }
  return out.append(kToEndOfScreen);
}

// Returns the number of rows from the top of the block to the cursor. The terminal may have become narrower since the
// last draw. Most terminals then wrap the lines that do not fit, and the wrapped rows are counted. If a terminal cuts
// such lines instead, rows above the block are overwritten.
int Screen::RowsToGoUp(TerminalSize size) const {
  const auto columns = static_cast<size_t>(std::max(1, size.columns));
  size_t rows = 0;
  for (const std::string& line : lines_) rows += RowsWrapped(line, columns);
  return static_cast<int>(std::min<size_t>(rows, static_cast<size_t>(std::max(1, size.rows)) - 1));
}

std::string CountedStates(const Tasks& tasks, size_t from) {
  std::map<std::pair<size_t, std::string>, int64_t> counts;
  for (size_t i = from; i < tasks.size(); ++i) {
    const std::string state = SafeLine(StateWord(*tasks[i]));
    ++counts[{Interest(state), state}];
  }
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts) parts.push_back(StrCat(count, " ", state.second));
  return Join(parts, ", ");
}

std::vector<std::string> TableLines(const JobStatus& status, const TableView& given) {
  TableView view = given;
  view.size = {std::max(2, given.size.rows), std::max(2, given.size.columns)};
  const auto most = static_cast<size_t>(view.size.rows) - 1;  // the cursor stays below the block
  Lines lines = {JobLine(status, view)};
  if (!status.verdict) {
    if (!status.delay.empty()) AppendReason(status.delay, view, lines);
    if (!status.trouble.empty()) AppendReason(StrCat("degraded: ", status.trouble), view, lines);
  }
  if (lines.size() < most) AppendRoles(status, most - lines.size(), view, lines);
  if (lines.size() < most) AppendTasks(status, most - lines.size(), view, lines);
  if (lines.size() > most) lines.resize(most);
  return lines;
}

}  // namespace tony
