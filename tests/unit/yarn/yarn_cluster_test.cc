#include "runtime/yarn/yarn_cluster.h"

#include <gtest/gtest.h>

#include <map>

namespace tony {
namespace {

using Site = std::map<std::string, std::string>;

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

TEST(YarnClusterTest, HadoopsDefaultsAreWhatIsNotSaid) {
  const auto cluster = ClusterWith({});
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(ToString(cluster->rm), "rm.example.org:8032");
  EXPECT_EQ(ToString(cluster->scheduler), "rm.example.org:8030");
  EXPECT_EQ(ToString(cluster->name_node), "nn.example.org:9000");
  EXPECT_EQ(cluster->webhdfs, "http://nn.example.org:9870");
  EXPECT_EQ(cluster->home, "/user/eve");
  EXPECT_EQ(ToString(ClusterWith({{"fs.defaultFS", "hdfs://nn/a/b"}})->name_node), "nn:8020");
}

TEST(YarnClusterTest, WhatIsSaidGoesFirst) {
  const auto cluster =
      ClusterWith({{"dfs.namenode.http-address", "0.0.0.0:50070"}, {"dfs.user.home.dir.prefix", "/home"}});
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster->webhdfs, "http://nn.example.org:50070") << "where it listens everywhere it is reached by its name";
  EXPECT_EQ(cluster->home, "/home/eve");
  EXPECT_EQ(ClusterWith({{"dfs.namenode.http-address", "web:1"}})->webhdfs, "http://web:1");
}

TEST(YarnClusterTest, WhatIsAskedBeforeASubmitIsKnownAsFarAsTheFilesSay) {
  EXPECT_EQ(ClusterWith({})->rm_web, "http://rm.example.org:8088");
  EXPECT_EQ(ClusterWith({{"yarn.resourcemanager.webapp.address", "web:1"}})->rm_web, "http://web:1");
  EXPECT_EQ(ClusterWith({{"yarn.resourcemanager.webapp.address", "0.0.0.0:1"}})->rm_web, "http://rm.example.org:1");
  EXPECT_EQ(ClusterWith({{"yarn.resourcemanager.webapp.address", "a:b:c"}})->rm_web, "");
  EXPECT_EQ(ClusterWith({{"yarn.http.policy", "HTTPS_ONLY"}})->rm_web, "");
  EXPECT_FALSE(ClusterWith({})->has_queue_rules);
  EXPECT_TRUE(ClusterWith({{"yarn.acl.enable", "true"}})->has_queue_rules);
}

TEST(YarnClusterTest, WhatCannotBeUsedIsNamedByFileAndKey) {
  EXPECT_EQ(ErrorWith({{"fs.defaultFS", "file:///"}}),
            "x-site.xml:3: fs.defaultFS is \"file:///\", expected hdfs://HOST:PORT");
  EXPECT_EQ(ErrorWith({{"fs.defaultFS", "hdfs://nn:0"}}),
            "x-site.xml:3: fs.defaultFS is \"hdfs://nn:0\", expected hdfs://HOST:PORT");
  EXPECT_EQ(ErrorWith({{"hadoop.security.authentication", "kerberos"}}),
            "x-site.xml:3: hadoop.security.authentication is \"kerberos\": a cluster with Kerberos cannot be used yet");
  EXPECT_EQ(ErrorWith({{"dfs.http.policy", "HTTPS_ONLY"}}),
            "x-site.xml:3: dfs.http.policy is \"HTTPS_ONLY\": HDFS by HTTPS alone cannot be used yet");
  EXPECT_EQ(ErrorWith({{"dfs.nameservices", "c1"}}),
            "x-site.xml:3: dfs.nameservices is \"c1\": HDFS with several NameNodes cannot be used yet");
  EXPECT_EQ(ErrorWith({{"dfs.webhdfs.enabled", "false"}}),
            "x-site.xml:3: dfs.webhdfs.enabled is \"false\": HDFS without WebHDFS cannot be used yet");
  EXPECT_EQ(
      ErrorWith({{"yarn.resourcemanager.ha.enabled", "true"},
                 {"yarn.resourcemanager.ha.rm-ids", "a,b"},
                 {"yarn.resourcemanager.hostname.a", "one"},
                 {"yarn.resourcemanager.hostname.b", "two"}}),
      "x-site.xml:3: yarn.resourcemanager.ha.enabled is \"true\": YARN with several ResourceManagers cannot be used "
      "yet");
}

TEST(YarnClusterTest, AMasterReadsBackWhatItsClientKnew) {
  const auto cluster = ClusterWith({});
  ASSERT_TRUE(cluster.ok());
  const std::string text = ToText(*cluster);
  const auto read = YarnClusterFromText(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(ToText(*read), text);
  EXPECT_EQ(read->rm_web, cluster->rm_web);
  for (const char* bad : {"", "a b c d e f", "a:1 b:2 c:3 d e", "a:1 b:2 c:3 d e f g h i"})
    EXPECT_FALSE(YarnClusterFromText(bad).ok()) << bad;
}

TEST(YarnClusterTest, AJobsPageIsWhereTheResourceManagerLeadsOnFrom) {
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
  EXPECT_EQ(page({{"yarn.http.policy", "HTTPS_ONLY"}}), "") << "its address would be another key's";
  EXPECT_EQ(page({{"yarn.resourcemanager.webapp.address", "nonsense:x"}}), "") << "no job needs it";
}

TEST(YarnClusterTest, WhatAReleaseWithoutPagesWroteIsRead) {
  const auto read = YarnClusterFromText("rm:1 rm:2 nn:3 http://nn:4 eve /user/eve");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(PageOf(*read, {"application_1_2"}), "");
}

}  // namespace
}  // namespace tony
