// A sweep: a job whose tasks are trials of one program with different parameters. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"

namespace tony {

// A trial in the table of a sweep.
struct TrialRow {
  TaskId task;
  std::string parameters;  // JSON object
  std::string state;       // StateWord()
  std::string outputs;     // JSON object; empty: none
  std::optional<double> metric;
  // Set if an earlier job, which this job resumes, ran the trial.
  std::optional<JobId> job;
};

// Returns the value of the metric in the outputs of an ended trial; nullopt if they have no such number.
std::optional<double> MetricOf(const Outcome& trial, const std::string& name);

// Returns the trials of the job, the best first; trials without a value come last, in the order of their numbers.
// `earlier` are the trials of the job that this one resumes.
std::vector<TrialRow> TrialsOf(const Sweep& sweep, const JobStatus& status, std::vector<TrialRow> earlier = {});

// Returns the member "sweep" of the status: {"metric","goal","trials":[...],"best"}. `parallel` is the number of trials
// that run at the same time.
std::string SweepJson(const Sweep& sweep, int parallel, const std::vector<TrialRow>& trials);

}  // namespace tony
