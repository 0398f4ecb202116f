#include "azkaban-plugin/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "azkaban-plugin/doctor_parts.h"
#include "runtime/base/strings.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/os/files.h"

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
  const std::string advice =
      "name the folder of azkaban.jobtype.plugin.dir, or the executor server's process id with --executor";
  const Sight sight = SightOf(installation.jobtypes);
  if (sight.kind == Sight::Kind::kMissing) return FailCheck("job types", StrCat(path, ": no such folder"), advice);
  if (sight.kind == Sight::Kind::kHidden) {
    Check hidden = HiddenCheck("job types", installation.jobtypes, sight, installation.server.user);
    hidden.health = Health::kFail;  // nothing can be said of the rest
    return hidden;
  }
  std::error_code error;
  if (!fs::is_directory(installation.jobtypes, error)) return FailCheck("job types", StrCat(path, ": a file"), advice);
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
    Add(all, CheckHadoop(installation, files));
    Add(all, CheckPluginProperties(files));
    Add(all, CheckSiteDefaults(files));
  }
  Add(all, CheckJobtypes(installation));
  return all;
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

// Where the jobs of all users are to lie; empty: in each user's own home.
fs::path HomeOfAll(const ExecutorServer& server, const PluginFiles& files) {
  const auto variables = StepVariables(files);
  if (const auto set = variables.find("TONY_HOME"); set != variables.end()) return set->second;
  return server.Variable("TONY_HOME");
}

Checks StepUsers(const std::vector<std::string>& names, const Installation& installation, const PluginFiles& files) {
  if (!files.complete) return {};
  if (!files.ExecutesAsUser()) {
    if (names.empty()) return {};
    return {
        WarnCheck("users", StrCat("all steps run as ", installation.server.user.name, ", so --user says nothing"), "")};
  }
  Checks checks;
  const fs::path home_of_all = HomeOfAll(installation.server, files);
  for (const std::string& name : names) Add(checks, CheckStepUser(name, files, home_of_all));
  if (names.empty() && home_of_all.empty())
    checks.push_back(WarnCheck("users",
                               "steps run as their users, whose jobs lie in ~/.tony, and no user was named: nobody's "
                               "home was looked at",
                               "name them: --user NAME for each; env.TONY_HOME is one folder for all of them"));
  return checks;
}

// Of steps that do not run as their users; or one folder that has the homes of all of them.
Checks Home(const PluginFiles& files) {
  if (!files.complete || !files.ExecutesAsUser()) return CheckHome();
  if (const char* home = std::getenv("TONY_HOME"); home != nullptr) return CheckHomeOfAll(home);
  return {};
}

}  // namespace

VerbSpec DoctorVerb() {
  return {"doctor",
          "[JOBTYPES_FOLDER]",
          0,
          1,
          "what stands in the way of steps of type=tony on this executor server, and what to do",
          {{"executor", OptionSpec::Kind::kValue, "PID", "judge for this executor server, its user and its folder"},
           {"user", OptionSpec::Kind::kRepeated, "NAME", "a user that steps run as, under execute-as-user"},
           {"json", OptionSpec::Kind::kFlag, "", "one JSON object on standard output"}}};
}

Result<int> RunAzkabanDoctor(const std::vector<std::string>& arguments) {
  TRY_ASSIGN(const CommandLine line, CommandLine::Parse(DoctorVerb(), arguments));
  Installation installation;
  TRY_ASSIGN(installation.server, Server(line));
  installation.jobtypes = line.words().empty() ? JobtypesOf(installation.server) : fs::absolute(line.words().front());
  PluginFiles files;
  Checks all = CheckServer(installation.server);
  Add(all, CheckInstallation(installation, files));
  Add(all, StepUsers(line.Values("user"), installation, files));
  BecomeLike(installation.server, StepVariables(files));
  if (installation.server.user.uid != geteuid())
    all.push_back(WarnCheck("rights", StrCat("what follows is judged for you, not for ", installation.server.user.name),
                            "run the doctor as root or as that user"));
  Add(all, Home(files));
  Add(all, DefaultBackend().operations().Doctor());
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  return ReportChecks(all, line.Has("json"), room);
}

}  // namespace tony::azkaban
