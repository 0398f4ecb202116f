#include "runtime/net/http_connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kChunk = 4 << 10;  // on the stack of a small thread
constexpr size_t kMostReadAhead = 2 * RequestReader::kLongestHeader;

bool MustWait(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

// Nothing of a page is kept, framed, or sent elsewhere, and nothing but our own two files and the page itself is
// loaded.
constexpr std::string_view kSafety =
    "Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

std::string HeaderOf(const HttpAnswer& answer, bool last) {
  std::string header =
      StrCat("HTTP/1.1 ", answer.status, " ", Reason(answer.status), "\r\nContent-Type: ", answer.content_type,
             "\r\nContent-Length: ", answer.body ? answer.body->size() : 0, "\r\n", kSafety,
             "Connection: ", last ? "close" : "keep-alive", "\r\n");
  for (const auto& [name, value] : answer.headers) header += StrCat(name, ": ", value, "\r\n");
  return header + "\r\n";
}

HttpAnswer Refusal(int status) {
  HttpAnswer answer = TextAnswer(status, StrCat(ToLower(Reason(status)), "\n"));
  if (status == 405) answer.headers.emplace_back("Allow", "GET, HEAD");
  return answer;
}

}  // namespace

struct HttpReply::Open {
  explicit Open(const std::shared_ptr<HttpConnection>& c) : connection(c) {}
  Open(const Open&) = delete;
  ~Open() {
    if (const auto dropped = connection.lock()) dropped->Abort();
  }
  std::weak_ptr<HttpConnection> connection;  // empty: answered
};

HttpReply::HttpReply(const std::shared_ptr<HttpConnection>& connection) : open_(std::make_shared<Open>(connection)) {}

void HttpReply::Send(HttpAnswer answer) const {
  const auto connection = std::exchange(open_->connection, {}).lock();
  if (connection) connection->Send(std::move(answer));
}

HttpConnection::HttpConnection(const Context& context, UniqueFd socket, std::function<void()> on_closed)
    : context_(context), socket_(std::move(socket)), on_closed_(std::move(on_closed)) {}

void HttpConnection::Begin() {
  WatchInput();
  LimitTo(context_.limits.header);
}

void HttpConnection::Finish() {
  if (state_ == State::kSending) {
    last_ = true;
  } else {
    Abort();
  }
}

void HttpConnection::Abort() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  writable_.reset();
  readable_.reset();
  limit_.reset();
  body_.reset();
  socket_.Reset();
  next_ = context_.loop.After(Duration(0), [this] {
    const auto on_closed = std::exchange(on_closed_, nullptr);
    on_closed();  // may destroy this
  });
}

void HttpConnection::LimitTo(Duration limit) {
  limit_ = context_.loop.After(limit, [this] { Abort(); });
}

// Also while an answer is awaited, so that a browser that has gone is forgotten at once.
void HttpConnection::WatchInput() {
  if (!readable_) readable_ = context_.loop.WhenReadable(socket_.get(), [this] { OnReadable(); });
}

void HttpConnection::OnReadable() {
  const auto self = shared_from_this();
  std::array<char, kChunk> chunk;
  const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
  if (got < 0 && (MustWait(errno) || errno == EINTR)) return;
  if (got <= 0) {
    readable_.reset();
    if (state_ == State::kSending) return Finish();
    return Abort();
  }
  if (state_ == State::kReading && reader_.buffered() == 0) LimitTo(context_.limits.header);
  reader_.Add({chunk.data(), static_cast<size_t>(got)});
  if (reader_.buffered() >= kMostReadAhead) readable_.reset();
  if (state_ == State::kReading) ServeNext();
}

void HttpConnection::ServeNext() {
  const auto self = shared_from_this();
  const std::optional<ReadRequest> read = reader_.Next();
  if (!read) return WatchInput();
  limit_.reset();
  state_ = State::kAnswering;
  last_ = read->refusal != 0 || !read->keep_alive;
  head_ = read->request.head;
  if (read->refusal != 0) return Send(Refusal(read->refusal));
  context_.handler(read->request, HttpReply(self));
}

void HttpConnection::Send(HttpAnswer answer) {
  if (state_ != State::kAnswering) return;
  state_ = State::kSending;
  served_ = served_ || answer.status < 400;
  header_ = HeaderOf(answer, last_);
  body_ = head_ ? nullptr : std::move(answer.body);
  sent_ = 0;
  LimitTo(context_.limits.stalled);
  Flush();
}

void HttpConnection::Flush() {
  const auto self = shared_from_this();
  const size_t before = sent_;
  while (state_ == State::kSending && FlushSome()) continue;
  if (state_ != State::kSending) return;
  if (sent_ == header_.size() + (body_ ? body_->size() : 0)) return Sent();
  if (sent_ > before) LimitTo(context_.limits.stalled);
  if (!writable_) writable_ = context_.loop.WhenWritable(socket_.get(), [this] { Flush(); });
}

// False: all is sent, or the browser must read first, or it has gone.
bool HttpConnection::FlushSome() {
  const std::string_view body = body_ ? std::string_view(*body_) : std::string_view();
  std::array<iovec, 2> parts{};
  const size_t of_header = std::min(sent_, header_.size());
  parts[0] = {header_.data() + of_header, header_.size() - of_header};
  const std::string_view rest = body.substr(sent_ - of_header);
  parts[1] = {const_cast<char*>(rest.data()), rest.size()};
  if (parts[0].iov_len + parts[1].iov_len == 0) return false;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  if (sent > 0) sent_ += static_cast<size_t>(sent);
  if (sent < 0 && !MustWait(errno) && errno != EINTR) Abort();
  return sent > 0 || (sent < 0 && errno == EINTR);
}

void HttpConnection::Sent() {
  writable_.reset();
  body_.reset();
  std::string().swap(header_);
  if (last_) {
    // Closing a socket with unread bytes resets the connection, and the answer would be lost on its way.
    ::shutdown(socket_.get(), SHUT_WR);
    std::array<char, kChunk> unread;
    for (int i = 0; i < 64 && ::recv(socket_.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i) continue;
    return Abort();
  }
  state_ = State::kReading;
  LimitTo(reader_.buffered() > 0 ? context_.limits.header : context_.limits.idle);
  // From the loop, so that many requests sent at once do not run on top of each other.
  next_ = context_.loop.After(Duration(0), [this] {
    if (state_ == State::kReading) ServeNext();
  });
}

}  // namespace tony
