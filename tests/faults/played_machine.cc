#include "tests/faults/played_machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern "C" {  // glibc 2.36's header lacks extern "C"
#include <sys/pidfd.h>
}

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "tests/support/file_front.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// The position of the first process in the kernel's list, behind the other files of /proc.
constexpr off_t kFirstProcess = 256;
constexpr off_t kEndOfList = off_t{1} << 40;
constexpr const char* kOtherFile = "meminfo";

void WriteText(const fs::path& file, const std::string& text) {
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  std::ofstream(file, std::ios::binary) << text;
}

void WriteLink(const fs::path& link, const fs::path& target) {
  std::error_code ignored;
  fs::create_directories(link.parent_path(), ignored);
  fs::remove(link, ignored);
  fs::create_symlink(target, link, ignored);
}

pid_t ThreadOf(pid_t pid, int number) { return number == 0 ? pid : 1'000'000 + pid * 10 + number; }

}  // namespace

class PlayedMachine::Hook : public FileHook {
 public:
  explicit Hook(PlayedMachine& machine) : machine_(machine) {}

  struct Entry {
    int serial = 0;  // distinguishes processes with the same pid
    PlayedProcess process;
    std::vector<int> pidfds;
  };

  // ---- processes ----

  void Add(pid_t pid, PlayedProcess process) {
    Reap(pid);
    entries_[pid] = {++last_serial_, std::move(process), {}};
  }
  void End(pid_t pid) {
    Entry& entry = entries_.at(pid);
    entry.process.state = 'Z';
    entry.process.threads = 1;
    for (auto& [other, child] : entries_) {
      if (child.process.parent != pid) continue;
      child.process.parent = getpid();
      child.process.forked_by = 0;
    }
    for (const int fd : entry.pidfds) eventfd_write(fd, 1);
  }
  void Reap(pid_t pid) {
    const auto found = entries_.find(pid);
    if (found == entries_.end()) return;
    End(pid);
    entries_.erase(pid);
  }
  Entry* Find(pid_t pid) {
    const auto found = entries_.find(pid);
    return found == entries_.end() ? nullptr : &found->second;
  }
  const std::map<pid_t, Entry>& entries() const { return entries_; }
  void MakeCgroup(const fs::path& folder) { cgroups_.insert(folder); }

  // ---- files ----

  int Before(FileCall& call) override {
    if (call.name == "close") Forget(call.fd);
    if (call.name == "read") return Read(call.fd);
    if (!call.path) return 0;
    const auto file = Played(call.path);
    return file ? Told(*file) : 0;
  }

  std::string Instead(const char* path) override {
    if (const fs::path folder = fs::path(path).parent_path(); cgroups_.contains(folder)) WriteCgroup(folder);
    const auto file = Played(path);
    return file ? Make(*file).string() : path;
  }

  void After(const FileCall& call, long result) override {
    if (call.name == "write" && PathOfFd(call.fd).ends_with("/cgroup.kill"))
      KillAllIn(fs::path(PathOfFd(call.fd)).parent_path());
    if (call.name != "open") return;
    const auto file = Played(call.path);
    if (!file) return;
    const auto [pid, rest] = Split(*file);
    const Entry* entry = Find(pid);
    opened_[static_cast<int>(result)] = {pid, entry ? entry->serial : 0, rest, 0};
  }

  // nullopt: the descriptor is not our list
  std::optional<off_t> Seek(int fd, off_t offset, int whence) {
    const auto found = opened_.find(fd);
    if (found == opened_.end() || found->second.pid != 0) return std::nullopt;
    if (whence == SEEK_SET) found->second.position = offset;
    return found->second.position;
  }
  std::optional<ssize_t> List(int fd, char* buffer, size_t room) {
    const auto found = opened_.find(fd);
    if (found == opened_.end() || found->second.pid != 0) return std::nullopt;
    return Fill(found->second.position, buffer, room);
  }

  // ---- holds and signals; they return an errno or 0 ----

  int Hold(pid_t pid, int& fd) {
    int error = Told(StrCat("hold ", pid));
    if (const auto any = machine_.errors.find("hold"); error == 0 && any != machine_.errors.end()) error = any->second;
    Entry* const entry = Find(pid);
    if (error == 0 && !entry) error = ESRCH;
    if (error != 0) return error;
    fd = eventfd(entry->process.state == 'Z' && entry->process.threads == 1 ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    entry->pidfds.push_back(fd);
    pidfds_[fd] = {pid, entry->serial};
    return 0;
  }
  int SignalHeld(int fd, int signal) {
    const auto found = pidfds_.find(fd);
    if (found == pidfds_.end()) return EBADF;
    const auto [pid, serial] = found->second;
    if (const int error = Told(StrCat("signal ", pid)); error != 0) return error;
    const Entry* entry = Find(pid);
    return entry && entry->serial == serial ? Deliver(pid, signal) : ESRCH;
  }
  int Kill(pid_t pid, int signal) {
    if (pid <= 0) return EPERM;  // process groups are not simulated
    if (const int error = Told(StrCat("signal ", pid)); error != 0) return error;
    return Find(pid) ? Deliver(pid, signal) : ESRCH;
  }

 private:
  struct Opened {
    pid_t pid = 0;  // 0: the list of all processes
    int serial = 0;
    std::string rest;  // e.g. "stat"
    off_t position = 0;
  };

  int Told(const std::string& what) {
    if (machine_.before) machine_.before(what);
    const auto error = machine_.errors.find(what);
    return error == machine_.errors.end() ? 0 : error->second;
  }

  int Deliver(pid_t pid, int signal) {
    PlayedProcess& process = Find(pid)->process;
    if (signal == 0) return 0;
    machine_.signals.push_back({pid, process.start, signal});
    const bool dead = process.state == 'Z' && process.threads == 1;
    if (dead || process.state == 'D' || process.ignored.contains(signal)) return 0;
    if (signal == SIGSTOP) {
      process.state = 'T';
    } else if (signal == SIGKILL || process.state != 'T') {
      End(pid);
    }
    return 0;
  }

  // Returns the file's name, e.g. "12/stat", or "" for /proc itself; nullopt: the real file.
  std::optional<std::string> Played(const std::string& path) const {
    constexpr std::string_view kProc = "/proc";
    if (!path.starts_with(kProc)) return std::nullopt;
    std::string rest = fs::path(path.substr(kProc.size())).relative_path().string();
    while (rest.ends_with('/')) rest.pop_back();
    if (rest.empty()) return rest;
    const std::string own = std::to_string(getpid());
    const std::string first = rest.substr(0, rest.find('/'));
    const std::string tail = rest.substr(std::min(first.size() + 1, rest.size()));
    if (first == "thread-self") return StrCat(own, "/task/", own, "/", tail);
    if (first == "self")
      return tail.starts_with("fd") || tail == "cgroup" ? std::nullopt : std::optional(StrCat(own, "/", tail));
    return ParseInt(first) ? std::optional(rest) : std::nullopt;
  }
  static std::pair<pid_t, std::string> Split(const std::string& file) {
    const size_t slash = std::min(file.find('/'), file.size());
    return {static_cast<pid_t>(ParseInt(file.substr(0, slash)).value_or(0)),
            file.substr(std::min(slash + 1, file.size()))};
  }

  // Writes the file with its present content and returns its place. An open file stays that of its process and never
  // becomes that of the next process with its pid.
  fs::path Make(const std::string& file) {
    if (file.empty()) return MakeList();
    const auto [pid, rest] = Split(file);
    const Entry* entry = Find(pid);
    if (!entry) return folder_.path() / "none/none";
    const fs::path place = folder_.path() / std::to_string(entry->serial);
    const PlayedProcess& process = entry->process;
    if (rest == "stat") WriteText(place / rest, Stat(pid, process));
    if (rest == "statm") WriteText(place / rest, StrCat("0 ", process.pages, " 0 0 0 0 0\n"));
    if (rest == "status")
      WriteText(place / rest,
                StrCat("Name:\t", process.name, "\nUid:\t", process.user, "\t", process.user, "\t0\t0\n"));
    if (rest == "comm") WriteText(place / rest, process.name + "\n");
    if (rest == "cmdline") WriteText(place / rest, process.command_line);
    if (rest == "environ") WriteText(place / rest, Environment(process));
    if (rest == "ns/pid") WriteLink(place / rest, "pid:[4026531836]");
    for (const auto& [fd, target] : process.files) {
      if (rest == StrCat("fd/", fd)) WriteLink(place / rest, target);
      if (rest == StrCat("fdinfo/", fd)) WriteText(place / rest, "pos:\t0\nflags:\t0100001\n");
    }
    for (int i = 0; i < process.threads; ++i) {
      const std::string task = StrCat("task/", ThreadOf(pid, i));
      if (rest == "task") fs::create_directories(place / task);
      if (rest == task + "/children") WriteText(place / rest, Children(pid, i));
    }
    return place / rest;
  }

  fs::path MakeList() {
    const fs::path list = folder_.path() / "list";
    std::error_code ignored;
    fs::remove_all(list, ignored);
    fs::create_directories(list / kOtherFile);
    for (const auto& [pid, entry] : entries_)
      if (!machine_.unlisted.contains(pid)) fs::create_directories(list / std::to_string(pid));
    return list;
  }

  static std::string Stat(pid_t pid, const PlayedProcess& process) {
    // Fields of proc(5): 3 is the state, 14 the first of the times, 20 the threads, 22 the start.
    return StrCat(pid, " (", process.name, ") ", std::string(1, process.state), " ", process.parent,
                  " 0 0 0 0 0 0 0 0 0 ", process.ticks, " 0 0 0 20 0 ", process.threads, " 0 ", process.start, " 0\n");
  }
  static std::string Environment(const PlayedProcess& process) {
    std::string text;
    for (const std::string& variable : process.environment) text.append(variable).push_back('\0');
    return text;
  }
  std::string Children(pid_t pid, int thread) const {
    std::string text;
    for (const auto& [other, entry] : entries_)
      if (entry.process.parent == pid && entry.process.forked_by == thread) text += StrCat(other, " ");
    return text;
  }

  void WriteCgroup(const fs::path& folder) const {
    std::string processes;
    for (const auto& [pid, entry] : entries_)
      if (entry.process.cgroup == folder && entry.process.state != 'Z') processes += StrCat(pid, "\n");
    WriteText(folder / "cgroup.events", StrCat("populated ", processes.empty() ? 0 : 1, "\n"));
    WriteText(folder / "cgroup.procs", processes);
  }
  void KillAllIn(const fs::path& folder) {
    std::vector<pid_t> in_it;
    for (const auto& [pid, entry] : entries_)
      if (entry.process.cgroup == folder) in_it.push_back(pid);
    for (const pid_t pid : in_it) Deliver(pid, SIGKILL);
  }

  // Reading fails for a process that has exited, as in the kernel; otherwise the content is that of the moment when the
  // reading begins.
  int Read(int fd) {
    const auto found = opened_.find(fd);
    if (found == opened_.end() || found->second.pid == 0) return 0;
    const Entry* entry = Find(found->second.pid);
    if (!entry || entry->serial != found->second.serial) return ESRCH;
    if (const int error = Told(StrCat("read ", found->second.pid, "/", found->second.rest)); error != 0) return error;
    if (lseek(fd, 0, SEEK_CUR) == 0) Make(StrCat(found->second.pid, "/", found->second.rest));
    return 0;
  }
  void Forget(int fd) {
    opened_.erase(fd);
    if (pidfds_.erase(fd) == 0) return;
    for (auto& [pid, entry] : entries_) std::erase(entry.pidfds, fd);
  }

  // Returns the next entry of the list at `position` or behind: its own position and its name.
  std::optional<std::pair<off_t, std::string>> EntryFrom(off_t position) const {
    if (position == 0) return std::pair(off_t{0}, std::string(kOtherFile));
    for (const auto& [pid, entry] : entries_) {
      if (pid + kFirstProcess >= position && !machine_.unlisted.contains(pid))
        return std::pair(pid + kFirstProcess, std::to_string(pid));
    }
    return std::nullopt;
  }
  // Like the kernel, chooses where the list continues when the last entry that fits is listed.
  ssize_t Fill(off_t& position, char* buffer, size_t room) const {
    size_t used = 0;
    dirent64* last = nullptr;
    auto entry = EntryFrom(position);
    for (; entry; entry = EntryFrom(entry->first + 1)) {
      const size_t size = (offsetof(dirent64, d_name) + entry->second.size() + 1 + 7) / 8 * 8;
      if (used + size > room) break;
      last = reinterpret_cast<dirent64*>(buffer + used);
      *last = {};
      last->d_reclen = static_cast<unsigned short>(size);
      std::strcpy(last->d_name, entry->second.c_str());
      used += size;
      const auto next = EntryFrom(entry->first + 1);
      last->d_off = position = next ? next->first : kEndOfList;
    }
    if (used == 0 && entry) {
      errno = EINVAL;
      return -1;
    }
    return static_cast<ssize_t>(used);
  }

  PlayedMachine& machine_;
  const TempFolder folder_{MemoryFolder()};
  int last_serial_ = 0;
  std::map<pid_t, Entry> entries_;
  std::map<int, Opened> opened_;
  std::map<int, std::pair<pid_t, int>> pidfds_;  // pid and serial
  std::set<fs::path> cgroups_;
};

namespace {

PlayedMachine::Hook* player = nullptr;

int Answer(int error) {
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

}  // namespace

PlayedMachine::PlayedMachine() : hook_(std::make_unique<Hook>(*this)) {
  Add(1, {.parent = 0, .start = "1", .name = "init", .user = 0});
  Add(getpid(), {.start = "50", .name = "test"});
  player = hook_.get();
  SetFileHook(player);
}

PlayedMachine::~PlayedMachine() {
  SetFileHook(nullptr);
  player = nullptr;
}

void PlayedMachine::Add(pid_t pid, PlayedProcess process) { hook_->Add(pid, std::move(process)); }
void PlayedMachine::End(pid_t pid) { hook_->End(pid); }
void PlayedMachine::Reap(pid_t pid) { hook_->Reap(pid); }
void PlayedMachine::MakeCgroup(const fs::path& folder) { hook_->MakeCgroup(folder); }

PlayedProcess* PlayedMachine::Find(pid_t pid) {
  auto* const entry = hook_->Find(pid);
  return entry ? &entry->process : nullptr;
}

std::vector<pid_t> PlayedMachine::Living() const {
  std::vector<pid_t> living;
  for (const auto& [pid, entry] : hook_->entries()) {
    const bool dead = entry.process.state == 'Z' && entry.process.threads == 1;
    if (!dead && pid != 1 && pid != getpid()) living.push_back(pid);
  }
  return living;
}

extern "C" {

int pidfd_open(pid_t pid, unsigned flags) noexcept {
  if (!player) return static_cast<int>(syscall(SYS_pidfd_open, pid, flags));
  int fd = -1;
  const int error = player->Hold(pid, fd);
  return error == 0 ? fd : Answer(error);
}

int pidfd_send_signal(int fd, int signal, siginfo_t* info, unsigned flags) noexcept {
  if (!player) return static_cast<int>(syscall(SYS_pidfd_send_signal, fd, signal, info, flags));
  return Answer(player->SignalHeld(fd, signal));
}

int kill(pid_t pid, int signal) noexcept {
  return player ? Answer(player->Kill(pid, signal)) : static_cast<int>(syscall(SYS_kill, pid, signal));
}

off_t lseek(int fd, off_t offset, int whence) noexcept {
  const auto played = player ? player->Seek(fd, offset, whence) : std::nullopt;
  return played ? *played : syscall(SYS_lseek, fd, offset, whence);
}

ssize_t getdents64(int fd, void* buffer, size_t room) noexcept {
  const auto played = player ? player->List(fd, static_cast<char*>(buffer), room) : std::nullopt;
  return played ? *played : syscall(SYS_getdents64, fd, buffer, room);
}

}  // extern "C"

}  // namespace tony
