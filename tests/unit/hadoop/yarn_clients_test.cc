// The three clients of YARN against a scripted server: the calls that they send, and how they read each answer.
#include "runtime/hadoop/yarn_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/hadoop/am_rm_session.h"
#include "runtime/hadoop/wire/client.pb.h"
#include "runtime/hadoop/wire_records.h"
#include "tests/support/run_until.h"
#include "tests/unit/base/event_loop_fixture.h"
#include "tests/unit/hadoop/fake_rpc_server.h"

namespace tony::hadoop {
namespace {

const Token kMasterToken{"an identifier", "a password", "YARN_AM_RM_TOKEN", ""};
constexpr ApplicationId kApplication{1700000000000, 1};
constexpr ContainerId kContainer{{kApplication, 1}, 2};
const std::string kExceptions = "org.apache.hadoop.yarn.exceptions.";
using Call = FakeRpcServer::Call;
using ::testing::HasSubstr;

template <class Message>
Message RequestOf(const Call& call) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(call.request)) << call.method;
  return message;
}

class YarnClientsTest : public EventLoopTest {
 protected:
  // Starts a call, and waits for its answer.
  template <class T, class Start>
  T Await(Start start) {
    std::optional<T> answer;
    start([&](T value) { answer = std::move(value); });
    EXPECT_TRUE(RunUntil(loop, [&] { return answer.has_value(); }));
    return *answer;
  }
  // Answers each call with the next function of the script, and all calls after its end with the last one.
  using Script = std::vector<std::function<void(const Call&)>>;
  void Play(FakeRpcServer& server, Script script) {
    server.on_call = [script = std::move(script), next = size_t{0}](const Call& call) mutable {
      script[std::min(next++, script.size() - 1)](call);
    };
  }

  HostResolver names{loop};
};

class RmClientTest : public YarnClientsTest {
 protected:
  FakeRpcServer server{loop, std::nullopt};
  RmClient rm{loop, names, {{"127.0.0.1", server.port()}}, SimpleUser{"alice"}};
};

TEST_F(RmClientTest, ReservingAnApplicationReturnsItsIdAndTheMaximumResources) {
  Play(server, {[&](const Call& call) {
         wire::GetNewApplicationResponse answer;
         *answer.mutable_application_id() = ToWire(kApplication);
         *answer.mutable_maximumcapability() = ToWire(Resource{8192, 4, {}});
         server.Succeed(call, answer);
       }});
  const auto made = Await<Result<NewApplication>>([&](auto done) { rm.ReserveApplicationId(done); });
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->id, kApplication);
  EXPECT_EQ(made->maximum.memory_mib, 8192);
  EXPECT_EQ(server.calls.at(0).method, "getNewApplication");
}

TEST_F(RmClientTest, ASubmissionIsEncodedWithQueueResourcesLabelsTimeoutAndAcls) {
  Play(server, {[&](const Call& call) { server.Succeed(call, wire::SubmitApplicationResponse()); }});
  Submission submission{.id = kApplication, .name = "mnist", .queue = "train", .tags = {"a", "b"}};
  submission.max_attempts = 3;
  submission.failure_validity = Duration(10'000);
  submission.keep_containers = true;
  submission.shares_tokens = true;
  submission.am_resource = {1024, 1, {}};
  submission.am_label = "gpu";
  submission.label = "big";
  submission.priority = 7;
  submission.lifetime = Duration(61'001);
  submission.am.view_acl = "bob";
  submission.am.command = "true";
  ASSERT_TRUE(Await<Result<bool>>([&](auto done) { rm.Submit(submission, done); }).ok());
  const auto request = RequestOf<wire::SubmitApplicationRequest>(server.calls.at(0));
  const auto& context = request.application_submission_context();
  EXPECT_EQ(context.queue(), "train");
  EXPECT_EQ(context.applicationtype(), "TONY");
  EXPECT_EQ(context.applicationtags_size(), 2);
  EXPECT_EQ(context.maxappattempts(), 3);
  EXPECT_EQ(context.attempt_failures_validity_interval(), 10'000);
  EXPECT_TRUE(context.keep_containers_across_application_attempts());
  EXPECT_FALSE(context.cancel_tokens_when_complete());
  ASSERT_EQ(context.am_container_resource_request_size(), 1);
  const auto& master = context.am_container_resource_request(0);
  EXPECT_EQ(master.resource_name(), "*");
  EXPECT_EQ(master.num_containers(), 1);
  EXPECT_EQ(master.capability().memory(), 1024);
  EXPECT_EQ(master.node_label_expression(), "gpu");
  EXPECT_EQ(context.node_label_expression(), "big");
  EXPECT_EQ(context.priority().priority(), 7);
  ASSERT_EQ(context.application_timeouts_size(), 1);
  EXPECT_EQ(context.application_timeouts(0).application_timeout_type(), wire::APP_TIMEOUT_LIFETIME);
  EXPECT_EQ(context.application_timeouts(0).timeout(), 62) << "never too early";
  EXPECT_EQ(context.am_container_spec().command(0), "true");
  std::map<int, std::string> acls;
  for (const auto& acl : context.am_container_spec().application_acls()) acls[acl.accesstype()] = acl.acl();
  EXPECT_EQ(acls, (std::map<int, std::string>{{wire::APPACCESS_VIEW_APP, "bob"}, {wire::APPACCESS_MODIFY_APP, " "}}));
}

TEST_F(RmClientTest, ActiveApplicationsAndNodeLabelsAreListed) {
  wire::GetApplicationsResponse applications;
  auto& waiting = *applications.add_applications();
  *waiting.mutable_applicationid() = ToWire(kApplication);
  waiting.set_yarn_application_state(wire::ACCEPTED);
  waiting.mutable_priority()->set_priority(4);
  *waiting.mutable_app_resource_usage()->mutable_used_resources() = ToWire(Resource{512, 2, {}});
  wire::GetClusterNodeLabelsResponse labels;
  labels.add_nodelabels()->set_name("big");
  Play(server, {[&](const Call& call) { server.Succeed(call, applications); },
                [&](const Call& call) { server.Succeed(call, labels); }});
  const auto told = Await<Result<std::vector<ApplicationReport>>>([&](auto done) { rm.Applications(done); });
  ASSERT_TRUE(told.ok() && told->size() == 1);
  EXPECT_EQ(told->front().id, kApplication);
  EXPECT_EQ(told->front().priority, 4);
  EXPECT_EQ(told->front().used, (Resource{512, 2, {}}));
  const auto request = RequestOf<wire::GetApplicationsRequest>(server.calls.at(0));
  EXPECT_EQ(request.application_states_size(), 5);
  for (const int state : request.application_states()) EXPECT_LE(state, wire::RUNNING);
  EXPECT_EQ(*Await<Result<std::vector<std::string>>>([&](auto done) { rm.NodeLabels(done); }),
            std::vector<std::string>{"big"});
}

TEST_F(RmClientTest, ADuplicateSubmissionSucceedsAndASubmissionToAForbiddenQueueIsRejected) {
  const std::string yarn = kExceptions + "YarnException";
  Play(server, {[&](const Call& call) {
                  server.Fail(call, yarn, "Application with id x is already present! Cannot add a duplicate!");
                },
                [&](const Call& call) {
                  server.Fail(call, yarn,
                              "org.apache.hadoop.security.AccessControlException: User eve does not have permission to "
                              "submit x to queue ml");
                },
                [&](const Call& call) { server.Fail(call, yarn, "Failed to submit x: the queue is full"); },
                [&](const Call& call) {
                  wire::GetQueueUserAclsInfoResponse answer;
                  answer.add_queueuseracls()->set_queuename("root.ml");
                  auto& open = *answer.add_queueuseracls();
                  open.set_queuename("root.default");
                  open.add_useracls(wire::QACL_SUBMIT_APPLICATIONS);
                  server.Succeed(call, answer);
                }});
  const auto submit = [&] {
    return Await<Result<bool>>([&](auto done) { rm.Submit({.id = kApplication, .is_unmanaged = true}, done); });
  };
  EXPECT_TRUE(submit().ok());
  EXPECT_TRUE(
      RequestOf<wire::SubmitApplicationRequest>(server.calls.at(0)).application_submission_context().unmanaged_am());
  EXPECT_EQ(submit().error().code, ErrorCode::kNotPermitted);
  EXPECT_NE(submit().error().code, ErrorCode::kNotPermitted);
  const auto queues = Await<Result<std::vector<std::string>>>([&](auto done) { rm.QueuesOfUser(done); });
  ASSERT_TRUE(queues.ok());
  EXPECT_EQ(*queues, std::vector<std::string>{"root.default"});
}

TEST_F(RmClientTest, ReportReturnsTheApplicationStateOrNotFoundAndKillSendsTheReason) {
  wire::GetApplicationReportResponse report;
  auto& application = *report.mutable_application_report();
  *application.mutable_applicationid() = ToWire(kApplication);
  application.set_yarn_application_state(wire::FINISHED);
  application.set_final_application_status(wire::APP_FAILED);
  application.set_diagnostics("exit 3");
  application.set_finishtime(1700000000123);
  application.mutable_currentapplicationattemptid()->set_attemptid(2);
  Play(server, {[&](const Call& call) { server.Succeed(call, report); },
                [&](const Call& call) { server.Succeed(call, wire::KillApplicationResponse()); },
                [&](const Call& call) {
                  server.Fail(call, kExceptions + "ApplicationNotFoundException", "there is no such one\n\tat X");
                }});
  const auto got = Await<Result<ApplicationReport>>([&](auto done) { rm.Report(kApplication, done); });
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->state, ApplicationState::kFinished);
  EXPECT_EQ(got->final_status, FinalStatus::kFailed);
  EXPECT_EQ(got->diagnostics, "exit 3");
  EXPECT_EQ(got->attempt, 2);
  EXPECT_EQ(ToMillis(got->finished), 1700000000123);
  EXPECT_FALSE(*Await<Result<bool>>([&](auto done) { rm.Kill(kApplication, "enough", done); }));
  EXPECT_EQ(RequestOf<wire::KillApplicationRequest>(server.calls.at(1)).diagnostics(), "enough");
  const auto unknown = Await<Result<ApplicationReport>>([&](auto done) { rm.Report(kApplication, done); });
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message, "getApplicationReport at 127.0.0.1:" + std::to_string(server.port()) +
                                         ": ApplicationNotFoundException: there is no such one");
}

TEST_F(RmClientTest, TheNodesAndQueuesOfAClusterAreRead) {
  wire::GetQueueInfoResponse queue;
  queue.mutable_queueinfo()->set_queuename("root");
  queue.mutable_queueinfo()->set_state(wire::Q_RUNNING);
  queue.mutable_queueinfo()->set_maximumcapacity(1);
  queue.mutable_queueinfo()->set_capacity(1);
  auto& team = *queue.mutable_queueinfo()->add_childqueues();
  for (const char* name : {"train", "test"}) {
    auto& child = *team.add_childqueues();
    child.set_queuename(name);
    child.set_capacity(0.5);
    child.set_maximumcapacity(0.8F);
    child.set_currentcapacity(0.5);
  }
  team.set_queuename("team");
  team.set_capacity(0.5);
  team.set_maximumcapacity(0.5);
  wire::GetClusterMetricsResponse metrics;
  metrics.mutable_cluster_metrics()->set_num_active_nms(2);
  wire::GetClusterNodesResponse nodes;
  nodes.add_nodereports()->set_rackname("/default-rack");
  Play(server, {[&](const Call& call) { server.Succeed(call, queue); },
                [&](const Call& call) { server.Succeed(call, wire::GetQueueInfoResponse()); },
                [&](const Call& call) { server.Succeed(call, metrics); },
                [&](const Call& call) { server.Succeed(call, nodes); }});
  const auto known = Await<Result<QueueReport>>([&](auto done) { rm.Queue("root", done); });
  EXPECT_TRUE(known->running);
  const QueueReport& of_team = known->children.at(0);
  EXPECT_EQ(of_team.path, "root.team");
  EXPECT_EQ(of_team.children.at(1).path, "root.team.test");
  EXPECT_DOUBLE_EQ(of_team.children.at(1).guaranteed, 0.25);
  EXPECT_NEAR(of_team.children.at(1).most, 0.4, 1e-6);
  EXPECT_DOUBLE_EQ(of_team.children.at(1).used, 0.125);
  EXPECT_FALSE(known->is_fair);
  EXPECT_TRUE(RequestOf<wire::GetQueueInfoRequest>(server.calls.at(0)).recursive());
  const auto unknown = Await<Result<QueueReport>>([&](auto done) { rm.Queue("x", done); });
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Await<Result<ClusterMetrics>>([&](auto done) { rm.Metrics(done); })->active, 2);
  EXPECT_EQ(Await<Result<std::vector<NodeReport>>>([&](auto done) { rm.RunningNodes(done); })->at(0).rack,
            "/default-rack");
}

TEST_F(RmClientTest, AFairSchedulerQueueIsReadWithItsFullPathAndAMaximumOf100Percent) {
  wire::GetQueueInfoResponse answer;
  wire::QueueInfo& root = *answer.mutable_queueinfo();
  root.set_queuename("root");
  root.set_capacity(1);
  root.set_currentcapacity(std::numeric_limits<float>::quiet_NaN());
  root.add_childqueues()->set_queuename("root.eve");
  root.mutable_childqueues(0)->set_capacity(0.25);
  Play(server, {[&](const Call& call) { server.Succeed(call, answer); }});
  const auto queue = Await<Result<QueueReport>>([&](auto done) { rm.Queue("root", done); });
  ASSERT_TRUE(queue.ok());
  EXPECT_TRUE(queue->is_fair);
  EXPECT_EQ(queue->used, 0) << "not a number";
  EXPECT_EQ(queue->children.at(0).path, "root.eve");
  EXPECT_EQ(queue->children.at(0).guaranteed, 0.25);
  EXPECT_EQ(queue->children.at(0).most, 1);
}

TEST_F(RmClientTest, AnAnswerOfTheWrongMessageTypeIsAnError) {
  Play(server, {[&](const Call& call) {
         wire::RequestHeader other;  // its first field is a string
         other.set_methodname("\xff\xff\xff");
         other.set_declaringclassprotocolname("");
         other.set_clientprotocolversion(1);
         server.Succeed(call, other);
       }});
  const auto made = Await<Result<NewApplication>>([&](auto done) { rm.ReserveApplicationId(done); });
  EXPECT_EQ(made.error().code, ErrorCode::kInternal) << made.error().message;
}

class AmRmSessionTest : public YarnClientsTest {
 protected:
  MasterReply<Registration> Register() {
    return Await<MasterReply<Registration>>([&](auto done) { session.Register({"n1", 1234, "http://n1:1/"}, done); });
  }
  MasterReply<Allocation> Allocate(const Asked& asked = {}) {
    return Await<MasterReply<Allocation>>([&](auto done) { session.Allocate(asked, done); });
  }
  int32_t NumberOf(size_t call) { return RequestOf<wire::AllocateRequest>(server.calls.at(call)).response_id(); }
  std::function<void(const Call&)> Answer(int32_t number) {
    return [this, number](const Call& call) {
      wire::AllocateResponse answer;
      answer.set_response_id(number);
      server.Succeed(call, answer);
    };
  }
  std::function<void(const Call&)> Refuse(const std::string& exception, const std::string& message) {
    return [this, exception, message](const Call& call) { server.Fail(call, kExceptions + exception, message); };
  }

  FakeRpcServer server{loop, kMasterToken};
  AmRmSession session{loop, names, {{"127.0.0.1", server.port()}}, kMasterToken};
};

TEST_F(AmRmSessionTest, ARegistrationReturnsTheClusterLimitsAndTheContainersAndTokensOfEarlierAttempts) {
  Play(server, {[&](const Call& call) {
         wire::RegisterApplicationMasterResponse answer;
         *answer.mutable_maximumcapability() = ToWire(Resource{4096, 8, {}});
         answer.add_resource_types()->set_name("yarn.io/gpu");
         *answer.add_containers_from_previous_attempts()->mutable_id() = ToWire(kContainer);
         auto& token = *answer.add_nm_tokens_from_previous_attempts();
         token.mutable_nodeid()->set_host("n1");
         *token.mutable_token() = ToWire(kMasterToken);
         server.Succeed(call, answer);
       }});
  const auto registration = std::get<Registration>(Register());
  EXPECT_EQ(registration.maximum.vcores, 8);
  EXPECT_EQ(registration.resource_types, std::vector<std::string>{"yarn.io/gpu"});
  EXPECT_EQ(registration.kept.at(0).id, kContainer);
  EXPECT_EQ(registration.node_tokens.at(0).node.host, "n1");
  const auto request = RequestOf<wire::RegisterApplicationMasterRequest>(server.calls.at(0));
  EXPECT_EQ(request.host(), "n1");
  EXPECT_EQ(request.rpc_port(), 1234);
  EXPECT_EQ(request.tracking_url(), "http://n1:1/");
}

TEST_F(AmRmSessionTest, AnAllocateCallCarriesTheContainerRequestsTheReleasesAndTheAvoidedHosts) {
  Play(server, {Answer(1)});
  Asked asked;
  asked.asks = {{.priority = 2, .request_id = 7, .place = "n1", .resource = {256, 1, {}}, .count = 3, .relax = false}};
  asked.asks[0].resource.others = {{"disk", {2, "Gi"}}, {"yarn.io/gpu", 1}};
  asked.release = {kContainer};
  asked.avoid = {"bad"};
  asked.progress = 0.5F;
  ASSERT_TRUE(std::holds_alternative<Allocation>(Allocate(asked)));
  const auto request = RequestOf<wire::AllocateRequest>(server.calls.at(0));
  ASSERT_EQ(request.ask_size(), 1);
  EXPECT_EQ(request.ask(0).num_containers(), 3);
  EXPECT_TRUE(request.ask(0).execution_type_request().has_execution_type()) << "the AMRMProxy of a federation fails without it";
  const auto& disk = request.ask(0).capability().resource_value_map(0);
  EXPECT_EQ(std::tuple(disk.key(), disk.value(), disk.units()), std::tuple("disk", 2, "Gi"));
  EXPECT_FALSE(request.ask(0).capability().resource_value_map(1).has_units()) << "the cluster's own unit";
  EXPECT_EQ(request.ask(0).resource_name(), "n1");
  EXPECT_EQ(request.ask(0).allocation_request_id(), 7);
  EXPECT_FALSE(request.ask(0).relax_locality());
  EXPECT_EQ(FromWire(request.release(0)), kContainer);
  EXPECT_EQ(request.blacklist_request().blacklist_additions(0), "bad");
  EXPECT_EQ(request.progress(), 0.5F);
}

TEST_F(AmRmSessionTest, AnAllocateCallCarriesConstrainedRequestsAndTheAnswerNamesTheRejectedOnes) {
  Play(server, {[&](const Call& call) {
         wire::AllocateResponse answer;
         answer.set_response_id(1);
         auto& rejected = *answer.add_rejected_scheduling_requests();
         rejected.set_reason(wire::RRP_COULD_NOT_PLACE_ON_NODE);
         rejected.mutable_request()->set_allocationrequestid(9);
         server.Succeed(call, answer);
       }});
  Asked asked;
  asked.constrained = {{.priority = 2, .request_id = 9, .tags = {"a", "b"}, .resource = {256, 1, {}}, .count = 1},
                       {.request_id = 10, .constraint = PlacementConstraint{.tags = {{.name = "a"}}}}};
  EXPECT_EQ(std::get<Allocation>(Allocate(asked)).rejected, std::vector<int64_t>{9});
  const auto request = RequestOf<wire::AllocateRequest>(server.calls.at(0));
  ASSERT_EQ(request.scheduling_requests_size(), 2);
  const auto& first = request.scheduling_requests(0);
  EXPECT_EQ(std::tuple(first.allocationrequestid(), first.priority().priority()), std::tuple(9, 2));
  EXPECT_EQ(std::tuple(first.allocationtags(0), first.allocationtags(1)), std::tuple("a", "b"));
  EXPECT_EQ(first.executiontype().execution_type(), wire::GUARANTEED);
  EXPECT_EQ(first.resourcesizing().numallocations(), 1);
  EXPECT_EQ(first.resourcesizing().resources().memory(), 256);
  EXPECT_FALSE(first.has_placementconstraint());
  EXPECT_TRUE(request.scheduling_requests(1).placementconstraint().has_simpleconstraint());
}

TEST_F(AmRmSessionTest, AnAllocateAnswerIsDecodedIntoGrantedEndedAndPreemptedContainers) {
  Play(server, {[&](const Call& call) {
         wire::AllocateResponse answer;
         answer.set_response_id(1);
         auto& granted = *answer.add_allocated_containers();
         *granted.mutable_id() = ToWire(kContainer);
         granted.mutable_nodeid()->set_host("n2");
         granted.set_allocation_request_id(7);
         auto& ended = *answer.add_completed_container_statuses();
         *ended.mutable_container_id() = ToWire(kContainer);
         ended.set_state(wire::C_COMPLETE);
         ended.set_exit_status(-100);
         auto& node = *answer.add_updated_nodes();
         node.set_node_state(wire::NS_LOST);
         *answer.mutable_preempt()->mutable_contract()->add_container()->mutable_id() = ToWire(kContainer);
         *answer.mutable_preempt()->mutable_strictcontract()->add_container()->mutable_id() = ToWire(kContainer);
         answer.set_num_cluster_nodes(2);
         server.Succeed(call, answer);
       }});
  const auto allocation = std::get<Allocation>(Allocate());
  EXPECT_EQ(allocation.granted.at(0).id, kContainer);
  EXPECT_EQ(allocation.granted.at(0).node.host, "n2");
  EXPECT_EQ(allocation.granted.at(0).request_id, 7);
  EXPECT_EQ(allocation.ended.at(0).exit_status, -100);
  EXPECT_EQ(allocation.nodes.at(0).state, NodeReport::State::kLost);
  EXPECT_EQ(allocation.wanted.size() + allocation.doomed.size(), 2u);
  EXPECT_EQ(allocation.cluster_nodes, 2);
  EXPECT_FALSE(allocation.may_be_repeated);
}

TEST_F(AmRmSessionTest, EachAllocateCallCarriesTheResponseIdOfTheLastSuccessfulAnswer) {
  Play(server, {Answer(1), Answer(2), Refuse("InvalidResourceRequestException", "too large"), Answer(3)});
  (void)Allocate();
  (void)Allocate();
  EXPECT_EQ(std::get<Error>(Allocate()).code, ErrorCode::kInvalid);
  (void)Allocate();
  EXPECT_EQ(NumberOf(0), 0);
  EXPECT_EQ(NumberOf(1), 1);
  EXPECT_EQ(NumberOf(2), 2);
  EXPECT_EQ(NumberOf(3), 2);  // refused calls do not count
}

TEST_F(AmRmSessionTest, TheAllocateCallAfterALostAnswerReusesTheResponseIdOfTheLostCall) {
  Play(server, {Answer(1), [&](const Call&) { server.CloseAll(); }, Answer(2), Answer(3)});
  (void)Allocate();
  EXPECT_EQ(std::get<Error>(Allocate()).code, ErrorCode::kUnavailable);
  EXPECT_TRUE(std::get<Allocation>(Allocate()).may_be_repeated);
  EXPECT_FALSE(std::get<Allocation>(Allocate()).may_be_repeated);
  EXPECT_EQ(NumberOf(1), 1);
  EXPECT_EQ(NumberOf(2), 1);
  EXPECT_EQ(server.connections, 2);
}

TEST_F(AmRmSessionTest, ARestartedMasterLearnsTheExpectedResponseIdFromTheRejectedAllocateCall) {
  Play(server,
       {Refuse("InvalidApplicationMasterRequestException",
               "Application Master is already registered : application_1700000000000_0001"),
        Refuse("InvalidApplicationMasterRequestException",
               "Invalid responseId in AllocateRequest from application attempt: appattempt_1_0001_000001, expect "
               "responseId to be 41, but get 0"),
        Answer(42)});
  EXPECT_TRUE(std::get<Registration>(Register()).was_registered);
  // The number before the expected one makes the ResourceManager repeat its newest answer.
  EXPECT_TRUE(std::get<Allocation>(Allocate()).may_be_repeated);
  EXPECT_EQ(NumberOf(1), 0);
  EXPECT_EQ(NumberOf(2), 40);
}

TEST_F(AmRmSessionTest, AnAllocateCallFailsAfterTheResourceManagerRejectsItsResponseIdTwice) {
  Play(server, {Refuse("InvalidApplicationMasterRequestException", "expect responseId to be 5, but get 0")});
  EXPECT_TRUE(std::holds_alternative<Error>(Allocate()));
  EXPECT_EQ(server.calls.size(), 2u);
}

TEST_F(AmRmSessionTest, AResourceManagerRestartIsReportedAsNotRegistered) {
  const auto unregistered = Refuse("ApplicationMasterNotRegisteredException", "AM is not registered");
  Play(server, {Answer(7), unregistered,
                [&](const Call& call) { server.Succeed(call, wire::RegisterApplicationMasterResponse()); }, Answer(1)});
  (void)Allocate();
  EXPECT_TRUE(std::holds_alternative<NotRegistered>(Allocate()));
  EXPECT_TRUE(std::holds_alternative<Registration>(Register()));
  EXPECT_TRUE(std::holds_alternative<Allocation>(Allocate()));
  EXPECT_EQ(NumberOf(3), 0);
}

TEST_F(AmRmSessionTest, AnUnknownAttemptOrAnOldTokenIsReportedAsAnEndedAttempt) {
  Play(server, {Refuse("ApplicationAttemptNotFoundException", "Application attempt doesn't exist")});
  EXPECT_EQ(std::get<AttemptOver>(Allocate()).reason, "Application attempt doesn't exist");
  AmRmSession stale(loop, names, {{"127.0.0.1", server.port()}}, Token{"an identifier", "old", "", ""});
  const auto reply = Await<MasterReply<Allocation>>([&](auto done) { stale.Allocate({}, done); });
  EXPECT_EQ(std::get<AttemptOver>(reply).reason, "Invalid AMRMToken");
  const auto refused = Await<MasterReply<Registration>>([&](auto done) { stale.Register({}, done); });
  EXPECT_THAT(std::get<AttemptOver>(refused).reason, HasSubstr("yarn.nodemanager.amrmproxy.enabled"));
}

TEST_F(AmRmSessionTest, AMasterCallsTheProxyOfItsNodeAndTheResourceManagerOnlyIfTheProxyDoesNotKnowItsToken) {
  FakeRpcServer proxy(loop, kMasterToken);
  proxy.on_call = [&](const Call& call) { proxy.Succeed(call, wire::RegisterApplicationMasterResponse()); };
  server.on_call = [&](const Call& call) { server.Succeed(call, wire::RegisterApplicationMasterResponse()); };
  const auto is_registered = [&] {
    AmRmSession proxied(loop, names, {{"127.0.0.1", server.port()}}, kMasterToken, {},
                        Endpoint{"127.0.0.1", proxy.port()});
    const auto reply = Await<MasterReply<Registration>>([&](auto done) { proxied.Register({}, done); });
    return std::holds_alternative<Registration>(reply);
  };
  EXPECT_TRUE(is_registered());
  EXPECT_EQ(std::pair(proxy.calls.size(), server.calls.size()), std::pair(size_t{1}, size_t{0}));
  proxy.TakeOnly({"another identifier", "another", "", ""});
  EXPECT_TRUE(is_registered());
  EXPECT_EQ(std::pair(proxy.calls.size(), server.calls.size()), std::pair(size_t{1}, size_t{1}));
  server.TakeOnly({"another identifier", "another", "", ""});
  EXPECT_FALSE(is_registered());
}

TEST_F(AmRmSessionTest, AMasterThatIsRefusedBecauseItRegisteredOtherwiseBeforeCountsAsRegistered) {
  Play(server, {Refuse("YarnException", "AM should not call registerApplicationMaster with a different request body")});
  EXPECT_TRUE(std::get<Registration>(Register()).was_registered);
}

TEST_F(AmRmSessionTest, OnlyAPermanentRejectionEndsTheMasterAttempt) {
  Play(server, {Refuse("AuthorizationException", "eve is not authorized"), Refuse("YarnException", "busy"),
                Refuse("InvalidApplicationMasterRequestException", "the tracking URL is wrong"),
                Refuse("StandbyException", "not now")});
  EXPECT_THAT(std::get<AttemptOver>(Allocate()).reason, HasSubstr("AuthorizationException: eve is not authorized"));
  EXPECT_TRUE(std::holds_alternative<Error>(Allocate()));
  EXPECT_THAT(std::get<AttemptOver>(Register()).reason, HasSubstr("the tracking URL is wrong"));
  EXPECT_TRUE(std::holds_alternative<Error>(Register()));
  server.challenge_qop = "auth-new";
  server.CloseAll();
  AmRmSession fresh(loop, names, {{"127.0.0.1", server.port()}}, Token{"an identifier", "a password", "", ""});
  const auto reply = Await<MasterReply<Registration>>([&](auto done) { fresh.Register({}, done); });
  EXPECT_THAT(std::get<AttemptOver>(reply).reason, HasSubstr("hadoop.rpc.protection"));
}

TEST_F(AmRmSessionTest, AResyncCommandMeansNotRegisteredAndAShutdownCommandEndsTheMasterAttempt) {
  const auto command = [&](wire::AMCommand what) {
    return [this, what](const Call& call) {
      wire::AllocateResponse answer;
      answer.set_response_id(1);
      answer.set_a_m_command(what);
      server.Succeed(call, answer);
    };
  };
  Play(server, {command(wire::AM_RESYNC), command(wire::AM_SHUTDOWN)});
  EXPECT_TRUE(std::holds_alternative<NotRegistered>(Allocate()));
  EXPECT_TRUE(std::holds_alternative<AttemptOver>(Allocate()));
}

TEST_F(AmRmSessionTest, ARenewedTokenAuthenticatesTheNextConnection) {
  const Token next{"the next", "its password", "YARN_AM_RM_TOKEN", ""};
  Play(server, {[&](const Call& call) {
                  wire::AllocateResponse answer;
                  answer.set_response_id(1);
                  *answer.mutable_am_rm_token() = ToWire(next);
                  server.Succeed(call, answer);
                },
                Answer(2)});
  EXPECT_EQ(std::get<Allocation>(Allocate()).renewed_token, next);
  server.TakeOnly(next);
  EXPECT_TRUE(std::holds_alternative<Allocation>(Allocate()));
  EXPECT_EQ(server.connections, 1) << "a connection outlives its token";
  server.CloseAll();
  Settle();
  EXPECT_TRUE(std::holds_alternative<Allocation>(Allocate()));
  EXPECT_EQ(server.connections, 2);
}

TEST_F(AmRmSessionTest, FinishReturnsWhetherTheResourceManagerHasUnregisteredTheMaster) {
  Play(server, {[&](const Call& call) { server.Succeed(call, wire::FinishApplicationMasterResponse()); },
                [&](const Call& call) {
                  wire::FinishApplicationMasterResponse answer;
                  answer.set_isunregistered(true);
                  server.Succeed(call, answer);
                }});
  const auto finish = [&](auto done) { session.Finish(FinalStatus::kFailed, "worker:0 failed", "http://h/", done); };
  EXPECT_FALSE(std::get<bool>(Await<MasterReply<bool>>(finish)));
  EXPECT_TRUE(std::get<bool>(Await<MasterReply<bool>>(finish)));
  const auto request = RequestOf<wire::FinishApplicationMasterRequest>(server.calls.at(0));
  EXPECT_EQ(request.final_application_status(), wire::APP_FAILED);
  EXPECT_EQ(request.diagnostics(), "worker:0 failed");
}

TEST(ExpectedResponseTest, TheExpectedResponseIdIsParsedFromTheErrorMessage) {
  EXPECT_EQ(ExpectedResponse("x, expect responseId to be 5, but get 3"), 5);
  EXPECT_EQ(ExpectedResponse("expect responseId to be 2147483647"), INT32_MAX);
  for (const char* text : {"", "expect responseId to be ", "expect responseId to be -1", "expect responseId to be x",
                           "expect responseId to be 2147483648"})
    EXPECT_FALSE(ExpectedResponse(text)) << text;
}

class NmClientTest : public YarnClientsTest {
 protected:
  FakeRpcServer server{loop, kMasterToken};
  NmClient node{loop, names, {{"127.0.0.1", server.port()}, kMasterToken}};
};

TEST_F(NmClientTest, StartedAndFailedContainersAreReportedSeparately) {
  Play(server, {[&](const Call& call) {
         wire::StartContainersResponse answer;
         *answer.add_succeeded_requests() = ToWire(kContainer);
         auto& failed = *answer.add_failed_requests();
         *failed.mutable_container_id() = ToWire(ContainerId{kContainer.attempt, 3});
         failed.mutable_exception()->set_class_name(kExceptions + "YarnException");
         failed.mutable_exception()->set_message(
             "Unauthorized request to start container. \nAttempt to relaunch the same container with id x.");
         server.Succeed(call, answer);
       }});
  ContainerStart start;
  start.container_token = kMasterToken;
  start.context.command = "true";
  const auto answer = Await<Result<NodeAnswer<ContainerId>>>([&](auto done) { node.Start({start, start}, done); });
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->done, std::vector<ContainerId>{kContainer});
  ASSERT_EQ(answer->failed.size(), 1u);
  EXPECT_EQ(answer->failed[0].id.number, 3);
  EXPECT_EQ(answer->failed[0].exception, "YarnException");
  EXPECT_TRUE(answer->failed[0].IsAlreadyStarted());
  const auto request = RequestOf<wire::StartContainersRequest>(server.calls.at(0));
  ASSERT_EQ(request.start_container_request_size(), 2);
  EXPECT_EQ(request.start_container_request(0).container_token().identifier(), kMasterToken.identifier);
  EXPECT_EQ(server.calls.at(0).protocol, "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB");
}

TEST_F(NmClientTest, ContainerStatusesAndTheIdsOfStoppedContainersAreReturned) {
  Play(server, {[&](const Call& call) {
                  wire::GetContainerStatusesResponse answer;
                  auto& status = *answer.add_status();
                  *status.mutable_container_id() = ToWire(kContainer);
                  status.set_state(wire::C_RUNNING);
                  server.Succeed(call, answer);
                },
                [&](const Call& call) {
                  wire::StopContainersResponse answer;
                  *answer.add_succeeded_requests() = ToWire(kContainer);
                  server.Succeed(call, answer);
                }});
  const auto statuses =
      Await<Result<NodeAnswer<ContainerStatus>>>([&](auto done) { node.Statuses({kContainer}, done); });
  EXPECT_EQ(statuses->done.at(0).state, ContainerStatus::State::kRunning);
  const auto stopped = Await<Result<NodeAnswer<ContainerId>>>([&](auto done) { node.Stop({kContainer}, done); });
  EXPECT_EQ(stopped->done, std::vector<ContainerId>{kContainer});
  EXPECT_EQ(RequestOf<wire::StopContainersRequest>(server.calls.at(1)).container_id_size(), 1);
}

TEST_F(NmClientTest, ANodeManagerCallWithAWrongTokenFails) {
  NmClient stranger(loop, names, {{"127.0.0.1", server.port()}, Token{"an identifier", "x", "", ""}});
  const auto answer = Await<Result<NodeAnswer<ContainerId>>>([&](auto done) { stranger.Stop({kContainer}, done); });
  EXPECT_EQ(answer.error().code, ErrorCode::kNotPermitted);
}

}  // namespace
}  // namespace tony::hadoop
