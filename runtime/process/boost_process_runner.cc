// The only file that includes Boost.Process, v2 of 1.81. Each trap of that version that is stepped around here is
// named where it is.
#include "runtime/process/boost_process_runner.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/process/v2/posix/default_launcher.hpp>
#include <boost/process/v2/process.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony {
namespace process = boost::process::v2;

namespace {

Error SystemError(ErrorCode code, const std::string& what, int error) {
  return {code, StrCat(what, ": ", ErrnoText(error))};
}

// Standard streams and folder of a child, opened before the fork so that each error names its file.
struct ChildFiles {
  UniqueFd in, out, err, directory;
};

Result<UniqueFd> OpenOutput(const std::string& path) {
  const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
  UniqueFd fd(path.empty() ? open("/dev/null", flags) : open(path.c_str(), flags | O_CREAT | O_APPEND, 0600));
  if (!fd.valid()) return SystemError(ErrorCode::kCannotWrite, "open " + path, errno);
  return fd;
}

Result<ChildFiles> OpenFiles(const ProcessSpec& spec) {
  ChildFiles files;
  files.directory = UniqueFd(open(spec.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!files.directory.valid() || access(spec.directory.c_str(), X_OK) != 0)
    return SystemError(ErrorCode::kNotFound, "enter " + spec.directory, errno);
  files.in = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!files.in.valid()) return SystemError(ErrorCode::kUnavailable, "open /dev/null", errno);
  TRY_ASSIGN(files.out, OpenOutput(spec.stdout_file));
  TRY_ASSIGN(files.err, OpenOutput(spec.stderr_file));
  return files;
}

// What the child does between fork and exec.
struct ChildSetup {
  const ChildFiles& files;
  bool own_session;

  template <class Launcher>
  boost::system::error_code on_exec_setup(Launcher&, const boost::filesystem::path&, const char* const*&) const {
    // When exec fails the launcher ends the child by exit(3), which would run the parent's exit handlers and print
    // its buffered output once more. The handler added last runs first.
    std::atexit([] { _exit(127); });
    for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    if (own_session && setsid() < 0) return Errno();
    if (fchdir(files.directory.get()) != 0) return Errno();
    if (dup2(files.in.get(), 0) < 0 || dup2(files.out.get(), 1) < 0 || dup2(files.err.get(), 2) < 0) return Errno();
    // The launcher means to close everything but leaves what is below its own pipe open. Marking keeps that pipe, by
    // which it reports a failed exec.
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return Errno();
    if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0) return Errno();
    return {};
  }

  static boost::system::error_code Errno() { return {errno, boost::system::system_category()}; }
};

size_t Bytes(const std::vector<std::string>& strings) {
  size_t bytes = 0;
  for (const auto& text : strings) bytes += text.size() + 1;
  return bytes;
}

Error CannotStart(const ProcessSpec& spec, int error) {
  std::string text = StrCat("start ", spec.argv[0], ": ", ErrnoText(error));
  switch (error) {
    case E2BIG:
      text += StrCat(" (", Bytes(spec.argv), " bytes of arguments, ", Bytes(spec.env), " bytes of environment)");
      return {ErrorCode::kInvalid, text};
    case ENOENT:
      if (access(spec.argv[0].c_str(), F_OK) == 0) text += " (the interpreter that it names)";
      return {ErrorCode::kNotFound, text};
    case EACCES:
    case EPERM:
      return {ErrorCode::kNotPermitted, text};
    case ENOEXEC:
      return {ErrorCode::kInvalid, text};
    default:
      return {ErrorCode::kUnavailable, text};
  }
}

void KillAndReap(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// The launcher would put its pipe, and open() our files, where standard streams belong if one of those were closed.
void OpenStandardStreams() {
  int fd = 0;
  while (fd >= 0 && fd <= 2) fd = open("/dev/null", O_RDWR);
  if (fd > 2) close(fd);
}

}  // namespace

// Launches on an io_context that nothing else is on: the child registers every descriptor of the context again before
// it execs, and the parent waits for that.
class BoostProcessRunner::Launcher {
 public:
  struct Launched {
    pid_t pid;
    UniqueFd pidfd;
  };

  Result<Launched> Launch(const ProcessSpec& spec, const ChildFiles& files) {
    std::vector<const char*> environment;
    environment.reserve(spec.env.size() + 1);
    for (const auto& variable : spec.env) environment.push_back(variable.c_str());
    environment.push_back(nullptr);
    process::posix::default_launcher launch;
    launch.env = environment.data();
    try {
      boost::system::error_code error;
      const std::vector<std::string> arguments(spec.argv.begin() + 1, spec.argv.end());
      auto child = launch(io_.get_executor(), error, spec.argv[0], arguments, ChildSetup{files, spec.own_session});
      if (error) {
        KillAndReap(launch.pid);  // the launcher leaves a zombie
        return CannotStart(spec, error.value());
      }
      Launched launched{child.id(), UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, child.id(), 0)))};
      const int pidfd_error = errno;
      child.detach();  // or its destructor would kill and wait
      if (launched.pidfd.valid()) return launched;
      KillAndReap(launched.pid);
      return SystemError(ErrorCode::kUnavailable, StrCat("watch ", spec.argv[0]), pidfd_error);
    } catch (const std::exception& e) {  // no pidfd_open on this kernel, or no memory
      KillAndReap(launch.pid);
      return Error{ErrorCode::kUnavailable, StrCat("start ", spec.argv[0], ": ", e.what())};
    }
  }

 private:
  boost::asio::io_context io_{1};
};

BoostProcessRunner::BoostProcessRunner(EventLoop& loop) : loop_(loop), launcher_(std::make_unique<Launcher>()) {
  OpenStandardStreams();
  std::signal(SIGCHLD, SIG_DFL);  // if it was inherited as ignored, the kernel would reap for us
}

BoostProcessRunner::~BoostProcessRunner() = default;

Result<pid_t> BoostProcessRunner::Start(const ProcessSpec& spec, OnExit on_exit) {
  CHECK(!spec.argv.empty() && spec.argv[0].starts_with('/'));
  TRY_ASSIGN(const ChildFiles files, OpenFiles(spec));
  TRY_ASSIGN(auto launched, launcher_->Launch(spec, files));
  const pid_t pid = launched.pid;
  Child& child = children_[pid];
  child.pidfd = std::move(launched.pidfd);
  child.on_exit = std::move(on_exit);
  child.watch = loop_.WhenReadable(child.pidfd.get(), [this, pid] { Reap(pid); });
  return pid;
}

void BoostProcessRunner::Reap(pid_t pid) {
  int status = 0;
  pid_t reaped;
  do {
    reaped = waitpid(pid, &status, WNOHANG);
  } while (reaped < 0 && errno == EINTR);
  if (reaped == 0) return;
  CHECK(reaped == pid);  // nobody else waits for our children
  const auto child = children_.extract(pid);
  child.mapped().watch.reset();
  if (child.mapped().on_exit) child.mapped().on_exit(FromWaitStatus(status));
}

void BoostProcessRunner::ReapStrangers() {
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (children_.contains(info.si_pid)) {
      Reap(info.si_pid);
    } else {
      waitpid(info.si_pid, nullptr, WNOHANG);
    }
  }
}

}  // namespace tony
