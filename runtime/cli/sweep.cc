// The table of a sweep for people, and `tony sweep --resume`.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/submit.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/job/outputs.h"

namespace tony {
namespace {

using Values = std::map<std::string, std::string>;

Values MembersOf(const std::string& object) {
  Values values;
  const auto parsed = ParseOutputs(object);
  if (!parsed.ok()) return values;
  for (const OutputMember& member : parsed->members) values[member.name] = member.text.value_or("null");
  return values;
}

// The names of the parameters, in the order in which the trials have them.
std::vector<std::string> ParameterNames(const SweepView& view) {
  std::vector<std::string> names;
  for (const TrialRow& trial : view.trials) {
    const auto parsed = ParseOutputs(trial.parameters);
    if (!parsed.ok()) continue;
    for (const OutputMember& member : parsed->members)
      if (std::ranges::find(names, member.name) == names.end()) names.push_back(member.name);
  }
  return names;
}

Result<std::map<std::string, std::string>> SecretsOf(const JobRecords& records) {
  TRY_ASSIGN(const auto lines, records.ReadSecrets());
  std::map<std::string, std::string> secrets;
  for (const std::string& line : lines)
    if (const size_t equals = line.find('='); equals != std::string::npos)
      secrets[line.substr(0, equals)] = line.substr(equals + 1);
  return secrets;
}

// Returns the spec with only the trials that have not succeeded in the job of `status`.
JobSpec SpecOfMissing(JobSpec spec, const JobStatus& status) {
  std::vector<std::string> missing;
  for (const TaskStatus& task : status.tasks) {
    const auto index = static_cast<size_t>(task.id.index);
    if (task.id.role != kTrialRole || index >= spec.sweep->trials.size()) continue;
    if (!task.outcome || !task.outcome->Succeeded()) missing.push_back(spec.sweep->trials[index]);
  }
  spec.sweep->trials = std::move(missing);
  spec.sweep->resumes = status.job;
  for (RoleSpec& role : spec.roles) {
    if (role.name != kTrialRole) continue;
    role.instances = static_cast<int>(spec.sweep->trials.size());
    if (role.min_failed) role.min_failed = std::min(*role.min_failed, role.instances);
    role.min_succeeded = std::min(role.min_succeeded, role.instances);
  }
  return spec;
}

}  // namespace

std::string SweepText(const SweepView& view, const TableRoom& room, size_t most) {
  const std::vector<std::string> names = ParameterNames(view);
  const bool has_earlier =
      std::ranges::any_of(view.trials, [](const TrialRow& trial) { return trial.job.has_value(); });
  std::vector<std::string> titles(names.size());
  std::vector<TextColumn> columns = {TextColumn("TRIAL"), TextColumn("STATE")};
  if (!view.sweep.metric.empty()) columns.emplace_back(view.sweep.metric, 0, true);
  for (const std::string& name : names) columns.emplace_back(name, 1, true, 6);
  if (has_earlier) columns.emplace_back("EARLIER JOB", 2);
  TextTable table(std::move(columns), "  ");
  for (size_t i = 0; i < std::min(most, view.trials.size()); ++i) {
    const TrialRow& trial = view.trials[i];
    Values parameters = MembersOf(trial.parameters), outputs = MembersOf(trial.outputs);
    std::vector<StyledText> row = {ToString(trial.task), StyledText(trial.state, StyleOfState(trial.state))};
    if (!view.sweep.metric.empty()) row.emplace_back(trial.metric ? outputs[view.sweep.metric] : std::string("-"));
    for (const std::string& name : names) row.emplace_back(SafeLine(parameters[name]));
    if (has_earlier) row.emplace_back(trial.job ? trial.job->value : std::string());
    table.Add(std::move(row));
  }
  return table.Text(room);
}

std::string SweepSummary(const JobRecords& records, const JobStatus& status) {
  constexpr size_t kMost = 20;
  const auto view = ViewSweep(records, status);
  if (!view) return {};
  const std::string more = view->trials.size() <= kMost ? ""
                                                        : StrCat("  ", view->trials.size() - kMost,
                                                                 " more: tony status ", status.job.value, "\n");
  return SweepText(*view, {}, kMost) + more;
}

Result<int> ResumeSweep(const CommandLine& line) {
  for (const char* other : {"p", "trials", "random", "seed", "metric", "parallel", "tolerate"})
    if (line.Has(other))
      return Error{ErrorCode::kUsage,
                   StrCat(Dashed(other), " cannot be used with --resume: the trials are those of the job")};
  if (!line.words().empty())
    return Error{ErrorCode::kUsage, "sweep --resume takes no command: the job's program runs again"};
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.Value("resume"), TerminalNotes()));
  TRY_ASSIGN(const KnownStatus known, QueryStatus(records));
  const std::string job = StrCat("job ", records.job().value);
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  if (!spec.sweep) return Error{ErrorCode::kInvalid, StrCat(job, " is not a sweep; expected a job of tony sweep")};
  if (!HasEnded(known.status))
    return Error{ErrorCode::kInvalid, StrCat(job, " has not ended; kill it first, or wait for its end")};
  ParsedJobSpec parsed;
  parsed.spec = SpecOfMissing(spec, known.status);
  if (parsed.spec.sweep->trials.empty()) {
    Print(StrCat("all trials of ", job, " have succeeded\n", SweepSummary(records, known.status)));
    return 0;
  }
  TRY_ASSIGN(parsed.secrets, SecretsOf(records));
  TRY_ASSIGN(const auto staged, records.ReadStaged());
  PreparedJob prepared{.staged = staged.value_or(StagedFiles())};
  prepared.staged.am.clear();
  if (const auto environment = records.ReadEnvironment(); environment.ok()) prepared.environment = *environment;
  return SubmitAndWait(line, std::move(parsed), {.prepared = std::move(prepared)});
}

}  // namespace tony
