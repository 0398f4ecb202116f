#include "runtime/portal/visitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::HasSubstr;

const std::string kToken = "0123456789abcdef0123456789abcdef";
const std::string kBase = BaseOf({kToken, {}});

Door TokenDoor() {
  return {.logins = {{kToken, {"ann", false}}}, .hosts = {"127.0.0.1", "localhost"}, .cookie = "tony"};
}

HttpRequest Request(const std::string& target, std::map<std::string, std::string> headers = {}) {
  HttpRequest request = *ParseTarget(target);
  headers.emplace("host", "127.0.0.1:80");
  request.headers = std::move(headers);
  return request;
}

std::string Header(const HttpAnswer& answer, const std::string& name) {
  for (const auto& [its, value] : answer.headers)
    if (its == name) return value;
  return "";
}

TEST(VisitorTest, TheTokenInTheAddressBecomesACookieThatScriptsAndOtherSitesDoNotGet) {
  const Entrance entrance = Enter(TokenDoor(), Request("/" + kToken + "/~ann/local-1/"));
  EXPECT_FALSE(entrance.visitor);
  EXPECT_EQ(entrance.answer.status, 303);
  EXPECT_EQ(Header(entrance.answer, "Location"), "./../../../" + kBase + "/~ann/local-1/");
  EXPECT_THAT(Header(entrance.answer, "Set-Cookie"),
              HasSubstr("tony=" + kToken + "; Path=/" + kBase + "/; HttpOnly; SameSite=Strict;"));
}

TEST(VisitorTest, TheRedirectBehindATokenStaysInThePortal) {
  const Entrance entrance = Enter(TokenDoor(), Request("/" + kToken + "//evil.example/x"));
  EXPECT_THAT(Header(entrance.answer, "Location"), testing::StartsWith("./"));
  EXPECT_THAT(Header(entrance.answer, "Location"), testing::Not(HasSubstr("evil")));
}

TEST(VisitorTest, TheCookieAdmitsBelowItsBaseAndAWrongCutOrAbsentTokenDoesNot) {
  HttpRequest request = Request("/" + kBase + "/x");
  EXPECT_EQ(Enter(TokenDoor(), request).answer.status, 401) << "no cookie";
  for (const std::string& wrong : {std::string("x"), kToken.substr(1), kToken + "0", std::string()}) {
    request.cookies = "tony=" + wrong;
    EXPECT_EQ(Enter(TokenDoor(), request).answer.status, 401) << wrong;
  }
  request.cookies = "other=1; tony=" + kToken;
  const Entrance entrance = Enter(TokenDoor(), request);
  EXPECT_EQ(entrance.visitor, (Visitor{"ann", false}));
  EXPECT_EQ(entrance.base, kBase);
  EXPECT_EQ(Enter(TokenDoor(), Request("/" + kToken.substr(1) + "/")).answer.status, 401);
  request.path = {"x"};
  EXPECT_EQ(Enter(TokenDoor(), request).answer.status, 401) << "outside of the base";
}

TEST(VisitorTest, TheCookieIsOnlyForAddressesThatOtherUsersOfTheMachineDoNotKnow) {
  Door door = TokenDoor();
  door.path = PathIn("http://tony.example/some/prefix");
  const std::string cookie = Header(Enter(door, Request("/" + kToken + "/")).answer, "Set-Cookie");
  EXPECT_THAT(cookie, HasSubstr("; Path=/some/prefix/" + kBase + "/;"));
  EXPECT_EQ(kToken.find(kBase), std::string::npos);
  EXPECT_NE(kBase, BaseOf({kToken + "0", {}}));
  door.is_secure = true;
  const std::string secure = Header(Enter(door, Request("/" + kToken + "/")).answer, "Set-Cookie");
  EXPECT_THAT(secure, HasSubstr("; Path=/some/prefix/; HttpOnly; SameSite=Strict; Secure"));
  HttpRequest request = Request("/x");
  request.cookies = "tony=" + kToken;
  EXPECT_TRUE(Enter(door, request).visitor);
}

TEST(VisitorTest, ARequestUnderAnotherHostNameIsRefused) {
  for (const char* host : {"evil.example", "evil.example:80", "", "127.0.0.1.evil.example"}) {
    HttpRequest request = Request("/" + kToken + "/", {{"host", host}});
    EXPECT_EQ(Enter(TokenDoor(), request).answer.status, 421) << host;
  }
  EXPECT_EQ(Enter(TokenDoor(), Request("/" + kToken + "/", {{"host", "LocalHost:4000"}})).answer.status, 303);
}

TEST(VisitorTest, ALoginThatAnotherSiteStartsIsRefused) {
  const auto login = [](std::map<std::string, std::string> headers, const std::string& body) {
    HttpRequest request = Request("/login", std::move(headers));
    request.method = HttpMethod::kPost;
    request.body = body;
    return Enter(TokenDoor(), request).answer.status;
  };
  EXPECT_EQ(login({}, "token=" + kToken), 303);
  EXPECT_EQ(login({{"origin", "http://127.0.0.1:80"}}, "token=" + kToken), 303);
  EXPECT_EQ(login({{"sec-fetch-site", "cross-site"}}, "token=" + kToken), 403);
  EXPECT_EQ(login({{"origin", "http://evil.example"}}, "token=" + kToken), 403);
  EXPECT_EQ(login({{"origin", "null"}}, "token=" + kToken), 403);
  EXPECT_EQ(login({}, "token=wrong"), 401);
}

TEST(VisitorTest, ALinkOfAnotherSiteIsFollowedASecondTimeWithTheCookie) {
  EXPECT_EQ(Header(Enter(TokenDoor(), Request("/", {{"sec-fetch-site", "cross-site"}})).answer, "Refresh"), "0");
  EXPECT_EQ(Header(Enter(TokenDoor(), Request("/", {{"sec-fetch-site", "same-origin"}})).answer, "Refresh"), "");
}

TEST(VisitorTest, AProxyNamesTheVisitorInItsHeader) {
  const Door door{.user_header = "x-user", .admins = {"root"}};
  EXPECT_EQ(Enter(door, Request("/", {{"x-user", "ann"}})).visitor, (Visitor{"ann", false}));
  EXPECT_EQ(Enter(door, Request("/", {{"x-user", "root"}})).visitor, (Visitor{"root", true}));
  // A client's own header beside the proxy's arrives as "root, ann".
  for (const char* wrong : {"", "root, ann", "*", "a/b", "=ann"})
    EXPECT_EQ(Enter(door, Request("/", {{"x-user", wrong}})).answer.status, 403) << wrong;
  EXPECT_EQ(Enter(door, Request("/")).answer.status, 403);
}

TEST(VisitorTest, HostsAreReadFromHeadersAndAddresses) {
  EXPECT_EQ(HostIn("Tony.Example:8080"), "tony.example");
  EXPECT_EQ(HostIn("https://tony.example:8080/x"), "tony.example");
  EXPECT_EQ(HostIn("[::1]:80"), "[::1]");
  EXPECT_EQ(HostIn("[::1"), "[::1");
  EXPECT_EQ(HostIn("["), "[");
  EXPECT_EQ(HostIn(""), "");
  EXPECT_EQ(PathIn("https://tony.example:8080"), "/");
  EXPECT_EQ(PathIn("https://tony.example/a/b"), "/a/b/");
}

TEST(LoginsTest, LinesOfNamesAndTokensAreReadAndWrongLinesAreNamed) {
  TempFolder temp;
  const auto file = temp.path() / "tokens";
  const auto read = [&](const std::string& text) {
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms(0600));
    return ReadLogins(file, {"root"});
  };
  const auto logins = read("# users\n\nann " + kToken + "\nroot " + kToken + "1\n");
  ASSERT_TRUE(logins.ok());
  ASSERT_EQ(logins->size(), 2u);
  EXPECT_EQ((*logins)[0].visitor, (Visitor{"ann", false}));
  EXPECT_EQ((*logins)[1].visitor, (Visitor{"root", true}));
  EXPECT_THAT(read("ann " + kToken + "\nann short\n").error().message, HasSubstr("line 2"));
  EXPECT_EQ(read("ann\n").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read("# nobody\n").error().code, ErrorCode::kInvalid);
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  EXPECT_EQ(ReadLogins(file, {}).error().code, ErrorCode::kNotPermitted);
}

}  // namespace
}  // namespace tony
