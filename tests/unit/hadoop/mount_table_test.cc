#include "runtime/hadoop/mount_table.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/hadoop/default_fs.h"

namespace tony::hadoop {
namespace {

using Site = std::map<std::string, std::string>;

// Two tables. "b" leads to "a" and to itself.
const Site kTables = {{"fs.viewfs.mounttable.a.link./user", "hdfs://nn1:8020/user"},
                      {"fs.viewfs.mounttable.a.link./user/eve", "hdfs://ns2/home/eve/"},
                      {"fs.viewfs.mounttable.a.link./apps/x", "hdfs://ns2"},
                      {"fs.viewfs.mounttable.a.link./s3", "s3a://bucket/x"},
                      {"fs.viewfs.mounttable.a.linkNfly.minReplication=2./copies", "hdfs://nn1/c,hdfs://ns2/c"},
                      {"fs.viewfs.mounttable.b.link./a", "viewfs://a/user"},
                      {"fs.viewfs.mounttable.b.link./round", "viewfs://b/about"},
                      {"fs.viewfs.mounttable.b.link./about", "viewfs://b/round"},
                      {"fs.viewfs.mounttable.b.linkFallback", "hdfs://nn1:8020/"},
                      {"fs.viewfs.mounttable.b.homedir", "/a"},
                      {"fs.viewfs.mounttable.c.example.org.linkMergeSlash", "hdfs://ns2/all"},
                      {"fs.viewfs.mounttable.d.link./x", "hdfs://ns2/x"},
                      {"fs.viewfs.mounttable.d.linkMergeSlash", "hdfs://ns2/"},
                      {"fs.viewfs.mounttable.e.linkRegex.^/(.*)", "hdfs://ns2/$1"},
                      {"fs.viewfs.mounttable.f.link./", "hdfs://ns2/"},
                      {"fs.viewfs.mounttable.default.name.key", "c.example.org"}};

SiteConfiguration SiteWith(const Site& site) {
  Properties properties;
  for (const auto& [key, value] : site) properties.Set(key, value, "core-site.xml:7");
  return {properties, [](const std::string&) { return std::nullopt; }};
}

struct Row {
  const char* address;
  std::string expected;
};

TEST(MountTableTest, APathLeadsToTheHdfsOfItsLongestLinkOrIsRefusedWithTheReason) {
  const std::string key = "core-site.xml:7: fs.viewfs.mounttable.";
  const std::string target = "expected a link to hdfs://HOST:PORT/PATH, hdfs://NAME/PATH or viewfs://NAME/PATH";
  const Row rows[] = {
      {"viewfs://a/user", "hdfs://nn1:8020/user"},
      {"viewfs://a/user/bob/x", "hdfs://nn1:8020/user/bob/x"},
      {"viewfs://a/user/eve", "hdfs://ns2/home/eve"},
      {"viewfs://a/user/eve/x", "hdfs://ns2/home/eve/x"},
      {"viewfs://a//user/bob/../eve/./x/", "hdfs://ns2/home/eve/x"},
      {"viewfs://a/users", "viewfs://a/users: no link of the mount table has this path; its links are /apps/x, "
                           "/copies, /s3, /user, /user/eve"},
      {"viewfs://a/apps", "viewfs://a/apps: no link of the mount table has this path; its links are /apps/x, /copies, "
                          "/s3, /user, /user/eve"},
      {"viewfs://a/apps/x/y", "hdfs://ns2/y"},
      {"viewfs://a/s3/y", key + "a.link./s3 is \"s3a://bucket/x\", " + target},
      {"viewfs://a/copies/y", key + "a.linkNfly.minReplication=2./copies is \"hdfs://nn1/c,hdfs://ns2/c\", " + target},
      {"viewfs://b/a/eve/y", "hdfs://ns2/home/eve/y"},
      {"viewfs://b/other", "hdfs://nn1:8020/other"},
      {"viewfs://b/round/x", "viewfs://b/round/x: the links of the mount tables lead round in a circle"},
      {"viewfs://c.example.org/x", "hdfs://ns2/all/x"},
      {"viewfs:///x/y", "hdfs://ns2/all/x/y"},
      {"viewfs://d/x", key + "d.linkMergeSlash: a mount table with this entry cannot have links"},
      {"viewfs://e/x", key + "e.linkRegex.^/(.*): TonY follows only link./PATH, linkFallback and linkMergeSlash"},
      {"viewfs://f/x", key + "f.link./: expected linkMergeSlash for a link of /"},
      {"viewfs://none/x", "viewfs://none: the site files have no mount table of this name; expected keys "
                          "fs.viewfs.mounttable.none.link./PATH"},
  };
  const MountTables read = *MountTablesOf(SiteWith(kTables)), again = MountTables::FromText(read.ToText());
  for (const Row& row : rows) {
    const auto found = read.Resolve(row.address);
    EXPECT_EQ(found.ok() ? *found : found.error().message, row.expected) << row.address;
    // The text that a job's application master gets has no files and lines.
    const auto found_again = again.Resolve(row.address);
    EXPECT_EQ(found_again.ok(), found.ok()) << row.address;
    if (found.ok()) EXPECT_EQ(*found_again, *found);
    if (!found.ok()) EXPECT_EQ(found.error().code, ErrorCode::kInvalid) << row.address;
  }
}

TEST(MountTableTest, TheTextOfMountTablesIsAWord) {
  const MountTables odd({{"a.link./with blank, \"=%", "hdfs://ns2/x y,z;", "x"}});
  EXPECT_EQ(odd.ToText().find_first_of(" \t\n\"$`\\;"), std::string::npos) << odd.ToText();
  EXPECT_EQ(*MountTables::FromText(odd.ToText()).Resolve("viewfs://a/with blank, \"=%/1"), "hdfs://ns2/x y,z;/1");
  EXPECT_EQ(MountTables().ToText(), "");
  EXPECT_TRUE(MountTables::FromText("").empty());
  EXPECT_FALSE(MountTables::FromText("%,=%0,%zz=x,a.link./x").Resolve("viewfs://a/x").ok());
}

// Describes the default file system, or returns the error.
std::string DefaultFsWith(const std::string& value, Site site = {}) {
  site.emplace("fs.defaultFS", value);
  const SiteConfiguration read = SiteWith(site);
  const auto fs = DefaultFsOf(read, *MountTablesOf(read), "eve");
  if (!fs.ok()) return fs.error().message;
  const Endpoint& at = fs->hdfs.authority;
  return StrCat(at.port < 0 ? at.host : ToString(at), " ", ToString(fs->hdfs.webs.front()), " ", fs->home,
                fs->view.empty() ? "" : " view " + fs->view, fs->gateway.empty() ? "" : " gateway " + fs->gateway);
}

const Site kFederation = {{"dfs.nameservices", "ns1,ns2"},
                          {"dfs.namenode.rpc-address.ns1", "nn1:8020"},
                          {"dfs.namenode.http-address.ns1", "nn1:50070"},
                          {"dfs.ha.namenodes.ns2", "a"},
                          {"dfs.namenode.rpc-address.ns2.a", "nn2:9000"}};

TEST(DefaultFsTest, TheHomeFolderIsInTheHdfsToWhichTheMountTableLinksIt) {
  Site site = kFederation;
  site.insert(kTables.begin(), kTables.end());
  const auto with = [&](const std::string& value) { return DefaultFsWith(value, site); };
  EXPECT_EQ(with("viewfs://a"), "ns2 nn2:9870 /home/eve view viewfs://a");
  EXPECT_EQ(with("viewfs://b/"), "ns2 nn2:9870 /home/eve view viewfs://b") << "through homedir and two tables";
  EXPECT_EQ(with("viewfs:///"), "ns2 nn2:9870 /all/user/eve view viewfs://");
  EXPECT_EQ(with("viewfs://none"),
            "core-site.xml:7: fs.defaultFS is \"viewfs://none\": viewfs://none: the site files have no mount table of "
            "this name; expected keys fs.viewfs.mounttable.none.link./PATH");
  site["fs.viewfs.mounttable.a.link./user/eve"] = "hdfs://nn1:8020/user/eve";
  EXPECT_EQ(with("viewfs://a"), "nn1:8020 nn1:50070 /user/eve view viewfs://a")
      << "the web server of an address is found by its logical name";
}

TEST(DefaultFsTest, AWebAddressIsThatOfANameNodeOrOfAGatewayBeforeAKnownNameNode) {
  const Site one = {{"dfs.namenode.rpc-address", "nn:9000"}};
  EXPECT_EQ(DefaultFsWith("webhdfs://gate:14000", one), "nn:9000 nn:9870 /user/eve gateway http://gate:14000");
  EXPECT_EQ(DefaultFsWith("swebhdfs://gate:14000/", one), "nn:9000 nn:9870 /user/eve gateway https://gate:14000");
  EXPECT_EQ(DefaultFsWith("webhdfs://nn", one), "nn:9000 nn:9870 /user/eve");
  EXPECT_EQ(DefaultFsWith("webhdfs://nn1:50070", kFederation), "ns1 nn1:50070 /user/eve");
  EXPECT_EQ(DefaultFsWith("webhdfs://ns2", kFederation), "ns2 nn2:9870 /user/eve");
  Site only = kFederation;
  only["dfs.nameservices"] = "ns2";
  EXPECT_EQ(DefaultFsWith("webhdfs://gate:14000", only), "ns2 nn2:9870 /user/eve gateway http://gate:14000");
  EXPECT_EQ(DefaultFsWith("webhdfs://gate:14000", kFederation),
            "core-site.xml:7: fs.defaultFS is \"webhdfs://gate:14000\", a gateway: set dfs.namenode.rpc-address in "
            "hdfs-site.xml to HOST:PORT of its NameNode, which the job and the calls about names need");
  EXPECT_EQ(DefaultFsWith("webhdfs://:1", one),
            "core-site.xml:7: fs.defaultFS is \"webhdfs://:1\", expected webhdfs://HOST:PORT or swebhdfs://HOST:PORT");
  EXPECT_EQ(DefaultFsWith("swebhdfs://knox:8443/gateway/default", one),
            "core-site.xml:7: fs.defaultFS is \"swebhdfs://knox:8443/gateway/default\", the address of a Knox gateway, "
            "which does not carry the RPC of the ResourceManager that a job needs; set it to hdfs://HOST:PORT on a "
            "machine that reaches the cluster");
}

}  // namespace
}  // namespace tony::hadoop
