// `tony plan`: the job as submit would run it, with secrets masked, for a person; with --explain the values it was made
// of, and where they come from; with --task the commands and the environment of one of its tasks. On standard error:
// what a submit would have a cluster do.
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/submit_job.h"
#include "runtime/config/keys.h"
#include "runtime/framework/task_command.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"
#include "runtime/os/start_program.h"
#include "runtime/records/staged_files.h"
#include "runtime/records/user_home.h"
#include "runtime/spec/job_spec_parser.h"
#include "runtime/staging/stage.h"

namespace tony {
namespace {

// What `tony plan` tells a person of the job that submit would run.

// A command of several lines, as one.
std::string OnOneLine(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

std::string EachProcess(const RoleSpec& role) {
  return role.processes > 1 ? StrCat(role.processes, " times: ", OnOneLine(role.command)) : OnOneLine(role.command);
}

std::string RolesTable(const JobSpec& spec, const TableRoom& room) {
  constexpr size_t kLeastCommand = 20;
  TextTable table({{"ROLE"},
                   {"TASKS", 0, true},
                   {"MEMORY", 1, true},
                   {"CORES", 2, true},
                   {"GPUS", 2, true},
                   {"COMMAND", 0, false, kLeastCommand}},
                  "  ");
  for (const RoleSpec& role : spec.roles)
    table.Add({role.name, StrCat(role.instances), StrCat(role.resources.memory_mb, " MB"),
               StrCat(role.resources.vcores), StrCat(role.resources.gpus),
               room.columns > 0 ? SafeLine(EachProcess(role)) : EachProcess(role)});
  return table.Text(room);
}

std::string Total(const JobSpec& spec) {
  int64_t memory = 0, cores = 0, gpus = 0;
  for (const RoleSpec& role : spec.roles) {
    memory += role.instances * role.resources.memory_mb;
    cores += int64_t{role.instances} * role.resources.vcores;
    gpus += int64_t{role.instances} * role.resources.gpus;
  }
  return StrCat("  in all ", Counted(spec.TotalTasks(), "task"), ", ", memory, " MB of memory, ",
                Counted(cores, "core"), ", ", Counted(gpus, "GPU"), "\n");
}

std::string FilesText(const JobSpec& spec, const SourceSummary& sources) {
  std::string text;
  if (!spec.src_dir.empty())
    text += StrCat("  program: ", spec.src_dir, ", copied into each task's folder", sources.folder.empty() ? "" : ": ",
                   AmountOf(sources), "\n");
  for (const std::string& line : LeftOutLines(sources)) text += StrCat("    ", line, "\n");
  if (!spec.python_venv.empty()) text += StrCat("  python: ", spec.python_venv, ", as ", kVenvFolder, " there\n");
  for (const FileSpec& file : spec.files)
    text += StrCat("  file: ", file.source, file.name.empty() ? "" : StrCat(" as ", file.name), "\n");
  for (const RoleSpec& role : spec.roles)
    for (const FileSpec& file : role.files)
      text +=
          StrCat("  file of ", role.name, ": ", file.source, file.name.empty() ? "" : StrCat(" as ", file.name), "\n");
  return text;
}

std::string VariablesText(const JobSpec& spec) {
  auto variables = spec.container_env;
  for (const auto& [name, value] : spec.execution_env) variables[name] = value;
  std::string text;
  for (const auto& [name, value] : variables) text += StrCat("  variable: ", name, "=", OnOneLine(value), "\n");
  return text;
}

std::string LimitsText(const JobSpec& spec) {
  std::string text;
  if (spec.timeout.count() > 0) text += StrCat("  ends after ", HumanDuration(spec.timeout), " at the latest\n");
  if (!spec.checkpoint.directory.empty()) text += StrCat("  checkpoints: ", spec.checkpoint.directory, "\n");
  for (size_t i = 0; i < kRestartScopes; ++i)
    if (spec.restart.levels[i].most > 0)
      text += StrCat("  restarts of a ", ToString(static_cast<RestartScope>(i)), ": at most ",
                     spec.restart.levels[i].most, "\n");
  for (const RoleSpec& role : spec.roles)
    if (role.restarts) text += StrCat("  restarts of ", role.name, ": at most ", *role.restarts, "\n");
  return text;
}

// Secrets are masked by the caller. Where there is a limit to the room it is clean for a terminal.
std::string PlanText(const JobSpec& spec, const SourceSummary& sources, const TableRoom& room) {
  const std::string place = spec.scheduler == "local" ? "on this machine" : StrCat("by ", spec.scheduler);
  const std::string head = StrCat("job ", spec.name, ", ", ToString(spec.framework), ", ", place, "\n");
  const std::string tail = StrCat(Total(spec), FilesText(spec, sources), VariablesText(spec), LimitsText(spec));
  return Fitted(head, room) + RolesTable(spec, room) + Fitted(tail, room);
}

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
