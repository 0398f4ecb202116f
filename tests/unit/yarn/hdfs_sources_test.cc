#include "runtime/yarn/hdfs_sources.h"

#include <gmock/gmock.h>

#include "tests/unit/hadoop/served_name_node.h"

namespace tony {
namespace {

using hadoop::LocalResource;
using ::testing::HasSubstr;

class HdfsSourcesTest : public hadoop::ServedNameNodeTest {
 protected:
  HdfsSourcesTest() {
    OnServer([this] { LayFiles(); });
  }
  void LayFiles() {
    node_.files = {{"/data/x.txt", "12345"}, {"/lib/a.jar", "a"}, {"/lib/b.jar", "bb"}, {"/lib/c", ""}};
    node_.folders = {{"/lib", "755"}, {"/empty", "755"}};
    for (int i = 0; i <= 1000; ++i) node_.files[StrCat("/many/", i)] = "";
    node_.folders["/many"] = "755";
    node_.folders["/app"] = node_.folders["/app/pkg"] = node_.folders["/app/pkg/deep"] = "755";
    node_.folders["/app/empty"] = "755";
    node_.files["/app/train.py"] = "t";
    node_.files["/app/pkg/a.py"] = "aa";
    node_.files["/app/pkg/deep/b.py"] = "bbb";
    node_.files["/app.zip"] = "z";
    node_.folders["/outputs"] = "755";
    node_.files["/outputs/tony-output.json"] = "{}";
    node_.unreadable = {"/data/secret", "/half/y"};
    node_.files["/data/secret"] = "s";
    node_.folders["/half"] = "755";
    node_.files["/half/x"] = node_.files["/half/y"] = "h";
  }

  Result<std::vector<RemoteFile>> Look(const FileSpec& file) const { return LookAtHdfs(cluster_, file); }
  std::string Refused(const FileSpec& file, ErrorCode code = ErrorCode::kInvalid) const {
    const auto found = Look(file);
    EXPECT_FALSE(found.ok());
    if (found.ok()) return "";
    EXPECT_EQ(found.error().code, code);
    return found.error().message;
  }

  const Instant modified_ = FromMillis(1700000000123);
  const YarnCluster cluster_{.name_node = {"NN", 9000}, .webhdfs = node_.url(), .user = "eve", .home = "/user/eve"};
};

TEST_F(HdfsSourcesTest, AFileIsAsHdfsSaysIt) {
  for (const char* source : {"hdfs://nn:9000/data/x.txt", "hdfs:///data/x.txt"}) {
    const auto found = Look({source, "y", false});
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(*found, (std::vector<RemoteFile>{{"y", "/data/x.txt", 5, modified_, false}})) << source;
  }
  EXPECT_TRUE(Look({"hdfs:///lib/a.jar", "classes", true})->front().is_packed);
}

TEST_F(HdfsSourcesTest, OfAFolderItIsTheFilesInIt) {
  const auto found = Look({"hdfs:///lib", "lib", false});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, (std::vector<RemoteFile>{{"a.jar", "/lib/a.jar", 1, modified_, false},
                                             {"b.jar", "/lib/b.jar", 2, modified_, false},
                                             {"c", "/lib/c", 0, modified_, false}}));
}

TEST_F(HdfsSourcesTest, AFolderThatCannotBeWhatWasAskedForIsRefused) {
  const std::string folder = "it is a folder in HDFS, whose files a task finds under their own names; expected ";
  EXPECT_EQ(Refused({"hdfs:///lib", "jars", false}), folder + "a file, or no ::NAME");
  EXPECT_EQ(Refused({"hdfs:///lib", "lib", true}), folder + "an archive");
  EXPECT_EQ(Refused({"hdfs:///empty", "empty", false}),
            "it is a folder in HDFS without a file; those in folders below it do not count");
  EXPECT_EQ(Refused({"hdfs:///many", "many", false}), "the folder has more than 1000 files; an archive may have more");
  EXPECT_EQ(Refused({"hdfs:///outputs", "outputs", false}), "TonY itself keeps the file tony-output.json there");
}

TEST_F(HdfsSourcesTest, OfASourceFolderItIsAllFilesBelowByTheirPaths) {
  const auto found = Look({"hdfs:///app", "", true});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, (std::vector<RemoteFile>{{"train.py", "/app/train.py", 1, modified_, false},
                                             {"pkg/a.py", "/app/pkg/a.py", 2, modified_, false},
                                             {"pkg/deep/b.py", "/app/pkg/deep/b.py", 3, modified_, false}}));
  EXPECT_EQ(*Look({"hdfs:///app.zip", "", true}), (std::vector<RemoteFile>{{"", "/app.zip", 1, modified_, true}}));
}

TEST_F(HdfsSourcesTest, ASourceThatIsNeitherFolderNorArchiveIsRefused) {
  EXPECT_EQ(Refused({"hdfs:///data/x.txt", "", true}),
            "it is a file in HDFS; expected a folder, or an archive in .zip, .jar, .tar, .tar.gz or .tgz");
  EXPECT_EQ(Refused({"hdfs:///empty", "", true}), "it is a folder in HDFS without a file");
  Refused({"hdfs:///many", "", true});
  EXPECT_THAT(Refused({"hdfs:///half", "", true}, ErrorCode::kNotPermitted), HasSubstr("/half/y"));
}

TEST_F(HdfsSourcesTest, AFileIsRead) {
  EXPECT_EQ(*ReadFromHdfs(cluster_, "hdfs:///data/x.txt"), "12345");
  for (const auto& [source, why] : std::map<std::string, std::string>{
           {"hdfs:///data/none", "no such file or folder in hdfs://NN:9000"},
           {"hdfs:///lib", "a folder, not a file"},
           {"hdfs://other:9000/data/x.txt", "the cluster's HDFS is hdfs://NN:9000; others cannot be used yet"}})
    EXPECT_EQ(ReadFromHdfs(cluster_, source).error().message, why) << source;
}

TEST_F(HdfsSourcesTest, WhatIsMissingOrElsewhereIsRefused) {
  EXPECT_EQ(Refused({"hdfs:///data/none", "none", false}), "no such file or folder in hdfs://NN:9000");
  EXPECT_EQ(Refused({"hdfs://other:9000/data/x.txt", "x.txt", false}),
            "the cluster's HDFS is hdfs://NN:9000; others cannot be used yet");
  Refused({"hdfs://nn/data/x.txt", "x.txt", false});
}

TEST_F(HdfsSourcesTest, WhatTheUserMayNotReadIsRefusedInHadoopsWords) {
  for (const FileSpec& file :
       {FileSpec{"hdfs:///data/secret", "secret", false}, FileSpec{"hdfs:///half", "half", false}})
    EXPECT_THAT(Refused(file, ErrorCode::kNotPermitted), HasSubstr("Permission denied: user=eve, access=READ"));
}

TEST_F(HdfsSourcesTest, ANodeIsToldWhereItIs) {
  const LocalResource resource = ResourceOf(cluster_, {"y", "/data/x.zip", 5, modified_, true});
  EXPECT_EQ(resource.scheme, "hdfs");
  EXPECT_EQ(resource.host, "NN");
  EXPECT_EQ(resource.port, 9000);
  EXPECT_EQ(resource.path, "/data/x.zip");
  EXPECT_EQ(resource.size, 5);
  EXPECT_EQ(resource.modified, modified_);
  EXPECT_EQ(resource.kind, LocalResource::Kind::kArchive);
  EXPECT_EQ(resource.visibility, LocalResource::Visibility::kPrivate);
}

}  // namespace
}  // namespace tony
