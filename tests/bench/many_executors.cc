// A real application master and many executors that are only connections, without processes and tasks. This program
// is also the AM's keeper (supervisor of one job): it reports containers as granted and ended without running any.
// scripts/bench builds and runs it.
//
//   many_executors TONY_AM FOLDER TASKS SECONDS           prints one line of JSON
//   many_executors TLS_MASTER FOLDER TASKS SECONDS tls    the same by TLS, to tls_master.cc
//
// Each executor has a connection of its own and follows the real protocol: it registers, awaits the cluster spec, sends
// a heartbeat each second for SECONDS, and sends its outcome. FOLDER takes the place of $TONY_HOME.
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/keeper/keeper_protocol.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/net/tls.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/files.h"
#include "runtime/records/local_job_store.h"
#include "runtime/rpc/am_connection.h"

namespace tony {
namespace {

constexpr Duration kHeartbeat{1000};
constexpr Duration kLimit{300'000};

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "many_executors: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) Die(result.error().message);
  return *std::move(result);
}

// Resources of the AM, as the kernel counts them.
struct Footprint {
  double cpu_ms = 0;  // all threads together
  double resident_mb = 0, most_mb = 0;
};
Footprint Measure(pid_t pid) {
  Footprint footprint;
  const std::filesystem::path process = StrCat("/proc/", pid);
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(process / "task", error)) {
    double nanoseconds = 0;
    std::ifstream(thread.path() / "schedstat") >> nanoseconds;
    footprint.cpu_ms += nanoseconds / 1e6;
  }
  std::ifstream status(process / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) footprint.resident_mb = std::atof(line.c_str() + 6) / 1024;
    if (line.starts_with("VmHWM:")) footprint.most_mb = std::atof(line.c_str() + 6) / 1024;
  }
  return footprint;
}

class Bench {
 public:
  Bench(std::string am, std::filesystem::path home, int tasks, int seconds, bool by_tls)
      : am_program_(std::move(am)), tasks_(tasks), seconds_(seconds), records_(Create(home)) {
    if (by_tls) tls_ = MakeCertificates();
  }

  int Run() {
    listener_ = Must(ListenAsKeeper(records_));
    accepting_ = loop_.WhenReadable(listener_.get(), [this] { Accept(); });
    const std::string log = (records_.place() / "am.log").string();
    am_ = Must(runner_.Start({.argv = {am_program_, records_.place().string(), "1"},
                              .env = {"PATH=/usr/bin:/bin"},
                              .directory = records_.place().string(),
                              .stdout_file = log,
                              .stderr_file = log},
                             [this](ExitStatus status) { OnAmEnded(status); }));
    limit_ = loop_.After(kLimit, [] { Die("it takes too long"); });
    loop_.Run();
    return result_;
  }

 private:
  // A simulated executor; `caller` is its identity.
  struct Simulated {
    Caller caller;
    std::unique_ptr<AmConnection> client;
    EventLoop::Timer heartbeat;
  };

  JobRecords Create(const std::filesystem::path& home) const {
    JobSpec spec;
    spec.name = "many executors";
    spec.framework = FrameworkKind::kPytorch;
    spec.roles = {RoleSpec{.name = "worker", .instances = tasks_, .command = "true"}};
    return Must(LocalJobStore(home).Create({.spec = spec, .environment = {}, .staged = {}}, loop_.Now()));
  }

  // Writes the master's certificates into the job folder. Returns TLS clients with the executors' certificate.
  MakeChannel MakeCertificates() const {
    const auto job = Must(MakeJobCertificates(records_.job().value, WallNow(), std::chrono::hours(1)));
    const std::pair<const char*, const std::string*> files[] = {
        {"tls.ca", &job.master.ca}, {"tls.certificate", &job.master.certificate}, {"tls.key", &job.master.key}};
    for (const auto& [name, text] : files)
      if (!WriteFileByRename(records_.place() / name, *text, /*durable=*/false).ok()) Die("no certificates");
    return Must(MakeTlsClient(job.executor));
  }

  // ---- as keeper
  void Accept() {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    channel_ = std::make_unique<MessageChannel>(
        loop_, std::move(socket), [this](std::string_view message) { OnMessage(message); }, [] {});
  }

  void Say(const KeeperReport& report) { channel_->Send(Encode(report)); }

  void OnMessage(std::string_view message) {
    std::visit(Overloaded{
                   [&](const AmHello&) {
                     Say(KeeperInventory{});
                     Say(JobAdmitted{});
                   },
                   [&](const AmRenew& renew) { Say(KeeperRenewed{renew.stamp}); },
                   [&](const LaunchContainer& launch) { Launch(launch); },
                   [&](const StopContainer& stop) {
                     Say(ContainerExited{stop.container, ExitStatus{}, ""});
                   },
                   [&](const FinishJob&) { Say(JobFinished{}); },
               },
               Must(DecodeRequest(message)));
  }

  // Lets all executors register at once when the last has been launched.
  void Launch(const LaunchContainer& launch) {
    // argv: program, job folder, task, number, container
    const auto& argv = launch.what.argv;
    const AttemptId attempt{Must(ParseTaskId(argv.at(2))), static_cast<int>(*ParseInt(argv.at(3)))};
    executors_.push_back(
        {{.job = records_.job(), .attempt = attempt, .container = launch.container}, nullptr, nullptr});
    Say(ContainerStarted{launch.container});
    if (std::ssize(executors_) == tasks_) loop_.Post([this] { RegisterAll(); });
  }

  // ---- as executors
  void RegisterAll() {
    const auto lease = Must(records_.ReadLease());
    if (!lease) Die("no lease");
    const std::string token = Must(records_.ReadToken());
    start_ = loop_.Now();
    for (auto& executor : executors_) {
      executor.caller.token = token;
      executor.client = MakeAmConnection(loop_, records_.place(), kLimit, tls_);
      executor.client->Use(lease->am.own);
      const Registration what{{"127.0.0.1", 20000 + executor.caller.attempt.task.index}, Phase::kWaiting, 0};
      executor.client->Register(executor.caller, what, [this, &executor](const Answer<Epoch>& answer) {
        if (!std::holds_alternative<Epoch>(answer)) Die("a registration failed");
        executor.caller.epoch = std::get<Epoch>(answer);
        if (++registered_ == tasks_) all_registered_ = loop_.Now();
        Await(executor, 0);
      });
    }
  }

  void Await(Simulated& executor, int64_t since) {
    executor.client->Await(executor.caller, since, [this, &executor, since](const Answer<Command>& answer) {
      const auto* command = std::get_if<Command>(&answer);
      if (!command) return;
      if (command->kind == Command::Kind::kRelease)
        return Say(ContainerExited{executor.caller.container, ExitStatus{}, ""});
      if (command->kind == Command::Kind::kStart) Begin(executor, *command);
      Await(executor, std::max(since, command->number));
    });
  }

  void Begin(Simulated& executor, const Command& command) {
    executor.caller.generation = command.generation;
    spec_bytes_ = command.cluster_spec.size();
    // Heartbeats are spread over the second, like those of executors that start one after the other.
    const Duration first = kHeartbeat * executor.caller.attempt.task.index / tasks_;
    if (++begun_ == tasks_) AllBegun();
    executor.heartbeat = loop_.After(first, [this, &executor] { Heartbeat(executor); });
  }

  void Heartbeat(Simulated& executor) {
    executor.heartbeat = loop_.After(kHeartbeat, [this, &executor] { Heartbeat(executor); });
    executor.client->Heartbeat(executor.caller, {Phase::kRunning, 1000 + executor.caller.attempt.task.index, {}},
                               [this](const Answer<Acknowledged>& answer) {
                                 if (!std::holds_alternative<Acknowledged>(answer)) Die("a heartbeat failed");
                                 ++heartbeats_;
                               });
  }

  // The first round of heartbeats reports that the tasks run, and the AM journals that; the steady state begins after
  // it.
  void AllBegun() {
    all_begun_ = loop_.Now();
    phase_ = loop_.After(kHeartbeat * 3, [this] {
      before_ = Measure(am_);
      steady_ = loop_.Now();
      heartbeats_ = 0;
      phase_ = loop_.After(kHeartbeat * seconds_, [this] { End(); });
    });
  }

  void End() {
    after_ = Measure(am_);
    const double seconds = static_cast<double>((loop_.Now() - steady_).count()) / 1000;
    std::printf(
        "{\"tasks\": %d, \"registered_ms\": %lld, \"released_ms\": %lld, \"cluster_spec_bytes\": %zu, \"rss_mb\": "
        "%.1f, "
        "\"most_mb\": %.1f, \"heartbeats_per_second\": %.0f, \"cpu_percent\": %.2f",
        tasks_, static_cast<long long>((all_registered_ - start_).count()),
        static_cast<long long>((all_begun_ - all_registered_).count()), spec_bytes_, after_.resident_mb, after_.most_mb,
        static_cast<double>(heartbeats_) / seconds, (after_.cpu_ms - before_.cpu_ms) / seconds / 10);
    ending_ = loop_.Now();
    for (auto& executor : executors_) {
      executor.heartbeat = nullptr;
      executor.client->ReportOutcome(executor.caller, {Outcome{.exit = ExitStatus{}}, {}},
                                     [](const Answer<Acknowledged>&) {});
    }
  }

  void OnAmEnded(ExitStatus status) {
    if (ending_ == Instant{}) Die(StrCat("the application master ended: ", ToString(status)));
    std::printf(", \"ended_ms\": %lld}\n", static_cast<long long>((loop_.Now() - ending_).count()));
    result_ = status == ExitStatus{} ? 0 : 1;
    loop_.Stop();
  }

  const std::string am_program_;
  const int tasks_;
  const int seconds_;
  EventLoop loop_;
  BoostProcessRunner runner_{loop_};
  const JobRecords records_;
  MakeChannel tls_;  // empty: the master's Unix socket
  UniqueFd listener_;
  EventLoop::FdWatch accepting_;
  std::unique_ptr<MessageChannel> channel_;
  std::deque<Simulated> executors_;  // a deque: elements do not move
  pid_t am_ = 0;
  int registered_ = 0, begun_ = 0, result_ = 1;
  int64_t heartbeats_ = 0;
  size_t spec_bytes_ = 0;
  Instant start_{}, all_registered_{}, all_begun_{}, steady_{}, ending_{};
  Footprint before_, after_;
  EventLoop::Timer phase_, limit_;
};

}  // namespace
}  // namespace tony

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const bool by_tls = argc == 6 && std::string(argv[5]) == "tls";
  if (argc != 5 && !by_tls) return 64;
  return tony::Bench(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]), by_tls).Run();
}
