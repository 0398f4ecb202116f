#include "runtime/page/page_address.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "runtime/net/sockets.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

const std::string kToken = "0123456789abcdef0123456789abcdef";

class PageAddressTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const { std::ofstream(temp_.path() / name) << text; }

  TempFolder temp_;
  JobRecords records_ = LocalJobRecords(temp_.path());
};

TEST_F(PageAddressTest, ReadPageTokenFailsOnAMissingOrMalformedToken) {
  EXPECT_EQ(ReadPageToken(records_).error().code, ErrorCode::kNotFound);
  for (const std::string& text : {std::string(), std::string("abc"), std::string(32, 'x'), std::string(33, 'a')}) {
    Write("page-token", text);
    EXPECT_FALSE(ReadPageToken(records_).ok()) << text;
  }
  Write("page-token", kToken);
  EXPECT_EQ(*ReadPageToken(records_), kToken);
}

TEST_F(PageAddressTest, TheFirstPageAddressUsesTheTokenFromTheCreationOfTheJob) {
  EXPECT_EQ(ListenForPage(records_, kLoopback).error().code, ErrorCode::kNotFound) << "a job without a page";
  Write("page-token", kToken);
  const auto first = ListenForPage(records_, kLoopback);
  ASSERT_TRUE(first.ok());
  EXPECT_GT(first->at.port, 0);
  EXPECT_EQ(*ReadPageToken(records_), kToken);
}

TEST_F(PageAddressTest, EachFurtherPageAddressOfAJobGetsANewToken) {
  Write("page-token", kToken);
  std::set<std::string> tokens = {kToken};
  ASSERT_TRUE(ListenForPage(records_, kLoopback).ok());
  for (const char* port : {"4711", "", "x"}) {
    Write("page-port", port);
    ASSERT_TRUE(ListenForPage(records_, kLoopback).ok());
    tokens.insert(*ReadPageToken(records_));
  }
  EXPECT_EQ(tokens.size(), 4u);
}

TEST_F(PageAddressTest, OpeningANewPageAddressFailsIfTheNewTokenCannotBeWritten) {
  Write("page-token", kToken);
  ASSERT_TRUE(ListenForPage(records_, kLoopback).ok());
  std::filesystem::remove(temp_.path() / "page-token");
  std::filesystem::create_directory(temp_.path() / "page-token");
  EXPECT_FALSE(ListenForPage(records_, kLoopback).ok());
}

TEST_F(PageAddressTest, AProcessThatAdoptsTheListeningSocketKeepsThePageAddress) {
  Write("page-token", kToken);
  auto first = ListenForPage(records_, kLoopback);
  ASSERT_TRUE(first.ok());
  const int port = first->at.port;
  const auto next = AdoptPageSocket(UniqueFd(dup(first->listening.get())));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->at.port, port);
  first->listening.Reset();
  EXPECT_FALSE(ListenOn({"127.0.0.1", port}).ok()) << "it is not free";
  EXPECT_FALSE(AdoptPageSocket(UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))).ok()) << "does not listen";
  EXPECT_FALSE(AdoptPageSocket(UniqueFd()).ok());
}

TEST_F(PageAddressTest, TheDescriptorOfThePageSocketIsReadFromAnEnvironmentVariableOnce) {
  unsetenv(kPageSocketVariable);
  EXPECT_FALSE(InheritedPageSocket().valid());
  for (const char* text : {"", "x", "1", "-3", "999999", "99999999999999"}) {
    setenv(kPageSocketVariable, text, 1);
    EXPECT_FALSE(InheritedPageSocket().valid()) << text;
  }
  const int fd = dup(0);
  setenv(kPageSocketVariable, std::to_string(fd).c_str(), 1);
  const UniqueFd inherited = InheritedPageSocket();
  EXPECT_EQ(inherited.get(), fd);
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC) << "not the executors', too";
  EXPECT_FALSE(InheritedPageSocket().valid());
}

TEST_F(PageAddressTest, AStoredPageTokenIsCreatedOnceInAPrivateFile) {
  const std::filesystem::path file = temp_.path() / "new" / "page-token";
  const auto first = KeepPageToken(file);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->size(), 32u);
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(*KeepPageToken(file), *first);
  EXPECT_NE(*KeepPageToken(temp_.path() / "another"), *first);
}

TEST_F(PageAddressTest, SimultaneousCreatorsOfAStoredPageTokenGetTheSameToken) {
  for (int round = 0; round < 3; ++round) {
    const std::filesystem::path file = temp_.path() / std::to_string(round);
    std::vector<std::string> tokens(4);
    std::vector<std::jthread> threads;
    for (auto& token : tokens) threads.emplace_back([&] { token = *KeepPageToken(file); });
    threads.clear();  // joins the threads
    EXPECT_THAT(tokens, testing::Each(*KeepPageToken(file)));
  }
}

TEST_F(PageAddressTest, AnEmptyTokenFileIsReplacedAndAnUnwritableTokenFileIsAnError) {
  Write("page-token", "");
  const std::string token = *KeepPageToken(temp_.path() / "page-token");
  EXPECT_EQ(token, *ReadPageToken(records_));
  EXPECT_FALSE(KeepPageToken("/proc/none/page-token").ok());
}

TEST_F(PageAddressTest, OnlyARequestWithTheCompleteTokenIsAccepted) {
  EXPECT_TRUE(HasToken(*ParseTarget("/" + kToken + "/"), kToken));
  for (const std::string& target :
       {std::string("/"), "//" + kToken, "/" + kToken.substr(1), "/" + kToken + "0/", "/x/" + kToken})
    EXPECT_FALSE(HasToken(*ParseTarget(target), kToken)) << target;
  for (size_t i = 0; i < kToken.size(); ++i) {
    std::string other = kToken;
    other[i] = 'x';
    EXPECT_FALSE(HasToken(*ParseTarget("/" + other + "/"), kToken)) << "the character at " << i;
  }
}

}  // namespace
}  // namespace tony
