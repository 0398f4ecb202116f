#include <unistd.h>

#include "azkaban-plugin/doctor_parts.h"
#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

// The properties, or nothing and why in `checks`.
std::optional<Properties> Read(const fs::path& file, const User& user, const std::string& name, Checks& checks) {
  const Sight sight = SightOf(file);
  if (sight.kind == Sight::Kind::kMissing) {
    checks.push_back(FailCheck(name, StrCat(file.string(), ": no such file"),
                               StrCat(kAdapter, " install ", file.parent_path().parent_path().string())));
    return std::nullopt;
  }
  if (sight.kind == Sight::Kind::kHidden) {
    checks.push_back(HiddenCheck(name, file, sight, user));
    return std::nullopt;
  }
  if (const auto obstacle = Obstacle(file, user, R_OK)) {
    checks.push_back(FailCheck(name, StrCat(file.string(), " cannot be read by ", user.name, ": ", *obstacle),
                               "files 0644, folders 0755"));
    return std::nullopt;
  }
  const auto text = ReadFile(file);
  if (!text.ok()) {
    checks.push_back(WarnCheck(name, text.error().message, "run the doctor as root or as the executor server's user"));
    return std::nullopt;
  }
  auto properties = ParseServerProperties(*text, file.string());
  if (!properties.ok()) {
    checks.push_back(FailCheck(name, properties.error().message, "Azkaban does not start with such a job type"));
    return std::nullopt;
  }
  checks.push_back(OkCheck(name, file.string()));
  return *std::move(properties);
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

Check HiddenCheck(std::string name, const fs::path& path, const Sight& sight, const User& judged) {
  if (!judged.is_anybody && judged.uid == geteuid())
    return FailCheck(std::move(name), StrCat(path.string(), " cannot be reached by ", judged.name, ": ", sight.closed),
                     "folders 0755");
  return WarnCheck(std::move(name), StrCat(path.string(), " cannot be looked at by you: ", sight.closed),
                   StrCat("run the doctor as root", judged.is_anybody ? "" : StrCat(" or as ", judged.name)));
}

fs::path Installation::folder() const { return jobtypes / kTypeName; }

Checks CheckPluginFiles(const Installation& installation, PluginFiles& files) {
  Checks checks;
  const User& user = installation.server.user;
  const fs::path common = installation.jobtypes / "commonprivate.properties";
  if (SightOf(common).kind != Sight::Kind::kMissing) {
    if (const auto read = Read(common, user, "commonprivate.properties", checks)) files.server = *read;
  }
  const auto server = Read(installation.folder() / kPrivateFile, user, std::string(kPrivateFile), checks);
  const auto plugin = Read(installation.folder() / kPluginFile, user, std::string(kPluginFile), checks);
  if (server) files.server.Merge(*server);
  if (plugin) files.plugin = *plugin;
  files.complete = server && plugin;
  return checks;
}

}  // namespace tony::azkaban
