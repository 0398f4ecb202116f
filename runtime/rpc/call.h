// Thrift messages in frames: the strict binary protocol, with sizes limited by the frame. Only the sources of this
// folder include this file, because no other code knows Thrift.
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

// Reads a message: the header, followed by the body. The frame must outlive the reader. Both functions return kInvalid
// if the bytes are malformed.
class MessageReader {
 public:
  explicit MessageReader(std::string_view frame);
  Result<MessageHeader> ReadHeader();
  // `Body` is a generated struct or TApplicationException.
  template <class Body>
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

// Builds a frame, which begins with its length. The whole frame is in one buffer, so that one write to the socket is
// enough.
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

// A call that has arrived and waits for its answer.

class Call;

// The origin of a call: a connection, or a test.
class CallOrigin {
 public:
  virtual ~CallOrigin() = default;
  // Called when a call has ended. `message` is the answer; empty if the call was dropped without an answer.
  virtual void CallEnded(Call& call, std::string message) = 0;
  // Called when a call has contained the job's token, so that the connection no longer counts as a stranger
  // (rpc_server.h).
  virtual void CallerKnown() {}
  // Returns the name of the caller's user if this is not the process's own user; empty otherwise (OtherUser()).
  virtual std::string PeerUserIfOther() const { return ""; }
};

// A call is open until it is answered, abandoned or destroyed. A Call does not keep its origin alive, and the origin
// may be destroyed first.
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
  void Fail(Fault fault, const std::string& message);  // Answers with a TApplicationException.
  // Sets `fn`, which runs once if an answer is not possible any more, as Reply::OnAbandoned() describes. `fn` never
  // runs inside this function.
  void OnAbandoned(std::function<void()> fn);
  void Abandon();  // Called before the origin is destroyed.

  void CallerKnown() const {
    if (const auto origin = origin_.lock()) origin->CallerKnown();
  }
  std::string PeerUserIfOther() const {
    const auto origin = origin_.lock();
    return origin ? origin->PeerUserIfOther() : "";
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
