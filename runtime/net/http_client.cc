#include "runtime/net/http_client.h"

#include <curl/curl.h>

#include <exception>
#include <optional>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/net/transfer.h"
#include "runtime/os/name_service.h"

namespace tony {
namespace {

// Idle connections that are kept: a NameNode, and the DataNodes of a few files under way.
constexpr long kMostKept = 8;
// People see no more of a bar.
constexpr Duration kProgressEvery{100};

void StartLibrary() {
  KeepNameServiceInside();  // libcurl resolves names
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(started == CURLE_OK);
}

}  // namespace

// Nobody is called out of libcurl's callbacks, where nothing may be destroyed: what they find is told from timers.
class HttpClient::RunningCall : public EventLoop::Handle {
 public:
  RunningCall(HttpClient& client, HttpCall call, Done done)
      : client_(client), transfer_(std::move(call), [this] { OnBytes(); }), done_(std::move(done)) {
    client_.calls_[transfer_.easy()] = this;
    last_byte_ = client_.loop_.Now();
    AwaitStall();
    if (curl_multi_add_handle(client_.multi_, transfer_.easy()) == CURLM_OK) return;
    left_ = true;
    stall_.reset();
    Tell(transfer_.Failed(ErrorCode::kUnavailable, "calls have just been ended for want of descriptors"));
  }
  ~RunningCall() override {
    Leave();
    client_.calls_.erase(transfer_.easy());
  }
  void End(int code) {
    Leave();
    Tell(transfer_.Finish(code));
  }

 private:
  void Leave() {
    stall_.reset();
    progress_.reset();
    if (!std::exchange(left_, true)) curl_multi_remove_handle(client_.multi_, transfer_.easy());
  }
  void Tell(Result<HttpResponse> result) {
    result_ = std::move(result);
    tell_ = client_.loop_.After(Duration(0), [this] {
      const Done done = std::move(done_);
      done(*std::move(result_));  // may destroy this
    });
  }
  void OnBytes() {
    last_byte_ = client_.loop_.Now();
    if (!transfer_.call().on_moved || progress_) return;
    progress_ = client_.loop_.After(kProgressEvery, [this] {
      progress_.reset();
      const auto on_moved = transfer_.call().on_moved;
      on_moved(transfer_.moved());
    });
  }
  void AwaitStall() {
    const Duration limit = transfer_.call().limits.stalled;
    stall_ = client_.loop_.At(last_byte_ + limit, [this, limit] {
      if (client_.loop_.Now() < last_byte_ + limit) return AwaitStall();
      Leave();
      Tell(transfer_.Failed(ErrorCode::kUnavailable, StrCat("no byte in ", limit.count(), " ms")));
    });
  }

  HttpClient& client_;
  Transfer transfer_;
  Done done_;
  Instant last_byte_;
  bool left_ = false;  // libcurl
  std::optional<Result<HttpResponse>> result_;
  EventLoop::Timer stall_, progress_, tell_;
};

HttpClient::HttpClient(EventLoop& loop) : loop_(loop) {
  StartLibrary();
  multi_ = curl_multi_init();
  CHECK(multi_ != nullptr);
  const auto on_socket = [](CURL* easy, curl_socket_t fd, int what, void* self, void* unused) {
    return OnSocket(easy, fd, what, self, unused);
  };
  const auto on_timer = [](CURLM* multi, long delay, void* self) { return OnTimer(multi, delay, self); };
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, +on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, +on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMostKept);
}

HttpClient::~HttpClient() {
  CHECK(calls_.empty());
  curl_multi_cleanup(multi_);
}

std::unique_ptr<EventLoop::Handle> HttpClient::Send(HttpCall call, Done done) {
  return std::make_unique<RunningCall>(*this, std::move(call), std::move(done));
}

int HttpClient::OnSocket(void*, int fd, int what, void* self, void*) {
  try {
    static_cast<HttpClient*>(self)->Watch(fd, what);
    return 0;
  } catch (const std::exception&) {  // no more descriptors; libcurl is C, and ends all calls then
    return -1;
  }
}

int HttpClient::OnTimer(void*, long delay, void* self) {
  auto& client = *static_cast<HttpClient*>(self);
  try {
    client.timer_ =
        delay < 0 ? nullptr : client.loop_.After(Duration(delay), [&client] { client.Act(CURL_SOCKET_TIMEOUT, 0); });
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

void HttpClient::Watch(int fd, int what) {
  if (what == CURL_POLL_REMOVE) {
    watched_.erase(fd);
    return;
  }
  Watched& watched = watched_[fd];
  if ((what & CURL_POLL_IN) == 0) watched.readable.reset();
  if ((what & CURL_POLL_OUT) == 0) watched.writable.reset();
  if ((what & CURL_POLL_IN) != 0 && !watched.readable) {
    watched.readable = loop_.WhenReadable(fd, [this, fd] { Act(fd, CURL_CSELECT_IN); });
  }
  if ((what & CURL_POLL_OUT) != 0 && !watched.writable) {
    watched.writable = loop_.WhenWritable(fd, [this, fd] { Act(fd, CURL_CSELECT_OUT); });
  }
}

void HttpClient::Act(int fd, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, events, &running);
  CollectEnded();
}

void HttpClient::CollectEnded() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const auto call = calls_.find(message->easy_handle);
    CHECK(call != calls_.end());
    call->second->End(message->data.result);
  }
}

}  // namespace tony
