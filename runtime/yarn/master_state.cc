#include "runtime/yarn/master_state.h"

#include "runtime/base/strings.h"

namespace tony {
namespace {

// The state is a set of tokens, whose aliases hold the other values:
//
//   rm                                         the token for the RM
//   node HOST PORT                             the token for a node
//   held CONTAINER HOST PORT running|granted NODE_HTTP
constexpr const char* kRm = "rm";
constexpr const char* kNode = "node";
constexpr const char* kHeld = "held";
constexpr const char* kRunning = "running";

std::optional<hadoop::NodeId> NodeIn(const std::string& host, const std::string& port) {
  const auto number = ParseInt(port);
  if (!number || *number < 0 || *number > 65535) return std::nullopt;
  return hadoop::NodeId{host, static_cast<int>(*number)};
}

bool Take(const std::string& alias, const hadoop::Token& token, MasterState& state) {
  const std::vector<std::string> words = Split(alias, ' ');
  if (alias == kRm) {
    state.rm_token = token;
    return true;
  }
  if (words[0] == kNode && words.size() == 3) {
    const auto node = NodeIn(words[1], words[2]);
    if (node) state.node_tokens[*node] = token;
    return node.has_value();
  }
  if (words[0] != kHeld || words.size() != 6) return false;
  const auto id = hadoop::ParseContainerId(words[1]);
  const auto node = NodeIn(words[2], words[3]);
  if (!id || !node) return false;
  hadoop::Container container{.id = *id, .node = *node, .node_http = words[5], .token = token};
  state.held.push_back({std::move(container), words[4] == kRunning});
  return true;
}

}  // namespace

std::string EncodeMasterState(const MasterState& state) {
  hadoop::Credentials credentials;
  if (state.rm_token) credentials.tokens[kRm] = *state.rm_token;
  for (const auto& [node, token] : state.node_tokens)
    credentials.tokens[StrCat(kNode, " ", node.host, " ", node.port)] = token;
  for (const auto& [container, is_running] : state.held)
    credentials.tokens[StrCat(kHeld, " ", ToString(container.id), " ", container.node.host, " ", container.node.port,
                              " ", is_running ? kRunning : "granted", " ", container.node_http)] = container.token;
  return EncodeCredentials(credentials);
}

Result<MasterState> DecodeMasterState(std::string_view bytes) {
  TRY_ASSIGN(const hadoop::Credentials credentials, hadoop::DecodeCredentials(bytes));
  MasterState state;
  for (const auto& [alias, token] : credentials.tokens)
    if (!Take(alias, token, state)) return InvalidError("an entry of the attempt's state is malformed");
  return state;
}

}  // namespace tony
