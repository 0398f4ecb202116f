// Commands about YARN without a cluster that answers. tests/conformance/hadoop tests them on a real cluster.
#include "tests/e2e/script.h"

namespace tony {
namespace {

const std::string kSite =
    "<configuration><property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property><property><name>"
    "dfs.namenode.http-address</name><value>127.0.0.1:1</value></property><property><name>"
    "yarn.resourcemanager.address</name><value>127.0.0.1:1</value></property></configuration>";

// With %C the step is configured for a cluster that does not answer.
const TestRow kYarnClient[] = {
    {"CommandsForYarnJobsAreRefusedIfHadoopConfDirIsNotSet",
     {{"status application_1700000000000_0001",
       "65 && line && ~job application_1700000000000_0001: HADOOP_CONF_DIR is not set"},
      {"wait application_1700000000000_0001", "65 && line && ~_0001: HADOOP_CONF_DIR is not set"},
      {"kill application_1700000000000_0001", "65 && line && ~_0001: HADOOP_CONF_DIR is not set"},
      {"logs application_1700000000000_0001", "65 && line && ~_0001: HADOOP_CONF_DIR is not set"},
      {"one true tony.scheduler=yarn", "65 && refused && err~tony: HADOOP_CONF_DIR is not set"}}},
    {"ASubmitToAnUnreachableClusterFailsBeforeAnythingIsStaged",
     {{"%C one true tony.scheduler=yarn -src_dir %B",
       "69 && refused && ~tony: yarn.resourcemanager.address: getNewApplication at 127.0.0.1:1: "},
      {"missing home/staged", ""}}},
    {"AYarnSubmitPrintsEachWarningOnce", {{"%C one true tony.scheduler=yarn tony.local.priority=9", "69 && lines=2"}}},
    {"AnUnreachableYarnClusterDoesNotHideLocalJobs",
     {{"one true --request-id k", ""},
      {"%C list", "69 && out~local- && err~127.0.0.1:1"},
      {"%C find --request-id k", ""},
      {"%C find --request-id unknown", "69"}}},  // the cluster may know the request
    {"TheLocalQueueIsShownEvenIfTheYarnClusterIsUnreachable",
     {{"%C list --queue", "69 && out~MB of memory && err~127.0.0.1:1"}, {"list --queue", ""}}},
    {"TheDoctorCommandReportsClusterProblemsAndTheirFixes",
     {{"%C doctor --yarn",
       "1 && out~ok    configuration: taken from HADOOP_CONF_DIR= && out~fail  resourcemanager:  && "
       "out~-> check that the ResourceManager is running, or set yarn.resourcemanager.address in yarn-site.xml && "
       "out~fail  namenode:  && "
       "out~or set dfs.namenode.http-address in hdfs-site.xml"},
      {"doctor --yarn",
       "1 && out~fail  configuration: HADOOP_CONF_DIR is not set && out~-> set HADOOP_CONF_DIR to the folder"}}},
    // The jobs of the cluster stay unknown: a line on standard error reports that, and another line names the restarted
    // job.
    {"TheRecoverCommandRestartsLocalJobsEvenIfTheYarnClusterIsUnreachable",
     {{"one `%H` --detach", ""},
      {"running 1", ""},
      {"killed", ""},
      {"%C recover", "69 && out~%J && err~127.0.0.1:1 && lines=2"},
      {"go", ""},
      {"%C wait %J", ""}}},
    {"AJobMayNameTheConfigurationFilesOfItsCluster",
     {{"one true tony.scheduler=yarn tony.application.yarn-conf-path=%B/conf/core-site.xml",
       "69 && err~tony: yarn.resourcemanager.address: getNewApplication at 127.0.0.1:1: "},
      {"%C one true tony.scheduler=yarn tony.application.hdfs-conf-path=/no/hdfs-site.xml",
       "65 && refused && ~tony: tony.application.hdfs-conf-path: \"/no/hdfs-site.xml\" (from -conf): "},
      {"write broken.xml <configuration", ""},
      {"%C one true tony.scheduler=yarn tony.application.yarn-conf-path=broken.xml",
       "65 && refused && ~tony: tony.application.yarn-conf-path: %B/broken.xml"}}},
};
TABLE_TEST(YarnClientTest, kYarnClient, [](TestRow row) {
  row.cases.insert(row.cases.begin(), {"write conf/core-site.xml `" + kSite + "`", ""});
  RunScriptWith({{"%C", "HADOOP_CONF_DIR=%B/conf"}}, row);
});

class YarnNamesTest : public TonyTest {};

TEST_F(YarnNamesTest, TheSubmitAndStatusCommandsFailWithAnErrorIfTheDnsServerHangs) {
  fs::create_directories(box_.folder() / "conf");
  box_.Write("conf/core-site.xml", kSite);
  Sandbox::Variables variables = WithShim("names_shim", {{"HADOOP_CONF_DIR", box_.File("conf")}});
  variables["NAMES_SHIM_HANGS"] = "hangs.example.org";
  const auto takes = [&](const Words& words, const std::string& says) {
    const auto began = std::chrono::steady_clock::now();
    const Ran ran = Fails(69, words, variables);
    EXPECT_THAT(ran.err, HasSubstr(says));
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    return std::chrono::steady_clock::now() - began;
  };
  const Words submit = One("true", {"tony.scheduler=yarn"});
  box_.Write("conf/yarn-site.xml",
             "<configuration><property><name>yarn.resourcemanager.address</name><value>hangs.example.org:1</value>"
             "</property></configuration>");
  EXPECT_LT(takes(submit, "getNewApplication at hangs.example.org:1: resolve hangs.example.org: no answer"),
            std::chrono::seconds(10));
  box_.Write("conf/hdfs-site.xml",
             "<configuration><property><name>dfs.namenode.http-address</name><value>hangs.example.org:1</value>"
             "</property></configuration>");
  EXPECT_LT(takes({"status", "application_1700000000000_0001"}, "hangs.example.org"), std::chrono::seconds(100))
      << "the resolver's own two minutes";
}

}  // namespace
}  // namespace tony
