#include <gtest/gtest.h>

#include "runtime/job/outputs.h"

namespace tony {
namespace {

const std::vector<std::string> kAddressAndToken{"ADDRESS", "TOKEN"};

TEST(PublishedValuesTest, AValueNameIsUpTo64CapitalLettersDigitsAndUnderscores) {
  for (const std::string& name : {std::string("A"), std::string("ADDRESS_2"), std::string(64, 'A')})
    EXPECT_TRUE(IsValueName(name)) << name;
  for (const std::string& name : {std::string(), std::string("2A"), std::string("_A"), std::string("a"),
                                  std::string("A-B"), std::string("A="), std::string(65, 'A')})
    EXPECT_FALSE(IsValueName(name)) << name;
}

TEST(PublishedValuesTest, AValueIsOneLineOfUtf8WithAtMost1024Bytes) {
  for (const std::string& value :
       {std::string(), std::string("spark://host:7077"), std::string(1024, 'x'), std::string("\xc3\xa4 = 1")})
    EXPECT_TRUE(IsPublishable("ADDRESS", value)) << value;
  for (const std::string& value :
       {std::string(1025, 'x'), std::string("a\nb"), std::string("a\0b", 3), std::string("\xff"), std::string("\x7f")})
    EXPECT_FALSE(IsPublishable("ADDRESS", value)) << value;
}

TEST(PublishedValuesTest, OnlyLinesWithARequestedNameAreReadAsValues) {
  EXPECT_EQ(ParsePublished("ADDRESS=here:1\nTOKEN=a=b\n", kAddressAndToken),
            (PublishedValues{{"ADDRESS", "here:1"}, {"TOKEN", "a=b"}}));
  EXPECT_EQ(ParsePublished("COLOUR=red\nno line\n\n=x\n ADDRESS=y\nTOKEN=\n", kAddressAndToken),
            (PublishedValues{{"TOKEN", ""}}));
}

TEST(PublishedValuesTest, TheFirstOfTwoLinesWithTheSameNameIsTheValue) {
  EXPECT_EQ(ParsePublished("TOKEN=1\nTOKEN=2\n", kAddressAndToken), (PublishedValues{{"TOKEN", "1"}}));
}

TEST(PublishedValuesTest, ALastLineWithoutANewlineIsIgnored) {
  EXPECT_EQ(ParsePublished("TOKEN=1\nADDRESS=he", kAddressAndToken), (PublishedValues{{"TOKEN", "1"}}));
}

TEST(PublishedValuesTest, AnInvalidValueIsSkippedAndALaterValidValueIsUsed) {
  EXPECT_EQ(ParsePublished("TOKEN=\xff\nTOKEN=2\n", kAddressAndToken), (PublishedValues{{"TOKEN", "2"}}));
}

}  // namespace
}  // namespace tony
