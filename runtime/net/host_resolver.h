// Names of hosts to addresses, without blocking the loop: threads beside it ask the system's resolver, a few names at a
// time, so that one which hangs does not keep the others. None is begun for what is an address already. Loop thread
// only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

// Blocks, as long as resolv.conf lets the system's resolver take: 5 s for each try at each server, as a rule. Numeric
// IPv4; kUnavailable: no such host.
Result<std::string> ResolveHost(const std::string& host);

// Outlives its queries. Nobody waits for a question under way: neither the destructor nor the end of the process. A
// thread that asks one then is left to itself. It touches nothing of the resolver, and ends with its answer.
class HostResolver {
 public:
  using OnAddress = std::function<void(Result<std::string> address)>;          // as of ResolveHost()
  using Query = std::unique_ptr<EventLoop::Handle>;                            // destroyed: nobody is told any more
  using Lookup = std::function<Result<std::string>(const std::string& host)>;  // any thread, several at a time

  explicit HostResolver(EventLoop& loop, Lookup lookup = ResolveHost);
  ~HostResolver();
  HostResolver(const HostResolver&) = delete;

  // Never calls from inside.
  [[nodiscard]] Query Resolve(const std::string& host, OnAddress done);

 private:
  struct State;
  EventLoop& loop_;
  std::shared_ptr<State> state_;  // with the threads
};

// Tells callers at the address of a host from others. The host may get another address. Loop thread only.
class HostAddress {
 public:
  // Blocks as ResolveHost() does, once.
  HostAddress(EventLoop& loop, std::string host, HostResolver::Lookup lookup = ResolveHost,
              Duration ask_again = Duration(5000));

  const Result<std::string>& known() const { return known_; }
  // After a no the name is asked for again, beside the loop and each `ask_again` at most: who is refused because the
  // host has a new address is admitted soon.
  bool Is(const std::string& address);

 private:
  void AskAgain();

  EventLoop& loop_;
  const std::string host_;
  const Duration ask_again_;
  Result<std::string> known_;
  Instant asked_;
  HostResolver resolver_;
  HostResolver::Query query_;  // after the resolver
};

}  // namespace tony
