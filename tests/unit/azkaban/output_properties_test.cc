#include "azkaban-plugin/output_properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::azkaban {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

OutputProperties Made(const std::vector<OutputMember>& outputs) {
  return PropertiesForNextSteps({"local-1"}, "/home/logs", "http://here/page/", outputs);
}

TEST(OutputPropertiesTest, WithoutOutputsThereAreTheJobsIdAndWhereItsLogsAre) {
  const auto made = Made({});
  EXPECT_THAT(made.values, testing::ElementsAre(Pair("tony.job.id", "local-1"), Pair("tony.job.logs", "/home/logs"),
                                                Pair("tony.job.url", "file:///home/logs")));
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST(OutputPropertiesTest, WhereTheLogsAreNoFolderABrowserGetsTheJobsPage) {
  const auto made = PropertiesForNextSteps({"application_1_2"}, "yarn logs", "http://rm/proxy/application_1_2/", {});
  EXPECT_THAT(made.values, Contains(Pair("tony.job.logs", "yarn logs")));
  EXPECT_THAT(made.values, Contains(Pair("tony.job.url", "http://rm/proxy/application_1_2/")));
}

TEST(OutputPropertiesTest, AnOutputHasItsOwnNameAndALongerOne) {
  const auto made = Made({{"accuracy", "0.97"}, {"data.rows", "1500"}});
  EXPECT_THAT(made.values, Contains(Pair("accuracy", "0.97")));
  EXPECT_THAT(made.values, Contains(Pair("tony.output.accuracy", "0.97")));
  EXPECT_THAT(made.values, Contains(Pair("data.rows", "1500")));
}

TEST(OutputPropertiesTest, ANameThatIsAnOrderIsOnlyThereUnderTheLongerName) {
  for (const char* name : {"command",
                           "command.1",
                           "type",
                           "env.PATH",
                           "working.dir",
                           "retries",
                           "retry.backoff",
                           "user.to.proxy",
                           "dependencies",
                           "tony.worker.instances",
                           "azkaban.flow.execid",
                           "executes",
                           "src_dir",
                           "worker_env.X",
                           "main.args",
                           "jvm.args",
                           "classpath",
                           "failure.emails",
                           "hadoop-inject.x",
                           "spark.master",
                           "driver-memory"}) {
    const auto made = Made({{name, "evil"}});
    EXPECT_THAT(made.values, Not(Contains(Key(name))));
    EXPECT_THAT(made.values, Contains(Pair(std::string("tony.output.") + name, "evil")));
    ASSERT_EQ(made.notes.size(), 1u) << name;
    EXPECT_THAT(made.notes[0], HasSubstr(name));
  }
}

TEST(OutputPropertiesTest, ANameThatOnlyBeginsLikeAnOrderIsFree) {
  for (const char* name : {"commander", "types", "environment", "retriesX", "tonyx", "names"}) {
    EXPECT_THAT(Made({{name, "1"}}).values, Contains(Key(name)));
    EXPECT_FALSE(IsReservedName(name));
  }
}

TEST(OutputPropertiesTest, NullAndAnEmptyNameAreLeftOut) {
  EXPECT_EQ(Made({{"a", std::nullopt}, {"", "x"}}).values.size(), 3u);
}

TEST(OutputPropertiesTest, AValueThatAzkabanWouldEvaluateIsLeftOutAndSaid) {
  for (const char* value : {"${x}", "a $(date) b", "/models/${run}"}) {
    const auto made = Made({{"path", value}, {"model", value}});
    EXPECT_EQ(made.values.size(), 3u) << value;
    EXPECT_EQ(made.notes.size(), 2u);
  }
  EXPECT_THAT(Made({{"price", "5 $"}}).values, Contains(Key("price")));
}

TEST(OutputPropertiesTest, TheModelsPathIsTheFirstOfItsNames) {
  EXPECT_THAT(Made({{"model", "/a"}}).values, Contains(Pair("tony.model.path", "/a")));
  EXPECT_THAT(Made({{"model", "/a"}, {"model.path", "/b"}}).values, Contains(Pair("tony.model.path", "/b")));
  const auto own = Made({{"model.path", "/b"}, {"tony.model.path", "/c"}});
  EXPECT_THAT(own.values, Contains(Pair("tony.model.path", "/c")));
  EXPECT_THAT(own.notes, IsEmpty());
}

TEST(OutputPropertiesTest, TheFileHoldsStringsOnly) {
  EXPECT_EQ(ToJson({{"a", "1"}, {"b\"", "\xC3\xA9\n"}}), "{\"a\":\"1\",\"b\\\"\":\"\xC3\xA9\\n\"}");
  EXPECT_EQ(ToJson({}), "{}");
}

}  // namespace
}  // namespace tony::azkaban
