#include "runtime/keeper/run_keeper.h"

#include <linux/close_range.h>
#include <unistd.h>

#include <csignal>

#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/containers.h"
#include "runtime/keeper/keeper.h"
#include "runtime/keeper/lost_job.h"
#include "runtime/os/file_system.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"

namespace tony::keeper {

Status RunKeeper(const std::filesystem::path& path, const AmOptions& am) {
  std::signal(SIGPIPE, SIG_IGN);
  // Processes that the keeper starts must not inherit keeper.start, a lock that this process has inherited
  // (local_am_launcher.cc).
  (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  const JobRecords records = LocalJobRecords(path);
  const JobFolder folder(path);
  auto lock = folder.Lock("keeper.lock");
  if (!lock.ok() && lock.error().code == ErrorCode::kUnavailable) return Ok();
  if (!lock.ok()) return lock.error();
  // The descriptor is never closed, so the kernel releases the lock when this process has ended. Another process that
  // waits for the lock therefore waits for the exit of the keeper.
  (void)lock->Release();
  TRY_ASSIGN(const auto environment, records.ReadEnvironment());
  if (HasEndedUnrecorded(records)) return EndLostJob(records);
  if (const Status written = folder.WriteBoot(BootId()); !written.ok()) LogWarn(written.error().message);
  // The limit is raised only if the folder records the submitter's limit, because the tasks get that limit again. A
  // folder of an earlier release lacks the record.
  if (const auto submission = records.ReadSubmission(); submission.ok() && submission->open_files > 0) RaiseOpenFiles();
  BecomeSubreaper();
  EventLoop loop;
  Keeper keeper(loop, records, WithoutMarks(environment), am, [&loop] { loop.Stop(); });
  TRY(keeper.Begin());
  LogInfo("supervising job " + records.job().value);
  loop.Run();
  return keeper.end();
}

}  // namespace tony::keeper
