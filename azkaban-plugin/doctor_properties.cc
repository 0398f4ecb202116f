#include <algorithm>
#include <array>

#include "azkaban-plugin/doctor_parts.h"
#include "azkaban-plugin/plugin_folder.h"
#include "azkaban-plugin/step_request.h"
#include "runtime/base/strings.h"
#include "runtime/config/configuration.h"
#include "runtime/config/keys.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony::azkaban {
namespace {

constexpr int64_t kAzkabanWantsMb = 3 * 1024;  // its memory check's reserve
constexpr std::string_view kUsualClass = "azkaban.jobExecutor.ProcessJob";

// What Azkaban reads before it looks at plugin.properties: they say nothing there.
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

bool IsVariableCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// The names in ${...} that nothing defines for certain. Azkaban takes ${a-b} for plain text.
std::vector<std::string> OpenVariables(const Properties& properties) {
  std::vector<std::string> open;
  for (const auto& [key, property] : properties.all()) {
    std::string_view rest = property.value;
    for (size_t at = rest.find("${"); at != std::string_view::npos; at = rest.find("${")) {
      rest.remove_prefix(at + 2);
      const std::string name(rest.substr(0, rest.find('}')));
      const bool known = name == "plugin.dir" || name.starts_with("azkaban.") || properties.Find(name) != nullptr;
      if (!known && std::ranges::all_of(name, IsVariableCharacter)) open.push_back(StrCat(key, " (${", name, "})"));
    }
  }
  return open;
}

// The role that a key is of; empty: of none.
std::string RoleOf(const std::string& key) {
  const Key* row = FindKey(key);
  return row != nullptr && row->name.starts_with("tony.<role>.") ? Split(key, '.')[1] : "";
}

bool IsSecret(const std::string& key, const std::string& value) { return !value.empty() && IsSecretName(key); }

}  // namespace

Checks CheckServerProperties(const PluginFiles& files, int64_t free_memory_mb) {
  Checks checks;
  const std::string type = files.ServerValue("jobtype.class", "");
  if (type.empty()) {
    checks.push_back(FailCheck("jobtype.class", "not set: Azkaban does not start with such a job type",
                               StrCat("jobtype.class=", kUsualClass, " in ", kPrivateFile)));
  } else if (type != kUsualClass) {
    checks.push_back(
        WarnCheck("jobtype.class", StrCat(type, " runs the step; known is what ", kUsualClass, " does"), ""));
  } else {
    checks.push_back(OkCheck("jobtype.class", type));
  }
  const bool asks = ToLower(files.ServerValue("memCheck.enabled", "true")) == "true";
  if (asks && free_memory_mb < kAzkabanWantsMb) {
    checks.push_back(WarnCheck("memCheck.enabled",
                               StrCat("not off, and ", free_memory_mb, " MB are free: with less than ", kAzkabanWantsMb,
                                      " MB Azkaban lets steps wait for hours without a word"),
                               StrCat("memCheck.enabled=false in ", kPrivateFile)));
  }
  WarnOfKeys(checks, kPrivateFile, Keys(files.server, IsSecret),
             "looks like a secret; Azkaban 3.82 and newer hand this file to every job, readable by all",
             "keep it in a file of its own that the step's program opens");
  WarnOfKeys(checks, kPrivateFile,
             Keys(files.server, [](auto& key, auto&) { return key == "command" || key.starts_with("tony."); }),
             "has no effect here", StrCat("it belongs into ", kPluginFile));
  return checks;
}

Checks CheckPluginProperties(const PluginFiles& files) {
  Checks checks;
  const Properties& plugin = files.plugin;
  WarnOfKeys(checks, kPluginFile, Keys(plugin, [](auto& key, auto&) { return IsReadTooEarly(key); }),
             "has no effect here: Azkaban looks at it before it reads this file", "set it in the flow or the job");
  WarnOfKeys(checks, kPluginFile, Keys(plugin, [](auto& key, auto&) { return IsIn(kServersOwn, key); }),
             "has no effect here", StrCat("it belongs into ", kPrivateFile));
  WarnOfKeys(checks, kPluginFile, Keys(plugin, IsSecret),
             "looks like a secret; properties of a job and env.* stand in its log",
             "keep it in a file of its own that the step's program opens");
  WarnOfKeys(checks, kPluginFile,
             Keys(plugin, [](auto&, auto& value) { return value.find("$(") != std::string::npos; }),
             "Azkaban evaluates $(...) as an expression of its own; a command in it becomes 0 or fails the job",
             "use backticks, or put it into a script");
  WarnOfKeys(checks, kPluginFile, OpenVariables(plugin), "a job that does not define it fails before it starts",
             StrCat("give it a value in ", kPluginFile));
  WarnOfKeys(checks, kPluginFile, Keys(plugin, [](auto& key, auto&) { return key.starts_with("command."); }),
             "Azkaban runs it after the step, and its exit code decides, too", "");
  return checks;
}

// As a step would say it that adds only what to run, and a task of each role that is spoken of.
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
  const char* advice = "every job that does not set it otherwise is refused";
  const auto parsed = ParseJobSpec(step, "/");
  if (!parsed.ok()) return {FailCheck("site defaults", parsed.error().message, advice)};
  if (const auto replaces = ReplacesOlder(step); !replaces.ok())
    return {FailCheck("site defaults", replaces.error().message, advice)};
  Checks checks;
  for (const std::string& warning : parsed->warnings) checks.push_back(WarnCheck("site defaults", warning, ""));
  if (checks.empty()) checks.push_back(OkCheck("site defaults", StrCat(count, " of tony.*, all understood")));
  return checks;
}

}  // namespace tony::azkaban
