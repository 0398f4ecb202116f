#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/keeper/lost_job.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

JobStatus Killed(const std::string& job) {
  JobStatus status{.job = {job}, .state = "KILLED", .ended = FromMillis(1'700'000'000'000)};
  status.verdict = Verdict{.state = FinalState::kKilled, .cls = OutcomeClass::kKilled, .message = "enough"};
  status.tasks.push_back({{"worker", 0}, "active"});
  return status;
}

class UnwrittenEndTest : public testing::Test {
 protected:
  const TempFolder ledger_{MemoryFolder()};
};

TEST_F(UnwrittenEndTest, ItIsFoundByItsJobAndNoOther) {
  ASSERT_TRUE(KeepUnwrittenEnd(ledger_.path(), Killed("local-1")).ok());
  const auto found = FindUnwrittenEnd(ledger_.path(), {"local-1"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict->message, "enough");
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path(), {"local"}));
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path(), {"local-10"}));
  ForgetUnwrittenEnd(ledger_.path(), {"local-10"});
  EXPECT_TRUE(FindUnwrittenEnd(ledger_.path(), {"local-1"}));
  ForgetUnwrittenEnd(ledger_.path(), {"local-1"});
  EXPECT_TRUE(std::filesystem::is_empty(ledger_.path()));
}

TEST_F(UnwrittenEndTest, WhatIsNoEndIsPassedOver) {
  std::ofstream(ledger_.path() / ".end-local-1.0") << "{";
  std::filesystem::create_directory(ledger_.path() / ".end-local-1.1");
  std::ofstream(ledger_.path() / ".end-local-1.2") << ToJson(Killed("local-2"));
  JobStatus running = Killed("local-1");
  running.verdict.reset();
  std::ofstream(ledger_.path() / ".end-local-1.3") << ToJson(running);
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path(), {"local-1"}));
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path() / "nowhere", {"local-1"}));
}

TEST_F(UnwrittenEndTest, AnotherUsersFileIsNotBelieved_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs to be root, to make another user's file";
  const auto file = KeepUnwrittenEnd(ledger_.path(), Killed("local-1"));
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(chown(file->c_str(), 4711, 4711), 0);
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path(), {"local-1"}));
}

}  // namespace
}  // namespace tony
