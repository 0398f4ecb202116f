// The containers of an application master (AM) on YARN. The ResourceManager grants the containers and reports when they
// have ended. Nodes start and stop them. Loop thread only.
//
//   registering --registered--> up --Finish()--> finishing --> finished
//        ^                       |
//        +----NotRegistered------+--another attempt leads, or the application is killed--> over
//
// An AM may be the next process of an attempt, or the first process of the next attempt. In both cases it takes over
// the containers of the previous AM: from MasterState, or from the ResourceManager's list.
//
// All containers of one call of Request() are handed out together, when the last of them was granted (GangHold).
//
//   container: granted --Launch()--> starting --the node reports it--> running --the ResourceManager reports--> ended
//                 \--Stop()--> released    \--the node refuses it--> released
//
// A container of a lost node may still run when the ResourceManager reports that it has ended. The report counts as
// certain when lost_after has passed after a Stop().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend/scheduler.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/hadoop/am_rm_session.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/yarn/gang_hold.h"
#include "runtime/yarn/yarn_nodes.h"
#include "runtime/yarn/yarn_requests.h"

namespace tony {

// The state that a process of an application master (AM) leaves to the next process of the same YARN attempt. The
// ResourceManager (RM) sends tokens and grants to an attempt only once, so they would be lost with a process that dies.
// Never log the state: a token is as good as a password.
struct MasterState {
  struct Held {
    // Only id, node, node_http and token are kept.
    hadoop::Container container;
    bool is_running = false;  // its node has confirmed the start
  };
  // The newest token for the RM; nullopt if the RM has not renewed the token of the container.
  std::optional<hadoop::Token> rm_token;
  std::map<hadoop::NodeId, hadoop::Token> node_tokens;
  // Every container that was granted and has not ended.
  std::vector<Held> held;
};

std::string EncodeMasterState(const MasterState& state);
// kInvalid: the bytes are not a state. The message quotes none of them.
Result<MasterState> DecodeMasterState(std::string_view bytes);

// Inputs of the scheduler, which an AM provides. Everything that it refers to must outlive the scheduler.
struct YarnSchedulerInputs {
  EventLoop& loop;
  HostResolver& names;
  // The ResourceManagers' addresses for AMs. Of several ResourceManagers one is active.
  std::vector<Endpoint> resource_managers;
  std::optional<Endpoint> proxy = {};  // AmRmSession: `proxy`
  hadoop::Token token;        // kind: YARN_AM_RM_TOKEN
  hadoop::MasterAddress address;
  // Page to which the ResourceManager redirects browsers once the job has ended. Empty: its own page.
  std::string page_after_end = {};
  std::string user;  // owner of the containers
  bool has_https_pages = false;  // HasHttpsPages()
  Duration am_lease{0};
  Scheduler::Sink sink;
  std::function<hadoop::LaunchContext(const ContainerId&, const ExecutorLaunch&, const std::string& host)> context;
  // Called when the attempt is over and no longer leader. The AM must exit, and must start nothing.
  std::function<void(const std::string& reason)> over;
  // Lists the running nodes (RmClient::RunningNodes). Requests then name hosts and racks, so that a node grants many
  // containers at once (YarnRequests::SetNodes). Empty: nodes are not listed, and by default a cluster grants one
  // container per heartbeat of a node.
  using OnNodes = std::function<void(Result<std::vector<hadoop::NodeReport>>)>;
  std::function<void(OnNodes)> list_nodes;
  // Reads the report on a queue (RmClient::Queue), if the AM may call it. The pending reason then names the limit of
  // the queue that keeps the job waiting.
  using OnQueue = std::function<void(Result<hadoop::QueueReport>)>;
  std::function<void(const std::string& queue, OnQueue)> read_queue = {};
  // Delay between two exchanges with the ResourceManager: `quick` for some time after a change, else `usual`. Both are
  // far below the time after which the ResourceManager considers an AM dead (10 minutes and more).
  Duration quick{100}, usual{1000};
  // The `hold` of GangHold. 0: each container is handed out as soon as it is granted.
  Duration gang_hold{0};
  // The wait after a stop of a container of a lost node. A disconnected executor ends its task within this time.
  Duration lost_after{60'000};
  // The state that the previous process of this attempt has left; empty for the first process.
  MasterState earlier = {};
  // Saves the state for the next process of this attempt. Called before the sink gets the grants in the state.
  std::function<void(const MasterState&)> save = {};
  // Returns true if the job's decisions name the container. A container of an earlier process or attempt that they do
  // not name is released, because no task uses it.
  std::function<bool(const ContainerId&)> is_known = {};
};

// YARN can stop a container only by SIGTERM to all of its processes, and SIGKILL 250 ms later. The StopMode kTerm
// therefore gives an executor no more time than kKill. A caller that wants to give an executor time must notify the
// executor itself.
class YarnScheduler : public Scheduler {
 public:
  explicit YarnScheduler(YarnSchedulerInputs side);

  bool Holds() const override;
  // Requests containers. If a request can never be granted, it gets a container that does not start: user_config, with
  // the reason.
  void Request(const std::vector<ContainerRequest>& asks) override;
  void Withdraw(const std::vector<AttemptId>& attempts) override;
  void Launch(const ContainerId& container, const ExecutorLaunch& what) override;
  void Stop(const ContainerId& container, StopMode mode) override;
  void TellProgress(double done) override { progress_ = done; }
  // Unregisters the AM. The ResourceManager then ends the job's remaining containers. The call is retried until the
  // ResourceManager has recorded the job's final status.
  void Finish(const Verdict& verdict, std::function<void()> done) override;

 private:
  enum class Link { kRegistering, kUp, kFinishing, kFinished, kOver };
  enum class Standing { kNew, kReached, kLost };  // as last reported to the sink
  enum class State { kGranted, kStarting, kRunning };
  struct Held {
    hadoop::Container container;
    State state = State::kGranted;
    bool is_stopped = false;        // we requested the stop
    bool is_stop_answered = false;  // by the container's node
    bool is_warned = false;         // its preemption was reported
  };
  struct End {
    hadoop::FinalStatus status;
    std::string diagnostics;
    std::function<void()> done;
  };

  void ExchangeSoon();
  void ExchangeAfter(Duration delay);
  void Exchange();
  void Allocate();
  // Returns the callback of an exchange. It updates what the next exchange needs, and calls `take` with the answer.
  template <class T>
  hadoop::AmRmSession::Done<T> Then(void (YarnScheduler::*take)(const T&));
  void Take(const hadoop::Registration& registration);
  void Take(const hadoop::Allocation& allocation);
  void TakeEnd(const bool& is_recorded);
  void OnTrouble(const Error& error);
  void HandleRmRestart();
  void BeOver(const std::string& reason);
  void Reach();
  void CheckLease();
  bool LeaseHolds() const { return loop_.Now() < contact_ + side_.am_lease; }

  void Keep(const hadoop::Container& container, State state);
  void Adopt(const hadoop::Container& container, State state);
  void Use(const std::vector<hadoop::NodeToken>& tokens);
  void Save();
  void StopOnLostNode(const ContainerId& id);
  void GiveBack(const ContainerId& id, const std::string& why, OutcomeClass cls);
  void ReportEnded(const ContainerId& id, const std::string& why, OutcomeClass cls);
  void TakeExit(const hadoop::ContainerStatus& status);
  void Warn(const std::vector<hadoop::ContainerId>& preempted);
  void Apply(const GangHold::News& news);
  void CheckGangs();
  std::string NoteFailureOf(const std::string& host);
  void AvoidBadNodes();
  void ReportNeverGranted(const AttemptId& attempt, const std::string& why);
  void RefreshNodes();
  void RefreshQueue();
  void NotifyPendingReason(const hadoop::Allocation& allocation);
  void Tell(SchedulerEvent event);

  EventLoop& loop_;
  const YarnSchedulerInputs side_;
  hadoop::AmRmSession session_;
  YarnNodes nodes_;
  YarnRequests asks_;
  GangHold gangs_;
  FailingNodes bad_nodes_;
  int cluster_nodes_ = 0;
  // The tokens that the next process of this attempt needs.
  std::optional<hadoop::Token> rm_token_;
  std::map<hadoop::NodeId, hadoop::Token> node_tokens_;
  bool must_save_ = false;

  Link link_ = Link::kRegistering;
  Standing standing_ = Standing::kNew;
  ContainerLimits limits_;  // memory 0: limits are not known
  std::string queue_;       // empty: not known
  std::optional<hadoop::QueueReport> queue_report_;
  double progress_ = 0;
  std::optional<End> end_;

  // Containers that were granted and whose end was not reported to the sink.
  std::map<ContainerId, Held> held_;
  // Key: an invented container id. Value: why the request is never granted.
  std::map<ContainerId, std::string> refused_;
  std::set<ContainerId> ended_;  // ends reported to the sink
  // Containers of lost nodes. The timer runs from their stop until their end is certain.
  std::map<ContainerId, EventLoop::Timer> lost_;
  int refusals_ = 0;

  bool is_exchanging_ = false;
  // Start of the exchange under way, or of the last one.
  Instant asked_;
  // Start of the newest exchange that was answered.
  Instant contact_;
  Instant quick_until_{};
  Duration retry_{0};  // delay after an unanswered exchange

  bool is_listing_nodes_ = false;
  Instant nodes_listed_{};
  // Start of the wait, or time of the last grant.
  Instant waits_since_;
  Instant delay_looked_at_{};
  std::string delay_told_;
  EventLoop::Timer exchange_timer_, lease_timer_, gang_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tony
