// Users and groups of this machine. The one door to them: our programs are static, and the C library's own calls
// (getpwuid, initgroups) would load modules into them that fit another C library.
//
// /etc/passwd and /etc/group are read first. Whoever is not in there, as a user of LDAP or SSSD, is asked for by
// `getent` and `id`, which know all that the machine knows, with a limit of time. Where the machine has neither, the
// files are all there is. What those programs answered is remembered for the life of the process.
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
  std::string folder;  // its $HOME; may be empty

  bool operator==(const UnixUser&) const = default;
};

// Where users and groups are looked up; tests name others.
struct UserSources {
  std::string passwd = "/etc/passwd";
  std::string group = "/etc/group";
  std::vector<std::string> getent = {"/usr/bin/getent", "/bin/getent", "/run/current-system/sw/bin/getent"};
  std::vector<std::string> id = {"/usr/bin/id", "/bin/id", "/run/current-system/sw/bin/id"};
  Duration limit{10000};  // beyond the six seconds after which SSSD gives up a server
};

// Nothing: no such user. kUnavailable: the directory service did not answer, so that nobody knows. May block for the
// limit, the first time; any thread.
Result<std::optional<UnixUser>> FindUser(uid_t uid, const UserSources& sources = {});
Result<std::optional<UnixUser>> FindUser(const std::string& name, const UserSources& sources = {});

// All groups that a login gives the user, its own among them. kUnavailable: they are not known in full; whoever takes
// on or judges the user's rights must not go on with fewer.
Result<std::vector<gid_t>> GroupsOf(const UnixUser& user, const UserSources& sources = {});

// For showing. Its number where it has no name, or nobody answers.
std::string UserName(uid_t uid);

// A line of /etc/passwd, which is also what getent prints; nothing where it is none.
std::optional<UnixUser> ParsePasswdLine(std::string_view line);

// Naming a user who is not the job's own, in logs and verdicts.

// "root (uid 0)", "uid 1001"; no other names, because who asks for those may wait for a directory server. Empty: this
// process's own user.
std::string OtherUser(uid_t user);

// Paths as people write them in files and variables that no shell reads.

// "~" and "~/x" become the caller's home folder and what is in it: $HOME, else the folder that the machine's users
// have. Every other text stays as it is, "~ana/x" included; so do these where the caller has no home folder.
std::string ExpandTilde(std::string path);

}  // namespace tony
