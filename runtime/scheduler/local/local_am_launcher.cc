#include "runtime/scheduler/local/local_am_launcher.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/process/sibling_program.h"
#include "runtime/scheduler/local/environment.h"

namespace tony {
namespace {

bool HasAll(const std::filesystem::path& programs) {
  return std::ranges::all_of(kJobPrograms,
                             [&](std::string_view name) { return access((programs / name).c_str(), X_OK) == 0; });
}

// The job's own, whatever lies beside this program now. Without them it is better brought back than lost.
std::string KeeperOf(const JobFolder& folder) {
  const std::string beside = SiblingProgram("tony-keeper");
  const auto submission = folder.ReadSubmission();
  if (!submission.ok() || submission->programs.empty()) return beside;
  const std::filesystem::path name = std::filesystem::path(submission->programs).filename();
  // The job's own AM, which may know the job's folder by another path than its home's.
  if (std::filesystem::path(beside).parent_path().filename() == name) return beside;
  const std::filesystem::path own = folder.path().parent_path().parent_path() / "programs" / name;
  if (HasAll(own)) return (own / "tony-keeper").string();
  LogWarn(
      StrCat("job ", folder.job().value, ": its own programs are not in ", own.string(), ": going on with ", beside));
  return beside;
}

}  // namespace

Status LocalAmLauncher::Start(const JobFolder& folder) {
  TRY_ASSIGN(const auto environment, folder.ReadEnvironment());
  ProcessSpec keeper;
  keeper.argv = {KeeperOf(folder), folder.path().string()};
  keeper.env = WithoutMarks(environment);
  keeper.directory = folder.path().string();
  keeper.stdout_file = keeper.stderr_file = (folder.path() / "keeper.log").string();
  const auto on_end = [living = std::weak_ptr(living_), job = folder.job()](ExitStatus) {
    if (const auto map = living.lock()) --(*map)[job];
  };
  const auto started = runner_.Start(keeper, on_end);
  if (!started.ok()) return started.error();
  ++(*living_)[folder.job()];
  return Ok();
}

ArbiterView LocalAmLauncher::Look(const JobFolder& folder) const {
  ArbiterView view = arbiter_.Look(folder);
  const auto started = living_->find(folder.job());
  const bool is_up = started != living_->end() && started->second > 0;
  if (is_up && !view.IsKept()) view.kind = ArbiterView::Kind::kStarting;
  return view;
}

Result<std::optional<JobStatus>> LocalAmLauncher::UnwrittenEnd(const JobFolder& folder) const {
  return arbiter_.UnwrittenEnd(folder);
}

Status LocalAmLauncher::Settle(const JobFolder& folder) const { return arbiter_.Settle(folder); }

std::string LocalAmLauncher::WhyItEnds(const JobFolder& folder) const { return arbiter_.WhyItEnds(folder); }

}  // namespace tony
