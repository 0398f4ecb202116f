// Another user waits for the name of a master's socket and for the port of its page, while masters and keepers die. If
// both die, the port becomes free; a request to the port must not have any secret then.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "runtime/base/unique_fd.h"
#include "runtime/net/sockets.h"
#include "tests/e2e/strangers/master_job.h"

namespace tony {
namespace {

constexpr int kDeaths = 50;

sockaddr_in6 Address(const char* host, int port) {
  sockaddr_in6 address{};
  if (inet_pton(AF_INET6, host, &address.sin6_addr) == 1) {
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<uint16_t>(port));
  } else {
    auto* four = reinterpret_cast<sockaddr_in*>(&address);
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, host, &four->sin_addr);
  }
  return address;
}

UniqueFd NewSocket(const sockaddr_in6& address) {
  UniqueFd fd(socket(address.sin6_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
  return fd;
}

UniqueFd ListenAtPort(const char* host, int port) {
  const sockaddr_in6 address = Address(host, port);
  UniqueFd fd = NewSocket(address);
  const bool listens =
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(fd.get(), 100) == 0;
  return listens ? std::move(fd) : UniqueFd();
}

std::string ReadFor(int fd, int milliseconds) {
  std::string text;
  char buffer[4096];
  pollfd readable = {fd, POLLIN, 0};
  while (poll(&readable, 1, milliseconds) > 0) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

// Tries to listen at the port until that works or the file `stop` exists, and accepts connections until `stop` exists.
// Returns "tries N", or "listens" and all bytes that were received.
std::string TakePort(int port, const fs::path& stop) {
  int tries = 0;
  UniqueFd listener;
  for (; !listener.valid(); ++tries) {
    if (tries % 100 == 0 && access(stop.c_str(), F_OK) == 0) return "tries " + std::to_string(tries);
    constexpr const char* kHosts[] = {"127.0.0.1", "0.0.0.0", "::"};
    listener = ListenAtPort(kHosts[tries % std::size(kHosts)], port);
  }
  std::string heard = "listens\n";
  pollfd readable = {listener.get(), POLLIN, 0};
  while (access(stop.c_str(), F_OK) != 0) {
    if (poll(&readable, 1, 50) <= 0) continue;
    const UniqueFd caller(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    heard += ReadFor(caller.get(), 200);
  }
  return heard;
}

std::string TakeName(const fs::path& folder, const fs::path& stop) {
  for (int tries = 0;; ++tries) {
    if (tries % 100 == 0 && access(stop.c_str(), F_OK) == 0) return "tries " + std::to_string(tries);
    if (ListenAt({folder, "am." + std::to_string(tries % (2 * kDeaths)) + ".sock"}, SocketKind::kStream, 1).ok())
      return "listens";
  }
}

// Returns the answer to a browser's request, from any process that listens at the port.
std::string Visit(int port, const std::string& path) {
  const sockaddr_in6 address = Address("127.0.0.1", port);
  const UniqueFd fd = NewSocket(address);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "refused";
  const std::string request = "GET " + path + "status.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  (void)!send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
  return ReadFor(fd.get(), static_cast<int>(kGenerous.count()));
}

class ImpersonationTest : public MasterTest {
 protected:
  void SetUp() override {
    MasterTest::SetUp();
    if (IsSkipped()) return;
    Submit();
    token_ = ReadText(Folder() / "token");
    url_ = Url();
    ASSERT_THAT(url_, HasSubstr("http://127.0.0.1:"));
  }

  std::string Url() const { return Text(ParseJson(Tony({"status", "--json", Job()}).out), "/tracking_url"); }
  static int PortOf(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }
  static std::string PathOf(const std::string& url) { return url.substr(url.find('/', 8)); }

  bool IsRuledBy(int epoch) const { return Socket() == "am." + std::to_string(epoch) + ".sock" && IsReached(); }
  std::ptrdiff_t Adoptions() const {
    const std::string log = ReadText(Folder() / "keeper.log");
    std::ptrdiff_t adoptions = 0;
    for (size_t at = 0; (at = log.find("AM adopted", at)) != std::string::npos; ++at) ++adoptions;
    return adoptions;
  }
  void KillMaster(int epoch) const {
    kill(Master(), SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return IsRuledBy(epoch + 1); })) << client_->err();
  }
  void KillKeeper() const {
    const std::ptrdiff_t before = Adoptions();
    kill(Pid("tony-keeper"), SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return Adoptions() > before; })) << client_->err();
  }
  fs::path Stop(const OtherUser& stranger) const { return stranger.home() / "stop"; }

  std::string token_, url_;
};

TEST_F(ImpersonationTest, AnotherUserCannotTakeAJobsPortOrSocketDuringFiftyRestartsOfMasterOrKeeper) {
  const OtherUser stranger;
  const fs::path stop = Stop(stranger);
  const auto at_port = stranger.StartCall([=, port = PortOf(url_)] { return TakePort(port, stop); });
  const auto at_name = stranger.StartCall([=, folder = Folder()] { return TakeName(folder, stop); });
  int epoch = 1;
  for (int death = 0; death < kDeaths && !HasFatalFailure(); ++death) {
    death % 3 == 2 ? KillKeeper() : KillMaster(epoch++);
    EXPECT_THAT(Visit(PortOf(url_), PathOf(url_)), HasSubstr(Job()));
  }
  EXPECT_EQ(Url(), url_);
  ASSERT_TRUE(stranger.Write(stop, ""));
  for (const auto& call : {at_port.get(), at_name.get()}) {
    const std::string had = call->Wait().out;
    EXPECT_THAT(had, testing::StartsWith("tries "));
    EXPECT_GT(had.size(), std::string("tries 100").size()) << had;
  }
  const Ran ran = End(5);
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_THAT(ran.out + ran.err, HasSubstr("exit code 5"));
  EXPECT_THAT(user_->Processes(), IsEmpty());
}

// A waiting client, an executor and a person with a new link, while an impostor listens at the old port.
TEST_F(ImpersonationTest, AnImpostorAtTheFreedPortOfAJobsPageReceivesNoValidSecret) {
  const OtherUser stranger;
  const fs::path stop = Stop(stranger);
  const auto at_port = stranger.StartCall([=, port = PortOf(url_)] { return TakePort(port, stop); });
  // Both are stopped first, so that neither restarts the other.
  kill(Pid("tony-keeper"), SIGSTOP);
  kill(Master(), SIGSTOP);
  kill(Pid("tony-keeper"), SIGKILL);
  kill(Master(), SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return IsRuledBy(2); })) << client_->err();
  const std::string url = Url();
  EXPECT_NE(PortOf(url), PortOf(url_));
  EXPECT_NE(PathOf(url), PathOf(url_));
  Visit(PortOf(url_), PathOf(url_));  // a visit to the old link
  EXPECT_THAT(Visit(PortOf(url), PathOf(url)), HasSubstr(Job()));
  const Ran ran = End(5);
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_THAT(ran.out + ran.err, HasSubstr("exit code 5"));

  ASSERT_TRUE(stranger.Write(stop, ""));
  const std::string heard = at_port->Wait().out;
  EXPECT_THAT(heard, testing::StartsWith("listens\n")) << "the test wants it there";
  EXPECT_THAT(heard, HasSubstr(PathOf(url_)));
  EXPECT_THAT(heard, Not(HasSubstr(token_)));
  EXPECT_THAT(heard, Not(HasSubstr(PathOf(url))));
}

}  // namespace
}  // namespace tony
