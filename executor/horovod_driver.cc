#include "executor/horovod_driver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/net/sockets.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

constexpr size_t kLongestRendezvousValue = 1 << 20;  // bytes
constexpr int kMostRendezvousConnections = 4096;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Status Publish(const std::string& plan) {
  return AppendLine(Variable("TONY_PUBLISH_FILE"), StrCat(kHorovodPlan, "=", plan));
}

// ---- TonY's own driver.

void RunUntilSignal(EventLoop& loop) {
  const auto signals = loop.OnSignals({SIGTERM, SIGINT, SIGHUP}, [&loop](int) { loop.Stop(); });
  loop.Run();
}

Status Serve() {
  TRY_ASSIGN(const std::vector<HorovodSlot> slots, HorovodSlots(Variable("CLUSTER_WORKER_LIST")));
  const auto port = ParseInt(Variable("HOROVOD_GLOO_RENDEZVOUS_PORT"));
  if (!port) return Error{ErrorCode::kInternal, "HOROVOD_GLOO_RENDEZVOUS_PORT is not a port"};
  // Workers on other machines reach this host by a name, which may have several addresses.
  const std::string own = Variable("HOROVOD_GLOO_RENDEZVOUS_ADDR"), host = IsLoopback(own) ? own : "0.0.0.0";
  TRY_ASSIGN(UniqueFd listening, ListenOn({host, static_cast<int>(*port)}));
  EventLoop loop;
  RendezvousStore store(slots);
  const HttpLimits limits{.max_connections = kMostRendezvousConnections, .body = kLongestRendezvousValue};
  HttpServer server(
      loop, std::move(listening),
      [&store](const HttpRequest& request, const HttpReply& reply) { reply.Send(store.Handle(request)); }, limits);
  TRY(Publish(StrCat(*port)));
  RunUntilSignal(loop);
  return Ok();
}

// The port of TonY's driver in test mode, at which nothing listens.
constexpr const char* kTestPort = "9999";

Status ServeNothing() {
  TRY(Publish(kTestPort));
  EventLoop loop;
  RunUntilSignal(loop);
  return Ok();
}

// ---- The user's driver.

constexpr std::string_view kPortFileSuffix = "____HOROVOD_RENDEZVOUS_SERVER____";
constexpr useconds_t kLookForPlan = 50'000;  // microseconds
// A file that is still not a plan after this number of reads is an error. Before, the driver may still be writing it.
constexpr int kMostBadLooks = 100;

volatile sig_atomic_t g_driver = 0;

void Forward(int signal) {
  if (g_driver > 0) kill(static_cast<pid_t>(g_driver), signal);
}

struct PortFile {
  int port = 0;
  std::filesystem::path path;
};

std::optional<PortFile> FindPortFile() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(Variable("DRIVER_OUTPUT_PATH"), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kPortFileSuffix)) continue;
    // TonY's code expects four underscores before HOROVOD, and its documentation names five.
    std::string_view digits = std::string_view(name).substr(0, name.size() - kPortFileSuffix.size());
    while (digits.ends_with('_')) digits.remove_suffix(1);
    const auto port = ParseInt(digits);
    if (port && *port > 0 && *port <= UINT16_MAX) return PortFile{static_cast<int>(*port), entry.path()};
  }
  return std::nullopt;
}

// Publishes the plan of the user's driver when its file is there. Returns false if the file is not there yet.
Result<bool> PublishPlan() {
  const auto file = FindPortFile();
  if (!file) return false;
  TRY_ASSIGN(const std::string text, ReadFile(file->path));
  TRY_ASSIGN(const std::string plan, MakeHorovodPlan(file->port, text, Variable("CLUSTER_WORKER_LIST")));
  TRY(Publish(plan));
  return true;
}

// Waits for the user's driver, and publishes its plan meanwhile.
int Supervise(pid_t driver) {
  bool published = false;
  int status = 0, bad_looks = 0;
  while (waitpid(driver, &status, published ? 0 : WNOHANG) != driver) {
    if (published) continue;
    const Result<bool> done = PublishPlan();
    published = done.ok() && *done;
    bad_looks += done.ok() ? 0 : 1;
    if (bad_looks > kMostBadLooks) {
      LogError(done.error().message);
      kill(driver, SIGKILL);
      waitpid(driver, &status, 0);
      return static_cast<int>(ErrorCode::kInvalid);
    }
    usleep(kLookForPlan);
  }
  if (WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  return WEXITSTATUS(status);
}

int RunUsersDriver(const std::string& command) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, Forward);
  const pid_t driver = fork();
  if (driver == 0) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
    execl("/bin/bash", "bash", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  if (driver < 0) return static_cast<int>(ErrorCode::kUnavailable);
  g_driver = driver;
  return Supervise(driver);
}

}  // namespace

RendezvousStore::RendezvousStore(const std::vector<HorovodSlot>& slots, size_t most_bytes) : most_bytes_(most_bytes) {
  for (const HorovodSlot& slot : slots) {
    sizes_["global"] = slot.size;
    sizes_[StrCat("local_", slot.host)] = slot.local_size;
    sizes_[StrCat("cross_", slot.local_rank)] = slot.cross_size;
  }
}

HttpAnswer RendezvousStore::Handle(const HttpRequest& request) {
  if (request.path.size() != 2) return TextAnswer(400, "expected /SCOPE/KEY\n");
  const std::string &scope = request.path[0], &key = request.path[1];
  if (request.method == HttpMethod::kDelete) return Delete(scope, key);
  if (request.method == HttpMethod::kPut) {
    if (bytes_ + request.body.size() > most_bytes_) return TextAnswer(413, "the store is full\n");
    std::string& value = scopes_[scope][key];
    bytes_ += request.body.size() - value.size();
    value = request.body;
    return TextAnswer(200, "");
  }
  const auto values = scopes_.find(scope);
  if (values == scopes_.end()) return NotFound();
  const auto value = values->second.find(key);
  return value == values->second.end() ? NotFound() : TextAnswer(200, value->second);
}

HttpAnswer RendezvousStore::Delete(const std::string& scope, const std::string& key) {
  const auto values = scopes_.find(scope);
  const auto size = sizes_.find(scope);
  const auto forget = [this](const auto& value) { bytes_ -= value.second.size(); };
  if (size != sizes_.end()) {
    left_[scope].insert(key);
    if (std::cmp_less(left_[scope].size(), size->second)) return TextAnswer(200, "");
    left_.erase(scope);
    if (values != scopes_.end()) {
      std::ranges::for_each(values->second, forget);
      scopes_.erase(values);
    }
  } else if (values != scopes_.end()) {
    if (const auto value = values->second.extract(key)) bytes_ -= value.mapped().size();
  }
  return TextAnswer(200, "");
}

int RunHorovodDriver(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] != "--test") return RunUsersDriver(arguments[0]);
  const Status served = arguments.empty() ? Serve() : ServeNothing();
  if (served.ok()) return 0;
  LogError(served.error().message);
  return static_cast<int>(served.error().code);
}

}  // namespace tony::executor
