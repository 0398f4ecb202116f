#include "runtime/base/secret.h"

#include <gtest/gtest.h>

#include <string>

namespace tony {
namespace {

const std::string kSecret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

TEST(SecretTest, SecretsThatDifferInAnyOneCharacterDoNotMatch) {
  EXPECT_TRUE(SameSecret(kSecret, kSecret));
  for (size_t i = 0; i < kSecret.size(); ++i) {
    std::string other = kSecret;
    other[i] = 'x';
    EXPECT_FALSE(SameSecret(other, kSecret)) << "the character at " << i;
  }
}

TEST(SecretTest, APrefixOfASecretDoesNotMatchTheSecret) {
  for (size_t size = 0; size < kSecret.size(); ++size) {
    EXPECT_FALSE(SameSecret(kSecret.substr(0, size), kSecret)) << size;
    EXPECT_FALSE(SameSecret(kSecret, kSecret.substr(0, size))) << size;
  }
  EXPECT_FALSE(SameSecret(kSecret + "0", kSecret));
}

TEST(SecretTest, AnEmptySecretNeverMatches) { EXPECT_FALSE(SameSecret("", "")); }

}  // namespace
}  // namespace tony
