// Names of hosts to addresses, without blocking the loop: a thread of its own asks the system's resolver, one name
// after the other. It starts with the first name that is not an address already. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"

namespace tony {

// Blocks. Numeric IPv4; kUnavailable: no such host.
Result<std::string> ResolveHost(const std::string& host);

// Outlives its queries. Its destructor waits for the question that the thread has asked, as long as resolv.conf lets
// the system's resolver take (5 s for each try at each server, as a rule).
class HostResolver {
 public:
  using OnAddress = std::function<void(Result<std::string> address)>;  // as of ResolveHost()
  using Query = std::unique_ptr<EventLoop::Handle>;                    // destroyed: nobody is told any more

  explicit HostResolver(EventLoop& loop);
  ~HostResolver();
  HostResolver(const HostResolver&) = delete;

  // Never calls from inside.
  [[nodiscard]] Query Resolve(const std::string& host, OnAddress done);

 private:
  struct State;
  EventLoop& loop_;
  std::shared_ptr<State> state_;
};

}  // namespace tony
