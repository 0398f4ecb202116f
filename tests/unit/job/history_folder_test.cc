// The folder of a job's history for TonY's portal.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

std::string FolderWith(const Settings& settings) {
  const auto parsed = ParseWith(settings, "/work");
  return parsed.ok() ? parsed->spec.history_folder : parsed.error().message;
}

TEST(HistoryFolderTest, TheHistoryFolderIsTheSubfolderIntermediateOfTheHistoryLocation) {
  EXPECT_EQ(FolderWith({{"tony.history.location", "/shared/tony"}}), "/shared/tony/intermediate");
  EXPECT_EQ(FolderWith({{"tony.history.location", " file:///shared/tony/ "}}), "/shared/tony/intermediate");
  EXPECT_EQ(FolderWith({{"tony.history.location", "file:/shared/tony"}}), "/shared/tony/intermediate");
  EXPECT_EQ(FolderWith({{"tony.history.location", "tony"}}), "/work/tony/intermediate");
}

TEST(HistoryFolderTest, TheKeyTonyHistoryIntermediateOverridesTheKeyTonyHistoryLocation) {
  EXPECT_EQ(FolderWith({{"tony.history.intermediate", "/shared/running"}}), "/shared/running");
  EXPECT_EQ(FolderWith({{"tony.history.intermediate", "/shared/running"}, {"tony.history.location", "/shared/tony"}}),
            "/shared/running");
}

TEST(HistoryFolderTest, AJobHasNoHistoryFolderIfNoHistoryLocationIsConfigured) {
  EXPECT_EQ(FolderWith({}), "");
  EXPECT_EQ(FolderWith({{"tony.history.location", ""}}), "");
  EXPECT_EQ(FolderWith({{"tony.history.location", "/path/to/tony-history"}}), "") << "TonY's default";
}

TEST(HistoryFolderTest, AnHdfsHistoryLocationIsIgnoredWithAWarningIfTheJobIsNotOnYarn) {
  const Settings settings = {{"tony.history.location", "hdfs://nn:9000/tony"}};
  EXPECT_EQ(FolderWith(settings), "");
  EXPECT_EQ(WarningsWith(settings),
            "tony.history.location: \"hdfs://nn:9000/tony\" (from -conf): TonY writes no history of this job: only a "
            "job on YARN can use "
            "files in HDFS (tony.scheduler=yarn); expected the path of a file or folder on this machine\n");
}

TEST(HistoryFolderTest, TheHistoryFolderOfAYarnJobIsInHdfsUnlessTheLocationIsAFileUri) {
  const auto on_yarn = [](std::string_view key, const std::string& value) {
    return FolderWith({{"tony.scheduler", "yarn"}, {std::string(key), value}});
  };
  EXPECT_EQ(on_yarn("tony.history.location", "hdfs://nn:9000/tony/"), "hdfs://nn:9000/tony/intermediate");
  EXPECT_EQ(on_yarn("tony.history.location", "/shared/tony"), "hdfs:///shared/tony/intermediate");
  EXPECT_EQ(on_yarn("tony.history.intermediate", "hdfs:///tony/running"), "hdfs:///tony/running");
  EXPECT_EQ(on_yarn("tony.history.location", "file:/shared/tony"), "/shared/tony/intermediate");
  EXPECT_EQ(on_yarn("tony.history.location", "tony"), "");
  EXPECT_EQ(WarningsWith({{"tony.scheduler", "yarn"}, {"tony.history.location", "s3://bucket/x"}}),
            "tony.history.location: \"s3://bucket/x\" (from -conf): TonY writes no history of this job: expected "
            "hdfs://HOST:PORT/PATH, or hdfs:///PATH for the cluster's own HDFS\n");
}

TEST(HistoryFolderTest, HistoryKeysOfThePortalCauseNoWarning) {
  EXPECT_EQ(WarningsWith({{"tony.history.location", "/shared/tony"},
                          {"tony.history.intermediate", "/shared/tony/running"},
                          {"tony.history.finished", "/shared/tony/done"}}),
            "");
}

TEST(HistoryFolderTest, AParsedJobListsTheHistoryKeyWithItsValueAndSource) {
  const auto parsed = ParseWith({{"tony.history.location", "/shared/tony"}});
  ASSERT_TRUE(parsed.ok());
  const auto found = std::ranges::find(parsed->configuration, "tony.history.location", &ConfiguredValue::key);
  ASSERT_NE(found, parsed->configuration.end());
  EXPECT_EQ(*found, (ConfiguredValue{"tony.history.location", "/shared/tony", "-conf"}));
}

}  // namespace
}  // namespace tony
