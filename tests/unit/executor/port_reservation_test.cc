#include "executor/port_reservation.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <set>

namespace tony::executor {
namespace {

sockaddr_in Address(uint32_t host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// A server as a framework makes it, with these options.
class Server {
 public:
  explicit Server(std::initializer_list<int> options) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    for (const int option : options) EXPECT_EQ(setsockopt(fd_.get(), SOL_SOCKET, option, &on, sizeof on), 0);
  }
  int Listen(int port) {  // 0, or the error
    const sockaddr_in address = Address(INADDR_ANY, port);
    if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno;
    return listen(fd_.get(), 128) == 0 ? 0 : errno;
  }
  bool Accept() { return UniqueFd(accept(fd_.get(), nullptr, nullptr)).valid(); }

 private:
  UniqueFd fd_;
};

bool Connects(int port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Address(INADDR_LOOPBACK, port);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

class PortReservationTest : public testing::Test {
 protected:
  void ExpectServes(std::initializer_list<int> options) {
    Server server(options);
    ASSERT_EQ(server.Listen(port_->port()), 0);
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(Connects(port_->port())) << "connection " << i;
      ASSERT_TRUE(server.Accept()) << "connection " << i;
    }
  }
  Result<PortReservation> port_ = PortReservation::Make();
};

TEST_F(PortReservationTest, AServerWithReuseAddressGetsEveryConnection) { ExpectServes({SO_REUSEADDR}); }

TEST_F(PortReservationTest, AServerWithReusePortGetsEveryConnection) { ExpectServes({SO_REUSEPORT}); }

TEST_F(PortReservationTest, AServerWithBothGetsEveryConnection) { ExpectServes({SO_REUSEADDR, SO_REUSEPORT}); }

TEST_F(PortReservationTest, AServerWithNeitherFindsThePortInUse) {
  EXPECT_EQ(Server({}).Listen(port_->port()), EADDRINUSE);
}

TEST_F(PortReservationTest, AServerWithNeitherMayHaveAPortThatWasLetGo) {
  port_ = PortReservation::MakeToLetGo();
  EXPECT_EQ(Server({}).Listen(port_->port()), EADDRINUSE);
  EXPECT_EQ(Server({SO_REUSEADDR, SO_REUSEPORT}).Listen(port_->port()), EADDRINUSE);
  port_->LetGo();
  ExpectServes({});
}

TEST_F(PortReservationTest, APortToLetGoIsNotOneThatTheKernelGivesToWhoeverAsksForAny) {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  int low = 0;
  ASSERT_TRUE(range >> low);
  if (low < 21000) GTEST_SKIP() << "the kernel gives away all ports from " << low;
  EXPECT_LT(PortReservation::MakeToLetGo()->port(), low);
}

TEST_F(PortReservationTest, APortThatWasLetGoIsReplacedByAnother) {
  port_ = PortReservation::MakeToLetGo();
  const int first = port_->port();
  ASSERT_TRUE(port_->Renew().ok());
  EXPECT_EQ(port_->port(), first);
  port_->LetGo();
  Server lingers({});
  ASSERT_EQ(lingers.Listen(first), 0);
  ASSERT_TRUE(port_->Renew().ok());
  EXPECT_NE(port_->port(), first);
  EXPECT_EQ(Server({}).Listen(port_->port()), EADDRINUSE);
}

TEST_F(PortReservationTest, NobodyAnswersBeforeTheTaskListens) { EXPECT_FALSE(Connects(port_->port())); }

TEST_F(PortReservationTest, ThePortIsFreeAfterTheReservation) {
  const int port = port_->port();
  port_ = Error{};
  EXPECT_EQ(Server({}).Listen(port), 0);
}

TEST_F(PortReservationTest, EachNameHasAPortOfItsOwn) {
  const auto ports = ReservePorts({"control", "data"});
  ASSERT_TRUE(ports.ok());
  ASSERT_EQ(ports->size(), 2u);
  EXPECT_NE(ports->at("control").port(), ports->at("data").port());
  EXPECT_EQ(Server({}).Listen(ports->at("data").port()), EADDRINUSE);
}

TEST_F(PortReservationTest, NoPortIsReservedTwice) {
  std::vector<PortReservation> held;
  std::set<int> ports;
  for (int i = 0; i < 500; ++i) {
    auto reservation = PortReservation::Make();
    ASSERT_TRUE(reservation.ok());
    EXPECT_TRUE(ports.insert(reservation->port()).second);
    held.push_back(*std::move(reservation));
  }
}

}  // namespace
}  // namespace tony::executor
