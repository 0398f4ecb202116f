#include "runtime/cli/live_view.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "runtime/base/strings.h"
#include "runtime/cli/live_table.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"

namespace tony {
namespace {

constexpr Duration kBetweenDraws{200};
constexpr Duration kClock{1000};
constexpr Duration kLastPatience{2000};
// The maximum number of lines that are kept while the terminal accepts no output.
constexpr size_t kMostAbove = 10000;

// Returns the interval at which the usage of a job's tasks is queried. Queries are needed, because the AM reports
// changes, and a new usage alone does not count as a change.
Duration UsageInterval(size_t tasks) {
  // A job with at most this many tasks is queried each second.
  constexpr size_t kAtOnce = 200;
  return std::clamp(kClock * static_cast<int64_t>(tasks) / static_cast<int64_t>(kAtOnce), kClock, kClock * 30);
}

}  // namespace

std::unique_ptr<LiveView> LiveView::Make(EventLoop& loop, const JobRecords& records) {
  if (!IsTerminal(STDERR_FILENO)) return nullptr;
  // The terminal is opened again, because a non-blocking standard error would also be non-blocking for the shell.
  UniqueFd terminal(open("/proc/self/fd/2", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!terminal.valid()) return nullptr;
  std::unique_ptr<LiveView> view(new LiveView(loop, std::move(terminal)));
  view->memory_limits_ = MemoryLimitsOf(records);
  view->SayAbove(StrCat("logs: ", BackendOf(records.job()).logs().PlaceOfLogs(records)));
  view->SayAbove(StrCat("follow: tony logs ", records.job().value, " -f"));
  if (const auto status = StoredStatus(records); status.ok()) view->Show(*status);
  return view;
}

LiveView::LiveView(EventLoop& loop, UniqueFd terminal)
    : loop_(loop), terminal_(std::move(terminal)), colour_(WantsColour(STDERR_FILENO)) {
  signals_ = loop_.OnSignals({SIGWINCH, SIGCONT}, [this](int signal) { OnSignal(signal); });
}

Result<Watched> LiveView::Watch(Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                                WatchOptions options) {
  ClientNotes notes = TerminalNotes();
  notes.note = [this](const std::string& line) { SayAbove(line); };
  options.on_status = [this](const JobStatus& status) {
    Show(status);
    return true;
  };
  options.usage_interval = UsageInterval(status_ ? status_->tasks.size() : 0);
  auto watched = WatchJob(loop_, interrupts, records, launcher, notes, options);
  // The result of the wait may contain a newer status than the last one that was shown.
  if (watched.ok() && watched->status) Show(*watched->status);
  Finish();
  return watched;
}

void LiveView::Show(const JobStatus& status) {
  for (const std::string& line : ImportantLines(status_, status)) SayAbove(line);
  status_ = status;
  stale_ = true;
  Plan();
}

void LiveView::SayAbove(const std::string& line) {
  above_.push_back(SafeLine(Trim(line)));
  if (above_.size() > kMostAbove) {
    above_.erase(above_.begin(), above_.begin() + kMostAbove / 2);
    dropped_ += kMostAbove / 2;
  }
  stale_ = true;
  Plan();
}

void LiveView::OnSignal(int signal) {
  // While this process was stopped, the shell printed lines below the block. The next block begins below these lines.
  if (signal == SIGCONT) screen_ = Screen();
  stale_ = true;
  Plan();
}

void LiveView::Plan() {
  if (!terminal_.valid() || !unwritten_.empty()) return;
  const bool ticks = status_ && !status_->verdict;
  if (!stale_ && !ticks) {
    timer_ = nullptr;
    return;
  }
  timer_ = loop_.At(drawn_ + (stale_ ? kBetweenDraws : kClock), [this] { Draw(); });
}

// Returns whether this process is in the terminal's foreground. In the background only lines are printed, because a
// table would disturb what the user types.
bool LiveView::IsInForeground() const {
  const pid_t owner = tcgetpgrp(terminal_.get());
  return owner < 0 || owner == getpgrp();
}

void LiveView::Draw() {
  if (!terminal_.valid() || !unwritten_.empty()) return;
  if (dropped_ > 0) above_.insert(above_.begin(), StrCat("... ", std::exchange(dropped_, 0), " lines left out"));
  const TerminalSize size = SizeOf(terminal_.get());
  std::vector<std::string> lines;
  if (status_ && IsInForeground()) lines = TableLines(*status_, {size, colour_, loop_.Now(), memory_limits_});
  unwritten_ = screen_.Draw(above_, lines, size);
  above_.clear();
  stale_ = false;
  drawn_ = loop_.Now();
  Write();
}

void LiveView::Write() {
  while (!unwritten_.empty()) {
    const ssize_t written = write(terminal_.get(), unwritten_.data(), unwritten_.size());
    if (written > 0) {
      unwritten_.erase(0, static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      if (!writable_) writable_ = loop_.WhenWritable(terminal_.get(), [this] { Write(); });
      return;
    } else if (errno != EINTR) {  // the terminal hung up
      writable_ = nullptr;
      terminal_.Reset();
      return;
    }
  }
  writable_ = nullptr;
  Plan();
}

void LiveView::Finish() {
  timer_ = nullptr;
  signals_ = nullptr;
  const auto flush = [this] {
    pollfd fd = {terminal_.get(), POLLOUT, 0};
    while (terminal_.valid() && !unwritten_.empty() && poll(&fd, 1, kLastPatience.count()) > 0) Write();
  };
  flush();
  Draw();
  flush();
}

}  // namespace tony
