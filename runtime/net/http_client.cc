#include "runtime/net/http_client.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/os/name_service.h"

namespace tony {
namespace {

constexpr long kBufferBytes = 64 << 10;
// Hadoop's HTTP servers close a connection after a minute without use (hadoop.http.idle_timeout.ms). A connection is
// reused for only half of that time, so that the server does not close it while it is being reused.
constexpr long kLongestIdleSeconds = 30;

// Opens sockets in place of libcurl, because started programs would inherit libcurl's own sockets.
curl_socket_t OpenSocket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
}

template <class Value>
void Set(CURL* easy, CURLoption option, Value value) {
  // A failure means that this libcurl lacks the option.
  CHECK(curl_easy_setopt(easy, option, value) == CURLE_OK);
}

}  // namespace

std::string HeaderOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [other, value] : response.headers)
    if (other == name) return value;
  return "";
}

void Transfer::Cleanup::operator()(void* easy) const { curl_easy_cleanup(easy); }
void Transfer::Headers::operator()(void* list) const { curl_slist_free_all(static_cast<curl_slist*>(list)); }

Transfer::Transfer(HttpCall call, std::function<void()> on_bytes)
    : call_(std::move(call)), on_bytes_(std::move(on_bytes)), problem_(CURL_ERROR_SIZE, '\0'), easy_(curl_easy_init()) {
  CHECK(easy_);
  Configure();
  ConfigureTrust();
  ConfigureBody();
  AddHeaders();
}

void Transfer::Configure() {
  CURL* easy = easy_.get();
  Set(easy, CURLOPT_URL, call_.url.c_str());
  Set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(easy, CURLOPT_PROXY, "");
  Set(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  Set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(call_.limits.connect.count()));
  Set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(call_.limits.whole.count()));
  Set(easy, CURLOPT_NOSIGNAL, 1L);
  // Without this option, cancelling a call while its host's name is being resolved would wait for the resolver, on the
  // loop.
  Set(easy, CURLOPT_QUICK_EXIT, 1L);
  Set(easy, CURLOPT_BUFFERSIZE, kBufferBytes);
  Set(easy, CURLOPT_MAXAGE_CONN, kLongestIdleSeconds);
  Set(easy, CURLOPT_ERRORBUFFER, problem_.data());
  Set(easy, CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
  Set(easy, CURLOPT_PREREQFUNCTION, OnRequest);
  Set(easy, CURLOPT_PREREQDATA, this);
  Set(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  Set(easy, CURLOPT_HEADERDATA, this);
  Set(easy, CURLOPT_WRITEFUNCTION, OnWrite);
  Set(easy, CURLOPT_WRITEDATA, this);
}

// The folder with the authorities of this machine is not used, because a site may trust only its own authority.
void Transfer::ConfigureTrust() {
  if (!call_.url.starts_with("https:")) return;
  if (!call_.trust) call_.trust = std::make_shared<const HttpTrust>();
  CURL* easy = easy_.get();
  const std::string& authorities = call_.trust->authorities;
  curl_blob bundle{const_cast<char*>(authorities.data()), authorities.size(), CURL_BLOB_NOCOPY};
  Set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  if (!authorities.empty()) {
    Set(easy, CURLOPT_CAINFO_BLOB, &bundle);
  } else if (const std::string system = SystemAuthorities(); !system.empty()) {
    Set(easy, CURLOPT_CAINFO, system.c_str());
  }
  if (!call_.trust->checks_names) Set(easy, CURLOPT_SSL_VERIFYHOST, 0L);
}

void Transfer::ConfigureBody() {
  CURL* easy = easy_.get();
  if (call_.method == "HEAD") return Set(easy, CURLOPT_NOBODY, 1L);
  Set(easy, CURLOPT_CUSTOMREQUEST, call_.method.c_str());
  if (call_.method != "PUT" && call_.method != "POST") return;
  const int64_t length = call_.body_file ? call_.body_file->length : static_cast<int64_t>(call_.body.size());
  Set(easy, CURLOPT_UPLOAD, 1L);
  Set(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(length));
  Set(easy, CURLOPT_READFUNCTION, OnRead);
  Set(easy, CURLOPT_READDATA, this);
}

void Transfer::AddHeaders() {
  curl_slist* list = nullptr;
  for (const auto& [name, value] : call_.headers) {
    list = curl_slist_append(list, StrCat(name, ": ", value).c_str());
    CHECK(list != nullptr);
  }
  headers_.reset(list);
  if (list != nullptr) Set(easy_.get(), CURLOPT_HTTPHEADER, list);
}

int Transfer::OnRequest(void* self, char*, char*, int, int) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (transfer.call_.on_connected) transfer.call_.on_connected();
  const bool is_repeatable = transfer.call_.method == "GET" || transfer.call_.method == "HEAD";
  return ++transfer.requests_ > 1 && !is_repeatable ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

size_t Transfer::OnRead(char* to, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const auto read = transfer.ReadBody(to, size * count);
  if (!read) return CURL_READFUNC_ABORT;
  transfer.sent_ += static_cast<int64_t>(*read);
  transfer.on_bytes_();
  return *read;
}

std::optional<size_t> Transfer::ReadBody(char* to, size_t room) {
  if (!call_.body_file) {
    const size_t size = std::min(room, call_.body.size() - static_cast<size_t>(sent_));
    std::memcpy(to, call_.body.data() + sent_, size);
    return size;
  }
  const FilePart& file = *call_.body_file;
  const auto wanted = std::min(static_cast<int64_t>(room), file.length - sent_);
  if (wanted <= 0) return 0;
  const ssize_t read = ::pread(file.fd, to, static_cast<size_t>(wanted), file.offset + sent_);
  if (read > 0) return static_cast<size_t>(read);
  Refuse(ErrorCode::kInvalid, read < 0 ? StrCat("read the file to send: ", ErrnoText(errno))
                                       : StrCat("the file to send ends after ", sent_, " of ", file.length, " bytes"));
  return std::nullopt;
}

size_t Transfer::OnWrite(char* from, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (!transfer.TakeBody({from, size * count})) return 0;
  transfer.on_bytes_();
  return size * count;
}

bool Transfer::TakeBody(std::string_view bytes) {
  if (response_.body.size() + bytes.size() > call_.limits.answer)
    return Refuse(ErrorCode::kInvalid, StrCat("the answer has more than ", call_.limits.answer, " bytes"));
  response_.body.append(bytes);
  return true;
}

size_t Transfer::OnHeader(char* from, size_t size, size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  if (!transfer.TakeHeader({from, size * count})) return 0;
  transfer.on_bytes_();
  return size * count;
}

// Takes one line of the headers. An interim answer such as "100 Continue" has headers, too, so only the headers of the
// last answer count.
bool Transfer::TakeHeader(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > call_.limits.headers)
    return Refuse(ErrorCode::kInvalid, StrCat("the answer's headers have more than ", call_.limits.headers, " bytes"));
  if (line.starts_with("HTTP/")) {
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    response_.headers.clear();
    has_all_headers_ = false;
  } else if (Trim(line).empty()) {
    has_all_headers_ = true;
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    response_.headers.emplace_back(ToLower(Trim(line.substr(0, colon))), Trim(line.substr(colon + 1)));
  }
  return true;
}

bool Transfer::Refuse(ErrorCode code, std::string why) {
  refused_ = Failed(code, std::move(why));
  return false;
}

Error Transfer::Failed(ErrorCode code, std::string why) const {
  return {code, StrCat(call_.method, " ", call_.url.substr(0, call_.url.find('?')), ": ", why)};
}

Result<HttpResponse> Transfer::Finish(int code) {
  if (refused_) return *refused_;
  if (requests_ == 0 && (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL))
    return Failed(ErrorCode::kInvalid, "the URL is not valid");
  // libcurl regards an answer that ends within its headers as complete, so this case is made an error here.
  if (code == CURLE_OK && !has_all_headers_) code = CURLE_PARTIAL_FILE;
  if (const auto error = TlsError(code)) return Failed(error->code, error->message);
  if (code != CURLE_OK) return Failed(ErrorCode::kUnavailable, ReasonFor(code));
  return std::move(response_);
}

std::optional<Error> Transfer::TlsError(int code) const {
  // X509_V_ERR_UNSPECIFIED, which libcurl leaves if the name does not match; X509_V_ERR_CERT_NOT_YET_VALID,
  // X509_V_ERR_CERT_HAS_EXPIRED
  constexpr long kUnspecified = 1, kNotYetValid = 9, kExpired = 10;
  const std::string words = problem_.c_str();
  const size_t host = call_.url.find("://") + 3;
  const std::string server = call_.url.substr(host, call_.url.find('/', host) - host);
  if (code == CURLE_SSL_CACERT_BADFILE) return InvalidError(words);
  // OpenSSL reads the first bytes of an HTTP answer as the header of a record.
  if (code == CURLE_SSL_CONNECT_ERROR && words.find("wrong version number") != std::string::npos)
    return NoTlsError(server);
  if (code != CURLE_PEER_FAILED_VERIFICATION || !call_.trust) return std::nullopt;
  long verified = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_SSL_VERIFYRESULT, &verified);
  const bool is_time = verified == kNotYetValid || verified == kExpired;
  const Distrust kind = verified <= kUnspecified ? Distrust::kHost : (is_time ? Distrust::kTime : Distrust::kAuthority);
  const size_t colon = words.rfind(": ");
  return DistrustError(*call_.trust, server, kind, colon == std::string::npos ? words : words.substr(colon + 2));
}

std::string Transfer::ReasonFor(int code) const {
  long error = 0;
  curl_off_t resolved = 0, connected = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &error);
  curl_easy_getinfo(easy_.get(), CURLINFO_NAMELOOKUP_TIME_T, &resolved);
  curl_easy_getinfo(easy_.get(), CURLINFO_CONNECT_TIME_T, &connected);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return "the host's name does not resolve";
    case CURLE_COULDNT_CONNECT:
      return StrCat("connect: ", error != 0 ? ErrnoText(static_cast<int>(error)) : "failed");
    case CURLE_OPERATION_TIMEDOUT:
      if (resolved == 0) return StrCat("resolve: no answer within ", call_.limits.connect.count(), " ms");
      if (connected == 0) return StrCat("no connection within ", call_.limits.connect.count(), " ms");
      return StrCat("no complete answer within ", call_.limits.whole.count(), " ms");
    case CURLE_GOT_NOTHING:
    case CURLE_ABORTED_BY_CALLBACK:
      return "the server closed the connection without an answer";
    case CURLE_PARTIAL_FILE:
      return "the server closed the connection in the middle of its answer";
    default:
      break;
  }
  const std::string words = problem_.c_str();
  return words.empty() ? curl_easy_strerror(static_cast<CURLcode>(code)) : words;
}

namespace {

// The number of idle connections that are kept: to a NameNode, and to the DataNodes of a few files being transferred.
constexpr long kMostKept = 8;
// The interval of progress reports. More frequent reports would be useless, because people could not see the changes of
// a progress bar.
constexpr Duration kProgressEvery{100};

void StartLibrary() {
  RestrictNameService();  // needed because libcurl resolves names
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(started == CURLE_OK);
}

}  // namespace

// Runs one call. Nothing may be destroyed inside of libcurl's callbacks, so timers deliver the results.
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
    Tell(transfer_.Failed(
        ErrorCode::kUnavailable,
        "the process has no file descriptors left, so all calls were ended; raise the limit (ulimit -n)"));
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
      done(*std::move(result_));  // may destroy this object
    });
  }
  void OnBytes() {
    last_byte_ = client_.loop_.Now();
    if (!transfer_.call().on_moved || !transfer_.call().body_file || progress_) return;
    progress_ = client_.loop_.After(kProgressEvery, [this] {
      progress_.reset();
      const auto on_moved = transfer_.call().on_moved;
      on_moved(transfer_.sent());
    });
  }
  void AwaitStall() {
    const Duration limit = transfer_.call().limits.stalled;
    stall_ = client_.loop_.At(last_byte_ + limit, [this, limit] {
      if (client_.loop_.Now() < last_byte_ + limit) return AwaitStall();
      Leave();
      Tell(transfer_.Failed(ErrorCode::kUnavailable, StrCat("no byte was transferred in ", limit.count(), " ms")));
    });
  }

  HttpClient& client_;
  Transfer transfer_;
  Done done_;
  Instant last_byte_;
  // True if the call was removed from libcurl.
  bool left_ = false;
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
  } catch (const std::exception&) {
    // The process has no descriptors left. libcurl is C, so it receives an error code, and ends all calls.
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
  if ((what & CURL_POLL_IN) != 0 && !watched.readable)
    watched.readable = loop_.WhenReadable(fd, [this, fd] { Act(fd, CURL_CSELECT_IN); });
  if ((what & CURL_POLL_OUT) != 0 && !watched.writable)
    watched.writable = loop_.WhenWritable(fd, [this, fd] { Act(fd, CURL_CSELECT_OUT); });
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
