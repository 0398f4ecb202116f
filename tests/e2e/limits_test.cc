// The limits of a task and of a job, with real processes: each ends the job with its task and its key in the message.
#include "tests/e2e/installation.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class LimitsTest : public TonyTest {
 protected:
  void ExpectTimeout(const Ran& ran, const testing::Matcher<std::string>& message) const {
    EXPECT_FALSE(ran.timed_out);
    EXPECT_EQ(ran.exit, 1) << ran.err;
    EXPECT_THAT(ran.out + ran.err, message);
    const Ran status = box_.Tony({"status", Job(), "--json"});
    EXPECT_EQ(Text(ParseJson(status.out), "/verdict/class"), "timeout") << status.out;
    ExpectNothingLeft();
  }
};

TEST_F(LimitsTest, ATaskThatRunsTooLongIsEndedWithItsWholeTree) {
  const Ran ran =
      box_.Tony(One("echo step 7 >&2; sleep 600 & sleep 600", {"tony.task.executor.execution-timeout-ms=500"}));
  ExpectTimeout(ran, AllOf(HasSubstr("worker:0"), HasSubstr("ran longer than 0.5 s"), HasSubstr("step 7"),
                           HasSubstr("tony.task.executor.execution-timeout-ms")));
}

TEST_F(LimitsTest, TheOlderTonysKeyIsTheSameLimitForEveryRole) {
  const Ran ran = box_.Tony(Words{"submit", "-executes", "sleep 600", "-conf", "tony.worker.timeout=500", "-conf",
                                  "tony.chief.instances=1", "-conf", "tony.chief.memory=10m"});
  ExpectTimeout(ran, AllOf(HasSubstr("chief:0"), HasSubstr("ran longer than 0.5 s"), Not(HasSubstr("warning"))));
}

TEST_F(LimitsTest, ATaskThatMindsNoSignalIsKilledAfterItsGrace) {
  const Ran ran = box_.Tony(
      One("trap '' TERM; while :; do sleep 600; done", {"tony.worker.timeout=500", "tony.task.stop-grace-ms=300"}));
  ExpectTimeout(ran, HasSubstr("ran longer than 0.5 s"));
}

TEST_F(LimitsTest, TheProgramIsToldWhyInItsNoticeFile) {
  const Ran ran = box_.Tony(
      One("trap 'cat $TONY_NOTICE_FILE; exit 0' TERM; while :; do sleep 0.05; done", {"tony.worker.timeout=500"}));
  ExpectTimeout(ran, HasSubstr("ran longer than 0.5 s"));
  EXPECT_THAT(LogText("worker-0", "stdout"), HasSubstr("tony.task.executor.execution-timeout-ms"));
}

TEST_F(LimitsTest, AnAttemptThatRanTooLongMayBeTriedAgain) {
  Succeeds(One("test $TONY_ATTEMPT = 2 || exec sleep 600",
               {"tony.worker.timeout=1000", "tony.restart.task.budget=1", "tony.restart.backoff-ms=0"}));
  ExpectNothingLeft();
}

TEST_F(LimitsTest, AnEndWithinTheLimitIsWhatItIs) {
  Succeeds(One("true", {"tony.worker.timeout=20000"}));
  ExpectNothingLeft();
}

TEST_F(LimitsTest, ATaskThatHangsBeforeItRegistersIsNamedWithItsKey) {
  const Installation hanging(box_, {{"tony-executor", "exec sleep 1000"}});
  const Ran ran = hanging.Tony(One("true", {"tony.task.executor.registry-timeout-sec=1"}));
  ExpectTimeout(ran, AllOf(HasSubstr("worker:0 did not register within 1.0 s of its container's start"),
                           HasSubstr("tony.task.executor.registry-timeout-sec")));
}

TEST_F(LimitsTest, ItsContainersLimitHoldsAsWellUnderBothTonysNames) {
  const Installation hanging(box_, {{"tony-executor", "exec sleep 1000"}});
  const Ran ran = hanging.Tony(Workers(2, "true",
                                       {"tony.container.allocation.timeout=700", "tony.compat.version=0.4.6",
                                        "tony.application.completion-rule=strict"}));
  ExpectTimeout(ran, AllOf(HasSubstr("not every task registered within 0.7 s"), HasSubstr("worker:0, worker:1"),
                           HasSubstr("tony.container.registration.timeout"), Not(HasSubstr("warning"))));
}

TEST_F(LimitsTest, AMasterThatHangsFromItsStartIsEndedWithItsKey) {
  const Installation hanging(box_, {{"tony-am", "exec sleep 1000"}});
  const Ran ran = hanging.Tony(One("true", {"tony.am.startup-timeout=1500"}));
  ExpectTimeout(ran, AllOf(HasSubstr("the application master had not started 1.5 s after the submission"),
                           HasSubstr("(tony.am.startup-timeout=1500)")));
}

TEST_F(LimitsTest, AMasterThatHasStartedInTimeHasNoLimit) {
  Succeeds(One("sleep 3", {"tony.am.startup-timeout=2500"}));
  ExpectNothingLeft();
}

class HangingMasterTest : public LimitsTest {
 protected:
  std::string SubmitAs(const std::string& owner) {
    const Installation hanging(box_, {{"tony-am", "exec sleep 1000"}});
    const Ran ran = hanging.Tony(One("true") + Words{"--detach", "--request-id", "engine://run/1", "--owner", owner});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_TRUE(WaitFor([&] { return !box_.Pids("tony-keeper").empty(); }));
    return Job();
  }
  // Well below the 30 s of silence after which a keeper gives its master up.
  void ExpectKilled(const Words& arguments) {
    const auto kills = box_.StartTony(arguments);
    EXPECT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").empty(); }, Limit(15'000)));
    const Ran ran = Ends(*kills);
    const auto status = Status();
    ExpectJson(status, {{"/state", "KILLED"}, {"/verdict/message", "no use"}});
  }
};

TEST_F(HangingMasterTest, AKillEndsTheJob) {
  ExpectKilled({"kill", SubmitAs("o1"), "--reason", "no use"});
  ExpectNothingLeft();
}

TEST_F(HangingMasterTest, TheKillOfItsOwnerDoesAndAnotherOwnersDoesNot) {
  const std::string job = SubmitAs("o1");
  Succeeds({"kill", job, "--if-owner", "o2", "--no-wait"});
  EXPECT_FALSE(box_.Pids("tony-keeper").empty());
  ExpectKilled({"kill", job, "--if-owner", "o1", "--reason", "no use"});
  ExpectNothingLeft();
}

TEST_F(HangingMasterTest, AKillEndsAlsoTheJobOfAMasterThatStandsStill) {
  const auto client = Hold(One(HoldUntilGo()));
  kill(box_.Pids("tony-am").front(), SIGSTOP);
  ExpectKilled({"kill", Job(), "--reason", "no use"});
  // The job is over; its submitter may need a moment more to say so.
  Ends(*client, 1);
  ExpectNothingLeft();
}

TEST_F(LimitsTest, ATaskThatGetsNoContainerIsNamedWithItsKey) {
  box_.SetMachine(R"({"memory_mb":1000})");
  const auto holder = Hold(One(HoldUntilGo(), {"tony.worker.memory=900m"}));
  const Ran ran = Fails(1, One("true", {"tony.worker.memory=900m", "tony.compat.version=0.5.3",
                                        "tony.container.allocation.timeout=700"}));
  EXPECT_THAT(ran.out + ran.err,
              HasAll({"not every task got a container within 0.7 s", "worker:0", "tony.container.allocation.timeout"}));
  GoAndEnd(*holder);
  ExpectNothingLeft();
}

TEST_F(LimitsTest, TheWholeJobsLimitNamesWhoWasSilent) {
  const Ran ran = box_.Tony(One("sleep 600", {"tony.application.timeout=1500"}));
  ExpectTimeout(ran, AllOf(HasSubstr("longer than 1.5 s"), HasSubstr("tony.application.timeout")));
}

TEST_F(LimitsTest, CapsRefuseAJobBeforeAnythingStarts) {
  const auto refused = [&](const std::string& cap, const std::string& ask, const std::string& key) {
    const Ran ran = Fails(65, One("true", {cap, ask}));
    EXPECT_THAT(ran.err, HasAll({key, cap.substr(0, cap.find('='))}));
  };
  refused("tony.worker.max-instances=1", "tony.worker.instances=2", "tony.worker.instances");
  refused("tony.task.max-total-instances=3", "tony.worker.instances=4", "the job asks for 4");
  refused("tony.task.max-total-memory=100", "tony.worker.memory=101", "the job asks for 101");
  refused("tony.task.max-total-vcores=2", "tony.worker.vcores=3", "the job asks for 3");
  refused("tony.task.max-total-gpus=1", "tony.worker.gpus=2", "the job asks for 2");
  EXPECT_TRUE(box_.Jobs().empty());
}

}  // namespace
}  // namespace tony
