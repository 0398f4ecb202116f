#include "azkaban-plugin/doctor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>

#include "azkaban-plugin/install.h"
#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"
#include "runtime/os/users.h"
#include "runtime/records/user_home.h"

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
    return FailCheck("job types", "you have no permission to see the executor server's folder",
                     "name the folder of job types, or run the doctor as root");
  const std::string path = installation.jobtypes.string();
  const std::string advice =
      "pass the folder that azkaban.jobtype.plugin.dir names, or the executor server's process id with --executor";
  const PathVisibility sight = PathVisibilityOf(installation.jobtypes);
  if (sight.kind == PathVisibility::Kind::kMissing)
    return FailCheck("job types", StrCat(path, ": no such folder"), advice);
  if (sight.kind == PathVisibility::Kind::kHidden) {
    Check hidden = HiddenCheck("job types", installation.jobtypes, sight, installation.server.user);
    // The check fails even where HiddenCheck() returns only a warning, because all further checks need this folder.
    hidden.health = Health::kFail;
    return hidden;
  }
  std::error_code error;
  if (!fs::is_directory(installation.jobtypes, error))
    return FailCheck("job types", StrCat(path, ": the path is a file; expected a folder"), advice);
  if (const auto obstacle = Obstacle(installation.jobtypes, installation.server.user, R_OK | X_OK))
    return FailCheck("job types", StrCat(path, " cannot be read by ", installation.server.user.name, ": ", *obstacle),
                     "give it and the folders above it mode 0755");
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

// Returns the variables TONY_* and HOME that the plugin adds to a step's environment.
std::map<std::string, std::string> StepVariables(const PluginFiles& files) {
  constexpr std::string_view kPrefix = "env.";
  std::map<std::string, std::string> variables;
  for (const auto& [key, property] : files.plugin.all()) {
    const std::string name = key.starts_with(kPrefix) ? key.substr(kPrefix.size()) : "";
    if (name.starts_with("TONY_") || name == "HOME") variables[name] = property.value;
  }
  return variables;
}

Checks StepUsers(const std::vector<std::string>& names, const Installation& installation, const PluginFiles& files) {
  if (!files.complete) return {};
  if (!files.ExecutesAsUser()) {
    if (names.empty()) return {};
    return {WarnCheck("users", StrCat("all steps run as ", installation.server.user.name, ", so --user has no effect"),
                      "")};
  }
  Checks checks;
  // `home_of_all` is the folder for the jobs of all users. The path is empty if the jobs are in each user's own home.
  const auto variables = StepVariables(files);
  const auto set = variables.find("TONY_HOME");
  const fs::path home_of_all = set != variables.end() ? set->second : installation.server.Variable("TONY_HOME");
  for (const std::string& name : names) Add(checks, CheckStepUser(name, files, home_of_all));
  if (names.empty() && home_of_all.empty())
    checks.push_back(WarnCheck("users",
                               "no home was checked: each step runs as its own user, jobs are in the user's "
                               "~/.tony, and no user was named",
                               "name each user with --user NAME, or set env.TONY_HOME to one folder for all users"));
  return checks;
}

// Checks the home of the jobs if all steps run as one user. Otherwise checks the folder with the homes of all users.
Checks Home(const PluginFiles& files) {
  if (!files.complete || !files.ExecutesAsUser()) return CheckHome();
  if (const char* home = std::getenv("TONY_HOME"); home != nullptr) return CheckHomeOfAll(home);
  return {};
}

constexpr const char* kFirstGpu = "/dev/nvidia0";

// Returns the program that the property `command` runs, or an error that describes the mistake in the property.
Result<fs::path> Adapter(const Installation& installation, const PluginFiles& files) {
  const auto wrong = [](std::string text) { return Error{ErrorCode::kInvalid, std::move(text)}; };
  const Property* command = files.plugin.Find("command");
  if (command == nullptr || Trim(command->value).empty()) return wrong(StrCat("not set in ", kPluginFile));
  std::string path(Trim(command->value));
  std::error_code error;
  if (path.starts_with(kOwnFolder))
    path = fs::weakly_canonical(installation.folder(), error).string() + path.substr(kOwnFolder.size());
  if (error) return wrong(StrCat("inspect ", installation.folder().string(), ": ", error.message()));
  if (path.find(' ') != std::string::npos)
    return wrong(StrCat("\"", path, "\" contains a blank, at which Azkaban splits the command; ", kAdapter,
                        " needs no arguments"));
  if (!MayStandInCommand(path)) return wrong(StrCat("\"", path, "\" contains characters that Azkaban changes"));
  if (!path.starts_with('/'))
    return wrong(StrCat("\"", path, "\" is not an absolute path: Azkaban would search for it in PATH"));
  return fs::path(path);
}

// Checks whether the user of the steps can run the program. Under execute.as.user that can be any user, otherwise the
// server's user.
Check Runnable(const std::string& name, const fs::path& program, const Installation& installation, bool as_anybody) {
  const User& user = installation.server.user;
  const PathVisibility sight = PathVisibilityOf(program);
  if (sight.kind == PathVisibility::Kind::kMissing)
    return FailCheck(name, StrCat(program.string(), ": no such file"), "install all programs of TonY into one folder");
  if (sight.kind == PathVisibility::Kind::kHidden) return HiddenCheck(name, program, sight, user);
  if (const auto obstacle = Obstacle(program, user, X_OK))
    return FailCheck(name, StrCat(program.string(), " cannot be run by ", user.name, ": ", *obstacle),
                     "give the programs and the folders above them mode 0755");
  const auto obstacle = Obstacle(program, Anybody(), X_OK);
  if (!obstacle) return OkCheck(name, program.string());
  Check check = WarnCheck(name, StrCat(program.string(), ": some users cannot run this program: ", *obstacle),
                          "give the programs and the folders above them mode 0755");
  if (as_anybody) check.health = Health::kFail;
  return check;
}

bool IsOnYarn(const Properties& plugin) {
  const Property* scheduler = plugin.Find("tony.scheduler");
  return scheduler != nullptr && Trim(scheduler->value) == "yarn";
}

// Returns a failed check if every step needs a cluster. Otherwise returns a warning, because some steps may need a
// cluster.
Check YarnCheck(const PluginFiles& files, std::string name, std::string text, std::string advice) {
  Check check = WarnCheck(std::move(name), std::move(text), std::move(advice));
  if (IsOnYarn(files.plugin)) check.health = Health::kFail;
  return check;
}

User WhoRunsSteps(const Installation& installation, const PluginFiles& files) {
  return files.ExecutesAsUser() ? Anybody() : installation.server.user;
}

bool MayRead(const fs::path& path, const User& user) {
  const PathVisibility sight = PathVisibilityOf(path);
  return sight.kind == PathVisibility::Kind::kHidden ||
         (sight.kind == PathVisibility::Kind::kThere && !Obstacle(path, user, R_OK));
}

// A missing file is a problem only if every step needs it. If the file exists and the steps' user cannot read it, steps
// on YARN would fail, so the file is reported even if not every step needs it.
std::optional<Check> CheckYarnFile(const fs::path& folder, const User& user, const PluginFiles& files) {
  const fs::path file = folder / kYarnFile;
  std::error_code error;
  if (MayRead(file, user) || (!IsOnYarn(files.plugin) && !fs::exists(file, error))) return std::nullopt;
  return YarnCheck(files, "programs",
                   StrCat(file.string(), ": no such file, or not readable by ", user.name,
                          "; a step with tony.scheduler=yarn needs this file"),
                   "install all programs of TonY into one folder");
}

// Under execute-as-user, steps run as several users. The checks of these users read file modes, because this process
// cannot become those users.

constexpr const char* kRefusedUsers = "root,azkaban";  // Azkaban's default

struct StepUser {
  User user;
  fs::path folder;
};

Result<std::optional<StepUser>> FindStepUser(const std::string& name) {
  TRY_ASSIGN(const auto found, FindUser(name));
  if (!found) return std::optional<StepUser>();
  TRY_ASSIGN(auto groups, GroupsOf(*found));
  return std::optional(StepUser{{found->uid, std::move(groups), false, name}, found->folder});
}

bool IsRefused(const std::string& name, const PluginFiles& files) {
  const auto names = Split(files.ServerValue("azkaban.server.blacklist.users", kRefusedUsers), ',');
  return std::ranges::find(names, name) != names.end();
}

// Returns true if this process can find out by a test file whether the user may write to `home`. The user's own
// processes and root can create the file, except that root cannot if `home` is on another machine's disk.
bool CanTry(const fs::path& home, const User& user) {
  const auto system = FileSystemOf(home);
  return geteuid() == user.uid || (geteuid() == 0 && system.ok() && !system->network);
}

// Checks that the modes of `home` allow any user to make a folder there, including users that are not known yet.
Checks CheckOpen(const fs::path& home) {
  const std::string make = StrCat("as root: install -d -m 1777 ", home.string());
  const PathVisibility sight = PathVisibilityOf(home);
  if (sight.kind == PathVisibility::Kind::kHidden)
    return {FailCheck("home", StrCat("not every user can have a folder in ", home.string(), ": ", sight.closed),
                      "give the folders above it mode 0755")};
  struct stat info {};
  if (sight.kind == PathVisibility::Kind::kMissing || stat(home.c_str(), &info) != 0) {
    return {FailCheck(
        "home",
        StrCat(
            home.string(),
            " does not exist: the first user's job would create the folder, and other users could not write into it"),
        make)};
  }
  if (!S_ISDIR(info.st_mode)) return {FailCheck("home", home.string() + " is not a folder", make)};
  const std::string mend = StrCat("run as its owner or as root: chmod 1777 ", home.string());
  if (const auto obstacle = Obstacle(home, Anybody(), W_OK | X_OK))
    return {FailCheck("home", StrCat("not every user can have a folder in ", home.string(), ": ", *obstacle),
                      obstacle->starts_with(home.string() + " ") ? mend : "give the folders above it mode 0755")};
  if ((info.st_mode & S_ISVTX) == 0)
    return {FailCheck("home", home.string() + " has no sticky bit: users could replace each other's folders", mend)};
  if (info.st_uid == 0) return {};
  return {WarnCheck("home",
                    StrCat(UserText(info.st_uid), ", who owns ", home.string(),
                           ", can replace the folders of other users there"),
                    StrCat("as root: chown root ", home.string()))};
}

// Returns a failed check for each user whose jobs are refused because another user owns the folder of this user. The
// name of a user's folder is the user's number.
Checks CheckTaken(const fs::path& home) {
  Checks taken;
  std::error_code error;
  for (fs::directory_iterator entry(home, error), end; !error && entry != end; entry.increment(error)) {
    const auto user = ParseInt(entry->path().filename().string());
    if (!user || *user <= 0) continue;
    const auto found = FindHome(home, static_cast<uid_t>(*user));
    if (!found.ok()) taken.push_back(FailCheck("home", found.error().message, ""));
  }
  return taken;
}

}  // namespace

VerbSpec DoctorVerb() {
  return {"doctor",
          "[JOBTYPES_FOLDER]",
          0,
          1,
          "show what prevents steps of type=tony on this executor server, and how to fix it",
          {{"executor", OptionSpec::Kind::kValue, "PID",
            "process id of the executor server: the checks use the server's user and folder"},
           {"user", OptionSpec::Kind::kRepeated, "NAME", "a user that steps run as, if execute-as-user is on"},
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
    all.push_back(WarnCheck(
        "rights", StrCat("the following checks use your permissions, not those of ", installation.server.user.name),
        "run the doctor as root or as that user"));
  Add(all, Home(files));
  Add(all, DefaultBackend().operations().Doctor());
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  return ReportChecks(all, line.Has("json"), room);
}

Checks CheckHadoop(const Installation& installation, const PluginFiles& files) {
  const std::string name = "HADOOP_CONF_DIR", variable = StrCat("env.", name);
  const Property* own = files.plugin.Find(variable);
  const std::string folder = own != nullptr ? own->value : installation.server.Variable(name);
  if (folder.find("${") != std::string::npos) return {};
  if (folder.empty()) {
    const bool is_named = files.plugin.Find("tony.application.yarn-conf-path") != nullptr;
    if (!IsOnYarn(files.plugin) || is_named || !installation.server.environment_known) return {};
    return {FailCheck(name, "not set, and every step has tony.scheduler=yarn",
                      StrCat("set ", variable, "=/etc/hadoop/conf in ", kPluginFile))};
  }
  const User user = WhoRunsSteps(installation, files);
  for (const char* file : {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"})
    if (!MayRead(fs::path(folder) / file, user))
      return {YarnCheck(files, name, StrCat(folder, "/", file, ": no such file, or not readable by ", user.name),
                        "a step with tony.scheduler=yarn reads its cluster's configuration from this folder")};
  return {OkCheck(name, folder)};
}

Checks CheckCommand(const Installation& installation, const PluginFiles& files) {
  const auto adapter = Adapter(installation, files);
  if (!adapter.ok())
    return {FailCheck("command", adapter.error().message,
                      StrCat(kAdapter, " install ", installation.jobtypes.string(), " sets the command"))};
  Checks checks = {Runnable("command", *adapter, installation, files.ExecutesAsUser())};
  if (checks.front().health == Health::kFail || PathVisibilityOf(*adapter).kind != PathVisibility::Kind::kThere)
    return checks;
  if (!IsSameProgram(SiblingProgram(kAdapter), *adapter))
    checks.push_back(WarnCheck(
        "command",
        StrCat("the build of the installed program differs from the build of this doctor, ", SiblingProgram(kAdapter)),
        "run the doctor of the installed program, or install again"));
  for (const std::string_view name : kPrograms) {
    Check check = Runnable("programs", adapter->parent_path() / name, installation, files.ExecutesAsUser());
    if (check.health != Health::kOk) checks.push_back(std::move(check));
  }
  std::error_code error;
  const fs::path gpu_twin = adapter->parent_path() / kGpuExecutor;
  const bool has_gpu_twin = fs::exists(gpu_twin, error);
  if (!has_gpu_twin && fs::exists(kFirstGpu, error))
    checks.push_back(WarnCheck("programs",
                               StrCat(gpu_twin.string(),
                                      ": no such file, so the use of this machine's GPU "
                                      "is not measured"),
                               "install all programs of TonY into one folder"));
  if (auto yarn = CheckYarnFile(adapter->parent_path(), WhoRunsSteps(installation, files), files))
    checks.push_back(*std::move(yarn));
  if (checks.size() == 1) {
    std::vector<std::string> names(std::begin(kPrograms), std::end(kPrograms));
    if (has_gpu_twin) names.emplace_back(kGpuExecutor);
    checks.push_back(OkCheck("programs", StrCat(Join(names, ", "), " next to ", kAdapter)));
  }
  return checks;
}

Checks CheckExecuteAsUser(const Installation& installation, const PluginFiles& files) {
  if (!files.ExecutesAsUser())
    return {OkCheck("execute.as.user", StrCat("false: steps run as ", installation.server.user.name))};
  const std::string advice = StrCat(
      "install Azkaban's execute-as-user in the folder that azkaban.native.lib names; or, if all jobs may run as ",
      installation.server.user.name, ", set execute.as.user=false in ", kPrivateFile);
  const std::string folder = files.ServerValue("azkaban.native.lib", "");
  if (folder.empty())
    return {FailCheck("execute.as.user",
                      "true (Azkaban's default), and azkaban.native.lib is not set: every step fails", advice)};
  const fs::path helper = installation.server.folder / folder / "execute-as-user";
  const PathVisibility sight = PathVisibilityOf(helper);
  if (sight.kind == PathVisibility::Kind::kMissing)
    return {FailCheck("execute.as.user", StrCat(helper.string(), ": no such file"), advice)};
  struct stat status = {};
  if (sight.kind == PathVisibility::Kind::kHidden || stat(helper.c_str(), &status) != 0)
    return {HiddenCheck("execute.as.user", helper, sight, installation.server.user)};
  if (status.st_uid != 0 || (status.st_mode & S_ISUID) == 0)
    return {FailCheck("execute.as.user", StrCat(helper.string(), " is not setuid root: it cannot become another user"),
                      StrCat("chown root ", helper.string(), " && chmod 6050 ", helper.string()))};
  if (const auto obstacle = Obstacle(helper, installation.server.user, X_OK))
    return {FailCheck("execute.as.user",
                      StrCat(helper.string(), " cannot be run by ", installation.server.user.name, ": ", *obstacle),
                      StrCat("give it the group of ", installation.server.user.name, " and mode 6050"))};
  return {OkCheck("execute.as.user", StrCat("true: steps run as their users, by ", helper.string()))};
}

Checks CheckStepUser(const std::string& name, const PluginFiles& files, const fs::path& home_of_all) {
  const std::string title = StrCat("user ", name);
  if (IsRefused(name, files))
    return {FailCheck(title, "Azkaban runs no step as this user (azkaban.server.blacklist.users)", "")};
  const auto answer = FindStepUser(name);
  if (!answer.ok())
    return {
        FailCheck(title, answer.error().message, "check that the directory service with this machine's users works")};
  const auto& account = *answer;
  if (!account)
    return {FailCheck(title, "no such user on this machine: every step of this user fails",
                      "give the user an account here, or let the flow set user.to.proxy to a user that has one")};
  const fs::path named = home_of_all.empty() ? account->folder / ".tony" : home_of_all;
  const PathVisibility sight = PathVisibilityOf(named);
  if (sight.kind == PathVisibility::Kind::kHidden) return {HiddenCheck(title, named, sight, account->user)};
  const auto home = FindHome(named, account->user.uid);
  if (!home.ok()) return {FailCheck(title, home.error().message, "")};
  const fs::path there = NearestExisting(home->path);
  if (const auto obstacle = Obstacle(there, account->user, W_OK | X_OK))
    return {FailCheck(
        title, StrCat("cannot have jobs in ", home->path.string(), ": ", *obstacle),
        home_of_all.empty()
            ? StrCat("as root: install -d -m 0700 -o ", name, " ", account->folder.string(),
                     "; or name one folder for the jobs of all users as env.TONY_HOME in ", kPluginFile)
            : StrCat("give the folders above it mode 0755, then as root: install -d -m 1777 ", home_of_all.string()))};
  Check check = CanTry(there, account->user) ? CheckHomeDisk(home->path, StrCat(", of ", name))
                                             : OkCheck(title, home->path.string());
  check.name = title;
  return {check};
}

Checks CheckHomeOfAll(const fs::path& home) {
  Checks checks = CheckOpen(home);
  const bool is_open = checks.empty() || checks.front().health != Health::kFail;
  if (!is_open) return checks;
  checks.push_back(CheckHomeDisk(home, ", with a folder for each user"));
  for (Check& check : CheckTaken(home)) checks.push_back(std::move(check));
  return checks;
}

}  // namespace tony::azkaban
