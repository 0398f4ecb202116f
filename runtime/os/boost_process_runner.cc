// The only file that includes Boost.Process, v2 of 1.81. Each flaw of that version that the code works around is
// described at its place below.
#include "runtime/os/boost_process_runner.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/process/v2/posix/default_launcher.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {
namespace process = boost::process::v2;

namespace {

Error SystemError(ErrorCode code, const std::string& what, int error) {
  return {code, StrCat(what, ": ", ErrnoText(error), LimitNote(error))};
}

bool IsOutOfFiles(int error) { return error == EMFILE || error == ENFILE; }

const std::string& ProgramOf(const ProcessSpec& spec) { return spec.program.empty() ? spec.argv[0] : spec.program; }

// Standard streams and working directory of a child. They are opened before the fork, so that each error names its
// file.
struct ChildFiles {
  UniqueFd in, out, err, directory;
};

Result<UniqueFd> OpenOutput(const std::string& path) {
  const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
  UniqueFd fd(path.empty() ? open("/dev/null", flags) : open(path.c_str(), flags | O_CREAT | O_APPEND, 0600));
  if (!fd.valid())
    return SystemError(IsOutOfFiles(errno) ? ErrorCode::kUnavailable : ErrorCode::kCannotWrite, "open " + path, errno);
  return fd;
}

Result<ChildFiles> OpenFiles(const ProcessSpec& spec) {
  ChildFiles files;
  files.directory = UniqueFd(open(spec.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!files.directory.valid() || access(spec.directory.c_str(), X_OK) != 0)
    return SystemError(IsOutOfFiles(errno) ? ErrorCode::kUnavailable : ErrorCode::kNotFound, "enter " + spec.directory,
                       errno);
  files.in = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!files.in.valid()) return SystemError(ErrorCode::kUnavailable, "open /dev/null", errno);
  TRY_ASSIGN(files.out, OpenOutput(spec.stdout_file));
  TRY_ASSIGN(files.err, OpenOutput(spec.stderr_file));
  return files;
}

// Calls `on_each` for every descriptor above the standard streams. Used on kernels without close_range(2): Linux before
// 5.9, or a container whose filter does not know the call. Makes system calls only, because it runs in a forked child.
template <class OnEach>
bool ForOwnDescriptors(OnEach on_each) {
  const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  alignas(dirent64) char buffer[2048];
  ssize_t size;
  while ((size = getdents64(folder, buffer, sizeof buffer)) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      int fd = 0;
      for (const char* digit = entry->d_name; *digit >= '0' && *digit <= '9'; ++digit) fd = 10 * fd + (*digit - '0');
      if (fd > 2 && fd != folder) on_each(fd);
    }
  }
  close(folder);
  return size == 0;
}

bool CloseDescriptors() {
  if (close_range(3, ~0U, 0) == 0) return true;
  // Descriptor 3 is closed first, so that a descriptor is free for listing the others.
  close(3);
  return ForOwnDescriptors([](int fd) { close(fd); });
}

// The work of the child between vfork and exec. The child runs on its parent's memory, so only system calls are safe.
struct ChildSetup {
  const ChildFiles& files;
  const ProcessSpec& spec;

  bool Done() const {
    for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    if (spec.own_session && setsid() < 0) return false;
    if (fchdir(files.directory.get()) != 0) return false;
    if (dup2(files.in.get(), 0) < 0 || dup2(files.out.get(), 1) < 0 || dup2(files.err.get(), 2) < 0) return false;
    // Descriptors are marked close-on-exec, and are not closed here, because a failed exec is reported through one of
    // them.
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0 &&
        !ForOwnDescriptors([](int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }))
      return false;
    // The child itself enters the cgroup before the exec, so every process that the child starts is in the cgroup, too.
    if (spec.cgroup >= 0) (void)!write(spec.cgroup, "0", 1);
    if (!spec.oom_score_adj.empty()) {
      const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
      (void)!write(file, spec.oom_score_adj.data(), spec.oom_score_adj.size());
      close(file);
    }
    for (const int fd : spec.inherited)
      if (fcntl(fd, F_SETFD, 0) != 0) return false;
    return sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  }
};

// Blocks all signals for the lifetime of the object. Otherwise a signal handler of the parent could run in the child,
// on the parent's memory.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Vfork() is a function of its own, so that no value stays in a register that the child changes. An error is sent
// through a pipe and not through shared memory, because the thread sanitizer turns vfork into fork.
[[gnu::noinline]] pid_t Vfork(const ChildSetup& setup, const char* program, const char* const* argv,
                              const char* const* environment, int error_pipe) {
  const SignalsBlocked blocked;
  const pid_t pid = vfork();
  if (pid != 0) return pid;
  if (setup.Done()) execve(program, const_cast<char* const*>(argv), const_cast<char* const*>(environment));
  const int error = errno;
  (void)!write(error_pipe, &error, sizeof error);
  _exit(127);
}

// Replaces Boost's launchers. The default launcher calls fork, which copies all page tables and causes a page fault, in
// both processes, for each page that is written later. Boost's vfork_launcher lets the child reset the descriptors of
// the io_context, which the parent still uses. Boost's process handle opens a pidfd, and throws if the kernel has no
// pidfds.
struct VforkLauncher : process::posix::default_launcher {
  // Returns 0 if `pid` runs, otherwise the errno of the failure.
  int Launch(const std::vector<std::string>& arguments, const ChildSetup& setup) {
    const std::string& program = ProgramOf(setup.spec);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    const UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    pid = Vfork(setup, program.c_str(), build_argv_(setup.spec.argv[0], arguments), env, write_end.get());
    if (pid < 0) return errno;
    write_end.Reset();
    int child_error = 0;
    ssize_t got = 0;
    while ((got = read(read_end.get(), &child_error, sizeof child_error)) < 0 && errno == EINTR) continue;
    return got > 0 ? child_error : 0;
  }
};

size_t Bytes(const std::vector<std::string>& strings) {
  size_t bytes = 0;
  for (const auto& text : strings) bytes += text.size() + 1;
  return bytes;
}

Error CannotStart(const ProcessSpec& spec, int error) {
  std::string text = StrCat("start ", ProgramOf(spec), ": ", ErrnoText(error), LimitNote(error));
  switch (error) {
    case E2BIG:
      text += StrCat(" (", Bytes(spec.argv), " bytes of arguments, ", Bytes(spec.env), " bytes of environment)");
      return InvalidError(text);
    case ENOENT:
      if (access(ProgramOf(spec).c_str(), F_OK) == 0)
        text += " (the interpreter in the script's first line does not exist)";
      return NotFoundError(text);
    case EACCES:
    case EPERM:
      return NotPermittedError(text);
    case ENOEXEC:
      return InvalidError(text);
    default:
      return UnavailableError(text);
  }
}

void KillAndReap(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// Returns true if the child has ended. Does not reap the child.
bool ChildHasEnded(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

// Forks a copy of this process. Signals stay blocked until the child has the default handlers, so none of our handlers
// runs in it.
pid_t ForkCopy(const std::function<void()>& work) {
  const SignalsBlocked blocked;
  const pid_t pid = fork();
  if (pid != 0) return pid;
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  if (!CloseDescriptors()) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  if (setsid() < 0 || chdir("/") != 0 || sigprocmask(SIG_SETMASK, &none, nullptr) != 0) _exit(127);
  work();
  _exit(0);
}

Result<pid_t> Launch(const ProcessSpec& spec, const ChildFiles& files) {
  std::vector<const char*> environment;
  environment.reserve(spec.env.size() + 1);
  for (const auto& variable : spec.env) environment.push_back(variable.c_str());
  environment.push_back(nullptr);
  VforkLauncher launch;
  launch.env = environment.data();
  const std::vector<std::string> arguments(spec.argv.begin() + 1, spec.argv.end());
  const int error = launch.Launch(arguments, ChildSetup{files, spec});
  if (error == 0) return launch.pid;
  KillAndReap(launch.pid);  // the failed child is a zombie
  return CannotStart(spec, error);
}

// Opens /dev/null for standard streams that are closed. The launcher's pipe or the next opened file would otherwise get
// the number of a standard stream.
void OpenStandardStreams() {
  int fd = 0;
  while (fd >= 0 && fd <= 2) fd = open("/dev/null", O_RDWR);
  if (fd > 2) close(fd);
}

}  // namespace

BoostProcessRunner::BoostProcessRunner(EventLoop& loop) : loop_(loop) {
  OpenStandardStreams();
  // If SIGCHLD was inherited as ignored, the kernel would reap the children itself.
  std::signal(SIGCHLD, SIG_DFL);
}

Result<pid_t> BoostProcessRunner::Start(const ProcessSpec& spec, OnExit on_exit) {
  CHECK(!spec.argv.empty() && ProgramOf(spec).starts_with('/'));
  TRY_ASSIGN(const ChildFiles files, OpenFiles(spec));
  TRY_ASSIGN(const pid_t pid, Launch(spec, files));
  return Keep(pid, ProgramOf(spec), std::move(on_exit));
}

Result<pid_t> BoostProcessRunner::StartCopy(const std::function<void()>& work, OnExit on_exit) {
  const pid_t pid = ForkCopy(work);
  if (pid < 0) return SystemError(ErrorCode::kUnavailable, "fork", errno);
  return Keep(pid, "a copy of this process", std::move(on_exit));
}

Result<pid_t> BoostProcessRunner::Keep(pid_t pid, const std::string& what, OnExit on_exit) {
  HeldProcess process(pid);
  if (!process.valid()) {
    const int error = errno;
    KillAndReap(pid);
    return SystemError(ErrorCode::kUnavailable, "watch " + what, error);
  }
  Watch(pid, std::move(process), std::move(on_exit));
  return pid;
}

Status BoostProcessRunner::Adopt(pid_t child, OnExit on_exit) {
  HeldProcess process(child);
  if (!process.valid()) return SystemError(ErrorCode::kUnavailable, StrCat("watch process ", child), errno);
  Watch(child, std::move(process), std::move(on_exit));
  return Ok();
}

void BoostProcessRunner::Watch(pid_t pid, HeldProcess process, OnExit on_exit) {
  Child& child = children_[pid];
  child.on_exit = std::move(on_exit);
  if (!process.ReportsEnd()) {
    if (!look_) LookLater(kCheckInterval);
    return;
  }
  child.process = std::move(process);
  child.watch = child.process.WhenEnded(loop_, [this, pid] { Reap(pid); });
}

void BoostProcessRunner::LookLater(Duration delay) {
  look_ = loop_.After(delay, [this] { Look(); });
}

// Checks all children with a single timer on kernels without pidfds. A timer for each child would cost too much,
// because a keeper (the supervisor of a job on this machine) may have a thousand children.
void BoostProcessRunner::Look() {
  look_.reset();
  if (children_.empty()) return;
  const pid_t ended = EndedChild();
  LookLater(ended > 0 ? Duration(0) : kCheckInterval);
  if (ended > 0) Reap(ended);
}

pid_t BoostProcessRunner::EndedChild() const {
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return 0;
  if (children_.contains(info.si_pid)) return info.si_pid;
  // This runner did not start the ended child, so the runner must not reap it. An ended child that is not reaped may
  // hide ended children of the runner, so each child of the runner is checked.
  const auto ended = std::ranges::find_if(children_, [](const auto& child) { return ChildHasEnded(child.first); });
  return ended == children_.end() ? 0 : ended->first;
}

void BoostProcessRunner::Reap(pid_t pid) {
  int status = 0;
  pid_t reaped;
  do {
    reaped = waitpid(pid, &status, WNOHANG);
  } while (reaped < 0 && errno == EINTR);
  if (reaped == 0) return;
  CHECK(reaped == pid);  // only the runner reaps its children
  const auto child = children_.extract(pid);
  child.mapped().watch.reset();
  if (child.mapped().on_exit) child.mapped().on_exit(FromWaitStatus(status));
}

bool BoostProcessRunner::ReapAllChildren() {
  for (;;) {
    siginfo_t info{};
    // __WALL also finds children that were cloned without a signal for their end.
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) return errno == ECHILD;
    if (info.si_pid == 0) return false;
    if (children_.contains(info.si_pid)) {
      Reap(info.si_pid);
    } else {
      waitpid(info.si_pid, nullptr, WNOHANG | __WALL);
    }
  }
}

}  // namespace tony
