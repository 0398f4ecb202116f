#include "runtime/client/am_conversation.h"

#include <mutex>
#include <thread>
#include <utility>

#include "runtime/rpc/status_client.h"

namespace tony {
namespace {

constexpr Duration kConnectLimit{5000};  // also of each short call
constexpr Duration kWatchLimit{30000};   // below tony.thrift's 60 s; the answer is repeated, nothing depends on it

}  // namespace

// Shared with the callbacks on their way to the loop, which hold it weakly.
class AmConversation::Talk : public std::enable_shared_from_this<Talk> {
 public:
  Talk(EventLoop& loop, Opening opening, std::function<void(const JobStatus&)> on_status,
       std::function<void(const Error&)> on_lost)
      : loop_(loop), opening_(std::move(opening)), on_status_(std::move(on_status)), on_lost_(std::move(on_lost)) {}

  void Start() {
    thread_ = std::thread([this, weak = weak_from_this()] {
      const Status end = Speak(weak);
      if (end.ok()) return;
      loop_.Post([weak, error = end.error()] {
        if (const auto talk = weak.lock(); talk && !talk->stopped()) talk->on_lost_(error);
      });
    });
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      if (client_) client_->Interrupt();
    }
    thread_.join();
  }

 private:
  bool stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }

  Status Speak(const std::weak_ptr<Talk>& weak) {
    auto connected = ConnectStatusClient(opening_.am, opening_.token, kConnectLimit);
    if (!connected.ok()) return connected.error();
    StatusClient* const client = connected->get();
    {
      const std::lock_guard lock(mutex_);
      client_ = *std::move(connected);
      if (stopped_) return Ok();
    }
    if (opening_.kill) {
      const auto killed = client->Kill(opening_.kill->reason, opening_.kill->grace);
      if (!killed.ok()) return killed.error();
    }
    return Watch(*client, weak);
  }

  Status Watch(StatusClient& client, const std::weak_ptr<Talk>& weak) {
    TRY_ASSIGN(JobStatus status, client.GetStatus());
    Tell(status, weak);
    while (!status.verdict && !stopped()) {
      const int64_t since = status.seq;
      const std::string trouble = status.trouble, delay = status.delay;
      const bool asks_usage = opening_.usage_interval > Duration(0);
      TRY_ASSIGN(status, client.Watch(since, asks_usage ? opening_.usage_interval : kWatchLimit));
      const bool changed = status.seq != since || status.trouble != trouble || status.delay != delay;
      if (changed || asks_usage || status.verdict) Tell(status, weak);
    }
    return Ok();
  }

  void Tell(const JobStatus& status, const std::weak_ptr<Talk>& weak) {
    loop_.Post([weak, status] {
      if (const auto talk = weak.lock(); talk && !talk->stopped()) talk->on_status_(status);
    });
  }

  EventLoop& loop_;
  const Opening opening_;
  const std::function<void(const JobStatus&)> on_status_;
  const std::function<void(const Error&)> on_lost_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::unique_ptr<StatusClient> client_;  // interrupted by the loop thread, otherwise the thread's
  std::thread thread_;
};

AmConversation::AmConversation(EventLoop& loop, Opening opening, std::function<void(const JobStatus&)> on_status,
                               std::function<void(const Error&)> on_lost)
    : talk_(std::make_shared<Talk>(loop, std::move(opening), std::move(on_status), std::move(on_lost))) {
  talk_->Start();
}

AmConversation::~AmConversation() { talk_->Stop(); }

}  // namespace tony
