// `tony plan`: prints the job that submit would run, with secrets masked. With --explain, prints the values of the job
// and their origins. With --task, prints the commands and the environment of one task. For a job on a cluster, the
// steps of a submit are printed on standard error.
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
#include "runtime/job/job_fields.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/start_program.h"
#include "runtime/records/staged_files.h"
#include "runtime/records/user_home.h"
#include "runtime/spec/job_spec_parser.h"
#include "runtime/staging/stage.h"

namespace tony {

void Fields(auto& io, Is<PlannedStep> auto& step) {
  io.Field("what", step.what);
  io.Field("text", step.text);
}

namespace {

// The text that `tony plan` prints for people.

// Returns a command of several lines as one line.
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
  TextTable table(
      {TextColumn("ROLE"), TextColumn("TASKS", 0, true), TextColumn("MEMORY", 1, true), TextColumn("CORES", 2, true),
       TextColumn("GPUS", 2, true), TextColumn("COMMAND", 0, false, kLeastCommand)},
      "  ");
  for (const RoleSpec& role : spec.roles)
    table.Add({role.name, StrCat(role.instances), StrCat(role.resources.memory_mb, " MB"),
               StrCat(role.resources.vcores), StrCat(role.resources.gpus),
               room.columns > 0 ? SafeLine(EachProcess(role)) : EachProcess(role)});
  std::string others;
  for (const RoleSpec& role : spec.roles)
    for (const auto& [type, amount] : role.resources.others)
      others += StrCat("  resource of each ", role.name, ": ", ToString(amount), " of ", type, "\n");
  for (const RoleSpec& role : spec.roles)
    if (!role.image.empty()) others += StrCat("  image of each ", role.name, ": ", role.image, "\n");
  for (const RoleSpec& role : spec.roles)
    if (!role.placement_spec.empty())
      others += StrCat("  placement of each ", role.name, ": ", role.placement_spec, "\n");
  if (!spec.yarn.placement_spec.empty()) others += StrCat("  placement of each task: ", spec.yarn.placement_spec, "\n");
  for (const RoleSpec& role : spec.roles)
    if (!role.allocation_tags.empty())
      others += StrCat("  allocation tags of each ", role.name, ": ", Join(role.allocation_tags, ", "), "\n");
  return table.Text(room) + others;
}

std::string Total(const JobSpec& spec) {
  int64_t memory = 0, cores = 0, gpus = 0;
  int at_once = 0;
  for (const RoleSpec& role : spec.roles) {
    memory += role.AtOnce() * role.resources.memory_mb;
    cores += int64_t{role.AtOnce()} * role.resources.vcores;
    gpus += int64_t{role.AtOnce()} * role.resources.gpus;
    at_once += role.AtOnce();
  }
  const int all = spec.TotalTasks();
  return StrCat("  in all ", Counted(all, "task"), at_once < all ? StrCat(", at most ", at_once, " at a time") : "",
                ", ", memory, " MB of memory, ", Counted(cores, "core"), ", ", Counted(gpus, "GPU"), "\n");
}

std::string FilesText(const JobSpec& spec, const SourceSummary& sources) {
  std::string text;
  if (!spec.src_dir.empty())
    text += StrCat("  program: ", spec.src_dir, ", copied into each task's folder", sources.folder.empty() ? "" : ": ",
                   AmountOf(sources), "\n");
  for (const std::string& line : LeftOutLines(sources)) text += StrCat("    ", line, "\n");
  if (!spec.python_venv.empty())
    text += StrCat("  python: ", spec.python_venv, ", as folder ", kVenvFolder, " of each task\n");
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

// Returns the text of a plan. The caller has already masked all secrets. If `room` has a width, the text is for a
// terminal: its lines fit the width, and it has no unsafe characters.
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

// Returns each configured value with the reason why it has no effect; the reason is empty if the value has an effect.
std::vector<std::pair<const ConfiguredValue*, std::string>> WithReasons(const ParsedJobSpec& parsed) {
  std::vector<std::pair<const ConfiguredValue*, std::string>> values;
  for (const ConfiguredValue& value : parsed.configuration) {
    const Key* row = FindKey(value.key);
    values.emplace_back(&value, row ? WhyNoEffect(*row, parsed.spec.scheduler) : "");
  }
  return values;
}

std::string Explain(const ParsedJobSpec& parsed) {
  std::string text;
  for (const auto& [value, why] : WithReasons(parsed))
    text += StrCat(value->key, " = ", OnOneLine(value->value), "  (", value->source, ")", why.empty() ? "" : "; ", why,
                   "\n");
  for (const std::string& line : CompletionLines(parsed.spec)) text += line + "\n";
  return text;
}

// Returns the task that --task names; nullopt without the option.
Result<std::optional<TaskId>> AskedTask(const CommandLine& line, const JobSpec& spec) {
  if (!line.Has("task")) return std::optional<TaskId>();
  const std::string text = line.Value("task");
  const auto task = ParseTaskId(text);
  const RoleSpec* role = task.ok() ? spec.FindRole(task->role) : nullptr;
  if (role && task->index < role->instances) return std::optional(*task);
  std::vector<std::string> roles;
  for (const RoleSpec& each : spec.roles)
    roles.push_back(StrCat(each.name, " (", Counted(each.instances, "task"), ")"));
  return Error{ErrorCode::kUsage, StrCat("--task ", text, ": the job has no such task; expected ROLE:INDEX, ",
                                         "and the roles are ", Join(roles, ", "))};
}

// Returns the plan of the task with secrets masked.
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

// Returns the commands of the task, one line for each process, each followed by the process's environment.
std::string Text(const PlannedTask& planned) {
  std::string text;
  for (const PlannedProcess& process : planned.processes) {
    text += OnOneLine(StrCat("in ", planned.directory, ": ", Join(process.argv, " "))) + "\n";
    for (const std::string& variable : process.environment) text += StrCat("  ", OnOneLine(variable), "\n");
  }
  return text;
}

void WriteTask(JsonWriter& io, const TaskId& task, const PlannedTask& planned) {
  std::vector<RawJson> processes;
  for (const PlannedProcess& process : planned.processes) {
    processes.push_back({WriteJsonObject([&](JsonWriter& of_process) {
      of_process.Field("argv", process.argv);
      of_process.Object("environment", [&](JsonWriter& environment) {
        for (const std::string_view variable : process.environment) {
          const size_t equals = variable.find('=');
          environment.Field(variable.substr(0, equals), variable.substr(equals + 1));
        }
      });
    })});
  }
  io.Object("task", [&](JsonWriter& of_task) {
    of_task.Field("task", task);
    of_task.Field("directory", planned.directory);
    of_task.Field("processes", processes);
  });
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
  // If $TONY_HOME lies inside src_dir, it is not copied.
  const auto home = NamedHome();
  TRY_ASSIGN(const PlannedSources sources,
             PlanSources(parsed.spec, home.ok() ? *home : std::filesystem::path(), parsed.is_tony_job));
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
    const std::string text = task ? Text(planned) : Explain(parsed);
    PrintAsIs(explain || task ? Fitted(text, room) : PlanText(shown, sources.summary, room));
    if (!explain && !task)
      for (const RoleSpec& role : parsed.spec.roles)
        if (!role.depends_on.empty())
          Say(StrCat("order: ", role.name, " starts after ", Join(AwaitedRoles(role), ", ")));
    if (!explain && steps.ok())
      for (const PlannedStep& step : *steps) Say(StrCat(step.what, ": ", step.text));
    if (!line.words().empty() && line.words().front() != "-")
      SuggestNext(line, {StrCat("submit ", line.words().front())});
    return 0;
  }
  PrintLine(WriteJsonObject([&](JsonWriter& io) {
    Schema(io, 1);
    io.Field("spec", RawJson{ToJson(shown)});
    io.Field("warnings", parsed.warnings);
    io.Field("steps", steps.ok() ? *steps : PlannedSteps());
    if (explain) {
      io.Field("configuration", RawJson{ToJson(parsed.configuration)});
      io.Object("without_effect", [&](JsonWriter& reasons) {
        for (const auto& [value, why] : WithReasons(parsed)) reasons.IfSet(value->key, why);
      });
      io.Field("completion", CompletionLines(parsed.spec));
    }
    if (task) WriteTask(io, *task, planned);
    if (!sources.summary.folder.empty()) io.Field("sources", RawJson{SourceJson(sources.summary)});
  }));
  return 0;
}

}  // namespace tony
