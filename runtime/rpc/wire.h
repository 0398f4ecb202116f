// Thrift messages in frames: binary protocol, strict, bounded by the frame they came in. For the sources of this
// folder, which alone know Thrift.
#pragma once

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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
      return Error{ErrorCode::kInvalid, error.what()};
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

}  // namespace tony
