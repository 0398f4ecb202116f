// Runs the executor of one task:
//
//   tony-executor JOB_FOLDER ROLE:INDEX ATTEMPT_NUMBER CONTAINER_ID HOST
//
// HOST is the address by which the job's other tasks reach this machine.
//
//   tony-executor --container LOG_FOLDER
//
// The second form runs in a container of YARN, which provides the other arguments (container_front.h). With
// --horovod-driver as its first argument, the program is the driver of a Horovod job (horovod_driver.h).
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/attempt_files.h"
#include "executor/container_front.h"
#include "executor/executor.h"
#include "executor/horovod_driver.h"
#include "executor/port_reservation.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/net/tls.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/start_program.h"
#include "runtime/yarn/cluster_tokens.h"

namespace tony::executor {
namespace {

constexpr int kAttemptIsLocked = 75;

struct Arguments {
  JobRecords records;
  AttemptId attempt;
  ContainerId container;
  std::string host;
  // The log folder of the container of YARN, where a NodeManager ends this process. Empty: not in a container.
  std::filesystem::path container_logs = {};
  MakeChannel tls{};  // for an AM on another machine
  // The AM that started a container of YARN, and where later AMs record their addresses.
  LeaseRecord lease{};
  LeasePlace lease_place{};
  // The container's token file, and its ClusterTokens without their bytes.
  std::filesystem::path token_file{};
  ClusterTokens tokens{};
};

// Kills the tree of a task shortly after SIGTERM, because a NodeManager regards a container as ended 250 ms after its
// SIGTERM. The task has 100 ms. The other 150 ms are a reserve for a busy machine. After that, the processes of
// container_front.h kill the remaining processes.
class QuickEnd {
 public:
  explicit QuickEnd(EventLoop& loop) : loop_(loop) {}
  void Begin() {
    if (!timer_) Later(Duration(100));
  }

 private:
  void Later(Duration delay) {
    timer_ = loop_.After(delay, [this] {
      KillDescendants();
      Later(Duration(10));
    });
  }

  EventLoop& loop_;
  EventLoop::Timer timer_;
};

Result<Arguments> ParseArguments(const std::vector<std::string>& arguments) {
  const Error usage{ErrorCode::kUsage, "usage: tony-executor JOB_FOLDER ROLE:INDEX ATTEMPT_NUMBER CONTAINER_ID HOST"};
  if (arguments.size() == 2 && IsInContainer(arguments[0]) && arguments[1].starts_with('/')) {
    TRY_ASSIGN(ContainerPlace place, CreateContainerFolder(arguments[1]));
    TRY_ASSIGN(MakeChannel tls, MakeTlsClient(place.tls));
    return Arguments{place.records, place.attempt,  place.container, place.host,
                     arguments[1],  std::move(tls), place.lease,     place.lease_place,
                     place.token_file, place.tokens};
  }
  if (arguments.size() != 4 && arguments.size() != 5) return usage;
  const std::string host = arguments.size() == 5 ? arguments[4] : kLoopback;  // release 0.1 passes no HOST
  const auto task = ParseTaskId(arguments[1]);
  const auto number = ParseInt(arguments[2]);
  if (!task.ok() || !number || *number < 1 || *number > 1'000'000 || arguments[3].empty() || host.empty()) return usage;
  std::error_code error;
  return Arguments{LocalJobRecords(std::filesystem::absolute(arguments[0], error)),
                   {*task, static_cast<int>(*number)},
                   {arguments[3]},
                   host};
}

Result<int> Run(const Arguments& arguments) {
  const auto& [records, attempt, container, host, container_logs, tls, lease, lease_place, token_file, tokens] =
      arguments;
  const bool in_container = !container_logs.empty();
  const auto lock = LockAttempt(AttemptFolder(records.place(), attempt));
  if (!lock.ok() && lock.error().code == ErrorCode::kUnavailable) {
    LogError(lock.error().message);
    return kAttemptIsLocked;
  }
  TRY(lock.status());
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  TRY_ASSIGN(const std::string token, records.ReadToken());
  TRY_ASSIGN(PortReservation port, PortReservation::Make());
  TRY_ASSIGN(ReservedPorts reserved, ReservePorts(PortNames(spec, attempt.task)));
  NamedPorts named_ports;
  for (const auto& [name, reservation] : reserved) named_ports[name] = reservation.port();

  BecomeSubreaper();
  EventLoop loop;
  const auto am = MakeAmConnection(loop, records.place(), CallTimeout(spec.timers), tls);
  BoostProcessRunner processes(loop);
  std::optional<LeaseReader> lease_reader;
  if (!lease_place.name_nodes.empty())
    lease_reader.emplace(loop, lease_place, lease, LeasePace::ReadLimit(spec.timers));
  const double jitter = (getpid() % 1000) / 1000.0;
  ExecutorParts parts{loop,
                      *am,
                      processes,
                      OwnEnvironment(),
                      &port,
                      named_ports,
                      &reserved,
                      in_container,
                      lease_reader ? &*lease_reader : nullptr};
  parts.tokens = tokens;
  if (tokens.number > 0)
    parts.replace_tokens = [file = token_file](const ClusterTokens& fresh) { return ReplaceTokens(file, fresh); };
  if (in_container)
    parts.make_logs = [logs = container_logs, processes_each = spec.ProcessesOf(attempt.task.role)](
                          const AttemptId& later, const std::filesystem::path& folder) {
      return CreateLaterLogs(later, folder, logs, processes_each);
    };
  Executor executor(std::move(parts), records, spec,
                    {.job = records.job(), .attempt = attempt, .container = container, .token = token},
                    {host, port.port()}, jitter);
  QuickEnd quick_end(loop);
  const bool ends_quickly = in_container;
  const auto signals = loop.OnSignals({SIGTERM, SIGINT, SIGHUP, SIGCHLD}, [&](int signal) {
    if (signal == SIGCHLD) return executor.OnChildEnded();
    executor.Terminate();
    if (ends_quickly) quick_end.Begin();
  });
  int exit_code = 0;
  executor.Begin([&](int code) {
    exit_code = code;
    loop.Stop();
  });
  loop.Run();
  return exit_code;
}

#if defined(TONY_HAS_GPU_TWIN)
// Replaces this program by a build that can load the GPU driver's library. Without that build the executor works, and
// does not measure the usage of GPUs.
void ExecGpuBuildIfNeeded(char** argv) {
  const char* gpus = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string loader = SiblingProgram(kGpuLoader), twin = SiblingProgram(kGpuExecutor);
  if (!gpus || !*gpus || access(twin.c_str(), R_OK) != 0) return;
  std::vector<const char*> words = {loader.c_str(), twin.c_str()};
  while (*++argv) words.push_back(*argv);
  words.push_back(nullptr);
  execv(loader.c_str(), const_cast<char**>(words.data()));
}
#elif defined(TONY_IS_GPU_TWIN)
// Without this call the list of processes would show the loader's name for this process.
void ExecGpuBuildIfNeeded(char**) { prctl(PR_SET_NAME, "tony-executor"); }
#else
void ExecGpuBuildIfNeeded(char**) {}
#endif

}  // namespace
}  // namespace tony::executor

int main(int argc, char** argv) {
  tony::executor::ExecGpuBuildIfNeeded(argv);
  if (argc > 1 && tony::executor::IsInContainer(argv[1])) tony::executor::ForkFrontAndGuard();
  std::signal(SIGPIPE, SIG_IGN);
  std::optional<tony::LastWords> last_words;
  if (argc > 1 && tony::executor::IsInContainer(argv[1])) last_words.emplace();
  tony::OpenLog("tony-executor");
  if (argc > 1 && std::string_view(argv[1]) == "--horovod-driver")
    return tony::executor::RunHorovodDriver({argv + 2, argv + argc});
  const auto arguments = tony::executor::ParseArguments({argv + 1, argv + argc});
  const auto exit_code = arguments.ok() ? tony::WithoutThrowing([&] { return tony::executor::Run(*arguments); })
                                        : tony::Result<int>(arguments.error());
  if (exit_code.ok()) return *exit_code;
  tony::LogError(exit_code.error().message);
  if (last_words) last_words->Write(exit_code.error().message);
  return static_cast<int>(exit_code.error().code);
}
