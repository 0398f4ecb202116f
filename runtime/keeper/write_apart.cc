#include "runtime/keeper/write_apart.h"

#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/history/ended_log.h"
#include "runtime/history/history_files.h"
#include "runtime/os/boost_process_runner.h"

namespace tony {
namespace {

void WarnUnless(const Status& status) {
  if (!status.ok()) LogWarn(status.error().message);
}

// Whoever reads the caller's output to its end is not to wait for a writer that cannot end.
void WriteToLogOf(const JobRecords& records) {
  const UniqueFd log(open((records.place() / "keeper.log").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const int output = log.valid() ? log.get() : null.get();
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
}

}  // namespace

void WriteHistoryBegin(const JobRecords& records) {
  WarnUnless(BeginHistory(records));
  // The job may have ended while this waited for the disk.
  if (records.HasVerdict()) WriteHistoryEnd(records);
}

void WriteEndedLine(const JobRecords& records) { WarnUnless(RecordEnd(records)); }

void WriteHistoryEnd(const JobRecords& records) { WarnUnless(FinishHistory(records)); }

void WriteApart(const JobRecords& records, void (*work)(const JobRecords&), Duration patience) {
  EventLoop loop;
  BoostProcessRunner runner(loop);
  const auto started = runner.StartCopy(
      [&] {
        WriteToLogOf(records);
        work(records);
      },
      [&](ExitStatus) { loop.Stop(); });
  if (!started.ok()) return LogWarn(started.error().message);
  const auto limit = loop.After(patience, [&] {
    LogWarn(StrCat("job ", records.job().value, ": its history does not answer"));
    loop.Stop();
  });
  loop.Run();
}

}  // namespace tony
