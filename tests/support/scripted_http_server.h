// An HTTP server on the test's own loop, optionally with TLS. It answers as the test wants, including invalid answers.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/sockets.h"

namespace tony {

struct ServedRequest {
  std::string method, target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

struct ServedAnswer {
  std::string bytes;   // sent as they are; empty: silence
  bool close = false;  // after the bytes
  // Number of bytes to send each millisecond; 0 sends all at once.
  size_t piece = 0;
};

// Returns "HTTP/1.1 200 X" with the length of the body.
inline ServedAnswer Answered(int status, std::string_view body, std::string_view headers = "") {
  return {StrCat("HTTP/1.1 ", status, " X\r\nContent-Length: ", body.size(), "\r\n", headers, "\r\n", body)};
}

class ScriptedHttpServer {
 public:
  using Script = std::function<ServedAnswer(const ServedRequest&)>;

  // With `tls`, the server's addresses begin with https.
  ScriptedHttpServer(EventLoop& loop, Script script, MakeChannel tls = nullptr)
      : loop_(loop), script_(std::move(script)), tls_(std::move(tls)) {
    UniqueFd socket = *ListenOn({kLoopback, 0});
    port_ = BoundAddress(socket)->port;
    listener_ = std::make_unique<Listener>(loop, std::move(socket), port_, [this](UniqueFd fd) { Add(std::move(fd)); });
  }

  std::string Url(std::string_view target) const {
    return StrCat(tls_ ? "https://" : "http://", kLoopback, ":", port_, target);
  }
  int port() const { return port_; }
  const std::vector<ServedRequest>& requests() const { return requests_; }
  int accepted() const { return accepted_; }
  size_t open() const { return connections_.size(); }
  // Closes a connection whose request has a body when this many bytes of the body have arrived.
  void CutBodiesAfter(size_t bytes) { cut_ = bytes; }
  // Stops reading bodies, so that the sender's buffers fill.
  void ReadNoBody() { reads_bodies_ = false; }

 private:
  struct Connection {
    std::unique_ptr<Channel> channel;
    std::string in, out;
    ServedAnswer answer;
    bool continued = false;
    EventLoop::Timer pace;
    EventLoop::FdWatch readable, writable;
  };
  using Held = std::shared_ptr<Connection>;

  void Add(UniqueFd fd) {
    ++accepted_;
    auto connection = std::make_shared<Connection>();
    connection->channel = tls_ ? *tls_(std::move(fd)) : MakePlainChannel(std::move(fd));
    connections_.push_back(connection);
    connection->readable = loop_.WhenReadable(
        connection->channel->socket(), [this, connection = connection.get()] { Receive(Find(connection)); });
  }
  Held Find(const Connection* wanted) const {
    return *std::find_if(connections_.begin(), connections_.end(), [&](const Held& c) { return c.get() == wanted; });
  }
  void Close(const Held& connection) {
    connection->readable.reset();
    connection->writable.reset();
    connection->pace.reset();
    std::erase(connections_, connection);
  }

  void Receive(const Held& connection) {
    std::string chunk(64 << 10, '\0');
    const Channel::Step step = connection->channel->Read(chunk.data(), chunk.size());
    if (step.kind == Channel::Step::Kind::kEnded) return Close(connection);
    connection->in.append(chunk, 0, step.bytes);
    if (step.kind == Channel::Step::Kind::kMoved) ServeNext(connection);
  }

  void ServeNext(const Held& connection) {
    const size_t end = connection->in.find("\r\n\r\n");
    if (end == std::string::npos) return;
    ServedRequest request = Parse(connection->in.substr(0, end));
    const size_t length = request.headers.count("content-length") ? std::stoul(request.headers["content-length"]) : 0;
    if (length > 0 && !reads_bodies_) return connection->readable.reset();
    if (request.headers.count("expect") && !std::exchange(connection->continued, true)) {
      Send(connection, {"HTTP/1.1 100 Continue\r\n\r\n"});
    }
    const size_t body = connection->in.size() - end - 4;
    if (cut_ != 0 && length > 0 && body >= cut_) return Close(connection);
    if (body < length) return;
    request.body = connection->in.substr(end + 4, length);
    connection->in.erase(0, end + 4 + length);
    connection->continued = false;
    requests_.push_back(request);
    Send(connection, script_(request));
  }

  static ServedRequest Parse(const std::string& head) {
    const std::vector<std::string> lines = Split(head, '\n');
    const std::vector<std::string> words = Split(Trim(lines[0]), ' ');
    ServedRequest request{words.at(0), words.at(1), {}, {}};
    for (size_t i = 1; i < lines.size(); ++i) {
      const size_t colon = lines[i].find(':');
      request.headers[ToLower(lines[i].substr(0, colon))] = Trim(lines[i].substr(colon + 1));
    }
    return request;
  }

  void Send(const Held& connection, ServedAnswer answer) {
    connection->answer = std::move(answer);
    connection->out = connection->answer.bytes;
    if (connection->out.empty() && connection->answer.close) return Close(connection);
    SendSome(connection);
  }
  void SendSome(const Held& connection) {
    const size_t piece = connection->answer.piece;
    while (!connection->out.empty()) {
      const size_t size = piece != 0 ? std::min(piece, connection->out.size()) : connection->out.size();
      const Channel::Step step = connection->channel->Write(std::string_view(connection->out).substr(0, size));
      if (step.kind == Channel::Step::Kind::kEnded) return Close(connection);
      if (step.kind != Channel::Step::Kind::kMoved) return AwaitRoom(connection);
      connection->out.erase(0, step.bytes);
      if (piece != 0 && !connection->out.empty()) return Pace(connection);
    }
    connection->writable.reset();
    if (connection->answer.close) Close(connection);
  }
  void AwaitRoom(const Held& connection) {
    if (connection->writable) return;
    connection->writable =
        loop_.WhenWritable(connection->channel->socket(), [this, raw = connection.get()] { SendSome(Find(raw)); });
  }
  void Pace(const Held& connection) {
    connection->pace = loop_.After(Duration(1), [this, raw = connection.get()] { SendSome(Find(raw)); });
  }

  EventLoop& loop_;
  Script script_;
  const MakeChannel tls_;
  int port_ = 0;
  int accepted_ = 0;
  size_t cut_ = 0;
  bool reads_bodies_ = true;
  std::vector<ServedRequest> requests_;
  std::vector<Held> connections_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace tony
