// An LD_PRELOAD library that lets one program die at a chosen system call or find its disk full. The programs have no
// code for it. Every other process that inherits the library (bash, the user's programs) gets the plain system call.
// README.md lists the variables.
//
// The library calls the kernel itself and does not look up the next library's function: nothing must be resolved before
// the sanitizers' own libraries are ready, and processes without libstdc++ do not need it.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr int kMostProcesses = 1000;

// Written once, before main() and before any thread starts.
struct Plan {
  // The chosen program's process; 0: this process is another program's. A forked child of the chosen process has
  // another pid until its exec, so it does not count.
  pid_t pid = 0;
  char folder[PATH_MAX] = "";  // the job's folder, or SHIM_ROOT
  size_t folder_size = 0;
  int points = -1;  // descriptor of the list of points
  int dies_at = 0;  // number of a point; 0: never
  bool halfway = false;
  const char* full_while = nullptr;
  bool unreadable = false;
};
Plan plan;
std::atomic<int> points_met;
std::atomic<bool> some_room_left;

bool IsMeant() { return plan.pid != 0 && plan.pid == getpid(); }

[[noreturn]] void Die() {
  syscall(SYS_write, plan.points, "died\n", 5);
  for (;;) kill(plan.pid, SIGKILL);
}

enum class Fate { kLive, kHalfway };

Fate Meet(const char* call, const char* target) {
  const int number = ++points_met;
  char line[PATH_MAX + 64];
  const int size = snprintf(line, sizeof line, "%d %s %s\n", number, call, target);
  syscall(SYS_write, plan.points, line, static_cast<size_t>(size));
  if (number != plan.dies_at) return Fate::kLive;
  if (!plan.halfway) Die();
  return Fate::kHalfway;
}

// Returns the name relative to the folder, e.g. "journal" or "logs/worker-0", and "." for the folder itself; null if
// `path` is elsewhere.
const char* NameInFolder(const char* path) {
  if (strncmp(path, plan.folder, plan.folder_size) != 0) return nullptr;
  const char* rest = path + plan.folder_size;
  if (*rest == '\0') return ".";
  return *rest == '/' ? rest + 1 : nullptr;
}

// The object behind a descriptor: a file of the job ("journal"), a socket, or one that does not count.
class Target {
 public:
  explicit Target(int fd) {
    struct stat status;
    if (!IsMeant() || fd == plan.points || fstat(fd, &status) != 0) return;
    if (S_ISSOCK(status.st_mode)) {
      name_ = "socket";
      return;
    }
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path_, sizeof path_ - 1);
    if (size <= 0) return;
    path_[size] = '\0';
    name_ = NameInFolder(path_);
    is_file_ = name_ != nullptr;
  }
  const char* name() const { return name_; }
  bool is_file() const { return is_file_; }

 private:
  char path_[PATH_MAX];
  const char* name_ = nullptr;
  bool is_file_ = false;
};

bool DiskIsFull() {
  if (plan.full_while == nullptr) return false;
  const bool full = access(plan.full_while, F_OK) == 0;
  if (!full) some_room_left = true;
  return full;
}

long NoRoom() {
  errno = ENOSPC;
  return -1;
}

// The first write after the disk became full still writes half of its bytes, as on a real disk.
template <class Write>
ssize_t WriteSome(const char* call, int fd, size_t size, Write write) {
  const Target target(fd);
  if (target.name() != nullptr) {
    if (target.is_file() && DiskIsFull())
      return some_room_left.exchange(false) && size > 1 ? write(size / 2) : NoRoom();
    if (Meet(call, target.name()) == Fate::kHalfway) {
      write(size / 2);
      Die();
    }
  }
  return write(size);
}

// Such a call is done or not done: a death halfway through it is a death before it.
void MeetDescriptor(const char* call, int fd) {
  const Target target(fd);
  if (target.name() != nullptr && Meet(call, target.name()) == Fate::kHalfway) Die();
}

void MeetPath(const char* call, const char* path) {
  const char* name = IsMeant() ? NameInFolder(path) : nullptr;
  if (name != nullptr && Meet(call, name) == Fate::kHalfway) Die();
}

int OpenAt(int directory, const char* path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && IsMeant() && NameInFolder(path) != nullptr) {
    if (DiskIsFull() && access(path, F_OK) != 0) return static_cast<int>(NoRoom());
    MeetPath("open", path);
  }
  if (plan.unreadable && (flags & O_CREAT) == 0 && IsMeant() && NameInFolder(path) != nullptr) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
}

// Reads a list like "37,5h": the program's first process dies at its 37th point, and the second halfway through its
// 5th.
void ReadDeath(const char* list, int process) {
  for (int i = 1; list != nullptr && i < process; ++i) {
    list = strchr(list, ',');
    if (list != nullptr) ++list;
  }
  if (list == nullptr) return;
  char* end = nullptr;
  plan.dies_at = static_cast<int>(strtol(list, &end, 10));
  plan.halfway = *end == 'h';
}

// Opens the list of points and returns the number of this process of the program, counted by the lists of earlier ones.
int OpenPoints(const char* folder) {
  for (int process = 1; process < kMostProcesses; ++process) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/points.%d", folder, process);
    plan.points =
        static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (plan.points >= 0) return process;
    if (errno != EEXIST) break;
  }
  return 0;
}

__attribute__((constructor)) void Begin(int argc, char** argv) {
  const char* folder = getenv("SHIM_FOLDER");
  const char* program = getenv("SHIM_PROGRAM");
  const char* root = getenv("SHIM_ROOT");
  if (folder == nullptr || argc < 2) return;
  if (root == nullptr) root = argv[1];
  if (strlen(root) >= sizeof plan.folder) return;
  if (strcmp(program_invocation_short_name, program == nullptr ? "tony-am" : program) != 0) return;
  const int process = OpenPoints(folder);
  if (process == 0) return;
  strcpy(plan.folder, root);
  plan.folder_size = strlen(plan.folder);
  plan.full_while = getenv("SHIM_FULL_WHILE");
  plan.unreadable = getenv("SHIM_UNREADABLE") != nullptr;
  ReadDeath(getenv("SHIM_CRASH_AT"), process);
  plan.pid = getpid();
}

__attribute__((destructor)) void End() {
  if (IsMeant() && Meet("exit", "-") == Fate::kHalfway) Die();
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* bytes, size_t size) {
  return WriteSome("write", fd, size, [&](size_t n) { return syscall(SYS_write, fd, bytes, n); });
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return WriteSome("pwrite", fd, size, [&](size_t n) { return syscall(SYS_pwrite64, fd, bytes, n, offset); });
}

ssize_t writev(int fd, const iovec* parts, int count) {
  MeetDescriptor("writev", fd);
  return syscall(SYS_writev, fd, parts, count);
}

ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  return WriteSome("send", fd, size,
                   [&](size_t n) { return syscall(SYS_sendto, fd, bytes, n, flags, nullptr, socklen_t{0}); });
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  MeetDescriptor("sendmsg", fd);
  return syscall(SYS_sendmsg, fd, message, flags);
}

int fsync(int fd) {
  MeetDescriptor("fsync", fd);
  return static_cast<int>(syscall(SYS_fsync, fd));
}

int fdatasync(int fd) {
  MeetDescriptor("fdatasync", fd);
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

int ftruncate(int fd, off_t size) noexcept {
  MeetDescriptor("ftruncate", fd);
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

int rename(const char* from, const char* to) noexcept {
  MeetPath("rename", to);
  return static_cast<int>(syscall(SYS_rename, from, to));
}

int link(const char* from, const char* to) noexcept {
  MeetPath("link", to);
  return static_cast<int>(syscall(SYS_link, from, to));
}

int unlink(const char* path) noexcept {
  MeetPath("unlink", path);
  return static_cast<int>(syscall(SYS_unlink, path));
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  MeetPath("renameat2", to);
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (IsMeant() && NameInFolder(path) != nullptr && access(path, F_OK) != 0 && DiskIsFull())
    return static_cast<int>(NoRoom());
  MeetPath("mkdir", path);
  return static_cast<int>(syscall(SYS_mkdir, path, mode));
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return OpenAt(directory, path, flags, mode);
}

}  // extern "C"
