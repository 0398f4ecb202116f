#include "runtime/page/page_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "runtime/net/tcp.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

const std::string kToken = "0123456789abcdef0123456789abcdef";

class PageAddressTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const { std::ofstream(temp_.path() / name) << text; }

  TempFolder temp_;
  JobFolder folder_{temp_.path()};
};

TEST_F(PageAddressTest, AJobWithoutAWholeTokenHasNoPage) {
  EXPECT_EQ(ReadPageToken(folder_).error().code, ErrorCode::kNotFound);
  for (const std::string& text : {std::string(), std::string("abc"), std::string(32, 'x'), std::string(33, 'a')}) {
    Write("page-token", text);
    EXPECT_FALSE(ReadPageToken(folder_).ok()) << text;
  }
  Write("page-token", kToken);
  EXPECT_EQ(*ReadPageToken(folder_), kToken);
}

TEST_F(PageAddressTest, TheNextMasterTakesThePortOfTheLast) {
  int port = 0;
  {
    const auto first = ListenForPage(folder_);
    ASSERT_TRUE(first.ok());
    port = first->port;
  }
  const auto next = ListenForPage(folder_);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->port, port);
}

TEST_F(PageAddressTest, WhereThatPortIsTakenOrUnreadableItTakesAnotherAndNotesIt) {
  const auto first = ListenForPage(folder_);
  const auto second = ListenForPage(folder_);  // the first still listens
  ASSERT_TRUE(second.ok());
  EXPECT_NE(second->port, first->port);
  for (const char* text : {"", "x", "-5", "99999999"}) {
    Write("page-port", text);
    EXPECT_TRUE(ListenForPage(folder_).ok()) << text;
  }
}

TEST_F(PageAddressTest, AKeptTokenIsMadeOnceAndPrivate) {
  const std::filesystem::path file = temp_.path() / "new" / "page-token";
  const auto first = KeepPageToken(file);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->size(), 32u);
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(*KeepPageToken(file), *first);
  EXPECT_NE(*KeepPageToken(temp_.path() / "another"), *first);
}

TEST_F(PageAddressTest, WhoAskForAKeptTokenAtOnceGetTheSame) {
  for (int round = 0; round < 3; ++round) {
    const std::filesystem::path file = temp_.path() / std::to_string(round);
    std::vector<std::string> tokens(4);
    std::vector<std::jthread> threads;
    for (auto& token : tokens) threads.emplace_back([&] { token = *KeepPageToken(file); });
    threads.clear();  // joins
    EXPECT_THAT(tokens, testing::Each(*KeepPageToken(file)));
  }
}

TEST_F(PageAddressTest, AKeptTokenThatIsDamagedIsMadeAnewAndWhereNoneCanBeMadeThatIsSaid) {
  Write("page-token", "");
  const std::string token = *KeepPageToken(temp_.path() / "page-token");
  EXPECT_EQ(token, *ReadPageToken(folder_));
  EXPECT_FALSE(KeepPageToken("/proc/none/page-token").ok());
}

TEST_F(PageAddressTest, OnlyTheWholeTokenOpens) {
  EXPECT_TRUE(HasToken(*ParseTarget("/" + kToken + "/"), kToken));
  for (const std::string& target :
       {std::string("/"), "//" + kToken, "/" + kToken.substr(1), "/" + kToken + "0/", "/x/" + kToken})
    EXPECT_FALSE(HasToken(*ParseTarget(target), kToken)) << target;
}

}  // namespace
}  // namespace tony
