#include "runtime/yarn/master_state.h"

#include <gtest/gtest.h>

#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {
namespace {

const hadoop::Token kToken{std::string("a\0b", 3), "password", "NMToken", "10.0.0.1:8041"};

TEST(MasterStateTest, TheDecodedStateIsTheEncodedOne) {
  MasterState state{.rm_token = kToken, .node_tokens = {{{"n1", 8041}, kToken}, {{"n1", 8042}, {}}}};
  state.held = {{{.id = YarnId(2), .node = {"n1", 8041}, .node_http = "n1:8042", .token = kToken}, true},
                {{.id = YarnId(3), .node = {"n2", 8041}}, false}};
  const auto decoded = DecodeMasterState(EncodeMasterState(state));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->rm_token, state.rm_token);
  EXPECT_EQ(decoded->node_tokens, state.node_tokens);
  ASSERT_EQ(decoded->held.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(decoded->held[i].container.id, state.held[i].container.id);
    EXPECT_EQ(decoded->held[i].container.node, state.held[i].container.node);
    EXPECT_EQ(decoded->held[i].container.node_http, state.held[i].container.node_http);
    EXPECT_EQ(decoded->held[i].container.token, state.held[i].container.token);
    EXPECT_EQ(decoded->held[i].is_running, state.held[i].is_running);
  }
  EXPECT_FALSE(DecodeMasterState(EncodeMasterState({}))->rm_token);
}

TEST(MasterStateTest, ADamagedStateIsAnErrorThatQuotesNoToken) {
  const std::string good = EncodeMasterState({.rm_token = kToken});
  for (size_t length = 0; length < good.size(); ++length) {
    const auto decoded = DecodeMasterState(good.substr(0, length));
    EXPECT_TRUE(decoded.ok() || decoded.error().message.find("password") == std::string::npos) << length;
  }
  for (const char* alias : {"", "node n1", "node n1 x", "node n1 65536", "held c n1 8041 running ",
                            "held container_1700000000000_0001_01_000002 n1 -1 running ", "else n1 8041"}) {
    const auto decoded = DecodeMasterState(hadoop::EncodeCredentials({.tokens = {{alias, kToken}}, .secrets = {}}));
    ASSERT_FALSE(decoded.ok()) << alias;
    EXPECT_EQ(decoded.error().message, "an entry of the attempt's state is malformed");
  }
}

}  // namespace
}  // namespace tony
