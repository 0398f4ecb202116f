// A master that uses the product's own scheduler. Its findings and its times are in its verdict.
#include <cstdlib>
#include <map>
#include <set>

#include "runtime/base/result.h"
#include "runtime/yarn/yarn_scheduler.h"
#include "tests/conformance/yarn/check.h"

namespace tony::hadoop {
namespace {

constexpr int kMany = 32;
// Without requests for hosts, each node grants one container a heartbeat, which takes 16 s on two nodes. With them it
// takes one or two heartbeats of 1 s.
constexpr Duration kManyAreGrantedWithin{3000};
constexpr int64_t kMasterMb = 256, kContainerMb = 128;

class SchedulerMaster : public Bed {
 public:
  SchedulerMaster(const MasterPlace& place, const Credentials& credentials)
      : rm_(loop, names, {place.client}, SimpleUser{CheckUser()}) {
    YarnSchedulerInputs side{
        .loop = loop,
        .names = names,
        .resource_managers = {place.scheduler},
        .token = *MasterTokenIn(credentials),
        .address = {"localhost", 4242, ""},
        .am_lease = Duration(3000),
        .sink = [this](const SchedulerEvent& event) { On(event); },
        .context = [this](const tony::ContainerId&, const ExecutorLaunch& what,
                          const std::string&) { return LaunchContext{.command = commands_[what.attempt]}; },
        .over = [this](const std::string& reason) { over_ = reason; },
        .list_nodes = [this](auto done) { rm_.RunningNodes(done); }};
    scheduler_ = std::make_unique<YarnScheduler>(std::move(side));
  }

  Why Run() {
    for (const auto step : {&SchedulerMaster::GetMany, &SchedulerMaster::RunSome, &SchedulerMaster::StopSome,
                            &SchedulerMaster::GetAGpu, &SchedulerMaster::GiveSurplusBack,
                            &SchedulerMaster::AskForWhatIsNeverGranted, &SchedulerMaster::OutliveRestart}) {
      if (Why why = (this->*step)(); !why.empty()) return why;
    }
    return "";
  }
  bool Finish(const Why& why) {
    bool done = false;
    scheduler_->Finish({.state = why.empty() ? FinalState::kSucceeded : FinalState::kFailed,
                        .message = why.empty() ? Join(found_, "; ") : why},
                       [&done] { done = true; });
    return Within([&done] { return done; });
  }

 private:
  using Id = tony::AttemptId;
  static Id Worker(int index) { return {{"worker", index}, 1}; }
  bool Within(const std::function<bool()>& fits, Duration limit = kLimit) { return RunUntil(loop, fits, limit); }
  int64_t Since(Instant began) { return (loop.Now() - began).count(); }

  void On(const SchedulerEvent& event) {
    std::visit(Overloaded{[&](const ContainerGranted& e) { granted_[e.attempt] = e; },
                          [&](const ContainerStarted& e) { started_.insert(e.container); },
                          [&](const ContainerExited& e) {
                            exits_[e.container] = e;
                            ++told_exits_;
                          },
                          [&](const ContainerPreempting&) {}, [&](const ContainersPending&) {},
                          [&](const SchedulerReached&) { ++reached_; }, [&](const SchedulerLost&) { ++lost_; }},
               event);
  }
  void Request(const Id& attempt, const Resources& size = {.memory_mb = kContainerMb}) {
    scheduler_->Request({{attempt, size, ""}});
  }
  void Launch(const Id& attempt, const std::string& command) {
    commands_[attempt] = command;
    scheduler_->Launch(granted_[attempt].container, {attempt, {}});
  }
  // Returns null if the attempt has not exited.
  const ContainerExited* ExitOf(const Id& attempt) {
    const auto exit = exits_.find(granted_[attempt].container);
    return exit == exits_.end() ? nullptr : &exit->second;
  }
  bool HasStarted(const Id& attempt) { return started_.contains(granted_[attempt].container); }

  // Returns the used memory of all nodes, as the ResourceManager counts it.
  int64_t UsedMemory() {
    const auto nodes = *Await<Result<std::vector<NodeReport>>>([&](auto done) { rm_.RunningNodes(done); });
    int64_t used = 0;
    if (nodes.ok()) {
      for (const NodeReport& node : *nodes) used += node.used.memory_mib;
    }
    return used;
  }

  Why GetMany() {
    MUST(Within([&] { return reached_ == 1; }));
    MUST(scheduler_->Holds());
    const Instant began = loop.Now();
    for (int i = 0; i < kMany; ++i) Request(Worker(i));
    MUST(Within([&] { return granted_.size() == kMany; }));
    const int64_t took = Since(began);
    std::set<std::string> hosts;
    for (const auto& [attempt, grant] : granted_) hosts.insert(grant.host);
    found_.push_back(StrCat(kMany, " containers on ", Counted(static_cast<int64_t>(hosts.size()), "host"),
                            " granted after ", took, " ms"));
    MUST(took < kManyAreGrantedWithin.count());
    MUST(Until([&] { return UsedMemory() == kMasterMb + kMany * kContainerMb; }));
    return "";
  }

  Why RunSome() {
    const Instant began = loop.Now();
    Launch(Worker(0), "true");
    Launch(Worker(1), "exit 3");
    for (int i = 2; i < 8; ++i) Launch(Worker(i), "exec sleep 300");
    MUST(Within([&] { return started_.size() == 8; }));
    found_.push_back(StrCat("8 started after ", Since(began), " ms"));
    MUST(Within([&] { return ExitOf(Worker(0)) && ExitOf(Worker(1)); }));
    MUST(ExitOf(Worker(0))->status == (ExitStatus{ExitStatus::Kind::kExited, 0}));
    MUST(ExitOf(Worker(1))->status == (ExitStatus{ExitStatus::Kind::kExited, 3}));
    found_.push_back(StrCat("two ends told after ", Since(began), " ms"));
    return "";
  }

  // Stops containers that run, and containers that were never launched.
  Why StopSome() {
    const Instant began = loop.Now();
    for (int i = 3; i < kMany; ++i) scheduler_->Stop(granted_[Worker(i)].container, StopMode::kTerm);
    MUST(Within([&] { return exits_.size() == kMany - 1; }));
    for (int i = 3; i < kMany; ++i) MUST(ExitOf(Worker(i))->cls == OutcomeClass::kKilled);
    found_.push_back(StrCat("5 stopped and 24 given back after ", Since(began), " ms"));
    MUST(Until([&] { return UsedMemory() == kMasterMb + kContainerMb; }));
    return "";
  }

  Why GetAGpu() {
    Request({{"gpu", 0}, 1}, {.memory_mb = kContainerMb, .gpus = 2});
    MUST(Within([&] { return granted_.contains({{"gpu", 0}, 1}); }));
    scheduler_->Stop(granted_[{{"gpu", 0}, 1}].container, StopMode::kKill);
    MUST(Until([&] { return UsedMemory() == kMasterMb + kContainerMb; }));
    return "";
  }

  // Containers are granted after their requests were withdrawn, if the ResourceManager has not read the withdrawal yet.
  Why GiveSurplusBack() {
    const size_t before = granted_.size();
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 4; ++i) Request(Worker(100 + i));
      Pause(Duration(200 * round));
      for (int i = 0; i < 4; ++i) scheduler_->Withdraw({Worker(100 + i)});
      for (const auto& [attempt, grant] : std::map(granted_)) {
        if (attempt.task.index < 100) continue;
        scheduler_->Stop(grant.container, StopMode::kKill);
        granted_.erase(attempt);
      }
    }
    MUST(Until([&] { return UsedMemory() == kMasterMb + kContainerMb; }));
    MUST(granted_.size() == before);
    return "";
  }

  Why AskForWhatIsNeverGranted() {
    const Id large{{"large", 0}, 1}, labelled{{"labelled", 0}, 1};
    Request(large, {.memory_mb = 1 << 20});
    scheduler_->Request({{labelled, {.memory_mb = kContainerMb}, "no-such-label"}});
    for (const Id& attempt : {large, labelled}) {
      MUST(Within([&] { return granted_.contains(attempt); }));
      Launch(attempt, "true");
      MUST(Within([&] { return ExitOf(attempt) != nullptr; }));
      MUST(ExitOf(attempt)->cls == OutcomeClass::kUserConfig);
      found_.push_back(ExitOf(attempt)->error);
    }
    return "";
  }

  // Running containers continue, and containers that were requested during the outage are granted.
  Why OutliveRestart() {
    MUST(HasStarted(Worker(2)) && !ExitOf(Worker(2)));
    if (std::getenv("TONY_CHECK_RESTART")) {
      scheduler_->TellProgress(0.5);
      MUST(Within([&] { return lost_ == 1; }));
      MUST(!scheduler_->Holds());
      const Instant began = loop.Now();
      Request(Worker(200));
      MUST(Within([&] { return granted_.contains(Worker(200)); }));
      MUST(reached_ == 2 && scheduler_->Holds());
      MUST(granted_[Worker(200)].container.value.starts_with("container_e"));
      found_.push_back(StrCat("granted by its successor after ", Since(began), " ms"));
      Launch(Worker(200), "exit 7");
      MUST(Within([&] { return ExitOf(Worker(200)) != nullptr; }));
      MUST(ExitOf(Worker(200))->status == (ExitStatus{ExitStatus::Kind::kExited, 7}));
      MUST(!ExitOf(Worker(2)));
    }
    scheduler_->Stop(granted_[Worker(2)].container, StopMode::kKill);
    MUST(Within([&] { return ExitOf(Worker(2)) != nullptr; }));
    MUST(over_.empty() && told_exits_ == exits_.size());
    return "";
  }

  RmClient rm_;
  std::vector<std::string> found_;
  std::map<Id, std::string> commands_;
  std::map<Id, ContainerGranted> granted_;
  std::set<tony::ContainerId> started_;
  std::map<tony::ContainerId, ContainerExited> exits_;
  size_t told_exits_ = 0;
  int reached_ = 0, lost_ = 0;
  std::string over_;
  std::unique_ptr<YarnScheduler> scheduler_;
};

}  // namespace

int RunSchedulerMaster() {
  const auto place = MasterPlaceHere();
  const auto credentials = CredentialsHere();
  if (!place || !credentials.ok() || !MasterTokenIn(*credentials)) return 65;
  SchedulerMaster master(*place, *credentials);
  const Why why = master.Run();
  return master.Finish(why) && why.empty() ? 0 : 1;
}

}  // namespace tony::hadoop
