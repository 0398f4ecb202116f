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

// Nothing if it is gone or not ours to read. Not by ifstream: a scan reads two files of each process of the machine.
std::optional<std::string> ReadProcFile(pid_t pid, const char* name) {
  const UniqueFd fd(open(StrCat("/proc/", pid, "/", name).c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() ? std::optional(ReadAll(fd.get())) : std::nullopt;
}

std::vector<std::string> StatFields(std::string_view text) {  // from field 3 of proc(5) on, the state
  const size_t end_of_name = text.rfind(')');                 // the name may hold blanks and parentheses
  if (end_of_name == std::string_view::npos) return {};
  return Split(Trim(text.substr(end_of_name + 1)), ' ');
}

// Whether an environment of which nothing could be read will be there in a moment: what was opened was that of a
// program which another has replaced since, or the process is in the middle of execve(2). There it has none at first,
// then one that ends where it begins (proc(5), fields 50 and 51), and until both are right no code (field 26;
// load_elf_binary in fs/binfmt_elf.c).
bool MayYetHaveEnvironment(pid_t pid) {
  constexpr int64_t kExiting = 0x4, kKernelThread = 0x200000;  // include/linux/sched.h
  const auto fields = StatFields(ReadProcFile(pid, "stat").value_or(""));
  if (fields.size() < 49 || (ParseInt(fields[6]).value_or(0) & (kExiting | kKernelThread)) != 0) return false;
  return fields[23] == "0" || fields[47] != fields[48];
}

// The numbers of all processes, ascending, each found only after the one before has been looked at. readdir() would ask
// for a thousand at once, and one that forks and ends again and again is gone before its turn comes.
class ProcessNumbers {
 public:
  ProcessNumbers() : folder_(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

  bool valid() const { return folder_.valid(); }  // false: errno says why

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
        begin_ = entry->d_off;  // the files of /proc come first
      }
    }
  }

  // The last one has ended since it was found. When it was found, the kernel chose the next one: that may be an old
  // process with a high number, and what the last one has forked since stands between the two.
  void LookAgain() {
    lseek(folder_.get(), begin_, SEEK_SET);
    room_ = 2 * kOneNumber;  // it may still be there, as a zombie
  }

 private:
  static constexpr size_t kOneNumber = 32;  // 19 bytes and up to seven digits, in units of eight

  const UniqueFd folder_;
  alignas(dirent64) char buffer_[512];
  size_t room_ = sizeof buffer_;
  off_t begin_ = 0;  // where the last one was found
  pid_t last_ = 0;
};

struct Listing {
  std::vector<ProcessEntry> processes;
  int shortage = 0;  // an errno: some could not be looked at
};

Listing List(bool with_environment) {
  ProcessNumbers numbers;
  if (!numbers.valid()) return {{}, errno};
  Listing listing;
  while (const auto pid = numbers.Next()) {
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

// Nothing: a shortage keeps us from seeing all of them.
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

Result<std::vector<ProcessEntry>> TryListProcesses() {
  Listing listing = List(true);
  if (listing.shortage == 0) return std::move(listing.processes);
  return UnavailableError("look at all processes: ", ErrnoText(listing.shortage), LimitNote(listing.shortage));
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
  std::vector<pid_t> found;
  for (const auto& process : ListProcesses())
    if (HasMark(process.environment, name_and_value) && process.pid != getpid()) found.push_back(process.pid);
  return found;
}

std::optional<ProcessStat> ReadStat(pid_t pid) { return ParseStat(ReadProcFile(pid, "stat").value_or("")); }

std::optional<ProcessStat> ParseStat(std::string_view text) {
  const auto fields = StatFields(text);
  if (fields.size() < 20) return std::nullopt;
  // A zombie with more than one thread is a process whose main thread has ended and whose others run on.
  const bool zombie = fields[0] == "Z" && ParseInt(fields[17]).value_or(1) <= 1;
  return ProcessStat{static_cast<pid_t>(ParseInt(fields[1]).value_or(0)), fields[0][0], zombie || fields[0] == "X",
                     fields[19]};
}

std::string StartTime(pid_t pid) {
  const auto stat = ReadStat(pid);
  return stat ? stat->start_time : "";
}

void SignalSeen(const ProcessEntry& seen, int signal) {
  const HeldProcess process(seen.pid);
  const auto stat = ReadStat(seen.pid);
  if (!stat || stat->start_time != seen.start_time) return;
  if (process.valid()) {
    (void)process.Signal(signal);
  } else if (stat->parent == getpid()) {
    kill(seen.pid, signal);  // our child, not reaped: the number is still its own
  }
}

void SignalSeen(const std::vector<ProcessEntry>& seen, const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) {
    const auto entry = std::ranges::find(seen, pid, &ProcessEntry::pid);
    if (entry != seen.end()) SignalSeen(*entry, signal);
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

bool IsMarked(pid_t pid, std::string_view name_and_value) { return HasMark(EnvironmentOf(pid), name_and_value); }

void SignalMarked(std::string_view name_and_value, int signal) {
  for (const pid_t pid : WithEnvironment(name_and_value)) {
    const HeldProcess process(pid);
    if (process.valid() && IsMarked(pid, name_and_value)) (void)process.Signal(signal);
  }
}

void SignalAll(const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) kill(pid, signal);
}

}  // namespace tony

extern "C" {  // glibc 2.36's header does not say so itself
#include <sys/pidfd.h>
}

namespace tony {
namespace {

// Nothing: errno says why; ESRCH: it has been reaped.
std::optional<ProcessStat> LookAt(int file) {
  char text[4096];  // 52 numbers (proc(5)) of at most 20 digits
  const ssize_t size = pread(file, text, sizeof text, 0);
  if (size < 0) return std::nullopt;
  auto stat = ParseStat({text, static_cast<size_t>(size)});
  if (!stat) errno = EIO;  // so it is not taken for an end
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
    timer_ = loop_.After(kBetweenLooks, [this] { Look(); });
  }
  void Look() {
    LookLater();
    if (!HasEnded(file_)) return;
    const EventLoop::Callback fn = fn_;  // which may be the end of this
    fn();
  }

  EventLoop& loop_;
  const int file_;
  const EventLoop::Callback fn_;
  EventLoop::Timer timer_;
};

}  // namespace

HeldProcess::HeldProcess(pid_t pid) : fd_(pidfd_open(pid, 0)) {
  // No pidfd_open: ENOSYS of an old kernel, EPERM of a filter. The call itself has no other EPERM (pidfd_open(2)).
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
  if (TellsItsEnd()) return pidfd_send_signal(fd_.get(), signal, nullptr, 0) == 0;
  return LookAt(fd_.get()) && kill(pid_, signal) == 0;
}

EventLoop::FdWatch HeldProcess::WhenEnded(EventLoop& loop, EventLoop::Callback fn) const {
  if (TellsItsEnd()) return loop.WhenReadable(fd_.get(), std::move(fn));
  return std::make_unique<EndPoll>(loop, fd_.get(), std::move(fn));
}

namespace {

// Each level of the tree has two descriptors open. What is deeper comes up as those above it end.
constexpr int kDeepest = 200;
// Each stops those that were forked during the one before. A bomb that has room for ever has to wait for the next call.
constexpr int kStoppingPasses = 10;
// One that gets through would fill the room again before the next call.
constexpr int kRounds = 3;

class Walk {
 public:
  Walk(int signal, const Spared& spared) : signal_(signal), spared_(spared) {}

  void Run() {
    const auto children = OwnChildren();
    if (!children) return RunWithoutTheirHelp();
    for (const pid_t child : *children)
      if (!spared_ || !spared_(child)) Visit(child, getpid(), nullptr, 0);
  }

  const TreeWalk& met() const { return met_; }
  const std::vector<ProcessEntry>& seen() const { return seen_; }  // zombies, too; parents before their children

 private:
  void Visit(pid_t pid, pid_t parent, const HeldProcess* held_parent, int depth) {
    const HeldProcess process(pid);
    const auto stat = ReadStat(pid);
    // Otherwise its parent ended meanwhile, and it is our child by now.
    if (!stat || stat->parent != parent || (held_parent && !held_parent->Signal(0))) return;
    Meet(pid, *stat);
    if (signal_ != 0 && !held_parent) kill(pid, signal_);  // our child, not reaped: the number is still its own
    if (signal_ != 0 && held_parent) (void)process.Signal(signal_);
    if (depth == kDeepest) return;
    for (const pid_t child : ChildrenOf(pid)) Visit(child, pid, &process, depth + 1);
  }

  void Meet(pid_t pid, const ProcessStat& stat) {
    seen_.push_back({pid, stat.parent, "", stat.start_time});
    if (stat.dead) return;
    met_.living.insert(pid);
    met_.in_kernel += stat.state == 'D';
  }

  // On a kernel that tells nobody's children: by a list of all processes, which is older when they are signalled.
  void RunWithoutTheirHelp() {
    const auto processes = ListProcesses();
    std::vector<ProcessEntry> meant;
    std::ranges::copy_if(processes, std::back_inserter(meant), [this](const ProcessEntry& process) {
      return process.parent != getpid() || !spared_ || !spared_(process.pid);
    });
    const auto below = DescendantsIn(meant, getpid());
    for (const pid_t pid : below)
      if (const auto stat = ReadStat(pid)) Meet(pid, *stat);
    if (signal_ != 0) SignalSeen(processes, below, signal_);
  }

  const int signal_;
  const Spared& spared_;
  TreeWalk met_;
  std::vector<ProcessEntry> seen_;
};

// Each as soon as it is met.
TreeWalk SignalOnTheWay(int signal, const Spared& spared) {
  Walk walk(signal, spared);
  walk.Run();
  return walk.met();
}

// Whether there is one that was not met before, and so was not signalled.
bool HasNew(const TreeWalk& walk, const TreeWalk& before) {
  return std::ranges::any_of(walk.living, [&](pid_t pid) { return !before.living.contains(pid); });
}

}  // namespace

std::string TreeWalk::Describe() const {
  return StrCat(living.size(), living.size() == 1 ? " process" : " processes", ", process ", *living.begin(),
                " for one");
}

TreeWalk SignalOwnTree(int signal, const Spared& spared) {
  Walk look(0, spared);
  look.Run();
  for (const ProcessEntry& process : look.seen()) SignalSeen(process, signal);
  return look.met();
}

TreeWalk KillOwnTree(const Spared& spared) {
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
