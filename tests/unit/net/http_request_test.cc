#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/net/http_server.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(HttpRequestTest, ATargetIsSplitIntoDecodedPathComponentsAndQueryParameters) {
  const auto request = ParseTarget("/a/b%20c/?x=1&y=%26&z&x=2");
  ASSERT_TRUE(request);
  EXPECT_THAT(request->path, ElementsAre("a", "b c", ""));
  EXPECT_THAT(request->query, ElementsAre(Pair("x", "2"), Pair("y", "&"), Pair("z", "")));
  EXPECT_THAT(ParseTarget("/")->path, ElementsAre(""));
  EXPECT_THAT(ParseTarget("/t?")->query, ElementsAre());
}

TEST(HttpRequestTest, ACookieIsFoundByItsWholeName) {
  HttpRequest request;
  request.cookies = "a=1; proxy-user=e%20ve; my-proxy-user=mallory;b; c=x=y";
  EXPECT_EQ(CookieOf(request, "proxy-user"), "e%20ve");
  EXPECT_EQ(CookieOf(request, "a"), "1");
  EXPECT_EQ(CookieOf(request, "c"), "x=y");
  EXPECT_EQ(CookieOf(request, "user"), "");
  EXPECT_EQ(CookieOf(request, "b"), "");
  EXPECT_EQ(CookieOf(HttpRequest(), "a"), "");
}

TEST(HttpRequestTest, TargetsWithDotSegmentsOrEncodedSlashesAreRefused) {
  for (const char* target : {"/..", "/a/../b", "/%2e%2e/b", "/a/..%2fb", "/a%2Fb", "/./a", "/.%2e"})
    EXPECT_FALSE(ParseTarget(target)) << target;
}

TEST(HttpRequestTest, TargetsWithBadEncodingOrControlCharactersAreRefused) {
  for (const char* target :
       {"", "a", "*", "http://x/", "/%", "/%4", "/%zz", "/a%00b", "/a%0d%0ab", "/a?b=%", "/a?%0a=1"})
    EXPECT_FALSE(ParseTarget(target)) << target;
}

}  // namespace
}  // namespace tony
