#include "runtime/net/frame_cutter.h"

#include "runtime/base/strings.h"

namespace tony {
namespace {

// Thousands of connections are idle most of the time; an idle one keeps no buffer of a large frame.
constexpr size_t kKeptCapacity = 4096;

uint32_t ReadLength(std::string_view bytes) {
  uint32_t length = 0;
  for (const char byte : bytes.substr(0, kFrameLengthSize)) length = length << 8 | static_cast<unsigned char>(byte);
  return length;
}

}  // namespace

void FrameCutter::Add(std::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_.append(bytes);
}

Result<std::optional<std::string_view>> FrameCutter::Next() {
  std::optional<std::string_view> frame;
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.empty() && buffer_.capacity() > kKeptCapacity) {
    std::string().swap(buffer_);
    begin_ = 0;
  }
  if (rest.size() < kFrameLengthSize) return frame;
  const uint32_t length = ReadLength(rest);
  if (length == 0 || length > max_frame_) {
    if (rest.starts_with("HTTP")) return Error{ErrorCode::kInvalid, "HTTP where frames were expected"};
    return Error{ErrorCode::kInvalid, StrCat("frame of ", length, " bytes, expected 1 to ", max_frame_)};
  }
  if (rest.size() - kFrameLengthSize < length) return frame;
  begin_ += kFrameLengthSize + length;
  frame = rest.substr(kFrameLengthSize, length);
  return frame;
}

}  // namespace tony
