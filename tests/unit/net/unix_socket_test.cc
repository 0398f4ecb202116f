#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/net/sockets.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

UniqueFd Accept(const UniqueFd& listening) {
  return UniqueFd(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

TEST(UnixSocketTest, ASocketFileIsAccessibleOnlyToItsOwner) {
  const TempFolder temp;
  const UniqueFd listening = *ListenAt({temp.path(), "a.sock"}, SocketKind::kStream, 1);
  struct stat file = {};
  ASSERT_EQ(::stat((temp.path() / "a.sock").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_TRUE(S_ISSOCK(file.st_mode));
}

TEST(UnixSocketTest, ASocketWithAPathOfMoreThan200BytesAcceptsConnections) {
  const TempFolder temp;
  const fs::path folder = temp.path() / std::string(100, 'x') / std::string(100, 'y');
  fs::create_directories(folder);
  const UniqueFd listening = *ListenAt({folder, "a.sock"}, SocketKind::kStream, 1);
  const auto connected = ConnectTo({folder, "a.sock"}, SocketKind::kStream);
  ASSERT_TRUE(connected.ok()) << connected.error().message;
  EXPECT_TRUE(connected->has_value());
  EXPECT_TRUE(Accept(listening).valid());
}

TEST(UnixSocketTest, TheFolderOfASocketIsNotVisibleInProcNetUnix) {
  const TempFolder temp;
  const UniqueFd listening = *ListenAt({temp.path(), "a.sock"}, SocketKind::kStream, 1);
  std::ifstream list("/proc/net/unix");
  const std::string text{std::istreambuf_iterator<char>(list), {}};
  EXPECT_THAT(text, Not(HasSubstr(temp.path().string())));
}

TEST(UnixSocketTest, ASocketIsReachableThroughASymlinkToItsFolder) {
  const TempFolder temp;
  fs::create_directory(temp.path() / "job");
  fs::create_directory_symlink("job", temp.path() / "elsewhere");
  const UniqueFd listening = *ListenAt({temp.path() / "job", "a.sock"}, SocketKind::kStream, 1);
  EXPECT_TRUE(ConnectTo({temp.path() / "elsewhere", "a.sock"}, SocketKind::kStream).ok());
  EXPECT_TRUE(Accept(listening).valid());
}

TEST(UnixSocketTest, AStaleSocketFileRefusesClientsAndIsReplacedByANewListener) {
  const TempFolder temp;
  const SocketPlace place{temp.path(), "a.sock"};
  EXPECT_TRUE(ListenAt(place, SocketKind::kStream, 1).ok());  // closed at once; its name stays
  const auto dead = ConnectTo(place, SocketKind::kStream);
  ASSERT_FALSE(dead.ok());
  EXPECT_EQ(dead.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(dead.error().message, "connect to " + place.folder.string() + "/a.sock: connection refused");
  const UniqueFd listening = *ListenAt(place, SocketKind::kStream, 1);
  EXPECT_TRUE(ConnectTo(place, SocketKind::kStream).ok());
}

TEST(UnixSocketTest, ConnectingToAFullListenQueueReturnsNoSocketInsteadOfAnError) {
  const TempFolder temp;
  const SocketPlace place{temp.path(), "a.sock"};
  const UniqueFd listening = *ListenAt(place, SocketKind::kStream, 0);
  std::vector<UniqueFd> pending;
  for (int i = 0; i < 100; ++i) {
    auto socket = ConnectTo(place, SocketKind::kStream);
    ASSERT_TRUE(socket.ok()) << socket.error().message;
    if (!*socket) break;
    pending.push_back(**std::move(socket));
  }
  EXPECT_LT(pending.size(), 100u);
  EXPECT_TRUE(Accept(listening).valid());
  EXPECT_TRUE(ConnectTo(place, SocketKind::kStream)->has_value());
}

TEST(UnixSocketTest, ConnectingToASocketInAMissingFolderFailsWithTheSocketPath) {
  const auto socket = ConnectTo({"/nowhere/at/all", "a.sock"}, SocketKind::kStream);
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.error().message, "reach /nowhere/at/all/a.sock: no such file or directory");
}

}  // namespace
}  // namespace tony
