// The trials of a sweep, from the records of its job and of the jobs that it resumes.
#include <algorithm>
#include <utility>

#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"

namespace tony {
namespace {

// The trials that succeeded in the job that this one resumes. They are missing if that job was removed.
std::vector<TrialRow> TrialsBefore(const JobId& resumed) {
  if (resumed.value.empty()) return {};
  const auto records = FindJob(resumed.value);
  const auto status = records.ok() ? StoredStatus(*records) : Result<JobStatus>(records.error());
  if (!status.ok()) return {};
  auto view = ViewSweep(*records, *status);
  if (!view) return {};
  std::vector<TrialRow> trials = std::move(view->trials);
  std::erase_if(trials, [](const TrialRow& trial) { return trial.state != "succeeded"; });
  for (TrialRow& trial : trials)
    if (!trial.job) trial.job = resumed;
  return trials;
}

}  // namespace

std::optional<SweepView> ViewSweep(const JobRecords& records, const JobStatus& status) {
  // Only a job with this role can be a sweep, so the spec of other jobs is not read.
  const bool has_trials =
      std::ranges::any_of(status.tasks, [](const TaskStatus& task) { return task.id.role == kTrialRole; });
  if (!has_trials) return std::nullopt;
  const auto spec = records.ReadSpec();
  if (!spec.ok() || !spec->sweep) return std::nullopt;
  SweepView view{.sweep = *spec->sweep, .parallel = spec->FindRole(kTrialRole)->AtOnce()};
  view.trials = TrialsOf(view.sweep, status, TrialsBefore(view.sweep.resumes));
  return view;
}

std::string WithSweep(std::string document, const JobRecords& records, const JobStatus& status) {
  const auto view = ViewSweep(records, status);
  if (!view) return document;
  return WithFields(std::move(document), {{"sweep", SweepJson(view->sweep, view->parallel, view->trials)}});
}

}  // namespace tony
