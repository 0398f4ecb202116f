// Other users of this machine, for tests that run as root: what may they see of a job, and what can they do to it? A
// user is a number that nobody has (no entry in /etc/passwd is made), with a primary group of the same number, no
// supplementary groups, no capabilities, and a home of its own. Everything of a user is gone with its object.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/tony_runner.h"

namespace tony {

// Why this process cannot act as others; empty if it can. A fixture's SetUp skips with it.
std::string CannotBeOthers();

// The folder of the built programs, as every user reaches it. If the build tree lies below a folder that is closed to
// others, a temporary folder has a second name of each program, or a copy. To replace a program there, rename another
// one over it: its bytes may be those of the build tree.
const std::filesystem::path& ReachablePrograms();

// A folder that all users reach, whatever $TMPDIR is; removed with everything in it.
class SharedFolder {
 public:
  explicit SharedFolder(mode_t mode = 0755);
  ~SharedFolder();
  SharedFolder(const SharedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // A ledger in it that all users' jobs queue in, as the machine's own one: mode 1777, machine.json root's.
  std::filesystem::path MakeLedger(std::string_view machine = R"({"memory_mb":1000000000})") const;

 private:
  std::filesystem::path path_;
};

// A part of the test that runs in a forked process, as another user. Killed with the object.
class ForkedCall {
 public:
  // What the call returns is its output (Ran::out); an exception's text is its error output, with exit 1.
  using Call = std::function<std::string()>;

  ForkedCall(uid_t user, const Call& call);
  ~ForkedCall();
  ForkedCall(const ForkedCall&) = delete;

  pid_t pid() const { return pid_; }
  Ran Wait(Limit limit = kGenerous);  // until it has ended; once

 private:
  void ReadUntil(std::chrono::steady_clock::time_point end, Ran* ran);

  pid_t pid_ = 0;
  int answer_ = -1;  // our end of the pipe that brings the answer
  bool reaped_ = false;
};

class OtherUser {
 public:
  // Jobs of this user are in `ledger`, by default in one that nobody else has. The user's folders are 0755, so that
  // nothing but the product's own modes hides what it writes.
  explicit OtherUser(std::filesystem::path ledger = {});
  ~OtherUser();  // kills what this user still runs
  OtherUser(const OtherUser&) = delete;

  uid_t uid() const { return uid_; }
  std::filesystem::path home() const { return folder_.path() / "home"; }
  std::filesystem::path temporary() const { return folder_.path() / "tmp"; }
  std::filesystem::path tony_home() const { return home() / ".tony"; }
  const std::filesystem::path& ledger() const { return ledger_; }

  using Variables = std::map<std::string, std::string>;
  using Words = std::vector<std::string>;
  // Nothing of the test's own environment. A variable with an empty value is not set.
  std::vector<std::string> Environment(const Variables& variables = {}) const;

  struct Setting {
    Variables variables;
    std::filesystem::path directory;      // home() if empty
    std::optional<rlim_t> open_files;     // ulimit -n
    std::optional<rlim_t> processes;      // ulimit -u; counts all of this user's threads
    std::optional<rlim_t> address_space;  // bytes
    std::optional<mode_t> umask;          // 022 if not given
  };
  // `argv[0]` is looked for in PATH, which begins with ReachablePrograms().
  std::unique_ptr<Background> Start(const Words& argv, const Setting& setting) const;
  std::unique_ptr<Background> Start(const Words& argv) const { return Start(argv, {}); }
  Ran Run(const Words& argv, const Setting& setting, Limit limit = kGenerous) const;
  Ran Run(const Words& argv) const { return Run(argv, {}); }
  Ran Tony(const Words& arguments, const Setting& setting, Limit limit = kGenerous) const;
  Ran Tony(const Words& arguments) const { return Tony(arguments, {}); }

  std::unique_ptr<ForkedCall> StartCall(const ForkedCall::Call& call) const;
  Ran Do(const ForkedCall::Call& call, Limit limit = kGenerous) const;
  // False if this user may not make the file; replaces one that is there. Folders above it are not made.
  bool Write(const std::filesystem::path& file, std::string_view text, mode_t mode = 0644) const;
  // What this user reads there; nothing if it may not.
  std::optional<std::string> Read(const std::filesystem::path& file) const;

  std::vector<Process> Processes() const;  // living ones of this user, whatever they are

 private:
  uid_t uid_;
  SharedFolder folder_;
  std::filesystem::path ledger_;
};

}  // namespace tony
