#include "runtime/yarn/hdfs_location.h"

#include <gtest/gtest.h>

#include "runtime/hadoop/hadoop_xml.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/hdfs_sources.h"
#include "tests/support/results.h"

namespace tony {
namespace {

using Site = std::map<std::string, std::string>;

// A federation of "near", which is called by its address, and the pair "far", behind a mount table.
YarnCluster Federation(const Site& changes = {}) {
  Site site = {{"fs.defaultFS", "viewfs://both"},
               {"fs.viewfs.mounttable.both.link./user", "hdfs://nn1:8020/user"},
               {"fs.viewfs.mounttable.both.link./far", "hdfs://far/data"},
               {"fs.viewfs.mounttable.both.link./lone", "hdfs://lone:9000/"},
               {"dfs.nameservices", "near,far"},
               {"dfs.namenode.rpc-address.near", "nn1:8020"},
               {"dfs.ha.namenodes.far", "a,b"},
               {"dfs.namenode.rpc-address.far.a", "nn2:8020"},
               {"dfs.namenode.rpc-address.far.b", "nn3:8020"},
               {"dfs.namenode.http-address.far.b", "nn3:50070"},
               {"yarn.resourcemanager.hostname", "rm"}};
  for (const auto& [key, value] : changes) site[key] = value;
  Properties properties;
  for (const auto& [key, value] : site) properties.Set(key, value, "x-site.xml:3");
  return Must(YarnClusterOf(hadoop::SiteConfiguration(properties, [](const auto&) { return std::nullopt; }), "eve"));
}

// Returns e.g. "hdfs://far /data/x by nn2:8020,nn3:8020", or the error.
std::string Located(const YarnCluster& cluster, const std::string& source) {
  const auto found = Locate(cluster, source);
  if (!found.ok()) return found.error().message;
  return StrCat(OwnHdfs(found->hdfs), " ", found->path,
                UsesWebHdfs(found->hdfs) ? "" : " by " + ToText(found->hdfs.hdfs_rpc.name_nodes));
}

TEST(HdfsLocationTest, APathOfAnotherHdfsIsFoundByEachOfItsAddresses) {
  const YarnCluster cluster = Federation();
  EXPECT_EQ(cluster.home, "/user/eve");
  const std::pair<const char*, const char*> rows[] = {
      {"viewfs://both/user/eve/x", "hdfs://nn1:8020 /user/eve/x"},
      {"hdfs://nn1/x", "hdfs://nn1:8020 /x"},
      {"hdfs://NEAR/x", "hdfs://nn1:8020 /x"},
      {"hdfs:///user/x", "hdfs://nn1:8020 /user/x"},
      {"webhdfs://nn1:9870/x", "hdfs://nn1:8020 /x"},
      {"viewfs://both/far/x", "hdfs://far /data/x by nn2:8020,nn3:8020"},
      {"hdfs:///far", "hdfs://far /data by nn2:8020,nn3:8020"},
      {"hdfs://far/x", "hdfs://far /x by nn2:8020,nn3:8020"},
      {"webhdfs://nn3:50070/x", "hdfs://far /x by nn2:8020,nn3:8020"},
      {"swebhdfs://far/x", "hdfs://far /x by nn2:8020,nn3:8020"},
      {"hdfs://nn2:8020/x", "hdfs://nn2:8020 /x by nn2:8020"},
      {"viewfs://both/lone", "hdfs://lone:9000 / by lone:9000"},
      {"viewfs://both/none",
       "viewfs://both/none: no link of the mount table has this path; its links are /far, /lone, /user"},
      {"webhdfs://gate:14000/x",
       "no NameNode of the site files has the web address gate:14000; expected hdfs://HOST:PORT/PATH, because nodes "
       "fetch files from there"},
  };
  for (const auto& [source, expected] : rows) EXPECT_EQ(Located(cluster, source), expected) << source;
  // The application master knows the cluster by its text.
  const YarnCluster read = Must(YarnClusterFromText(ToText(cluster)));
  for (const auto& [source, expected] : rows) EXPECT_EQ(Located(read, source), expected) << source;
  EXPECT_EQ(ToText(read), ToText(cluster));
}

TEST(HdfsLocationTest, AJobNeedsTokensForEachHdfsThatItNames) {
  const YarnCluster cluster = Federation();
  JobSpec spec;
  spec.src_dir = "viewfs://both/user/eve/app";
  spec.files = {{"hdfs://far/a", "a", false}, {"viewfs://both/far/b", "b", false}};
  spec.checkpoint.directory = "hdfs://lone:9000/c";
  spec.history_folder = "/local";
  spec.yarn.other_name_nodes = {"hdfs://other:1"};
  EXPECT_EQ(Must(OtherHdfsOf(cluster, spec)),
            (std::vector<std::string>{"hdfs://other:1", "hdfs://lone:9000", "hdfs://far"}));
  spec.history_folder = "viewfs://both/none";
  EXPECT_EQ(Must(OtherHdfsOf(cluster, spec)).size(), 3u) << "a job can run without a history";
  spec.checkpoint.directory = "viewfs://both/none";
  EXPECT_EQ(OtherHdfsOf(cluster, spec).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Must(OtherHdfsOf(cluster, JobSpec())), std::vector<std::string>());
}

TEST(HdfsLocationTest, ANodeFetchesAFileFromTheHdfsThatHasIt) {
  const YarnCluster cluster = Federation();
  const auto address = [&](const std::string& name_node) {
    const hadoop::LocalResource file =
        ResourceOf(cluster, {.name = "x", .path = "/x", .modified = FromMillis(1), .name_node = name_node});
    return ToString(Endpoint{file.host, file.port});
  };
  EXPECT_EQ(address(""), "nn1:8020");
  EXPECT_EQ(address("lone:9000"), "lone:9000");
  EXPECT_EQ(address("far"), "far:-1");
  RemoteFile file{.name = "x", .path = "/x", .modified = FromMillis(1)};
  const std::string own = KeyOf(file);
  file.name_node = "far";
  EXPECT_NE(KeyOf(file), own);
}

TEST(HdfsLocationTest, OnlyAClientUsesAGateway) {
  const YarnCluster cluster =
      Federation({{"fs.defaultFS", "webhdfs://gate:14000"}, {"dfs.namenode.rpc-address", "nn1:8020"}});
  EXPECT_FALSE(UsesWebHdfs(cluster));
  EXPECT_EQ(HdfsPlacesOf(cluster), "hdfs://nn1:8020, http://gate:14000");
  const hadoop::Hdfs::Options options = HdfsOptionsOf(cluster);
  EXPECT_EQ(options.gateway, "http://gate:14000");
  EXPECT_EQ(ToText(options.rpc.name_nodes), "nn1:8020");
  EXPECT_EQ(Must(YarnClusterFromNote(NoteOf(cluster))).gateway, cluster.gateway);
  const YarnCluster of_master = Must(YarnClusterFromText(ToText(cluster)));
  EXPECT_TRUE(UsesWebHdfs(of_master));
  EXPECT_EQ(HdfsPlacesOf(of_master), "http://nn1:9870");
  EXPECT_EQ(HdfsOptionsOf(of_master).gateway, "");
  EXPECT_EQ(HdfsOptionsOf(Must(Locate(cluster, "hdfs://far/x")).hdfs).gateway, "") << "it serves only its own HDFS";
}

}  // namespace
}  // namespace tony
