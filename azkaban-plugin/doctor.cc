#include "azkaban-plugin/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "azkaban-plugin/doctor_parts.h"
#include "runtime/base/strings.h"
#include "runtime/client/command_line.h"
#include "runtime/store/files.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

void Add(Checks& all, Checks more) { std::ranges::move(more, std::back_inserter(all)); }

Result<ExecutorServer> Server(const CommandLine& line) {
  if (!line.Has("executor")) return ThisProcess();
  const auto pid = ParseInt(line.Value("executor"));
  if (!pid || *pid <= 0 || *pid > std::numeric_limits<pid_t>::max())
    return Error{ErrorCode::kUsage, StrCat("--executor ", line.Value("executor"), ": expected a process id")};
  return ReadExecutorServer(static_cast<pid_t>(*pid));
}

Check Folder(const Installation& installation) {
  if (installation.jobtypes.empty())
    return FailCheck("job types", "the executor server's folder is not to be seen by you",
                     "name the folder of job types, or run the doctor as root");
  const std::string path = installation.jobtypes.string();
  std::error_code error;
  const std::string advice =
      "name the folder of azkaban.jobtype.plugin.dir, or the executor server's process id with --executor";
  if (!fs::exists(installation.jobtypes, error) && !error)
    return FailCheck("job types", StrCat(path, ": no such folder"), advice);
  if (!error && !fs::is_directory(installation.jobtypes, error))
    return FailCheck("job types", StrCat(path, ": a file"), advice);
  if (const auto obstacle = Obstacle(installation.jobtypes, installation.server.user, R_OK | X_OK))
    return FailCheck("job types", StrCat(path, " cannot be read by ", installation.server.user.name, ": ", *obstacle),
                     "folders 0755");
  return OkCheck("job types", path);
}

Checks CheckInstallation(const Installation& installation, PluginFiles& files) {
  Checks all = {Folder(installation)};
  if (all.front().health == Health::kFail) return all;
  Add(all, CheckPluginFiles(installation, files));
  if (files.complete) {
    const auto meminfo = ReadFile("/proc/meminfo");
    Add(all, CheckServerProperties(files, meminfo.ok() ? FreeMemoryMb(*meminfo) : std::numeric_limits<int64_t>::max()));
    Add(all, CheckExecuteAsUser(installation, files));
    Add(all, CheckCommand(installation, files));
    Add(all, CheckPluginProperties(files));
    Add(all, CheckSiteDefaults(files));
  }
  Add(all, CheckJobtypes(installation));
  return all;
}

// Jobs of steps that run as their users lie in those users' homes, which are not known here, or in one folder of all.
Checks Home(const PluginFiles& files) {
  if (!files.complete || !files.ExecutesAsUser()) return CheckHome();
  if (const char* home = std::getenv("TONY_HOME"); home != nullptr) return CheckHomeOfAll(home);
  return {OkCheck("home", "~/.tony of each step's user, who must be able to write there; env.TONY_HOME sets another")};
}

// What the environment of a step has beside the server's.
std::map<std::string, std::string> StepVariables(const PluginFiles& files) {
  constexpr std::string_view kPrefix = "env.";
  std::map<std::string, std::string> variables;
  for (const auto& [key, property] : files.plugin.all()) {
    const std::string name = key.starts_with(kPrefix) ? key.substr(kPrefix.size()) : "";
    if (name.starts_with("TONY_") || name == "HOME") variables[name] = property.value;
  }
  return variables;
}

VerbSpec DoctorVerb() {
  return {"doctor",
          "[JOBTYPES_FOLDER]",
          0,
          1,
          "what stands in the way of steps of type=tony on this executor server, and what to do",
          {{"executor", OptionSpec::Kind::kValue, "PID", "judge for this executor server, its user and its folder"},
           {"json", OptionSpec::Kind::kFlag, "", "one JSON object on standard output"}}};
}

}  // namespace

Result<int> RunAzkabanDoctor(const std::vector<std::string>& arguments) {
  TRY_ASSIGN(const CommandLine line, CommandLine::Parse(DoctorVerb(), arguments));
  Installation installation;
  TRY_ASSIGN(installation.server, Server(line));
  installation.jobtypes = line.words().empty() ? JobtypesOf(installation.server) : fs::absolute(line.words().front());
  PluginFiles files;
  Checks all = CheckServer(installation.server);
  Add(all, CheckInstallation(installation, files));
  BecomeLike(installation.server, StepVariables(files));
  if (installation.server.user.uid != geteuid())
    all.push_back(WarnCheck("rights", StrCat("what follows is judged for you, not for ", installation.server.user.name),
                            "run the doctor as root or as that user"));
  Add(all, Home(files));
  for (const auto look : {CheckLedger, CheckLimits}) Add(all, look());
  return ReportChecks(all, line.Has("json"));
}

}  // namespace tony::azkaban
