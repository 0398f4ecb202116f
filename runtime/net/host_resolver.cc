#include "runtime/net/host_resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <utility>

#include "runtime/base/side_thread.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

bool IsNumeric(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

}  // namespace

Result<std::string> ResolveHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0)
    return Error{ErrorCode::kUnavailable, StrCat("resolve ", host, ": ", ToLower(::gai_strerror(error)))};
  char text[INET_ADDRSTRLEN] = "";
  const auto* address = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
  ::freeaddrinfo(found);
  return std::string(text);
}

struct HostResolver::State {
  explicit State(EventLoop& loop) : asking(loop) {}

  SideThread::Then Answer(uint64_t id, Result<std::string> address) {
    return [this, id, address = std::move(address)] {
      const auto found = waiting.find(id);
      if (found == waiting.end()) return;
      const OnAddress done = std::move(found->second);
      waiting.erase(found);
      done(address);
    };
  }

  uint64_t last_id = 0;
  std::map<uint64_t, OnAddress> waiting;
  SideThread asking;
};

HostResolver::HostResolver(EventLoop& loop) : loop_(loop), state_(std::make_shared<State>(loop)) {}
HostResolver::~HostResolver() = default;

HostResolver::Query HostResolver::Resolve(const std::string& host, OnAddress done) {
  struct Waiting : EventLoop::Handle {
    Waiting(std::weak_ptr<State> its_state, uint64_t its_id) : state(std::move(its_state)), id(its_id) {}
    ~Waiting() override {
      if (const auto alive = state.lock()) alive->waiting.erase(id);
    }
    std::weak_ptr<State> state;
    uint64_t id;
  };
  const uint64_t id = ++state_->last_id;
  state_->waiting[id] = std::move(done);
  if (IsNumeric(host)) {
    loop_.Post([alive = std::weak_ptr(state_), id, host] {
      if (const auto state = alive.lock()) state->Answer(id, host)();
    });
  } else {
    state_->asking.Do([state = state_.get(), id, host] { return state->Answer(id, ResolveHost(host)); });
  }
  return std::make_unique<Waiting>(state_, id);
}

}  // namespace tony
