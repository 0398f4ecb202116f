// Measures the cost of a connection and of a call to an application master, by Unix socket and by TLS. Both ends run
// in one thread, so the times are the sum of both. Prints a line of JSON for each, in microseconds of CPU.
//
//   rpc_transports CONNECTIONS CALLS
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/net/tls.h"
#include "runtime/rpc/am_connection.h"
#include "runtime/rpc/rpc_server.h"
#include "tests/unit/rpc/fake_am_service.h"

namespace tony {
namespace {

constexpr Duration kLimit{60'000};

template <class T>
T Must(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "rpc_transports: %s\n", result.error().message.c_str());
  std::exit(1);
}

// Returns CPU time because it is the same on a busy machine.
double Seconds(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

class Bench {
 public:
  Bench(const std::filesystem::path& folder, const Address& at, MakeChannel server, MakeChannel client)
      : folder_(folder),
        tls_(std::move(client)),
        server_(Must(StartRpcServer(loop_, {.folder = folder, .at = {at}, .tls = std::move(server)}, service_))) {}

  // Opens `count` connections with one call each, all at once or one after the other.
  double Connect(int count, bool at_once) {
    connections_.clear();
    failed_ = 0;
    return Seconds([&] {
      int answered = 0;
      const std::function<void()> add = [&] {
        connections_.push_back(MakeAmConnection(loop_, folder_, kLimit, tls_));
        connections_.back()->Use(server_->addresses().front());
        HeartbeatNow(*connections_.back(), [&] {
          if (++answered == count) loop_.Stop();
          if (!at_once && answered < count) add();
        });
      };
      for (int i = 0; i < (at_once ? count : 1); ++i) add();
      loop_.Run();
    });
  }

  double Call(int count) {
    return Seconds([&] {
      int answered = 0;
      const std::function<void()> next = [&] {
        HeartbeatNow(*connections_.front(), [&] { ++answered == count ? loop_.Stop() : next(); });
      };
      next();
      loop_.Run();
    });
  }
  int failed() const { return failed_; }

 private:
  void HeartbeatNow(AmConnection& am, const std::function<void()>& then) {
    am.Heartbeat(SomeCaller(), {Phase::kRunning, 1}, [this, then](const Answer<Acknowledged>& answer) {
      if (!std::holds_alternative<Acknowledged>(answer)) ++failed_;
      then();
    });
  }

  const std::filesystem::path folder_;
  const MakeChannel tls_;
  EventLoop loop_;
  FakeAmService service_;
  std::unique_ptr<RpcServer> server_;
  std::vector<std::unique_ptr<AmConnection>> connections_;
  int failed_ = 0;
};

void Print(const char* name, Bench&& bench, int connections, int calls) {
  const double one_by_one = bench.Connect(connections, false);
  const double at_once = bench.Connect(connections, true);
  const int failed = bench.failed();
  std::printf(
      "{\"by\": \"%s\", \"connection_us\": %.0f, \"at_once_us\": %.0f, \"at_once_failed\": %d, \"call_us\": %.1f}\n",
      name, one_by_one / connections * 1e6, at_once / connections * 1e6, failed, bench.Call(calls) / calls * 1e6);
}

}  // namespace
}  // namespace tony

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  std::signal(SIGPIPE, SIG_IGN);
  const int connections = std::atoi(argv[1]), calls = std::atoi(argv[2]);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("rpc_transports." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto job = tony::Must(tony::MakeJobCertificates("bench", tony::WallNow(), std::chrono::hours(1)));
  tony::Print("unix socket", tony::Bench(folder, tony::SocketName{"am.sock"}, {}, {}), connections, calls);
  tony::Print("tls",
              tony::Bench(folder, tony::Endpoint{tony::kLoopback, 0}, tony::Must(tony::MakeTlsServer(job.master)),
                          tony::Must(tony::MakeTlsClient(job.executor))),
              connections, calls);
  std::filesystem::remove_all(folder);
}
