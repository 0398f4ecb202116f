// Resolves names of hosts to addresses without blocking the loop. Threads of the resolver query the system's resolver
// for a few names at a time, so a name that hangs does not delay the others. No thread is started for a numeric
// address. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

// Returns the numeric IPv4 address of a host. Blocks until the system's resolver answers or gives up, by default after
// 5 s for each try at each server (resolv.conf). kUnavailable: the name does not resolve.
Result<std::string> ResolveHost(const std::string& host);

// A HostResolver must outlive its queries. Neither its destructor nor the exit of the process waits for a running
// lookup. The thread of such a lookup is left behind: it does not use the resolver any more, and ends when the lookup
// ends.
class HostResolver {
 public:
  using OnAddress = std::function<void(Result<std::string> address)>;  // result of ResolveHost()
  using Query = std::unique_ptr<EventLoop::Handle>;                    // destroying it cancels the callback
  // A Lookup may be called on any thread, and on several threads at a time.
  using Lookup = std::function<Result<std::string>(const std::string& host)>;

  explicit HostResolver(EventLoop& loop, Lookup lookup = ResolveHost);
  ~HostResolver();
  HostResolver(const HostResolver&) = delete;

  // Resolves `host`, and calls `done` with the result later, never from inside Resolve().
  [[nodiscard]] Query Resolve(const std::string& host, OnAddress done);

 private:
  struct State;
  EventLoop& loop_;
  std::shared_ptr<State> state_;  // shared with the threads
};

// Decides whether an address belongs to a given host. The address of the host may change. Loop thread only.
class HostAddress {
 public:
  // Resolves `host`. Blocks until the result is known, as ResolveHost() does.
  HostAddress(EventLoop& loop, std::string host, HostResolver::Lookup lookup = ResolveHost,
              Duration ask_again = Duration(5000));

  const Result<std::string>& known() const { return known_; }
  // Returns whether `address` is the host's. If not, the name is resolved again in the background, at most once in
  // `ask_again`. Therefore a host with a new address is refused only for a short time.
  bool Is(const std::string& address);

 private:
  void ResolveAgain();

  EventLoop& loop_;
  const std::string host_;
  const Duration ask_again_;
  Result<std::string> known_;
  Instant asked_;
  HostResolver resolver_;
  HostResolver::Query query_;  // declared after resolver_: destroyed first
};

}  // namespace tony
