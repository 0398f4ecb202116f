#include "runtime/net/channel.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

class PlainChannel : public Channel {
 public:
  explicit PlainChannel(UniqueFd socket) : socket_(std::move(socket)) {}

  int socket() const override { return socket_.get(); }
  Step Read(char* to, size_t most) override {
    const ssize_t got = ::recv(socket_.get(), to, most, 0);
    if (got == 0) return {Step::Kind::kEnded, 0, {ErrorCode::kUnavailable, "closed by the peer"}};
    return StepOf(got, Step::Kind::kWaitsToRead);
  }
  Step Write(std::string_view bytes) override {
    return StepOf(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), Step::Kind::kWaitsToWrite);
  }
  bool HasMore() const override { return false; }
  void ShutDown() override { ::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  static Step StepOf(ssize_t moved, Step::Kind waits) {
    if (moved >= 0) return {Step::Kind::kMoved, static_cast<size_t>(moved)};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {waits};
    return {Step::Kind::kEnded, 0, {ErrorCode::kUnavailable, ErrnoText(errno)}};
  }

  UniqueFd socket_;
};

}  // namespace

std::unique_ptr<Channel> MakePlainChannel(UniqueFd socket) { return std::make_unique<PlainChannel>(std::move(socket)); }

}  // namespace tony
