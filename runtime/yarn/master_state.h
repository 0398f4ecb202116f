// The state that a process of an application master (AM) leaves to the next process of the same YARN attempt. The
// ResourceManager (RM) sends tokens and grants to an attempt only once, so a process that dies would take them along.
// Values; pure functions. Never log them: a token is as good as a password.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/yarn_records.h"

namespace tony {

struct MasterState {
  struct Held {
    // Only id, node, node_http and token are kept.
    hadoop::Container container;
    bool is_running = false;  // its node has confirmed the start
  };
  // The newest token for the RM; nullopt if the RM has not renewed the token of the container.
  std::optional<hadoop::Token> rm_token;
  std::map<hadoop::NodeId, hadoop::Token> node_tokens;
  // Every container that was granted and has not ended.
  std::vector<Held> held;
};

std::string EncodeMasterState(const MasterState& state);
// kInvalid: the bytes are not a state. The message quotes none of them.
Result<MasterState> DecodeMasterState(std::string_view bytes);

}  // namespace tony
