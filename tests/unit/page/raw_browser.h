// A client that sends arbitrary bytes over a real loopback socket while the server's loop runs in the test's thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "runtime/base/unique_fd.h"
#include "runtime/net/sockets.h"
#include "tests/support/run_until.h"

namespace tony {

class RawBrowser {
 public:
  RawBrowser(EventLoop& loop, int port) : loop_(loop), socket_(*StartConnect({"127.0.0.1", port})) {}

  void Send(std::string_view bytes) {
    size_t sent = 0;
    const auto send_some = [&] {
      const ssize_t n = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sent += static_cast<size_t>(n);
      return sent == bytes.size() || (n < 0 && (errno == EPIPE || errno == ECONNRESET));
    };
    ASSERT_TRUE(RunUntil(loop_, send_some));
  }
  void Get(std::string_view target) { Send("GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n"); }

  // Waits for `count` whole answers and returns everything received.
  std::string Answers(size_t count = 1) {
    EXPECT_TRUE(RunUntil(loop_, [&] { return Look(), WholeAnswers() >= count; })) << received_;
    return std::exchange(received_, "");
  }
  // Waits for the header of the answer to a HEAD request, which has no body, and returns everything received.
  std::string Header() {
    EXPECT_TRUE(RunUntil(loop_, [&] { return Look(), received_.find("\r\n\r\n") != std::string::npos; })) << received_;
    return std::exchange(received_, "");
  }
  bool IsClosedSoon() {
    return RunUntil(loop_, [&] { return Look(), closed_; });
  }
  const std::string& Look() {
    char chunk[4096];
    ssize_t got = 0;
    while ((got = ::recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT)) > 0)
      received_.append(chunk, static_cast<size_t>(got));
    closed_ |= got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN);
    return received_;
  }
  bool closed() const { return closed_; }
  int fd() const { return socket_.get(); }
  void Vanish() { socket_.Reset(); }

 private:
  size_t WholeAnswers() const {
    size_t count = 0, at = 0;
    for (;; ++count) {
      const size_t body = received_.find("\r\n\r\n", at);
      if (body == std::string::npos) return count;
      const size_t length = received_.find("Content-Length: ", at);
      at = body + 4 + std::stoul(received_.substr(length + 16));
      if (at > received_.size()) return count;
    }
  }

  EventLoop& loop_;
  UniqueFd socket_;
  std::string received_;
  bool closed_ = false;
};

inline int StatusOf(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : -1;
}
inline std::string BodyOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

}  // namespace tony
