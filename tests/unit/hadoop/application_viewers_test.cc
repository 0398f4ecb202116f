#include <gtest/gtest.h>

#include <optional>

#include "runtime/base/strings.h"
#include "runtime/hadoop/aggregated_log.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_http_server.h"

namespace tony::hadoop {
namespace {

class ApplicationViewersTest : public testing::Test {
 protected:
  // Answers as the ResourceManager of Hadoop 3.4.3: users who may not view the application get fewer fields.
  ServedAnswer Answer(const ServedRequest& request) {
    asked.push_back(request.target);
    const bool may_see = request.target.ends_with("=eve") || request.target.ends_with("=a%2Bb");
    return Answered(status,
                    StrCat("{\"app\":{\"id\":\"application_1_2\"", may_see ? ",\"amContainerLogs\":\"x\"" : "", "}}"));
  }
  std::string Ask(const std::string& user) {
    std::optional<Result<bool>> told;
    viewers.Ask(user, [&](const Result<bool>& may_see) { told = may_see; });
    EXPECT_TRUE(RunUntil(loop, [&] { return told.has_value(); }));
    return !told->ok() ? told->error().message : **told ? "yes" : "no";
  }

  int status = 200;
  std::vector<std::string> asked;
  EventLoop loop;
  ScriptedHttpServer server{loop, [this](const ServedRequest& request) { return Answer(request); }};
  ApplicationViewers viewers{loop, server.Url(""), "application_1_2"};
};

TEST_F(ApplicationViewersTest, AUserMayViewAnApplicationIfYarnReturnsAllItsFields) {
  EXPECT_EQ(Ask("eve"), "yes");
  EXPECT_EQ(Ask("mallory"), "no");
  EXPECT_EQ(Ask("a%2Bb"), "yes");
  EXPECT_EQ(Ask(""), "no");
  EXPECT_EQ(asked.front(), "/ws/v1/cluster/apps/application_1_2?user.name=eve");
  EXPECT_EQ(asked.back(), "/ws/v1/cluster/apps/application_1_2");
}

TEST_F(ApplicationViewersTest, ThePermissionToViewIsCachedPerUser) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask("eve"), "yes");
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_EQ(Ask("mallory"), "no");
}

TEST_F(ApplicationViewersTest, AFailedQueryAllowsNoViewerAndIsNotCached) {
  status = 500;
  EXPECT_EQ(Ask("eve"), "HTTP 500");
  status = 200;
  EXPECT_EQ(Ask("eve"), "yes");
}

TEST_F(ApplicationViewersTest, AUserNameIsRejectedWithoutAQueryIfTooLongOrNotPercentEncoded) {
  for (const char* name : {"eve&doAs=root", "eve#", "eve root", "eve?x", "eve=1", "e/v"})
    EXPECT_EQ(Ask(name), "the user's name is not percent-encoded") << name;
  EXPECT_EQ(Ask(std::string(1000, 'x')), "the user's name is not percent-encoded");
  EXPECT_TRUE(asked.empty());
}

}  // namespace
}  // namespace tony::hadoop
