// A peer's bytes, which arrive in pieces and are cut into frames.
#pragma once

#include <algorithm>
#include <string_view>

#include "runtime/net/frame_connection.h"

namespace tony::fuzz {

// The first byte of `input`, which must not be empty, sets the length of the pieces. Returns false if the bytes are not
// a frame.
template <class OnFrame>
bool ForEachFrame(std::string_view input, size_t most, OnFrame on_frame) {
  const size_t piece = 1 + static_cast<unsigned char>(input.front()) * 16;
  FrameCutter cutter(most);
  for (input.remove_prefix(1); !input.empty(); input.remove_prefix(std::min(piece, input.size()))) {
    cutter.Add(input.substr(0, piece));
    for (;;) {
      const auto frame = cutter.Next();
      if (!frame.ok()) return false;
      if (!*frame) break;
      on_frame(**frame);
    }
  }
  return true;
}

}  // namespace tony::fuzz
