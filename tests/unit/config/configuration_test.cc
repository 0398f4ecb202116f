#include "runtime/config/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/config/keys.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

Configuration Of(const std::vector<std::pair<std::string, std::string>>& values) {
  Properties properties;
  for (const auto& [key, value] : values) properties.Set(key, value, "job.properties:3");
  return EffectiveConfiguration(properties);
}

const ConfiguredValue* Find(const Configuration& configuration, const std::string& key) {
  const auto found = std::ranges::find(configuration, key, &ConfiguredValue::key);
  return found == configuration.end() ? nullptr : &*found;
}

std::string ValueOf(const Configuration& configuration, const std::string& key) {
  const ConfiguredValue* value = Find(configuration, key);
  return value ? value->value : "none";
}

TEST(ConfigurationTest, EachPropertyHasItsOriginAndStandsByItsKey) {
  const Configuration configuration = Of({{"user.to.proxy", "ann"}, {"tony.worker.instances", "2"}});
  EXPECT_EQ(*Find(configuration, "tony.worker.instances"),
            (ConfiguredValue{"tony.worker.instances", "2", "job.properties:3"}));
  EXPECT_EQ(ValueOf(configuration, "user.to.proxy"), "ann");
  EXPECT_TRUE(std::ranges::is_sorted(configuration, {}, &ConfiguredValue::key));
}

TEST(ConfigurationTest, WhatHoldsThoughNobodySetItIsMarkedAsDefault) {
  const Configuration configuration = Of({{"tony.worker.instances", "2"}, {"tony.ps.instances", "0"}});
  EXPECT_EQ(*Find(configuration, "tony.worker.memory"), (ConfiguredValue{"tony.worker.memory", "2g", "default"}));
  EXPECT_EQ(*Find(configuration, "tony.application.framework"),
            (ConfiguredValue{"tony.application.framework", "tensorflow", "default"}));
  EXPECT_EQ(Find(configuration, "tony.ps.memory"), nullptr) << "a role that is switched off has none";
}

TEST(ConfigurationTest, ADefaultNeverReplacesAValue) {
  const Configuration configuration = Of({{"tony.worker.instances", "2"}, {"tony.worker.memory", ""}});
  EXPECT_EQ(std::ranges::count(configuration, "tony.worker.memory", &ConfiguredValue::key), 1);
  EXPECT_EQ(ValueOf(configuration, "tony.worker.memory"), "");
}

TEST(ConfigurationTest, ADefaultWithoutEffectIsNotSaid) {
  for (const ConfiguredValue& value : Of({{"tony.worker.instances", "1"}})) {
    ASSERT_NE(FindKey(value.key), nullptr) << value.key;
    EXPECT_EQ(WhyNoEffect(*FindKey(value.key), "local"), "") << value.key;
  }
}

TEST(ConfigurationTest, SecretsAreMasked) {
  const Configuration configuration = Of({{"tony.execution.env.API_KEY", "s1"},
                                          {"tony.https.keystore.password", "s2"},
                                          {"azkaban.Password", "s3"},
                                          {"tony.execution.envs", "A=1,HF_TOKEN=s4,B=2"},
                                          {"tony.containers.envs", "DB_SECRET=s5"}});
  for (const ConfiguredValue& value : configuration) EXPECT_THAT(value.value, Not(testing::ContainsRegex("s[1-5]")));
  EXPECT_EQ(ValueOf(configuration, "tony.execution.env.API_KEY"), kMask);
  EXPECT_EQ(ValueOf(configuration, "tony.execution.envs"), "A=1,HF_TOKEN=********,B=2");
}

TEST(ConfigurationTest, WhatIsSecretTheTableSays) {
  const Configuration configuration = Of({{"tony.secret.key", "s1"}, {"tony.keytab.location", "/etc/tony.keytab"}});
  EXPECT_EQ(ValueOf(configuration, "tony.secret.key"), kMask);
  EXPECT_EQ(ValueOf(configuration, "tony.keytab.location"), "/etc/tony.keytab") << "a path, whatever it is called";
}

TEST(ConfigurationTest, ADefaultHoldsOnItsSchedulerAlone) {
  const Configuration here = Of({{"tony.worker.instances", "1"}});
  EXPECT_EQ(ValueOf(here, "tony.local.memory-limits"), "auto");
  EXPECT_EQ(Find(here, "tony.yarn.queue"), nullptr);
  const Configuration there = Of({{"tony.scheduler", "YARN"}, {"tony.worker.instances", "1"}});
  EXPECT_EQ(Find(there, "tony.local.memory-limits"), nullptr);
  EXPECT_EQ(ValueOf(there, "tony.yarn.queue"), "default");
}

TEST(ConfigurationTest, ARoleMayBeCalledAsIfItWereASecret) {
  const Configuration configuration = Of({{"tony.monkey.instances", "2"}, {"tony.monkey.memory", "4g"}});
  EXPECT_EQ(ValueOf(configuration, "tony.monkey.memory"), "4g");
  EXPECT_EQ(ValueOf(configuration, "tony.monkey.gpus"), "0");
}

TEST(HadoopXmlWriterTest, WhatIsWrittenIsReadBack) {
  const std::string value = "python train.py --a '<b>' && echo \"\xC3\xA4\" ]]>\n  indented";
  const std::string xml = ToHadoopXml({{"tony.worker.command", value, "job.properties:3"}, {"b", "", "default"}});
  const auto read = ParseHadoopXml(xml, "tony-final.xml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->Find("tony.worker.command")->value, value);
  EXPECT_EQ(read->Find("b")->value, "");
  EXPECT_THAT(xml, HasSubstr("<source>job.properties:3</source>"));
  EXPECT_THAT(xml, HasSubstr("<final>false</final>"));
}

TEST(HadoopXmlWriterTest, WhatXmlCannotHoldIsReplaced) {
  const std::string xml = ToHadoopXml({{"k",
                                        std::string("a\x01"
                                                    "b\0c\xFF"
                                                    "d\xEF\xBF\xBF",
                                                    10),
                                        "-conf"}});
  EXPECT_THAT(xml, Not(HasSubstr("&#")));
  EXPECT_THAT(xml, HasSubstr("<value>a?b?c\xEF\xBF\xBD"
                             "d?</value>"));
}

TEST(ConfigurationTest, TheRestOfASecretWithACommaIsMaskedToo) {
  EXPECT_EQ(MaskedValue("tony.execution.envs", "A=1,x,DB_PASSWORD=s1,s2,B=3,y"),
            "A=1,x,DB_PASSWORD=********,********,B=3,y");
}

TEST(ConfigurationTest, MainArgsAreMaskedAsTheyMayHoldVariables) {
  EXPECT_EQ(ValueOf(Of({{"main.args", "-shell_env API_TOKEN=s1"}}), "main.args"), kMask);
  EXPECT_EQ(ValueOf(Of({{"main.args", ""}}), "main.args"), "");
}

}  // namespace
}  // namespace tony
