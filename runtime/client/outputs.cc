// `tony outputs`: the JSON object that a job's chief wrote.
#include "runtime/client/outputs.h"

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/job_access.h"
#include "runtime/client/output.h"
#include "runtime/client/outputs_json.h"
#include "runtime/store/kept_outputs.h"

namespace tony {
namespace {

bool Succeeded(const JobFolder& folder, const TaskStatus& task, int attempt) {
  if (attempt == task.attempt && task.outcome) return task.outcome->Succeeded();
  const auto kept = folder.ReadOutcome({task.id, attempt});
  return kept.ok() && *kept && (*kept)->Succeeded();
}

std::optional<AttemptId> NewestThatSucceeded(const JobFolder& folder, const JobSpec& spec, const JobStatus& status) {
  for (const TaskStatus& task : status.tasks) {
    if (!spec.IsChief(task.id)) continue;
    for (int attempt = task.attempt; attempt > 0; --attempt) {
      if (Succeeded(folder, task, attempt)) return AttemptId{task.id, attempt};
    }
  }
  return std::nullopt;
}

Result<std::string> ReadObject(const std::filesystem::path& log_folder) {
  TRY_ASSIGN(const auto text, ReadKeptOutputs(log_folder));
  return text ? CompactOutputs(*text) : Result<std::string>(std::string("{}"));
}

}  // namespace

Result<JobOutputs> ReadOutputs(const JobFolder& folder, const JobStatus& status) {
  TRY_ASSIGN(const JobSpec spec, folder.ReadSpec());
  JobOutputs outputs{.attempt = NewestThatSucceeded(folder, spec, status)};
  if (!outputs.attempt) return outputs;
  const auto logs = folder.LogFolder(*outputs.attempt);
  auto object = ReadObject(logs);
  if (!object.ok()) {
    return Error{object.error().code,
                 StrCat("outputs of ", ToString(*outputs.attempt), " in job ", status.job.value, " (",
                        KeptOutputsFile(logs).string(), "): ", object.error().message, "; expected one JSON object")};
  }
  outputs.object = *std::move(object);
  return outputs;
}

std::string OutputsProblem(const JobFolder& folder, const JobStatus& status) {
  if (!status.verdict || status.verdict->state != FinalState::kSucceeded) return "";
  const auto outputs = ReadOutputs(folder, status);
  return outputs.ok() || outputs.error().code != ErrorCode::kInvalid ? "" : outputs.error().message;
}

std::string StatusDocument(const JobFolder& folder, const JobStatus& status) {
  const std::string problem = OutputsProblem(folder, status);
  if (problem.empty()) return ToJson(status);
  return WithFields(ToJson(status), {{"outputs_problem", JsonString(problem)}});
}

Result<int> RunOutputs(const CommandLine& line) {
  TRY_ASSIGN(const JobFolder folder, FindJob(line.words().front()));
  // The AM's word counts, too: it tells of the end a moment before that is in the folder.
  TRY_ASSIGN(const KnownStatus known, AskStatus(folder));
  if (!HasEnded(known.status)) {
    return Error{ErrorCode::kUnavailable, StrCat("job ", folder.job().value, " has not ended (", known.status.state,
                                                 "); its outputs are there when it has succeeded")};
  }
  TRY_ASSIGN(const JobOutputs outputs, ReadOutputs(folder, known.status));
  if (!line.Has("json")) {
    PrintLine(IndentedOutputs(outputs.object));
    return 0;
  }
  std::string document = StrCat(R"({"schema":1,"job":)", JsonString(folder.job().value));
  if (outputs.attempt) document += StrCat(R"(,"task":)", JsonString(ToString(outputs.attempt->task)));
  PrintLine(StrCat(document, R"(,"outputs":)", outputs.object, "}"));
  return 0;
}

}  // namespace tony
