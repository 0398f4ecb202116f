// An Executor that runs the first attempt of a task in its own job folder. The test plays the AM.
#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "executor/executor.h"
#include "runtime/os/files.h"
#include "tests/support/fake_am.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {

inline std::string Content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline JobSpec OneTask(const std::string& command, const std::string& role) {
  JobSpec spec;
  spec.framework = FrameworkKind::kStandalone;
  spec.roles = {{.name = role, .command = command}};
  return spec;
}

class ExecutorBed {
 public:
  explicit ExecutorBed(const std::string& command, const std::string& role = "worker")
      : attempt{{role, 0}, 1}, records(LocalJobRecords(temp_.path() / "job-1")), spec(OneTask(command, role)) {
    EXPECT_TRUE(MakeFolder(records.place() / "src").ok());
    EXPECT_TRUE(MakeFolder(AttemptFolder(records.place(), attempt).logs).ok());
  }

  void Rule(int64_t epoch) { EXPECT_TRUE(records.WriteLease({{epoch}, {SocketOf({epoch})}, 1}).ok()); }

  void Begin(ProcessRunner& processes) {
    executor.emplace(
        ExecutorParts{
            loop, am, processes, {"PATH=/usr/bin:/bin", "HOME=/home/ada"}, nullptr, ports, nullptr, sends_log_excerpts,
            nullptr, {}, tokens, replace_tokens},
        records, spec, Caller{.job = {"job-1"}, .attempt = attempt, .container = {"c-1"}, .token = "secret"},
        Endpoint{"127.0.0.1", 4711}, 0.0);
    executor->Begin([this](int code) { exit_code = code; });
  }

  bool Until(const std::function<bool()>& condition) { return RunUntil(loop, condition); }

  // Plays the AM up to the START command.
  bool Start(ProcessRunner& processes) {
    Rule(1);
    Begin(processes);
    if (!Until([this] { return !am.registers.empty(); })) return false;
    am.Answer(am.registers, Answer<Epoch>(Epoch{1}));
    return Order({.number = 1, .kind = Command::Kind::kStart, .generation = {1}, .cluster_spec = ClusterJson()});
  }
  bool Order(const Command& command) {
    if (!Until([this] { return !am.awaits.empty(); })) return false;
    am.Answer(am.awaits, Answer<Command>(command));
    return true;
  }
  // Returns the outcome that the executor reports; nullopt if no report comes in time.
  std::optional<Outcome> Reported() {
    if (!Until([this] { return !am.outcomes.empty(); })) return std::nullopt;
    return am.outcomes.front().argument;
  }

  static std::string ClusterJson() { return ToJson(ClusterSpec{{1}, {{"worker", {{"127.0.0.1", 4711}}}}}); }
  std::filesystem::path InWork(const std::string& name) const {
    return AttemptFolder(records.place(), attempt).work / name;
  }

 private:
  TempFolder temp_;

 public:
  const AttemptId attempt;
  JobRecords records;
  JobSpec spec;
  NamedPorts ports;
  bool sends_log_excerpts = false;
  ClusterTokens tokens;
  std::function<Status(const ClusterTokens&)> replace_tokens;
  EventLoop loop;
  FakeAm am{loop};
  std::optional<Executor> executor;
  std::optional<int> exit_code;  // set once the executor left
};

}  // namespace tony::executor
