#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "executor/attempt_files.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;

class PublishWatchTest : public testing::Test {
 protected:
  std::unique_ptr<PublishWatch> Watch() {
    return std::make_unique<PublishWatch>(loop_, file_, std::vector<std::string>{"ADDRESS", "TOKEN"},
                                          [this](const PublishedValues& values) { told_.push_back(values); });
  }
  void Append(const std::string& text) { std::ofstream(file_, std::ios::app) << text; }
  bool Told(size_t times) {
    return RunUntil(loop_, [&] { return told_.size() >= times; });
  }

  TempFolder temp_;
  EventLoop loop_;
  const std::filesystem::path file_ = temp_.path() / "tony-publish";
  std::vector<PublishedValues> told_;
};

TEST_F(PublishWatchTest, ValuesAreToldAsTheyComeAndOnceEach) {
  const auto watch = Watch();
  Append("ADDRESS=he");
  Append("re:1\n");
  ASSERT_TRUE(Told(1));
  Append("COLOUR=red\n");
  watch->Look();
  Append("TOKEN=t\n");
  ASSERT_TRUE(Told(2));
  watch->Look();
  EXPECT_THAT(told_, ElementsAre(PublishedValues{{"ADDRESS", "here:1"}},
                                 PublishedValues{{"ADDRESS", "here:1"}, {"TOKEN", "t"}}));
}

TEST_F(PublishWatchTest, WhatIsThereBeforeTheWatchIsSeen) {
  Append("ADDRESS=here:1\n");
  const auto watch = Watch();
  EXPECT_TRUE(Told(1));
}

TEST_F(PublishWatchTest, ALookSeesWhatTheWatchHasNotToldYet) {
  const auto watch = Watch();
  Append("ADDRESS=here:1\n");
  watch->Look();
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(PublishWatchTest, OnlyTheBeginningOfARegularFileIsRead) {
  const std::vector<std::string> names{"ADDRESS"};
  EXPECT_TRUE(ReadPublished(file_, names).empty());
  Append(std::string(64 << 10, '\n') + "ADDRESS=late\n");
  EXPECT_TRUE(ReadPublished(file_, names).empty());
  ASSERT_EQ(mkfifo((temp_.path() / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(ReadPublished(temp_.path() / "pipe", names).empty());
  std::ofstream(temp_.path() / "elsewhere") << "ADDRESS=x\n";
  std::filesystem::create_symlink(temp_.path() / "elsewhere", temp_.path() / "link");
  EXPECT_TRUE(ReadPublished(temp_.path() / "link", names).empty());
  EXPECT_FALSE(ReadPublished(temp_.path() / "elsewhere", names).empty());
}

}  // namespace
}  // namespace tony::executor
