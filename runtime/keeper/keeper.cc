#include "runtime/keeper/keeper.h"

#include <sys/socket.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/keeper/keeper_socket.h"
#include "runtime/keeper/write_apart.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/last_status.h"

namespace tony::keeper {
namespace {

// The AM's connection, and some of AMs that are about to learn that they are not it.
constexpr size_t kMostConnections = 16;
// Finished, or about to be when its AM or keeper died: what the world was told stays so.
bool IsOver(const JobRecords& records) {
  std::error_code error;
  return std::filesystem::exists(JobFolder(records).finished(), error) || records.HasVerdict();
}

}  // namespace

Keeper::Keeper(EventLoop& loop, JobRecords records, std::vector<std::string> environment, AmOptions am,
               EventLoop::Callback on_done)
    : loop_(loop),
      records_(std::move(records)),
      on_done_(std::move(on_done)),
      stop_margin_(am.stop_margin),
      unwritable_(am.unwritable),
      runner_(loop),
      containers_(loop, runner_, records_, environment,
                  {[this](const ContainerId& id) { Report(ContainerStarted{id}); },
                   [this](const ContainerExited& exited) {
                     Report(exited);
                     Proceed();
                   }},
                  am.patience),
      am_(loop, runner_, records_, std::move(environment), std::move(am),
          {[this] {
             const auto history = HistoryFolder(records_);
             if (history.ok() && *history) StartWriter(WriteHistoryBegin, nullptr);
           },
           [this] {
             if (am_peer_ != 0) peers_.at(am_peer_)->ReadNow();
           },
           [this](const std::string& reason) { GiveUp(reason); }, [this](const std::string& reason) { RunOut(reason); },
           [this] { Proceed(); }}),
      presence_(records_.place()) {}

Status Keeper::Begin() {
  TRY_ASSIGN(listener_, ListenAsKeeper(records_));
  TRY(containers_.Adopt());
  if (auto status = FreshStatus(records_); status.ok()) first_status_ = *std::move(status);
  first_status_.tasks.clear();
  accepting_ = loop_.WhenReadable(listener_.get(), [this] { AcceptConnections(); });
  signals_ = loop_.OnSentSignals({SIGCHLD, SIGTERM, SIGINT, SIGHUP},
                                 [this](const EventLoop::SentSignal& signal) { OnSignal(signal); });
  LookForFolder();
  if (IsOver(records_)) {
    Finish();
  } else {
    am_.Begin();
    // While the AM starts.
    EnterLedger();
    const auto spec = records_.ReadSpec();
    if (spec.ok()) {
      grace_ = spec->timers.grace;
      am_lease_ = spec->timers.am_lease;
      LimitStart(spec->startup_timeout);
    }
    am_heard_ = loop_.Now();  // it gets its time to start
    LookForKills();
    containers_.FindCgroups(/*with_limits=*/!spec.ok() || spec->memory_limits);
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
    LogWarn(StrCat("hello of epoch ", hello.epoch.value, " refused: it does not rule, or cannot be watched"));
    return Drop(from);
  }
  HearAm();
  am_.TakePage(peers_.at(from)->TakeDescriptor());
  if (am_peer_ != from) Drop(am_peer_);
  am_peer_ = from;
  for (const auto& part : InParts(containers_.Inventory())) Report(part);
  if (turn_) Report(*turn_);
}

void Keeper::OnRequest(Peer, const AmRenew& renew) {
  HearAm();
  am_.OnRenewed();
  Report(KeeperRenewed{renew.stamp});
}

void Keeper::OnRequest(Peer, const LaunchContainer& launch) {
  if (phase_ == Phase::kServing) return containers_.Launch(launch);
  Report(ContainerExited{launch.container, std::nullopt, "launch: the job has ended"});
}

void Keeper::OnRequest(Peer, const StopContainer& stop) { containers_.Stop(stop); }

// A master that could not write the end leaves that to us.
void Keeper::OnRequest(Peer, const FinishJob& finish) {
  if (phase_ != Phase::kServing) {
    if (phase_ != Phase::kRecording && phase_ != Phase::kEndingTasks) Report(JobFinished{});
    return;
  }
  const auto sent = JobStatusFromJson(finish.status_json);
  if (sent.ok() && sent->verdict) verdict_ = *sent->verdict;
  if (finish.status_json.empty() || IsOver(records_)) return Finish();
  WriteVerdict();
}

void Keeper::Drop(Peer peer) {
  if (peer == am_peer_) am_peer_ = 0;
  peers_.erase(peer);
}

void Keeper::Report(const KeeperReport& report) {
  if (am_peer_ != 0) peers_.at(am_peer_)->Send(Encode(report));
}

// Never the end of the keeper before that of its job: that would leave a job without its arbiter.
void Keeper::OnSignal(const EventLoop::SentSignal& signal) {
  if (signal.number == SIGCHLD) return (void)runner_.ReapStrangers();
  const std::string sender = signal.sender > 0 ? StrCat(" from process ", signal.sender, " of uid ", signal.user) : "";
  const std::string what = StrCat("the job's keeper got SIG", sigabbrev_np(signal.number), sender);
  if (!stop_reason_.empty()) return LogInfo(StrCat(what, ", and is stopping already"));
  LogInfo(what);
  Stop(what);
}

}  // namespace tony::keeper
