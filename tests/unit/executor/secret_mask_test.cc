#include "executor/secret_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string Masked(const std::string& secret, const std::string& text) { return SecretMask({secret}).Masked(text); }

TEST(SecretMaskTest, EachPlaceOfAValueIsMasked) {
  EXPECT_EQ(Masked("s3cret", "a s3cret, s3crets3cret"), "a ***, ***");
  EXPECT_EQ(Masked("s3cret", "a secret"), "a secret");
  EXPECT_EQ(SecretMask({"abcdef", "defghi"}).Masked("abcdefghi"), "***") << "secrets that overlap";
  EXPECT_EQ(SecretMask().Masked("text"), "text");
}

TEST(SecretMaskTest, ShortValuesStay) {
  EXPECT_EQ(Masked("abc", "abc"), "abc");
  EXPECT_EQ(Masked("abcd", "abcd"), "***");
  EXPECT_EQ(Masked("", "text"), "text");
}

// The encoded forms are Python's and JavaScript's of the same value: quote(), quote_plus(), encodeURIComponent(),
// json.dumps(), repr(), base64.b64encode() and urlsafe_b64encode().
TEST(SecretMaskTest, TheFormsInUrlsJsonAndBase64AreMasked) {
  const std::string secret = "p/a s?s\"\\w\xC3\xB6rd!";
  for (const char* form :
       {"p/a%20s%3Fs%22%5Cw%C3%B6rd%21", "p%2Fa+s%3Fs%22%5Cw%C3%B6rd%21", "p%2Fa%20s%3Fs%22%5Cw%C3%B6rd!",
        "p%2fa%20s%3fs%22%5cw%c3%b6rd%21", "p/a s?s\\\"\\\\w\\u00f6rd!", "p/a s?s\\\"\\\\w\xC3\xB6rd!",
        "p\\/a s?s\\\"\\\\w\xC3\xB6rd!", "cC9hIHM/cyJcd8O2cmQh", "cC9hIHM_cyJcd8O2cmQh"})
    EXPECT_EQ(Masked(secret, StrCat("<", form, ">")), "<***>") << form;
  EXPECT_EQ(Masked("a\nb\tcd", R"("a\nb\tcd")"), "\"***\"");
  EXPECT_EQ(Masked("\xF0\x9F\x94\x91key", R"("\ud83d\udd11key")"), "\"***\"");
}

// As a header has it: base64 of train:fdS3cret77, me:fdS3cret77 and x:fdS3cret77.
TEST(SecretMaskTest, BehindAUsersNameInBase64TheValueIsMasked) {
  EXPECT_EQ(Masked("fdS3cret77", "Basic dHJhaW46ZmRTM2NyZXQ3Nw=="), "Basic dHJhaW46***==");
  EXPECT_THAT(Masked("fdS3cret77", "Basic bWU6ZmRTM2NyZXQ3Nw=="), Not(HasSubstr("TM2NyZX")));
  EXPECT_THAT(Masked("fdS3cret77", "Basic eDpmZFMzY3JldDc3"), Not(HasSubstr("ZFMzY3Jl")));
  EXPECT_THAT(Masked("fdS3cret77", "Basic YWJjZDpmZFMzY3JldDc3"), Not(HasSubstr("ZFMzY3Jl")));
}

TEST(SecretMaskTest, OfSeveralLinesEachIsASecret) {
  const std::string key = "-----BEGIN KEY-----\r\nMIIEvQIBADAN\r\nab\r\n-----END KEY-----\n";
  EXPECT_EQ(Masked(key, "line MIIEvQIBADAN\nab\n"), "line ***\nab\n");
  EXPECT_EQ(Masked(key, StrCat("<", key, ">")), "<***>");
  EXPECT_EQ(Masked("fdS3\n", "fdS3 x"), "*** x") << "a file's line end";
}

TEST(SecretMaskTest, ThePasswordOfAUrlIsASecret) {
  const std::string url = "postgresql://train:gu%40ss@db:5432/x?sslmode=on";
  EXPECT_EQ(Masked(url, "no such user: train gu@ss gu%40ss"), "no such user: train *** ***");
  EXPECT_EQ(Masked("https://example.org/a@b", "example.org"), "example.org");
}

TEST(SecretMaskTest, InPlaceTheLengthStays) {
  std::string text = "a s3cret b";
  SecretMask({"s3cret"}).MaskInPlace(text);
  EXPECT_EQ(text, "a ****** b");
}

TEST(SecretMaskTest, ABeginningAtTheEndIsOpen) {
  const SecretMask mask({"s3cret"});
  EXPECT_EQ(mask.OpenEnd("a s3cre"), 5u);
  EXPECT_EQ(mask.OpenEnd("a s3cret"), 0u);
  EXPECT_EQ(mask.OpenEnd("a s3"), 0u) << "as everything may be";
}

TEST(SecretMaskTest, VariablesAreSecretByTheirOriginOrTheirName) {
  EXPECT_THAT(SecretValues({"A=x", "B=a=b"}, {"HF_TOKEN=12345678", "API_KEY=1234", "TOKENIZERS_PARALLELISM=falsefalse",
                                              "db_password=longenough", "PATH=/usr/bin:/bin"}),
              ElementsAre("x", "a=b", "12345678", "longenough"));
}

}  // namespace
}  // namespace tony::executor
