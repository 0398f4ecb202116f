#include "runtime/cli/plan_text.h"

#include <algorithm>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/output.h"
#include "runtime/cli/source_report.h"

namespace tony {
namespace {

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

}  // namespace

std::string OnOneLine(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

std::string PlanText(const JobSpec& spec, const SourceSummary& sources, const TableRoom& room) {
  const std::string place = spec.scheduler == "local" ? "on this machine" : StrCat("by ", spec.scheduler);
  const std::string head = StrCat("job ", spec.name, ", ", ToString(spec.framework), ", ", place, "\n");
  const std::string tail = StrCat(Total(spec), FilesText(spec, sources), VariablesText(spec), LimitsText(spec));
  return Fitted(head, room) + RolesTable(spec, room) + Fitted(tail, room);
}

}  // namespace tony
