#include "runtime/keeper/message_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/keeper/keeper_protocol.h"
#include "tests/support/run_until.h"

namespace tony {
namespace {

constexpr uid_t kAnotherUser = 54321;  // nobody has this number

class MessageChannelTest : public ::testing::Test {
 protected:
  MessageChannelTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    here_ = Channel(ends[0]);
    there_.Reset(ends[1]);
  }
  std::unique_ptr<MessageChannel> Channel(int fd) {
    return std::make_unique<MessageChannel>(
        loop_, UniqueFd(fd), [this](std::string_view message) { got_.emplace_back(message); }, [this] { ++closed_; });
  }

  EventLoop loop_;
  std::unique_ptr<MessageChannel> here_;
  UniqueFd there_;
  std::vector<std::string> got_;
  int closed_ = 0;
};

TEST_F(MessageChannelTest, MessagesArriveWholeAndInOrderThoughThePeerReadsLate) {
  std::vector<std::string> sent;
  for (int i = 0; i < 300; ++i) sent.push_back(StrCat(i, std::string(5000, 'x')));
  for (const auto& message : sent) here_->Send(message);
  EXPECT_TRUE(got_.empty());
  auto there = Channel(there_.Release());
  ASSERT_TRUE(RunUntil(loop_, [&] { return got_.size() == sent.size(); }));
  EXPECT_EQ(got_, sent);
}

TEST_F(MessageChannelTest, LongestMessageFits) {
  const std::string longest(kMaxKeeperMessage, 'x');
  here_->Send(longest);
  auto there = Channel(there_.Release());
  ASSERT_TRUE(RunUntil(loop_, [&] { return !got_.empty(); }));
  EXPECT_EQ(got_[0], longest);
}

TEST_F(MessageChannelTest, ADescriptorComesWithItsMessageAndNoOther) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  here_->Send("before");
  here_->Send("with", UniqueFd(ends[1]));
  here_->Send("after");
  std::vector<std::pair<std::string, bool>> got;
  UniqueFd received;
  MessageChannel* channel = nullptr;
  MessageChannel there(
      loop_, UniqueFd(there_.Release()),
      [&](std::string_view message) {
        UniqueFd fd = channel->TakeDescriptor();
        got.emplace_back(message, fd.valid());
        if (fd.valid()) received = std::move(fd);
      },
      [] {});
  channel = &there;
  ASSERT_TRUE(RunUntil(loop_, [&] { return got.size() == 3; }));
  const std::vector<std::pair<std::string, bool>> expected = {{"before", false}, {"with", true}, {"after", false}};
  EXPECT_EQ(got, expected);
  EXPECT_EQ(fcntl(received.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(write(received.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(read_end.get(), &byte, 1), 1);
  received.Reset();
  EXPECT_EQ(read(read_end.get(), &byte, 1), 0) << "the sender's is closed";
}

TEST_F(MessageChannelTest, ADescriptorThatNobodyTakesIsClosed) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  auto there = Channel(there_.Release());
  here_->Send("with", UniqueFd(ends[1]));
  here_->Send("after");
  ASSERT_TRUE(RunUntil(loop_, [&] { return got_.size() == 2; }));
  char byte = 0;
  EXPECT_EQ(read(read_end.get(), &byte, 1), 0);
}

TEST_F(MessageChannelTest, TooLongAMessageClosesTheConnection) {
  const std::string too_long(kMaxKeeperMessage + 1, 'x');
  const int room = 2 * static_cast<int>(too_long.size());
  setsockopt(there_.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  ASSERT_EQ(send(there_.get(), too_long.data(), too_long.size(), 0), static_cast<ssize_t>(too_long.size()));
  ASSERT_TRUE(RunUntil(loop_, [&] { return closed_ > 0; }));
  EXPECT_TRUE(got_.empty());
}

TEST_F(MessageChannelTest, VanishedPeerIsToldOnceAfterItsLastMessage) {
  ASSERT_EQ(send(there_.get(), "bye", 3, 0), 3);
  there_.Reset();
  ASSERT_TRUE(RunUntil(loop_, [&] { return closed_ > 0; }));
  EXPECT_EQ(got_, std::vector<std::string>{"bye"});
  here_->Send("into the void");
  here_->ReadNow();
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return closed_ > 1; }, Duration(20)));
}

TEST_F(MessageChannelTest, ReadingNowDoesNotWaitForTheLoop) {
  ASSERT_EQ(send(there_.get(), "x", 1, 0), 1);
  here_->ReadNow();
  EXPECT_EQ(got_.size(), 1u);
}

TEST_F(MessageChannelTest, MayBeDestroyedByItsOwnMessage) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd peer(ends[1]);
  std::unique_ptr<MessageChannel> channel;
  int messages = 0;
  channel = std::make_unique<MessageChannel>(
      loop_, UniqueFd(ends[0]),
      [&](std::string_view) {
        ++messages;
        channel.reset();
      },
      [] { FAIL(); });
  ASSERT_EQ(send(peer.get(), "x", 1, 0), 1);
  ASSERT_EQ(send(peer.get(), "y", 1, 0), 1);
  ASSERT_TRUE(RunUntil(loop_, [&] { return messages > 0; }));
  EXPECT_EQ(messages, 1);
}

TEST_F(MessageChannelTest, KnowsItsPeer) {
  EXPECT_EQ(here_->PeerProcess(), getpid());
  EXPECT_TRUE(here_->PeerIsOurUser());
}

TEST_F(MessageChannelTest, AnotherUsersPeerIsNotOurs_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  int ends[2];
  ASSERT_EQ(seteuid(kAnotherUser), 0);
  const int made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(made, 0);
  const UniqueFd other_end(ends[1]);
  EXPECT_FALSE(Channel(ends[0])->PeerIsOurUser());
}

}  // namespace
}  // namespace tony
