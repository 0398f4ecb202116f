#include "runtime/os/users.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>

#include "runtime/base/strings.h"
#include "runtime/os/start_program.h"

namespace tony {
namespace {

constexpr int kGetentKnowsNone = 2;  // getent(1): the key was not found

std::optional<uid_t> ParseNumber(std::string_view text) {
  const auto number = ParseInt(text);
  if (!number || *number < 0 || *number >= (int64_t{1} << 32) - 1) return std::nullopt;  // 2^32 - 1 means "no user"
  return static_cast<uid_t>(*number);
}

std::optional<UnixUser> FindLine(const std::string& file, const std::function<bool(const UnixUser&)>& is_wanted) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (auto user = ParsePasswdLine(line); user && is_wanted(*user)) return user;
  }
  return std::nullopt;
}

std::optional<std::string> ProgramIn(const std::vector<std::string>& places) {
  const auto found =
      std::ranges::find_if(places, [](const std::string& path) { return access(path.c_str(), X_OK) == 0; });
  return found == places.end() ? std::nullopt : std::optional(*found);
}

// Runs a program and keeps its answer for the life of the process, by its command line. A timeout is kept as well, so
// that a queue of a hundred jobs waits only once for a directory service that is down. Other failures are not kept,
// because a shortage passes.
Result<ProgramOutput> Ask(const std::vector<std::string>& words, Duration limit) {
  static std::mutex& mutex = *new std::mutex;
  static auto& answers = *new std::map<std::vector<std::string>, Result<ProgramOutput>>;
  const std::lock_guard lock(mutex);
  const auto known = answers.find(words);
  if (known != answers.end()) return known->second;
  const auto began = std::chrono::steady_clock::now();
  auto answer = RunProgram(words, limit);
  if (answer.ok() || std::chrono::steady_clock::now() - began >= limit) answers.emplace(words, answer);
  return answer;
}

Result<std::optional<UnixUser>> AskForUser(const std::string& key, const UserSources& sources) {
  const auto program = ProgramIn(sources.getent);
  if (!program) return std::optional<UnixUser>();
  TRY_ASSIGN(const ProgramOutput answer, Ask({*program, "passwd", key}, sources.limit));
  if (answer.exit_code == kGetentKnowsNone) return std::optional<UnixUser>();
  const auto user = ParsePasswdLine(Trim(answer.output));
  if (answer.exit_code != 0 || !user)
    return UnavailableError(*program, " passwd ", key, ": exit code ", answer.exit_code);
  return user;
}

bool Lists(std::string_view members, const std::string& name) {
  return std::ranges::count(Split(members, ','), name) > 0;
}

// Returns the groups of the user in a file with lines of the form name:password:gid:member,member
std::vector<gid_t> GroupsInFile(const UnixUser& user, const std::string& file) {
  std::vector<gid_t> groups = {user.group};
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = Split(line, ':');
    const auto group = fields.size() == 4 ? ParseNumber(fields[2]) : std::nullopt;
    if (group && Lists(Trim(fields[3]), user.name)) groups.push_back(*group);
  }
  return groups;
}

Result<std::vector<gid_t>> ParseGroups(const std::string& text) {
  std::vector<gid_t> groups;
  for (const std::string& word : Split(Trim(text), ' ')) {
    const auto group = ParseNumber(word);
    if (!group) return UnavailableError("\"", word, "\" is not a group number");
    groups.push_back(*group);
  }
  return groups;
}

}  // namespace

std::optional<UnixUser> ParsePasswdLine(std::string_view line) {
  // Comments and NIS entries are not users.
  if (line.starts_with('#') || line.starts_with('+') || line.starts_with('-')) return std::nullopt;
  const std::vector<std::string> fields = Split(line, ':');
  if (fields.size() != 7 || fields[0].empty()) return std::nullopt;
  const auto uid = ParseNumber(fields[2]), group = ParseNumber(fields[3]);
  if (!uid || !group) return std::nullopt;
  return UnixUser{.uid = *uid, .group = *group, .name = fields[0], .folder = fields[5]};
}

Result<std::optional<UnixUser>> FindUser(uid_t uid, const UserSources& sources) {
  if (auto user = FindLine(sources.passwd, [uid](const UnixUser& some) { return some.uid == uid; })) return user;
  TRY_ASSIGN(auto user, AskForUser(StrCat(uid), sources));
  if (user && user->uid != uid) return std::optional<UnixUser>();  // a user whose name is numeric
  return user;
}

Result<std::optional<UnixUser>> FindUser(const std::string& name, const UserSources& sources) {
  if (name.empty() || name.starts_with('-')) return std::optional<UnixUser>();
  if (auto user = FindLine(sources.passwd, [&](const UnixUser& some) { return some.name == name; })) return user;
  if (ParseInt(name)) return std::optional<UnixUser>();  // getent takes numbers for uids
  return AskForUser(name, sources);
}

// A user in /etc/passwd may also have groups in a directory service, so `id` runs for every user.
Result<std::vector<gid_t>> GroupsOf(const UnixUser& user, const UserSources& sources) {
  const auto program = ProgramIn(sources.id);
  auto groups = GroupsInFile(user, sources.group);
  if (program) {
    TRY_ASSIGN(const ProgramOutput answer, Ask({*program, "-G", user.name}, sources.limit));
    if (answer.exit_code != 0) return UnavailableError(*program, " -G ", user.name, ": exit code ", answer.exit_code);
    TRY_ASSIGN(groups, ParseGroups(answer.output));
    groups.push_back(user.group);
  }
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

Result<std::vector<std::string>> GroupNamesOf(const std::string& user, const UserSources& sources) {
  const auto program = ProgramIn(sources.id);
  if (!program) return UnavailableError("this machine has no program id, which knows the groups of ", user);
  TRY_ASSIGN(const ProgramOutput answer, Ask({*program, "-Gn", "--", user}, sources.limit));
  if (answer.exit_code != 0) return UnavailableError(*program, " -Gn ", user, ": exit code ", answer.exit_code);
  return SplitAtAny(answer.output, " \n");
}

std::string UserName(uid_t uid) {
  const auto user = FindUser(uid);
  return user.ok() && *user ? (*user)->name : StrCat(uid);
}

std::string OtherUser(uid_t user) {
  if (user == ::geteuid()) return "";
  return user == 0 ? "root (uid 0)" : StrCat("uid ", user);
}

std::string ExpandTilde(std::string path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  const char* home = std::getenv("HOME");
  if (home && *home) return path.replace(0, 1, home);
  const auto user = FindUser(geteuid());
  if (user.ok() && *user && !(*user)->folder.empty()) path.replace(0, 1, (*user)->folder);
  return path;
}

}  // namespace tony
