#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "azkaban-plugin/doctor.h"
#include "azkaban-plugin/install.h"
#include "azkaban-plugin/plugin_folder.h"
#include "azkaban-plugin/step_request.h"
#include "runtime/base/strings.h"
#include "runtime/config/configuration.h"
#include "runtime/config/keys.h"
#include "runtime/os/files.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

// Reads a property file and adds the result of the check to `checks`. Returns nullopt if the file cannot be read.
std::optional<Properties> Read(const fs::path& file, const User& user, const std::string& name, Checks& checks) {
  const PathVisibility sight = PathVisibilityOf(file);
  if (sight.kind == PathVisibility::Kind::kMissing) {
    checks.push_back(FailCheck(name, StrCat(file.string(), ": no such file"),
                               StrCat(kAdapter, " install ", file.parent_path().parent_path().string())));
    return std::nullopt;
  }
  if (sight.kind == PathVisibility::Kind::kHidden) {
    checks.push_back(HiddenCheck(name, file, sight, user));
    return std::nullopt;
  }
  if (const auto obstacle = Obstacle(file, user, R_OK)) {
    checks.push_back(FailCheck(name, StrCat(file.string(), " cannot be read by ", user.name, ": ", *obstacle),
                               "give the file mode 0644, and the folders above it mode 0755"));
    return std::nullopt;
  }
  const auto text = ReadFile(file);
  if (!text.ok()) {
    checks.push_back(WarnCheck(name, text.error().message, "run the doctor as root or as the executor server's user"));
    return std::nullopt;
  }
  auto properties = ParseServerProperties(*text, file.string());
  if (!properties.ok()) {
    checks.push_back(FailCheck(name, properties.error().message,
                               "correct the file: Azkaban does not start while a property file is malformed"));
    return std::nullopt;
  }
  checks.push_back(OkCheck(name, file.string()));
  return *std::move(properties);
}

Check Alias(const Installation& installation, std::string_view name) {
  const fs::path path = installation.jobtypes / name;
  std::error_code error;
  const std::string title = StrCat("type ", name);
  if (fs::symlink_status(path, error).type() == fs::file_type::not_found)
    return WarnCheck(title, "no such job type: flows that use it fail",
                     StrCat(kAdapter, " install ", installation.jobtypes.string(), " makes the link"));
  if (fs::equivalent(path, installation.folder(), error)) return OkCheck(title, StrCat("the same as ", kTypeName));
  if (fs::is_symlink(path, error))
    return WarnCheck(title, StrCat(path.string(), " is a link to ", fs::read_symlink(path, error).string()),
                     StrCat(kAdapter, " install --replace ", installation.jobtypes.string()));
  return WarnCheck(title, StrCat(path.string(), " is another job type: flows that use it do not run TonY"),
                   StrCat(kAdapter, " install --replace ", installation.jobtypes.string(), " moves it away"));
}

// Returns the folders without private.properties, which Azkaban skips silently.
std::vector<std::string> FoldersWithoutType(const fs::path& jobtypes) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(jobtypes, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code hidden;
    if (fs::is_directory(entry->path(), hidden) && !fs::exists(entry->path() / kPrivateFile, hidden) && !hidden)
      names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  std::erase(names, kTypeName);  // Other checks report these names.
  for (const std::string_view alias : kAliases) std::erase(names, alias);
  return names;
}

constexpr int64_t kAzkabanWantsMb = 3 * 1024;  // memory that Azkaban's check requires
constexpr std::string_view kUsualClass = "azkaban.jobExecutor.ProcessJob";

// Azkaban reads these properties before plugin.properties, so they have no effect in that file.
constexpr std::string_view kReadTooEarly[] = {
    "retries",        "retry.backoff",  "type",          "working.dir",   "user.to.proxy",          "dependencies",
    "failure.emails", "success.emails", "notify.emails", "job.log.level", "azkaban.job.log.layout",
};
constexpr std::string_view kEarlyFamilies[] = {"job.notification.", "flow."};
constexpr std::string_view kServersOwn[] = {"jobtype.class",     "jobtype.classpath",  "jobtype.lib.dir",
                                            "execute.as.user",   "azkaban.native.lib", "memCheck.enabled",
                                            "azkaban.group.name"};

template <class List>
bool IsIn(const List& list, std::string_view key) {
  return std::ranges::find(list, key) != std::end(list);
}

bool IsReadTooEarly(std::string_view key) {
  return IsIn(kReadTooEarly, key) ||
         std::ranges::any_of(kEarlyFamilies, [&](std::string_view family) { return key.starts_with(family); });
}

template <class Which>
std::vector<std::string> Keys(const Properties& properties, Which which) {
  std::vector<std::string> keys;
  for (const auto& [key, property] : properties.all())
    if (which(key, property.value)) keys.push_back(key);
  return keys;
}

void WarnOfKeys(Checks& checks, std::string_view file, const std::vector<std::string>& keys, std::string_view what,
                std::string_view advice) {
  if (!keys.empty())
    checks.push_back(WarnCheck(std::string(file), StrCat(Join(keys, ", "), ": ", what), std::string(advice)));
}

// Returns each property whose value contains ${name} with a name that may not be defined. Azkaban treats ${a-b} as
// plain text.
std::vector<std::string> OpenVariables(const Properties& properties) {
  std::vector<std::string> open;
  const auto is_variable = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  for (const auto& [key, property] : properties.all()) {
    std::string_view rest = property.value;
    for (size_t at = rest.find("${"); at != std::string_view::npos; at = rest.find("${")) {
      rest.remove_prefix(at + 2);
      const std::string name(rest.substr(0, rest.find('}')));
      const bool known = name == "plugin.dir" || name.starts_with("azkaban.") || properties.Find(name) != nullptr;
      if (!known && std::ranges::all_of(name, is_variable)) open.push_back(StrCat(key, " (${", name, "})"));
    }
  }
  return open;
}

// Returns the role in the name of a key; empty if the key does not belong to a role.
std::string RoleOf(const std::string& key) {
  const Key* row = FindKey(key);
  return row != nullptr && row->name.starts_with("tony.<role>.") ? Split(key, '.')[1] : "";
}

bool IsSecret(const std::string& key, const std::string& value) { return !value.empty() && IsSecretName(key); }

Check Process(const ExecutorServer& server) {
  if (server.pid == 0)
    return OkCheck("executor",
                   StrCat("no server was named with --executor, so the checks use the permissions of your user, ",
                          server.user.name));
  const std::string who = StrCat("process ", server.pid, " of ", server.user.name);
  if (!server.IsJava())
    return FailCheck("executor",
                     StrCat(who, " runs ", server.command_line.empty() ? "no program" : server.command_line.front(),
                            ", not Java, so it is not Azkaban's executor server"),
                     "pgrep -f azkaban shows the server's process id");
  if (Join(server.command_line, " ").find("azkaban") == std::string::npos)
    return WarnCheck("executor", StrCat(who, " runs Java, but its command line does not name azkaban"), "");
  return OkCheck("executor", StrCat(who, server.folder.empty() ? "" : StrCat(", in ", server.folder.string())));
}

Check Service(const ExecutorServer& server) {
  const std::string service = ServiceIn(server.cgroups);
  std::error_code error;
  if (service.empty() || !fs::exists("/run/systemd/system", error))
    return OkCheck("service",
                   "jobs on this machine run outside any systemd service, so a restart of Azkaban does not end them");
  return WarnCheck("service",
                   StrCat("the executor server is part of ", service,
                          ": when systemd stops or restarts this service, it also ends the jobs on this machine"),
                   "set KillMode=process for that service, or start the server in a scope: systemd-run --scope");
}

Check KillProgram(const ExecutorServer& server) {
  for (const std::string& folder : Split(server.Variable("PATH"), ':')) {
    if (!folder.empty() && !Obstacle(fs::path(folder) / "kill", server.user, X_OK))
      return OkCheck("kill", StrCat(folder, "/kill"));
  }
  return WarnCheck("kill", "no such program in the executor server's PATH; Azkaban needs it to cancel a step",
                   "install procps, or add the folder of kill to PATH");
}

}  // namespace

std::string PluginFiles::ServerValue(std::string_view key, std::string_view usual) const {
  const Property* found = server.Find(key);
  return std::string(found == nullptr ? usual : Trim(found->value));
}

bool PluginFiles::ExecutesAsUser() const { return ToLower(ServerValue("execute.as.user", "true")) == "true"; }

Check OkCheck(std::string name, std::string text) { return {std::move(name), Health::kOk, std::move(text), ""}; }
Check WarnCheck(std::string name, std::string text, std::string advice) {
  return {std::move(name), Health::kWarn, std::move(text), std::move(advice)};
}
Check FailCheck(std::string name, std::string text, std::string advice) {
  return {std::move(name), Health::kFail, std::move(text), std::move(advice)};
}

Check HiddenCheck(std::string name, const fs::path& path, const PathVisibility& sight, const User& judged) {
  if (!judged.is_anybody && judged.uid == geteuid())
    return FailCheck(std::move(name), StrCat(path.string(), " cannot be reached by ", judged.name, ": ", sight.closed),
                     "give the folders above it mode 0755");
  return WarnCheck(std::move(name), StrCat(path.string(), " is not visible to you: ", sight.closed),
                   StrCat("run the doctor as root", judged.is_anybody ? "" : StrCat(" or as ", judged.name)));
}

fs::path Installation::folder() const { return jobtypes / kTypeName; }

Checks CheckPluginFiles(const Installation& installation, PluginFiles& files) {
  Checks checks;
  const User& user = installation.server.user;
  const fs::path common = installation.jobtypes / "commonprivate.properties";
  if (PathVisibilityOf(common).kind != PathVisibility::Kind::kMissing) {
    if (const auto read = Read(common, user, "commonprivate.properties", checks)) files.server = *read;
  }
  const auto server = Read(installation.folder() / kPrivateFile, user, std::string(kPrivateFile), checks);
  const auto plugin = Read(installation.folder() / kPluginFile, user, std::string(kPluginFile), checks);
  if (server) files.server.Merge(*server);
  if (plugin) files.plugin = *plugin;
  files.complete = server && plugin;
  return checks;
}

Checks CheckJobtypes(const Installation& installation) {
  Checks checks;
  for (const std::string_view name : kAliases) checks.push_back(Alias(installation, name));
  if (const auto names = FoldersWithoutType(installation.jobtypes); !names.empty())
    checks.push_back(WarnCheck("folders",
                               StrCat("Azkaban ignores these folders in ", installation.jobtypes.string(),
                                      ", because they have no ", kPrivateFile, ": ", Join(names, ", ")),
                               ""));
  for (const fs::path& leftover : Leftovers(installation.jobtypes))
    checks.push_back(WarnCheck(
        "leftovers", StrCat(leftover.string(), ": left by an installation that was killed, or used by a running one"),
        "the next installation removes it"));
  return checks;
}

Checks CheckServerProperties(const PluginFiles& files, int64_t free_memory_mb) {
  Checks checks;
  const std::string type = files.ServerValue("jobtype.class", "");
  if (type.empty()) {
    checks.push_back(FailCheck("jobtype.class", "not set: Azkaban does not start while a job type has no class",
                               StrCat("set jobtype.class=", kUsualClass, " in ", kPrivateFile)));
  } else if (type != kUsualClass) {
    checks.push_back(WarnCheck(
        "jobtype.class",
        StrCat(type, " runs the steps; the doctor cannot check whether this class does the same as ", kUsualClass),
        ""));
  } else {
    checks.push_back(OkCheck("jobtype.class", type));
  }
  const bool asks = ToLower(files.ServerValue("memCheck.enabled", "true")) == "true";
  if (asks && free_memory_mb < kAzkabanWantsMb) {
    checks.push_back(WarnCheck("memCheck.enabled",
                               StrCat("on, and ", free_memory_mb, " MB are free: with less than ", kAzkabanWantsMb,
                                      " MB Azkaban keeps steps waiting for hours without a message"),
                               StrCat("set memCheck.enabled=false in ", kPrivateFile)));
  }
  WarnOfKeys(checks, kPrivateFile, Keys(files.server, IsSecret),
             "looks like a secret; Azkaban 3.82 and newer give each job a copy of this file that all users can read",
             "keep the secret in a file that the step's program opens");
  WarnOfKeys(checks, kPrivateFile,
             Keys(files.server, [](auto& key, auto&) { return key == "command" || key.starts_with("tony."); }),
             "has no effect here", StrCat("move the key to ", kPluginFile));
  return checks;
}

Checks CheckPluginProperties(const PluginFiles& files) {
  Checks checks;
  const Properties& plugin = files.plugin;
  WarnOfKeys(checks, kPluginFile, Keys(plugin, [](auto& key, auto&) { return IsReadTooEarly(key); }),
             "has no effect here: Azkaban needs the value before it reads this file", "set it in the flow or the job");
  WarnOfKeys(checks, kPluginFile, Keys(plugin, [](auto& key, auto&) { return IsIn(kServersOwn, key); }),
             "has no effect here", StrCat("move the key to ", kPrivateFile));
  WarnOfKeys(checks, kPluginFile, Keys(plugin, IsSecret),
             "looks like a secret; a job's log shows all its properties and env.*",
             "keep the secret in a file that the step's program opens");
  WarnOfKeys(checks, kPluginFile,
             Keys(plugin, [](auto&, auto& value) { return value.find("$(") != std::string::npos; }),
             "Azkaban evaluates $(...) as an Azkaban expression; a shell command in $(...) becomes 0 or fails the job",
             "use backticks, or put the shell command into a script");
  WarnOfKeys(checks, kPluginFile, OpenVariables(plugin),
             "a job that does not define this variable fails before it starts",
             StrCat("give the variable a value in ", kPluginFile));
  WarnOfKeys(checks, kPluginFile, Keys(plugin, [](auto& key, auto&) { return key.starts_with("command."); }),
             "Azkaban runs this command after the step, and the step fails if this command fails", "");
  return checks;
}

// Parses the site's defaults as if they were part of an example step. The example adds only a command, and one task for
// each role that the defaults contain.
Checks CheckSiteDefaults(const PluginFiles& files) {
  Properties step;
  step.Set("tony.worker.instances", "1", "the doctor");
  step.Set("tony.containers.command", "true", "the doctor");
  step.Set("tony.application.framework", "standalone", "the doctor");
  int64_t count = 0;
  std::vector<std::string> roles;
  for (const auto& [key, property] : files.plugin.all()) {
    if (!key.starts_with("tony.") || property.value.find("${") != std::string::npos) continue;
    if (const std::string role = RoleOf(key); !role.empty()) roles.push_back(role);
    step.Set(key, property);
    ++count;
  }
  if (count == 0) return {};
  for (const std::string& role : roles) {
    const std::string instances = StrCat("tony.", role, ".instances");
    if (step.Find(instances) == nullptr) step.Set(instances, "1", "the doctor");
  }
  const char* advice = "every job that does not set another value is refused";
  const auto parsed = ParseJobSpec(step, "/");
  if (!parsed.ok()) return {FailCheck("site defaults", parsed.error().message, advice)};
  if (const auto replaces = ReplacesOlder(step); !replaces.ok())
    return {FailCheck("site defaults", replaces.error().message, advice)};
  Checks checks;
  for (const std::string& warning : parsed->warnings) checks.push_back(WarnCheck("site defaults", warning, ""));
  if (checks.empty()) checks.push_back(OkCheck("site defaults", StrCat(count, " properties tony.*, all valid")));
  return checks;
}

int64_t FreeMemoryMb(std::string_view meminfo) {
  int64_t kilobytes = 0;
  for (const std::string& line : Split(meminfo, '\n')) {
    std::istringstream words(line);
    std::string name;
    int64_t size = 0;
    words >> name >> size;
    if (name == "MemFree:" || name == "Buffers:" || name == "Cached:" || name == "SwapFree:") kilobytes += size;
  }
  return kilobytes / 1024;
}

Checks CheckServer(const ExecutorServer& server) {
  Checks checks = {Process(server), Service(server)};
  if (server.environment_known) {
    checks.push_back(KillProgram(server));
  } else {
    checks.push_back(WarnCheck("environment",
                               StrCat("the environment of process ", server.pid, " is not visible to you"),
                               StrCat("run the doctor as root or as ", server.user.name)));
  }
  return checks;
}

}  // namespace tony::azkaban
