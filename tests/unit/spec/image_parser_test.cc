// The images of a job's containers, and the folders that these see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/job/job_spec.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<ParsedJobSpec> Parse(const std::vector<std::pair<std::string, std::string>>& settings) {
  Properties properties;
  for (const auto& [key, value] :
       {std::pair("tony.ps.instances", "1"), std::pair("tony.worker.instances", "1"),
        std::pair("tony.containers.command", "true")})
    properties.Set(key, value, "test");
  for (const auto& [key, value] : settings) properties.Set(key, value, "test");
  return ParseJobSpec(properties, "/");
}

// Returns the images of ps, worker and, on YARN, of the application master.
std::string Images(const std::vector<std::pair<std::string, std::string>>& settings) {
  const auto parsed = Parse(settings);
  if (!parsed.ok()) return parsed.error().message;
  std::string images;
  for (const RoleSpec& role : parsed->spec.roles) images += role.image + ";";
  return images + parsed->spec.yarn.am_image;
}

TEST(ImageParserTest, ARolesOwnImageGoesBeforeThatOfAllRoles) {
  EXPECT_EQ(Images({}), ";;");
  EXPECT_EQ(Images({{"tony.containers.image", "a:1"}}), "a:1;a:1;");
  EXPECT_EQ(Images({{"tony.containers.image", "a:1"}, {"tony.ps.image", "b:2"}}), "b:2;a:1;");
  EXPECT_EQ(Images({{"tony.containers.image", "a:1"}, {"tony.ps.image", "none"}}), ";a:1;");
}

TEST(ImageParserTest, TonysKeysCountWithDockerEnabledAndOurKeysGoBeforeThem) {
  const std::pair<std::string, std::string> enabled = {"tony.docker.enabled", "true"},
                                            all = {"tony.docker.containers.image", "a:1"},
                                            worker = {"tony.docker.worker.image", "b:2"};
  EXPECT_EQ(Images({all, worker}), ";;");
  EXPECT_EQ(Images({enabled, all, worker}), "a:1;b:2;");
  EXPECT_EQ(Images({enabled, worker}), ";b:2;");
  EXPECT_EQ(Images({enabled, all, worker, {"tony.worker.image", "c:3"}}), "a:1;c:3;");
  EXPECT_THAT(Images({enabled}), HasSubstr("tony.docker.enabled: \"true\" (from test): no role has an image; set"));
}

TEST(ImageParserTest, OnYarnTonysImageIsThatOfTheApplicationMasterToo) {
  const std::pair<std::string, std::string> yarn = {"tony.scheduler", "yarn"}, enabled = {"tony.docker.enabled", "true"},
                                            all = {"tony.docker.containers.image", "a:1"};
  EXPECT_EQ(Images({yarn, enabled, all}), "a:1;a:1;a:1");
  EXPECT_EQ(Images({yarn, enabled, all, {"tony.docker.am.image", "m:1"}}), "a:1;a:1;m:1");
  EXPECT_EQ(Images({yarn, {"tony.containers.image", "a:1"}}), "a:1;a:1;") << "the master needs no image";
  EXPECT_EQ(Images({yarn, {"tony.containers.image", "a:1"}, {"tony.am.image", "m:1"}}), "a:1;a:1;m:1");
}

TEST(ImageParserTest, AnInvalidNameOfAnImageIsRefused) {
  for (const char* image : {"two words", "--privileged", "a\x01"})
    EXPECT_THAT(Images({{"tony.worker.image", image}}), HasSubstr("expected the name of an image")) << image;
}

TEST(ImageParserTest, MountsAreCheckedForPodmanAndPassedOnUnchangedForYarn) {
  const std::pair<std::string, std::string> image = {"tony.containers.image", "a:1"};
  EXPECT_THAT(Images({image, {"tony.containers.mounts", "data:/data"}}), HasSubstr("expected SOURCE:TARGET"));
  EXPECT_EQ(Parse({image, {"tony.containers.mounts", "/a:/b:ro"}})->spec.mounts, "/a:/b:ro");
  const auto on_yarn = Parse({image, {"tony.scheduler", "yarn"}, {"tony.containers.mounts", "data:/data:ro+rslave, /x:/y"}});
  EXPECT_EQ(on_yarn->spec.mounts, "data:/data:ro+rslave, /x:/y");
}

TEST(MountsTest, AMountHasTwoAbsolutePathsAndPerhapsAMode) {
  const auto mounts = ParseMounts("/a:/b:ro, /c:/d:rw,/e:/f,");
  ASSERT_TRUE(mounts.ok());
  EXPECT_THAT(*mounts, ElementsAre(Mount{"/a", "/b", true}, Mount{"/c", "/d"}, Mount{"/e", "/f"}));
  for (const char* wrong : {"/a", "a:/b", "/a:b", "/a:/b:x", "/a:/b:ro:z"}) EXPECT_FALSE(ParseMounts(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace tony
