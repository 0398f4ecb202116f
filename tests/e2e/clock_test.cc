// The machine's clock is set, and the machine sleeps, while a job waits for something: what it waits for comes in its
// time.
#include <algorithm>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/places.h"

namespace tony {
namespace {

using testing::HasSubstr;

constexpr const char* kEightHoursBack = "-28800 0";
constexpr const char* kEightHoursOn = "28800 0";
constexpr const char* kEightHoursAsleep = "28800 28800";

class ClockTest : public TonyTest {
 protected:
  // The clocks of `program` go as the file says, which is not there yet.
  std::map<std::string, std::string> ClocksOf(const std::string& program) const {
    return WithShim("clock_shim", {{"CLOCK_SHIM_PROGRAM", program}, {"CLOCK_SHIM_FILE", box_.File("clocks")}});
  }
  void SetClocks(const std::string& to) const { box_.Write("clocks", to); }
  boost::json::value Status() const { return ParseJson(box_.Tony({"status", Job(), "--json"}).out); }
  // Written, and by rename: the next AM reads it.
  void WaitForAttempts(size_t attempts) const {
    ASSERT_TRUE(WaitFor([&] { return CountLines(ReadText(box_.File("attempts"))) == attempts; }));
  }
};

class AskersClockTest : public ClockTest, public testing::WithParamInterface<const char*> {};

TEST_P(AskersClockTest, AKillIsDueAfterItsDelayWhateverTheAskersClockSays) {
  const auto client = box_.StartTony(One(HoldUntilGo()));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  SetClocks(GetParam());
  const Ran planned = box_.Tony({"kill", Job(), "--delay", "5", "--reason", "late"}, ClocksOf("tony"));
  EXPECT_EQ(planned.exit, 0) << planned.err;
  EXPECT_EQ(Text(Status(), "/state"), "RUNNING") << "not before";
  const Ran ran = client->Wait();
  EXPECT_FALSE(ran.timed_out);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("late"));
  ExpectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(Steps, AskersClockTest, testing::Values(kEightHoursBack, kEightHoursOn),
                         [](const auto& test) { return *test.param == '-' ? "Back" : "On"; });

class MastersClockTest : public ClockTest, public testing::WithParamInterface<const char*> {};

TEST_P(MastersClockTest, ABackOffIsNeitherLongerNorLostWhenTheNextMasterFindsAnotherTime) {
  const auto client = box_.StartTony(One("echo x >> " + box_.File("attempts") + "; [ $TONY_ATTEMPT = 3 ]") +
                                         Conf("tony.restart.task.budget=2") + Conf("tony.restart.backoff-ms=6000"),
                                     ClocksOf("tony-am"));
  WaitForAttempts(2);
  ASSERT_TRUE(WaitFor([&] { return Text(Status(), "/tasks/0/state") == "backoff"; })) << client->err();
  SetClocks(GetParam());
  for (const pid_t pid : box_.Pids("tony-am")) kill(pid, SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return Number(Status(), "/epoch") == 2; })) << client->err();
  EXPECT_EQ(CountLines(ReadText(box_.File("attempts"))), 2u) << "the back-off is over at once";
  const Ran ran = client->Wait();
  EXPECT_EQ(ran.exit, 0) << ran.err;
  ExpectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(Steps, MastersClockTest, testing::Values(kEightHoursBack, kEightHoursOn),
                         [](const auto& test) { return *test.param == '-' ? "Back" : "On"; });

TEST_F(ClockTest, WhatCameDueWhileTheMachineSleptComesWhenItWakes) {
  const auto client = box_.StartTony(One(HoldUntilGo()), ClocksOf("tony-am"));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  EXPECT_EQ(box_.Tony({"kill", Job(), "--delay", "3600", "--reason", "slept"}).exit, 0);
  EXPECT_EQ(Text(Status(), "/state"), "RUNNING");
  SetClocks(kEightHoursAsleep);
  const Ran ran = client->Wait();
  EXPECT_FALSE(ran.timed_out);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("slept"));
  ExpectNothingLeft();
}

TEST_F(ClockTest, AStepOfTheClockUnderARunningMasterIsNotNoticed) {
  const auto client = box_.StartTony(One(HoldUntilGo()), ClocksOf("tony-am"));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  EXPECT_EQ(box_.Tony({"kill", Job(), "--delay", "3600"}).exit, 0);
  SetClocks(kEightHoursOn);
  EXPECT_EQ(box_.Tony({"wait", Job(), "--timeout", "3"}).exit, 69) << "it runs on";
  Go();
  EXPECT_EQ(client->Wait().exit, 0);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
