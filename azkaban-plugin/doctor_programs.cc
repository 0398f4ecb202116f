#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "azkaban-plugin/doctor_parts.h"
#include "azkaban-plugin/install_files.h"
#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/os/sibling_program.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFirstGpu = "/dev/nvidia0";

// What `command` runs, or what is wrong with it.
Result<fs::path> Adapter(const Installation& installation, const PluginFiles& files) {
  const auto wrong = [](std::string text) { return Error{ErrorCode::kInvalid, std::move(text)}; };
  const Property* command = files.plugin.Find("command");
  if (command == nullptr || Trim(command->value).empty()) return wrong(StrCat("not set in ", kPluginFile));
  std::string path(Trim(command->value));
  std::error_code error;
  if (path.starts_with(kOwnFolder))
    path = fs::weakly_canonical(installation.folder(), error).string() + path.substr(kOwnFolder.size());
  if (error) return wrong(StrCat("look at ", installation.folder().string(), ": ", error.message()));
  if (path.find(' ') != std::string::npos)
    return wrong(StrCat("\"", path, "\" has a blank; Azkaban splits there, and ", kAdapter, " needs no arguments"));
  if (!MayStandInCommand(path))
    return wrong(StrCat("\"", path, "\" has characters that Azkaban does not leave as they are"));
  if (!path.starts_with('/'))
    return wrong(StrCat("\"", path, "\" is no absolute path: it would be looked for in PATH"));
  return fs::path(path);
}

// Whoever runs a step: the server's user, or with execute.as.user anybody.
Check Runnable(const std::string& name, const fs::path& program, const Installation& installation, bool as_anybody) {
  const User& user = installation.server.user;
  const Sight sight = SightOf(program);
  if (sight.kind == Sight::Kind::kMissing)
    return FailCheck(name, StrCat(program.string(), ": no such file"), "install all programs of TonY into one folder");
  if (sight.kind == Sight::Kind::kHidden) return HiddenCheck(name, program, sight, user);
  if (const auto obstacle = Obstacle(program, user, X_OK))
    return FailCheck(name, StrCat(program.string(), " cannot be run by ", user.name, ": ", *obstacle),
                     "programs and the folders above them: mode 0755");
  const auto obstacle = Obstacle(program, Anybody(), X_OK);
  if (!obstacle) return OkCheck(name, program.string());
  Check check = WarnCheck(name, StrCat(program.string(), " cannot be run by every user: ", *obstacle),
                          "programs and the folders above them: mode 0755");
  if (as_anybody) check.health = Health::kFail;
  return check;
}

bool IsOnYarn(const Properties& plugin) {
  const Property* scheduler = plugin.Find("tony.scheduler");
  return scheduler != nullptr && Trim(scheduler->value) == "yarn";
}

// Where every step needs a cluster it fails, elsewhere some steps might.
Check YarnCheck(const PluginFiles& files, std::string name, std::string text, std::string advice) {
  Check check = WarnCheck(std::move(name), std::move(text), std::move(advice));
  if (IsOnYarn(files.plugin)) check.health = Health::kFail;
  return check;
}

User WhoRunsSteps(const Installation& installation, const PluginFiles& files) {
  return files.ExecutesAsUser() ? Anybody() : installation.server.user;
}

bool MayRead(const fs::path& path, const User& user) {
  const Sight sight = SightOf(path);
  return sight.kind == Sight::Kind::kHidden || (sight.kind == Sight::Kind::kThere && !Obstacle(path, user, R_OK));
}

// A file that is missing matters only where every step needs it. A file that the steps' user may not read was meant for
// steps on YARN, so that some of them might fail.
std::optional<Check> CheckYarnFile(const fs::path& folder, const User& user, const PluginFiles& files) {
  const fs::path file = folder / kYarnFile;
  std::error_code error;
  if (MayRead(file, user) || (!IsOnYarn(files.plugin) && !fs::exists(file, error))) return std::nullopt;
  return YarnCheck(files, "programs",
                   StrCat(kYarnFile, ": not in ", folder.string(), ", or not to be read by ", user.name,
                          ", and a step with tony.scheduler=yarn needs it"),
                   "install all programs of TonY into one folder");
}

}  // namespace

Checks CheckHadoop(const Installation& installation, const PluginFiles& files) {
  const std::string name = "HADOOP_CONF_DIR", variable = StrCat("env.", name);
  const Property* own = files.plugin.Find(variable);
  const std::string folder = own != nullptr ? own->value : installation.server.Variable(name);
  if (folder.find("${") != std::string::npos) return {};
  if (folder.empty()) {
    const bool is_named = files.plugin.Find("tony.application.yarn-conf-path") != nullptr;
    if (!IsOnYarn(files.plugin) || is_named || !installation.server.environment_known) return {};
    return {FailCheck(name, "not set, and every step has tony.scheduler=yarn",
                      StrCat(variable, "=/etc/hadoop/conf in ", kPluginFile))};
  }
  const User user = WhoRunsSteps(installation, files);
  for (const char* file : {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"})
    if (!MayRead(fs::path(folder) / file, user))
      return {YarnCheck(files, name, StrCat(folder, "/", file, ": no such file, or not to be read by ", user.name),
                        "a step with tony.scheduler=yarn finds its cluster there")};
  return {OkCheck(name, folder)};
}

Checks CheckCommand(const Installation& installation, const PluginFiles& files) {
  const auto adapter = Adapter(installation, files);
  if (!adapter.ok())
    return {FailCheck("command", adapter.error().message,
                      StrCat(kAdapter, " install ", installation.jobtypes.string(), " sets it"))};
  Checks checks = {Runnable("command", *adapter, installation, files.ExecutesAsUser())};
  if (checks.front().health == Health::kFail || SightOf(*adapter).kind != Sight::Kind::kThere) return checks;
  if (!IsSameProgram(SiblingProgram(kAdapter), *adapter))
    checks.push_back(WarnCheck("command", StrCat("not the build that checks it, ", SiblingProgram(kAdapter)),
                               "run its own doctor, or install again"));
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
                                      ": no such file, and this machine has a GPU, whose use "
                                      "nobody sees without it"),
                               "install all programs of TonY into one folder"));
  if (auto yarn = CheckYarnFile(adapter->parent_path(), WhoRunsSteps(installation, files), files))
    checks.push_back(*std::move(yarn));
  if (checks.size() == 1) {
    std::vector<std::string> names(std::begin(kPrograms), std::end(kPrograms));
    if (has_gpu_twin) names.emplace_back(kGpuExecutor);
    checks.push_back(OkCheck("programs", StrCat(Join(names, ", "), " beside ", kAdapter)));
  }
  return checks;
}

Checks CheckExecuteAsUser(const Installation& installation, const PluginFiles& files) {
  if (!files.ExecutesAsUser())
    return {OkCheck("execute.as.user", StrCat("false: steps run as ", installation.server.user.name))};
  const std::string advice = StrCat("install Azkaban's execute-as-user there, or, where all jobs may run as ",
                                    installation.server.user.name, ": execute.as.user=false in ", kPrivateFile);
  const std::string folder = files.ServerValue("azkaban.native.lib", "");
  if (folder.empty())
    return {FailCheck("execute.as.user", "true, Azkaban's default, and azkaban.native.lib is not set: every step fails",
                      advice)};
  const fs::path helper = installation.server.folder / folder / "execute-as-user";
  const Sight sight = SightOf(helper);
  if (sight.kind == Sight::Kind::kMissing)
    return {FailCheck("execute.as.user", StrCat(helper.string(), ": no such file"), advice)};
  struct stat status = {};
  if (sight.kind == Sight::Kind::kHidden || stat(helper.c_str(), &status) != 0)
    return {HiddenCheck("execute.as.user", helper, sight, installation.server.user)};
  if (status.st_uid != 0 || (status.st_mode & S_ISUID) == 0)
    return {FailCheck("execute.as.user", StrCat(helper.string(), " is not setuid root: it cannot become another user"),
                      StrCat("chown root ", helper.string(), " && chmod 6050 ", helper.string()))};
  if (const auto obstacle = Obstacle(helper, installation.server.user, X_OK))
    return {FailCheck("execute.as.user",
                      StrCat(helper.string(), " cannot be run by ", installation.server.user.name, ": ", *obstacle),
                      StrCat("give it the group of ", installation.server.user.name, " and mode 6050"))};
  return {OkCheck("execute.as.user", StrCat("by ", helper.string()))};
}

}  // namespace tony::azkaban
