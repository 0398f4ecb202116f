#include "runtime/portal/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/portal/job_reader.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

JobFacts Facts(std::map<std::string, std::string> values) {
  return {.job = "local-1", .name = "n", .state = "FAILED", .sections = {{"Parameters", std::move(values)}}};
}

TEST(CompareTest, DifferencesComeFirstAndEqualValuesAreFolded) {
  const std::string html =
      CompareHtml({Facts({{"lr", "0.1"}, {"epochs", "3"}}), Facts({{"lr", "0.2"}, {"epochs", "3"}, {"seed", "1"}})},
                  {"~ann/local-1/", "~bob/local-2/"});
  EXPECT_THAT(html, HasSubstr("<tr><th>lr</th><td>0.1</td><td>0.2</td></tr>"));
  EXPECT_THAT(html, HasSubstr("<tr><th>seed</th><td class=\"none\">not set</td><td>1</td></tr>"));
  EXPECT_LT(html.find("<th>lr</th>"), html.find("<details>"));
  EXPECT_GT(html.find("<th>epochs</th>"), html.find("<details>"));
  EXPECT_THAT(html, HasSubstr("1 equal value"));
}

TEST(CompareTest, TextIsEscapedAndFactsSurviveJson) {
  JobFacts facts = Facts({{"<b>", "<script>x"}});
  facts.name = "<script>x";
  EXPECT_THAT(CompareHtml({facts, facts}, {"<b>", "<b>"}), Not(HasSubstr("<script>x")));
  EXPECT_EQ(*JobFactsFromJson(ToJson(facts)), facts);
}

TEST(AclTest, AnAclHasUsersAndGroups) {
  EXPECT_TRUE(AclAdmits("*", "ann", {}));
  EXPECT_TRUE(AclAdmits("bob,ann ops", "ann", {}));
  EXPECT_TRUE(AclAdmits("bob ops,dev", "ann", {"dev"}));
  EXPECT_TRUE(AclAdmits(" dev", "ann", {"dev"}));
  EXPECT_FALSE(AclAdmits("", "ann", {"dev"}));
  EXPECT_FALSE(AclAdmits("dev", "ann", {"dev"})) << "dev is a user here";
  EXPECT_FALSE(AclAdmits(" ann", "ann", {"dev"})) << "ann is a group here";
  EXPECT_FALSE(AclAdmits("anna,an ops", "ann", {}));
  EXPECT_FALSE(AclAdmits("", "", {}));
}

}  // namespace
}  // namespace tony
