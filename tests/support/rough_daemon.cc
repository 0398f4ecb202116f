// rough_daemon KIND LOCK_FILE: becomes a daemon that is hard to end, and returns when the daemon runs.
// rough_daemon check FOLDER: names on standard error each lock file in FOLDER that a daemon holds; exits with 9 if a
// daemon holds one.
//
// The daemon and all its descendants hold one lock, so that the kernel knows whether any of them lives. A KIND is one
// or more of these words, joined by commas:
//   refork     each process forks the next one in a new session, and exits a few milliseconds later
//   hasty      ... at once
//   exec       each process executes this program again
//   bare       its environment is empty
//   quiet      its output goes to /dev/null
//   noterm     SIGTERM is ignored
//   stopped    the process stops itself
//   headless   its first thread exits, another one continues
//   nosignal   its parent gets no signal when it exits
//   bomb       up to 40 processes that replace each other
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kWidth = 40;  // processes of a bomb
// The daemon ends after this many seconds, because then a test has failed.
constexpr time_t kLongestLife = 60;

struct Daemon {
  std::string kind, lock_file;
  // A pipe that gets one byte when the daemon is complete.
  int ready = -1;
  int generation = 0;
  time_t end = time(nullptr) + kLongestLife;

  bool Is(std::string_view word) const { return ("," + kind + ",").find("," + std::string(word) + ",") != kind.npos; }
};

void EndInTime(const Daemon& daemon) {
  if (time(nullptr) > daemon.end) _exit(0);
}

void SayReady(Daemon& daemon) {
  if (daemon.ready >= 0) (void)!write(daemon.ready, "x", 1);
  if (daemon.ready >= 0) close(daemon.ready);
  daemon.ready = -1;
}

pid_t Fork(const Daemon& daemon) {
  if (!daemon.Is("nosignal")) return fork();
  return static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
}

// Executes the same program. Everything that it needs is in its arguments, because the environment may be emptied.
void Exec(const Daemon& daemon) {
  const std::string ready = std::to_string(daemon.ready), generation = std::to_string(daemon.generation),
                    end = std::to_string(daemon.end);
  const char* argv[] = {"rough_daemon", daemon.kind.c_str(), daemon.lock_file.c_str(),
                        ready.c_str(),  generation.c_str(),  end.c_str(),
                        nullptr};
  char* nothing[] = {nullptr};
  execve("/proc/self/exe", const_cast<char**>(argv), daemon.Is("bare") ? nothing : environ);
  _exit(70);
}

[[noreturn]] void Refork(Daemon& daemon) {
  for (;; ++daemon.generation) {
    if (daemon.generation == 3) SayReady(daemon);
    if (daemon.generation > 3 && !daemon.Is("hasty")) usleep(3000);
    // If no process can be forked, this one continues.
    if (Fork(daemon) > 0) _exit(0);
    setsid();
    EndInTime(daemon);
    if (daemon.Is("exec")) {
      ++daemon.generation;
      Exec(daemon);
    }
  }
}

[[noreturn]] void Bomb(Daemon& daemon) {
  auto* slots = static_cast<std::atomic<pid_t>*>(
      mmap(nullptr, kWidth * sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (;;) {
    int living = 0;
    for (int i = 0; i < kWidth; ++i) {
      pid_t holder = slots[i].load();
      if (holder > 0 && kill(holder, 0) == 0) {
        ++living;
      } else if (slots[i].compare_exchange_strong(holder, getpid())) {
        const pid_t child = fork();
        slots[i] = child == 0 ? getpid() : std::max(child, 0);
      }
    }
    EndInTime(daemon);
    if (living >= kWidth / 2) SayReady(daemon);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    usleep(2000);
  }
}

void* RunOn(void* daemon) {
  while (kill(getpid(), 0) == 0 && static_cast<Daemon*>(daemon)->ready >= 0) {
    std::string stat(4096, '\0');
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    (void)!read(fd, stat.data(), stat.size());
    close(fd);
    if (stat.find(") Z ") != stat.npos) SayReady(*static_cast<Daemon*>(daemon));
    usleep(1000);
  }
  for (;;) {
    EndInTime(*static_cast<Daemon*>(daemon));
    usleep(50'000);
  }
}

[[noreturn]] void Live(Daemon& daemon) {
  // the reader of the output may have exited
  std::signal(SIGPIPE, SIG_IGN);
  if (daemon.Is("noterm")) std::signal(SIGTERM, SIG_IGN);
  if (daemon.Is("quiet")) {
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, 1);
    dup2(null, 2);
  }
  if (daemon.Is("bare") && daemon.generation == 0) {
    daemon.generation = 1;
    Exec(daemon);
  }
  if (daemon.Is("refork") || daemon.Is("hasty")) Refork(daemon);
  if (daemon.Is("bomb")) Bomb(daemon);
  if (daemon.Is("headless")) {
    pthread_t thread;
    pthread_create(&thread, nullptr, RunOn, &daemon);
    syscall(SYS_exit, 0);
  }
  SayReady(daemon);
  if (daemon.Is("stopped")) raise(SIGSTOP);
  alarm(kLongestLife);
  for (;;) pause();
}

// Uses a shared lock, because others may check at the same time.
int Check(const char* folder) {
  int exit_code = 0;
  DIR* const listing = opendir(folder);
  while (const dirent* entry = listing ? readdir(listing) : nullptr) {
    const std::string path = std::string(folder) + "/" + entry->d_name;
    const int fd = entry->d_name[0] == '.' ? -1 : open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0) {
      std::fprintf(stderr, "%s lives\n", entry->d_name);
      exit_code = 9;
    }
    if (fd >= 0) close(fd);
  }
  return exit_code;
}

int Begin(Daemon daemon) {
  const int lock = open(daemon.lock_file.c_str(), O_RDWR | O_CREAT, 0600);
  int ends[2], orphaned[2];
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0 || pipe(ends) != 0 || pipe(orphaned) != 0) return 70;
  const pid_t middle = fork();
  if (middle == 0) {
    setsid();
    if (fork() > 0) _exit(0);
    close(ends[0]);
    close(orphaned[1]);
    // A process that stops before its group is orphaned gets SIGHUP and SIGCONT from the kernel (POSIX, _exit()).
    char byte = 0;
    (void)!read(orphaned[0], &byte, 1);
    close(orphaned[0]);
    daemon.ready = ends[1];
    Live(daemon);
  }
  close(ends[1]);
  waitpid(middle, nullptr, 0);
  close(orphaned[1]);
  char ready = 0;
  return read(ends[0], &ready, 1) == 1 ? 0 : 70;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  if (std::strcmp(argv[1], "check") == 0) return Check(argv[2]);
  Daemon daemon{argv[1], argv[2]};
  if (argc < 6) return Begin(daemon);
  daemon.ready = std::atoi(argv[3]);
  daemon.generation = std::atoi(argv[4]);
  daemon.end = std::atol(argv[5]);
  Live(daemon);
}
