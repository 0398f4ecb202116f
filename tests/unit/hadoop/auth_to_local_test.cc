#include "runtime/hadoop/auth_to_local.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::hadoop {
namespace {

std::string UserBy(const std::string& rules, const std::string& principal) {
  const auto user = UserOf(principal, rules, "EXAMPLE.ORG");
  return user.ok() ? *user : user.error().message;
}

TEST(AuthToLocalTest, TheFirstRuleThatAppliesNamesTheUser) {
  EXPECT_EQ(UserBy("DEFAULT", "eve@EXAMPLE.ORG"), "eve");
  EXPECT_EQ(UserBy("DEFAULT", "nn/host@EXAMPLE.ORG"), "nn");
  EXPECT_EQ(UserBy("DEFAULT", "eve"), "eve") << "the name of an impersonated user";
  EXPECT_EQ(UserBy("RULE:[1:$1@$0](.*@OTHER\\.ORG)s/@.*// DEFAULT", "eve@OTHER.ORG"), "eve");
  EXPECT_EQ(UserBy("RULE:[1:$1@$0](.*@OTHER\\.ORG)s/@.*//\n DEFAULT", "eve@EXAMPLE.ORG"), "eve");
  EXPECT_EQ(UserBy("RULE:[2:$1-$2](nn-.*)s/.*/hdfs/", "nn/host@EXAMPLE.ORG"), "hdfs");
  EXPECT_EQ(UserBy("RULE:[1:$1]/L", "Eve@OTHER.ORG"), "eve");
  EXPECT_EQ(UserBy("RULE:[1:$1](a.*)s/a/b/g", "aXaa@OTHER.ORG"), "bXbb");
  EXPECT_EQ(UserBy("RULE:[1:$1](a.*)s/a/b/", "aXaa@OTHER.ORG"), "bXaa");
}

TEST(AuthToLocalTest, APrincipalWithoutARuleAndAMalformedRuleAreRefused) {
  EXPECT_EQ(
      UserBy("DEFAULT", "eve@OTHER.ORG"),
      "hadoop.security.auth_to_local: no rule gives eve@OTHER.ORG a user name; set the value that the NameNode has "
      "in core-site.xml");
  for (const char* rule : {"RULE:[1:$1](*)", "RULE:1", "default"})
    EXPECT_THAT(UserBy(rule, "eve@OTHER.ORG"), testing::HasSubstr("is not a rule")) << rule;
}

}  // namespace
}  // namespace tony::hadoop
