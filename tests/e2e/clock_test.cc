// The machine's clock is set, or the machine sleeps, while a job waits for a moment: the moment comes at the right
// time.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

constexpr const char* kEightHoursBack = "-28800 0";
constexpr const char* kEightHoursOn = "28800 0";
constexpr const char* kEightHoursAsleep = "28800 28800";

class ClockTest : public TonyTest {
 protected:
  // The clocks of `program` follow the file "clocks", which does not exist yet.
  std::map<std::string, std::string> ClocksOf(const std::string& program) const {
    return WithShim("clock_shim", {{"CLOCK_SHIM_PROGRAM", program}, {"CLOCK_SHIM_FILE", box_.File("clocks")}});
  }
  void SetClocks(const std::string& to) const { box_.Write("clocks", to); }
  // Waits until this many attempts have started.
  void WaitForAttempts(size_t attempts) const {
    ASSERT_TRUE(WaitFor([&] { return CountLines(ReadText(box_.File("attempts"))) == attempts; }));
  }
};

class ClientsClockTest : public ClockTest, public testing::WithParamInterface<const char*> {};

TEST_P(ClientsClockTest, ADelayedKillDoesNotDependOnTheClientsClock) {
  const auto client = Hold(One(HoldUntilGo()));
  SetClocks(GetParam());
  Succeeds({"kill", Job(), "--delay", "5", "--reason", "late"}, ClocksOf("tony"));
  EXPECT_EQ(Text(Status(), "/state"), "RUNNING") << "not before";
  const Ran ran = client->Wait();
  EXPECT_FALSE(ran.timed_out);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("late"));
  ExpectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(Steps, ClientsClockTest, testing::Values(kEightHoursBack, kEightHoursOn),
                         [](const auto& test) { return *test.param == '-' ? "EightHoursBack" : "EightHoursAhead"; });

class MastersClockTest : public ClockTest, public testing::WithParamInterface<const char*> {};

TEST_P(MastersClockTest, ARestartBackOffKeepsItsLengthIfTheClockOfTheNextMasterDiffers) {
  const auto client = box_.StartTony(One("echo x >> " + box_.File("attempts") + "; [ $TONY_ATTEMPT = 3 ]",
                                         {"tony.restart.task.budget=2", "tony.restart.backoff-ms=6000"}),
                                     ClocksOf("tony-am"));
  WaitForAttempts(2);
  ASSERT_TRUE(WaitFor([&] { return Text(Status(), "/tasks/0/state") == "backoff"; })) << client->err();
  SetClocks(GetParam());
  SignalAll("tony-am", SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return Number(Status(), "/epoch") == 2; })) << client->err();
  EXPECT_EQ(CountLines(ReadText(box_.File("attempts"))), 2u) << "the back-off is over at once";
  Ends(*client);
  ExpectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(Steps, MastersClockTest, testing::Values(kEightHoursBack, kEightHoursOn),
                         [](const auto& test) { return *test.param == '-' ? "EightHoursBack" : "EightHoursAhead"; });

TEST_F(ClockTest, ADelayedKillIsExecutedOnWakeUpIfItsTimePassedDuringMachineSleep) {
  const auto client = box_.StartTony(One(HoldUntilGo()), ClocksOf("tony-am"));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  Succeeds({"kill", Job(), "--delay", "3600", "--reason", "slept"});
  EXPECT_EQ(Text(Status(), "/state"), "RUNNING");
  SetClocks(kEightHoursAsleep);
  const Ran ran = client->Wait();
  EXPECT_FALSE(ran.timed_out);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("slept"));
  ExpectNothingLeft();
}

TEST_F(ClockTest, ADelayedKillIsNotExecutedEarlyIfTheClockJumpsEightHoursAhead) {
  const auto client = box_.StartTony(One(HoldUntilGo()), ClocksOf("tony-am"));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  Succeeds({"kill", Job(), "--delay", "3600"});
  SetClocks(kEightHoursOn);
  EXPECT_EQ(box_.Tony({"wait", Job(), "--timeout", "3"}).exit, 69) << "it runs on";
  GoAndEnd(*client);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
