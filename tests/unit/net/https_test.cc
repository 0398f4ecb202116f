// HTTPS by libcurl, and by numeric address without libcurl: both accept and refuse the same servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "runtime/net/http_client.h"
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

}  // namespace
}  // namespace tony
