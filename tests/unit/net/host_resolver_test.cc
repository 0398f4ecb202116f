#include "runtime/net/host_resolver.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/base/event_loop_fixture.h"

namespace tony {
namespace {

class HostResolverTest : public EventLoopTest {
 protected:
  Result<std::string> Resolve(const std::string& host) {
    std::optional<Result<std::string>> answer;
    const auto query = names.Resolve(host, [&](Result<std::string> address) {
      answer = std::move(address);
      loop.Stop();
    });
    EXPECT_FALSE(answer) << "called from inside";
    Run();
    return answer ? *answer : Result<std::string>(Error{ErrorCode::kInternal, "no answer"});
  }
  HostResolver names{loop};
};

TEST_F(HostResolverTest, AnAddressIsItsOwnAndThisMachineHasOne) {
  EXPECT_EQ(*Resolve("10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(*Resolve("localhost"), "127.0.0.1");
}

TEST_F(HostResolverTest, AnUnknownHostIsNamed) {
  const auto address = Resolve("bad name");
  EXPECT_EQ(address.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(address.error().message.find("resolve bad name: "), 0u) << address.error().message;
}

TEST_F(HostResolverTest, NobodyIsToldOnceTheQueryIsDropped) {
  bool told = false;
  for (const char* host : {"10.1.2.3", "localhost"}) {
    auto query = names.Resolve(host, [&](const Result<std::string>&) { told = true; });
    query.reset();
  }
  Settle();
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace tony
