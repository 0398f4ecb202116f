// Cuts a byte stream into frames: four bytes of length, most significant first, then so many bytes. Pure.
//
// Holds what has come and no more: an announced length allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

inline constexpr size_t kFrameLengthSize = 4;

class FrameCutter {
 public:
  explicit FrameCutter(uint32_t max_frame) : max_frame_(max_frame) {}

  void Allow(uint32_t max_frame) { max_frame_ = max_frame; }  // from the next frame on

  void Add(std::string_view bytes);
  // The next whole frame without its length, valid until the next call of Add or Next; nothing if more bytes are
  // needed. kInvalid for a length of zero or above the maximum: there is no next frame in this stream any more.
  Result<std::optional<std::string_view>> Next();
  size_t capacity() const { return buffer_.capacity(); }

 private:
  uint32_t max_frame_;
  std::string buffer_;
  size_t begin_ = 0;  // of what has not been handed out
};

}  // namespace tony
