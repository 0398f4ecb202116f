// Thrift messages in frames: binary protocol, strict, bounded by the frame they came in. For the sources of this
// folder, which alone know Thrift.
#pragma once

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"

namespace tony {

struct MessageHeader {
  std::string method;
  apache::thrift::protocol::TMessageType type = apache::thrift::protocol::T_CALL;
  int32_t seq = 0;
};

// Reads one message: the header, then the body. The frame must outlive it. kInvalid: not such a message.
class MessageReader {
 public:
  explicit MessageReader(std::string_view frame);
  Result<MessageHeader> ReadHeader();
  template <class Body>  // a generated struct, or TApplicationException
  Status ReadBody(Body& body) {
    return Guard([&] { body.read(&protocol_); });
  }

 private:
  template <class Read>
  Status Guard(const Read& read) {
    try {
      read();
    } catch (const std::exception& error) {
      return InvalidError(error.what());
    }
    return Ok();
  }

  std::shared_ptr<apache::thrift::transport::TMemoryBuffer> buffer_;
  apache::thrift::protocol::TBinaryProtocol protocol_;
};

// Builds one frame, the length in front: one buffer, one write to the socket.
class MessageWriter {
 public:
  explicit MessageWriter(const MessageHeader& header);
  template <class Body>
  std::string Write(const Body& body) {
    body.write(&protocol_);
    return Finish();
  }

 private:
  std::string Finish();

  std::shared_ptr<apache::thrift::transport::TMemoryBuffer> buffer_;
  apache::thrift::protocol::TBinaryProtocol protocol_;
};

template <class Body>
std::string WriteMessage(const MessageHeader& header, const Body& body) {
  return MessageWriter(header).Write(body);
}

// One call that has come and awaits its answer.

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
