// Other users of this machine, for tests that run as root: which parts of a job can they see, and which can they
// damage? A user is an unused number (no entry in /etc/passwd is made), with a primary group of the same number, no
// supplementary groups, no capabilities, and a separate home. Everything of a user is removed with its object.
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

// Returns why this process cannot act as other users; empty if it can. A fixture's SetUp skips with this text.
std::string CannotBeOthers();

// Returns the folder of the built programs, at a path that every user can reach. If the build tree is below a folder
// that is closed to others, a temporary folder has a second name of each program, or a copy. To replace a program
// there, rename another one over it, because its bytes may be shared with the build tree.
const std::filesystem::path& ReachablePrograms();

// A folder that all users can reach, whatever $TMPDIR is; removed with everything in it.
class SharedFolder {
 public:
  explicit SharedFolder(mode_t mode = 0755);
  ~SharedFolder();
  SharedFolder(const SharedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Makes a ledger in this folder for the jobs of all users, like the machine's own ledger: mode 1777, and machine.json
  // belongs to root.
  std::filesystem::path MakeLedger(std::string_view machine = R"({"memory_mb":1000000000})") const;

 private:
  std::filesystem::path path_;
};

// A part of the test that runs in a forked process, as another user. Killed with the object.
class ForkedCall {
 public:
  // The returned string is the call's output (Ran::out). The text of an exception is its error output, with exit 1.
  using Call = std::function<std::string()>;

  ForkedCall(uid_t user, const Call& call);
  ~ForkedCall();
  ForkedCall(const ForkedCall&) = delete;

  pid_t pid() const { return pid_; }
  // Waits until it has ended; call it once.
  Ran Wait(Limit limit = kGenerous);

 private:
  void ReadUntil(std::chrono::steady_clock::time_point end, Ran* ran);

  pid_t pid_ = 0;
  int answer_ = -1;  // our end of the answer pipe
  bool reaped_ = false;
};

class OtherUser {
 public:
  // Jobs of this user are in `ledger`, by default in a ledger of their own. The user's folders have mode 0755, so that
  // only the product's own modes hide what it writes.
  explicit OtherUser(std::filesystem::path ledger = {});
  ~OtherUser();  // kills this user's remaining processes
  OtherUser(const OtherUser&) = delete;

  uid_t uid() const { return uid_; }
  std::filesystem::path home() const { return folder_.path() / "home"; }
  std::filesystem::path temporary() const { return folder_.path() / "tmp"; }
  std::filesystem::path tony_home() const { return home() / ".tony"; }
  const std::filesystem::path& ledger() const { return ledger_; }

  using Variables = std::map<std::string, std::string>;
  using Words = std::vector<std::string>;
  // Returns the user's environment, without the test's own. A variable with an empty value is not set.
  std::vector<std::string> Environment(const Variables& variables = {}) const;

  struct Setting {
    Variables variables;
    std::filesystem::path directory;      // home() if empty
    std::optional<rlim_t> open_files;     // ulimit -n
    std::optional<rlim_t> processes;      // ulimit -u; counts all threads
    std::optional<rlim_t> address_space;  // bytes
    std::optional<mode_t> umask;          // default: 022
  };
  // Searches `argv[0]` in PATH, which begins with ReachablePrograms().
  std::unique_ptr<Background> Start(const Words& argv, const Setting& setting) const;
  std::unique_ptr<Background> Start(const Words& argv) const { return Start(argv, {}); }
  Ran Run(const Words& argv, const Setting& setting, Limit limit = kGenerous) const;
  Ran Run(const Words& argv) const { return Run(argv, {}); }
  Ran Tony(const Words& arguments, const Setting& setting, Limit limit = kGenerous) const;
  Ran Tony(const Words& arguments) const { return Tony(arguments, {}); }

  std::unique_ptr<ForkedCall> StartCall(const ForkedCall::Call& call) const;
  Ran Do(const ForkedCall::Call& call, Limit limit = kGenerous) const;
  // Returns false if this user may not make the file. Replaces an existing file. Folders above it are not made.
  bool Write(const std::filesystem::path& file, std::string_view text, mode_t mode = 0644) const;
  // Returns what this user reads there; nullopt if it may not read it.
  std::optional<std::string> Read(const std::filesystem::path& file) const;

  std::vector<Process> Processes() const;  // all living ones of this user

 private:
  uid_t uid_;
  SharedFolder folder_;
  std::filesystem::path ledger_;
};

}  // namespace tony
