// HTTPS by libcurl, and by numeric address without libcurl: both accept and refuse the same servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <openssl/pem.h>

#include <array>
#include <optional>

#include "runtime/net/http_client.h"
#include "runtime/net/http_server.h"
#include "runtime/net/tls.h"
#include "tests/support/https_end.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_http_server.h"

namespace tony {
namespace {

using testing::HasSubstr;

struct HttpsRow {
  const char* name;
  HttpTrust trust;
  const char* host = kLoopback;  // in the client's address
  MakeChannel server = HttpsEnd();
  std::optional<ErrorCode> code = std::nullopt;  // nullopt: the server is accepted
  std::string error = "";
};

const HttpTrust kTrust{kSiteAuthority, "trust.jks"}, kWrongTrust{kOtherAuthority, "trust.jks"};

// Refuses the first bytes of TLS, as Hadoop's servers without TLS do.
Result<std::unique_ptr<Channel>> PlainEnd(UniqueFd socket) {
  auto channel = MakePlainChannel(std::move(socket));
  channel->Write("HTTP/1.1 400 Bad Request\r\n\r\n");
  return channel;
}

const std::vector<HttpsRow>& HttpsRows() {
  static const auto& rows = *new std::vector<HttpsRow>{
      {"Trusted", kTrust},
      {"Tls12", kTrust, kLoopback, HttpsEnd(kNameNodeCertificate, TLS1_2_VERSION)},
      {"TwoAuthorities", {std::string(kOtherAuthority) + kSiteAuthority, "trust.jks"}},
      {"TheCertificateItself", {kNameNodeCertificate, "trust.jks"}},
      {"AnotherName", kTrust, "localhost", HttpsEnd(), ErrorCode::kNotPermitted, "is for other hosts"},
      {"AnotherNameAllowed", {kSiteAuthority, "", false}, "localhost"},
      {"AnotherAuthority", kWrongTrust, kLoopback, HttpsEnd(), ErrorCode::kNotPermitted,
       "is not trusted (unable to get local issuer certificate); expected a certificate of an authority in trust.jks"},
      {"AnotherAuthorityWithoutNames", {kOtherAuthority, "", false}, kLoopback, HttpsEnd(), ErrorCode::kNotPermitted,
       "is not trusted"},
      {"TheSystemsAuthorities", {}, kLoopback, HttpsEnd(), ErrorCode::kNotPermitted, "is not trusted"},
      {"Expired", kTrust, kLoopback, HttpsEnd(kExpiredCertificate), ErrorCode::kUnavailable,
       "is not valid now: certificate has expired"},
      {"WithoutTls", kTrust, kLoopback, PlainEnd, ErrorCode::kInvalid, "answers without TLS"},
  };
  return rows;
}

class HttpsTest : public testing::TestWithParam<HttpsRow> {
 protected:
  // Checks the answer to a request that `send` has started.
  template <class Send>
  void Check(const Send& send) {
    std::optional<Result<HttpResponse>> result;
    const auto handle = send([&](Result<HttpResponse> response) { result = std::move(response); });
    ASSERT_TRUE(RunUntil(loop_, [&] { return result.has_value(); }));
    if (GetParam().code) {
      ExpectError(*result, *GetParam().code, "~" + GetParam().error);
      EXPECT_TRUE(server_.requests().empty()) << "nothing is sent to a server that is not trusted";
      return;
    }
    EXPECT_EQ(Must(*result).body, std::string(40'000, 'x'));
    EXPECT_EQ(server_.requests().at(0).headers.at("host"), ToString(At()));
  }
  Endpoint At() const { return {GetParam().host, server_.port()}; }

  EventLoop loop_;
  ScriptedHttpServer server_{loop_, [](const ServedRequest&) { return Answered(200, std::string(40'000, 'x')); },
                             GetParam().server};
};

TEST_P(HttpsTest, ByLibcurl) {
  HttpClient client(loop_);
  HttpCall call{.url = StrCat("https://", ToString(At()), "/a")};
  call.trust = std::make_shared<const HttpTrust>(GetParam().trust);
  Check([&](HttpClient::Done done) { return client.Send(std::move(call), std::move(done)); });
}

TEST_P(HttpsTest, ByAddress) {
  const MakeChannel tls = Must(MakeHttpsClient(GetParam().trust, GetParam().host));
  const HttpServerAddress server{{kLoopback, server_.port()}, ToString(At()), tls};
  Check([&](HttpClient::Done done) { return GetByAddress(loop_, server, "/a", Duration(20'000), std::move(done)); });
}

INSTANTIATE_TEST_SUITE_P(Rows, HttpsTest, testing::ValuesIn(HttpsRows()),
                         [](const auto& row) { return row.param.name; });

TEST(HttpsClientTest, ACertificateForAnotherAddressIsRefused) {
  EventLoop loop;
  const ScriptedHttpServer server(loop, [](const ServedRequest&) { return Answered(200, ""); }, HttpsEnd());
  std::optional<Result<HttpResponse>> result;
  const auto handle = GetByAddress(
      loop, {{kLoopback, server.port()}, "127.0.0.2", Must(MakeHttpsClient(kTrust, "127.0.0.2"))}, "/a",
      Duration(20'000), [&](Result<HttpResponse> response) { result = std::move(response); });
  ASSERT_TRUE(RunUntil(loop, [&] { return result.has_value(); }));
  ExpectError(*result, ErrorCode::kNotPermitted, "~is for other hosts");
}

TEST(HttpsClientTest, AuthoritiesThatAreNotPemAreRefused) {
  const std::string cut = std::string(kSiteAuthority).substr(0, 200);
  for (const std::string& bad : {std::string("x"), cut, kOtherAuthority + cut})
    ExpectError(MakeHttpsClient({bad}, "nn"), ErrorCode::kInvalid, "~not certificates in PEM");
}

std::string Der(const std::string& pem, bool is_key) {
  const Owned<BIO, BIO_free> memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  char *name = nullptr, *header = nullptr;
  unsigned char* bytes = nullptr;
  long size = 0;
  EXPECT_EQ(PEM_read_bio(memory.get(), &name, &header, &bytes, &size), 1);
  EXPECT_EQ(std::string(name), is_key ? "PRIVATE KEY" : "CERTIFICATE");
  std::string der(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  for (void* it : {static_cast<void*>(name), static_cast<void*>(header), static_cast<void*>(bytes)}) OPENSSL_free(it);
  return der;
}

// A server whose only client is the one with the certificate of our job's clients.
class ProxiedServerTest : public testing::Test {
 protected:
  ProxiedServerTest() {
    UniqueFd listening = *ListenOn({kLoopback, 0});
    at_ = *BoundAddress(listening);
    const MakeChannel tls = Must(MakeProxiedServer({{Der(kExpiredCertificate, false)},
                                                    Der(kNameNodeKey, true),
                                                    Der(OurJob().client.certificate, false)}));
    const auto answer = [this](const HttpRequest& request, const HttpReply& reply) {
      ++requests_;
      reply.Send(TextAnswer(200, request.path.front() == "big" ? std::string(4 << 20, 'x') : "small"));
    };
    server_.emplace(loop_, std::move(listening), answer, HttpLimits(), nullptr, tls);
  }

  // Returns all bytes that a client gets until `end` arrives or the connection ends.
  std::string Ask(Channel& client, std::string_view request, const std::string& end) {
    std::string answer;
    bool is_over = false;
    EXPECT_TRUE(RunUntil(loop_, [&] {
      if (!request.empty()) {
        const Channel::Step sent = client.Write(request);
        if (sent.kind == Channel::Step::Kind::kMoved) request.remove_prefix(sent.bytes);
      }
      std::array<char, 16384> chunk;
      const Channel::Step got = client.Read(chunk.data(), chunk.size());
      if (got.kind == Channel::Step::Kind::kMoved) answer.append(chunk.data(), got.bytes);
      is_over = got.kind == Channel::Step::Kind::kEnded;
      return is_over || answer.ends_with(end);
    }));
    return answer;
  }
  UniqueFd Connected() { return *StartConnect(at_); }

  EventLoop loop_;
  Endpoint at_;
  int requests_ = 0;
  std::optional<HttpServer> server_;
};

TEST_F(ProxiedServerTest, TheProxyGetsEachAnswerWithBothVersionsOfTls) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    RawEnd proxy(RawEnd::Side::kClient, Connected(), [version](SSL_CTX* context) {
      Showing(OurJob().client)(context);
      SSL_CTX_set_max_proto_version(context, version);
    });
    EXPECT_THAT(Ask(proxy, "GET /a HTTP/1.1\r\n\r\n", "small"), HasSubstr("HTTP/1.1 200 OK"));
    const std::string two = "GET /big HTTP/1.1\r\n\r\nGET /a HTTP/1.1\r\n\r\n";
    EXPECT_GT(Ask(proxy, two, "small").size(), size_t{4} << 20);
  }
  EXPECT_EQ(requests_, 6);
}

TEST_F(ProxiedServerTest, OtherClientsAreRefused) {
  const std::function<void(SSL_CTX*)> others[] = {Showing(OurJob().executor), [](SSL_CTX*) {}};
  for (const auto& other : others) {
    RawEnd client(RawEnd::Side::kClient, Connected(), other);
    EXPECT_EQ(Ask(client, "GET /a HTTP/1.1\r\n\r\n", "small"), "");
  }
  const auto plain = MakePlainChannel(Connected());
  EXPECT_EQ(Ask(*plain, "GET /a HTTP/1.1\r\n\r\n", "small"), "");
  EXPECT_EQ(requests_, 0);
}

TEST(ProxiedServer, AnIdentityThatCannotBeUsedIsRefused) {
  const ProxiedServer good{{Der(kNameNodeCertificate, false)}, Der(kNameNodeKey, true), "client"};
  EXPECT_TRUE(MakeProxiedServer(good).ok());
  for (const ProxiedServer& bad : {ProxiedServer{{"x"}, good.key, "client"}, ProxiedServer{good.chain, "x", "client"},
                                   ProxiedServer{{Der(kSiteAuthority, false)}, good.key, "client"},
                                   ProxiedServer{good.chain, good.key, ""}})
    ExpectError(MakeProxiedServer(bad), ErrorCode::kInvalid, "~cannot be used");
}

}  // namespace
}  // namespace tony
