#include "tests/support/tony_runner.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/places.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

constexpr Limit kLook{5};

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int ShellStatus(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// Makes only async-signal-safe calls, because it runs after fork() in a program with threads.
[[noreturn]] void BecomeProgram(char** argv, char** env, const char* directory, int out, int err) {
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDONLY);
  if (chdir(directory) != 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(125);
  HearAllSignals();
  execve(argv[0], argv, env);
  _exit(125);
}

std::string ReadProc(pid_t pid, const char* name) { return ReadText(fs::path("/proc") / std::to_string(pid) / name); }

// A zombie has no environment and an empty command line, so it never matches a mark.
bool HasMark(pid_t pid, std::string_view mark) {
  return ReadProc(pid, "environ").find(mark) != std::string::npos ||
         ReadProc(pid, "cmdline").find(mark) != std::string::npos;
}

std::string WithoutLineEnd(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Returns whether the kernel starts a loader for the program, which loads libraries.
bool IsDynamic(const fs::path& program) {
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr header = {};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    file.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (file && segment.p_type == PT_INTERP) return true;
  }
  return false;
}

// All tests share one copy of the programs, which are large. Copies of earlier builds are removed.
void ShareProgramsIn(const fs::path& home) {
  const fs::path shared = fs::path(ProgramFolder()).parent_path() / "programs-of-jobs";
  fs::create_directory(home);
  fs::create_directory(shared);
  fs::create_directory_symlink(shared, home / "programs");
  std::error_code ignored;
  fs::file_time_type built = fs::file_time_type::min();
  for (const char* program : {"tony-am", "tony-executor", "tony-keeper"})
    built = std::max(built, fs::last_write_time(fs::path(ProgramFolder()) / program, ignored));
  for (const auto& entry : fs::directory_iterator(shared, ignored)) {
    if (entry.is_directory(ignored) && fs::last_write_time(entry, ignored) < built) fs::remove_all(entry, ignored);
  }
}

}  // namespace

// Returns whether `tony` contains the functions that every sanitized program calls when it starts.
bool SanitizedPrograms() {
  static const bool sanitized = [] {
    const std::string program = ReadText(fs::path(ProgramFolder()) / "tony");
    return program.find("__asan_init") != std::string::npos || program.find("__tsan_init") != std::string::npos;
  }();
  return sanitized;
}

struct Background::State {
  pid_t pid = 0;
  int pidfd = -1;
  std::array<int, 2> pipes{-1, -1};  // our ends of its output pipes
  std::array<std::string, 2> texts;
  mutable std::mutex mutex;
  std::thread reader;
  int stop_pipe[2] = {-1, -1};
  bool reaped = false;
  int status = 0;
  rusage used = {};

  // Reads until both pipes are closed or a byte arrives at stop_pipe.
  void ReadAll() {
    std::array<bool, 2> open{true, true};
    while (open[0] || open[1]) {
      pollfd fds[3] = {
          {open[0] ? pipes[0] : -1, POLLIN, 0}, {open[1] ? pipes[1] : -1, POLLIN, 0}, {stop_pipe[0], POLLIN, 0}};
      poll(fds, 3, -1);
      if (fds[2].revents != 0) return;
      for (size_t i = 0; i < 2; ++i) {
        if (fds[i].revents == 0) continue;
        char buffer[65536];
        const ssize_t got = read(pipes[i], buffer, sizeof buffer);
        const std::lock_guard lock(mutex);
        if (got > 0) texts[i].append(buffer, static_cast<size_t>(got));
        if (got <= 0) open[i] = false;
      }
    }
    const std::lock_guard lock(mutex);
    closed = true;
  }
  bool closed = false;

  bool Closed() const {
    const std::lock_guard lock(mutex);
    return closed;
  }

  bool Ended(Limit limit) {
    pollfd fd = {pidfd, POLLIN, 0};
    return poll(&fd, 1, static_cast<int>(std::max<int64_t>(0, limit.count()))) > 0;
  }

  void Reap() {
    if (!reaped) wait4(pid, &status, 0, &used);
    reaped = true;
  }
};

Background::Background(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                       const std::filesystem::path& directory)
    : state_(std::make_unique<State>()) {
  std::vector<std::string> arguments = argv, variables = env;
  const std::vector<char*> argument_pointers = Pointers(arguments), variable_pointers = Pointers(variables);
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(state_->stop_pipe, O_CLOEXEC) != 0) abort();
  const std::string folder = directory.string();
  state_->pid = fork();
  if (state_->pid == 0)
    BecomeProgram(const_cast<char**>(argument_pointers.data()), const_cast<char**>(variable_pointers.data()),
                  folder.c_str(), out[1], err[1]);
  close(out[1]);
  close(err[1]);
  state_->pidfd = static_cast<int>(syscall(SYS_pidfd_open, state_->pid, 0));
  state_->pipes = {out[0], err[0]};
  state_->reader = std::thread([state = state_.get()] { state->ReadAll(); });
}

Background::~Background() {
  if (!state_->reaped) kill(state_->pid, SIGKILL);
  state_->Reap();
  if (write(state_->stop_pipe[1], "", 1) != 1) abort();
  state_->reader.join();
  for (const int fd : {state_->pidfd, state_->pipes[0], state_->pipes[1], state_->stop_pipe[0], state_->stop_pipe[1]})
    close(fd);
}

pid_t Background::pid() const { return state_->pid; }

std::string Background::out() const {
  const std::lock_guard lock(state_->mutex);
  return state_->texts[0];
}

std::string Background::err() const {
  const std::lock_guard lock(state_->mutex);
  return state_->texts[1];
}

void Background::Signal(int signal) {
  if (!state_->reaped) kill(state_->pid, signal);
}

void Background::SignalGroup(int signal) {
  if (!state_->reaped) kill(-state_->pid, signal);
}

Ran Background::Wait(Limit limit) {
  const auto end = Steady::now() + limit;
  Ran ran;
  if (!state_->Ended(limit)) {
    ran.timed_out = true;
    kill(state_->pid, SIGKILL);
  }
  state_->Reap();
  ran.exit = ShellStatus(state_->status);
  ran.peak_memory_kb = state_->used.ru_maxrss;
  // A process that inherited the output and keeps it open would block a shell's $(...).
  const auto left = std::chrono::duration_cast<Limit>(end - Steady::now());
  if (!WaitFor([this] { return state_->Closed(); }, std::max(left, Limit(1000)))) ran.timed_out = true;
  ran.out = out();
  ran.err = err();
  return ran;
}

void HearAllSignals() {
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::vector<Process> ProcessesWithMark(std::string_view mark) {
  std::vector<Process> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (pid == getpid() || !HasMark(pid, mark)) continue;
    std::string line = ReadProc(pid, "cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    found.push_back({pid, WithoutLineEnd(ReadProc(pid, "comm")), line});
  }
  return found;
}

std::string ToString(const std::vector<Process>& processes) {
  std::string text;
  for (const Process& process : processes)
    text += std::to_string(process.pid) + " " + process.program + ": " + process.command_line + "\n";
  return text;
}

bool WaitFor(const std::function<bool()>& condition, Limit limit) {
  const auto end = Steady::now() + limit;
  while (!condition()) {
    if (Steady::now() >= end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

bool WaitForFile(const std::filesystem::path& file, Limit limit) {
  return WaitFor([&] { return fs::exists(file); }, limit);
}

std::string ReadText(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

size_t CountLines(std::string_view text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

Sandbox::Sandbox() {
  std::string name = (fs::temp_directory_path() / "tony-e2e-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) abort();
  folder_ = name;
  fs::create_directory(ledger());
  ShareProgramsIn(home());
  SetMachine(R"({"memory_mb":1000000000})");
}

Sandbox::~Sandbox() {
  WaitFor(
      [this] {
        const std::vector<Process> left = Processes();
        for (const Process& process : left) kill(process.pid, SIGKILL);
        return left.empty();
      },
      Limit(5000));
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Sandbox::Write(const std::string& name, std::string_view text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return File(name);
}

Ran Sandbox::Tony(const std::vector<std::string>& arguments, const Variables& variables, Limit limit) const {
  return StartTony(arguments, variables)->Wait(limit);
}

std::vector<std::string> Sandbox::Environment(const Variables& variables) const {
  Variables all = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                   {"HOME", folder_.string()},
                   {"LC_ALL", "C"},
                   {"TONY_HOME", home().string()},
                   {"TONY_LEDGER", ledger().string()},
                   {"TONY_CONF_DIR", (folder_ / "conf").string()}};
  // The tests with podman have images of their own.
  if (const char* images = std::getenv("CONTAINERS_STORAGE_CONF")) all["CONTAINERS_STORAGE_CONF"] = images;
  for (const auto& [name, value] : variables) all[name] = value;
  std::vector<std::string> env;
  for (const auto& [name, value] : all) env.push_back(name + "=" + value);
  return env;
}

std::unique_ptr<Background> Sandbox::StartTony(const std::vector<std::string>& arguments,
                                               const Variables& variables) const {
  std::vector<std::string> argv = {ProgramFolder() + "/tony"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return std::make_unique<Background>(argv, Environment(variables), folder_);
}

std::vector<std::string> Sandbox::Jobs() const {
  std::vector<std::string> jobs;
  std::error_code error;
  for (fs::directory_iterator entry(home() / "jobs", error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().front() != '.') jobs.push_back(entry->path().filename().string());
  return jobs;
}

std::vector<Process> Sandbox::Processes() const { return ProcessesWithMark(folder_.string()); }

std::vector<pid_t> Sandbox::Pids(const std::string& program) const {
  std::vector<pid_t> pids;
  for (const Process& process : Processes()) {
    if (process.program == program) pids.push_back(process.pid);
  }
  return pids;
}

Sandbox::Variables WithShim(const std::string& shim, Sandbox::Variables more) {
  if (!IsDynamic(fs::path(ProgramFolder()) / "tony"))
    throw std::runtime_error(ProgramFolder() + " has static programs: see tests/e2e/needs_dynamic_programs.txt");
  more["LD_PRELOAD"] = TestProgram("lib" + shim + ".so");
  // Without this, the address sanitizer insists on being the first library.
  more["ASAN_OPTIONS"] = "verify_asan_link_order=0";
  return more;
}

}  // namespace tony
