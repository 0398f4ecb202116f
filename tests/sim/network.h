// Calls of executors to AMs. A call takes time, may be lost with its connection, may arrive twice, and may be cut off.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <variant>

#include "am/core/step.h"
#include "runtime/base/endpoint.h"
#include "runtime/job/cluster_spec.h"
#include "tests/sim/stage.h"

namespace tony::sim {

struct AwaitQuestion {
  am::AwaitCall call;
  int64_t since = 0;
};
using Question = std::variant<am::RegisterCall, AwaitQuestion, am::HeartbeatCall, am::PublishCall, am::OutcomeCall>;
using Reply = std::variant<Epoch, Command, std::monostate, Refusal>;  // monostate: acknowledged

struct CallId {
  int64_t connection = 0;
  int64_t call = 0;
};

// The two ends of a connection. Both live as long as the run.
class AskingEnd {
 public:
  virtual ~AskingEnd() = default;
  virtual void Answered(int64_t link, const Question& question, Instant asked, const Reply& reply) = 0;
  virtual void Disconnected(int64_t link) = 0;
};
class AnsweringEnd {
 public:
  virtual ~AnsweringEnd() = default;
  virtual void Asked(const CallId& call, const Question& question) = 0;
  virtual void Abandoned(int64_t connection) = 0;
};

class Network {
 public:
  explicit Network(Stage& stage) : stage_(stage), random_(stage.random.Fork()) {}

  void Listen(const Address& am, AnsweringEnd& end) { listeners_[am] = &end; }
  // Breaks all connections to `am` because its process has exited.
  void StopListening(const Address& am);

  int64_t Open(AskingEnd& client, const ContainerId& place, int64_t link, const Address& am);
  // The client has given up the connection.
  void Close(int64_t connection);
  void Ask(int64_t connection, const Question& question);
  void Answer(const CallId& call, const Reply& reply);

  void Cut(const ContainerId& place, Duration length, CutNetwork::Direction direction = CutNetwork::Direction::kBoth);

 private:
  struct Connection {
    AskingEnd* client;
    ContainerId place;
    int64_t link;
    Address am;
    bool open = true;
    // The last arrival in each direction: messages of a connection arrive in order.
    Instant last_there, last_back;
    // The calls without an answer, and the time of each.
    std::map<int64_t, std::pair<Question, Instant>> unanswered;
  };
  // The end of each cut, for requests and for answers.
  struct Cuts {
    Instant there{}, back{};
  };
  void Arrive(const CallId& call, const Question& question);
  void Return(const CallId& call, const Reply& reply);
  void Break(int64_t id, Duration longest);
  void Disconnect(int64_t id, Duration delay);
  void Abandon(int64_t id);
  Instant ArrivalAfter(Instant& last);
  bool IsCutThere(const Connection& connection) const { return IsCut(connection, &Cuts::there); }
  bool IsCutBack(const Connection& connection) const { return IsCut(connection, &Cuts::back); }
  bool IsCut(const Connection& connection, Instant Cuts::*way) const;
  bool IsLost() { return stage_.MayFail() && random_.Chance(stage_.plan.network.loss); }

  Stage& stage_;
  Random random_;
  std::map<Address, AnsweringEnd*> listeners_;
  std::map<int64_t, Connection> connections_;
  std::map<ContainerId, Cuts> cuts_;
  int64_t last_connection_ = 0;
  int64_t last_call_ = 0;
};

}  // namespace tony::sim
