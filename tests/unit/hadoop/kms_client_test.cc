#include "runtime/hadoop/kms_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "runtime/base/strings.h"
#include "runtime/hadoop/webhdfs_answer.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_http_server.h"
#include "tests/unit/base/event_loop_fixture.h"

namespace tony::hadoop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(KmsServersTest, AProviderMayNameSeveralServers) {
  EXPECT_THAT(Must(KmsServersOf("kms://http@a:9600/kms")), ElementsAre("http://a:9600/kms"));
  EXPECT_THAT(Must(KmsServersOf("kms://https@a.x;b.x:9600/kms")),
              ElementsAre("https://a.x:9600/kms", "https://b.x:9600/kms"));
  for (const char* provider : {"", "kms://", "kms:///kms", "kms://http@/kms", "kms://http@a:9600", "kms://a:9600/kms",
                               "kms://ftp@a:9600/kms", "jceks://file@/a.jceks", "http://a:9600/kms"})
    ExpectError(KmsServersOf(provider), ErrorCode::kInvalid, "~expected kms://http@HOST:PORT/kms");
}

class KmsClientTest : public EventLoopTest {
 protected:
  Result<std::string> Decrypt(const std::string& provider) {
    KmsClient kms(loop, options);
    std::optional<Result<std::string>> key;
    const EncryptedFileKey encrypted{"zone \"key\"", "key@0", std::string("\0\xff", 2), "\xfb\xff"};
    const Hdfs::Handle handle =
        kms.Decrypt(provider, encrypted, [&](const Result<std::string>& result) { key = result; });
    EXPECT_FALSE(key.has_value()) << "called from inside";
    EXPECT_TRUE(RunUntil(loop, [&] { return key.has_value(); }));
    return key.value_or(Error{ErrorCode::kInternal, "never answered"});
  }
  std::string Provider(const std::string& hosts = kLoopback) const {
    const std::string url = server.Url("");
    return StrCat("kms://http@", hosts, url.substr(url.rfind(':')), "/kms");
  }

  ServedAnswer answer = Answered(200, "{\"name\":\"key\",\"versionName\":\"EK\",\"material\":\"-_8\"}");
  ScriptedHttpServer server{loop, [this](const ServedRequest&) { return answer; }};
  Hdfs::Options options{.user = "e&e"};
};

TEST_F(KmsClientTest, AKeyIsDecryptedForTheUser) {
  EXPECT_EQ(Must(Decrypt(Provider())), "\xfb\xff");
  ASSERT_THAT(server.requests(), SizeIs(1));
  EXPECT_EQ(server.requests()[0].method, "POST");
  EXPECT_EQ(server.requests()[0].target, "/kms/v1/keyversion/key%400/_eek?eek_op=decrypt&user.name=e%26e");
  EXPECT_EQ(server.requests()[0].headers.at("content-type"), "application/json");
  EXPECT_EQ(server.requests()[0].body, "{\"name\":\"zone \\\"key\\\"\",\"iv\":\"AP8\",\"material\":\"-_8\"}");
}

TEST_F(KmsClientTest, ATokenIsSentInAHeaderInsteadOfTheUserName) {
  options.kms_token = [] { return Result<std::string>("the-token"); };
  EXPECT_TRUE(Decrypt(Provider()).ok());
  EXPECT_EQ(server.requests().at(0).target, "/kms/v1/keyversion/key%400/_eek?eek_op=decrypt");
  EXPECT_EQ(server.requests().at(0).headers.at("x-hadoop-delegation-token"), "the-token");
  options.kms_token = []() -> Result<std::string> { return NotPermittedError("no ticket"); };
  EXPECT_THAT(Decrypt(Provider()).error().message, HasSubstr("no ticket"));
}

TEST_F(KmsClientTest, TheNextServerIsAskedIfOneDoesNotListen) {
  EXPECT_TRUE(Decrypt(Provider("127.0.0.3;127.0.0.1")).ok());
  const auto gone = Decrypt("kms://http@127.0.0.1:1/kms");
  EXPECT_EQ(gone.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(gone.error().message, HasSubstr("KMS http://127.0.0.1:1/kms: decrypt a key with key@0: "));
}

TEST_F(KmsClientTest, RefusalsAndMalformedAnswersNameTheServer) {
  answer = Answered(403, "{\"RemoteException\":{\"message\":\"User [eve] is not authorized\",\"exception\":"
                         "\"AuthorizationException\",\"javaClassName\":\"x.AuthorizationException\"}}");
  const auto refused = Decrypt(Provider());
  EXPECT_EQ(refused.error().code, ErrorCode::kNotPermitted);
  EXPECT_THAT(refused.error().message, HasSubstr("decrypt a key with key@0: AuthorizationException: User [eve]"));
  for (const char* body : {"", "{}", "{\"material\":5}", "{\"material\":\"*\"}"}) {
    answer = Answered(200, body);
    ExpectError(Decrypt(Provider()), ErrorCode::kInvalid, "~it has no material");
  }
}

TEST(KeyProviderTest, TheKeyProviderIsReadFromTheServersDefaults) {
  EXPECT_EQ(Must(KeyProviderIn("{\"FsServerDefaults\":{\"keyProviderUri\":\"kms://http@a:1/kms\"}}")),
            "kms://http@a:1/kms");
  EXPECT_EQ(Must(KeyProviderIn("{\"FsServerDefaults\":{\"blockSize\":1}}")), "");
  EXPECT_FALSE(KeyProviderIn("{}").ok());
}

}  // namespace
}  // namespace tony::hadoop
