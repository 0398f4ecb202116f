#include "tests/support/other_user.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "tests/support/places.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using Steady = std::chrono::steady_clock;

// Lower numbers include Debian's own users, systemd's users and the overflow uid. A pid has at most 22 bits.
constexpr uid_t kFirstUid = 1'000'000;
constexpr uid_t kUidsOfProcess = 256;
constexpr int kNotThisUser = 125;

[[noreturn]] void Fail(const std::string& what) {
  perror(what.c_str());
  abort();
}

// No other test has the same user while this process lives.
uid_t NextUid() {
  static std::atomic<uid_t> taken{0};
  const uid_t number = taken++;
  if (number >= kUidsOfProcess) abort();
  return kFirstUid + static_cast<uid_t>(getpid()) * kUidsOfProcess + number;
}

bool OthersMayEnter(const fs::path& folder) {
  struct stat status;
  return stat(folder.c_str(), &status) == 0 && (status.st_mode & S_IXOTH) != 0;
}

bool OthersReach(const fs::path& folder) {
  for (fs::path at = fs::canonical(folder);; at = at.parent_path()) {
    if (!OthersMayEnter(at)) return false;
    if (at == at.root_path()) return true;
  }
}

fs::path ReachableTemp() {
  const fs::path usual = fs::temp_directory_path();
  return OthersReach(usual) ? usual : fs::path("/tmp");
}

// Only a program that writes into the file can notice the difference.
void LinkOrCopy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to);
}

// Async-signal-safe, if the caller's next calls are. The order matters: without root's uid the groups cannot be
// changed.
bool Become(uid_t user) {
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) return false;
  // Without this, /proc/self belongs to root, which it does not after execve().
  return prctl(PR_SET_DUMPABLE, 1) == 0;
}

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote <= 0) _exit(kNotThisUser);
    text.remove_prefix(static_cast<size_t>(wrote));
  }
}

[[noreturn]] void Perform(uid_t user, const ForkedCall::Call& call, int answer) {
  setpgid(0, 0);
  umask(022);
  if (!Become(user)) _exit(kNotThisUser);
  try {
    WriteAll(answer, call());
    _exit(0);
  } catch (const std::exception& problem) {
    WriteAll(answer, problem.what());
    _exit(1);
  }
}

// Reads /proc/PID/status and returns false for zombies. /proc/PID belongs to root if the process has made itself
// undumpable.
bool IsAliveAs(pid_t pid, uid_t user) {
  const std::string status = ReadText("/proc/" + std::to_string(pid) + "/status");
  const std::string own = std::to_string(user);
  return status.find("\nUid:\t" + own + "\t") != std::string::npos && status.find("\nState:\tZ") == std::string::npos;
}

void AddLimit(std::vector<std::string>& words, const char* option, const std::optional<rlim_t>& limit) {
  if (limit) words.push_back(option + std::to_string(*limit));
}

}  // namespace

std::string CannotBeOthers() {
  static const std::string reason = [] {
    if (geteuid() != 0) return "needs root: it acts as other users of this machine";
    ForkedCall probe(NextUid(), [] { return std::string("here"); });
    return probe.Wait().out == "here" ? "" : "root may not become other users here";
  }();
  return reason;
}

const fs::path& ReachablePrograms() {
  static const SharedFolder folder;
  static const fs::path programs = [] {
    const fs::path built = ProgramFolder();
    if (OthersReach(built)) return built;
    for (const fs::directory_entry& program : fs::directory_iterator(built))
      LinkOrCopy(program.path(), folder.path() / program.path().filename());
    return folder.path();
  }();
  return programs;
}

SharedFolder::SharedFolder(mode_t mode) {
  std::string name = (ReachableTemp() / "tony-user-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr || chmod(name.c_str(), mode) != 0) Fail(name);
  path_ = name;
}

SharedFolder::~SharedFolder() {
  // A process may still write there. A test that checks this has done so before.
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path SharedFolder::MakeLedger(std::string_view machine) const {
  const fs::path ledger = path_ / "ledger";
  if (mkdir(ledger.c_str(), 0700) != 0) Fail(ledger);
  std::ofstream(ledger / "machine.json") << machine;
  if (chmod(ledger.c_str(), 01777) != 0) Fail(ledger);
  return ledger;
}

ForkedCall::ForkedCall(uid_t user, const Call& call) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) Fail("pipe");
  pid_ = fork();
  if (pid_ < 0) Fail("fork");
  if (pid_ == 0) Perform(user, call, ends[1]);
  close(ends[1]);
  answer_ = ends[0];
}

ForkedCall::~ForkedCall() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(answer_);
}

// The pipe is closed when the call and its children have ended.
void ForkedCall::ReadUntil(Steady::time_point end, Ran* ran) {
  while (true) {
    const auto left = std::chrono::duration_cast<Limit>(end - Steady::now());
    pollfd fd = {answer_, POLLIN, 0};
    if (poll(&fd, 1, static_cast<int>(std::max<int64_t>(0, left.count()))) <= 0) {
      ran->timed_out = true;
      return;
    }
    std::array<char, 65536> buffer;
    const ssize_t got = read(answer_, buffer.data(), buffer.size());
    if (got <= 0) return;
    ran->out.append(buffer.data(), static_cast<size_t>(got));
  }
}

Ran ForkedCall::Wait(Limit limit) {
  Ran ran;
  ReadUntil(Steady::now() + limit, &ran);
  if (ran.timed_out) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  reaped_ = true;
  ran.exit = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (ran.exit == 1) std::swap(ran.out, ran.err);
  return ran;
}

OtherUser::OtherUser(fs::path ledger) : uid_(NextUid()), ledger_(std::move(ledger)) {
  if (ledger_.empty()) ledger_ = folder_.MakeLedger();
  for (const fs::path& folder : {home(), temporary()}) {
    if (mkdir(folder.c_str(), 0755) != 0 || chown(folder.c_str(), uid_, uid_) != 0) Fail(folder);
  }
}

OtherUser::~OtherUser() {
  WaitFor(
      [this] {
        const std::vector<Process> left = Processes();
        for (const Process& process : left) kill(process.pid, SIGKILL);
        return left.empty();
      },
      Limit(5000));
}

std::vector<std::string> OtherUser::Environment(const Variables& variables) const {
  Variables all = {{"PATH", ReachablePrograms().string() + ":/usr/local/bin:/usr/bin:/bin"},
                   {"HOME", home().string()},
                   {"TMPDIR", temporary().string()},
                   {"LC_ALL", "C"},
                   {"TONY_HOME", tony_home().string()},
                   {"TONY_LEDGER", ledger_.string()},
                   {"TONY_CONF_DIR", (home() / "conf").string()}};
  for (const auto& [name, value] : variables) all[name] = value;
  std::vector<std::string> env;
  for (const auto& [name, value] : all) {
    if (!value.empty()) env.push_back(name + "=" + value);
  }
  return env;
}

// Each word of the chain replaces itself by the next one, so the pid is that of the program. prlimit comes last,
// because the other words need descriptors, too.
std::unique_ptr<Background> OtherUser::Start(const Words& argv, const Setting& setting) const {
  const std::string id = std::to_string(uid_);
  Words words = {"/bin/sh", "-c", "umask \"$0\"; exec \"$@\""};
  words.push_back(setting.umask ? std::to_string(*setting.umask >> 6 & 7) + std::to_string(*setting.umask >> 3 & 7) +
                                      std::to_string(*setting.umask & 7)
                                : "022");
  for (const std::string& word : {std::string("/usr/bin/setpriv"), "--reuid=" + id, "--regid=" + id,
                                  std::string("--clear-groups"), std::string("--"), std::string("/usr/bin/prlimit")})
    words.push_back(word);
  AddLimit(words, "--nofile=", setting.open_files);
  AddLimit(words, "--nproc=", setting.processes);
  AddLimit(words, "--as=", setting.address_space);
  words.insert(words.end(), argv.begin(), argv.end());
  const fs::path directory = setting.directory.empty() ? home() : setting.directory;
  return std::make_unique<Background>(words, Environment(setting.variables), directory);
}

Ran OtherUser::Run(const Words& argv, const Setting& setting, Limit limit) const {
  return Start(argv, setting)->Wait(limit);
}

Ran OtherUser::Tony(const Words& arguments, const Setting& setting, Limit limit) const {
  Words argv = {"tony"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return Run(argv, setting, limit);
}

std::unique_ptr<ForkedCall> OtherUser::StartCall(const ForkedCall::Call& call) const {
  return std::make_unique<ForkedCall>(uid_, call);
}

Ran OtherUser::Do(const ForkedCall::Call& call, Limit limit) const { return StartCall(call)->Wait(limit); }

bool OtherUser::Write(const fs::path& file, std::string_view text, mode_t mode) const {
  const auto write = [&] {
    const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, mode) != 0) return std::string("no");
    WriteAll(fd, text);
    return std::string("yes");
  };
  return Do(write).out == "yes";
}

std::optional<std::string> OtherUser::Read(const fs::path& file) const {
  const Ran read = Do([&] {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error(file.string());
    return std::string(std::istreambuf_iterator<char>(stream), {});
  });
  return read.exit == 0 ? std::optional(read.out) : std::nullopt;
}

std::vector<Process> OtherUser::Processes() const {
  std::vector<Process> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (!IsAliveAs(pid, uid_)) continue;
    std::string line = ReadText(entry->path() / "cmdline");
    std::replace(line.begin(), line.end(), '\0', ' ');
    std::string program = ReadText(entry->path() / "comm");
    if (!program.empty()) program.pop_back();
    found.push_back({pid, program, line});
  }
  return found;
}

}  // namespace tony
