// A connection over a channel that decides by itself what it waits for, as TLS does.
#include "runtime/net/frame_connection.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <deque>

#include "tests/support/run_until.h"

namespace tony {
namespace {

using testing::ElementsAre;
using Kind = Channel::Step::Kind;

// A plain channel that first returns the results in `reads` and `writes`.
class MoodyChannel : public Channel {
 public:
  explicit MoodyChannel(UniqueFd socket) : plain_(MakePlainChannel(std::move(socket))) {}
  int socket() const override { return plain_->socket(); }
  Step Read(char* to, size_t) override {
    if (may_write_after_read && reads.empty()) writes.clear();
    if (const auto told = Next(reads)) return {*told};
    if (held_.empty()) {
      std::array<char, 256> chunk;
      const Step step = plain_->Read(chunk.data(), chunk.size());
      if (step.kind != Kind::kMoved) return step;
      held_.assign(chunk.data(), step.bytes);
    }
    // Returns single bytes, like a channel whose record is longer than the requested size.
    *to = held_.front();
    held_.erase(0, 1);
    return {Kind::kMoved, 1};
  }
  Step Write(std::string_view bytes) override {
    if (const auto told = Next(writes)) return {*told};
    return plain_->Write(bytes);
  }
  bool HasMore() const override { return !held_.empty(); }
  void ShutDown() override { plain_->ShutDown(); }

  std::deque<Kind> reads, writes;
  bool may_write_after_read = false;

 private:
  std::optional<Kind> Next(std::deque<Kind>& told) {
    if (told.empty()) return std::nullopt;
    const Kind kind = told.front();
    told.pop_front();
    return kind;
  }
  std::unique_ptr<Channel> plain_;
  std::string held_;
};

class FrameConnectionTest : public testing::Test {
 protected:
  FrameConnectionTest() {
    std::array<int, 2> ends;
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    peer = UniqueFd(ends[1]);
    auto made = std::make_unique<MoodyChannel>(UniqueFd(ends[0]));
    channel = made.get();
    connection = std::make_shared<FrameConnection>(
        loop, std::move(made), FrameConnection::Limits{1024, 1024},
        FrameConnection::Callbacks{[this](std::string_view frame) { frames.emplace_back(frame); },
                                   [this](const std::string& reason) { closed = reason; }});
  }
  ~FrameConnectionTest() override { connection->Close(); }
  void PeerSends(std::string_view bytes) {
    EXPECT_EQ(::send(peer.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  bool PeerHears(std::string_view bytes) {
    return RunUntil(loop, [&] {
      std::array<char, 256> chunk;
      const ssize_t got = ::recv(peer.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
      if (got > 0) heard.append(chunk.data(), static_cast<size_t>(got));
      return heard == bytes;
    });
  }

  EventLoop loop;
  UniqueFd peer;
  MoodyChannel* channel = nullptr;
  std::shared_ptr<FrameConnection> connection;
  std::vector<std::string> frames;
  std::string closed, heard;
};

constexpr std::string_view kTwoFrames("\0\0\0\2ab\0\0\0\1c", 11);

TEST_F(FrameConnectionTest, BytesBufferedInTheChannelAreReadEvenIfTheSocketIsEmpty) {
  PeerSends(kTwoFrames);
  EXPECT_TRUE(RunUntil(loop, [&] { return frames.size() == 2; }));
  EXPECT_THAT(frames, ElementsAre("ab", "c"));
}

TEST_F(FrameConnectionTest, AReadThatWaitsForAWritableSocketIsRetriedWhenTheSocketIsWritable) {
  channel->reads = {Kind::kWaitsToWrite, Kind::kWaitsToWrite, Kind::kWaitsToRead};
  PeerSends(kTwoFrames);
  EXPECT_TRUE(RunUntil(loop, [&] { return frames.size() == 2; }));
  connection->Send("answer");
  EXPECT_TRUE(PeerHears("answer"));
}

TEST_F(FrameConnectionTest, AWriteThatWaitsForIncomingBytesIsRetriedWhenTheBytesArrive) {
  channel->writes = std::deque<Kind>(1000, Kind::kWaitsToRead);
  channel->may_write_after_read = true;
  connection->Send("call");
  connection->Send("s");
  EXPECT_EQ(connection->unsent(), 5u);
  PeerSends(std::string_view("\0", 1));
  EXPECT_TRUE(PeerHears("calls"));
  EXPECT_EQ(closed, "");
}

TEST_F(FrameConnectionTest, AWriteThatWouldBlockIsRetriedUntilTheWriteSucceeds) {
  channel->writes = {Kind::kWaitsToWrite, Kind::kWaitsToWrite};
  connection->Send("call");
  EXPECT_TRUE(PeerHears("call"));
}

TEST_F(FrameConnectionTest, FinishClosesTheConnectionOnlyAfterUnsentBytesAreSent) {
  channel->writes = {Kind::kWaitsToWrite};
  connection->Send("last words");
  connection->Finish();
  EXPECT_TRUE(PeerHears("last words"));
  EXPECT_TRUE(RunUntil(loop, [&] { return closed == "finished"; }));
}

}  // namespace
}  // namespace tony
