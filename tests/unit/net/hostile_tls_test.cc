// The peer is an unknown program, or a program of the job with bad intentions.
#include <gmock/gmock.h>
#include <malloc.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "runtime/net/tls.h"
#include "tests/unit/net/raw_tls.h"

namespace tony {
namespace {

using testing::HasSubstr;
using Kind = Channel::Step::Kind;

// Returns what both ends see when a client, set up by `configure`, sends "token" to our server.
Seen AtOurServer(const std::function<void(SSL_CTX*)>& configure) {
  Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(std::move(sockets.server));
  RawEnd client(RawEnd::Side::kClient, std::move(sockets.client), configure);
  return SayToServer(*server, client, "token");
}

std::string WhyRefused(const Seen& seen) {
  EXPECT_EQ(seen.at_server, "");
  return seen.server_ended ? seen.server_ended->message : "not refused";
}

// Sends raw bytes to `ours`, which is our server or our client. Returns the error with which it refuses them.
Error AfterBytes(Channel& ours, const UniqueFd& theirs, std::string_view bytes) {
  char byte;
  ours.Read(&byte, 1);
  EXPECT_EQ(::send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  for (int tries = 0; tries < 100'000; ++tries) {
    const Channel::Step step = ours.Read(&byte, 1);
    EXPECT_NE(step.kind, Kind::kMoved);
    if (step.kind == Kind::kEnded) return step.why;
  }
  return {ErrorCode::kInternal, "not refused"};
}

TEST(HostileTlsTest, ATlsClientWithTheRightCertificateIsAccepted) {
  EXPECT_EQ(AtOurServer(Showing(OurJob().executor)).at_server, "token");
}

TEST(HostileTlsTest, AClientWithoutACertificateIsRefused) {
  EXPECT_THAT(WhyRefused(AtOurServer([](SSL_CTX*) {})), HasSubstr("peer did not return a certificate"));
}

TEST(HostileTlsTest, AClientOfAnotherJobIsRefusedWithATlsAlert) {
  const JobCertificates other = *MakeJobCertificates("job-1", WallNow(), std::chrono::hours(1));
  const Seen seen = AtOurServer(Showing(other.executor));
  EXPECT_THAT(WhyRefused(seen), HasSubstr("the peer does not belong to this job: "));
  EXPECT_EQ(seen.server_ended.value_or(Error{}).code, ErrorCode::kNotPermitted);
  EXPECT_THAT(seen.client_ended.value_or(Error{}).message, HasSubstr("alert"));
}

TEST(HostileTlsTest, AClientThatPresentsAnAmCertificateIsRefused) {
  EXPECT_EQ(WhyRefused(AtOurServer(Showing(OurJob().master))),
            "the peer's certificate has the role \"tony:master\", expected tony:executor");
}

TEST(HostileTlsTest, AServerWithAnExecutorOrClientCertificateReceivesNoData) {
  for (const TlsIdentity& impostor : {OurJob().executor, OurJob().client}) {
    Sockets sockets = ConnectedSockets();
    RawEnd server(RawEnd::Side::kServer, std::move(sockets.server), Showing(impostor));
    const auto client = ClientEnd(std::move(sockets.client));
    const Seen seen = SayToServer(server, *client, "token");
    EXPECT_EQ(seen.at_server, "");
    EXPECT_EQ(seen.client_ended.value_or(Error{}).code, ErrorCode::kNotPermitted);
    EXPECT_THAT(seen.client_ended.value_or(Error{}).message, HasSubstr("expected tony:master"));
  }
}

TEST(HostileTlsTest, AnExpiredClientCertificateIsRefused) {
  const auto old = *MakeJobCertificates("job-1", WallNow() - std::chrono::hours(100), std::chrono::hours(1));
  Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(std::move(sockets.server), old.master);
  RawEnd client(RawEnd::Side::kClient, std::move(sockets.client), Showing(old.executor));
  EXPECT_EQ(WhyRefused(SayToServer(*server, client, "token")), "the peer's certificate: certificate has expired");
}

TEST(HostileTlsTest, AClientWithTls12IsRefused) {
  const Seen seen = AtOurServer([](SSL_CTX* context) {
    Showing(OurJob().executor)(context);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  });
  EXPECT_THAT(WhyRefused(seen), HasSubstr("cannot establish TLS with the peer: "));
}

TEST(HostileTlsTest, AnAmWithTls12ReceivesNoData) {
  Sockets sockets = ConnectedSockets();
  RawEnd server(RawEnd::Side::kServer, std::move(sockets.server), [](SSL_CTX* context) {
    Showing(OurJob().master)(context);
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  });
  const auto client = ClientEnd(std::move(sockets.client));
  const Seen seen = SayToServer(server, *client, "token");
  EXPECT_EQ(seen.at_server, "");
  EXPECT_EQ(seen.client_ended.value_or(Error{}).code, ErrorCode::kNotPermitted);
}

TEST(HostileTlsTest, AnExcessivelyLongCertificateChainIsRefused) {
  const Seen seen = AtOurServer([](SSL_CTX* context) {
    Showing(OurJob().executor)(context);
    for (int i = 0; i < 12; ++i) SSL_CTX_add1_chain_cert(context, SSL_CTX_get0_certificate(context));
  });
  EXPECT_THAT(WhyRefused(seen), HasSubstr("excessive message size"));
}

// A second hello could have any announced length, and OpenSSL would allocate it before checking it.
TEST(HostileTlsTest, AClientHelloThatNeedsAHelloRetryRequestIsRefused) {
  const Seen seen = AtOurServer([](SSL_CTX* context) {
    Showing(OurJob().executor)(context);
    SSL_CTX_set1_groups_list(context, "P-384:P-256");
  });
  EXPECT_NE(WhyRefused(seen), "not refused");
}

TEST(HostileTlsTest, AClientWithoutTlsIsRefused) {
  for (const std::string_view bytes :
       {std::string_view("\0\0\0\x20 a call of Thrift, in a frame", 32), std::string_view("GET / HTTP/1.1\r\n\r\n"),
        std::string_view("\x16\x03\x01\0\x04\x02\0\0\0", 9)}) {
    const Sockets sockets = ConnectedSockets();
    const auto server = ServerEnd(UniqueFd(::dup(sockets.server.get())));
    const Error why = AfterBytes(*server, sockets.client, bytes);
    EXPECT_EQ(why.code, ErrorCode::kUnavailable);
    EXPECT_NE(why.message, "not refused");
  }
}

TEST(HostileTlsTest, AServerWithoutTlsIsNotTrusted) {
  const Sockets sockets = ConnectedSockets();
  const auto client = ClientEnd(UniqueFd(::dup(sockets.client.get())));
  const Error why = AfterBytes(*client, sockets.server, "HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_EQ(why.code, ErrorCode::kNotPermitted);
  EXPECT_THAT(why.message, HasSubstr("cannot establish TLS with the peer: "));
}

TEST(HostileTlsTest, AnOversizedTlsMessageLengthIsRefusedBeforeTheMessageArrives) {
  const Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(UniqueFd(::dup(sockets.server.get())));
  EXPECT_NE(AfterBytes(*server, sockets.client, std::string_view("\x16\x03\x01\x02\x00\x01\x01\xff\xff", 9)).message,
            "not refused");
}

TEST(HostileTlsTest, AnIncompleteClientHelloUsesLessThan80KbPerConnection) {
  const auto make = *MakeTlsServer(OurJob().master);
  std::vector<Sockets> sockets;
  std::vector<std::unique_ptr<Channel>> servers;
  char byte;
  for (int i = 0; i < 64; ++i) sockets.push_back(ConnectedSockets());
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (const Sockets& pair : sockets) {
    constexpr std::string_view kHalf("\x16\x03\x01\x0f\x00\x01\x00\x0e\xfc\x03\x03", 11);
    servers.push_back(*make(UniqueFd(::dup(pair.server.get()))));
    EXPECT_EQ(::send(pair.client.get(), kHalf.data(), kHalf.size(), 0), static_cast<ssize_t>(kHalf.size()));
    for (int tries = 0; tries < 10; ++tries) EXPECT_EQ(servers.back()->Read(&byte, 1).kind, Kind::kWaitsToRead);
  }
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd, before + 64 * (80 << 10));
}

// Each call reads a single record, so that the caller gets control between records.
TEST(HostileTlsTest, EachReadProcessesOnlyOneOfManyTlsKeyUpdates) {
  Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(std::move(sockets.server));
  RawEnd client(RawEnd::Side::kClient, std::move(sockets.client), Showing(OurJob().executor));
  ASSERT_EQ(SayToServer(*server, client, "token").at_server, "token");
  constexpr int kUpdates = 50;
  for (int i = 0; i < kUpdates; ++i) {
    ASSERT_EQ(SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client.ssl()), 1);
  }
  ASSERT_EQ(client.Write("call").kind, Kind::kMoved);
  int calls = 1;
  char chunk[16];
  Channel::Step step;
  while ((step = server->Read(chunk, sizeof chunk)).kind == Kind::kWaitsToRead) ++calls;
  EXPECT_EQ(std::string_view(chunk, step.bytes), "call");
  EXPECT_GT(calls, kUpdates);
}

}  // namespace
}  // namespace tony
