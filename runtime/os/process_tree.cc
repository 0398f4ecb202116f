#include "runtime/os/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

std::string ReadAll(int fd) {
  std::string text;
  char buffer[16384];
  ssize_t size;
  while ((size = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, size);
  return text;
}

// Returns the content of a file in /proc/`pid`; nullopt if the process has ended or this user may not read the file.
// Does not use ifstream, because a scan reads two files of each process of the machine.
std::optional<std::string> ReadProcFile(pid_t pid, const char* name) {
  const UniqueFd fd(open(StrCat("/proc/", pid, "/", name).c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() ? std::optional(ReadAll(fd.get())) : std::nullopt;
}

// Returns the fields of /proc/PID/stat from field 3 (state) on; proc(5) describes them.
std::vector<std::string> StatFields(std::string_view text) {
  const size_t end_of_name = text.rfind(')');  // names may contain blanks and parentheses
  if (end_of_name == std::string_view::npos) return {};
  return Split(Trim(text.substr(end_of_name + 1)), ' ');
}

// Returns true if the environment of a process was read as empty and will soon have content. Either the opened file
// belonged to a program that another one has replaced since, or the process is in the middle of execve(2). During
// execve(2) the process first has no environment, and then one that ends where it begins (proc(5), fields 50 and 51).
// Until both addresses are right, the process has no code (field 26; load_elf_binary in fs/binfmt_elf.c).
bool MayYetHaveEnvironment(pid_t pid) {
  constexpr int64_t kExiting = 0x4, kKernelThread = 0x200000;  // flags in include/linux/sched.h
  const auto fields = StatFields(ReadProcFile(pid, "stat").value_or(""));
  if (fields.size() < 49 || (ParseInt(fields[6]).value_or(0) & (kExiting | kKernelThread)) != 0) return false;
  return fields[23] == "0" || fields[47] != fields[48];
}

// Iterates over the pids of all processes in ascending order. The kernel is asked for each pid only after the caller
// has read the process before it. readdir() would list about a thousand pids at once, and a process that forks and
// exits again and again would have ended before its turn.
class ProcessNumbers {
 public:
  ProcessNumbers() : folder_(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

  bool valid() const { return folder_.valid(); }  // false: errno gives the reason

  std::optional<pid_t> Next() {
    for (;;) {
      begin_ = lseek(folder_.get(), 0, SEEK_CUR);
      const ssize_t size = getdents64(folder_.get(), buffer_, room_);
      if (size <= 0) return std::nullopt;
      for (ssize_t at = 0; at < size;) {
        const auto* entry = reinterpret_cast<const dirent64*>(buffer_ + at);
        at += entry->d_reclen;
        const auto pid = ParseInt(entry->d_name);
        if (pid && *pid > last_) {
          if (at < size) lseek(folder_.get(), entry->d_off, SEEK_SET);
          room_ = kOneNumber;
          last_ = static_cast<pid_t>(*pid);
          return last_;
        }
        begin_ = entry->d_off;  // other files of /proc come first
      }
    }
  }

  // Makes Next() list again from the last pid. Call this if the process with that pid has ended since it was found. The
  // kernel had already chosen the next entry at that time. This entry may be an old process with a high pid, so
  // children that the ended process has forked since may have been skipped.
  void LookAgain() {
    lseek(folder_.get(), begin_, SEEK_SET);
    // Room for two entries, because the ended process may still be listed as a zombie.
    room_ = 2 * kOneNumber;
  }

 private:
  // The size of a directory entry in bytes: 19 bytes and up to seven digits, rounded up to a multiple of eight.
  static constexpr size_t kOneNumber = 32;

  const UniqueFd folder_;
  alignas(dirent64) char buffer_[512];
  size_t room_ = sizeof buffer_;
  // The offset in /proc of the process id that was listed last.
  off_t begin_ = 0;
  pid_t last_ = 0;
};

struct Listing {
  std::vector<ProcessEntry> processes;
  // The errno of a shortage that prevented the read of some processes; 0 if all were read.
  int shortage = 0;
};

Listing List(bool with_environment, pid_t above = 0) {
  ProcessNumbers numbers;
  if (!numbers.valid()) return {{}, errno};
  Listing listing;
  while (const auto pid = numbers.Next()) {
    if (*pid <= above) continue;
    errno = 0;
    const auto stat = ReadStat(*pid);
    std::string environment = with_environment ? EnvironmentOf(*pid) : "";
    if (IsShortage(errno)) listing.shortage = errno;
    if (!stat || stat->dead || (with_environment && environment.empty())) numbers.LookAgain();
    if (stat && !stat->dead)
      listing.processes.push_back({*pid, stat->parent, std::move(environment), stat->start_time});
  }
  return listing;
}

// Like ChildrenOf(), except that the result is nullopt if a shortage of descriptors or memory prevents reading all
// children.
std::optional<std::vector<pid_t>> TryChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  const std::string folder = StrCat("/proc/", pid, "/task/");
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir(folder.c_str()), closedir);
  if (!threads && IsShortage(errno)) return std::nullopt;
  while (const dirent* thread = threads ? readdir(threads.get()) : nullptr) {
    if (thread->d_name[0] == '.') continue;
    const UniqueFd fd(open(StrCat(folder, thread->d_name, "/children").c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid() && IsShortage(errno)) return std::nullopt;
    if (!fd.valid()) continue;
    for (const auto& child : Split(Trim(ReadAll(fd.get())), ' '))
      if (const auto number = ParseInt(child)) children.push_back(static_cast<pid_t>(*number));
  }
  return children;
}

bool HasMark(std::string_view environment, std::string_view name_and_value) {
  const size_t equals = name_and_value.find('=');
  CHECK(equals != std::string_view::npos);
  const auto value = VariableIn(environment, name_and_value.substr(0, equals));
  return !value.empty() && value == name_and_value.substr(equals + 1);
}

}  // namespace

Result<std::vector<ProcessEntry>> TryListProcesses(pid_t above) {
  Listing listing = List(true, above);
  if (listing.shortage == 0) return std::move(listing.processes);
  return UnavailableError("cannot read all processes: ", ErrnoText(listing.shortage), LimitNote(listing.shortage));
}

std::vector<ProcessEntry> ListProcesses() { return List(true).processes; }

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
  if (access("/proc/thread-self/children", R_OK) != 0) return std::nullopt;
  return TryChildrenOf(getpid());
}

std::vector<pid_t> ChildrenOf(pid_t pid) { return TryChildrenOf(pid).value_or(std::vector<pid_t>()); }

void BecomeSubreaper() { CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0); }

std::vector<pid_t> Descendants(pid_t root) { return DescendantsIn(List(false).processes, root); }

std::vector<pid_t> DescendantsIn(const std::vector<ProcessEntry>& processes, pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& process : processes) children.emplace(process.parent, process.pid);
  std::vector<pid_t> found;
  // The list is not a snapshot, so with a reused pid the parents may form a cycle.
  std::set<pid_t> seen{root};
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

std::vector<pid_t> ProcessesWithEnvironment(std::string_view name_and_value) {
  std::vector<pid_t> found;
  for (const auto& process : ListProcesses())
    if (HasMark(process.environment, name_and_value) && process.pid != getpid()) found.push_back(process.pid);
  return found;
}

std::optional<ProcessStat> ReadStat(pid_t pid) { return ParseStat(ReadProcFile(pid, "stat").value_or("")); }

std::optional<ProcessStat> ParseStat(std::string_view text) {
  const auto fields = StatFields(text);
  if (fields.size() < 20) return std::nullopt;
  // If a zombie has more than one thread, its main thread has ended and the others still run.
  const bool zombie = fields[0] == "Z" && ParseInt(fields[17]).value_or(1) <= 1;
  return ProcessStat{static_cast<pid_t>(ParseInt(fields[1]).value_or(0)), fields[0][0], zombie || fields[0] == "X",
                     fields[19]};
}

std::string StartTime(pid_t pid) {
  const auto stat = ReadStat(pid);
  return stat ? stat->start_time : "";
}

void SignalIfUnchanged(const ProcessEntry& seen, int signal) {
  const HeldProcess process(seen.pid);
  const auto stat = ReadStat(seen.pid);
  if (!stat || stat->start_time != seen.start_time) return;
  if (process.valid()) {
    (void)process.Signal(signal);
  } else if (stat->parent == getpid()) {
    // This is our own child and not reaped yet, so no other process can have its pid.
    kill(seen.pid, signal);
  }
}

void SignalIfUnchanged(const std::vector<ProcessEntry>& seen, const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) {
    const auto entry = std::ranges::find(seen, pid, &ProcessEntry::pid);
    if (entry != seen.end()) SignalIfUnchanged(*entry, signal);
  }
}

std::string EnvironmentOf(pid_t pid) {
  constexpr int kMostLooks = 200;
  constexpr std::chrono::milliseconds kBetween{1};
  for (int look = 1;; ++look) {
    auto environment = ReadProcFile(pid, "environ");
    if (!environment) return "";
    if (!environment->empty() || look == kMostLooks || !MayYetHaveEnvironment(pid)) return std::move(*environment);
    std::this_thread::sleep_for(kBetween);
  }
}

std::optional<std::string> TryEnvironmentOf(pid_t pid) {
  errno = 0;
  std::string environment = EnvironmentOf(pid);
  return IsShortage(errno) ? std::nullopt : std::optional(std::move(environment));
}

bool HasEnvironmentSetting(pid_t pid, std::string_view name_and_value) {
  return HasMark(EnvironmentOf(pid), name_and_value);
}

void SignalWithEnvironment(std::string_view name_and_value, int signal) {
  for (const pid_t pid : ProcessesWithEnvironment(name_and_value)) {
    const HeldProcess process(pid);
    if (process.valid() && HasEnvironmentSetting(pid, name_and_value)) (void)process.Signal(signal);
  }
}

void SignalAll(const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) kill(pid, signal);
}

}  // namespace tony

extern "C" {  // glibc 2.36's header lacks extern "C"
#include <sys/pidfd.h>
}

namespace tony {
namespace {

// Reads an open /proc/PID/stat. nullopt: errno gives the reason; ESRCH: the process has been reaped.
std::optional<ProcessStat> LookAt(int file) {
  // Room for 52 numbers (proc(5)) of at most 20 digits.
  char text[4096];
  const ssize_t size = pread(file, text, sizeof text, 0);
  if (size < 0) return std::nullopt;
  auto stat = ParseStat({text, static_cast<size_t>(size)});
  // The error is EIO, so that the failure is not mistaken for the end of the process.
  if (!stat) errno = EIO;
  return stat;
}

bool HasEnded(int file) {
  const auto stat = LookAt(file);
  return stat ? stat->dead : errno == ESRCH;
}

class EndPoll : public EventLoop::Handle {
 public:
  EndPoll(EventLoop& loop, int file, EventLoop::Callback fn) : loop_(loop), file_(file), fn_(std::move(fn)) {
    LookLater();
  }

 private:
  void LookLater() {
    timer_ = loop_.After(kCheckInterval, [this] { Look(); });
  }
  void Look() {
    LookLater();
    if (!HasEnded(file_)) return;
    // The callback is copied, because the call may destroy this object.
    const EventLoop::Callback fn = fn_;
    fn();
  }

  EventLoop& loop_;
  const int file_;
  const EventLoop::Callback fn_;
  EventLoop::Timer timer_;
};

}  // namespace

HeldProcess::HeldProcess(pid_t pid) : fd_(pidfd_open(pid, 0)) {
  // Two errors mean that pidfd_open is not available: ENOSYS from an old kernel, and EPERM from a filter. The call
  // itself never reports EPERM (pidfd_open(2)).
  if (fd_.valid() || (errno != ENOSYS && errno != EPERM)) return;
  fd_ = UniqueFd(open(StrCat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_.valid() && errno == ENOENT) errno = ESRCH;
  pid_ = pid;
}

bool HeldProcess::Signal(int signal) const {
  if (!valid()) {
    errno = ESRCH;
    return false;
  }
  if (ReportsEnd()) return pidfd_send_signal(fd_.get(), signal, nullptr, 0) == 0;
  return LookAt(fd_.get()) && kill(pid_, signal) == 0;
}

EventLoop::FdWatch HeldProcess::WhenEnded(EventLoop& loop, EventLoop::Callback fn) const {
  if (ReportsEnd()) return loop.WhenReadable(fd_.get(), std::move(fn));
  return std::make_unique<EndPoll>(loop, fd_.get(), std::move(fn));
}

namespace {

// The greatest depth of a walk, because each level of the tree keeps two descriptors open. Deeper processes move up
// when the processes above them end.
constexpr int kDeepest = 200;
// The greatest number of passes with SIGSTOP. Each pass stops the processes that were forked during the pass before. A
// fork bomb without a limit is left to the next call.
constexpr int kStoppingPasses = 10;
// The number of rounds of SIGKILL and SIGSTOP in one call. With a single round, a process that was forked too late for
// its signals would have forked many others by the next call.
constexpr int kRounds = 3;

class Walk {
 public:
  Walk(int signal, const IsSparedChild& spared) : signal_(signal), spared_(spared) {}

  void Run() {
    const auto children = OwnChildren();
    if (!children) return RunWithoutTheirHelp();
    for (const pid_t child : *children)
      if (!spared_ || !spared_(child)) Visit(child, getpid(), nullptr, 0);
  }

  const TreeWalk& met() const { return met_; }
  const std::vector<ProcessEntry>& seen() const { return seen_; }  // zombies included; parents before children

 private:
  void Visit(pid_t pid, pid_t parent, const HeldProcess* held_parent, int depth) {
    const HeldProcess process(pid);
    const auto stat = ReadStat(pid);
    // If the process has another parent, its old parent has ended meanwhile, and the process is now our own child.
    if (!stat || stat->parent != parent || (held_parent && !held_parent->Signal(0))) return;
    Meet(pid, *stat);
    // This is our own child and not reaped yet, so no other process can have its pid.
    if (signal_ != 0 && !held_parent) kill(pid, signal_);
    if (signal_ != 0 && held_parent) (void)process.Signal(signal_);
    if (depth == kDeepest) return;
    for (const pid_t child : ChildrenOf(pid)) Visit(child, pid, &process, depth + 1);
  }

  void Meet(pid_t pid, const ProcessStat& stat) {
    seen_.push_back({pid, stat.parent, "", stat.start_time});
    if (stat.dead) return;
    met_.living.insert(pid);
    met_.uninterruptible += stat.state == 'D';
  }

  // Signals the processes by a list of all processes of the machine, because the children of this process cannot be
  // listed. A walk signals each process as soon as it is found. Here the list is complete before the first signal is
  // sent, so more processes may be missing from it.
  void RunWithoutTheirHelp() {
    const auto processes = ListProcesses();
    std::vector<ProcessEntry> meant;
    std::ranges::copy_if(processes, std::back_inserter(meant), [this](const ProcessEntry& process) {
      return process.parent != getpid() || !spared_ || !spared_(process.pid);
    });
    const auto below = DescendantsIn(meant, getpid());
    for (const pid_t pid : below)
      if (const auto stat = ReadStat(pid)) Meet(pid, *stat);
    if (signal_ != 0) SignalIfUnchanged(processes, below, signal_);
  }

  const int signal_;
  const IsSparedChild& spared_;
  TreeWalk met_;
  std::vector<ProcessEntry> seen_;
};

// Signals each process as soon as the walk meets it.
TreeWalk SignalOnTheWay(int signal, const IsSparedChild& spared) {
  Walk walk(signal, spared);
  walk.Run();
  return walk.met();
}

// Returns true if `walk` met a process that `before` had not met. The signal of the earlier walk did not reach that
// process.
bool HasNew(const TreeWalk& walk, const TreeWalk& before) {
  return std::ranges::any_of(walk.living, [&](pid_t pid) { return !before.living.contains(pid); });
}

}  // namespace

std::string TreeWalk::Describe() const {
  return StrCat(living.size(), living.size() == 1 ? " process" : " processes", ", e.g. process ", *living.begin(), "");
}

TreeWalk SignalDescendants(int signal, const IsSparedChild& spared, const std::function<bool(pid_t)>& is_meant) {
  Walk look(0, spared);
  look.Run();
  for (const ProcessEntry& process : look.seen())
    if (!is_meant || is_meant(process.pid)) SignalIfUnchanged(process, signal);
  return look.met();
}

TreeWalk KillDescendants(const IsSparedChild& spared) {
  for (int round = 0; round < kRounds; ++round) {
    TreeWalk before = SignalOnTheWay(SIGKILL, spared);
    TreeWalk now = SignalOnTheWay(SIGSTOP, spared);
    if (!HasNew(now, before)) return now;
    for (int pass = 1; pass < kStoppingPasses && HasNew(now, before); ++pass) {
      before = std::move(now);
      now = SignalOnTheWay(SIGSTOP, spared);
    }
  }
  return SignalOnTheWay(SIGKILL, spared);
}

}  // namespace tony
