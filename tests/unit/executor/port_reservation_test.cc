#include "executor/port_reservation.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>

#include "runtime/base/strings.h"
#include "tests/support/results.h"

namespace tony::executor {
namespace {

sockaddr_in Address(uint32_t host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

sockaddr_in6 Address6(in6_addr host, int port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = host;
  address.sin6_port = htons(static_cast<uint16_t>(port));
  return address;
}

// The addresses on which a server listens.
enum class Place { kAll, kLoopback, kBothFamilies, kAllOfIpv6, kLoopbackOfIpv6 };

// A server with the socket options that a framework sets.
class Server {
 public:
  explicit Server(const std::vector<int>& options, Place place = Place::kAll)
      : place_(place), fd_(socket(Is4() ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1, v6_only = place == Place::kBothFamilies ? 0 : 1;
    for (const int option : options) EXPECT_EQ(setsockopt(fd_.get(), SOL_SOCKET, option, &on, sizeof on), 0);
    if (!Is4()) EXPECT_EQ(setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only), 0);
  }
  int Listen(int port) {  // returns 0 or errno
    const auto bind_to = [&](const auto& address) {
      return bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    };
    const int bound = Is4()
                          ? bind_to(Address(place_ == Place::kAll ? INADDR_ANY : INADDR_LOOPBACK, port))
                          : bind_to(Address6(place_ == Place::kLoopbackOfIpv6 ? in6addr_loopback : in6addr_any, port));
    if (bound != 0) return errno;
    return listen(fd_.get(), 128) == 0 ? 0 : errno;
  }
  bool Accept() { return UniqueFd(accept(fd_.get(), nullptr, nullptr)).valid(); }
  bool Serves4() const { return Is4() || place_ == Place::kBothFamilies; }

 private:
  bool Is4() const { return place_ == Place::kAll || place_ == Place::kLoopback; }

  const Place place_;
  UniqueFd fd_;
};

bool HasIpv6() {
  const UniqueFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in6 address = Address6(in6addr_loopback, 0);
  return fd.valid() && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool Connects(int port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Address(INADDR_LOOPBACK, port);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Returns whether another executor would find the port reserved.
bool IsNameTaken(int port) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = StrCat("tony-port-", port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 && errno == EADDRINUSE;
}

const std::vector<std::vector<int>> kOptions = {{}, {SO_REUSEADDR}, {SO_REUSEPORT}, {SO_REUSEADDR, SO_REUSEPORT}};

class PortReservationTest : public testing::Test {
 protected:
  void ExpectServes(const std::vector<int>& options, Place place = Place::kAll) {
    Server server(options, place);
    ASSERT_EQ(server.Listen(port_->port()), 0);
    for (int i = 0; i < 20 && server.Serves4(); ++i) {
      ASSERT_TRUE(Connects(port_->port())) << "connection " << i;
      ASSERT_TRUE(server.Accept()) << "connection " << i;
    }
  }
  std::vector<Place> Places() const {
    if (!HasIpv6()) return {Place::kAll, Place::kLoopback};
    return {Place::kAll, Place::kLoopback, Place::kBothFamilies, Place::kAllOfIpv6, Place::kLoopbackOfIpv6};
  }
  Result<PortReservation> port_ = PortReservation::Make();
};

TEST_F(PortReservationTest, NoOtherServerCanBindAReservedPortBeforeTheTaskStarts) {
  for (const Place place : Places())
    for (const auto& options : kOptions)
      EXPECT_EQ(Server(options, place).Listen(port_->port()), EADDRINUSE) << static_cast<int>(place);
}

TEST_F(PortReservationTest, AServerThatBindsTheReleasedPortGetsAllConnectionsToThePort) {
  if (!port_->is_quiet()) GTEST_SKIP() << "the kernel gives away all ports";
  for (const Place place : Places()) {
    for (const auto& options : kOptions) {
      port_ = PortReservation::Make();
      port_->LetGo();
      ExpectServes(options, place);
    }
  }
}

TEST_F(PortReservationTest, APortReleasedToItsTaskStaysReservedAgainstOtherExecutors) {
  if (!port_->is_quiet()) GTEST_SKIP() << "the kernel gives away all ports";
  const int port = port_->port();
  port_->LetGo();
  EXPECT_TRUE(IsNameTaken(port));
  port_ = Error{};
  EXPECT_FALSE(IsNameTaken(port));
}

TEST_F(PortReservationTest, AReservedPortIsOutsideTheKernelsEphemeralRange) {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  int low = 0, high = 0;
  ASSERT_TRUE(range >> low >> high);
  if (low < 21000 && high > 64000) GTEST_SKIP() << "the kernel gives away all ports from " << low;
  EXPECT_TRUE(port_->is_quiet());
  EXPECT_TRUE(port_->port() < low || port_->port() > high) << port_->port();
}

TEST_F(PortReservationTest, AReservedEphemeralPortCanBeBoundByAServerWithReuseAddrOrReusePort) {
  for (const auto& options : kOptions) {
    port_ = PortReservation::MakeEphemeral();
    EXPECT_FALSE(port_->is_quiet());
    if (!options.empty()) ExpectServes(options);
    if (options.empty()) EXPECT_EQ(Server({}).Listen(port_->port()), EADDRINUSE);
  }
  port_->LetGo();
  ExpectServes({});
}

TEST_F(PortReservationTest, ARenewedReservationKeepsItsPortIfThePortIsFree) {
  const int first = port_->port();
  ASSERT_TRUE(port_->Renew(true).ok());
  EXPECT_EQ(port_->port(), first);
  port_->LetGo();
  ASSERT_TRUE(port_->Renew(true).ok());
  EXPECT_EQ(port_->port(), first);
  EXPECT_EQ(Server({}).Listen(first), EADDRINUSE);
}

TEST_F(PortReservationTest, ARenewedReservationReplacesAPortInUseOnlyIfAMoveIsAllowed) {
  const int first = port_->port();
  port_->LetGo();
  Server lingers({});
  ASSERT_EQ(lingers.Listen(first), 0);
  ASSERT_TRUE(port_->Renew(false).ok());
  EXPECT_EQ(port_->port(), first);
  ASSERT_TRUE(port_->Renew(true).ok());
  EXPECT_NE(port_->port(), first);
  EXPECT_EQ(Server({}).Listen(port_->port()), EADDRINUSE);
}

TEST_F(PortReservationTest, ConnectionsAreRefusedBeforeTheTaskListens) { EXPECT_FALSE(Connects(port_->port())); }

TEST_F(PortReservationTest, AServerCanBindAReservedPortAfterTheReservationEnds) {
  const int port = port_->port();
  port_ = Error{};
  EXPECT_EQ(Server({}).Listen(port), 0);
}

TEST_F(PortReservationTest, EachPortNameGetsADifferentReservedPort) {
  const auto ports = Must(ReservePorts({"control", "data"}));
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_NE(ports.at("control").port(), ports.at("data").port());
  EXPECT_EQ(Server({}).Listen(ports.at("data").port()), EADDRINUSE);
}

TEST_F(PortReservationTest, SimultaneousReservationsNeverShareAPort) {
  std::vector<PortReservation> held;
  std::set<int> ports;
  for (int i = 0; i < 500; ++i) {
    auto reservation = Must(PortReservation::Make());
    EXPECT_TRUE(ports.insert(reservation.port()).second);
    held.push_back(std::move(reservation));
  }
}

}  // namespace
}  // namespace tony::executor
