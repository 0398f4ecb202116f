#include "runtime/hadoop/yarn_clients.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_frames.h"
#include "runtime/hadoop/wire/client.pb.h"
#include "runtime/hadoop/wire/containers.pb.h"
#include "runtime/hadoop/wire_records.h"

namespace tony::hadoop {
namespace {

constexpr char kClientProtocol[] = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";

// An application state without a row becomes kNew. A final status without a row becomes kUndefined.
constexpr std::pair<wire::YarnApplicationState, ApplicationState> kStates[] = {
    {wire::SUBMITTED, ApplicationState::kSubmitted}, {wire::ACCEPTED, ApplicationState::kAccepted},
    {wire::RUNNING, ApplicationState::kRunning},     {wire::FINISHED, ApplicationState::kFinished},
    {wire::FAILED, ApplicationState::kFailed},       {wire::KILLED, ApplicationState::kKilled}};
constexpr std::pair<wire::FinalApplicationStatus, FinalStatus> kFinalStates[] = {
    {wire::APP_SUCCEEDED, FinalStatus::kSucceeded},
    {wire::APP_FAILED, FinalStatus::kFailed},
    {wire::APP_KILLED, FinalStatus::kKilled}};

// The AM's request is for any node, because only such a request may carry a label.
void SetAmResource(const Submission& submission, wire::ApplicationSubmissionContext& context) {
  wire::ResourceRequest& request = *context.add_am_container_resource_request();
  request.mutable_priority()->set_priority(0);
  request.set_resource_name("*");
  *request.mutable_capability() = ToWire(submission.am_resource);
  request.set_num_containers(1);
  request.set_relax_locality(true);
  if (!submission.am_label.empty()) request.set_node_label_expression(submission.am_label);
}

wire::SubmitApplicationRequest ToWire(const Submission& submission) {
  wire::SubmitApplicationRequest request;
  wire::ApplicationSubmissionContext& context = *request.mutable_application_submission_context();
  *context.mutable_application_id() = ToWire(submission.id);
  context.set_application_name(submission.name);
  context.set_queue(submission.queue);
  context.mutable_priority()->set_priority(submission.priority);
  *context.mutable_am_container_spec() = ToWire(submission.am);
  context.set_maxappattempts(submission.max_attempts);
  context.set_applicationtype(submission.type);
  context.set_keep_containers_across_application_attempts(submission.keep_containers);
  for (const std::string& tag : submission.tags) context.add_applicationtags(tag);
  if (submission.failure_validity) context.set_attempt_failures_validity_interval(submission.failure_validity->count());
  if (!submission.label.empty()) context.set_node_label_expression(submission.label);
  if (submission.lifetime) {
    wire::ApplicationTimeoutMap& timeout = *context.add_application_timeouts();
    timeout.set_application_timeout_type(wire::APP_TIMEOUT_LIFETIME);
    timeout.set_timeout(std::chrono::ceil<std::chrono::seconds>(*submission.lifetime).count());
  }
  SetAmResource(submission, context);
  if (submission.is_unmanaged) context.set_unmanaged_am(true);
  if (submission.shares_tokens) context.set_cancel_tokens_when_complete(false);
  return request;
}

ApplicationReport ReportIn(const wire::ApplicationReport& report) {
  return {.id = FromWire(report.applicationid()),
          .state = OursIn(kStates, report.yarn_application_state()),
          .final_status = OursIn(kFinalStates, report.final_application_status()),
          .user = report.user(),
          .queue = report.queue(),
          .name = report.name(),
          .host = report.host(),
          .rpc_port = report.rpc_port(),
          .tracking_url = report.trackingurl(),
          .diagnostics = report.diagnostics(),
          .attempt = report.currentapplicationattemptid().attemptid(),
          .progress = report.progress(),
          .started = FromMillis(report.starttime()),
          .finished = FromMillis(report.finishtime()),
          .priority = report.priority().priority(),
          .used = FromWire(report.app_resource_usage().used_resources()),
          .needed = FromWire(report.app_resource_usage().needed_resources())};
}

// Interprets messages that RMAppManager puts into a YarnException. "Cannot add a duplicate" means that two calls
// submitted one application at the same moment. This counts as a success, like submitting an application that already
// exists. "does not have permission to submit" means that the queue's ACL does not admit the user.
Result<bool> SubmitOutcome(const Result<bool>& submitted) {
  if (submitted.ok() || submitted.error().message.find("Cannot add a duplicate") != std::string::npos) return true;
  if (submitted.error().message.find("does not have permission to submit") == std::string::npos) return submitted;
  return NotPermittedError(submitted.error().message);
}

double Fraction(float reported) { return std::isfinite(reported) ? std::max(0.0, double{reported}) : 0; }

// `above` is the parent. For a child queue, the CapacityScheduler reports only the last part of the path, and shares of
// the parent. The FairScheduler reports whole paths and shares of the cluster.
QueueReport QueueIn(const wire::QueueInfo& queue, const QueueReport& above) {
  const std::string& name = queue.queuename();
  const bool is_path = above.path.empty() || name.starts_with(above.path + ".");
  const bool is_fair = !queue.has_maximumcapacity();
  QueueReport report{.path = is_path ? name : StrCat(above.path, ".", name),
                     .running = queue.state() == wire::Q_RUNNING,
                     .guaranteed = Fraction(queue.capacity()) * (is_fair ? 1 : above.guaranteed),
                     .most = is_fair ? 1 : Fraction(queue.maximumcapacity()) * above.most,
                     .is_fair = is_fair,
                     .labels = {queue.accessiblenodelabels().begin(), queue.accessiblenodelabels().end()}};
  report.used = Fraction(queue.currentcapacity()) * report.guaranteed;
  for (const auto& child : queue.childqueues()) report.children.push_back(QueueIn(child, report));
  return report;
}

}  // namespace

std::string ToString(ApplicationState state) {
  constexpr const char* kNames[] = {"new", "submitted", "accepted", "running", "finished", "failed", "killed"};
  return kNames[static_cast<size_t>(state)];
}

std::string ToString(FinalStatus status) {
  constexpr const char* kNames[] = {"undefined", "succeeded", "failed", "killed"};
  return kNames[static_cast<size_t>(status)];
}

RmClient::RmClient(EventLoop& loop, HostResolver& names, std::vector<Endpoint> rms, RpcIdentity identity,
                   RpcLimits limits)
    : connection_(loop, names, {std::move(rms), kClientProtocol}, std::move(identity), limits) {}

void RmClient::ReserveApplicationId(Done<NewApplication> done) {
  constexpr auto convert = [](const wire::GetNewApplicationResponse& answer) {
    return NewApplication{FromWire(answer.application_id()), FromWire(answer.maximumcapability())};
  };
  CallFor(connection_, "getNewApplication", wire::GetNewApplicationRequest(), +convert, std::move(done));
}

void RmClient::Submit(const Submission& submission, Done<bool> done) {
  constexpr auto convert = [](const wire::SubmitApplicationResponse&) { return true; };
  CallFor(connection_, "submitApplication", ToWire(submission), +convert,
          [done = std::move(done)](const Result<bool>& submitted) { done(SubmitOutcome(submitted)); });
}

void RmClient::Report(const ApplicationId& id, Done<ApplicationReport> done) {
  wire::GetApplicationReportRequest request;
  *request.mutable_application_id() = ToWire(id);
  constexpr auto convert = [](const wire::GetApplicationReportResponse& answer) {
    return ReportIn(answer.application_report());
  };
  CallFor(connection_, "getApplicationReport", request, +convert, std::move(done));
}

void RmClient::Applications(Done<std::vector<ApplicationReport>> done) {
  wire::GetApplicationsRequest request;
  for (const auto state : {wire::NEW, wire::NEW_SAVING, wire::SUBMITTED, wire::ACCEPTED, wire::RUNNING})
    request.add_application_states(state);
  constexpr auto convert = [](const wire::GetApplicationsResponse& answer) {
    std::vector<ApplicationReport> reports;
    for (const wire::ApplicationReport& report : answer.applications()) reports.push_back(ReportIn(report));
    return reports;
  };
  CallFor(connection_, "getApplications", request, +convert, std::move(done));
}

void RmClient::Kill(const ApplicationId& id, const std::string& reason, Done<bool> done) {
  wire::KillApplicationRequest request;
  *request.mutable_application_id() = ToWire(id);
  request.set_diagnostics(reason);
  constexpr auto convert = [](const wire::KillApplicationResponse& answer) { return answer.is_kill_completed(); };
  CallFor(connection_, "forceKillApplication", request, +convert, std::move(done));
}

void RmClient::Metrics(Done<ClusterMetrics> done) {
  constexpr auto convert = [](const wire::GetClusterMetricsResponse& answer) {
    const wire::YarnClusterMetrics& metrics = answer.cluster_metrics();
    return ClusterMetrics{metrics.num_node_managers(), metrics.num_active_nms(), metrics.num_lost_nms(),
                          metrics.num_unhealthy_nms()};
  };
  CallFor(connection_, "getClusterMetrics", wire::GetClusterMetricsRequest(), +convert, std::move(done));
}

void RmClient::RunningNodes(Done<std::vector<NodeReport>> done) {
  wire::GetClusterNodesRequest request;
  request.add_nodestates(wire::NS_RUNNING);
  constexpr auto convert = [](const wire::GetClusterNodesResponse& answer) {
    return AllFromWire(answer.nodereports());
  };
  CallFor(connection_, "getClusterNodes", request, +convert, std::move(done));
}

void RmClient::Queue(const std::string& name, Done<QueueReport> done) {
  wire::GetQueueInfoRequest request;
  request.set_queuename(name);
  request.set_includechildqueues(true);
  request.set_recursive(true);
  constexpr auto convert = [](const wire::GetQueueInfoResponse& answer) { return answer; };
  CallFor(connection_, "getQueueInfo", request, +convert,
          [name, done = std::move(done)](const Result<wire::GetQueueInfoResponse>& answer) {
            if (!answer.ok()) return done(answer.error());
            if (!answer->has_queueinfo()) return done(NotFoundError("queue ", name, ": the cluster has no such queue"));
            done(QueueIn(answer->queueinfo(), {.guaranteed = 1, .most = 1}));
          });
}

void RmClient::NewToken(const std::string& renewer, Done<Token> done) {
  wire::GetDelegationTokenRequest request;
  request.set_renewer(renewer);
  constexpr auto convert = [](const wire::GetDelegationTokenResponse& answer) { return FromWire(answer.token()); };
  CallFor(connection_, "getDelegationToken", request, +convert, std::move(done));
}

void RmClient::NodeLabels(Done<std::vector<std::string>> done) {
  constexpr auto convert = [](const wire::GetClusterNodeLabelsResponse& answer) {
    std::vector<std::string> labels;
    for (const wire::NodeLabel& label : answer.nodelabels()) labels.push_back(label.name());
    return labels;
  };
  CallFor(connection_, "getClusterNodeLabels", wire::GetClusterNodeLabelsRequest(), +convert, std::move(done));
}

// Any ACL entry counts, because an administrator of a queue may also submit to it.
void RmClient::QueuesOfUser(Done<std::vector<std::string>> done) {
  constexpr auto convert = [](const wire::GetQueueUserAclsInfoResponse& answer) {
    std::vector<std::string> queues;
    for (const wire::QueueUserACLInfo& queue : answer.queueuseracls())
      if (queue.useracls_size() > 0) queues.push_back(queue.queuename());
    return queues;
  };
  CallFor(connection_, "getQueueUserAcls", wire::GetQueueUserAclsInfoRequest(), +convert, std::move(done));
}

namespace {

constexpr char kNodeProtocol[] = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB";

template <class Response>
std::vector<ContainerFailure> FailuresIn(const Response& answer) {
  std::vector<ContainerFailure> failures;
  for (const wire::ContainerExceptionMap& failed : answer.failed_requests()) {
    failures.push_back({FromWire(failed.container_id()), std::string(ShortName(failed.exception().class_name())),
                        ReasonIn(failed.exception().message())});
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

// ContainerManagerImpl has no exception class for a container that it already has, so the messages are compared.
bool ContainerFailure::IsAlreadyStarted() const {
  return message.find("Attempt to relaunch the same container") != std::string::npos ||
         message.find("already is running on this node") != std::string::npos;
}

NmClient::NmClient(EventLoop& loop, HostResolver& names, const NodeToken& token, RpcLimits limits)
    : connection_(loop, names, {{{token.node.host, token.node.port}}, kNodeProtocol}, token.token, limits) {}

void NmClient::Start(const std::vector<ContainerStart>& starts, Done<ContainerId> done) {
  wire::StartContainersRequest request;
  for (const ContainerStart& start : starts) {
    wire::StartContainerRequest& one = *request.add_start_container_request();
    *one.mutable_container_launch_context() = ToWire(start.context);
    *one.mutable_container_token() = ToWire(start.container_token);
  }
  CallFor(connection_, "startContainers", request, IdsIn<wire::StartContainersResponse>, std::move(done));
}

void NmClient::Stop(const std::vector<ContainerId>& ids, Done<ContainerId> done) {
  CallFor(connection_, "stopContainers", RequestFor<wire::StopContainersRequest>(ids),
          IdsIn<wire::StopContainersResponse>, std::move(done));
}

void NmClient::Statuses(const std::vector<ContainerId>& ids, Done<ContainerStatus> done) {
  constexpr auto convert = [](const wire::GetContainerStatusesResponse& answer) {
    return NodeAnswer<ContainerStatus>{AllFromWire(answer.status()), FailuresIn(answer)};
  };
  CallFor(connection_, "getContainerStatuses", RequestFor<wire::GetContainerStatusesRequest>(ids), +convert,
          std::move(done));
}

}  // namespace tony::hadoop
