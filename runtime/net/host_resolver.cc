#include "runtime/net/host_resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

bool IsNumeric(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

Result<std::string> AskSystem(const std::string& host) {
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

}  // namespace

struct HostResolver::State : std::enable_shared_from_this<State> {
  explicit State(EventLoop& its_loop) : loop(its_loop) {}

  struct Question {
    uint64_t id = 0;
    std::string host;
  };

  void Answer(uint64_t id, Result<std::string> address) {
    const auto found = waiting.find(id);
    if (found == waiting.end()) return;
    const OnAddress done = std::move(found->second);
    waiting.erase(found);
    done(std::move(address));
  }

  void PostAnswer(uint64_t id, Result<std::string> address) {
    loop.Post([weak = weak_from_this(), id, address = std::move(address)] {
      if (const auto state = weak.lock()) state->Answer(id, address);
    });
  }

  void Ask(Question question) {
    if (!worker.joinable()) worker = std::thread([this] { Work(); });
    const std::lock_guard lock(mutex);
    questions.push_back(std::move(question));
    changed.notify_one();
  }

  std::optional<Question> NextQuestion() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return stopping || !questions.empty(); });
    if (stopping) return std::nullopt;
    Question question = std::move(questions.front());
    questions.pop_front();
    return question;
  }

  void Work() {
    while (const auto question = NextQuestion()) PostAnswer(question->id, AskSystem(question->host));
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_one();
    if (worker.joinable()) worker.join();
  }

  EventLoop& loop;
  uint64_t last_id = 0;
  std::map<uint64_t, OnAddress> waiting;  // the loop's
  std::thread worker;
  std::mutex mutex;  // of the three below
  std::condition_variable changed;
  std::deque<Question> questions;
  bool stopping = false;
};

HostResolver::HostResolver(EventLoop& loop) : state_(std::make_shared<State>(loop)) {}
HostResolver::~HostResolver() { state_->Stop(); }

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
    state_->PostAnswer(id, host);
  } else {
    state_->Ask({id, host});
  }
  return std::make_unique<Waiting>(state_, id);
}

}  // namespace tony
