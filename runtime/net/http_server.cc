#include "runtime/net/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "runtime/base/strings.h"

namespace tony {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return std::nullopt;  // a control character
    decoded.push_back(c);
  }
  return decoded;
}

// Splits `text`. In contrast to Split() of strings.h, an empty last piece is kept, because "/logs/" is not "/logs".
std::vector<std::string_view> Pieces(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

bool ReadPath(std::string_view text, HttpRequest& request) {
  for (const std::string_view piece : Pieces(text, '/')) {
    std::optional<std::string> name = Decode(piece);
    if (!name || *name == "." || *name == ".." || name->find('/') != std::string::npos) return false;
    request.path.push_back(*std::move(name));
  }
  return true;
}

bool ReadQuery(std::string_view text, HttpRequest& request) {
  for (const std::string_view piece : Pieces(text, '&')) {
    const size_t equals = std::min(piece.find('='), piece.size());
    const auto name = Decode(piece.substr(0, equals));
    const auto value = Decode(piece.substr(std::min(equals + 1, piece.size())));
    if (!name || !value) return false;
    if (!name->empty()) request.query[*name] = *value;
  }
  return true;
}

}  // namespace

HttpAnswer TextAnswer(int status, std::string text) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::make_shared<const std::string>(std::move(text)),
          .headers = {}};
}

std::string CookieOf(const HttpRequest& request, std::string_view name) {
  for (std::string_view piece : Pieces(request.cookies, ';')) {
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    if (piece.starts_with(name) && piece.substr(name.size()).starts_with('='))
      return std::string(piece.substr(name.size() + 1));
  }
  return "";
}

HttpAnswer NotFound() { return TextAnswer(404, "not found\n"); }

std::optional<HttpRequest> ParseTarget(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  const size_t question = std::min(target.find('?'), target.size());
  HttpRequest request;
  if (!ReadPath(target.substr(1, question - 1), request)) return std::nullopt;
  if (question < target.size() && !ReadQuery(target.substr(question + 1), request)) return std::nullopt;
  return request;
}

namespace {

namespace http = boost::beast::http;

ReadRequest Refused(int status) { return {.refusal = status}; }

std::optional<HttpMethod> MethodOf(http::verb verb, bool may_write) {
  if (verb == http::verb::get) return HttpMethod::kGet;
  if (verb == http::verb::head) return HttpMethod::kHead;
  if (may_write && verb == http::verb::post) return HttpMethod::kPost;
  if (may_write && verb == http::verb::put) return HttpMethod::kPut;
  if (may_write && verb == http::verb::delete_) return HttpMethod::kDelete;
  return std::nullopt;
}

// Parses the header of a request. `length` becomes the length of its body.
ReadRequest Parse(std::string_view header, size_t longest_body, size_t& length) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(RequestReader::kLongestHeader);
  boost::system::error_code error;
  parser.put(boost::asio::const_buffer(header.data(), header.size()), error);
  if (!parser.is_header_done()) return Refused(400);
  const auto& message = parser.get();
  const auto method = MethodOf(message.method(), longest_body > 0);
  if (!method) return Refused(405);
  length = parser.content_length().value_or(0);
  if (parser.chunked() || length > (*method == HttpMethod::kPut || *method == HttpMethod::kPost ? longest_body : 0))
    return Refused(413);
  const std::string target(message.target());
  std::optional<HttpRequest> request = ParseTarget(target);
  if (!request) return Refused(400);
  request->method = *method;
  request->cookies = std::string(message[http::field::cookie]);
  for (const auto& field : message) {
    std::string& value = request->headers[ToLower(field.name_string())];
    value += StrCat(value.empty() ? "" : ", ", std::string_view(field.value()));
  }
  return {.keep_alive = message.keep_alive(), .request = *std::move(request)};
}

}  // namespace

std::optional<ReadRequest> RequestReader::Next() {
  if (in_.empty()) return std::nullopt;
  // Text that cannot be HTTP is refused at once, before more of it arrives.
  if (in_.front() < 'A' || in_.front() > 'Z') return Refused(400);
  constexpr std::string_view kEnd = "\r\n\r\n";
  const size_t end = std::string_view(in_).substr(0, kLongestHeader).find(kEnd);
  if (end == std::string::npos && in_.size() >= kLongestHeader) return Refused(431);
  if (end == std::string::npos) return std::nullopt;
  const size_t header = end + kEnd.size();
  size_t length = 0;
  ReadRequest read = Parse(std::string_view(in_).substr(0, header), longest_body_, length);
  if (read.refusal == 0 && in_.size() < header + length) return std::nullopt;
  if (read.refusal == 0) read.request.body = in_.substr(header, length);
  in_.erase(0, header + (read.refusal == 0 ? length : 0));
  return read;
}

namespace {

constexpr size_t kChunk = 4 << 10;        // small, because threads have small stacks
constexpr size_t kMostCopied = 16 << 10;  // bytes
constexpr size_t kMostReadAhead = 2 * RequestReader::kLongestHeader;

std::string_view Reason(int status) {
  constexpr std::pair<int, std::string_view> kReasons[] = {{200, "OK"},
                                                           {303, "See Other"},
                                                           {307, "Temporary Redirect"},
                                                           {308, "Permanent Redirect"},
                                                           {400, "Bad Request"},
                                                           {401, "Unauthorized"},
                                                           {403, "Forbidden"},
                                                           {404, "Not Found"},
                                                           {405, "Method Not Allowed"},
                                                           {413, "Content Too Large"},
                                                           {421, "Misdirected Request"},
                                                           {431, "Request Header Fields Too Large"},
                                                           {503, "Service Unavailable"}};
  const auto* reason = std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return reason == std::end(kReasons) ? "Error" : reason->second;
}

// Headers that forbid browsers to cache a page, to show it in a frame, and to send data elsewhere. A page may load only
// itself and the server's own two files.
constexpr std::string_view kSafety =
    "Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"
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
  std::weak_ptr<HttpConnection> connection;  // empty: already answered
};

HttpReply::HttpReply(const std::shared_ptr<HttpConnection>& connection) : open_(std::make_shared<Open>(connection)) {}

void HttpReply::Send(HttpAnswer answer) const {
  const auto connection = std::exchange(open_->connection, {}).lock();
  if (connection) connection->Send(std::move(answer));
}

HttpConnection::HttpConnection(const Context& context, std::unique_ptr<Channel> channel,
                               std::function<void()> on_closed)
    : context_(context), channel_(std::move(channel)), on_closed_(std::move(on_closed)), reader_(context.limits.body) {}

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
  channel_.reset();
  next_ = context_.loop.After(Duration(0), [this] {
    const auto on_closed = std::exchange(on_closed_, nullptr);
    on_closed();  // may destroy this connection
  });
}

void HttpConnection::LimitTo(Duration limit) {
  limit_ = context_.loop.After(limit, [this] { Abort(); });
}

// The input is also watched while an answer is awaited, so that a disconnected browser is noticed at once. Bytes that TLS
// has already taken from the socket do not make it readable.
void HttpConnection::WatchInput() {
  if (!readable_) readable_ = context_.loop.WhenReadable(channel_->socket(), [this] { OnReadable(); });
  if (channel_->HasMore()) next_ = context_.loop.After(Duration(0), [this] { OnReadable(); });
}

void HttpConnection::OnReadable() {
  const auto self = shared_from_this();
  std::array<char, kChunk> chunk;
  do {
    const Channel::Step got = channel_->Read(chunk.data(), chunk.size());
    if (got.kind == Channel::Step::Kind::kWaitsToRead) return;
    if (got.kind == Channel::Step::Kind::kWaitsToWrite) return WatchHandshake();
    if (got.kind == Channel::Step::Kind::kEnded) {
      readable_.reset();
      if (state_ == State::kSending) return Finish();
      return Abort();
    }
    if (state_ == State::kReading && reader_.buffered() == 0) LimitTo(context_.limits.header);
    reader_.Add({chunk.data(), got.bytes});
    if (reader_.buffered() >= kMostReadAhead + context_.limits.body) readable_.reset();
    if (state_ == State::kReading) ServeNext();
  } while (readable_ && channel_->HasMore());
}

// Continues a handshake of TLS that has to send first.
void HttpConnection::WatchHandshake() {
  writable_ = context_.loop.WhenWritable(channel_->socket(), [this] {
    writable_.reset();
    OnReadable();
  });
}

void HttpConnection::ServeNext() {
  const auto self = shared_from_this();
  const std::optional<ReadRequest> read = reader_.Next();
  if (!read) return WatchInput();
  limit_.reset();
  state_ = State::kAnswering;
  last_ = read->refusal != 0 || !read->keep_alive;
  head_ = read->request.method == HttpMethod::kHead;
  if (read->refusal != 0) return Send(Refusal(read->refusal));
  context_.handler(read->request, HttpReply(self));
}

void HttpConnection::Send(HttpAnswer answer) {
  if (state_ != State::kAnswering) return;
  state_ = State::kSending;
  served_ = served_ || answer.status < 400;
  begin_ = HeaderOf(answer, last_);
  body_ = head_ ? nullptr : std::move(answer.body);
  copied_ = body_ ? std::min(body_->size(), kMostCopied) : 0;
  if (body_) begin_.append(*body_, 0, copied_);
  sent_ = 0;
  LimitTo(context_.limits.stalled);
  Flush();
}

void HttpConnection::Flush() {
  const auto self = shared_from_this();
  const size_t before = sent_;
  while (state_ == State::kSending && FlushSome()) continue;
  if (state_ != State::kSending) return;
  if (sent_ == begin_.size() + (body_ ? body_->size() - copied_ : 0)) return Sent();
  if (sent_ > before) LimitTo(context_.limits.stalled);
  if (!writable_) writable_ = context_.loop.WhenWritable(channel_->socket(), [this] { Flush(); });
}

// Sends a part of the answer. Returns false if everything is sent, if the browser has to read first, or if the browser
// has disconnected.
bool HttpConnection::FlushSome() {
  const std::string_view body = body_ ? std::string_view(*body_) : std::string_view();
  const std::string_view rest =
      sent_ < begin_.size() ? std::string_view(begin_).substr(sent_) : body.substr(copied_ + (sent_ - begin_.size()));
  if (rest.empty()) return false;
  const Channel::Step sent = channel_->Write(rest);
  if (sent.kind == Channel::Step::Kind::kMoved) sent_ += sent.bytes;
  // TLS without renegotiation never has to read in order to write.
  if (sent.kind == Channel::Step::Kind::kEnded || sent.kind == Channel::Step::Kind::kWaitsToRead) Abort();
  return sent.kind == Channel::Step::Kind::kMoved;
}

void HttpConnection::Sent() {
  writable_.reset();
  body_.reset();
  std::string().swap(begin_);
  if (last_) {
    // Reads the remaining input before the socket is closed. Closing a socket with unread bytes resets the connection,
    // and the answer would be lost on its way.
    ::shutdown(channel_->socket(), SHUT_WR);
    std::array<char, kChunk> unread;
    for (int i = 0; i < 64 && ::recv(channel_->socket(), unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i) continue;
    return Abort();
  }
  state_ = State::kReading;
  LimitTo(reader_.buffered() > 0 ? context_.limits.header : context_.limits.idle);
  // The next request is served from the loop, so that many requests sent at once do not lead to deep recursion.
  next_ = context_.loop.After(Duration(0), [this] {
    if (state_ == State::kReading) ServeNext();
  });
}

namespace {

constexpr Duration kStopLimit{250};

}  // namespace

HttpServer::HttpServer(EventLoop& loop, UniqueFd listening, HttpHandler handler, const HttpLimits& limits,
                       Admits admits, MakeChannel tls)
    : loop_(loop), limits_(limits), handler_(std::move(handler)), admits_(std::move(admits)), tls_(std::move(tls)) {
  listener_ =
      std::make_unique<Listener>(loop, std::move(listening), 0, [this](UniqueFd socket) { Add(std::move(socket)); });
  listener_->OnDescriptorShortage([this] { return CloseOldestStranger(); });
}

HttpServer::~HttpServer() {
  for (const auto& [key, connection] : connections_) connection->Abort();
}

void HttpServer::Add(UniqueFd socket) {
  if (admits_) {
    const auto peer = PeerAddress(socket);
    if (!peer.ok() || !admits_(peer->host)) return;
  }
  // If the server has no room for the connection, this return closes `socket`.
  if (connections_.size() >= static_cast<size_t>(limits_.max_connections) && !CloseOldestStranger()) return;
  const uint64_t key = ++last_key_;
  const HttpConnection::Context context{loop_, limits_, handler_};
  auto channel = tls_ ? tls_(std::move(socket)) : Result<std::unique_ptr<Channel>>(MakePlainChannel(std::move(socket)));
  if (!channel.ok()) return;
  const auto connection = std::make_shared<HttpConnection>(context, *std::move(channel), [this, key] { Remove(key); });
  connections_[key] = connection;
  connection->Begin();
}

bool HttpServer::CloseOldestStranger() {
  const auto oldest = std::ranges::find_if(connections_, [](const auto& each) { return each.second->IsStranger(); });
  if (oldest == connections_.end()) return false;
  oldest->second->Abort();
  return true;
}

void HttpServer::Remove(uint64_t key) {
  connections_.erase(key);
  if (stopped_ && connections_.empty()) stopping_ = loop_.After(Duration(0), std::exchange(stopped_, nullptr));
}

void HttpServer::Stop(std::function<void()> done) {
  listener_.reset();
  stopped_ = std::move(done);
  const auto connections = connections_;
  for (const auto& [key, connection] : connections) connection->Finish();
  stopping_ = loop_.After(connections_.empty() ? Duration(0) : kStopLimit, [this] {
    if (const auto stopped = std::exchange(stopped_, nullptr)) stopped();
  });
}

}  // namespace tony
