// Which peers are accepted or refused, and how bytes are transferred. Both ends are our own here.
#include "runtime/net/tls.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "tests/unit/net/raw_tls.h"

namespace tony {
namespace {

using testing::HasSubstr;
using Kind = Channel::Step::Kind;

JobCertificates MadeAt(Instant when, Duration validity = std::chrono::hours(1)) {
  return *MakeJobCertificates("job-1", when, validity);
}

// Connects the two ends of `job`, and sends "token" to the server.
Seen Talk(const JobCertificates& job) {
  Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(std::move(sockets.server), job.master);
  const auto client = ClientEnd(std::move(sockets.client), job.executor);
  return SayToServer(*server, *client, "token");
}

TEST(TlsTest, ExecutorsAndClientsOfTheSameJobAreAccepted) {
  for (const TlsIdentity& identity : {OurJob().executor, OurJob().client}) {
    Sockets sockets = ConnectedSockets();
    const auto server = ServerEnd(std::move(sockets.server));
    const auto client = ClientEnd(std::move(sockets.client), identity);
    const Seen seen = SayToServer(*server, *client, "token");
    EXPECT_EQ(seen.at_server, "token");
    EXPECT_FALSE(seen.server_ended || seen.client_ended);
    ASSERT_EQ(server->Write("answer").kind, Kind::kMoved);
    EXPECT_EQ(ReadBoth(*server, *client).at_client, "answer");
  }
}

TEST(TlsTest, AnAmOfAnotherJobReceivesNoDataFromAnExecutor) {
  const JobCertificates other = MadeAt(WallNow());
  Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(std::move(sockets.server), other.master);
  const auto client = ClientEnd(std::move(sockets.client));
  const Seen seen = SayToServer(*server, *client, "token");
  EXPECT_EQ(seen.at_server, "");
  ASSERT_TRUE(seen.client_ended);
  EXPECT_EQ(seen.client_ended->code, ErrorCode::kNotPermitted);
  EXPECT_THAT(seen.client_ended->message, HasSubstr("the peer does not belong to this job: "));
  EXPECT_TRUE(seen.server_ended);
}

// The AM checks the executor last, after the executor has accepted the AM.
TEST(TlsTest, AnExecutorThatTheAmRefusesReceivesTheReason) {
  const TlsIdentity other = MadeAt(WallNow()).executor;
  Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(std::move(sockets.server));
  const auto client = ClientEnd(std::move(sockets.client), {OurJob().master.ca, other.certificate, other.key});
  const Seen seen = SayToServer(*server, *client, "token");
  EXPECT_EQ(seen.at_server, "");
  EXPECT_EQ(seen.server_ended.value_or(Error{}).code, ErrorCode::kNotPermitted);
  ASSERT_TRUE(seen.client_ended);
  EXPECT_EQ(seen.client_ended->code, ErrorCode::kUnavailable);
  EXPECT_THAT(seen.client_ended->message, HasSubstr("the peer refused the TLS connection: "));
}

TEST(TlsTest, CertificatesAllowAClockDifferenceOf23HoursAndForbid26Hours) {
  using std::chrono::hours;
  for (const Duration wrong : {hours(-24), hours(23)}) EXPECT_EQ(Talk(MadeAt(WallNow() + wrong)).at_server, "token");
  const Seen late = Talk(MadeAt(WallNow() - hours(26)));
  EXPECT_THAT(late.client_ended.value_or(Error{}).message, HasSubstr("certificate has expired"));
  const Seen early = Talk(MadeAt(WallNow() + hours(25)));
  EXPECT_THAT(early.client_ended.value_or(Error{}).message, HasSubstr("certificate is not yet valid"));
  EXPECT_EQ(late.at_server + early.at_server, "");
}

TEST(TlsTest, ACertificateOfOneYearIsStillAcceptedOneHourBeforeItsExpiry) {
  const Duration year = std::chrono::hours(24 * 365);
  EXPECT_EQ(Talk(MadeAt(WallNow() - year + std::chrono::hours(1), year)).at_server, "token");
}

TEST(TlsTest, AnAnswerLargerThanTheSocketBufferArrivesComplete) {
  Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(std::move(sockets.server));
  const auto client = ClientEnd(std::move(sockets.client));
  ASSERT_EQ(SayToServer(*server, *client, "token").at_server, "token");
  std::string answer(8 << 20, 'a');
  for (size_t i = 0; i < answer.size(); ++i) answer[i] = static_cast<char>(i * 31 >> 8);
  std::string got;
  size_t sent = 0;
  bool waited = false;
  while (got.size() < answer.size()) {
    if (sent < answer.size()) {
      const std::string moved = answer.substr(sent, 100'000);  // at another address each time
      const Channel::Step step = server->Write(moved);
      ASSERT_NE(step.kind, Kind::kEnded) << step.why.message;
      sent += step.bytes;
      waited = waited || step.kind == Kind::kWaitsToWrite;
      if (step.kind == Kind::kMoved) continue;
    }
    got += ReadBoth(*server, *client).at_client;
  }
  EXPECT_TRUE(waited);
  EXPECT_TRUE(got == answer);
}

TEST(TlsTest, APartialReadReportsThatMoreBytesAreAvailable) {
  Sockets sockets = ConnectedSockets();
  const auto server = ServerEnd(std::move(sockets.server));
  const auto client = ClientEnd(std::move(sockets.client));
  ASSERT_EQ(SayToServer(*server, *client, "token").at_server, "token");
  ASSERT_EQ(client->Write("0123456789").kind, Kind::kMoved);
  char piece[4];
  Channel::Step step;
  while ((step = server->Read(piece, sizeof piece)).kind == Kind::kWaitsToRead) {
  }
  EXPECT_EQ(step.bytes, 4u);
  EXPECT_TRUE(server->HasMore());
  server->Read(piece, sizeof piece);
  server->Read(piece, sizeof piece);
  EXPECT_FALSE(server->HasMore());
}

TEST(TlsTest, ADisconnectIsReportedWithAndWithoutATlsCloseMessage) {
  for (const bool polite : {true, false}) {
    Sockets sockets = ConnectedSockets();
    const auto server = ServerEnd(std::move(sockets.server));
    auto client = ClientEnd(std::move(sockets.client));
    ASSERT_EQ(SayToServer(*server, *client, "token").at_server, "token");
    if (polite) client->ShutDown();
    client.reset();
    char byte;
    Channel::Step step;
    while ((step = server->Read(&byte, 1)).kind == Kind::kWaitsToRead) {
    }
    EXPECT_EQ(step.kind, Kind::kEnded);
    EXPECT_EQ(step.why.message, "the peer closed the connection");
  }
}

TEST(TlsTest, ATlsIdentityWithAWrongRoleOrABadCertificateOrAWrongKeyIsRefused) {
  const TlsIdentity& executor = OurJob().executor;
  const auto refusal = [](const Result<MakeChannel>& made) { return made.ok() ? "" : made.error().message; };
  EXPECT_THAT(refusal(MakeTlsServer(executor)), HasSubstr("role \"tony:executor\", expected tony:master"));
  EXPECT_THAT(refusal(MakeTlsClient(OurJob().master)), HasSubstr("role \"tony:master\", expected tony:executor"));
  EXPECT_THAT(refusal(MakeTlsClient({"", executor.certificate, executor.key})), HasSubstr("authority"));
  EXPECT_THAT(refusal(MakeTlsClient({executor.ca, "no PEM", executor.key})), HasSubstr("certificate"));
  EXPECT_THAT(refusal(MakeTlsClient({executor.ca, executor.certificate, OurJob().client.key})), HasSubstr("key"));
}

TEST(TlsTest, IdentitiesOfOneJobShareOnlyTheCertificateAuthority) {
  const auto& [master, executor, client] = OurJob();
  EXPECT_EQ(master.ca, executor.ca);
  EXPECT_EQ(master.ca, client.ca);
  EXPECT_NE(master.key, executor.key);
  EXPECT_NE(executor.key, client.key);
  EXPECT_NE(master.ca, MadeAt(WallNow()).master.ca);
  EXPECT_TRUE(MakeJobCertificates(std::string(300, 'j'), WallNow(), Duration(0)).ok()) << "a long id is cut";
}

// Otherwise libcurl would use some functions of this program's OpenSSL, and the rest of its own copy.
TEST(TlsTest, SharedLibrariesDoNotSeeTheOpenSslOfTheProgram) {
  ASSERT_NE(curl_version(), nullptr);
  for (const char* name : {"SSL_new", "SSL_CTX_new", "EVP_PKEY_free"}) {
    Dl_info found = {};
    ASSERT_NE(::dladdr(::dlsym(RTLD_DEFAULT, name), &found), 0) << name;
    EXPECT_THAT(found.dli_fname, HasSubstr(".so")) << name;
  }
}

}  // namespace
}  // namespace tony
