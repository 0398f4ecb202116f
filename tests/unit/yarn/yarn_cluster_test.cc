#include "runtime/yarn/yarn_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "runtime/hadoop/gss_context.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/yarn/executor_context.h"
#include "runtime/yarn/hdfs_sources.h"
#include "runtime/yarn/yarn_configured.h"
#include "runtime/yarn/yarn_garbage.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/yarn/node_script.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using hadoop::LaunchContext;
using hadoop::LocalResource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Site = std::map<std::string, std::string>;

const std::string kExpectedHdfs = "expected hdfs://HOST:PORT, or hdfs://NAME with a name of dfs.nameservices";

Result<YarnCluster> ClusterWith(Site changes) {
  Site site = {{"fs.defaultFS", "hdfs://nn.example.org:9000"}, {"yarn.resourcemanager.hostname", "rm.example.org"}};
  for (const auto& [key, value] : changes) site[key] = value;
  Properties properties;
  for (const auto& [key, value] : site) properties.Set(key, value, "x-site.xml:3");
  return YarnClusterOf(hadoop::SiteConfiguration(properties, [](const std::string&) { return std::nullopt; }), "eve");
}

std::string ErrorWith(Site changes) {
  const auto cluster = ClusterWith(std::move(changes));
  if (cluster.ok()) return "accepted";
  return cluster.error().code == ErrorCode::kInvalid ? cluster.error().message : "another code than kInvalid";
}

TEST(YarnClusterTest, SettingsMissingFromTheSiteFilesHaveHadoopsDefaultValues) {
  const auto cluster = Must(ClusterWith({}));
  EXPECT_EQ(ToText(cluster.rms), "rm.example.org:8032");
  EXPECT_EQ(ToText(cluster.schedulers), "rm.example.org:8030");
  EXPECT_EQ(ToString(cluster.name_node), "nn.example.org:9000");
  EXPECT_EQ(Join(cluster.webhdfs, ","), "http://nn.example.org:9870");
  EXPECT_EQ(cluster.home, "/user/eve");
  EXPECT_EQ(ToString(ClusterWith({{"fs.defaultFS", "hdfs://nn/a/b"}})->name_node), "nn:8020");
}

TEST(YarnClusterTest, ConfiguredValuesOverrideDefaults) {
  const auto cluster =
      ClusterWith({{"dfs.namenode.http-address", "0.0.0.0:50070"}, {"dfs.user.home.dir.prefix", "/home"}});
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(Join(cluster->webhdfs, ","), "http://nn.example.org:50070")
      << "a server that listens everywhere is reached by its name";
  EXPECT_EQ(cluster->home, "/home/eve");
  EXPECT_EQ(ClusterWith({{"dfs.namenode.http-address", "web:1"}})->webhdfs.front(), "http://web:1");
}

TEST(YarnClusterTest, WebAddressAndQueueAclsComeFromTheSiteFiles) {
  EXPECT_EQ(ClusterWith({})->rm_web, "http://rm.example.org:8088");
  EXPECT_EQ(ClusterWith({{"yarn.resourcemanager.webapp.address", "web:1"}})->rm_web, "http://web:1");
  EXPECT_EQ(ClusterWith({{"yarn.resourcemanager.webapp.address", "0.0.0.0:1"}})->rm_web, "http://rm.example.org:1");
  EXPECT_EQ(ClusterWith({{"yarn.resourcemanager.webapp.address", "a:b:c"}})->rm_web, "");
  EXPECT_FALSE(HasHttpsPages(*ClusterWith({})));
  EXPECT_FALSE(ClusterWith({})->enforces_queue_acls);
  EXPECT_TRUE(ClusterWith({{"yarn.acl.enable", "true"}})->enforces_queue_acls);
}

// Newer NameNodes serve WebHDFS whatever this setting is, so their answer decides.
TEST(YarnClusterTest, DisabledWebHdfsAndRpcPrivacyAreAcceptedAndRecorded) {
  EXPECT_EQ(ClusterWith({{"hadoop.rpc.protection", "privacy"}})->rpc_protection, "privacy");
  EXPECT_EQ(ClusterWith({})->rpc_protection, "authentication");
}

TEST(YarnClusterTest, AnUnsupportedSettingIsRejectedWithItsFileAndKey) {
  EXPECT_EQ(ErrorWith({{"fs.defaultFS", "file:///"}}),
            "x-site.xml:3: fs.defaultFS is \"file:///\", " + kExpectedHdfs);
  EXPECT_EQ(ErrorWith({{"fs.defaultFS", "hdfs://nn:0"}}),
            "x-site.xml:3: fs.defaultFS is \"hdfs://nn:0\", " + kExpectedHdfs);
  EXPECT_EQ(ErrorWith({{"hadoop.security.authentication", "token"}}),
            "x-site.xml:3: hadoop.security.authentication is \"token\": this authentication is not supported yet");
}

TEST(YarnClusterTest, OnlyTheStrictPolicyDemandsHttpsForThePagesOfMasters) {
  for (const std::string policy : {"STRICT", "LENIENT", "NONE"}) {
    for (Site site : {Site(), Site{{"hadoop.security.authentication", "kerberos"},
                                   {"yarn.resourcemanager.principal", "rm/_HOST@EXAMPLE.ORG"}}}) {
      site.emplace("yarn.resourcemanager.application-https.policy", policy);
      const YarnCluster cluster = Must(ClusterWith(site)), read = Must(YarnClusterFromText(ToText(cluster)));
      EXPECT_EQ(read.has_https_masters, policy == "STRICT");
      EXPECT_EQ(read.rm_principal, cluster.rm_principal);
    }
  }
}

TEST(YarnClusterTest, AClusterWithKerberosNamesThePrincipalOfItsResourceManagers) {
  const Site site = {{"hadoop.security.authentication", "kerberos"},
                     {"yarn.resourcemanager.principal", "rm/_HOST@EXAMPLE.ORG"}};
  const YarnCluster cluster = Must(ClusterWith(site));
  EXPECT_EQ(cluster.rm_principal, "rm/_HOST@EXAMPLE.ORG");
  EXPECT_EQ(Must(YarnClusterFromText(ToText(cluster))).rm_principal, cluster.rm_principal);
  EXPECT_EQ(ErrorWith({{"hadoop.security.authentication", "kerberos"}}),
            "Hadoop's site files: yarn.resourcemanager.principal is not set");
  EXPECT_EQ(Must(ClusterWith({})).rm_principal, "");
  EXPECT_EQ(hadoop::PrincipalOn("rm/_HOST@EXAMPLE.ORG", "RM.Example.org"), "rm/rm.example.org@EXAMPLE.ORG");
  EXPECT_EQ(hadoop::PrincipalOn("rm/host@EXAMPLE.ORG", "other"), "rm/host@EXAMPLE.ORG");
}

// ---- several ResourceManagers and NameNodes

const Site kTwoManagers = {{"yarn.resourcemanager.ha.enabled", "true"},
                           {"yarn.resourcemanager.ha.rm-ids", "a, b"},
                           {"yarn.resourcemanager.hostname.a", "one"},
                           {"yarn.resourcemanager.hostname.b", "two"},
                           {"yarn.resourcemanager.webapp.address.a", "web:1"}};
const Site kTwoNameNodes = {{"fs.defaultFS", "hdfs://c1"},
                            {"dfs.nameservices", "c0,c1"},
                            {"dfs.ha.namenodes.c1", "n1, n2"},
                            {"dfs.namenode.rpc-address.c1.n1", "nn1:9000"},
                            {"dfs.namenode.rpc-address.c1.n2", "nn2:9000"},
                            {"dfs.namenode.http-address.c1.n2", "0.0.0.0:50070"}};

TEST(YarnClusterTest, AllResourceManagersOfAClusterAreKnown) {
  const auto cluster = Must(ClusterWith(kTwoManagers));
  EXPECT_EQ(ToText(cluster.rms), "one:8032,two:8032");
  EXPECT_EQ(ToText(cluster.schedulers), "one:8030,two:8030");
  EXPECT_EQ(cluster.rm_web, "http://web:1");
}

TEST(YarnClusterTest, ALogicalNameStandsForAllItsNameNodes) {
  const auto cluster = Must(ClusterWith(kTwoNameNodes));
  EXPECT_EQ(HdfsAuthority(cluster.name_node), "c1");
  EXPECT_EQ(Join(cluster.webhdfs, ","), "http://nn1:9870,http://nn2:50070");
  EXPECT_EQ(cluster.named_hdfs.at("c1").rpcs.size(), 2u);
}

TEST(YarnClusterTest, ALogicalNameMayStandForOneNameNode) {
  const auto cluster = Must(ClusterWith({{"fs.defaultFS", "hdfs://c1"},
                                         {"dfs.nameservices", "c1"},
                                         {"dfs.namenode.rpc-address.c1", "nn:9000"}}));
  EXPECT_EQ(Join(cluster.webhdfs, ","), "http://nn:9870");
}

TEST(YarnClusterTest, HdfsIsCalledByRpcIfTheSiteFilesSwitchWebHdfsOff) {
  EXPECT_TRUE(UsesWebHdfs(*ClusterWith({})));
  EXPECT_EQ(HdfsPlacesOf(*ClusterWith({})), "http://nn.example.org:9870");
  Site site = {{"dfs.webhdfs.enabled", "false"}, {"dfs.data.transfer.protection", "privacy"}};
  const auto simple = Must(ClusterWith(site));
  EXPECT_FALSE(UsesWebHdfs(simple));
  EXPECT_EQ(HdfsPlacesOf(simple), "hdfs://nn.example.org:9000");
  EXPECT_FALSE(simple.hdfs_rpc.proves_data_transfer) << "without Kerberos";
  EXPECT_EQ(Must(YarnClusterFromText(ToText(simple))).hdfs_rpc, simple.hdfs_rpc);
  site.insert(kTwoNameNodes.begin(), kTwoNameNodes.end());
  site.insert({{"hadoop.security.authentication", "kerberos"}, {"yarn.resourcemanager.principal", "rm/_HOST@R"}});
  EXPECT_EQ(ErrorWith(site), "Hadoop's site files: dfs.namenode.kerberos.principal is not set");
  site["dfs.namenode.kerberos.principal"] = "nn/_HOST@R";
  const auto secure = Must(ClusterWith(site));
  EXPECT_EQ(HdfsPlacesOf(secure), "hdfs://nn1:9000, hdfs://nn2:9000");
  EXPECT_EQ(secure.hdfs_rpc.principal, "nn/_HOST@R");
  EXPECT_TRUE(secure.hdfs_rpc.proves_data_transfer);
  const auto read = Must(YarnClusterFromText(ToText(secure)));
  EXPECT_EQ(read.hdfs_rpc, secure.hdfs_rpc);
  EXPECT_EQ(read.rm_principal, "rm/_HOST@R");
  EXPECT_FALSE(YarnClusterFromText("rm:1 rm:2 nn:3 http://nn:4 eve /user/eve hdfs-rpc=nn:x").ok());
  site["dfs.webhdfs.enabled"] = "off";
  EXPECT_EQ(ErrorWith(site), "x-site.xml:3: dfs.webhdfs.enabled is \"off\", expected true or false");
}

TEST(YarnClusterTest, HdfsIsCalledByHttpsIfItsPolicyIsHttpsOnly) {
  const auto hdfs = [](Site changes) { return Join(Must(ClusterWith(std::move(changes))).webhdfs, ","); };
  const auto policy = [&](const std::string& value) { return hdfs({{"dfs.http.policy", value}}); };
  for (const char* value : {"", "HTTP_ONLY", "HTTP_AND_HTTPS"}) EXPECT_EQ(policy(value), "http://nn.example.org:9870");
  for (const char* value : {"HTTPS_ONLY", "https_only"}) EXPECT_EQ(policy(value), "https://nn.example.org:9871");
  Site site = {{"dfs.http.policy", "HTTPS_ONLY"}, {"dfs.namenode.https-address", "0.0.0.0:1"}};
  EXPECT_EQ(hdfs(site), "https://nn.example.org:1");
  site.insert(kTwoNameNodes.begin(), kTwoNameNodes.end());
  site["dfs.namenode.https-address.c1.n2"] = "secure:2";
  EXPECT_EQ(hdfs(site), "https://nn1:9871,https://secure:2");
}

TEST(YarnClusterTest, ThePagesOfYarnAreCalledByHttpsIfItsPolicyIsHttpsOnly) {
  Site site = {{"yarn.http.policy", "HTTPS_ONLY"}, {"yarn.resourcemanager.webapp.address", "plain:1"}};
  EXPECT_TRUE(HasHttpsPages(*ClusterWith(site)));
  EXPECT_FALSE(HasHttps(*ClusterWith(site)));
  EXPECT_EQ(ClusterWith(site)->rm_web, "https://rm.example.org:8090");
  site["yarn.web-proxy.address"] = "proxy:2";
  EXPECT_EQ(PageOf(*ClusterWith(site), {"application_1_2"}), "https://proxy:2/proxy/application_1_2/");
  site["yarn.resourcemanager.webapp.https.address"] = "web:3";
  EXPECT_EQ(ClusterWith(site)->rm_web, "https://web:3");
  site.insert(kTwoManagers.begin(), kTwoManagers.end());
  EXPECT_EQ(ClusterWith(site)->rm_web, "https://one:8090");
}

TEST(YarnClusterTest, ANoteOfAClusterWithHttpsContainsItsAuthorities) {
  auto cluster = Must(ClusterWith({{"dfs.http.policy", "HTTPS_ONLY"}}));
  cluster.trust = std::make_shared<const HttpTrust>(HttpTrust{"PEM\nPEM\n", "trust.jks", false});
  const auto read = Must(YarnClusterFromNote(NoteOf(cluster)));
  EXPECT_EQ(ToText(read), ToText(cluster));
  ASSERT_TRUE(read.trust);
  EXPECT_EQ(*read.trust, *cluster.trust);
  EXPECT_FALSE(Must(YarnClusterFromNote(ToText(cluster))).trust);
  EXPECT_FALSE(YarnClusterFromNote(ToText(cluster) + "\nx").ok());
}

TEST(YarnClusterTest, ANameNodeWithoutAnAddressIsRejectedWithItsKey) {
  Site site = kTwoNameNodes;
  site["dfs.ha.namenodes.c1"] = "n1,n3";
  EXPECT_EQ(ErrorWith(site), "Hadoop's site files: dfs.namenode.rpc-address.c1.n3 is not set");
}

TEST(YarnClusterTest, TheDescriptionOfAClusterWithSeveralDaemonsIsReadBackByTheMaster) {
  Site site = kTwoNameNodes;
  site.insert(kTwoManagers.begin(), kTwoManagers.end());
  const std::string text = ToText(Must(ClusterWith(site)));
  EXPECT_EQ(text,
            "one:8032,two:8032 one:8030,two:8030 c1 http://nn1:9870,http://nn2:50070 eve /user/eve http://web:1 "
            "named-hdfs=c1/nn1:9000,nn2:9000/nn1:9870,nn2:50070");
  const auto read = Must(YarnClusterFromText(text));
  EXPECT_EQ(ToText(read), text);
  EXPECT_EQ(read.name_node.port, -1);
}

TEST(YarnClusterTest, TheClusterDescriptionWrittenByAClientIsReadBackByTheMaster) {
  const auto cluster = Must(ClusterWith({}));
  const std::string text = ToText(cluster);
  const auto read = Must(YarnClusterFromText(text));
  EXPECT_EQ(ToText(read), text);
  EXPECT_EQ(read.rm_web, cluster.rm_web);
  for (const char* bad : {"", "a b c d e f", "a:1 b:2 c:3 d e", "a:1 b:2 c:3 d e f g h i"})
    EXPECT_FALSE(YarnClusterFromText(bad).ok()) << bad;
}

TEST(YarnClusterTest, TheUrlOfTheJobPageUsesTheWebProxyOrElseTheResourceManager) {
  const auto page = [](Site changes) { return PageOf(*ClusterWith(std::move(changes)), {"application_1_2"}); };
  EXPECT_EQ(page({}), "http://rm.example.org:8088/proxy/application_1_2/");
  EXPECT_EQ(page({{"yarn.resourcemanager.webapp.address", "web:1"}}), "http://web:1/proxy/application_1_2/");
  EXPECT_EQ(page({{"yarn.web-proxy.address", "proxy:2"}}), "http://proxy:2/proxy/application_1_2/");
  const auto read = YarnClusterFromText(ToText(*ClusterWith({{"yarn.web-proxy.address", "proxy:2"}})));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(WebProxyOf(*read), "http://proxy:2");
  EXPECT_EQ(page({{"yarn.web-proxy.address", "proxy:x"}}), "http://rm.example.org:8088/proxy/application_1_2/");
  EXPECT_EQ(page({{"yarn.resourcemanager.webapp.address", "0.0.0.0:2"}}),
            "http://rm.example.org:2/proxy/application_1_2/");
  EXPECT_EQ(page({{"yarn.http.policy", "HTTPS_ONLY"}}), "https://rm.example.org:8090/proxy/application_1_2/");
  EXPECT_EQ(page({{"yarn.resourcemanager.webapp.address", "nonsense:x"}}), "") << "no job needs it";
}

TEST(YarnClusterTest, AClusterDescriptionWrittenByAnOlderReleaseIsReadWithoutAJobPage) {
  const auto read = Must(YarnClusterFromText("rm:1 rm:2 nn:3 http://nn:4 eve /user/eve"));
  EXPECT_EQ(PageOf(read, {"application_1_2"}), "");
}

// ---- The cluster of a job: from $HADOOP_CONF_DIR, from the job's own site files, or from notes in $TONY_HOME.

const JobId kNoted{"application_1700000000000_0001"}, kAnotherJob{"application_1700000000000_0002"};

class YarnConfiguredTest : public testing::Test {
 protected:
  YarnConfiguredTest() {
    fs::create_directories(temp_.path() / "conf");
    Write("conf/core-site.xml", Set("fs.defaultFS", "hdfs://conf:9000"));
    Write("conf/yarn-site.xml", Set("yarn.resourcemanager.hostname", "conf"));
    setenv(kConfigurationVariable, Path("conf").c_str(), 1);
    setenv("HADOOP_USER_NAME", "eve", 1);
    setenv("TONY_HOME", Path("home").c_str(), 1);
  }

  std::string Path(const std::string& name) const { return (temp_.path() / name).string(); }
  std::string Write(const std::string& name, const std::string& properties) {
    std::ofstream(Path(name)) << "<configuration>\n" << properties << "</configuration>\n";
    return Path(name);
  }
  static std::string Set(const std::string& key, const std::string& value, const std::string& more = "") {
    return "<property><name>" + key + "</name><value>" + value + "</value>" + more + "</property>\n";
  }
  // Returns the cluster's ResourceManager and NameNode, or the error.
  template <class What>
  static std::string Of(const What& what) {
    const auto cluster = FindYarnCluster(what);
    if (cluster.ok()) return ToText(cluster->rms) + " " + ToString(cluster->name_node);
    return cluster.error().code == ErrorCode::kInvalid ? cluster.error().message : "another code than kInvalid";
  }
  // Writes a note with this age.
  void Note(const JobId& job, const std::string& rm, std::chrono::seconds age) {
    const YarnCluster cluster = {{{rm, 1}}, {{rm, 2}}, {rm, 3}, {"http://" + rm + ":4"}, "eve", "/user/eve"};
    ASSERT_TRUE(NoteCluster(job, ToText(cluster)).ok());
    const fs::path file = temp_.path() / "home" / "yarn" / "clusters" / job.value;
    fs::last_write_time(file, fs::file_time_type::clock::now() - age);
  }

  const TempFolder temp_;
};

TEST_F(YarnConfiguredTest, SiteFilesOfAJobOverrideHadoopConfDir) {
  EXPECT_EQ(Of(SiteFiles()), "conf:8032 conf:9000");
  const std::string yarn = Write("y.xml", Set("yarn.resourcemanager.hostname", "own"));
  const std::string hdfs =
      Write("h.xml", Set("fs.defaultFS", "hdfs://own:1") + Set("yarn.resourcemanager.hostname", "h"));
  EXPECT_EQ(Of(SiteFiles{.yarn = yarn}), "own:8032 conf:9000");
  EXPECT_EQ(Of(SiteFiles{.hdfs = hdfs}), "h:8032 own:1");
  EXPECT_EQ(Of(SiteFiles{hdfs, yarn}), "own:8032 own:1") << "the yarn-site.xml is read last";
  unsetenv(kConfigurationVariable);
  EXPECT_EQ(Of(SiteFiles{hdfs, yarn}), "own:8032 own:1") << "and the variable is not needed";
  EXPECT_EQ(Of(SiteFiles{.yarn = yarn}), "core-default.xml: fs.defaultFS is \"file:///\", " + kExpectedHdfs);
}

TEST_F(YarnConfiguredTest, YarnConfDirIsReadAfterHadoopConfDirOrInItsPlace) {
  fs::create_directories(Path("yarn"));
  Write("yarn/yarn-site.xml", Set("yarn.resourcemanager.hostname", "own"));
  setenv(kYarnConfigurationVariable, Path("yarn").c_str(), 1);
  EXPECT_EQ(Of(SiteFiles()), "own:8032 conf:9000");
  unsetenv(kConfigurationVariable);
  EXPECT_TRUE(CheckYarnConfigured(kAnotherJob).ok());
  Write("yarn/core-site.xml", Set("fs.defaultFS", "hdfs://own:1"));
  EXPECT_EQ(Of(SiteFiles()), "own:8032 own:1");
  setenv(kYarnConfigurationVariable, Path("nowhere").c_str(), 1);
  EXPECT_TRUE(Of(SiteFiles()).starts_with("YARN_CONF_DIR: " + Path("nowhere") + ": expected a folder"));
  unsetenv(kYarnConfigurationVariable);
}

TEST_F(YarnConfiguredTest, AContainerFindsTheAmRmProxyOfItsNodeInTheSiteFilesThatTheNodePasses) {
  EXPECT_FALSE(AmRmProxyOfNode());
  Write("conf/yarn-site.xml", Set("yarn.nodemanager.amrmproxy.enabled", "true"));
  EXPECT_EQ(ToString(*AmRmProxyOfNode()), "127.0.0.1:8049");
  Write("conf/yarn-site.xml", Set("yarn.nodemanager.amrmproxy.enabled", "maybe"));
  EXPECT_FALSE(AmRmProxyOfNode());
  unsetenv(kConfigurationVariable);
  EXPECT_FALSE(AmRmProxyOfNode());
}

TEST_F(YarnConfiguredTest, SiteFilesOfAJobCannotOverrideValuesMarkedFinal) {
  Write("conf/yarn-site.xml", Set("yarn.resourcemanager.hostname", "conf", "<final>true</final>"));
  EXPECT_EQ(Of(SiteFiles{.yarn = Write("y.xml", Set("yarn.resourcemanager.hostname", "own"))}), "conf:8032 conf:9000");
}

TEST_F(YarnConfiguredTest, AMissingOrMalformedSiteFileIsNamedByKeyAndPath) {
  EXPECT_EQ(Of(SiteFiles{.yarn = Path("none.xml")}),
            "tony.application.yarn-conf-path: " + Path("none.xml") + ": no such file");
  std::ofstream(Path("broken.xml")) << "<configuration>\n<property>";
  EXPECT_TRUE(Of(SiteFiles{.hdfs = Path("broken.xml")})
                  .starts_with("tony.application.hdfs-conf-path: " + Path("broken.xml") + ":"));
  setenv(kConfigurationVariable, Path("nowhere").c_str(), 1);
  EXPECT_TRUE(
      Of(SiteFiles()).starts_with("HADOOP_CONF_DIR: " + Path("nowhere") + ": expected a folder with core-site.xml"));
  unsetenv(kConfigurationVariable);
  EXPECT_TRUE(Of(SiteFiles()).starts_with("HADOOP_CONF_DIR is not set: expected"));
}

TEST_F(YarnConfiguredTest, TheClusterRecordedForAJobInTonyHomeOverridesHadoopConfDir) {
  Note(kNoted, "noted", std::chrono::seconds(0));
  EXPECT_EQ(Of(kNoted), "noted:1 noted:3") << "whatever the variable says";
  EXPECT_EQ(Of(kAnotherJob), "conf:8032 conf:9000");
  EXPECT_EQ(Of(JobId()), "conf:8032 conf:9000");
  EXPECT_TRUE(CheckYarnConfigured(kAnotherJob).ok());
  unsetenv(kConfigurationVariable);
  EXPECT_TRUE(CheckYarnConfigured(kNoted).ok());
  EXPECT_EQ(Of(kNoted), "noted:1 noted:3");
}

TEST_F(YarnConfiguredTest, AJobWithoutAClusterRecordUsesTheClusterOfAnotherJobIfHadoopConfDirIsNotSet) {
  unsetenv(kConfigurationVariable);
  EXPECT_FALSE(CheckYarnConfigured(kAnotherJob).ok());
  EXPECT_TRUE(Of(kAnotherJob).starts_with("HADOOP_CONF_DIR is not set"));
  Note(kNoted, "noted", std::chrono::seconds(0));
  EXPECT_TRUE(CheckYarnConfigured(kAnotherJob).ok());
  EXPECT_EQ(Of(kAnotherJob), Of(JobId()));
}

TEST_F(YarnConfiguredTest, TheMostRecentlyRecordedClusterIsTheDefaultIfHadoopConfDirIsNotSet) {
  unsetenv(kConfigurationVariable);
  EXPECT_FALSE(CheckYarnConfigured({}).ok());
  Note(kNoted, "older", std::chrono::seconds(60));
  Note(kAnotherJob, "newer", std::chrono::seconds(30));
  std::ofstream(Path("home/yarn/clusters/.cut-off")) << "x";
  EXPECT_TRUE(CheckYarnConfigured({}).ok());
  EXPECT_EQ(Of(JobId()), "newer:1 newer:3");
  ForgetCluster(kAnotherJob);
  EXPECT_EQ(Of(JobId()), "older:1 older:3");
}

TEST_F(YarnConfiguredTest, ADamagedClusterRecordIsNamedInTheError) {
  ASSERT_TRUE(NoteCluster(kNoted, "rm:1").ok());
  EXPECT_EQ(Of(kNoted), Path("home/yarn/clusters/") + kNoted.value + ": \"rm:1\": expected six to eight words");
}

class NoteGarbageTest : public YarnConfiguredTest {
 protected:
  Garbage Collect(const JobsOfCluster& jobs_of, bool dry_run = false) {
    const GarbageOrder order{.not_since = RealClock().Now() - std::chrono::hours(1), .dry_run = dry_run};
    Garbage garbage;
    EXPECT_TRUE(CollectNotes(order, jobs_of, garbage).ok());
    return garbage;
  }
  std::string FileOf(const JobId& job) const { return Path("home/yarn/clusters/") + job.value; }
  bool IsNoted(const JobId& job) const { return fs::exists(FileOf(job)); }
};

TEST_F(NoteGarbageTest, GarbageCollectionDeletesOnlyTheClusterRecordsOfRemovedJobs) {
  const JobId gone{"application_1700000000000_0003"}, dead{"application_1700000000000_0004"};
  const JobId fresh{"application_1700000000000_0005"}, damaged{"application_1700000000000_0006"};
  Note(gone, "noted", std::chrono::hours(9));
  Note(kNoted, "noted", std::chrono::hours(8));
  Note(dead, "dead", std::chrono::hours(7));
  Note(fresh, "noted", std::chrono::minutes(5));
  ASSERT_TRUE(NoteCluster(damaged, "rm:1").ok());
  const auto hours_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(FileOf(damaged), hours_ago);
  const fs::path cut_off = Path("home/yarn/clusters/.cut-off");
  std::ofstream(cut_off) << "x";
  fs::last_write_time(cut_off, hours_ago);

  int asked = 0;
  const JobsOfCluster jobs_of = [&](const YarnCluster& cluster) -> Result<std::set<std::string>> {
    ++asked;
    if (cluster.rms.front().host == "dead") return Error{ErrorCode::kUnavailable, "dead: connect: refused"};
    return std::set<std::string>{kNoted.value};
  };
  const Garbage would = Collect(jobs_of, /*dry_run=*/true);
  EXPECT_TRUE(IsNoted(gone) && fs::exists(cut_off));
  EXPECT_EQ(asked, 2) << "each cluster once";

  const Garbage garbage = Collect(jobs_of);
  EXPECT_EQ(garbage.notes, std::vector{gone.value});
  EXPECT_EQ(garbage.kept,
            (std::vector{FileOf(kNoted) + ": the job still exists in /user/eve/.tony/jobs of the NameNode noted:3",
                         FileOf(dead) + ": dead: connect: refused",
                         FileOf(damaged) + ": \"rm:1\": expected six to eight words"}));
  EXPECT_EQ(would.notes, garbage.notes);
  EXPECT_EQ(would.kept, garbage.kept);
  EXPECT_FALSE(IsNoted(gone) || fs::exists(cut_off));
  EXPECT_TRUE(IsNoted(kNoted) && IsNoted(dead) && IsNoted(fresh) && IsNoted(damaged));
}

TEST_F(NoteGarbageTest, NoClusterIsQueriedIfNoClusterRecordExists) {
  const Garbage garbage = Collect([](const YarnCluster&) -> Result<std::set<std::string>> {
    ADD_FAILURE() << "asked";
    return std::set<std::string>();
  });
  EXPECT_TRUE(garbage.notes.empty() && garbage.kept.empty());
}

// ---- launch text

std::string OutputOf(const std::string& script) {
  const TempFolder temp;
  std::ofstream(temp.path() / "script") << script;
  FILE* out = popen(StrCat("/bin/bash '", (temp.path() / "script").string(), "'").c_str(), "re");
  std::string output;
  for (int c = 0; (c = fgetc(out)) != EOF;) output += static_cast<char>(c);
  EXPECT_EQ(pclose(out), 0);
  return output;
}

// Returns texts that consist mostly of characters with a meaning for shells or NodeManagers.
std::vector<std::string> NastyTexts(unsigned seed, int count) {
  static const std::vector<std::string> kPieces = {
      "$",     "\"",       "\\",    "`",       "'",     "{",    "}",  "{{", "}}", "<",        ">",    "<LOG_DIR>",
      "<CPS>", "{{HOME}}", "$HOME", "${HOME}", "$(id)", "`id`", "\n", " ",  "  ", "\t",       "!",    "*",
      "~",     "#",        ";",     "&",       "|",     "(",    ")",  "%",  "a",  "\xc3\xa9", "\xff", "-"};
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string text;
    for (unsigned pieces = random() % 12; pieces > 0; --pieces) text += kPieces[random() % kPieces.size()];
    texts.push_back(text);
  }
  return texts;
}

TEST(LaunchTextTest, AnEnvironmentValueReachesTheContainerUnchanged) {
  const auto texts = NastyTexts(1, 2000);
  std::string script = "set -o pipefail -e\n", expected;
  for (const std::string& text : texts) {
    script += ExportLine("X", QuoteValue(text), "/logs") + "printf '%s\\0' \"$X\"\n";
    expected += text + '\0';
  }
  EXPECT_EQ(OutputOf(script), expected);
}

TEST(LaunchTextTest, AnArgumentReachesTheProgramUnchanged) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::string command = "exec printf '%s\\\\0'", expected;
    for (const std::string& text : NastyTexts(seed, 100)) {
      command += " " + QuoteArgument(text);
      expected += text + '\0';
    }
    EXPECT_EQ(OutputOf("set -o pipefail -e\n" + CommandLine(command, "/logs")), expected) << "seed " << seed;
  }
}

// ---- executor context

LocalResource At(const std::string& path) { return {.scheme = "hdfs", .path = path}; }

ExecutorInputs Job() {
  ExecutorInputs job;
  job.job = {"application_1700000000000_0001"};
  job.spec.roles = {{.name = "ps", .command = "true"}, {.name = "worker", .command = "python3 train.py"}};
  job.spec.container_env = {{"YARN_CONTAINER_RUNTIME_TYPE", "docker"}, {"PASSWORD_OF_MINE", "xyzzy"}};
  job.spec.execution_env = {{"API_KEY", "plugh"}};
  job.secrets = {std::string(64, 'a'), {"DB_PASSWORD=sesame"}, {"CA-PEM", "CERTIFICATE-PEM", "KEY-PEM"}};
  job.lease = {{1}, {Endpoint{"10.0.0.1", 4711}}, 1};
  job.staged.job = {{.name = "data", .path = "/home/eve/.tony/staged/aa"},
                    {.path = "/home/eve/.tony/staged/bb-tree", .form = StagedEntry::Form::kContents}};
  job.staged.roles["worker"] = {{.name = "own", .path = "/home/eve/.tony/staged/cc"}};
  job.staged.roles["ps"] = {{.name = "theirs", .path = "/home/eve/.tony/staged/dd"}};
  for (const char* key : {"tony-executor", "aa", "bb-tree", "cc", "dd"}) job.files[key] = At(StrCat("/staged/", key));
  job.environment = {{"HADOOP_USER_NAME", "eve"}};
  return job;
}

LaunchContext ContextOf(const ExecutorInputs& job) {
  const auto context = MakeExecutorContext(job, {.attempt = {{"worker", 3}, 2}});
  EXPECT_TRUE(context.ok()) << context.error().message;
  return context.ok() ? *context : LaunchContext{};
}

std::vector<std::string> NamesOf(const LaunchContext& context) {
  std::vector<std::string> names;
  for (const auto& [name, file] : context.files) names.push_back(name);
  return names;
}

TEST(ExecutorContextTest, TheJobSpecSetsTheUsersWhoMayViewAndModifyTheApplication) {
  ExecutorInputs job = Job();
  EXPECT_EQ(ContextOf(job).view_acl, " ") << "nobody but the user";
  EXPECT_EQ(ContextOf(job).modify_acl, " ");
  job.spec.yarn.view_acl = "*";
  job.spec.yarn.modify_acl = " ops";
  EXPECT_EQ(ContextOf(job).view_acl, "*");
  EXPECT_EQ(ContextOf(job).modify_acl, " ops");
}

// Returns all parts of a launch context that a node's pages show.
std::string Shown(const LaunchContext& context) {
  std::string text = context.command;
  for (const auto& [name, value] : context.environment) text += StrCat("\n", name, "=", value);
  return text;
}

TEST(ExecutorContextTest, TheContainerCredentialsContainTheExecutorsLaunchData) {
  ExecutorInputs job = Job();
  job.credentials.tokens["hdfs"] = {.kind = "HDFS_DELEGATION_TOKEN"};
  const LaunchContext context = ContextOf(job);
  EXPECT_TRUE(context.credentials.tokens.contains("hdfs"));
  const auto launch = Must(LaunchIn(EncodeCredentials(context.credentials)));
  EXPECT_EQ(launch.job, job.job);
  EXPECT_EQ(launch.attempt, (AttemptId{{"worker", 3}, 2}));
  EXPECT_EQ(launch.secrets, job.secrets);
  EXPECT_EQ(launch.lease, job.lease);
  EXPECT_EQ(*JobSpecFromJson(launch.spec), job.spec);
  StagedFiles expected;
  expected.job = {{.name = "data", .path = "aa"}, {.path = "bb-tree", .form = StagedEntry::Form::kContents}};
  expected.roles["worker"] = {{.name = "own", .path = "cc"}};
  EXPECT_EQ(launch.staged, expected);
}

TEST(ExecutorContextTest, AContainerReceivesTheExecutorProgramAndTheFilesOfItsRole) {
  const LaunchContext context = ContextOf(Job());
  EXPECT_THAT(NamesOf(context), ElementsAre("aa", "bb-tree", "cc", "tony-executor"));
  EXPECT_EQ(context.files.at("cc").path, "/staged/cc");
}

TEST(ExecutorContextTest, SecretsAreNotInTheCommandOrEnvironmentThatTheNodeShows) {
  const std::string shown = Shown(ContextOf(Job()));
  for (const char* secret : {"aaaa", "PEM", "sesame", "xyzzy", "plugh"}) EXPECT_THAT(shown, Not(HasSubstr(secret)));
  EXPECT_THAT(shown, HasSubstr("\nYARN_CONTAINER_RUNTIME_TYPE=docker"));
  EXPECT_THAT(shown, HasSubstr("\nHADOOP_USER_NAME=eve"));
  EXPECT_THAT(shown, HasSubstr("\nTONY_JOB_ID=application_1700000000000_0001"));
}

// The names are those of Hadoop's page "Launching Applications Using Docker Containers". LinkedIn's TonY set the first
// three, the other ones came from its users' -container_env.
TEST(ExecutorContextTest, AnImageAndItsMountsBecomeTheDocumentedVariablesOfTheNode) {
  ExecutorInputs job = Job();
  job.environment.clear();
  job.spec.container_env = {{"YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK", "host"},
                            {"YARN_CONTAINER_RUNTIME_DOCKER_RUN_OVERRIDE_DISABLE", "true"},
                            {"OTHER", "x"}};
  job.spec.mounts = "/etc/passwd:/etc/passwd:ro,{{data}}:/$data:rw";
  job.spec.roles[1].image = "registry.example.org:5000/train:1";
  const std::map<std::string, std::string> without = {
      {"TONY_JOB_ID", "application_1700000000000_0001"},
      {"YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK", "host"},
      {"YARN_CONTAINER_RUNTIME_DOCKER_RUN_OVERRIDE_DISABLE", "true"}};
  std::map<std::string, std::string> with = without;
  with["YARN_CONTAINER_RUNTIME_TYPE"] = "docker";
  with["YARN_CONTAINER_RUNTIME_DOCKER_IMAGE"] = "registry.example.org:5000/train:1";
  with["YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS"] = "/etc/passwd:/etc/passwd:ro,{{data}}:/$data:rw";
  EXPECT_EQ(ContextOf(job).environment, with);
  EXPECT_EQ(MakeExecutorContext(job, {.attempt = {{"ps", 0}, 1}})->environment, without) << "a role without an image";
}

TEST(ExecutorContextTest, TheContainerCommandStartsTheExecutorAndRedirectsItsLogs) {
  EXPECT_EQ(ContextOf(Job()).command,
            "exec ./tony-executor --container '<LOG_DIR>' 1>'<LOG_DIR>/executor.log' 2>>'<LOG_DIR>/stderr'");
}

TEST(ExecutorContextTest, ALargeJobSpecIsPassedAsAFileInsteadOfInTheCredentials) {
  ExecutorInputs job = Job();
  job.spec.execution_env["LARGE"] = std::string(kLargestSpecInLaunch, 'x');
  const auto without = MakeExecutorContext(job, {.attempt = {{"worker", 0}, 1}});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, ErrorCode::kInvalid);
  job.files[kSpecFile] = At("/jobs/1/spec.json");
  const LaunchContext context = ContextOf(job);
  EXPECT_EQ(context.files.at(kSpecFile).path, "/jobs/1/spec.json");
  EXPECT_EQ(LaunchIn(EncodeCredentials(context.credentials))->spec, "");
  EXPECT_LT(EncodeCredentials(context.credentials).size(), 4096u);
}

TEST(ExecutorContextTest, AFileThatWasNotUploadedToHdfsIsNamedInTheError) {
  ExecutorInputs job = Job();
  job.files.erase("cc");
  const auto context = MakeExecutorContext(job, {.attempt = {{"worker", 0}, 1}});
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.error().message, "cc was not sent to HDFS");
  EXPECT_TRUE(MakeExecutorContext(job, {.attempt = {{"ps", 0}, 1}}).ok());
}

TEST(MasterContextTest, TheMasterIsStartedThroughTheDynamicLoaderOfItsUploadedBundle) {
  AmInputs master;
  master.job = {"application_1_0001"};
  master.program = "tony-yarn-am";
  master.arguments = {"/user/eve/.tony/jobs/x", "it's $5"};
  master.secrets = Job().secrets;
  master.executors_tls = {"CA-PEM", "OTHER-PEM", "OTHER-KEY-PEM"};
  master.staged = {{.name = "conf", .path = "/home/eve/.tony/staged/ee"}};
  master.files = {{"tony-am", At("/staged/bundle.tar.gz")}, {"ee", At("/staged/ee")}};
  master.environment = {{"NAME", "a\"b"}};
  master.runtime = RuntimeVariables({.mounts = "/a:/b:ro"}, "master:1");
  const auto context = Must(MakeMasterContext(master));
  EXPECT_EQ(context.command,
            "exec ./tony-am/loader --library-path ./tony-am/lib ./tony-am/bin/tony-yarn-am '/user/eve/.tony/jobs/x' "
            R"('it'\\''s \$5' 1>'<LOG_DIR>/am.log' 2>>'<LOG_DIR>/stderr')");
  EXPECT_THAT(NamesOf(context), ElementsAre("conf", "tony-am"));
  EXPECT_EQ(context.environment, (std::map<std::string, std::string>{
                                     {"NAME", "a\\\"b"},
                                     {"TONY_JOB_ID", "application_1_0001"},
                                     {"YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", "master:1"},
                                     {"YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS", "/a:/b:ro"},
                                     {"YARN_CONTAINER_RUNTIME_TYPE", "docker"}}));
  EXPECT_THAT(Shown(context), Not(HasSubstr("PEM")));
  const auto launch = Must(MasterLaunchIn(*hadoop::DecodeCredentials(EncodeCredentials(context.credentials))));
  EXPECT_EQ(launch.job, master.job);
  EXPECT_EQ(launch.secrets, master.secrets);
  EXPECT_EQ(launch.executors_tls, master.executors_tls);
}

}  // namespace
}  // namespace tony
