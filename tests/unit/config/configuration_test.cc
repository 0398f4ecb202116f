// The displayed configuration: values with their origins and defaults, and secrets masked; and its form as Hadoop's
// XML.
#include "runtime/config/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/config/keys.h"
#include "tests/support/table_test.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

Configuration ShownOf(const std::string& given) {
  Properties properties;
  for (const std::string& part : PartsOf(given))
    properties.Set(part.substr(0, part.find('=')), part.substr(part.find('=') + 1), "job:3");
  return EffectiveConfiguration(properties);
}

// The row gives properties "key=value | key=value" of job:3. It expects, between " | ", "key=value from SOURCE", or
// "key=none" for a key that is not shown.
void CheckShown(const RowCase& row) {
  const Configuration configuration = ShownOf(row.given);
  EXPECT_TRUE(std::ranges::is_sorted(configuration, {}, &ConfiguredValue::key));
  for (const std::string& part : PartsOf(row.expected)) {
    const std::string key = part.substr(0, part.find('='));
    const auto found = std::ranges::find(configuration, key, &ConfiguredValue::key);
    EXPECT_EQ(StrCat(key, "=", found == configuration.end() ? "none" : StrCat(found->value, " from ", found->source)),
              part);
    EXPECT_LE(std::ranges::count(configuration, key, &ConfiguredValue::key), 1);
  }
}

const TestRow kShown[] = {
    {"PropertiesAreSortedByKeyAndShowTheirOrigin",
     {{"user.to.proxy=ann | tony.worker.instances=2",
       "tony.worker.instances=2 from job:3 | user.to.proxy=ann from job:3"}}},
    // A role that is switched off has no defaults.
    {"UnsetKeysAreShownWithTheirDefaults",
     {{"tony.worker.instances=2 | tony.ps.instances=0",
       "tony.worker.memory=2g from default | tony.application.framework=tensorflow from default | "
       "tony.ps.memory=none"}}},
    {"AKeyThatIsSetToAnEmptyValueDoesNotGetTheDefault",
     {{"tony.worker.instances=2 | tony.worker.memory=", "tony.worker.memory= from job:3"}}},
    {"SecretsAreMasked",
     {{"tony.execution.env.API_KEY=s1 | tony.https.keystore.password=s2 | azkaban.Password=s3 | "
       "tony.execution.envs=A=1,HF_TOKEN=s4,B=2 | tony.containers.envs=DB_SECRET=s5",
       "tony.execution.env.API_KEY=******** from job:3 | tony.https.keystore.password=******** from job:3 | "
       "azkaban.Password=******** from job:3 | tony.execution.envs=A=1,HF_TOKEN=********,B=2 from job:3 | "
       "tony.containers.envs=DB_SECRET=******** from job:3"}}},
    // A path is not secret, whatever its key is called.
    {"TheTableOfKeysDecidesWhichTonyKeysAreSecret",
     {{"tony.secret.key=s1 | tony.keytab.location=/etc/tony.keytab",
       "tony.secret.key=******** from job:3 | tony.keytab.location=/etc/tony.keytab from job:3"}}},
    {"ADefaultIsShownOnlyForTheSchedulerThatUsesTheKey",
     {{"tony.worker.instances=1", "tony.local.memory-limits=auto from default | tony.yarn.queue=none"},
      {"tony.scheduler=YARN | tony.worker.instances=1",
       "tony.local.memory-limits=none | tony.yarn.queue=default from default"}}},
    {"ARoleNameThatContainsTheWordKeyDoesNotMaskItsSettings",
     {{"tony.monkey.instances=2 | tony.monkey.memory=4g",
       "tony.monkey.memory=4g from job:3 | tony.monkey.gpus=0 from default"}}},
    {"TheMainArgsPropertyIsMaskedBecauseItCanContainSecrets",
     {{"main.args=-shell_env API_TOKEN=s1", "main.args=******** from job:3"}, {"main.args=", "main.args= from job:3"}}},
};
TABLE_TEST(ConfigurationTest, kShown, CheckShown);

TEST(ConfigurationTest, TheDefaultOfAKeyWithoutEffectIsNotShown) {
  for (const ConfiguredValue& value : ShownOf("tony.worker.instances=1")) {
    ASSERT_NE(FindKey(value.key), nullptr) << value.key;
    EXPECT_EQ(WhyNoEffect(*FindKey(value.key), "local"), "") << value.key;
  }
}

TEST(ConfigurationTest, TheTextAfterACommaInASecretIsMaskedToo) {
  EXPECT_EQ(MaskedValue("tony.execution.envs", "A=1,x,DB_PASSWORD=s1,s2,B=3,y"),
            "A=1,x,DB_PASSWORD=********,********,B=3,y");
}

TEST(HadoopXmlWriterTest, AConfigurationIsReadBackAsWritten) {
  const std::string value = "python train.py --a '<b>' && echo \"\xC3\xA4\" ]]>\n  indented";
  const std::string xml = ToHadoopXml({{"tony.worker.command", value, "job.properties:3"}, {"b", "", "default"}});
  const auto read = ParseHadoopXml(xml, "tony-final.xml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->Find("tony.worker.command")->value, value);
  EXPECT_EQ(read->Find("b")->value, "");
  EXPECT_THAT(xml, HasSubstr("<source>job.properties:3</source>"));
  EXPECT_THAT(xml, HasSubstr("<final>false</final>"));
}

TEST(HadoopXmlWriterTest, CharactersThatXmlForbidsAreReplaced) {
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

}  // namespace
}  // namespace tony
