#include "tests/sim/simulated_keeper.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"

namespace tony::sim {
namespace {

constexpr Duration kAskAgain{700};

}  // namespace

void SimulatedEngine::Apply(const Fault& fault) {
  std::visit(Overloaded{
                 [&](const AskAttach& f) { Attach(f.claim); },
                 [&](const AskLook& f) { Look(f.watcher); },
                 [&](const AskConditionalKill& f) {
                   KillRequest request = f.request;
                   request.reason = "asked to";
                   if (f.delay > Duration(0)) request.due = stage_.time.now() + f.delay;
                   request.record = StrCat(++stage_.disk.last_kill);
                   stage_.disk.conditional_kills[stage_.disk.last_kill] = request;
                   stage_.Add(ConditionalKillWritten{request});
                 },
                 [](const auto&) {},
             },
             fault);
}

void SimulatedEngine::Attach(const Claim& claim) {
  Ask([claim](SimulatedAm& am, std::function<void()> answered) { am.Attach(claim, std::move(answered)); });
}

void SimulatedEngine::Look(const WatcherToken& watcher) {
  Ask([watcher](SimulatedAm& am, std::function<void()> answered) { am.Look(watcher, std::move(answered)); });
}

// An AM may die before it answers; a request without an answer is repeated.
void SimulatedEngine::Ask(const Question& question) {
  if (over_()) return;
  const auto is_answered = std::make_shared<bool>(false);
  if (SimulatedAm* am = am_()) question(*am, [is_answered] { *is_answered = true; });
  stage_.time.After(kAskAgain, [this, is_answered, question] {
    if (!*is_answered) Ask(question);
  });
}

namespace {

constexpr Duration kSlowestMessage{3};  // over the keeper's socket
constexpr Duration kExitNotice{3};      // delay to notice a child's end

// The values of am_supervision.cc.
constexpr size_t kMostCrashes = 5;
constexpr Duration kCrashWindow{300'000};
constexpr Duration kFirstDelay{100};
constexpr Duration kLongestDelay{5'000};
constexpr Duration kOverslept{1'000};
constexpr Duration kSilence{30'000};
constexpr Duration kAdoption{10'000};
constexpr Duration kFarewell{5'000};
// From the end of an AM, as the scheduler sees it, to the start of the next.
constexpr Duration kSlowestReplacement{3'000};

}  // namespace

SimulatedKeeper::SimulatedKeeper(Stage& stage, Network& network, Flaw flaw)
    : stage_(stage),
      network_(network),
      random_(stage.random.Fork()),
      crashes_(stage),
      flaw_(flaw),
      containers_(stage, network, *this, flaw),
      engine_(
          stage, [this] { return AmOfClient(); }, [this] { return finished_; }) {}

void SimulatedKeeper::ComeBack(Duration delay) {
  stage_.time.After(delay, [this] {
    if (!alive_ && !finished_) Begin();
  });
}

void SimulatedKeeper::Begin() {
  alive_ = true;
  ++life_;
  phase_ = Phase::kServing;
  am_state_ = AmState::kNone;
  am_crashes_.clear();
  stage_.Add(KeeperBegan{});
  containers_.Adopt();
  if (stage_.disk.finished) {
    Finish();
  } else {
    Supervise();
  }
}

void SimulatedKeeper::Die() {
  if (!alive_) return;
  alive_ = false;
  ++life_;
  stage_.Add(KeeperGone{});
  am_channel_ = 0;
  for (const auto& [channel, end] : std::exchange(channels_, {})) end->OnClosed(channel);
}

void SimulatedKeeper::Later(Duration delay, std::function<void()> what) {
  stage_.time.After(delay, [this, life = life_, what = std::move(what)] {
    if (!alive_ || life != life_ || finished_) return;
    if (stage_.time.now() < thaws_at_) return Later(thaws_at_ - stage_.time.now(), what);
    what();
  });
}

// ---- messages

int64_t SimulatedKeeper::Open(SimulatedScheduler& end) {
  channels_[++last_channel_] = &end;
  return last_channel_;
}

void SimulatedKeeper::Send(int64_t channel, const KeeperRequest& request) {
  requests_until_ = std::max(requests_until_, stage_.time.now() + random_.Between(Duration(0), kSlowestMessage));
  Later(requests_until_ - stage_.time.now(), [this, channel, request] {
    if (!channels_.contains(channel)) return;
    if (channel != am_channel_ && !std::holds_alternative<Hello>(request)) return Close(channel);
    std::visit([&](const auto& r) { On(channel, r); }, request);
  });
}

void SimulatedKeeper::Close(int64_t channel) {
  const auto closed = channels_.extract(channel);
  if (channel == am_channel_) am_channel_ = 0;
  if (!closed.empty()) closed.mapped()->OnClosed(channel);
}

void SimulatedKeeper::Report(const KeeperReport& report) {
  const int64_t channel = am_channel_;
  const auto to = channels_.find(channel);
  if (!alive_ || to == channels_.end()) return;
  reports_until_ = std::max(reports_until_, stage_.time.now() + random_.Between(Duration(0), kSlowestMessage));
  stage_.time.At(reports_until_, [end = to->second, channel, report] { end->OnReport(channel, report); });
}

void SimulatedKeeper::On(int64_t channel, const Hello& hello) {
  const bool expected =
      am_state_ == AmState::kAwaited || am_state_ == AmState::kRunning || am_state_ == AmState::kRetiring;
  const bool is_newest = hello.epoch == stage_.disk.epoch && hello.epoch != declared_dead_;
  if (!is_newest || !expected) return Close(channel);
  if (am_channel_ != channel) Close(am_channel_);
  am_channel_ = channel;
  stage_.Add(KeeperListens{hello.epoch});
  if (am_state_ == AmState::kAwaited) am_state_ = AmState::kRunning;
  renewed_ = stage_.time.now();
  CheckSilence(renewed_);
  Report(containers_.List());
}

void SimulatedKeeper::On(int64_t, const Renewal& renewal) {
  renewed_ = stage_.time.now();
  Report(renewal);
}

void SimulatedKeeper::On(int64_t, const Ordered& order) {
  stage_.Add(order);
  switch (order.what) {
    case Ordered::What::kLaunch:
      if (phase_ == Phase::kServing) return containers_.Launch(order.attempt, order.container);
      return Report(ContainerExited{order.container, std::nullopt, "launch: the job has ended", std::nullopt});
    case Ordered::What::kTerm:
      return containers_.Stop(order.container, StopMode::kTerm);
    case Ordered::What::kKill:
      return containers_.Stop(order.container, StopMode::kKill);
    case Ordered::What::kFinish:
      if (phase_ == Phase::kServing) return Finish();
      return Report(JobFinished{});
  }
}

// ---- the AM

void SimulatedKeeper::Supervise() {
  if (stage_.disk.epoch.value == 0 || !Am()) return StartAm();
  am_state_ = AmState::kAwaited;
  Later(kAdoption, [this] {
    if (am_state_ != AmState::kAwaited) return;
    if (SimulatedAm* am = Am()) return am->Die();  // the AM's end starts another AM
    StartAm();
  });
}

void SimulatedKeeper::StartAm() {
  stage_.disk.epoch = stage_.disk.epoch.Next();
  ams_.push_back(std::make_unique<SimulatedAm>(stage_, network_, *this, crashes_, stage_.disk.epoch, flaw_));
  SimulatedAm& am = *ams_.back();
  const AmPlan& plan = stage_.plan.am;
  const bool doomed = doomed_ams_ > 0;
  if (doomed) --doomed_ams_;
  stage_.time.After(random_.Between(plan.shortest_start, plan.longest_start), [&am, doomed] {
    am.Begin();
    if (doomed) am.Die();
  });
  am_state_ = AmState::kRunning;
  renewed_ = stage_.time.now();
  CheckSilence(renewed_);
}

void SimulatedKeeper::AmEnded(Epoch epoch) {
  Later(random_.Between(Duration(0), kExitNotice), [this, epoch] {
    if (epoch == stage_.disk.epoch) OnAmEnded();
  });
}

void SimulatedKeeper::OnAmEnded() {
  switch (am_state_) {
    case AmState::kAwaited:
      return StartAm();
    case AmState::kRunning:
      return OnCrash();
    case AmState::kRetiring:
      am_state_ = AmState::kGone;
      return Proceed();
    case AmState::kNone:
    case AmState::kBackoff:
    case AmState::kGone:
      return;
  }
}

void SimulatedKeeper::OnCrash() {
  const Instant now = stage_.time.now();
  while (!am_crashes_.empty() && now - am_crashes_.front() > kCrashWindow) am_crashes_.pop_front();
  am_crashes_.push_back(now);
  if (am_crashes_.size() >= kMostCrashes) {
    am_state_ = AmState::kGone;
    return GiveUp();
  }
  am_state_ = AmState::kBackoff;
  const auto again = static_cast<int>(am_crashes_.size()) - 2;
  Later(again < 0 ? Duration(0) : std::min(kLongestDelay, kFirstDelay * (1 << again)), [this] { StartAm(); });
}

SimulatedAm* SimulatedKeeper::Am() {
  if (ams_.empty() || !ams_.back()->alive() || ams_.back()->epoch() == declared_dead_) return nullptr;
  return ams_.back().get();
}

SimulatedAm* SimulatedKeeper::AmOfClient() {
  std::vector<SimulatedAm*> alive;
  for (const auto& am : ams_)
    if (am->alive()) alive.push_back(am.get());
  if (alive.size() < 2) return alive.empty() ? nullptr : alive.front();
  return alive[static_cast<size_t>(random_.Between(0, static_cast<int64_t>(alive.size()) - 1))];
}

void SimulatedKeeper::Replace(SimulatedAm& am, const DoubleAm& fault) {
  if (!alive_ || am_state_ != AmState::kRunning) return;
  stage_.Note(StrCat("am ", am.epoch().value, " is declared dead and lives on"));
  declared_dead_ = am.epoch();
  am.CutStore(fault.store_cut);
  Close(am_channel_);
  am_state_ = AmState::kBackoff;
  Later(random_.Between(Duration(0), kSlowestReplacement), [this] { StartAm(); });
}

void SimulatedKeeper::CheckSilence(Instant expected) {
  if (stage_.time.now() - expected > kOverslept) renewed_ = stage_.time.now();
  if (am_state_ != AmState::kRunning) return;
  const Instant end = renewed_ + kSilence;
  if (stage_.time.now() < end) {
    return Later(end - stage_.time.now(), [this, end, check = ++checks_] {
      if (check == checks_) CheckSilence(end);
    });
  }
  if (SimulatedAm* am = Am()) am->Die();
}

// ---- the end of the job

void SimulatedKeeper::Retire() {
  if (am_state_ == AmState::kGone) return;
  am_state_ = AmState::kRetiring;
  Later(Am() ? kFarewell : Duration(0), [this] {
    if (am_state_ != AmState::kRetiring) return;
    if (SimulatedAm* am = Am()) return am->Die();
    OnAmEnded();
  });
}

void SimulatedKeeper::Finish() {
  stage_.disk.finished = true;
  phase_ = Phase::kFinishing;
  Report(JobFinished{});
  containers_.KillAll();
  Retire();
  Proceed();
}

void SimulatedKeeper::GiveUp() {
  stage_.Note("the keeper gives up");
  phase_ = Phase::kGivingUp;
  containers_.KillAll();
  Proceed();
}

// Takes the next step of the job's end once the AM and all containers have exited.
void SimulatedKeeper::Proceed() {
  if (am_state_ != AmState::kGone || containers_.AnyLeft()) return;
  if (phase_ == Phase::kGivingUp) {
    const Verdict verdict{FinalState::kFailed, OutcomeClass::kInfra, "the application master crashed", {}, {}, {}, {}};
    stage_.disk.status = verdict;
    stage_.Add(KeeperGaveUp{verdict});
    return Finish();
  }
  if (phase_ != Phase::kFinishing) return;
  phase_ = Phase::kDone;
  finished_ = true;
  stage_.Add(JobClosed{});
}

// ---- faults, each applied to the part that it concerns

void SimulatedKeeper::Apply(const Fault& fault) {
  ApplyToAm(fault);
  ApplyToFiles(fault);
  ApplyToKeeper(fault);
  ApplyToContainers(fault);
  engine_.Apply(fault);
}

void SimulatedKeeper::ApplyToAm(const Fault& fault) {
  SimulatedAm* am = Am();
  if (!am) return;
  if (const auto* crash = std::get_if<CrashAm>(&fault)) {
    if (crash->more == 0 && !crashes_.MayCrash()) return;
    crashes_.Count();
    doomed_ams_ = crash->more;
    am->Die();
  }
  if (const auto* freeze = std::get_if<FreezeAm>(&fault)) am->Freeze(freeze->length);
  if (const auto* replacement = std::get_if<DoubleAm>(&fault)) Replace(*am, *replacement);
}

void SimulatedKeeper::ApplyToFiles(const Fault& fault) {
  Disk& disk = stage_.disk;
  const Instant now = stage_.time.now();
  std::visit(
      Overloaded{
          [&](const FillDisk& f) { disk.full_until = std::max(disk.full_until, now + f.length); },
          [&](const FailSync&) { disk.sync_fails = true; },
          [&](const LockLease& f) { disk.lease_locked_until = std::max(disk.lease_locked_until, now + f.length); },
          [&](const AskKill& f) {
            auto& request = disk.kill_request;
            if (!request || f.grace < *request) request = f.grace;
            stage_.Add(KillWritten{});
          },
          [](const auto&) {},
      },
      fault);
}

void SimulatedKeeper::ApplyToKeeper(const Fault& fault) {
  if (const auto* freeze = std::get_if<FreezeKeeper>(&fault)) {
    stage_.Note(StrCat("the keeper stands still for ", freeze->length.count(), " ms"));
    thaws_at_ = std::max(thaws_at_, stage_.time.now() + freeze->length);
  }
  if (const auto* kill = std::get_if<KillKeeper>(&fault)) {
    thaws_at_ = {};
    Die();
    ComeBack(kill->back_after);
  }
}

void SimulatedKeeper::ApplyToContainers(const Fault& fault) {
  std::visit(Overloaded{
                 [&](const TermExecutor& f) {
                   if (SimulatedExecutor* executor = containers_.ExecutorOf(f.task)) executor->Terminate();
                 },
                 [&](const StallExecutor& f) {
                   if (SimulatedExecutor* executor = containers_.ExecutorOf(f.task)) executor->Stall(f.length);
                 },
                 [&](const CutStore& f) {
                   if (SimulatedExecutor* executor = containers_.ExecutorOf(f.task)) executor->CutStore(f.length);
                 },
                 [&](const KillExecutor& f) { containers_.Apply(f); },
                 [&](const CutNetwork& f) { containers_.Apply(f); },
                 [&](const EndContainer& f) { containers_.Apply(f); },
                 [&](const Preempt& f) { containers_.Apply(f); },
                 [&](const LoseNode& f) { containers_.Apply(f); },
                 [&](const LieAboutEnd& f) { containers_.Apply(f); },
                 [&](const DoubtEnd& f) { containers_.Apply(f); },
                 [](const auto&) {},
             },
             fault);
}

}  // namespace tony::sim
