#include "runtime/scheduler/local/keeper.h"

#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/scheduler/local/keeper_socket.h"

namespace tony::keeper {
namespace {

// The AM's connection, and some of AMs that are about to learn that they are not it.
constexpr size_t kMostConnections = 16;
// Finished, or about to be when its AM or keeper died: what the world was told stays so.
bool IsOver(const JobFolder& folder) {
  if (std::filesystem::exists(folder.finished())) return true;
  const auto status = folder.ReadStatus();
  return status.ok() && *status && (*status)->verdict;
}

}  // namespace

Keeper::Keeper(EventLoop& loop, JobFolder folder, std::vector<std::string> environment, AmOptions am,
               EventLoop::Callback on_done)
    : loop_(loop),
      folder_(std::move(folder)),
      on_done_(std::move(on_done)),
      runner_(loop),
      containers_(loop, runner_, folder_, environment,
                  {[this](const ContainerId& id) { Report(ContainerStarted{id}); },
                   [this](const ContainerExited& exited) {
                     Report(exited);
                     Proceed();
                   }}),
      am_(loop, runner_, folder_, std::move(environment), std::move(am),
          {[this] {
             if (am_peer_ != 0) peers_.at(am_peer_)->ReadNow();
           },
           [this](const std::string& reason) { GiveUp(reason); }, [this](const std::string& reason) { RunOut(reason); },
           [this] { Proceed(); }}) {}

Status Keeper::Begin() {
  TRY_ASSIGN(listener_, ListenAsKeeper(folder_));
  TRY(containers_.Adopt());
  accepting_ = loop_.WhenReadable(listener_.get(), [this] { AcceptConnections(); });
  signals_ = loop_.OnSignals({SIGCHLD, SIGTERM, SIGINT, SIGHUP}, [this](int signal) { OnSignal(signal); });
  if (IsOver(folder_)) {
    Finish();
  } else {
    am_.Begin();
    // While the AM starts.
    EnterLedger();
    if (const auto spec = folder_.ReadSpec(); !spec.ok() || spec->memory_limits) containers_.FindCgroups();
  }
  return Ok();
}

void Keeper::AcceptConnections() {
  for (;;) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    if (peers_.size() < kMostConnections) Admit(std::move(socket));
  }
}

void Keeper::Admit(UniqueFd socket) {
  const Peer peer = ++newest_peer_;
  peers_[peer] = std::make_unique<MessageChannel>(
      loop_, std::move(socket), [this, peer](std::string_view message) { OnMessage(peer, message); },
      [this, peer] { Drop(peer); });
  if (!peers_[peer]->PeerIsOurUser()) Drop(peer);
}

void Keeper::OnMessage(Peer from, std::string_view message) {
  const auto request = DecodeRequest(message);
  if (!request.ok()) {
    LogError(request.error().message);
    return Drop(from);
  }
  if (from != am_peer_ && !std::holds_alternative<AmHello>(*request)) return Drop(from);
  std::visit([&](const auto& r) { OnRequest(from, r); }, *request);
}

void Keeper::OnRequest(Peer from, const AmHello& hello) {
  if (!am_.OnHello(hello.epoch, peers_.at(from)->PeerProcess())) {
    LogWarn(StrCat("hello of epoch ", hello.epoch.value, ", which does not rule"));
    return Drop(from);
  }
  if (am_peer_ != from) Drop(am_peer_);
  am_peer_ = from;
  for (const auto& part : InParts(containers_.Inventory())) Report(part);
  if (turn_) Report(*turn_);
}

void Keeper::OnRequest(Peer, const AmRenew& renew) {
  am_.OnRenewed();
  Report(KeeperRenewed{renew.stamp});
  am_.TakePage(peers_.at(from)->TakeDescriptor());
}

void Keeper::OnRequest(Peer, const LaunchContainer& launch) {
  if (phase_ == Phase::kServing) return containers_.Launch(launch);
  Report(ContainerExited{launch.container, std::nullopt, "launch: the job has ended"});
}

void Keeper::OnRequest(Peer, const StopContainer& stop) { containers_.Stop(stop); }

void Keeper::OnRequest(Peer, const FinishJob&) {
  if (phase_ == Phase::kServing) return Finish();
  Report(JobFinished{});
}

void Keeper::Drop(Peer peer) {
  if (peer == am_peer_) am_peer_ = 0;
  peers_.erase(peer);
}

void Keeper::Report(const KeeperReport& report) {
  if (am_peer_ != 0) peers_.at(am_peer_)->Send(Encode(report));
}

// Never the end of the keeper: that would leave a job without its arbiter. The AM ends the job, and so the keeper.
void Keeper::OnSignal(int signal) {
  if (signal == SIGCHLD) return runner_.ReapStrangers();
  const std::string reason = StrCat("keeper was told to stop by signal ", signal);
  LogInfo(reason);
  const Status written = folder_.WriteKillRequest({reason});
  if (!written.ok()) LogError(written.error().message);
}

}  // namespace tony::keeper
