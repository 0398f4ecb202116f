#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/config/config_text.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Properties Step(const std::vector<std::pair<std::string, std::string>>& values) {
  Properties step;
  for (const auto& [key, value] : values) step.Set(key, value, "the step's properties");
  return step;
}

TEST(AzkabanTagsTest, ExecutionFlowProjectAndHostAreTagsInThisOrder) {
  EXPECT_THAT(AzkabanTags(Step({{"azkaban.webserverhost", "az"},
                                {"azkaban.flow.projectname", "ml"},
                                {"azkaban.flow.flowid", "train"},
                                {"azkaban.flow.execid", "17"},
                                {"azkaban.flow.uuid", "u"}})),
              ElementsAre("azkaban.flow.execid:17", "azkaban.flow.flowid:train", "azkaban.flow.projectname:ml",
                          "azkaban.webserverhost:az"));
  EXPECT_THAT(AzkabanTags(Step({{"azkaban.flow.flowid", "train"}, {"azkaban.flow.execid", " "}})),
              ElementsAre("azkaban.flow.flowid:train"));
  EXPECT_THAT(AzkabanTags(Step({{"type", "tony"}})), IsEmpty());
}

TEST(AzkabanTagsTest, TheHostOfOlderServersIsInTheirUrl) {
  const auto host = [](const std::string& url) { return AzkabanHost(Step({{"azkaban.url", url}})); };
  EXPECT_EQ(host("https://az.example.com:8443/x?y"), "az.example.com");
  EXPECT_EQ(host("http://az"), "az");
  EXPECT_EQ(host("az:8081"), "az");
  EXPECT_EQ(host("http://ann:pw@az:1"), "az");
  EXPECT_EQ(host("http://[::1]:8081/"), "::1");
  EXPECT_EQ(host("http://[::1"), "::1");
  EXPECT_EQ(host("http://"), "");
  EXPECT_EQ(host("["), "");
  EXPECT_EQ(AzkabanHost(Step({{"azkaban.url", "http://a"}, {"azkaban.webserverhost", "b"}})), "b");
}

TEST(AzkabanTagsTest, ATagHasAHundredCharactersAtMostAndNoComma) {
  const std::string name = "azkaban.flow.flowid:";
  EXPECT_THAT(AzkabanTags(Step({{"azkaban.flow.flowid", std::string(200, 'x')}})),
              ElementsAre(name + std::string(80, 'x')));
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xC3\xA4";
  EXPECT_THAT(AzkabanTags(Step({{"azkaban.flow.flowid", umlauts}})), ElementsAre(name + umlauts.substr(0, 160)));
  EXPECT_THAT(AzkabanTags(Step({{"azkaban.flow.flowid", "a,b"}})), ElementsAre(name + "a;b"));
}

}  // namespace
}  // namespace tony
