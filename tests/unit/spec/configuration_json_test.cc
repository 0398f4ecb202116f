#include <gtest/gtest.h>

#include "runtime/spec/job_spec_parser.h"

namespace tony {
namespace {

TEST(ConfigurationJsonTest, AConfigurationIsReadBackWhole) {
  const Configuration configuration = {{"a", "\"1\"\n\xC3\xA4", "-conf"}, {"b", "", "default"}};
  EXPECT_EQ(ToJson(Configuration{{"k", "v", "s"}}), R"([{"key":"k","value":"v","source":"s"}])");
  const auto read = ConfigurationFromJson(ToJson(configuration));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, configuration);
}

TEST(ConfigurationJsonTest, WhatIsNoConfigurationIsRefusedByName) {
  EXPECT_FALSE(ConfigurationFromJson("{}").ok());
  EXPECT_FALSE(ConfigurationFromJson("").ok());
  EXPECT_FALSE(ConfigurationFromJson(R"([{"key":"k","value":7,"source":"s"}])").ok());
  EXPECT_FALSE(ConfigurationFromJson(R"([{"key":"k","value":"v"}])").ok());
}

}  // namespace
}  // namespace tony
