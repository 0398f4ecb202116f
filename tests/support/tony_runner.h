// Runs the built programs as a person at a shell would, each test in a folder, a $TONY_HOME and a ledger of its own:
// jobs of tests neither wait for each other nor for those of this machine.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tony {

using Limit = std::chrono::milliseconds;
// Far above what anything here takes: machines that run tests are noisy.
inline constexpr Limit kGenerous{30000};

// Whether the programs have the address or the thread sanitizer, which makes them slow and large.
bool SanitizedPrograms();

struct Ran {
  int exit = -1;  // exit code; 128 + number if a signal ended it, as a shell says
  std::string out;
  std::string err;
  bool timed_out = false;   // it had not ended, or somebody still held its output open; it was killed
  long peak_memory_kb = 0;  // the most it had resident
};

// A program running in the background, in a process group of its own. Killed with the object.
class Background {
 public:
  Background(const std::vector<std::string>& argv, const std::vector<std::string>& env,
             const std::filesystem::path& directory);
  ~Background();
  Background(const Background&) = delete;

  pid_t pid() const;
  std::string out() const;  // so far
  std::string err() const;
  void Signal(int signal);            // to the program alone
  void SignalGroup(int signal);       // as a terminal does
  Ran Wait(Limit limit = kGenerous);  // until it has ended and its output is closed

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Process {
  pid_t pid = 0;
  std::string program;  // "tony-am", "bash"
  std::string command_line;
};

// Gives signals their usual effect again, before a forked process becomes a program: a shell that starts the tests in the
// background, and nohup, ignore some of them. Async-signal-safe.
void HearAllSignals();

// Living processes that have `mark` in their environment or command line; never ourselves. Zombies are not alive.
std::vector<Process> ProcessesWithMark(std::string_view mark);
std::string ToString(const std::vector<Process>& processes);

// Looks again every few milliseconds until `condition` holds; false if it never did.
bool WaitFor(const std::function<bool()>& condition, Limit limit = kGenerous);
bool WaitForFile(const std::filesystem::path& file, Limit limit = kGenerous);

std::string ReadText(const std::filesystem::path& file);  // empty if there is none
size_t CountLines(std::string_view text);

class Sandbox {
 public:
  Sandbox();
  ~Sandbox();  // kills what is left
  Sandbox(const Sandbox&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path home() const { return folder_ / "home"; }
  std::filesystem::path ledger() const { return folder_ / "ledger"; }
  // What jobs may have of the machine; in the beginning more memory than any test asks for.
  void SetMachine(std::string_view json) const { Write("ledger/machine.json", json); }
  std::filesystem::path JobFolder(const std::string& job) const { return home() / "jobs" / job; }
  std::string File(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, std::string_view text) const;  // returns the absolute path

  using Variables = std::map<std::string, std::string>;
  std::vector<std::string> Environment(const Variables& variables = {}) const;  // "NAME=value", of what Tony() runs
  Ran Tony(const std::vector<std::string>& arguments, const Variables& variables = {}, Limit limit = kGenerous) const;
  std::unique_ptr<Background> StartTony(const std::vector<std::string>& arguments,
                                        const Variables& variables = {}) const;

  std::vector<std::string> Jobs() const;                      // ids, by what is in $TONY_HOME
  std::vector<Process> Processes() const;                     // of all jobs here, and waiting clients
  std::vector<pid_t> Pids(const std::string& program) const;  // "tony-am"

 private:
  std::filesystem::path folder_;
};

// Variables for a program that is to load that library of tests/shim, "crash_shim", and `more`. Throws where the
// programs are static, because they would load nothing: such a test is in tests/e2e/needs_dynamic_programs.txt.
Sandbox::Variables WithShim(const std::string& shim, Sandbox::Variables more);

}  // namespace tony
