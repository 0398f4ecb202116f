#include "runtime/hadoop/am_rm_session.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_frames.h"
#include "runtime/hadoop/wire_records.h"

namespace tony::hadoop {
namespace {

constexpr char kMasterProtocol[] = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";
constexpr char kBadRequest[] = "InvalidApplicationMasterRequestException";
constexpr char kProxyAdvice[] =
    "; if yarn.nodemanager.amrmproxy.enabled is true on the nodes, set yarn.resourcemanager.scheduler.address in the "
    "clients' yarn-site.xml to the proxy, such as localhost:8049";

// Converts a failure to the results that all calls of the session share.
template <class T>
MasterReply<T> TroubleOf(const RpcFailure& failure, const std::string& context) {
  if (IsException(failure, "ApplicationMasterNotRegisteredException")) return NotRegistered{};
  // If the ResourceManager refuses the newest token, this attempt is over.
  if (IsException(failure, "ApplicationAttemptNotFoundException") || IsException(failure, "InvalidToken"))
    return AttemptOver{failure.message};
  if (IsFinal(failure)) return AttemptOver{ErrorOf(failure, context).message};
  return ErrorOf(failure, context);
}

// The ResourceManager refuses a second registration. The AMRMProxy of a federation refuses it only if its contents
// differ, for example because this process of the attempt has no page.
bool IsAlreadyRegistered(const RpcFailure& failure) {
  return (IsException(failure, kBadRequest) && failure.message.find("already registered") != std::string::npos) ||
         failure.message.find("with a different request body") != std::string::npos;
}

wire::ResourceRequest ToWire(const ContainerRequest& ask) {
  wire::ResourceRequest request;
  request.mutable_priority()->set_priority(ask.priority);
  request.set_resource_name(ask.place);
  *request.mutable_capability() = ToWire(ask.resource);
  request.set_num_containers(ask.count);
  request.set_relax_locality(ask.relax);
  request.mutable_execution_type_request()->set_execution_type(wire::GUARANTEED);
  if (!ask.label.empty()) request.set_node_label_expression(ask.label);
  if (ask.request_id >= 0) request.set_allocation_request_id(ask.request_id);
  return request;
}

wire::SchedulingRequest ToWire(const ConstrainedRequest& request) {
  wire::SchedulingRequest out;
  out.set_allocationrequestid(request.request_id);
  out.mutable_priority()->set_priority(request.priority);
  out.mutable_executiontype()->set_execution_type(wire::GUARANTEED);
  for (const std::string& tag : request.tags) out.add_allocationtags(tag);
  out.mutable_resourcesizing()->set_numallocations(request.count);
  *out.mutable_resourcesizing()->mutable_resources() = ToWire(request.resource);
  if (request.constraint) *out.mutable_placementconstraint() = hadoop::ToWire(*request.constraint);
  return out;
}

wire::AllocateRequest ToWire(const Asked& asked, int32_t last_response) {
  wire::AllocateRequest request;
  for (const ConstrainedRequest& each : asked.constrained) *request.add_scheduling_requests() = ToWire(each);
  for (const ContainerRequest& ask : asked.asks) *request.add_ask() = ToWire(ask);
  for (const ContainerId& id : asked.release) *request.add_release() = ToWire(id);
  for (const std::string& host : asked.avoid) request.mutable_blacklist_request()->add_blacklist_additions(host);
  for (const std::string& host : asked.no_longer_avoid)
    request.mutable_blacklist_request()->add_blacklist_removals(host);
  request.set_response_id(last_response);
  request.set_progress(asked.progress);
  return request;
}

template <class Contract>
std::vector<ContainerId> ContainersOf(const Contract& contract) {
  std::vector<ContainerId> ids;
  for (const auto& container : contract.container()) ids.push_back(FromWire(container.id()));
  return ids;
}

Registration RegistrationIn(const wire::RegisterApplicationMasterResponse& answer) {
  Registration registration{.maximum = FromWire(answer.maximumcapability()),
                            .queue = answer.queue(),
                            .kept = AllFromWire(answer.containers_from_previous_attempts()),
                            .node_tokens = AllFromWire(answer.nm_tokens_from_previous_attempts())};
  for (const auto& type : answer.resource_types()) registration.resource_types.push_back(type.name());
  return registration;
}

Allocation AllocationIn(const wire::AllocateResponse& answer) {
  std::vector<int64_t> rejected;
  for (const auto& each : answer.rejected_scheduling_requests())
    rejected.push_back(each.request().allocationrequestid());
  return {.node_tokens = AllFromWire(answer.nm_tokens()),
          .granted = AllFromWire(answer.allocated_containers()),
          .ended = AllFromWire(answer.completed_container_statuses()),
          .rejected = std::move(rejected),
          .kept = AllFromWire(answer.containers_from_previous_attempts()),
          .nodes = AllFromWire(answer.updated_nodes()),
          .wanted = ContainersOf(answer.preempt().contract()),
          .doomed = ContainersOf(answer.preempt().strictcontract()),
          .headroom = FromWire(answer.limit()),
          .cluster_nodes = answer.num_cluster_nodes()};
}

wire::FinalApplicationStatus ToWire(FinalStatus status) {
  constexpr wire::FinalApplicationStatus kWire[] = {wire::APP_UNDEFINED, wire::APP_SUCCEEDED, wire::APP_FAILED,
                                                    wire::APP_KILLED};
  return kWire[static_cast<size_t>(status)];
}

}  // namespace

AmRmSession::AmRmSession(EventLoop& loop, HostResolver& names, std::vector<Endpoint> schedulers, Token token,
                         RpcLimits limits, std::optional<Endpoint> proxy)
    : connection_(loop, names, {proxy ? std::vector{*proxy} : schedulers, kMasterProtocol}, std::move(token), limits) {
  if (proxy) behind_proxy_ = std::move(schedulers);
}

void AmRmSession::Register(const MasterAddress& address, Done<Registration> done) {
  wire::RegisterApplicationMasterRequest request;
  request.set_host(address.host);
  request.set_rpc_port(address.rpc_port);
  request.set_tracking_url(address.tracking_url);
  using Response = wire::RegisterApplicationMasterResponse;
  const std::string method = "registerApplicationMaster";
  const std::string context = ContextOf(method, connection_);
  CallTyped<Response>(connection_, method, request, [this, address, context, done](const TypedReply<Response>& reply) {
    const auto* failure = std::get_if<RpcFailure>(&reply);
    const bool is_refused = failure && IsException(*failure, "InvalidToken");
    if (is_refused && !behind_proxy_.empty()) {
      connection_.Use(std::exchange(behind_proxy_, {}));
      return Register(address, done);
    }
    const bool known = failure && IsAlreadyRegistered(*failure);
    if (failure && !known) {
      auto trouble = TroubleOf<Registration>(*failure, context);
      // An AM can do nothing without a registration, so a lasting refusal of the registration ends the attempt.
      const auto* error = std::get_if<Error>(&trouble);
      if (error && error->code != ErrorCode::kUnavailable) trouble = AttemptOver{error->message};
      if (is_refused) trouble = AttemptOver{StrCat(failure->message, kProxyAdvice)};
      return done(std::move(trouble));
    }
    last_response_ = 0;
    // An earlier process of the attempt may have made one allocate call. In this case, the ResourceManager repeats its
    // answer to that call when it receives our first call, and ignores the requests in our call.
    unanswered_ = known;
    done(known ? Registration{.was_registered = true} : RegistrationIn(std::get<Response>(reply)));
  });
}

void AmRmSession::Allocate(const Asked& asked, Done<Allocation> done) { Allocate(asked, true, std::move(done)); }

// After a second registration, or in a process that took over the attempt, only the ResourceManager knows the response
// id. If a call has a wrong id, the refusal names the expected id, and the call is repeated with the id before that
// one.
void AmRmSession::Allocate(const Asked& asked, bool may_renumber, Done<Allocation> done) {
  using Response = wire::AllocateResponse;
  const auto answered = [this, asked, may_renumber, done,
                         context = ContextOf("allocate", connection_)](const TypedReply<Response>& reply) {
    if (const auto* failure = std::get_if<RpcFailure>(&reply)) {
      unanswered_ = unanswered_ || failure->kind == RpcFailure::Kind::kLost;
      const auto expected = IsException(*failure, kBadRequest) ? ExpectedResponse(failure->message) : std::nullopt;
      if (!expected || !may_renumber) return done(TroubleOf<Allocation>(*failure, context));
      // The id before the expected one makes the ResourceManager repeat its newest answer. That answer may have grants
      // that an earlier process of the attempt received before it died.
      last_response_ = std::max(*expected - 1, 0);
      unanswered_ = *expected > 0;
      return Allocate(asked, false, done);
    }
    const Response& response = std::get<Response>(reply);
    last_response_ = response.response_id();
    if (response.has_am_rm_token()) connection_.Use(FromWire(response.am_rm_token()));
    // Older ResourceManagers send a command where newer ones throw an exception.
    if (response.has_a_m_command() && response.a_m_command() == wire::AM_SHUTDOWN)
      return done(AttemptOver{"the ResourceManager ordered the application master to shut down"});
    if (response.has_a_m_command()) return done(NotRegistered{});
    Allocation allocation = AllocationIn(response);
    if (response.has_am_rm_token()) allocation.renewed_token = FromWire(response.am_rm_token());
    allocation.may_be_repeated = std::exchange(unanswered_, false);
    done(std::move(allocation));
  };
  CallTyped<Response>(connection_, "allocate", ToWire(asked, last_response_), answered);
}

void AmRmSession::Finish(FinalStatus status, const std::string& diagnostics, const std::string& tracking_url,
                         Done<bool> done) {
  wire::FinishApplicationMasterRequest request;
  request.set_diagnostics(diagnostics);
  request.set_tracking_url(tracking_url);
  request.set_final_application_status(ToWire(status));
  using Response = wire::FinishApplicationMasterResponse;
  const std::string method = "finishApplicationMaster";
  const std::string context = ContextOf(method, connection_);
  CallTyped<Response>(connection_, method, request, [context, done](const TypedReply<Response>& reply) {
    if (const auto* failure = std::get_if<RpcFailure>(&reply)) return done(TroubleOf<bool>(*failure, context));
    done(std::get<Response>(reply).isunregistered());
  });
}

std::optional<int32_t> ExpectedResponse(std::string_view refusal) {
  constexpr std::string_view kBefore = "expect responseId to be ";
  const size_t at = refusal.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = refusal.substr(at + kBefore.size());
  const auto number = ParseInt(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!number || *number > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*number);
}

}  // namespace tony::hadoop
