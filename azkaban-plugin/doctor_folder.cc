#include <algorithm>

#include "azkaban-plugin/doctor_parts.h"
#include "azkaban-plugin/install_files.h"
#include "azkaban-plugin/plugin_folder.h"
#include "runtime/base/strings.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

Check Alias(const Installation& installation, std::string_view name) {
  const fs::path path = installation.jobtypes / name;
  std::error_code error;
  const std::string title = StrCat("type ", name);
  if (fs::symlink_status(path, error).type() == fs::file_type::not_found)
    return WarnCheck(title, "no such job type: flows that say so fail",
                     StrCat(kAdapter, " install ", installation.jobtypes.string(), " makes the link"));
  if (fs::equivalent(path, installation.folder(), error)) return OkCheck(title, StrCat("the same as ", kTypeName));
  if (fs::is_symlink(path, error))
    return WarnCheck(title, StrCat(path.string(), " is a link to ", fs::read_symlink(path, error).string()),
                     StrCat(kAdapter, " install --replace ", installation.jobtypes.string()));
  return WarnCheck(title, StrCat(path.string(), " is a job type of its own: flows that say so do not come here"),
                   StrCat(kAdapter, " install --replace ", installation.jobtypes.string(), " moves it away"));
}

// Azkaban skips them without a word.
std::vector<std::string> FoldersWithoutType(const fs::path& jobtypes) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(jobtypes, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code hidden;
    if (fs::is_directory(entry->path(), hidden) && !fs::exists(entry->path() / kPrivateFile, hidden) && !hidden)
      names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  std::erase(names, kTypeName);  // told already
  for (const std::string_view alias : kAliases) std::erase(names, alias);
  return names;
}

}  // namespace

Checks CheckJobtypes(const Installation& installation) {
  Checks checks;
  for (const std::string_view name : kAliases) checks.push_back(Alias(installation, name));
  if (const auto names = FoldersWithoutType(installation.jobtypes); !names.empty())
    checks.push_back(WarnCheck("folders",
                               StrCat(Join(names, ", "), " in ", installation.jobtypes.string(), " without ",
                                      kPrivateFile, ": no job type for Azkaban"),
                               ""));
  for (const fs::path& leftover : Leftovers(installation.jobtypes))
    checks.push_back(WarnCheck("leftovers",
                               StrCat(leftover.string(), ": of an installation that was killed, or is at work"),
                               "the next installation removes it"));
  return checks;
}

}  // namespace tony::azkaban
