#include "runtime/scheduler/local/local_am_launcher.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/process/sibling_program.h"
#include "runtime/scheduler/local/environment.h"
#include "runtime/store/job_folder.h"

namespace tony {
namespace {

bool HasAll(const std::filesystem::path& programs) {
  return std::ranges::all_of(kJobPrograms,
                             [&](std::string_view name) { return access((programs / name).c_str(), X_OK) == 0; });
}

// The job's own, whatever lies beside this program now. Without them it is better brought back than lost.
std::string KeeperOf(const JobRecords& records) {
  const std::string beside = SiblingProgram("tony-keeper");
  const auto submission = records.ReadSubmission();
  if (!submission.ok() || submission->programs.empty()) return beside;
  const std::filesystem::path name = std::filesystem::path(submission->programs).filename();
  // The job's own AM, which may know the job's folder by another path than its home's.
  if (std::filesystem::path(beside).parent_path().filename() == name) return beside;
  const std::filesystem::path own = JobFolder(records).home() / "programs" / name;
  if (HasAll(own)) return (own / "tony-keeper").string();
  LogWarn(
      StrCat("job ", records.job().value, ": its own programs are not in ", own.string(), ": going on with ", beside));
  return beside;
}

}  // namespace

Status LocalAmLauncher::Start(const JobRecords& records) {
  TRY_ASSIGN(const auto environment, records.ReadEnvironment());
  ProcessSpec keeper;
  keeper.argv = {KeeperOf(records), records.place().string()};
  keeper.env = WithoutMarks(environment);
  keeper.directory = records.place().string();
  keeper.stdout_file = keeper.stderr_file = (records.place() / "keeper.log").string();
  const auto on_end = [living = std::weak_ptr(living_), job = records.job()](ExitStatus) {
    if (const auto map = living.lock()) --(*map)[job];
  };
  const auto started = runner_.Start(keeper, on_end);
  if (!started.ok()) return started.error();
  ++(*living_)[records.job()];
  return Ok();
}

ArbiterView LocalAmLauncher::Look(const JobRecords& records) const {
  ArbiterView view = arbiter_.Look(records);
  const auto started = living_->find(records.job());
  const bool is_up = started != living_->end() && started->second > 0;
  if (is_up && !view.IsKept()) view.kind = ArbiterView::Kind::kStarting;
  return view;
}

Result<std::optional<JobStatus>> LocalAmLauncher::UnwrittenEnd(const JobRecords& records) const {
  return arbiter_.UnwrittenEnd(records);
}

Status LocalAmLauncher::Settle(const JobRecords& records) const { return arbiter_.Settle(records); }

Result<bool> LocalAmLauncher::LeaveLook(const JobRecords& records, const WatcherToken& watcher) const {
  return arbiter_.LeaveLook(records, watcher);
}

std::string LocalAmLauncher::WhyItEnds(const JobRecords& records) const { return arbiter_.WhyItEnds(records); }

}  // namespace tony
