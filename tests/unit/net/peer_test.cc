#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/net/sockets.h"

namespace tony {
namespace {

constexpr uid_t kOverflow = 65534;
constexpr UserNames kMachine{kOverflow, true};     // outside of all user namespaces
constexpr UserNames kNamespace{kOverflow, false};  // some users have no name here

TEST(PeerTest, OnlyPeersOfTheSameUserOrRootAreAccepted) {
  EXPECT_TRUE(IsOneOf(1000, {1000}, kMachine));
  EXPECT_TRUE(IsOneOf(0, {1000}, kMachine));
  EXPECT_FALSE(IsOneOf(1001, {1000}, kMachine));
  EXPECT_FALSE(IsOneOf(kOverflow, {1000}, kMachine));
}

TEST(PeerTest, APeerWithTheOverflowUidIsAcceptedOnlyOutsideUserNamespaces) {
  EXPECT_TRUE(IsOneOf(kOverflow, {kOverflow}, kMachine)) << "a job of the user nobody";
  EXPECT_FALSE(IsOneOf(kOverflow, {kOverflow}, kNamespace)) << "whoever has no name is written so, too";
  EXPECT_FALSE(IsOneOf(0, {1000}, {.overflow = 0, .complete = false})) << "an administrator chose root's number";
  EXPECT_TRUE(IsOneOf(1000, {1000}, kNamespace));
}

TEST(PeerTest, TheKernelReportsThePeersUserAndProcess) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd one(pair[0]), other(pair[1]);
  const auto peer = PeerOf(one);
  ASSERT_TRUE(peer.ok()) << peer.error().message;
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->pid, ::getpid());
}

TEST(PeerTest, TheUserOfATcpPeerIsUnknown) {
  const UniqueFd listening = *ListenOn({"127.0.0.1", 0});
  const UniqueFd socket = *StartConnect({"127.0.0.1", BoundAddress(listening)->port});
  EXPECT_FALSE(PeerOf(socket).ok());
}

}  // namespace
}  // namespace tony
