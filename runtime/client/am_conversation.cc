#include "runtime/client/am_conversation.h"

#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "runtime/base/shortage.h"
#include "runtime/rpc/status_client.h"

namespace tony {
namespace {

constexpr Duration kConnectLimit{5000};  // also of each short call
constexpr Duration kWatchLimit{30000};   // below tony.thrift's 60 s; the answer is repeated, nothing depends on it

}  // namespace

// Shared with the callbacks on their way to the loop, which hold it weakly.
class AmConversation::Talk : public std::enable_shared_from_this<Talk> {
 public:
  Talk(EventLoop& loop, Opening opening, Sink sink)
      : loop_(loop), opening_(std::move(opening)), sink_(std::move(sink)) {}

  void Start() {
    const std::weak_ptr<Talk> weak = weak_from_this();
    try {
      thread_ = std::thread([this, weak] {
        auto client =
            ConnectStatusClient(opening_.folder, opening_.am, opening_.token, kConnectLimit, stop_.get_token());
        if (!client.ok() && client.error().code == ErrorCode::kNotPermitted)
          return Tell(weak, sink_.on_mistrust, client.error());
        const Status end = client.ok() ? Speak(*std::move(client), weak) : Status(client.error());
        if (!end.ok()) Tell(weak, sink_.on_lost, end.error());
      });
    } catch (const std::system_error& error) {
      Tell(weak, sink_.on_lost, ThrownError(error));
    }
  }

  void Stop() {
    stop_.request_stop();
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      if (client_) client_->Interrupt();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  bool stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

  Status Speak(std::unique_ptr<StatusClient> connected, const std::weak_ptr<Talk>& weak) {
    StatusClient* const client = connected.get();
    {
      const std::lock_guard lock(mutex_);
      client_ = std::move(connected);
      if (stopped_) return Ok();
    }
    if (opening_.attach) {
      TRY_ASSIGN(const StatusClient::Attached attached, client->Attach(*opening_.attach));
      Tell(weak, sink_.on_attached, attached.attached);
    }
    if (opening_.kill) {
      TRY_ASSIGN(const StatusClient::Killed killed, client->Kill(*opening_.kill));
      Tell(weak, sink_.on_kill, killed.answer);
    }
    return Watch(*client, weak);
  }

  Status Watch(StatusClient& client, const std::weak_ptr<Talk>& weak) {
    // Only the first call says who looks: who has been watching for long does not become the newest again by going on.
    TRY_ASSIGN(JobStatus status,
               opening_.watcher.value.empty() ? client.GetStatus() : client.Watch(0, Duration(0), opening_.watcher));
    Tell(weak, sink_.on_status, status);
    while (!status.verdict && !stopped()) {
      const int64_t since = status.seq;
      const std::string trouble = status.trouble, delay = status.delay;
      const bool asks_usage = opening_.usage_interval > Duration(0);
      TRY_ASSIGN(status, client.Watch(since, asks_usage ? opening_.usage_interval : kWatchLimit, {}));
      const bool changed = status.seq != since || status.trouble != trouble || status.delay != delay;
      if (changed || asks_usage || status.verdict) Tell(weak, sink_.on_status, status);
    }
    return Ok();
  }

  // `fn` is the sink's.
  template <class Word>
  void Tell(const std::weak_ptr<Talk>& weak, const std::function<void(Word)>& fn, const std::decay_t<Word>& word) {
    loop_.Post([weak, &fn, word] {
      if (const auto talk = weak.lock(); talk && !talk->stopped()) fn(word);
    });
  }

  EventLoop& loop_;
  const Opening opening_;
  const Sink sink_;
  std::stop_source stop_;  // of the wait for a connection
  std::mutex mutex_;
  bool stopped_ = false;
  std::unique_ptr<StatusClient> client_;  // interrupted by the loop thread, otherwise the thread's
  std::thread thread_;
};

AmConversation::AmConversation(EventLoop& loop, Opening opening, Sink sink)
    : talk_(std::make_shared<Talk>(loop, std::move(opening), std::move(sink))) {
  talk_->Start();
}

AmConversation::~AmConversation() { talk_->Stop(); }

}  // namespace tony
