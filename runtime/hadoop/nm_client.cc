#include "runtime/hadoop/nm_client.h"

#include <utility>

#include "runtime/hadoop/typed_call.h"
#include "runtime/hadoop/wire/containers.pb.h"
#include "runtime/hadoop/wire_records.h"

namespace tony::hadoop {
namespace {

constexpr char kNodeProtocol[] = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB";

template <class Response>
std::vector<ContainerFailure> FailuresIn(const Response& answer) {
  std::vector<ContainerFailure> failures;
  for (const wire::ContainerExceptionMap& failed : answer.failed_requests()) {
    failures.push_back({FromWire(failed.container_id()), std::string(ShortName(failed.exception().class_name())),
                        OneLine(failed.exception().message())});
  }
  return failures;
}

template <class Response>
NodeAnswer<ContainerId> IdsIn(const Response& answer) {
  return {AllFromWire(answer.succeeded_requests()), FailuresIn(answer)};
}

template <class Request>
Request RequestFor(const std::vector<ContainerId>& ids) {
  Request request;
  for (const ContainerId& id : ids) *request.add_container_id() = ToWire(id);
  return request;
}

}  // namespace

// ContainerManagerImpl has no class of its own for either.
bool ContainerFailure::StartedBefore() const {
  return message.find("Attempt to relaunch the same container") != std::string::npos ||
         message.find("already is running on this node") != std::string::npos;
}

NmClient::NmClient(EventLoop& loop, HostResolver& names, const NodeToken& token, RpcLimits limits)
    : connection_(loop, names, {{token.node.host, token.node.port}, kNodeProtocol}, token.token, limits) {}

void NmClient::Start(const std::vector<ContainerStart>& starts, Done<ContainerId> done) {
  wire::StartContainersRequest request;
  for (const ContainerStart& start : starts) {
    wire::StartContainerRequest& one = *request.add_start_container_request();
    *one.mutable_container_launch_context() = ToWire(start.context);
    *one.mutable_container_token() = ToWire(start.container_token);
  }
  CallFor<wire::StartContainersResponse>(connection_, "startContainers", request, IdsIn<wire::StartContainersResponse>,
                                         std::move(done));
}

void NmClient::Stop(const std::vector<ContainerId>& ids, Done<ContainerId> done) {
  CallFor<wire::StopContainersResponse>(connection_, "stopContainers", RequestFor<wire::StopContainersRequest>(ids),
                                        IdsIn<wire::StopContainersResponse>, std::move(done));
}

void NmClient::Statuses(const std::vector<ContainerId>& ids, Done<ContainerStatus> done) {
  const auto convert = [](const wire::GetContainerStatusesResponse& answer) {
    return NodeAnswer<ContainerStatus>{AllFromWire(answer.status()), FailuresIn(answer)};
  };
  CallFor<wire::GetContainerStatusesResponse>(connection_, "getContainerStatuses",
                                              RequestFor<wire::GetContainerStatusesRequest>(ids), convert,
                                              std::move(done));
}

}  // namespace tony::hadoop
