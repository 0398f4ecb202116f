// A master's containers on YARN: the ResourceManager grants them and reports their ends, their nodes start and stop
// them. Loop thread only.
//
//   registering --registered--> up --Finish()--> finishing --> finished
//        ^                       |
//        +----NotRegistered------+--another attempt leads, or the application is killed--> over
//
// All containers of one call are handed out together, when the last of them was granted (GangHold).
//
//   container: granted --Launch()--> starting --the node reports it--> running --the ResourceManager reports--> ended
//                 \--Stop()--> released    \--the node refuses it--> released
//
// The ResourceManager's report about a container of a lost node is certain only lost_after after a Stop().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/backend/scheduler.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/hadoop/am_rm_session.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/yarn/gang_hold.h"
#include "runtime/yarn/yarn_asks.h"
#include "runtime/yarn/yarn_nodes.h"

namespace tony {

// What a master brings along for YARN. What it refers to outlives the scheduler.
struct YarnSide {
  EventLoop& loop;
  HostResolver& names;
  Endpoint resource_manager;  // its address for masters
  hadoop::Token token;        // of kind YARN_AM_RM_TOKEN
  hadoop::MasterAddress address;
  std::string kept_at = {};  // where the ResourceManager leads browsers once the job has ended; empty: its own page
  std::string user;          // whose containers they are
  Duration am_lease{0};
  Scheduler::Sink sink;
  std::function<hadoop::LaunchContext(const ContainerId&, const ExecutorLaunch&, const std::string& host)> context;
  // The attempt is over, and rules no more: leave, and start nothing.
  std::function<void(const std::string& reason)> over;
  // RmClient::RunningNodes, for those who may ask: many containers are granted at once then, as YarnAsks says. Empty:
  // one for each heartbeat of a node, on a cluster as it comes.
  using OnNodes = std::function<void(Result<std::vector<hadoop::NodeReport>>)>;
  std::function<void(OnNodes)> list_nodes;
  // Between two exchanges with the ResourceManager, while something is going on and else. Both far below the time after
  // which it takes a master for dead (10 minutes and more).
  Duration quick{100}, usual{1000};
  Duration gang_hold{0};        // 0: each container is handed out as it comes
  Duration lost_after{60'000};  // an executor that is cut off has ended its task by then
};

// StopMode: YARN knows one way, TERM to all of the container and KILL 250 ms later. A kTerm gives an executor no longer
// than a kKill does; who wants to give it time tells the executor itself.
class YarnScheduler : public Scheduler {
 public:
  explicit YarnScheduler(YarnSide side);

  bool Holds() const override;
  // What can never be granted is told as a container that does not start: user_config, with the reason.
  void Request(const std::vector<ContainerAsk>& asks) override;
  void Withdraw(const std::vector<AttemptId>& attempts) override;
  void Launch(const ContainerId& container, const ExecutorLaunch& what) override;
  void Stop(const ContainerId& container, StopMode mode) override;
  void TellProgress(double done) override { progress_ = done; }
  // The ResourceManager ends what is left of the job's containers. Tried until it has recorded the end.
  void Finish(const Verdict& verdict, std::function<void()> done) override;

 private:
  enum class Link { kRegistering, kUp, kFinishing, kFinished, kOver };
  enum class Standing { kNew, kReached, kLost };  // as the sink was told
  enum class State { kGranted, kStarting, kRunning };
  struct Held {
    hadoop::Container container;
    State state = State::kGranted;
    bool is_stopped = false;  // as far as we have asked for that
    bool is_warned = false;   // that it will be taken away
  };
  struct End {
    hadoop::FinalStatus status;
    std::string diagnostics;
    std::function<void()> done;
  };

  void ExchangeSoon();
  void ExchangeAfter(Duration delay);
  void Exchange();
  void Register();
  void Allocate();
  void Unregister();
  // What the next exchange has to know; `then` acts on the answer itself.
  template <class T>
  hadoop::AmRmSession::Done<T> Then(void (YarnScheduler::*take)(const T&));
  void Take(const hadoop::Registration& registration);
  void Take(const hadoop::Allocation& allocation);
  void TakeEnd(const bool& is_recorded);
  void OnTrouble(const Error& error);
  void BeginAnew();
  void BeOver(const std::string& reason);
  void Reach();
  void CheckLease();
  bool LeaseHolds() const { return loop_.Now() < contact_ + side_.am_lease; }

  void Keep(const hadoop::Container& container, State state);
  void StopLost(const ContainerId& id);
  void GiveBack(const ContainerId& id, const std::string& why, OutcomeClass cls);
  void TellGone(const ContainerId& id, const std::string& why, OutcomeClass cls);
  void TakeExit(const hadoop::ContainerStatus& status);
  void Warn(const std::vector<hadoop::ContainerId>& doomed);
  void Apply(const GangHold::News& news);
  void LookAtGangs();
  std::string NoteFailureOf(const std::string& host);
  void AvoidBadNodes();
  void RefuseAsk(const AttemptId& attempt, const std::string& why);
  void LookAtNodes();
  void TellDelay(const hadoop::Allocation& allocation);
  void Tell(SchedulerEvent event);

  EventLoop& loop_;
  const YarnSide side_;
  hadoop::AmRmSession session_;
  YarnNodes nodes_;
  YarnAsks asks_;
  GangHold gangs_;
  BadNodes bad_nodes_;
  int cluster_nodes_ = 0;

  Link link_ = Link::kRegistering;
  Standing standing_ = Standing::kNew;
  ContainerLimits limits_;  // no maximum: not known
  double progress_ = 0;
  std::optional<End> end_;

  std::map<ContainerId, Held> held_;              // granted, and not told to have ended
  std::map<ContainerId, std::string> refused_;    // by a name of our own: why the ask is never granted
  std::set<ContainerId> ended_;                   // told to the sink
  std::map<ContainerId, EventLoop::Timer> lost_;  // with their nodes; when they are stopped, until their end is certain
  int refusals_ = 0;

  bool is_exchanging_ = false;
  Instant asked_;    // when the exchange under way, or the last one, began
  Instant contact_;  // the newest of those that was answered
  Instant quick_until_{};
  Duration retry_{0};  // after the last exchange without an answer

  bool is_listing_nodes_ = false;
  Instant nodes_listed_{};
  Instant waits_since_;  // or since the last grant
  Instant delay_looked_at_{};
  std::string delay_told_;
  EventLoop::Timer exchange_timer_, lease_timer_, gang_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tony
