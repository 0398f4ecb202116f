#include "runtime/net/host_resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// The largest number of threads. Several are needed, because an AM may need the addresses of a thousand nodes at once.
constexpr int kMostThreads = 8;

bool IsNumeric(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

}  // namespace

struct HostResolver::State {
  struct Question {
    uint64_t id;
    std::string host;
  };

  State(EventLoop& its_loop, Lookup its_lookup) : lookup(std::move(its_lookup)), loop(&its_loop) {}

  void Tell(uint64_t id, const Result<std::string>& address) {
    const auto found = waiting.find(id);
    if (found == waiting.end()) return;
    const OnAddress done = std::move(found->second);
    waiting.erase(found);
    done(address);
  }
  void Forget(uint64_t id) {
    waiting.erase(id);
    const std::lock_guard lock(mutex);
    std::erase_if(unasked, [id](const Question& question) { return question.id == id; });
  }
  static void AskAll(const std::shared_ptr<State>& state);

  const Lookup lookup;
  // `last_id` and `waiting` are used on the loop's thread only.
  uint64_t last_id = 0;
  std::map<uint64_t, OnAddress> waiting;
  std::mutex mutex;  // guards all members below
  // null after the resolver has been destroyed, because the loop may have been destroyed, too.
  EventLoop* loop;
  std::deque<Question> unasked;
  int threads = 0;
};

void HostResolver::State::AskAll(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (!state->unasked.empty()) {
    const Question question = std::move(state->unasked.front());
    state->unasked.pop_front();
    lock.unlock();
    auto address = state->lookup(question.host);
    lock.lock();
    if (state->loop == nullptr) return;
    state->loop->Post([state, id = question.id, address = std::move(address)] { state->Tell(id, address); });
  }
  --state->threads;
}

HostResolver::HostResolver(EventLoop& loop, Lookup lookup)
    : loop_(loop), state_(std::make_shared<State>(loop, std::move(lookup))) {}

HostResolver::~HostResolver() {
  state_->waiting.clear();
  const std::lock_guard lock(state_->mutex);
  state_->unasked.clear();
  state_->loop = nullptr;
}

HostResolver::Query HostResolver::Resolve(const std::string& host, OnAddress done) {
  struct Waiting : EventLoop::Handle {
    Waiting(std::shared_ptr<State> its_state, uint64_t its_id) : state(std::move(its_state)), id(its_id) {}
    ~Waiting() override { state->Forget(id); }
    std::shared_ptr<State> state;
    uint64_t id;
  };
  const uint64_t id = ++state_->last_id;
  state_->waiting[id] = std::move(done);
  if (IsNumeric(host)) {
    loop_.Post([state = state_, id, host] { state->Tell(id, host); });
    return std::make_unique<Waiting>(state_, id);
  }
  const std::lock_guard lock(state_->mutex);
  state_->unasked.push_back({id, host});
  if (state_->threads < kMostThreads) {
    ++state_->threads;
    std::thread(State::AskAll, state_).detach();
  }
  return std::make_unique<Waiting>(state_, id);
}

HostAddress::HostAddress(EventLoop& loop, std::string host, HostResolver::Lookup lookup, Duration ask_again)
    : loop_(loop),
      host_(std::move(host)),
      ask_again_(ask_again),
      known_(lookup(host_)),
      asked_(loop.Now()),
      resolver_(loop, std::move(lookup)) {}

bool HostAddress::Is(const std::string& address) {
  if (known_.ok() && address == *known_) return true;
  ResolveAgain();
  return false;
}

void HostAddress::ResolveAgain() {
  if (query_ || loop_.Now() - asked_ < ask_again_) return;
  asked_ = loop_.Now();
  query_ = resolver_.Resolve(host_, [this](Result<std::string> address) {
    query_.reset();
    // If the name service does not answer, the known address stays valid.
    if (address.ok() || !known_.ok()) known_ = std::move(address);
  });
}

}  // namespace tony
