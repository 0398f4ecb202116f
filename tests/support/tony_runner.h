// Runs the built programs as a person at a shell would. Each test has its own folder, $TONY_HOME and ledger, so that
// jobs of tests wait neither for each other nor for the jobs of this machine.
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
// Far above any measured time, because machines that run tests are noisy.
inline constexpr Limit kGenerous{30000};

// Returns whether the programs have the address or the thread sanitizer, which makes them slow and large.
bool SanitizedPrograms();

struct Ran {
  // The exit code; 128 + number if a signal ended it, as a shell reports it.
  int exit = -1;
  std::string out;
  std::string err;
  // True if it had not exited in time, or another process kept its output open. It was killed then.
  bool timed_out = false;
  long peak_memory_kb = 0;  // highest resident memory
};

// A program that runs in the background, in a process group of its own. Killed with the object.
class Background {
 public:
  Background(const std::vector<std::string>& argv, const std::vector<std::string>& env,
             const std::filesystem::path& directory);
  ~Background();
  Background(const Background&) = delete;

  pid_t pid() const;
  std::string out() const;  // up to now
  std::string err() const;
  void Signal(int signal);       // to the program alone
  void SignalGroup(int signal);  // as a terminal does
  // Waits until the program has exited and its output is closed.
  Ran Wait(Limit limit = kGenerous);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Process {
  pid_t pid = 0;
  std::string program;  // "tony-am", "bash"
  std::string command_line;
};

// Gives signals their default effect again before a forked process becomes a program, because nohup and shells that
// start the tests in the background ignore some of them. Async-signal-safe.
void HearAllSignals();

// Returns living processes that have `mark` in their environment or command line, except this process. Zombies do not
// count.
std::vector<Process> ProcessesWithMark(std::string_view mark);
std::string ToString(const std::vector<Process>& processes);

// Checks `condition` every few milliseconds; returns false if it was not true within the limit.
bool WaitFor(const std::function<bool()>& condition, Limit limit = kGenerous);
bool WaitForFile(const std::filesystem::path& file, Limit limit = kGenerous);

// empty if the file does not exist
std::string ReadText(const std::filesystem::path& file);
size_t CountLines(std::string_view text);

class Sandbox {
 public:
  Sandbox();
  ~Sandbox();  // kills remaining processes
  Sandbox(const Sandbox&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path home() const { return folder_ / "home"; }
  std::filesystem::path ledger() const { return folder_ / "ledger"; }
  // Sets what jobs may use of the machine. The initial setting has more memory than any test requests.
  void SetMachine(std::string_view json) const { Write("ledger/machine.json", json); }
  std::filesystem::path JobFolder(const std::string& job) const { return home() / "jobs" / job; }
  std::string File(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, std::string_view text) const;  // returns the absolute path

  using Variables = std::map<std::string, std::string>;
  // Returns the environment of Tony(), as "NAME=value".
  std::vector<std::string> Environment(const Variables& variables = {}) const;
  Ran Tony(const std::vector<std::string>& arguments, const Variables& variables = {}, Limit limit = kGenerous) const;
  std::unique_ptr<Background> StartTony(const std::vector<std::string>& arguments,
                                        const Variables& variables = {}) const;

  std::vector<std::string> Jobs() const;  // ids in $TONY_HOME
  // Returns the processes of all jobs here, and clients that wait.
  std::vector<Process> Processes() const;
  std::vector<pid_t> Pids(const std::string& program) const;  // e.g. "tony-am"

 private:
  std::filesystem::path folder_;
};

// Returns variables for a program that shall load this library of tests/shim, e.g. "crash_shim", and `more`. Throws if
// the programs are static, because they would load nothing: such a test is listed in
// tests/e2e/needs_dynamic_programs.txt.
Sandbox::Variables WithShim(const std::string& shim, Sandbox::Variables more);

}  // namespace tony
