#include "runtime/yarn/yarn_scheduler.h"

#include <algorithm>
#include <random>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/yarn/yarn_ends.h"

namespace tony {
namespace {

// The state is a set of tokens, whose aliases contain the other values:
//
//   rm                                         the token for the RM
//   node HOST PORT                             the token for a node
//   held CONTAINER HOST PORT running|granted NODE_HTTP
constexpr const char* kRm = "rm";
constexpr const char* kNode = "node";
constexpr const char* kHeld = "held";
constexpr const char* kRunning = "running";

std::optional<hadoop::NodeId> NodeIn(const std::string& host, const std::string& port) {
  const auto number = ParseInt(port);
  if (!number || *number < 0 || *number > 65535) return std::nullopt;
  return hadoop::NodeId{host, static_cast<int>(*number)};
}

bool Take(const std::string& alias, const hadoop::Token& token, MasterState& state) {
  if (alias.empty()) return false;
  const std::vector<std::string> words = Split(alias, ' ');
  if (alias == kRm) {
    state.rm_token = token;
    return true;
  }
  if (words[0] == kNode && words.size() == 3) {
    const auto node = NodeIn(words[1], words[2]);
    if (node) state.node_tokens[*node] = token;
    return node.has_value();
  }
  if (words[0] != kHeld || words.size() != 6) return false;
  const auto id = hadoop::ParseContainerId(words[1]);
  const auto node = NodeIn(words[2], words[3]);
  if (!id || !node) return false;
  hadoop::Container container{.id = *id, .node = *node, .node_http = words[5], .token = token};
  state.held.push_back({std::move(container), words[4] == kRunning});
  return true;
}

}  // namespace

std::string EncodeMasterState(const MasterState& state) {
  hadoop::Credentials credentials;
  if (state.rm_token) credentials.tokens[kRm] = *state.rm_token;
  for (const auto& [node, token] : state.node_tokens)
    credentials.tokens[StrCat(kNode, " ", node.host, " ", node.port)] = token;
  for (const auto& [container, is_running] : state.held)
    credentials.tokens[StrCat(kHeld, " ", ToString(container.id), " ", container.node.host, " ", container.node.port,
                              " ", is_running ? kRunning : "granted", " ", container.node_http)] = container.token;
  return EncodeCredentials(credentials);
}

Result<MasterState> DecodeMasterState(std::string_view bytes) {
  TRY_ASSIGN(const hadoop::Credentials credentials, hadoop::DecodeCredentials(bytes));
  MasterState state;
  for (const auto& [alias, token] : credentials.tokens)
    if (!Take(alias, token, state)) return InvalidError("an entry of the attempt's state is malformed");
  return state;
}

namespace {

// The time for which exchanges are quick after a change. A node sends several heartbeats in this time, and most
// requests are granted by then.
constexpr Duration kQuickFor{10'000};
constexpr Duration kFirstRetry{100}, kLongestRetry{2000};
constexpr Duration kUnregisterAgain{100};  // as in AMRMClientImpl
// Parts of a ResourceManager's refusals of requests that it would refuse again: InvalidResourceRequestException,
// InvalidLabelResourceRequestException, SchedulerInvalidResoureRequestException (as Hadoop spells it), and the
// exception of a cluster that handles no placement constraints.
constexpr std::string_view kRefusals[] = {
    "ResourceRequestException: ", "ResoureRequestException: ", "Found non empty SchedulingRequest"};
// Numbers of usual exchanges, which are as far apart as the heartbeats of a node. After two of them, rows for hosts
// that have room should have been granted, so the nodes are listed again. A delay is reported after five, and then
// after every five.
constexpr int kListNodesAgain = 2, kDelayIsWorthTelling = 5;
// The time from the exchange in which YARN announces a preemption until YARN kills the container. It is
// yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill (15 s) minus 2 s for the intervals of YARN's
// monitor and of the exchanges.
constexpr Duration kPreemptionNotice{13'000};

// Returns limits of half the lease. An exchange without an answer is repeated, and must not use up the lease alone.
hadoop::RpcLimits LimitsFor(Duration lease) {
  const Duration limit = std::clamp(lease / 2, Duration(1000), Duration(30'000));
  return {.establish = limit, .call = limit};
}

std::optional<hadoop::ContainerId> ToYarn(const ContainerId& id) { return hadoop::ParseContainerId(id.value); }
ContainerId FromYarn(const hadoop::ContainerId& id) { return {ToString(id)}; }

}  // namespace

YarnScheduler::YarnScheduler(YarnSchedulerInputs side)
    : loop_(side.loop),
      side_(std::move(side)),
      session_(loop_, side_.names, side_.resource_managers, side_.earlier.rm_token.value_or(side_.token),
               LimitsFor(side_.am_lease), side_.proxy),
      nodes_(loop_, side_.names,
             {.started =
                  [this](const hadoop::ContainerId& id) {
                    const auto held = held_.find(FromYarn(id));
                    if (held == held_.end()) return;
                    held->second.state = State::kRunning;
                    must_save_ = true;
                    Tell(ContainerStarted{held->first});
                  },
              .refused =
                  [this](const hadoop::ContainerId& id, const std::string& why) {
                    const auto held = held_.find(FromYarn(id));
                    const bool is_of_node = held != held_.end() && !held->second.is_stopped;
                    const std::string more = is_of_node ? NoteFailureOf(held->second.container.node.host) : "";
                    GiveBack(FromYarn(id), why + more, OutcomeClass::kInfra);
                  },
              .stop_answered =
                  [this](const hadoop::ContainerId& id) {
                    const auto held = held_.find(FromYarn(id));
                    if (held != held_.end()) held->second.is_stop_answered = true;
                  },
              // A release makes the ResourceManager end the container and report its end, if the container still runs.
              .not_stopped =
                  [this](const hadoop::ContainerId& id) {
                    asks_.Release(id);
                    ExchangeSoon();
                  }}),
      gangs_(side_.gang_hold, std::random_device()()),
      rm_token_(side_.earlier.rm_token),
      asked_(loop_.Now()),
      contact_(asked_),
      waits_since_(asked_) {
  for (const auto& [node, token] : side_.earlier.node_tokens) Use({{node, token}});
  for (const auto& [container, is_running] : side_.earlier.held)
    Adopt(container, is_running ? State::kRunning : State::kGranted);
  RefreshNodes();
  ExchangeSoon();
  CheckLease();
}

bool YarnScheduler::Holds() const {
  switch (link_) {
    case Link::kRegistering:
    case Link::kUp:
    case Link::kFinishing:
      return LeaseHolds();
    case Link::kFinished:
      return true;
    case Link::kOver:
      return false;
  }
  return false;
}

void YarnScheduler::Request(const std::vector<ContainerRequest>& asks) {
  if (asks_.Waiting() == 0) waits_since_ = loop_.Now();
  std::vector<ContainerRequest> wanted;
  for (const ContainerRequest& ask : asks) {
    const bool is_known = limits_.maximum.memory_mib > 0;
    if (const auto why = is_known ? WhyNeverGranted(ask.resources, limits_) : std::nullopt) {
      ReportNeverGranted(ask.attempt, *why);
    } else {
      wanted.push_back(ask);
    }
  }
  Apply(gangs_.Want(wanted));
  RefreshNodes();
  ExchangeSoon();
}

void YarnScheduler::Withdraw(const std::vector<AttemptId>& attempts) {
  Apply(gangs_.Withdraw(attempts));
  ExchangeSoon();
}

void YarnScheduler::Launch(const ContainerId& id, const ExecutorLaunch& what) {
  if (link_ == Link::kOver) return;
  if (const auto refused = refused_.find(id); refused != refused_.end())
    return ReportEnded(id, refused->second, OutcomeClass::kUserConfig);
  const auto held = held_.find(id);
  if (held == held_.end()) return ReportEnded(id, "the node no longer has the container", OutcomeClass::kInfra);
  if (held->second.state != State::kGranted) return;
  held->second.state = State::kStarting;
  const hadoop::Container& container = held->second.container;
  nodes_.Start(container, side_.context(id, what, container.node.host));
}

void YarnScheduler::Stop(const ContainerId& id, StopMode) {
  if (lost_.contains(id)) return StopOnLostNode(id);
  const auto found = held_.find(id);
  if (found == held_.end()) return ReportEnded(id, "the container does not exist", OutcomeClass::kKilled);
  Held& held = found->second;
  const bool may_run = held.state != State::kGranted && nodes_.Stop(held.container.node, held.container.id);
  if (!may_run) return GiveBack(id, "the container was stopped before it was started", OutcomeClass::kKilled);
  held.is_stopped = true;
  quick_until_ = loop_.Now() + kQuickFor;
}

void YarnScheduler::Finish(const Verdict& verdict, std::function<void()> done) {
  end_ = {FinalStatusOf(verdict), DiagnosticsOf(verdict), std::move(done)};
  if (link_ == Link::kOver) return loop_.Post(end_->done);
  if (link_ == Link::kUp) link_ = Link::kFinishing;
  ExchangeSoon();
}

// The exchange begins in the next turn of the loop, so that it includes all requests of this turn.
void YarnScheduler::ExchangeSoon() {
  quick_until_ = loop_.Now() + kQuickFor;
  if (!is_exchanging_ && retry_ == Duration(0)) ExchangeAfter(Duration(0));
}

void YarnScheduler::ExchangeAfter(Duration delay) {
  exchange_timer_ = loop_.After(delay, [this] { Exchange(); });
}

void YarnScheduler::Exchange() {
  exchange_timer_.reset();
  asked_ = loop_.Now();
  is_exchanging_ = true;
  switch (link_) {
    case Link::kRegistering:
      return session_.Register(side_.address, Then<hadoop::Registration>(&YarnScheduler::Take));
    case Link::kUp:
      return Allocate();
    case Link::kFinishing:
      return session_.Finish(end_->status, end_->diagnostics, side_.page_after_end,
                             Then<bool>(&YarnScheduler::TakeEnd));
    case Link::kFinished:
    case Link::kOver:
      is_exchanging_ = false;
  }
}

void YarnScheduler::Allocate() {
  hadoop::Asked asked = asks_.Next();
  asked.progress = static_cast<float>(progress_);
  session_.Allocate(asked, Then<hadoop::Allocation>(&YarnScheduler::Take));
}

template <class T>
hadoop::AmRmSession::Done<T> YarnScheduler::Then(void (YarnScheduler::*take)(const T&)) {
  return [this, take](const hadoop::MasterReply<T>& reply) {
    is_exchanging_ = false;
    if (const auto* over = std::get_if<hadoop::AttemptOver>(&reply)) return BeOver(over->reason);
    if (const auto* error = std::get_if<Error>(&reply)) return OnTrouble(*error);
    retry_ = Duration(0);
    if (std::holds_alternative<hadoop::NotRegistered>(reply)) return HandleRmRestart();
    contact_ = std::max(contact_, asked_);
    (this->*take)(std::get<T>(reply));
  };
}

void YarnScheduler::Take(const hadoop::Registration& registration) {
  LogInfo(StrCat("the application master has registered ", registration.was_registered ? "again " : "",
                 "with the ResourceManager at ", ToString(session_.resource_manager())));
  if (!registration.was_registered) {
    limits_ = {registration.maximum, registration.resource_types};
    queue_ = registration.queue;
  }
  Use(registration.node_tokens);
  for (const hadoop::Container& container : registration.kept) Adopt(container, State::kRunning);
  Save();
  link_ = end_ ? Link::kFinishing : Link::kUp;
  Reach();
  ExchangeAfter(Duration(0));
}

void YarnScheduler::Take(const hadoop::Allocation& allocation) {
  Use(allocation.node_tokens);
  if (allocation.renewed_token) rm_token_ = allocation.renewed_token;
  must_save_ |= allocation.renewed_token.has_value();
  for (const hadoop::Container& container : allocation.kept) Adopt(container, State::kRunning);
  const YarnRequests::News news = asks_.Answered(allocation);
  Reach();
  // Containers that were held back and have ended are handled first, before new grants complete their gangs. If a
  // container was granted and has ended in the same answer, TakeExit() handles it.
  GangHold::News ends;
  for (const hadoop::ContainerStatus& status : allocation.ended) gangs_.Ended(status.id, ends);
  Apply(ends);
  Apply(gangs_.Granted(news.grants, loop_.Now()));
  for (const hadoop::NodeReport& node : allocation.nodes) {
    if (node.state == hadoop::NodeReport::State::kLost) nodes_.Forget(node.id);
  }
  for (const hadoop::ContainerStatus& status : allocation.ended) TakeExit(status);
  for (const hadoop::ContainerId& id : news.forgotten) {
    if (held_.contains(FromYarn(id)))
      ReportEnded(FromYarn(id), "neither the node nor the ResourceManager knows the container", OutcomeClass::kInfra);
  }
  // The FairScheduler lists containers that it will preempt soon as `doomed`, the CapacityScheduler as `wanted`.
  Warn(allocation.doomed);
  Warn(allocation.wanted);
  Save();
  cluster_nodes_ = allocation.cluster_nodes;
  AvoidBadNodes();
  const Instant now = loop_.Now();
  if (!news.grants.empty()) waits_since_ = now;
  if (!news.grants.empty() || !allocation.ended.empty()) quick_until_ = now + kQuickFor;
  if (link_ != Link::kUp) return ExchangeAfter(Duration(0));
  NotifyPendingReason(allocation);
  if (asks_.Waiting() > 0) RefreshNodes();
  ExchangeAfter(asks_.HasNews() || now < quick_until_ ? side_.quick : side_.usual);
}

void YarnScheduler::TakeEnd(const bool& is_recorded) {
  if (!is_recorded) return ExchangeAfter(kUnregisterAgain);
  link_ = Link::kFinished;
  lease_timer_.reset();
  loop_.Post(end_->done);
}

void YarnScheduler::OnTrouble(const Error& error) {
  const bool is_refused = std::ranges::any_of(
      kRefusals, [&](std::string_view text) { return error.message.find(text) != std::string::npos; });
  const std::vector<AttemptId> refused = is_refused ? asks_.Refused() : std::vector<AttemptId>();
  asks_.Unanswered();
  for (const AttemptId& attempt : refused) ReportNeverGranted(attempt, error.message);
  if (retry_ == Duration(0)) LogWarn(StrCat(error.message, "; retrying"));
  retry_ = std::clamp(retry_ * 2, kFirstRetry, kLongestRetry);
  ExchangeAfter(retry_);
}

void YarnScheduler::HandleRmRestart() {
  LogWarn("the ResourceManager has restarted, so the application master registers again");
  Apply(gangs_.HandleRmRestart());
  asks_.HandleRmRestart();
  link_ = Link::kRegistering;
  ExchangeAfter(Duration(0));
}

void YarnScheduler::BeOver(const std::string& reason) {
  link_ = Link::kOver;
  standing_ = Standing::kLost;
  lease_timer_.reset();
  Tell(SchedulerLost{StrCat("YARN has ended this attempt of the application: ", reason)});
  if (end_) loop_.Post(end_->done);
  loop_.Post([over = side_.over, reason] { over(reason); });
}

// Reports that the ResourceManager has been reached. An answer that took longer than the lease does not count, because
// it does not prove that this attempt is still the leader.
void YarnScheduler::Reach() {
  if (standing_ == Standing::kReached || !LeaseHolds()) return;
  standing_ = Standing::kReached;
  SchedulerReached reached;
  for (const auto& [id, held] : held_) {
    if (held.state == State::kRunning) reached.running.push_back(id);
  }
  Tell(std::move(reached));
}

void YarnScheduler::CheckLease() {
  if (standing_ != Standing::kLost && !LeaseHolds()) {
    standing_ = Standing::kLost;
    Tell(SchedulerLost{StrCat("no answer from the ResourceManager for ", side_.am_lease.count(), " ms")});
  }
  lease_timer_ =
      loop_.At(LeaseHolds() ? contact_ + side_.am_lease : loop_.Now() + side_.am_lease, [this] { CheckLease(); });
}

void YarnScheduler::Keep(const hadoop::Container& container, State state) {
  const ContainerId id = FromYarn(container.id);
  if (ended_.contains(id)) return;
  held_.emplace(id, Held{container, state});
  must_save_ = true;
}

// Keeps a container that an AM before this one got. The ResourceManager may list a container again, and a repeated
// answer may grant it again.
void YarnScheduler::Adopt(const hadoop::Container& container, State state) {
  const ContainerId id = FromYarn(container.id);
  asks_.NoteGranted(container.id);
  if (!ended_.contains(id) && (!side_.is_known || side_.is_known(id))) return Keep(container, state);
  LogInfo(StrCat(id.value, " is released, because no task uses it"));
  asks_.Release(container.id);
}

void YarnScheduler::Use(const std::vector<hadoop::NodeToken>& tokens) {
  for (const hadoop::NodeToken& token : tokens) {
    nodes_.Use(token);
    node_tokens_[token.node] = token.token;
    must_save_ = true;
  }
}

// Containers that a gang holds back are saved too, because the next process has to release them.
void YarnScheduler::Save() {
  if (!side_.save || !std::exchange(must_save_, false)) return;
  MasterState state{.rm_token = rm_token_, .node_tokens = node_tokens_};
  for (const auto& [id, held] : held_) state.held.push_back({held.container, held.state == State::kRunning});
  for (const hadoop::Container& container : gangs_.KeptContainers()) state.held.push_back({container, false});
  side_.save(state);
}

// Releases a container that does not run, and reports that the container has ended, because the ResourceManager may
// never report this end.
void YarnScheduler::GiveBack(const ContainerId& id, const std::string& why, OutcomeClass cls) {
  if (const auto yarn = ToYarn(id)) asks_.Release(*yarn);
  ReportEnded(id, why, cls);
  ExchangeSoon();
}

void YarnScheduler::ReportEnded(const ContainerId& id, const std::string& why, OutcomeClass cls) {
  if (ended_.insert(id).second) Tell(ContainerExited{id, std::nullopt, why, cls});
  refused_.erase(id);
  held_.erase(ContainerId(id));  // `id` may refer into held_
}

void YarnScheduler::TakeExit(const hadoop::ContainerStatus& status) {
  if (GangHold::News news; gangs_.Ended(status.id, news)) return Apply(news);
  const ContainerId id = FromYarn(status.id);
  // The container was released before.
  if (ended_.contains(id) || (!held_.contains(id) && asks_.WasGranted(status.id))) return;
  // If the container is not in held_, it ran for an earlier attempt of the AM, and ended before this attempt
  // registered.
  const auto held = held_.extract(id);
  const bool is_stopped = held && held.mapped().is_stopped;
  // A lost node that has not answered the stop may still run the container.
  const bool was_stopped = is_stopped && (held.mapped().is_stop_answered || !IsNodeLost(status));
  ContainerExited exited = ExitedOf(status, was_stopped);
  // Only this log has the whole text, because the error has only the reason.
  if (status.diagnostics.size() > exited.error.size())
    LogInfo(StrCat("diagnostics of ", id.value, ": ", status.diagnostics));
  if (held) {
    const hadoop::NodeId& node = held.mapped().container.node;
    nodes_.Forget(node, status.id);
    if (!was_stopped && IsNodeFailure(status)) exited.error += NoteFailureOf(node.host);
    must_save_ = true;
  }
  if (exited.certain || (held && held.mapped().state == State::kGranted)) {
    ended_.insert(id);
  } else {
    lost_[id];
  }
  Tell(exited);
  if (is_stopped && !was_stopped) StopOnLostNode(id);
}

void YarnScheduler::StopOnLostNode(const ContainerId& id) {
  EventLoop::Timer& timer = lost_[id];
  if (timer) return;
  timer = loop_.After(side_.lost_after, [this, id] {
    lost_.erase(id);
    ReportEnded(id, "the node was lost", OutcomeClass::kNodeLost);
  });
}

void YarnScheduler::Warn(const std::vector<hadoop::ContainerId>& preempted) {
  for (const hadoop::ContainerId& id : preempted) {
    const auto held = held_.find(FromYarn(id));
    if (held == held_.end() || std::exchange(held->second.is_warned, true)) continue;
    Tell(ContainerPreempting{held->first, kPreemptionNotice});
  }
}

void YarnScheduler::Apply(const GangHold::News& news) {
  for (const AttemptId& attempt : news.withdraw) asks_.Withdraw(attempt);
  for (const hadoop::ContainerId& id : news.release) asks_.Release(id);
  for (const ContainerRequest& ask : news.want) asks_.Want(ask);
  must_save_ |= gangs_.Kept() > 0;
  for (const YarnGrant& grant : news.ready) {
    Keep(grant.container, State::kGranted);
    Tell(ContainerGranted{grant.attempt, FromYarn(grant.container.id), grant.container.node.host,
                          LinkToLogs(side_.has_https_pages, grant.container.node_http, ToString(grant.container.id),
                                     side_.user)});
  }
  const auto next = gangs_.NextLook();
  gang_timer_ = next ? loop_.At(*next, [this] { CheckGangs(); }) : EventLoop::Timer();
}

void YarnScheduler::CheckGangs() {
  Apply(gangs_.Look(loop_.Now()));
  if (const std::string rest = gangs_.RestReason(); !rest.empty()) LogInfo(StrCat("the job ", rest));
  ExchangeSoon();
}

// Notes that a container has failed on the host. If the host is now avoided, returns a text to add to the reason of the
// failure; otherwise returns "".
std::string YarnScheduler::NoteFailureOf(const std::string& host) {
  bad_nodes_.Failed(host, loop_.Now());
  AvoidBadNodes();
  if (!bad_nodes_.ToAvoid(cluster_nodes_, loop_.Now()).contains(host)) return "";
  const std::string why = FailingNodes::WhyAvoided(host);
  LogWarn(why);
  return "; " + why;
}

void YarnScheduler::AvoidBadNodes() { asks_.Avoid(bad_nodes_.ToAvoid(cluster_nodes_, loop_.Now())); }

// The Scheduler interface has no event for "never granted". The request therefore gets an invented container, and
// Launch() reports that this container has ended.
void YarnScheduler::ReportNeverGranted(const AttemptId& attempt, const std::string& why) {
  const ContainerId id{StrCat("refused-", ++refusals_)};
  refused_[id] = why;
  Tell(ContainerGranted{attempt, id, ""});
}

void YarnScheduler::RefreshNodes() {
  const Instant now = loop_.Now();
  if (!side_.list_nodes || is_listing_nodes_ || now < nodes_listed_ + kListNodesAgain * side_.usual) return;
  is_listing_nodes_ = true;
  side_.list_nodes([this, alive = std::weak_ptr<bool>(alive_)](Result<std::vector<hadoop::NodeReport>> nodes) {
    if (alive.expired()) return;
    is_listing_nodes_ = false;
    nodes_listed_ = loop_.Now();
    if (!nodes.ok()) return LogWarn(nodes.error().message);
    asks_.SetNodes(*std::move(nodes));
    if (asks_.HasNews()) ExchangeSoon();
  });
}

// Requests a report on the job's queue, which the next pending reason uses.
void YarnScheduler::RefreshQueue() {
  if (!side_.read_queue || queue_.empty()) return;
  side_.read_queue(queue_, [this, alive = std::weak_ptr<bool>(alive_)](const Result<hadoop::QueueReport>& queue) {
    if (alive.expired()) return;
    queue_report_ = queue.ok() ? std::optional(*queue) : std::nullopt;
  });
}

void YarnScheduler::NotifyPendingReason(const hadoop::Allocation& allocation) {
  const Instant now = loop_.Now();
  const int waiting = asks_.Waiting();
  const std::string rest = gangs_.RestReason();
  if (rest.empty() && waiting > 0 &&
      now < std::max(waits_since_, delay_looked_at_) + kDelayIsWorthTelling * side_.usual)
    return;
  delay_looked_at_ = now;
  if (waiting > 0) RefreshQueue();
  const auto known =
      asks_.WhyWaiting({.headroom = allocation.headroom, .queue = queue_, .user = side_.user, .report = queue_report_});
  const std::string why = allocation.cluster_nodes == 0
                              ? "the cluster has no running node"
                              : known.value_or("the ResourceManager has not granted them yet and does not report why");
  const int64_t all = std::ssize(held_) + gangs_.Kept() + waiting;
  const std::string reason = !rest.empty() ? rest
                             : waiting == 0
                                 ? ""
                                 : StrCat("waits for ", waiting, " of ", Counted(all, "container"), ": ", why);
  if (reason != delay_told_) Tell(ContainersPending{reason});
  delay_told_ = reason;
}

// Posts the event, because the sink must never be called from inside a call of the AM.
void YarnScheduler::Tell(SchedulerEvent event) {
  loop_.Post([this, event = std::move(event), alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) side_.sink(event);
  });
}

}  // namespace tony
