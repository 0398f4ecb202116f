// Users and groups of this machine. All lookups go through this file, because our programs are static: the C library's
// own calls (getpwuid, initgroups) would load modules that fit another C library.
//
// Users are looked up in /etc/passwd first. Users that are not listed there, e.g. of LDAP or SSSD, are queried from
// `getent`. Groups come from `id`, and from /etc/group only where the machine has no `id`. Both programs run with a
// time limit. If the machine has neither program, only the files count. The answers of the programs are kept for the
// life of the process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

struct UnixUser {
  uid_t uid = 0;
  gid_t group = 0;
  std::string name;
  std::string folder;  // home folder; may be empty

  bool operator==(const UnixUser&) const = default;
};

// The files and programs that are searched for users and groups; tests use others.
struct UserSources {
  std::string passwd = "/etc/passwd";
  std::string group = "/etc/group";
  std::vector<std::string> getent = {"/usr/bin/getent", "/bin/getent", "/run/current-system/sw/bin/getent"};
  std::vector<std::string> id = {"/usr/bin/id", "/bin/id", "/run/current-system/sw/bin/id"};
  // The time limit of a program. It is longer than the six seconds after which SSSD gives up on a server.
  Duration limit{10000};
};

// Returns the user; nullopt if the user does not exist. kUnavailable: the directory service did not answer. The first
// call may block for `sources.limit`. Any thread may call it.
Result<std::optional<UnixUser>> FindUser(uid_t uid, const UserSources& sources = {});
Result<std::optional<UnixUser>> FindUser(const std::string& name, const UserSources& sources = {});

// Returns all groups that a login gives the user, including the user's own. kUnavailable: not all groups are known. A
// caller that takes on or checks the user's rights must not continue with fewer groups.
Result<std::vector<gid_t>> GroupsOf(const UnixUser& user, const UserSources& sources = {});

// Returns the names of all groups of the user, from `id`. kUnavailable: not all groups are known.
Result<std::vector<std::string>> GroupNamesOf(const std::string& user, const UserSources& sources = {});

// Returns a name for display: the number if the user has no name or the lookup failed.
std::string UserName(uid_t uid);

// Parses a line of /etc/passwd, or of getent, which prints the same form; nullopt if the line does not describe a user.
std::optional<UnixUser> ParsePasswdLine(std::string_view line);

// Names of users other than the job's own, for logs and verdicts.

// Names another user by uid, e.g. "root (uid 0)" or "uid 1001"; "" for this process's own user. Other names are not
// looked up, because the lookup may wait for a directory server.
std::string OtherUser(uid_t user);

// Paths as people write them in files and variables, where no shell expands them.

// Replaces a leading "~" in "~" and "~/x" by the caller's home folder: $HOME, else the home folder in the list of
// users. Every other text, "~ana/x" included, stays as it is. Without a home folder all texts stay as they are.
std::string ExpandTilde(std::string path);

}  // namespace tony
