#include "runtime/ledger/process_check.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

constexpr std::string_view kPrograms = "tony-";  // e.g. tony-keeper, tony-executor
// The initial pid namespace (PROC_PID_INIT_INO of the kernel), which contains all processes.
constexpr std::string_view kFirstNamespace = "pid:[4026531836]";

std::string OwnNamespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

std::string ProcPath(int64_t pid, std::string_view file) { return StrCat("/proc/", pid, "/", file); }

std::optional<int64_t> EffectiveUser(const std::string& status) {
  const size_t at = status.find("\nUid:\t");  // uids: real, effective, saved, filesystem
  if (at == std::string::npos) return std::nullopt;
  const std::vector<std::string> ids = Split(status.substr(at + 6, status.find('\n', at + 6) - at - 6), '\t');
  return ids.size() < 2 ? std::nullopt : ParseInt(ids[1]);
}

std::vector<VisibleProcess> ProgramsOfTony() {
  std::vector<VisibleProcess> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  while (const dirent* entry = proc ? readdir(proc.get()) : nullptr) {
    const auto pid = ParseInt(entry->d_name);
    if (!pid) continue;
    const auto name = ReadFile(ProcPath(*pid, "comm"));
    if (!name.ok() || !name->starts_with(kPrograms)) continue;
    if (auto process = ReadVisibleProcess(*pid)) found.push_back(*std::move(process));
  }
  return found;
}

}  // namespace

std::optional<VisibleProcess> ReadVisibleProcess(int64_t pid) {
  const auto stat = ReadFile(ProcPath(pid, "stat"));
  const auto status = ReadFile(ProcPath(pid, "status"));
  const auto command_line = ReadFile(ProcPath(pid, "cmdline"));
  if (!stat.ok() || !status.ok() || !command_line.ok()) return std::nullopt;
  const auto user = EffectiveUser(*status);
  // The name is in parentheses and may contain any character.
  const size_t name = stat->find('('), end = stat->rfind(')');
  if (end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields = Split(stat->substr(std::min(end + 2, stat->size())), ' ');
  // The indexes of the fields after the name. The state, which is field 3 in proc(5), has index 0 here.
  constexpr size_t kState = 0, kStart = 19;
  if (!user || fields.size() <= kStart || fields[kState] == "Z" || fields[kState] == "X") return std::nullopt;
  return VisibleProcess{.pid = pid,
                        .user = *user,
                        .start = fields[kStart],
                        .name = stat->substr(name + 1, end - name - 1),
                        .command_line = *command_line};
}

std::string Describe(const VisibleProcess& process) {
  std::string name = process.name;
  std::ranges::replace_if(
      name, [](char c) { return c < ' ' || c > '~'; }, '?');
  return StrCat("process ", process.pid, " (", name, ") of ", UserName(process.user));
}

LedgerKeeper ThisKeeper() { return {.pid = getpid(), .start = StartTime(getpid()), .namespace_ = OwnNamespace()}; }

bool Runs(const VisibleProcess& process, const LedgerEntry& entry) {
  if (process.user != entry.user || !process.name.starts_with(kPrograms)) return false;
  // The command line has the folder of the job as an argument, <home>/jobs/<id>.
  const std::string folder = StrCat("/", entry.job.value);
  for (size_t at = process.command_line.find(folder); at != std::string::npos;
       at = process.command_line.find(folder, at + 1)) {
    const size_t end = at + folder.size();
    if (end == process.command_line.size() || process.command_line[end] == '\0' || process.command_line[end] == '/')
      return true;
  }
  return false;
}

std::optional<VisibleProcess> FindKeeper(const JobId& job, int64_t user) {
  std::string folder = StrCat("/", job.value);
  // The job id must be at the end of the argument. Otherwise the id "jobs" would match every job, because "jobs" is
  // part of every job's folder.
  folder.push_back('\0');
  for (VisibleProcess& process : ProgramsOfTony()) {
    const bool keeps = process.name == "tony-keeper" && process.command_line.find(folder) != std::string::npos;
    if (keeps && process.user == user) return std::move(process);
  }
  return std::nullopt;
}

// Tests whether process 1, which belongs to root, is visible. If it is not, /proc is mounted with hidepid, and no
// processes of other users are visible.
ProcessChecker::ProcessChecker()
    : namespace_(OwnNamespace()), sees_all_users_(geteuid() == 0 || access("/proc/1/stat", R_OK) == 0) {}

ProcessCheck ProcessChecker::Of(const LedgerEntry& entry) {
  if (entry.user == 0 || entry.user == geteuid()) return ProcessCheck::kRuns;
  if (!sees_all_users_) return ProcessCheck::kCannotTell;
  const bool here = entry.keeper.namespace_.empty() || entry.keeper.namespace_ == namespace_;
  // The entry's keeper is in another pid namespace. Only the initial namespace shows the processes of other namespaces,
  // and under other numbers.
  if (!here && namespace_ != kFirstNamespace) return ProcessCheck::kCannotTell;
  if (here && entry.keeper.pid > 0) {
    const auto keeper = ReadVisibleProcess(entry.keeper.pid);
    if (keeper && keeper->start == entry.keeper.start && Runs(*keeper, entry)) return ProcessCheck::kRuns;
  }
  // The keeper may be in another container, be of an earlier release, or have died before its executors.
  if (!programs_) programs_ = ProgramsOfTony();
  const bool found =
      std::ranges::any_of(*programs_, [&](const VisibleProcess& process) { return Runs(process, entry); });
  return found ? ProcessCheck::kRuns : ProcessCheck::kNone;
}

}  // namespace tony
