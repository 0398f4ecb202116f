#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "runtime/job/failure_rules.h"

namespace tony {
namespace {

std::string PatternError(std::string_view pattern) {
  const auto parsed = LinePattern::Parse(pattern);
  return parsed.ok() ? "accepted" : parsed.error().message;
}

bool Matches(std::string_view pattern, std::string_view line) {
  const auto parsed = LinePattern::Parse(pattern);
  return parsed.ok() && parsed->Matches(line);
}

TEST(LinePatternTest, APatternMatchesAnywhereUnlessAnchored) {
  EXPECT_TRUE(Matches("out of memory", "CUDA out of memory. Tried"));
  EXPECT_TRUE(Matches("^CUDA", "CUDA out of memory"));
  EXPECT_FALSE(Matches("^out", "CUDA out of memory"));
  EXPECT_TRUE(Matches("memory$", "CUDA out of memory"));
  EXPECT_FALSE(Matches("cuda", "CUDA out of memory"));
}

TEST(LinePatternTest, PatternsAreExtendedRegularExpressions) {
  EXPECT_TRUE(Matches("Xid.*: (48|79|9[245])\\b", "NVRM: Xid (PCI:0000:3b): 79, fallen"));
  EXPECT_TRUE(Matches("[[:digit:]]+ (ms|s)?$", "took 12 "));
  EXPECT_TRUE(Matches("a\\{1}", "a{1}"));
  EXPECT_TRUE(Matches("\\(\\w+\\)\\s", "(abc) d"));
}

TEST(LinePatternTest, AnUnsupportedPatternIsRejectedWithTheReason) {
  EXPECT_EQ(PatternError(""), "the expression is empty");
  EXPECT_EQ(PatternError(std::string(257, 'a')), "the expression is longer than 256 bytes");
  EXPECT_EQ(PatternError(std::string("a\0b", 3)), "the expression contains a NUL character");
  EXPECT_EQ(PatternError("a{3}"), "the expression contains a count {...}; write \\{ to match the character {");
  EXPECT_EQ(PatternError("[[:alpha:][]{9}"), "the expression contains a count {...}; write \\{ to match the character {");
  EXPECT_EQ(PatternError("(a)\\1"), "the expression contains a back-reference \\1");
  EXPECT_EQ(PatternError("(a"), "unmatched ( or \\(");
  EXPECT_EQ(PatternError("[a"), "unmatched [, [^, [:, [., or [=");
  EXPECT_EQ(PatternError("a\\"), "trailing backslash");
}

TEST(LinePatternTest, OnlyTheFirst1024BytesOfALineAreSearched) {
  EXPECT_TRUE(Matches("x", std::string(1023, 'a') + "x"));
  EXPECT_FALSE(Matches("x", std::string(1024, 'a') + "x"));
}

// A backtracking engine would need longer than the age of the world for the first pattern.
TEST(LinePatternTest, PatternsThatWouldBacktrackExponentiallyMatchWithinFiveSeconds) {
  const std::string line = std::string(5000, 'a') + "!";
  const auto begun = std::chrono::steady_clock::now();
  for (const char* pattern : {"(a+)+$", "(a|a)*b", "((a*)*)*b", "(a|aa)+$", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)x",
                              "([a-z]+)*\\b!!", "(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)c"}) {
    Matches(pattern, line);
  }
  Matches(std::string(120, '(') + "a" + std::string(120, ')'), line);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST(LinePatternTest, RandomPatternsAreMatchedOrRejectedWithin20Seconds) {
  constexpr std::string_view kAlphabet = "ab().*+?|[]^$\\wsb-{1}";
  std::mt19937 random(20261121);
  std::string line;
  for (int i = 0; i < 1024; ++i) line += random() % 2 ? 'a' : 'b';
  const auto begun = std::chrono::steady_clock::now();
  for (int round = 0; round < 200; ++round) {
    std::string pattern;
    for (size_t length = 1 + random() % 40; length > 0; --length) pattern += kAlphabet[random() % kAlphabet.size()];
    Matches(pattern, line);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

}  // namespace
}  // namespace tony
