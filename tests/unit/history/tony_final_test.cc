#include <gtest/gtest.h>

#include "runtime/history/history_files.h"

namespace tony {
namespace {

JobSpec SpecOf(const std::string& role, const Resources& resources) {
  JobSpec spec;
  RoleSpec of;
  of.name = role;
  of.instances = 3;
  of.resources = resources;
  spec.roles = {of};
  return spec;
}

Properties Read(const Configuration& configuration, const JobSpec& spec) {
  auto read = ParseHadoopXml(TonyFinalXml(configuration, spec, {"local-20261121-093015-4f2a9c"}), "tony-final.xml");
  EXPECT_TRUE(read.ok()) << read.error().message;
  return *std::move(read);
}
std::string ValueOf(const Properties& properties, const std::string& key) {
  const Property* property = properties.Find(key);
  return property ? property->value : "none";
}

TEST(TonyFinalTest, TonyFinalXmlHasTonyKeysAndNoAzkabanKeys) {
  const auto read = Read({{"azkaban.flow", "f", "x"}, {"tony.application.name", "train", "x"}}, SpecOf("worker", {}));
  EXPECT_EQ(ValueOf(read, "tony.application.name"), "train");
  EXPECT_EQ(ValueOf(read, "azkaban.flow"), "none");
  EXPECT_EQ(ValueOf(read, "tony.job.id"), "local-20261121-093015-4f2a9c");
}

TEST(TonyFinalTest, TheResourcesOfARoleAreWrittenUnderTheKeysOfThatRole) {
  const auto read = Read({{"tony.am.memory", "4g", "x"}}, SpecOf("driver", {4096, 2, 1}));
  EXPECT_EQ(ValueOf(read, "tony.driver.instances"), "3");
  EXPECT_EQ(ValueOf(read, "tony.driver.memory"), "4096m");
  EXPECT_EQ(ValueOf(read, "tony.driver.vcores"), "2");
  EXPECT_EQ(ValueOf(read, "tony.driver.gpus"), "1");
}

TEST(TonyFinalTest, AMemorySettingKeepsTheTextThatTheUserWrote) {
  const auto read = Read({{"tony.worker.memory", "4g", "x"}}, SpecOf("worker", {4096, 2, 1}));
  EXPECT_EQ(ValueOf(read, "tony.worker.memory"), "4g");
}

}  // namespace
}  // namespace tony
