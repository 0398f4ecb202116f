#include "runtime/process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

std::string ReadAll(int fd) {
  std::string text;
  char buffer[16384];
  ssize_t size;
  while ((size = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, size);
  return text;
}

// "" if it is gone or not ours to read. Not by ifstream: a scan reads two files of each process of the machine.
std::string ReadProcFile(pid_t pid, const char* name) {
  const UniqueFd fd(open(StrCat("/proc/", pid, "/", name).c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() ? ReadAll(fd.get()) : "";
}

struct Stat {
  pid_t parent = 0;
  bool dead = false;
  std::string start_time;
};

std::optional<Stat> ReadStat(pid_t pid) {
  const std::string text = ReadProcFile(pid, "stat");
  const size_t end_of_name = text.rfind(')');  // the name may hold blanks and parentheses
  if (end_of_name == std::string::npos) return std::nullopt;
  const auto fields = Split(Trim(std::string_view(text).substr(end_of_name + 1)), ' ');
  if (fields.size() < 20) return std::nullopt;  // field 3 of proc(5), the state, is the first here
  // A zombie with more than one thread is a process whose main thread has ended and whose others run on.
  const bool zombie = fields[0] == "Z" && ParseInt(fields[17]).value_or(1) <= 1;
  return Stat{static_cast<pid_t>(ParseInt(fields[1]).value_or(0)), zombie || fields[0] == "X", fields[19]};
}

std::vector<ProcessEntry> List(bool with_environment) {
  std::vector<ProcessEntry> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  CHECK(folder);
  while (const dirent* entry = readdir(folder.get())) {
    const auto pid = ParseInt(entry->d_name);
    if (!pid) continue;
    const auto stat = ReadStat(static_cast<pid_t>(*pid));
    if (!stat || stat->dead) continue;
    processes.push_back({static_cast<pid_t>(*pid), stat->parent,
                         with_environment ? ReadProcFile(static_cast<pid_t>(*pid), "environ") : ""});
  }
  return processes;
}

}  // namespace

std::vector<ProcessEntry> ListProcesses() { return List(true); }

std::string_view VariableIn(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view variable = environment.substr(0, environment.find('\0'));
    if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=')
      return variable.substr(name.size() + 1);
    environment.remove_prefix(std::min(environment.size(), variable.size() + 1));
  }
  return {};
}

std::optional<std::vector<pid_t>> OwnChildren() {
  std::vector<pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir("/proc/self/task"), closedir);
  CHECK(threads);
  while (const dirent* thread = readdir(threads.get())) {
    if (thread->d_name[0] == '.') continue;
    const std::string name = StrCat("/proc/self/task/", thread->d_name, "/children");
    const UniqueFd fd(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return std::nullopt;
    for (const auto& pid : Split(Trim(ReadAll(fd.get())), ' ')) children.push_back(ParseInt(pid).value_or(0));
  }
  return children;
}

void BecomeSubreaper() { CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0); }

std::vector<pid_t> Descendants(pid_t root) { return DescendantsIn(List(false), root); }

std::vector<pid_t> DescendantsIn(const std::vector<ProcessEntry>& processes, pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& process : processes) children.emplace(process.parent, process.pid);
  std::vector<pid_t> found;
  std::set<pid_t> seen{root};  // the list is not of one moment: a reused pid could close a ring
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (auto [child, end] = children.equal_range(parent); child != end; ++child) {
      if (!seen.insert(child->second).second) continue;
      found.push_back(child->second);
      open.push_back(child->second);
    }
  }
  return found;
}

std::vector<pid_t> WithEnvironment(std::string_view name_and_value) {
  const size_t equals = name_and_value.find('=');
  CHECK(equals != std::string_view::npos);
  std::vector<pid_t> found;
  for (const auto& process : ListProcesses()) {
    const auto value = VariableIn(process.environment, name_and_value.substr(0, equals));
    if (!value.empty() && value == name_and_value.substr(equals + 1) && process.pid != getpid())
      found.push_back(process.pid);
  }
  return found;
}

std::string StartTime(pid_t pid) {
  const auto stat = ReadStat(pid);
  return stat ? stat->start_time : "";
}

void SignalAll(const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) kill(pid, signal);
}

}  // namespace tony
