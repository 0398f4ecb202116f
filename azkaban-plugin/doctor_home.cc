#include <sys/stat.h>
#include <unistd.h>

#include "azkaban-plugin/doctor_parts.h"
#include "runtime/base/strings.h"
#include "runtime/records/user_home.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

// What keeps users whom nobody knows yet from a folder of their own in it.
Checks CheckOpen(const fs::path& home) {
  const std::string make = StrCat("as root: install -d -m 1777 ", home.string());
  const Sight sight = SightOf(home);
  if (sight.kind == Sight::Kind::kHidden)
    return {FailCheck("home", StrCat("not every user can have a folder in ", home.string(), ": ", sight.closed),
                      "folders above it: mode 0755")};
  struct stat info {};
  if (sight.kind == Sight::Kind::kMissing || stat(home.c_str(), &info) != 0) {
    return {FailCheck(
        "home", StrCat(home.string(), " is not there: it would be the first user's own, and closed to others"), make)};
  }
  if (!S_ISDIR(info.st_mode)) return {FailCheck("home", home.string() + " is not a folder", make)};
  const std::string mend = StrCat("its owner or root: chmod 1777 ", home.string());
  if (const auto obstacle = Obstacle(home, Anybody(), W_OK | X_OK))
    return {FailCheck("home", StrCat("not every user can have a folder in ", home.string(), ": ", *obstacle),
                      obstacle->starts_with(home.string() + " ") ? mend : "folders above it: mode 0755")};
  if ((info.st_mode & S_ISVTX) == 0)
    return {FailCheck("home", home.string() + " is not sticky: users could exchange each other's folders", mend)};
  if (info.st_uid == 0) return {};
  return {WarnCheck("home",
                    StrCat(UserText(info.st_uid), ", who owns ", home.string(), ", can exchange its users' folders"),
                    StrCat("as root: chown root ", home.string()))};
}

// Users whose jobs are refused since somebody has taken their names.
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

Checks CheckHomeOfAll(const fs::path& home) {
  Checks checks = CheckOpen(home);
  const bool is_open = checks.empty() || checks.front().health != Health::kFail;
  if (!is_open) return checks;
  checks.push_back(CheckHomeDisk(home, ", with a folder for each user"));
  for (Check& check : CheckTaken(home)) checks.push_back(std::move(check));
  return checks;
}

}  // namespace tony::azkaban
