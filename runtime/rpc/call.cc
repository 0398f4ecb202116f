#include "runtime/rpc/call.h"

#include <thrift/TApplicationException.h>

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/net/frame_connection.h"

namespace tony {
namespace {

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TMemoryBuffer;

// The longest name of a method in bytes, which is far above the names of TonY's methods. The length is limited, because
// the server sends the name of an unknown method back.
constexpr size_t kLongestMethod = 64;

std::shared_ptr<TMemoryBuffer> Observe(std::string_view frame) {
  // The const_cast is safe, because Thrift only reads an observed buffer.
  auto* bytes = reinterpret_cast<uint8_t*>(const_cast<char*>(frame.data()));
  return std::make_shared<TMemoryBuffer>(bytes, static_cast<uint32_t>(frame.size()), TMemoryBuffer::OBSERVE);
}

}  // namespace

// Thrift's limits for strings and containers are set to the size of the frame. Without limits Thrift would allocate and
// clear any length that a few bytes of garbage announce.
MessageReader::MessageReader(std::string_view frame)
    : buffer_(Observe(frame)),
      protocol_(buffer_, static_cast<int32_t>(frame.size()), static_cast<int32_t>(frame.size()), true, true) {}

Result<MessageHeader> MessageReader::ReadHeader() {
  MessageHeader header;
  TRY(Guard([&] { protocol_.readMessageBegin(header.method, header.type, header.seq); }));
  if (header.method.size() > kLongestMethod) return InvalidError("method name too long");
  return header;
}

MessageWriter::MessageWriter(const MessageHeader& header)
    : buffer_(std::make_shared<TMemoryBuffer>()), protocol_(buffer_, 0, 0, true, true) {
  constexpr uint8_t kLengthToCome[kFrameLengthSize] = {};
  buffer_->write(kLengthToCome, kFrameLengthSize);
  protocol_.writeMessageBegin(header.method, header.type, header.seq);
}

std::string MessageWriter::Finish() {
  protocol_.writeMessageEnd();
  std::string frame = buffer_->getBufferAsString();
  const size_t length = frame.size() - kFrameLengthSize;
  for (size_t i = 0; i < kFrameLengthSize; ++i)
    frame[i] = static_cast<char>(length >> (8 * (kFrameLengthSize - 1 - i)));
  return frame;
}

using apache::thrift::TApplicationException;

void Call::Fail(Fault fault, const std::string& message) {
  if (state_ != State::kOpen) return;
  const auto type =
      fault == Fault::kUnknownMethod ? TApplicationException::UNKNOWN_METHOD : TApplicationException::INTERNAL_ERROR;
  End(WriteMessage({method_, apache::thrift::protocol::T_EXCEPTION, seq_}, TApplicationException(type, message)));
}

void Call::OnAbandoned(std::function<void()> fn) {
  if (state_ == State::kOpen) on_abandoned_ = std::move(fn);
  if (state_ == State::kAbandoned) loop_.Post(std::move(fn));
}

void Call::Abandon() {
  if (state_ != State::kOpen) return;
  state_ = State::kAbandoned;
  const auto fn = std::exchange(on_abandoned_, nullptr);
  if (fn) fn();  // may destroy this call
}

void Call::End(std::string message) {
  if (state_ != State::kOpen) return;
  state_ = State::kEnded;
  on_abandoned_ = nullptr;
  if (const auto origin = origin_.lock()) origin->CallEnded(*this, std::move(message));
}

}  // namespace tony
