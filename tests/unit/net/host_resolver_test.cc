#include "runtime/net/host_resolver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <set>

#include "tests/support/run_until.h"
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

TEST_F(HostResolverTest, AnAddressResolvesToItselfAndLocalhostToLoopback) {
  EXPECT_EQ(*Resolve("10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(*Resolve("localhost"), "127.0.0.1");
}

TEST_F(HostResolverTest, AFailedLookupReturnsUnavailableWithTheHostName) {
  const auto address = Resolve("bad name");
  EXPECT_EQ(address.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(address.error().message.find("resolve bad name: "), 0u) << address.error().message;
}

TEST_F(HostResolverTest, ADestroyedQueryIsNeverAnswered) {
  bool told = false;
  for (const char* host : {"10.1.2.3", "localhost"}) {
    auto query = names.Resolve(host, [&](const Result<std::string>&) { told = true; });
    query.reset();
  }
  Settle();
  EXPECT_FALSE(told);
}

// Stands for the system's resolver. A lookup of a name that begins with "hangs" waits until the test ends.
class HangingLookup {
 public:
  ~HangingLookup() { end_.set_value(); }
  HostResolver::Lookup Function() {
    return [ended = end_.get_future().share()](const std::string& host) -> Result<std::string> {
      if (host.starts_with("hangs")) ended.wait();
      return host + "'s address";
    };
  }

 private:
  std::promise<void> end_;
};

TEST_F(HostResolverTest, AHangingLookupDelaysNeitherOtherLookupsNorTheDestructionOfTheResolver) {
  HangingLookup lookup;
  bool told = false;
  {
    HostResolver hanging(loop, lookup.Function());
    const auto query = hanging.Resolve("hangs", [&](const Result<std::string>&) { told = true; });
    std::optional<Result<std::string>> answer;
    const auto other = hanging.Resolve("other", [&](Result<std::string> address) {
      answer = std::move(address);
      loop.Stop();
    });
    Run();
    ASSERT_TRUE(answer);
    EXPECT_EQ(**answer, "other's address");
  }
  Settle();
  EXPECT_FALSE(told);
}

TEST_F(HostResolverTest, AtMost8LookupsRunAtTheSameTime) {
  std::mutex mutex;
  int most = 0, now = 0;
  HostResolver few(loop, [&](const std::string& host) -> Result<std::string> {
    {
      const std::lock_guard lock(mutex);
      most = std::max(most, ++now);
    }
    std::this_thread::yield();
    const std::lock_guard lock(mutex);
    --now;
    return host;
  });
  std::set<std::string> told;
  std::vector<HostResolver::Query> queries;
  for (int i = 0; i < 100; ++i) {
    queries.push_back(few.Resolve("node" + std::to_string(i), [&](const Result<std::string>& address) {
      told.insert(*address);
      if (told.size() == 100) loop.Stop();
    }));
  }
  Run();
  EXPECT_EQ(told.size(), 100u);
  EXPECT_LE(most, 8);
}

TEST_F(HostResolverTest, ADestroyedQueryBehind8HangingLookupsIsNeverAnswered) {
  HangingLookup lookup;
  HostResolver hanging(loop, lookup.Function());
  std::vector<HostResolver::Query> queries;
  for (int i = 0; i < 8; ++i)  // as many as there are threads
    queries.push_back(hanging.Resolve("hangs" + std::to_string(i), [](const Result<std::string>&) {}));
  bool told = false;
  auto dropped = hanging.Resolve("other", [&](const Result<std::string>&) { told = true; });
  dropped.reset();
  Settle();
  EXPECT_FALSE(told);
}

TEST_F(HostResolverTest, ALaterLookupReplacesTheAddressOfAHostIfTheAddressHasChanged) {
  // A lookup may continue after the test, so the counter is shared.
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const auto lookup = [asked](const std::string&) -> Result<std::string> {
    return std::string(++*asked == 1 ? "10.0.0.1" : "10.0.0.2");
  };
  HostAddress proxy(loop, "proxy", lookup, Duration(0));
  EXPECT_TRUE(proxy.Is("10.0.0.1"));
  EXPECT_EQ(*asked, 1);
  EXPECT_FALSE(proxy.Is("10.0.0.2"));
  EXPECT_TRUE(RunUntil(loop, [&] { return *proxy.known() == "10.0.0.2"; }));
  EXPECT_TRUE(proxy.Is("10.0.0.2"));
  EXPECT_FALSE(proxy.Is("10.0.0.1"));
}

TEST_F(HostResolverTest, AFailedLookupKeepsTheLastKnownAddress) {
  // A lookup may continue after the test, so the counter is shared.
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const auto lookup = [asked](const std::string&) -> Result<std::string> {
    if (++*asked == 1) return std::string("10.0.0.1");
    return Error{ErrorCode::kUnavailable, "no answer"};
  };
  HostAddress proxy(loop, "proxy", lookup, Duration(0));
  EXPECT_FALSE(proxy.Is("10.0.0.9"));
  EXPECT_TRUE(RunUntil(loop, [&] { return *asked == 2; }));
  Settle();
  EXPECT_TRUE(proxy.Is("10.0.0.1"));
}

}  // namespace
}  // namespace tony
