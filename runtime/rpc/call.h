// One call that has come and awaits its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/rpc/wire.h"

namespace tony {

class Call;

// Where a call came from: its connection, or a test.
class CallOrigin {
 public:
  virtual ~CallOrigin() = default;
  // The call is over: `message` is its answer, or empty when it was dropped without one.
  virtual void CallEnded(Call& call, std::string message) = 0;
  // The call had the job's token: whoever is there is no stranger any more.
  virtual void CallerKnown() {}
  // The user at the other end, where it is another than our own; see OtherUser().
  virtual std::string OtherUserThere() const { return ""; }
};

// Open until it is answered, abandoned or destroyed. Its origin keeps nothing alive and need not outlive it.
class Call {
 public:
  Call(EventLoop& loop, std::weak_ptr<CallOrigin> origin, std::string method, int32_t seq)
      : loop_(loop), origin_(std::move(origin)), method_(std::move(method)), seq_(seq) {}
  ~Call() { End({}); }
  Call(const Call&) = delete;

  template <class ResultStruct>
  void Answer(const ResultStruct& result) {
    if (state_ == State::kOpen) End(WriteMessage({method_, apache::thrift::protocol::T_REPLY, seq_}, result));
  }
  enum class Fault { kUnknownMethod, kInternal };
  void Fail(Fault fault, const std::string& message);  // answers with a TApplicationException
  // `fn` runs once if no answer can be given any more; see Reply. Never inside this call.
  void OnAbandoned(std::function<void()> fn);
  void Abandon();  // the origin is about to go

  void CallerKnown() const {
    if (const auto origin = origin_.lock()) origin->CallerKnown();
  }
  std::string OtherUserThere() const {
    const auto origin = origin_.lock();
    return origin ? origin->OtherUserThere() : "";
  }

  const std::string& method() const { return method_; }

 private:
  enum class State { kOpen, kEnded, kAbandoned };
  void End(std::string message);

  EventLoop& loop_;
  std::weak_ptr<CallOrigin> origin_;
  std::string method_;
  int32_t seq_;
  State state_ = State::kOpen;
  std::function<void()> on_abandoned_;
};

}  // namespace tony
