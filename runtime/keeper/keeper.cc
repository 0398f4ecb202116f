#include "runtime/keeper/keeper.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/lost_job.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/os/users.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/last_status.h"

namespace tony::keeper {
namespace {

// The largest number of connections, which is enough for the leading AM and for a few AMs that are about to be refused.
constexpr size_t kMostConnections = 16;
// Returns true if the job has finished, or if its verdict is published and only `finished` is missing because the AM or
// the keeper died. A published verdict does not change.
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
  if (auto status = InitialStatus(records_); status.ok()) first_status_ = *std::move(status);
  first_status_.tasks.clear();
  accepting_ = loop_.WhenReadable(listener_.get(), [this] { AcceptConnections(); });
  signals_ = loop_.OnSentSignals({SIGCHLD, SIGTERM, SIGINT, SIGHUP},
                                 [this](const EventLoop::SentSignal& signal) { OnSignal(signal); });
  LookForFolder();
  if (IsOver(records_)) {
    Finish();
  } else {
    am_.Begin();
    // The keeper enters the ledger while the AM starts.
    EnterLedger();
    const auto spec = records_.ReadSpec();
    if (spec.ok()) {
      grace_ = spec->timers.grace;
      am_lease_ = spec->timers.am_lease;
      LimitStart(spec->startup_timeout);
    }
    am_heard_ = loop_.Now();  // gives the AM time to connect
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
    LogWarn(StrCat("refused an AM of epoch ", hello.epoch.value,
                   ": it is not the leader, or the keeper cannot watch its process"));
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

// If the AM could not write the end of the job, it sends its status, and the keeper writes the end.
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

// A signal never ends the keeper before its job, because the job would lose its supervisor.
void Keeper::OnSignal(const EventLoop::SentSignal& signal) {
  if (signal.number == SIGCHLD) return (void)runner_.ReapAllChildren();
  const std::string sender = signal.sender > 0 ? StrCat(" from process ", signal.sender, " of uid ", signal.user) : "";
  const std::string what = StrCat("the job's keeper got SIG", sigabbrev_np(signal.number), sender);
  if (!stop_reason_.empty()) return LogInfo(StrCat(what, ", and is already ending the job"));
  LogInfo(what);
  Stop(what);
}

// The keeper's part in the ledger of the machine. The keeper enters its job at the start, and removes the entry when no
// process of the job is left.

namespace {

// The interval at which the run limit of the user is read again.
constexpr Duration kBetweenLimitLooks{60'000};
// How long a nested job (submitted by a task of another job) may be queued before the keeper ends it.
constexpr Duration kNestedPatience{5000};

}  // namespace

void Keeper::EnterLedger() {
  if (phase_ != Phase::kServing && phase_ != Phase::kRunningOut) return;
  const Status entered = TryToEnterLedger();
  if (entered.ok()) return;
  // The ledger may become usable again: a full disk gets space, or someone repairs the folder. Until then the job
  // reports the reason and can be killed.
  ReportQueueState(JobQueued{StrCat("waits for the ledger, which cannot be used: ", entered.error().message)});
  claim_timer_ = loop_.After(kBetweenTries, [this] { EnterLedger(); });
}

Status Keeper::TryToEnterLedger() {
  TRY_ASSIGN(const JobSpec spec, records_.ReadSpec());
  TRY_ASSIGN(const LedgerFolder ledger, LedgerFolder::FindFor(records_));
  TRY_ASSIGN(const auto environment, records_.ReadEnvironment());
  if (const auto mark = VariableOf(environment, kJobMark); mark && *mark != records_.job().value) above_ = JobId{*mark};
  const bool runs = containers_.Running() > 0;
  TRY_ASSIGN(claim_, LedgerReservation::Enter(
                         loop_, ledger, records_.job(), AskOf(spec, environment, ledger.ReadMachine()), runs,
                         {[this] { OnAdmitted(); }, [this](const std::string& why) { OnQueued(why); }}, spec.priority));
  ledger_ = ledger;
  return Ok();
}

void Keeper::OnQueued(const std::string& why) {
  ReportQueueState(JobQueued{why});
  if (above_ && !nested_timer_) nested_timer_ = loop_.After(kNestedPatience, [this] { EndIfNested(); });
}

// Ends a waiting job that a task of another job submitted. That task may be waiting for this job while its own job
// holds resources that this job needs. `tony submit` already refuses a nested job that would have to wait. Therefore a
// job that waits here was queued because another job was admitted in between.
void Keeper::EndIfNested() {
  nested_timer_ = loop_.After(kNestedPatience, [this] { EndIfNested(); });
  const auto* queued = turn_ ? std::get_if<JobQueued>(&*turn_) : nullptr;
  const auto view = ledger_->Read();
  if (!queued || !view.ok()) return;
  const LedgerEntry* above = view->ledger.Find(*above_, geteuid());
  if (!above || !above->admitted()) return;
  nested_timer_.reset();
  EndBecause(WhyNestedCannotWait(*above_, queued->why));
}

void Keeper::OnAdmitted() {
  nested_timer_.reset();
  ReportQueueState(JobAdmitted{});
  containers_.Admit({claim_->lock(), claim_->gpus(), claim_->MachineHasGpus(), claim_->ShownGpuNames()});
  WatchRunTime();
}

// The limit is read again each minute, because the owner of the machine may raise it or set one.
void Keeper::WatchRunTime() {
  if (!claim_ || claim_->admitted_at() == Instant()) return;
  const auto minutes = ledger_ ? ledger_->ReadMachine().LimitsOf(geteuid()).run_minutes : std::nullopt;
  const Instant now = loop_.Now();
  Instant next = now + kBetweenLimitLooks;
  if (minutes) {
    const Instant end = claim_->admitted_at() + std::chrono::minutes(*minutes);
    if (end <= now) return EndAtRunLimit(*minutes);
    next = std::min(next, end);
  }
  run_timer_ = loop_.At(next, [this] { WatchRunTime(); });
}

void Keeper::EndAtRunLimit(int64_t minutes) {
  const std::string reason =
      StrCat("the job has run for ", minutes, minutes == 1 ? " minute" : " minutes",
             ", which is the limit for a job of ", UserName(geteuid()),
             " on this machine (run_minutes in machine.json)");
  EndBecause(reason);
}

void Keeper::EndBecause(const std::string& reason) {
  LogInfo(reason);
  const auto written = records_.WriteKill({reason});
  if (written.ok()) return;
  LogError(written.error().message);
  EndForKill({.reason = reason});
}

void Keeper::ReportQueueState(KeeperReport turn) {
  const auto* queued = std::get_if<JobQueued>(&turn);
  const auto* before = turn_ ? std::get_if<JobQueued>(&*turn_) : nullptr;
  if (queued && before && queued->why == before->why) return;
  LogInfo(queued ? StrCat("the job ", queued->why) : "the job is admitted");
  turn_ = std::move(turn);
  Report(*turn_);
}

void Keeper::LeaveLedger() {
  claim_timer_.reset();
  run_timer_.reset();
  nested_timer_.reset();
  if (claim_) claim_->Leave();
  claim_.reset();
}

}  // namespace tony::keeper
