// Reads or follows the logs of a job as somebody ordered it: from where on, which lines, with their times.
#pragma once

#include <functional>
#include <memory>

#include "runtime/cli/log_lines.h"
#include "runtime/cli/log_order.h"
#include "runtime/cli/log_printer.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/job_records.h"

namespace tony {

class EventLoop;

class LogSession {
 public:
  // `logs` are the caller's.
  LogSession(JobRecords records, const LogSource& logs, LogChoice choice, LogOrder order);

  using Sink = std::function<void(const LogText&)>;  // a chunk of a stream, or a line by itself

  // What there is now; whether that was all. `ended`: nothing more will come.
  bool ReadOnce(bool ended, const Sink& sink);
  // ... and what comes, until the job has ended or `loop` is stopped. `flush` is called behind each chunk.
  void Follow(EventLoop& loop, const Sink& sink, const std::function<void()>& flush);

  const LogCursor& cursor() const { return order_.cursor; }
  LogCursor CursorBehind(const LogText& log) const;  // as if nothing behind this had been handed out

 private:
  void SkipToTime();
  LineWishes Wishes();

  const JobRecords records_;
  const LogSource& logs_;
  const LogChoice choice_;
  LogOrder order_;
  LogClock clock_;
  const RealClock now_;
};

bool JobHasEnded(const JobRecords& records);

// For people who read what is written to `fd`.
LogPrinter MakeLogPrinter(const JobSpec& spec, const LogChoice& choice, bool timestamps,
                          std::function<void(std::string_view)> write, int fd);

}  // namespace tony
