#include "runtime/local/local_scheduler.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/base/endpoint.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/os/cgroup.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/last_status.h"

namespace tony {
namespace {

// The pauses before a connection to the keeper is retried. A new keeper listens within a few milliseconds. The pauses
// grow, because a keeper that hangs must not cause a busy loop.
constexpr Duration kFirstRetry{10};
constexpr Duration kLongestRetry{500};
// After the start of a keeper, no further keeper is started for this long, because the first one needs some time to
// take its lock.
constexpr Duration kBetweenLaunches{1000};
// The interval of checks whether a keeper that does not renew the lease still responds.
constexpr Duration kPulse{1000};
// The number of renewals during one lease. With this number two renewals in a row may be lost before the lease ends.
constexpr int kRenewalsPerLease = 3;

}  // namespace

LaunchSpec LaunchOf(const JobRecords& records, const std::string& executor_program, const ContainerId& container,
                    const ExecutorLaunch& launch) {
  const std::filesystem::path logs = AttemptFolder(records.place(), launch.attempt).logs;
  // An error is ignored, because an executor that cannot write there reports a clearer error.
  (void)MakeFolder(logs);
  return {.argv = {executor_program, records.place().string(), ToString(launch.attempt.task),
                   StrCat(launch.attempt.number), container.value, kLoopback},
          .env = {},
          .log_file = (logs / "executor.log").string(),
          .resources = launch.resources};
}

std::optional<KeptOutcome> OutcomeKeptOf(const JobRecords& records, const AttemptId& attempt) {
  auto kept = AttemptFolder(records.place(), attempt).ReadOutcome();
  if (!kept.ok()) {
    LogWarn(kept.error().message);
  } else if (*kept) {
    return KeptOutcome{attempt, **std::move(kept)};
  }
  return std::nullopt;
}

LocalScheduler::LocalScheduler(EventLoop& loop, JobRecords records, Epoch epoch, Duration am_lease,
                               AmLauncher& launcher, MakeLaunch make_launch, OutcomeKeptIn outcome_kept_in, Sink sink)
    : loop_(loop),
      records_(std::move(records)),
      epoch_(epoch),
      am_lease_(am_lease),
      launcher_(launcher),
      make_launch_(std::move(make_launch)),
      outcome_kept_in_(std::move(outcome_kept_in)),
      sink_(std::move(sink)),
      contact_(loop.Now()) {
  retry_timer_ = loop_.After(Duration(0), [this] { Connect(); });
  CheckLease();
}

LocalScheduler::~LocalScheduler() = default;

void LocalScheduler::Request(const std::vector<ContainerRequest>& asks) {
  requested_.insert(requested_.end(), asks.begin(), asks.end());
  ApplyQueueState();
}

void LocalScheduler::Withdraw(const std::vector<AttemptId>& attempts) {
  const std::set<AttemptId> unwanted(attempts.begin(), attempts.end());
  std::erase_if(requested_, [&](const ContainerRequest& ask) { return unwanted.contains(ask.attempt); });
}

void LocalScheduler::Launch(const ContainerId& container, const ExecutorLaunch& launch) {
  const LaunchSpec what = make_launch_(container, launch);
  if (Encode(LaunchContainer{container, what}).size() > kMaxKeeperMessage) {
    ended_.insert(container);
    return Tell(ContainerExited{
        container, std::nullopt,
        StrCat("launch ", container.value, ": the arguments and the environment together have more than ",
               kMaxKeeperMessage, " bytes")});
  }
  launches_[container] = what;
  Send(LaunchContainer{container, what});
}

void LocalScheduler::Stop(const ContainerId& container, StopMode mode) {
  if (ended_.contains(container)) return;
  auto& wanted = stops_.emplace(container, mode).first->second;
  if (mode == StopMode::kKill) wanted = mode;
  Send(StopContainer{container, wanted});
}

// Usually the verdict is in the job's folder, where clients find it. The verdict is sent to the keeper only if the
// folder could not be written.
void LocalScheduler::Finish(const Verdict& verdict, std::function<void()> done) {
  finished_ = std::move(done);
  JobStatus end{.job = records_.job()};
  EndStatus(end, verdict, loop_.Now());
  finish_ = records_.HasVerdict() ? FinishJob{} : FinishJob{ToJson(end)};
  Send(finish_);
}

void LocalScheduler::Connect() {
  auto socket = ConnectToKeeper(records_);
  if (!socket.ok()) {
    RestartKeeper();
    return ConnectLater();
  }
  link_ = Link::kGreeting;
  inventory_ = {{}, {}, /*last=*/false};
  turn_ = Turn::kUnknown;
  channel_ = std::make_unique<MessageChannel>(
      loop_, *std::move(socket), [this](std::string_view message) { OnMessage(message); }, [this] { OnClosed(); });
  const bool page = page_socket_.valid();
  channel_->Send(Encode(AmHello{epoch_}), page ? UniqueFd(fcntl(page_socket_.get(), F_DUPFD_CLOEXEC, 3)) : UniqueFd());
  Renew();
}

void LocalScheduler::ConnectLater() {
  link_ = Link::kDown;
  channel_.reset();
  retry_ = std::clamp(retry_ * 2, kFirstRetry, kLongestRetry);
  retry_timer_ = loop_.After(retry_, [this] { Connect(); });
}

void LocalScheduler::OnClosed() {
  if (link_ == Link::kNotNeeded) return channel_.reset();
  // A keeper that closes the connection during the greeting refuses this AM, because another AM leads or because the
  // keeper is about to exit. The connection is retried later and not at once, to avoid a busy loop.
  if (link_ == Link::kGreeting) return ConnectLater();
  LogWarn("the connection to the keeper was lost");
  link_ = Link::kDown;
  channel_.reset();
  Connect();
}

void LocalScheduler::RestartKeeper() {
  if (loop_.Now() < next_launch_ || launcher_.Look(records_).WillBeKept()) return;
  next_launch_ = loop_.Now() + kBetweenLaunches;
  LogWarn("the keeper has exited; this application master starts another");
  const auto started = launcher_.Start(records_);
  if (!started.ok()) LogWarn(started.error().message);
}

void LocalScheduler::Renew() {
  if (channel_) channel_->Send(Encode(AmRenew{ToMillis(loop_.Now())}));
  renew_timer_ = loop_.After(am_lease_ / kRenewalsPerLease, [this] { Renew(); });
}

void LocalScheduler::CheckLease() {
  if (link_ == Link::kNotNeeded) return;
  if (standing_ != Standing::kLost && !LeaseHolds()) {
    standing_ = Standing::kLost;
    Tell(SchedulerLost{StrCat("no answer from the keeper for ", am_lease_.count(), " ms")});
    // The connection is closed, because the reports of a keeper that returns must begin with its inventory.
    ConnectLater();
    CheckKeeper();
  }
  lease_timer_ = loop_.At(LeaseHolds() ? contact_ + am_lease_ : loop_.Now() + am_lease_, [this] { CheckLease(); });
}

// A keeper that hangs is killed, so that its lock is free for the next keeper.
void LocalScheduler::CheckKeeper() {
  pulse_timer_ = loop_.After(kPulse, [this] {
    if (standing_ != Standing::kLost || link_ == Link::kNotNeeded) return;
    const auto pulse = launcher_.LookAfter(records_);
    if (!pulse.note.empty()) LogWarn(pulse.note);
    CheckKeeper();
  });
}

void LocalScheduler::OnMessage(std::string_view message) {
  const auto report = DecodeReport(message);
  if (report.ok()) return std::visit([this](const auto& r) { On(r); }, *report);
  LogError(report.error().message);
  ConnectLater();
}

void LocalScheduler::On(const KeeperInventory& part) {
  inventory_.running.insert(inventory_.running.end(), part.running.begin(), part.running.end());
  inventory_.exited.insert(inventory_.exited.end(), part.exited.begin(), part.exited.end());
  inventory_.last = part.last;
}

void LocalScheduler::On(const KeeperRenewed& renewed) {
  contact_ = std::max(contact_, FromMillis(renewed.stamp));
  // If the answer to this renewal took longer than the lease, the answer does not count, because the keeper may have
  // replaced this AM already.
  if (link_ == Link::kGreeting && inventory_.last && LeaseHolds()) GoUp();
}

void LocalScheduler::On(const ContainerStarted& started) {
  if (link_ == Link::kGreeting) return inventory_.running.push_back(started.container);
  if (launches_.erase(started.container) > 0) Tell(started);
}

void LocalScheduler::On(const ContainerExited& exited) {
  if (link_ == Link::kGreeting) {
    std::erase(inventory_.running, exited.container);
    return inventory_.exited.push_back(exited);
  }
  launches_.erase(exited.container);
  stops_.erase(exited.container);
  if (!ended_.insert(exited.container).second) return;
  ContainerExited told = exited;
  if (told.error.starts_with(kOutOfMemory)) told.cls = OutcomeClass::kOom;
  told.kept = outcome_kept_in_(exited.container);
  Tell(std::move(told));
}

void LocalScheduler::On(const JobFinished&) {
  link_ = Link::kNotNeeded;
  if (finished_) loop_.Post(std::exchange(finished_, nullptr));
}

void LocalScheduler::On(const JobAdmitted&) {
  turn_ = Turn::kAdmitted;
  ApplyQueueState();
}

void LocalScheduler::On(const JobQueued& queued) {
  turn_ = Turn::kWaiting;
  why_waiting_ = queued.why;
  ApplyQueueState();
}

// Applies the job's state in the ledger that the keeper reported last. Without a connected keeper that report does not
// count, because the next keeper may have to queue the job again.
void LocalScheduler::ApplyQueueState() {
  if (link_ != Link::kUp) return;
  switch (turn_) {
    case Turn::kUnknown:
      return;
    case Turn::kWaiting:
      return NotifyPendingReason(why_waiting_);
    case Turn::kAdmitted:
      NotifyPendingReason("");
      for (const auto& ask : std::exchange(requested_, {}))
        Tell(ContainerGranted{ask.attempt, {StrCat(epoch_.value, "-", ++granted_)}, kLoopback});
      return;
  }
}

void LocalScheduler::NotifyPendingReason(const std::string& reason) {
  if (reason != delay_told_) Tell(ContainersPending{reason});
  delay_told_ = reason;
}

void LocalScheduler::GoUp() {
  link_ = Link::kUp;
  standing_ = Standing::kReached;
  retry_ = Duration(0);
  next_launch_ = Instant();
  const KeeperInventory inventory = std::exchange(inventory_, {});
  Tell(SchedulerReached{inventory.running});
  for (const auto& container : inventory.running) On(ContainerStarted{container});
  for (const auto& exited : inventory.exited) On(exited);
  for (const auto& [container, what] : launches_) Send(LaunchContainer{container, what});
  for (const auto& [container, mode] : stops_) Send(StopContainer{container, mode});
  ApplyQueueState();
  if (finished_) Send(finish_);
}

void LocalScheduler::Send(const KeeperRequest& request) {
  if (link_ == Link::kUp) channel_->Send(Encode(request));
}

// Events are posted, so that the sink is never called inside a call of the AM.
void LocalScheduler::Tell(SchedulerEvent event) {
  loop_.Post([this, event = std::move(event), alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) sink_(event);
  });
}

}  // namespace tony
