// `tony plan`: the job as submit would run it, with secrets masked, for a person; with --explain the values it was made
// of, and where they come from; with --task the commands and the environment of one of its tasks. On standard error:
// what a submit would have a cluster do.
#include <algorithm>

#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/next_steps.h"
#include "runtime/cli/output.h"
#include "runtime/cli/plan_text.h"
#include "runtime/cli/source_report.h"
#include "runtime/cli/spec_input.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/submit_job.h"
#include "runtime/config/keys.h"
#include "runtime/framework/planned_task.h"
#include "runtime/job/completion_text.h"
#include "runtime/job/dependencies.h"
#include "runtime/os/start_program.h"
#include "runtime/records/user_home.h"
#include "runtime/spec/configuration_json.h"
#include "runtime/staging/stage.h"

namespace tony {
namespace {

void Mask(std::map<std::string, std::string>& environment) {
  for (auto& [name, value] : environment) {
    if (IsSecretName(name)) value = kMask;
  }
}

// Empty: it has an effect, or is not one of our keys.
std::string ReasonOf(const ConfiguredValue& value, const std::string& scheduler) {
  const Key* row = FindKey(value.key);
  return row ? WhyNoEffect(*row, scheduler) : "";
}

std::string Explain(const Configuration& configuration, const JobSpec& spec) {
  std::string text;
  for (const ConfiguredValue& value : configuration) {
    const std::string why = ReasonOf(value, spec.scheduler);
    text +=
        StrCat(value.key, " = ", OnOneLine(value.value), "  (", value.source, ")", why.empty() ? "" : "; ", why, "\n");
  }
  for (const std::string& line : CompletionLines(spec)) text += line + "\n";
  return text;
}

// {"key":"why it has no effect",...}
std::string WithoutEffect(const Configuration& configuration, const std::string& scheduler) {
  std::vector<std::string> members;
  for (const ConfiguredValue& value : configuration) {
    const std::string why = ReasonOf(value, scheduler);
    if (!why.empty()) members.push_back(StrCat(JsonString(value.key), ":", JsonString(why)));
  }
  return StrCat("{", Join(members, ","), "}");
}

std::string ExplanationJson(const Configuration& configuration, const JobSpec& spec) {
  std::vector<std::string> completion;
  for (const std::string& line : CompletionLines(spec)) completion.push_back(JsonString(line));
  return StrCat(R"(,"configuration":)", ToJson(configuration), R"(,"without_effect":)",
                WithoutEffect(configuration, spec.scheduler), R"(,"completion":[)", Join(completion, ","), "]");
}

std::string Json(const PlannedSteps& steps) {
  std::vector<std::string> all;
  for (const PlannedStep& step : steps)
    all.push_back(StrCat(R"({"what":)", JsonString(step.what), R"(,"text":)", JsonString(step.text), "}"));
  return StrCat("[", Join(all, ","), "]");
}

// Nothing: none was asked for.
Result<std::optional<TaskId>> AskedTask(const CommandLine& line, const JobSpec& spec) {
  if (!line.Has("task")) return std::optional<TaskId>();
  const std::string text = line.Value("task");
  const auto task = ParseTaskId(text);
  const RoleSpec* role = task.ok() ? spec.FindRole(task->role) : nullptr;
  if (role && task->index < role->instances) return std::optional(*task);
  std::vector<std::string> roles;
  for (const RoleSpec& each : spec.roles) roles.push_back(StrCat(each.instances, " ", each.name));
  return Error{ErrorCode::kUsage,
               StrCat("--task ", text, ": no task of the job; expected ROLE:INDEX of ", Join(roles, ", "))};
}

// Without what is masked.
PlannedTask Plan(const ParsedJobSpec& parsed, const TaskId& task, const Backend& backend) {
  PlannedNode node{.host = "<host>"};
  if (backend.keeps_programs()) node = {kLoopback, OwnEnvironment(), true};
  std::vector<std::string> secrets;
  for (const auto& [name, value] : parsed.secrets) secrets.push_back(StrCat(name, "=", value));
  PlannedTask planned = PlanTask(parsed.spec, task, node, secrets);
  for (PlannedProcess& process : planned.processes)
    for (std::string& variable : process.environment) {
      const std::string name = variable.substr(0, variable.find('='));
      if (parsed.secrets.contains(name) || IsSecretName(name)) variable = StrCat(name, "=", kMask);
    }
  return planned;
}

std::string Json(const PlannedProcess& process) {
  std::vector<std::string> words, variables;
  for (const std::string& word : process.argv) words.push_back(JsonString(word));
  for (const std::string& variable : process.environment) {
    const size_t equals = variable.find('=');
    variables.push_back(StrCat(JsonString(variable.substr(0, equals)), ":", JsonString(variable.substr(equals + 1))));
  }
  return StrCat(R"({"argv":[)", Join(words, ","), R"(],"environment":{)", Join(variables, ","), "}}");
}

// ,"task":{...}
std::string Json(const TaskId& task, const PlannedTask& planned) {
  std::vector<std::string> processes;
  for (const PlannedProcess& process : planned.processes) processes.push_back(Json(process));
  return StrCat(R"(,"task":{"task":)", JsonString(ToString(task)), R"(,"directory":)", JsonString(planned.directory),
                R"(,"processes":[)", Join(processes, ","), "]}");
}

// The command of each process in a line, and what it finds in its environment.
std::string Text(const PlannedTask& planned) {
  std::string text;
  for (const PlannedProcess& process : planned.processes) {
    text += OnOneLine(StrCat("in ", planned.directory, ": ", Join(process.argv, " "))) + "\n";
    for (const std::string& variable : process.environment) text += StrCat("  ", OnOneLine(variable), "\n");
  }
  return text;
}

}  // namespace

Result<int> RunPlan(const CommandLine& line) {
  TRY_ASSIGN(ParsedJobSpec parsed, ReadJobSpec(line));
  TRY_ASSIGN(const Backend* const backend, BackendFor(parsed));
  if (const auto checked = backend->Check(parsed, CheckFor::kPlan); !checked.ok())
    parsed.warnings.push_back(checked.error().message);
  const auto steps = backend->Plan(parsed);
  if (!steps.ok() && std::ranges::count(parsed.warnings, steps.error().message) == 0)
    parsed.warnings.push_back(steps.error().message);
  // A home in src_dir is left out.
  const auto home = NamedHome();
  TRY_ASSIGN(const PlannedSources sources,
             PlanSources(parsed.spec, home.ok() ? *home : std::filesystem::path(), parsed.is_of_tonys));
  parsed.warnings.insert(parsed.warnings.end(), sources.warnings.begin(), sources.warnings.end());
  if (line.Has("strict")) TRY(NoWarnings(parsed.warnings));
  TRY_ASSIGN(const auto task, AskedTask(line, parsed.spec));
  const PlannedTask planned = task ? Plan(parsed, *task, *backend) : PlannedTask();
  JobSpec shown = parsed.spec;
  Mask(shown.execution_env);
  Mask(shown.container_env);
  for (const std::string& warning : parsed.warnings) Say(StrCat("tony: warning: ", warning));
  const bool explain = line.Has("explain");
  if (!line.Has("json")) {
    TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
    const std::string text = task ? Text(planned) : Explain(parsed.configuration, parsed.spec);
    PrintAsIs(explain || task ? Fitted(text, room) : PlanText(shown, sources.summary, room));
    if (!explain && !task)
      for (const RoleSpec& role : parsed.spec.roles)
        if (!role.depends_on.empty()) Say(StrCat("order: ", role.name, " after ", Join(WaitsFor(role), ", ")));
    if (!explain && steps.ok())
      for (const PlannedStep& step : *steps) Say(StrCat(step.what, ": ", step.text));
    if (!line.words().empty() && line.words().front() != "-") SayNext(line, {StrCat("submit ", line.words().front())});
    return 0;
  }
  const bool is_folder = !sources.summary.folder.empty();
  std::vector<std::string> warnings;
  for (const std::string& warning : parsed.warnings) warnings.push_back(JsonString(warning));
  PrintLine(StrCat(R"({"schema":1,"spec":)", ToJson(shown), R"(,"warnings":[)", Join(warnings, ","), R"(],"steps":)",
                   steps.ok() ? Json(*steps) : "[]", explain ? ExplanationJson(parsed.configuration, parsed.spec) : "",
                   task ? Json(*task, planned) : "", is_folder ? R"(,"sources":)" : "", SourceJson(sources.summary),
                   "}"));
  return 0;
}

}  // namespace tony
