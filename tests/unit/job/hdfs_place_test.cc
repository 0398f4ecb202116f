#include "runtime/job/hdfs_place.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

TEST(HdfsPlaceTest, AnHdfsUriWithoutAHostRefersToTheNameNodeOfTheCluster) {
  EXPECT_EQ(*ParseHdfsPlace("hdfs://NN.example.org:9000/data/x"),
            (HdfsPlace{Endpoint{"nn.example.org", 9000}, "/data/x"}));
  EXPECT_EQ(*ParseHdfsPlace("hdfs://nn/data/x"), (HdfsPlace{Endpoint{"nn", 8020}, "/data/x"}));
  EXPECT_EQ(*ParseHdfsPlace("HDFS:///data/x"), (HdfsPlace{{}, "/data/x"}));
  EXPECT_EQ(*ParseHdfsPlace("hdfs:/data/x"), (HdfsPlace{{}, "/data/x"}));
}

TEST(HdfsPlaceTest, APathIsNormalizedAsInHadoop) {
  for (const char* text : {"hdfs:////data//x/", "hdfs:///data/./y/../x", "hdfs:///../data/x"})
    EXPECT_EQ(ParseHdfsPlace(text)->path, "/data/x") << text;
  EXPECT_EQ(ParseHdfsPlace("hdfs:///")->path, "/");
  EXPECT_EQ(ParseHdfsPlace("hdfs:///a%20b c")->path, "/a%20b c");
}

TEST(HdfsPlaceTest, AnHdfsUriIsParsedBackFromItsText) {
  for (const char* text : {"hdfs://nn:9000/data/x", "hdfs:///data/x", "viewfs://Table/x", "viewfs:///x", "webhdfs://nn:1/x",
                           "swebhdfs:///x"})
    EXPECT_EQ(ToString(*ParseHdfsPlace(text)), text);
}

TEST(HdfsPlaceTest, TextThatIsNotAnHdfsUriIsRejected) {
  for (const char* text : {"", "/data/x", "s3a://x/y", "hdfs:", "hdfs:x", "hdfs://nn", "hdfs://nn:0/x", "hdfs://nn:x/x",
                           "hdfs://:8020/x", "hdfs://nn:65536/x"}) {
    const auto place = ParseHdfsPlace(text);
    ASSERT_FALSE(place.ok()) << text;
    EXPECT_EQ(place.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(place.error().message, "expected hdfs://HOST:PORT/PATH, or hdfs:///PATH for the cluster's own HDFS");
  }
}

}  // namespace
}  // namespace tony
