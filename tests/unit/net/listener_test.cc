#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <optional>
#include <vector>

#include "runtime/net/sockets.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

// Lowers the limit of open files, and restores it at the end.
class FewFiles {
 public:
  explicit FewFiles(rlim_t limit) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = limit;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class ListenerTest : public testing::Test {
 protected:
  ListenerTest() {
    listener_.emplace(loop_, *ListenAt(place_, SocketKind::kStream, 100), 0,
                      [this](UniqueFd socket) { accepted_.push_back(std::move(socket)); });
  }
  void TheOldestMakesRoom() {
    listener_->OnDescriptorShortage([this] {
      if (accepted_.empty()) return false;
      accepted_.erase(accepted_.begin());
      return true;
    });
  }
  // Connects this many clients and runs the loop for 100 ms, so that all of them are accepted or closed.
  bool Connect(int clients) {
    for (int i = 0; i < clients; ++i) clients_.push_back(**ConnectTo(place_, SocketKind::kStream));
    bool turned = false;
    const auto timer = loop_.After(Duration(100), [&] { turned = true; });
    return RunUntil(loop_, [&] { return turned; });
  }

  TempFolder temp_;
  const SocketPlace place_{temp_.path(), "a.sock"};
  EventLoop loop_;
  std::vector<UniqueFd> accepted_, clients_;
  std::optional<Listener> listener_;
};

TEST_F(ListenerTest, TheListenerLeavesSomeFileDescriptorsFreeForOtherFiles) {
  const FewFiles few(80);  // 20 of them are reserved
  ASSERT_TRUE(Connect(40));
  EXPECT_GT(accepted_.size(), 5u);
  EXPECT_LT(accepted_.size(), 40u);
  for (int i = 0; i < 12; ++i) clients_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(clients_.back().valid()) << "files can be opened";
}

TEST_F(ListenerTest, DescriptorsStayFreeForFilesWhileNewConnectionsReplaceOldConnections) {
  TheOldestMakesRoom();
  const FewFiles few(80);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(Connect(15));
    clients_.clear();  // accepted connections stay open
  }
  for (int i = 0; i < 15; ++i) clients_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(clients_.back().valid()) << "files can be opened";
}

TEST_F(ListenerTest, TheNewestConnectionIsAcceptedEvenWithoutFreeFileDescriptors) {
  TheOldestMakesRoom();
  const FewFiles few(80);
  ASSERT_TRUE(Connect(5));
  clients_.push_back(**ConnectTo(place_, SocketKind::kStream));
  std::vector<UniqueFd> files;
  do files.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  while (files.back().valid());
  ASSERT_TRUE(Connect(0));
  ASSERT_FALSE(accepted_.empty());
  EXPECT_EQ(::write(accepted_.back().get(), "x", 1), 1);
  char got = 0;
  EXPECT_EQ(::read(clients_.back().get(), &got, 1), 1);
}

TEST_F(ListenerTest, OlderConnectionsAreClosedInsteadOfTheNewestWhenFileDescriptorsRunOut) {
  TheOldestMakesRoom();
  const FewFiles few(80);
  ASSERT_TRUE(Connect(40));
  // The newest connection is among those that stayed, because bytes written to it arrive.
  ASSERT_FALSE(accepted_.empty());
  EXPECT_EQ(::write(accepted_.back().get(), "x", 1), 1);
  char got = 0;
  EXPECT_EQ(::read(clients_.back().get(), &got, 1), 1);
}

TEST_F(ListenerTest, NewConnectionsAreNotAcceptedWhileTheAcceptConditionIsFalse) {
  bool wanted = false;
  listener_->While([&] { return wanted || accepted_.size() < 3; });
  ASSERT_TRUE(Connect(10));
  EXPECT_EQ(accepted_.size(), 3u);
  wanted = true;
  EXPECT_TRUE(RunUntil(loop_, [&] { return accepted_.size() == 10; }));
}

}  // namespace
}  // namespace tony
