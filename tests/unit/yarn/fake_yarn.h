// A ResourceManager and nodes on loopback, for tests of the clients that call them. They answer as real ones do when
// nothing fails, and a test can make them fail.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/hadoop/wire_records.h"
#include "tests/unit/hadoop/fake_rpc_server.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {

using hadoop::FakeRpcServer;
namespace wire = hadoop::wire;

inline const hadoop::Token kFakeToken{"an identifier", "a password", "", ""};
inline const std::string kYarnExceptions = "org.apache.hadoop.yarn.exceptions.";

template <class Message>
Message MessageOf(const FakeRpcServer::Call& call) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(call.request)) << call.method;
  return message;
}

// Starts and stops the containers that a call names.
class FakeNode {
 public:
  explicit FakeNode(EventLoop& loop) : server(loop, kFakeToken) {
    server.on_call = [this](const FakeRpcServer::Call& call) { On(call); };
  }
  hadoop::NodeId id() const { return {"127.0.0.1", server.port()}; }
  void GoOn() {
    is_slow = false;
    for (const FakeRpcServer::Call& call : std::exchange(waiting_, {})) On(call);
  }
  hadoop::Container Offer(int64_t number) const {
    return {.id = YarnId(number), .node = id(), .token = {std::to_string(number), "p", "", ""}};
  }

  FakeRpcServer server;
  std::set<int64_t> running, refused;
  // Executes the next start or stop, and closes the connection instead of answering.
  bool is_lost = false;
  bool is_deaf = false;            // Closes the connection, and executes nothing.
  bool is_slow = false;            // calls wait until GoOn()
  std::vector<std::string> calls;  // e.g. "start 2 3"

 private:
  void On(const FakeRpcServer::Call& call) {
    if (is_deaf) return server.CloseAll();
    if (is_slow) return waiting_.push_back(call);
    if (call.method == "startContainers") return OnStart(call);
    if (call.method == "stopContainers") return OnStop(call);
    wire::GetContainerStatusesResponse answer;
    const auto request = MessageOf<wire::GetContainerStatusesRequest>(call);
    std::string line = "statuses";
    for (const auto& container : request.container_id()) {
      line += " " + std::to_string(container.id());
      if (running.contains(container.id())) {
        *answer.add_status()->mutable_container_id() = container;
      } else {
        Fail(answer, container, "is not handled by this NodeManager");
      }
    }
    calls.push_back(line);
    server.Succeed(call, answer);
  }
  void OnStart(const FakeRpcServer::Call& call) {
    wire::StartContainersResponse answer;
    std::string line = "start";
    const auto request = MessageOf<wire::StartContainersRequest>(call);
    for (const auto& start : request.start_container_request()) {
      const int64_t number = std::stoll(start.container_token().identifier());
      line += " " + std::to_string(number);
      if (refused.contains(number)) {
        Fail(answer, hadoop::ToWire(YarnId(number)), "This token is expired");
      } else if (running.insert(number).second) {
        *answer.add_succeeded_requests() = hadoop::ToWire(YarnId(number));
      } else {
        Fail(answer, hadoop::ToWire(YarnId(number)), "Container already is running on this node!!");
      }
    }
    calls.push_back(line);
    Answer(call, answer);
  }
  void OnStop(const FakeRpcServer::Call& call) {
    wire::StopContainersResponse answer;
    std::string line = "stop";
    const auto request = MessageOf<wire::StopContainersRequest>(call);
    for (const auto& container : request.container_id()) {
      line += " " + std::to_string(container.id());
      if (running.erase(container.id()) > 0) {
        *answer.add_succeeded_requests() = container;
      } else {
        Fail(answer, container, "is not handled by this NodeManager");
      }
    }
    calls.push_back(line);
    Answer(call, answer);
  }
  void Answer(const FakeRpcServer::Call& call, const google::protobuf::MessageLite& answer) {
    if (is_lost) {
      is_lost = false;
      return server.CloseAll();
    }
    server.Succeed(call, answer);
  }
  template <class Message>
  static void Fail(Message& answer, const wire::ContainerId& container, const std::string& why) {
    auto& failed = *answer.add_failed_requests();
    *failed.mutable_container_id() = container;
    failed.mutable_exception()->set_class_name(kYarnExceptions + "YarnException");
    failed.mutable_exception()->set_message(why);
  }

  std::vector<FakeRpcServer::Call> waiting_;
};

// Grants the containers that a call requests, all on its node, in the answer to the call after it.
class FakeRm {
 public:
  FakeRm(EventLoop& loop, FakeNode& node, int port = 0) : server(loop, kFakeToken, port), node_(node) {
    server.on_call = [this](const FakeRpcServer::Call& call) { On(call); };
  }
  // The next answer reports that this container has ended.
  void End(int64_t number, int exit_status) {
    auto& ended = *next.add_completed_container_statuses();
    *ended.mutable_container_id() = hadoop::ToWire(YarnId(number));
    ended.set_state(wire::C_COMPLETE);
    ended.set_exit_status(exit_status);
  }

  FakeRpcServer server;
  // The content of the next answer, apart from grants.
  wire::AllocateResponse next;
  std::vector<wire::AllocateRequest> exchanges;
  std::set<int64_t> released;
  std::vector<wire::FinishApplicationMasterRequest> ends;
  int registrations = 0;
  bool is_granting = true, is_silent = false;
  int most_grants = 1000, granted = 0;
  int cluster_nodes = 1;
  hadoop::Resource headroom;
  std::set<std::string> avoided;
  bool has_begun_anew = false;
  // The exception that answers the next allocate call with a container request.
  std::string refusal;
  // Containers of earlier attempts that still run on the node.
  std::vector<int64_t> kept;

 private:
  void On(const FakeRpcServer::Call& call) {
    if (is_silent) return;
    if (call.method == "registerApplicationMaster") return OnRegister(call);
    if (has_begun_anew) return server.Fail(call, kYarnExceptions + "ApplicationMasterNotRegisteredException", "who?");
    if (call.method == "finishApplicationMaster") return OnFinish(call);
    const auto request = MessageOf<wire::AllocateRequest>(call);
    exchanges.push_back(request);
    // As Hadoop's ApplicationMasterService: the answer before is repeated, and the request is not read.
    if (request.response_id() + 1 == last_answer_.response_id()) return server.Succeed(call, last_answer_);
    if (request.response_id() != last_answer_.response_id())
      return server.Fail(call, kYarnExceptions + "InvalidApplicationMasterRequestException",
                         StrCat("expect responseId to be ", last_answer_.response_id(), ", but get ",
                                request.response_id()));
    if (!refusal.empty() && request.ask_size() > 0)
      return server.Fail(call, kYarnExceptions + std::exchange(refusal, ""), "not on this cluster");
    wire::AllocateResponse answer = std::exchange(next, {});
    answer.set_response_id(request.response_id() + 1);
    answer.set_num_cluster_nodes(cluster_nodes);
    *answer.mutable_limit() = hadoop::ToWire(headroom);
    const auto& blacklist = request.blacklist_request();
    avoided.insert(blacklist.blacklist_additions().begin(), blacklist.blacklist_additions().end());
    for (const std::string& host : blacklist.blacklist_removals()) avoided.erase(host);
    if (is_granting) GrantTo(answer);
    for (const auto& ask : request.ask()) {
      if (ask.resource_name() == "*") wanted_[ask.allocation_request_id()] = ask;
    }
    for (const auto& id : request.release()) {
      if (released.insert(id.id()).second) End(id.id(), -100);
    }
    last_answer_ = answer;
    server.Succeed(call, answer);
  }
  void GrantTo(wire::AllocateResponse& answer) {
    for (auto& [line, ask] : wanted_) {
      for (; ask.num_containers() > 0 && granted < most_grants; ask.set_num_containers(ask.num_containers() - 1)) {
        ++granted;
        auto& container = *answer.add_allocated_containers();
        Fill(container, ++last_container_);
        *container.mutable_resource() = ask.capability();
        container.set_allocation_request_id(line);
        FillToken(*answer.add_nm_tokens());
      }
    }
  }
  void Fill(wire::Container& container, int64_t number) const {
    const hadoop::Container offer = node_.Offer(number);
    *container.mutable_id() = hadoop::ToWire(offer.id);
    FillId(*container.mutable_nodeid());
    container.set_node_http_address("n1:8042");
    *container.mutable_container_token() = hadoop::ToWire(offer.token);
  }
  void FillToken(wire::NMToken& token) const {
    FillId(*token.mutable_nodeid());
    *token.mutable_token() = hadoop::ToWire(kFakeToken);
  }
  void FillId(wire::NodeId& id) const {
    id.set_host(node_.id().host);
    id.set_port(node_.id().port);
  }
  void OnRegister(const FakeRpcServer::Call& call) {
    ++registrations;
    if (std::exchange(is_registered_, true) && !has_begun_anew)
      return server.Fail(call, kYarnExceptions + "InvalidApplicationMasterRequestException",
                         "it is already registered");
    has_begun_anew = false;
    last_answer_ = {};
    wanted_.clear();
    wire::RegisterApplicationMasterResponse answer;
    *answer.mutable_maximumcapability() = hadoop::ToWire(hadoop::Resource{8192, 8, {}});
    answer.set_queue("root.ml");
    for (const int64_t number : kept) Fill(*answer.add_containers_from_previous_attempts(), number);
    if (!kept.empty()) FillToken(*answer.add_nm_tokens_from_previous_attempts());
    server.Succeed(call, answer);
  }
  void OnFinish(const FakeRpcServer::Call& call) {
    ends.push_back(MessageOf<wire::FinishApplicationMasterRequest>(call));
    wire::FinishApplicationMasterResponse answer;
    // A ResourceManager with a state store confirms the end only when the call is repeated.
    answer.set_isunregistered(ends.size() > 1);
    server.Succeed(call, answer);
  }

  FakeNode& node_;
  std::map<int64_t, wire::ResourceRequest> wanted_;  // by request id
  int64_t last_container_ = 1;
  wire::AllocateResponse last_answer_;
  bool is_registered_ = false;
};

}  // namespace tony
