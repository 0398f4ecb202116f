#include "runtime/client/outputs.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/job/outputs.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/kept_outputs.h"

namespace tony {
namespace {

bool Succeeded(const JobRecords& records, const TaskStatus& task, int attempt) {
  if (attempt == task.attempt && task.outcome) return task.outcome->Succeeded();
  const auto kept = AttemptFolder(records.place(), {task.id, attempt}).ReadOutcome();
  return kept.ok() && *kept && (*kept)->Succeeded();
}

std::optional<AttemptId> NewestThatSucceeded(const JobRecords& records, const JobSpec& spec, const JobStatus& status) {
  for (const TaskStatus& task : status.tasks) {
    if (!IsOutputTask(spec, task.id)) continue;
    for (int attempt = task.attempt; attempt > 0; --attempt) {
      if (Succeeded(records, task, attempt)) return AttemptId{task.id, attempt};
    }
  }
  return std::nullopt;
}

// Returns the outputs that the AM recorded. If the record has no outputs, returns the outputs that the executor kept.
// The record has no outputs if release 0.1 ran the job, if the job ended without an AM, or if the record is damaged.
Result<std::optional<KeptOutputs>> FindKept(const JobRecords& records, const AttemptId& attempt) {
  auto recorded = ReadJobOutputs(records);
  const bool is_its = recorded.ok() && *recorded && (*recorded)->attempt == attempt;
  if (is_its && (*recorded)->outputs.problem.empty()) return std::optional(std::move((*recorded)->outputs));
  auto kept = ReadKeptOutputs(AttemptFolder(records.place(), attempt).logs);
  if (!kept.ok() || *kept) return kept;
  if (is_its) return Error{ErrorCode::kInvalid, (*recorded)->outputs.problem};
  return recorded.ok() ? std::move(kept) : recorded.error();
}

Result<Outputs> ReadKept(const JobRecords& records, const AttemptId& attempt) {
  TRY_ASSIGN(const auto kept, FindKept(records, attempt));
  if (!kept) return Outputs();
  TRY_ASSIGN(Outputs outputs, ParseOutputs(kept->text));
  for (const OutputProblem& problem : kept->left_out) outputs.Add(problem);
  return outputs;
}

std::string PlaceText(const JobRecords& records, const JobStatus& status, const AttemptId& attempt) {
  return StrCat("outputs of ", ToString(attempt), " in job ", status.job.value, " (",
                KeptOutputsFile(AttemptFolder(records.place(), attempt).logs).string(), ")");
}

}  // namespace

// Returns the outputs of the best trial, or of the first trial that succeeded if no trial has the metric.
Result<JobOutputs> OutputsOfBest(const SweepView& view, const JobStatus& status) {
  const auto best = std::ranges::find_if(view.trials, [](const TrialRow& trial) { return !trial.outputs.empty(); });
  if (best == view.trials.end()) return JobOutputs();
  TRY_ASSIGN(Outputs outputs, ParseOutputs(best->outputs));
  const auto task = std::ranges::find(status.tasks, best->task, &TaskStatus::id);
  const bool is_own = !best->job && task != status.tasks.end();
  return JobOutputs{std::move(outputs), is_own ? std::optional(AttemptId{best->task, task->attempt}) : std::nullopt};
}

Result<JobOutputs> ReadOutputs(const JobRecords& records, const JobStatus& status) {
  if (const auto sweep = ViewSweep(records, status)) return OutputsOfBest(*sweep, status);
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  const auto attempt = NewestThatSucceeded(records, spec, status);
  if (!attempt) return JobOutputs();
  auto kept = ReadKept(records, *attempt);
  if (kept.ok()) return JobOutputs{*std::move(kept), attempt};
  return Error{kept.error().code,
               StrCat(PlaceText(records, status, *attempt), ": ", kept.error().message, "; expected one JSON object")};
}

std::string OutputsProblem(const JobRecords& records, const JobStatus& status) {
  if (!status.verdict || status.verdict->state != FinalState::kSucceeded) return "";
  const auto outputs = ReadOutputs(records, status);
  if (!outputs.ok()) return outputs.error().code == ErrorCode::kInvalid ? outputs.error().message : "";
  if (outputs->problems.empty()) return "";
  std::vector<std::string> problems;
  for (const OutputProblem& problem : outputs->problems) problems.push_back(Describe(problem));
  return StrCat(PlaceText(records, status, *outputs->attempt), ": ", Join(problems, "; "));
}

std::string StatusDocument(const JobRecords& records, const JobStatus& status) {
  const std::string problem = OutputsProblem(records, status);
  std::string document = WithSweep(ToJson(status), records, status);
  if (problem.empty()) return document;
  return WithFields(std::move(document), {{"outputs_problem", JsonString(problem)}});
}

}  // namespace tony
