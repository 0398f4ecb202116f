// The contract with workflow engines, through the built programs: a request finds its job, no client ends another
// client's job, and a kill and a submit that run at the same time do not miss each other.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

constexpr const char* kRequest = "airflow://nightly/run 1/train/-1";

class ContractTest : public TonyTest {
 protected:
  static Words Under(const std::string& owner, const Words& more = {}) {
    return Words{"--request-id", kRequest, "--owner", owner} + more;
  }
  static Words Number(int number) { return {"--submission", std::to_string(number)}; }
  static Words Policy(const std::string& policy) { return {"--on-existing", policy}; }

  // Submits a job that runs until Go(), and waits until its task runs.
  std::string StartHolding(const std::string& owner, const Words& more = {}) {
    const auto answer = Json(One(HoldUntilGo()) + Under(owner, more) + Words{"--detach"});
    EXPECT_EQ(Text(answer, "/decision"), "created");
    EXPECT_TRUE(WaitForRunning(1));
    return Text(answer, "/job");
  }
  // Submits a job that runs `command`, and waits for its end.
  std::string RunToEnd(const std::string& command, const std::string& owner, int exit) {
    return Text(Json(One(command) + Under(owner), exit), "/job");
  }
  value SubmitDetached(const std::string& command, const std::string& owner, const Words& more) {
    return Json(One(command) + Under(owner, more) + Words{"--detach"});
  }
  void EndAll() {
    Go();
    for (const std::string& job : box_.Jobs()) box_.Tony({"wait", job});
    ExpectNothingLeft();
  }
};

// ---- the decision table of submit

TEST_F(ContractTest, ASubmitWithTheSameRequestIdAttachesToTheRunningJobAndChangesTheOwner) {
  const std::string job = StartHolding("first");
  for (const char* policy : {"adopt", "attach"}) {
    const std::string owner = std::string("of-") + policy;
    const auto answer = SubmitDetached(HoldUntilGo(), owner, Policy(policy));
    ExpectJson(answer, {{"/decision", "attached"},
                        {"/job", job},
                        {"/request_id", kRequest},
                        {"/submission", 0},
                        {"/spec_differs", false}});
    EXPECT_EQ(Text(StatusOf(job), "/owner"), owner);
  }
  EndAll();
}

TEST_F(ContractTest, AttachingToAJobWithADifferentSpecCausesAWarning) {
  StartHolding("first");
  const Ran ran = Succeeds(One("true") + Under("second") + Words{"--detach", "--json"});
  EXPECT_EQ(At(ParseJson(ran.out), "/spec_differs"), value(true));
  EXPECT_EQ(At(ParseJson(ran.out), "/warnings").as_array().size(), 1u);
  EXPECT_THAT(ran.err, HasSubstr("other command; it keeps those"));
  EndAll();
}

TEST_F(ContractTest, TheRunningJobIsKilledAndReplacedIfTheOptionOnExistingHasTheValueNever) {
  const std::string old = StartHolding("first");
  const auto answer = SubmitDetached("true", "second", Policy("never"));
  EXPECT_EQ(Text(answer, "/decision"), "created");
  EXPECT_NE(Text(answer, "/job"), old);
  EXPECT_EQ(StateOf(old), "KILLED");
  EndAll();
}

TEST_F(ContractTest, TasksOfAReplacedJobExitBeforeTasksOfTheNextSubmissionStart) {
  const std::string old = StartHolding("first");
  const pid_t task = std::stoi(ReadText(Running("worker-0")));
  const std::string look = "kill -0 " + std::to_string(task) + " 2>/dev/null && echo alive || echo gone";
  const auto answer = Json(One(look) + Under("second", Number(1)));
  ExpectJson(answer, {{"/decision", "created"}, {"/submission", 1}});
  EXPECT_EQ(StateOf(old), "KILLED");
  EXPECT_THAT(Text(StatusOf(old), "/verdict/message"), HasSubstr("replaced by submission 1"));
  const auto logs = box_.JobFolder(Text(answer, "/job")) / "logs/worker-0/1/stdout";
  EXPECT_EQ(ReadText(logs), "gone\n");
  ExpectNothingLeft();
}

TEST_F(ContractTest, ASubmitCreatesANewJobAfterAFailedOrKilledJobOfTheSameRequest) {
  std::set<std::string> jobs = {RunToEnd("exit 3", "first", 1)};
  for (const char* policy : {"adopt", "attach", "never"}) {
    const auto answer = Json(One("exit 3") + Under("again", Policy(policy)), 1);
    EXPECT_EQ(Text(answer, "/decision"), "created") << policy;
    EXPECT_TRUE(jobs.insert(Text(answer, "/job")).second);
  }
  const std::string killed = StartHolding("holder");
  Succeeds({"kill", killed});
  EXPECT_EQ(Text(SubmitDetached("true", "last", {}), "/decision"), "created");
  EndAll();
}

TEST_F(ContractTest, ASubmitReusesTheResultOfASuccessfulJobOnlyIfOnExistingIsAdopt) {
  const std::string job = RunToEnd("true", "first", 0);
  const auto adopted = Json(One("true") + Under("second"));
  ExpectJson(adopted, {{"/decision", "adopted"}, {"/job", job}, {"/verdict/state", "SUCCEEDED"}});
  EXPECT_EQ(At(Json({"ack", job, "--owner", "first"}), "/acked"), value(false)) << "another one has adopted it";
  EXPECT_FALSE(At(StatusOf(job), "/acked").is_bool());
  EXPECT_EQ(At(Json({"ack", job, "--owner", "second"}), "/acked"), value(true));
  EXPECT_EQ(At(StatusOf(job), "/acked"), value(true));
  EXPECT_EQ(Text(SubmitDetached("true", "third", {}), "/job"), job) << "acknowledged or not";
  EXPECT_EQ(box_.Jobs().size(), 1u);
  EXPECT_EQ(Text(SubmitDetached("true", "a", Policy("attach")), "/decision"), "created");
  EndAll();
  EXPECT_EQ(Text(SubmitDetached("true", "n", Policy("never")), "/decision"), "created");
  EndAll();
  EXPECT_EQ(Text(SubmitDetached("true", "h", Number(1)), "/decision"), "created");
  EndAll();
  EXPECT_EQ(box_.Jobs().size(), 4u);
}

TEST_F(ContractTest, ASubmitThatReusesAResultPrintsTheJobIdAndTheVerdict) {
  const std::string job = RunToEnd("true", "first", 0);
  const Ran ran = Succeeds(One("true") + Under("second"));
  EXPECT_THAT(ran.out, testing::StartsWith(job + "\n"));
  EXPECT_THAT(ran.out, HasSubstr("SUCCEEDED"));
}

TEST_F(ContractTest, ASubmitWithALowerSubmissionNumberThanTheNewestJobIsRefused) {
  EXPECT_EQ(Text(Json(One("true") + Under("first", Number(2))), "/decision"), "created");
  const Ran ran = FailsInALine(77, One("true") + Under("zombie", Number(1)));
  EXPECT_THAT(ran.err, HasSubstr("newer than 1"));
  EXPECT_EQ(box_.Jobs().size(), 1u);
}

// ---- simultaneous requests

TEST_F(ContractTest, TwentySimultaneousSubmitsOfOneRequestCreateOneJob) {
  std::vector<std::unique_ptr<Background>> submits;
  for (int i = 0; i < 20; ++i)
    submits.push_back(box_.StartTony(One(HoldUntilGo()) + Under("owner-" + std::to_string(i)) + Words{"--detach"}));
  std::set<std::string> answers;
  for (const auto& submit : submits) {
    const Ran ran = Ends(*submit);
    answers.insert(ran.out);
  }
  EXPECT_EQ(answers, std::set<std::string>{Job() + "\n"});
  ASSERT_TRUE(WaitForRunning(1));
  EndAll();
}

TEST_F(ContractTest, ASubmitIsRefusedIfAnEarlierKillNamedItsRequestAndItsOwner) {
  const auto killed = Json({"kill", "--request-id", kRequest, "--if-owner", "late"});
  ExpectJson(killed, {{"/job", nullptr}, {"/remembered", true}, {"/killed", false}});
  FailsInALine(77, One("true") + Under("late"));
  EXPECT_TRUE(box_.Jobs().empty());
  Succeeds(One("true") + Under("other"));
  Fails(66, {"kill", "--request-id", "unheard of"});
}

TEST_F(ContractTest, AKilledSubmitLeavesEitherNoJobOrAJobFoundByItsRequestId) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    const auto submit = box_.StartTony(One("true") + Under("first"));
    submit->Signal(signal);
    submit->Wait();
    const auto jobs = box_.Jobs();
    if (jobs.empty()) {
      Fails(66, {"find", "--request-id", kRequest});
    } else {
      EXPECT_EQ(Text(Json({"find", "--request-id", kRequest}), "/job"), jobs.front());
    }
  }
  Succeeds(One("true") + Under("second"));
  ExpectNothingLeft();
}

TEST_F(ContractTest, SigtermToAClientKillsTheJobOnlyIfTheClientStillOwnsTheJob) {
  const auto first = Hold(One(HoldUntilGo()) + Under("first"));
  EXPECT_EQ(Text(SubmitDetached(HoldUntilGo(), "second", {}), "/decision"), "attached");
  first->Signal(SIGTERM);
  Ends(*first, 143);
  EXPECT_EQ(StateOf(Job()), "RUNNING");
  const auto third = box_.StartTony(One(HoldUntilGo()) + Under("third"));
  ASSERT_TRUE(WaitFor([&] { return Text(StatusOf(Job()), "/owner") == "third"; }));
  ASSERT_TRUE(WaitFor([&] { return third->err().find("job running") != std::string::npos; })) << third->err();
  third->Signal(SIGTERM);
  Ends(*third, 143);
  EXPECT_EQ(StateOf(Job()), "KILLED");
  ExpectNothingLeft();
}

// ---- kills

TEST_F(ContractTest, AKillThatNamesAFormerOwnerDoesNotEndTheJob) {
  const std::string job = StartHolding("first");
  SubmitDetached(HoldUntilGo(), "second", {});
  for (const Words& which : {Words{job}, Words{"--request-id", kRequest}}) {
    const auto late = Json(Words{"kill"} + which + Words{"--if-owner", "first"});
    ExpectJson(late, {{"/killed", false}, {"/fenced", true}});
  }
  EXPECT_EQ(StateOf(job), "RUNNING");
  const auto killed = Json({"kill", "--request-id", kRequest, "--if-owner", "second", "--reason", "cleared"});
  ExpectJson(killed, {{"/killed", true}, {"/verdict/message", "cleared"}});
  ExpectNothingLeft();
  EXPECT_EQ(At(Json({"kill", job}), "/killed"), value(true)) << "may be repeated";
  EXPECT_EQ(At(Json({"kill", job, "--if-owner", "first"}), "/killed"), value(false));
}

TEST_F(ContractTest, AKillOfASuccessfulJobReportsThatNothingWasKilled) {
  const std::string job = RunToEnd("true", "first", 0);
  EXPECT_EQ(At(Json({"kill", job, "--if-owner", "first"}), "/killed"), value(false));
}

TEST_F(ContractTest, AKillWithTheOptionNoWaitKillsTheJob) {
  const std::string job = StartHolding("first");
  const auto killed = Json({"kill", job, "--if-owner", "first", "--no-wait"});
  EXPECT_EQ(At(killed, "/killed"), value(true));
  Fails(1, {"wait", job});
  EXPECT_EQ(StateOf(job), "KILLED");
}

TEST_F(ContractTest, ADelayedKillThatNamesAWatcherIsDroppedOnceAnotherWatcherAppears) {
  const std::string job = StartHolding("first");
  Json({"wait", job, "--since", "0", "--watcher", "stalled"});
  const auto planned =
      Json({"kill", job, "--if-owner", "first", "--if-watcher", "stalled", "--delay", "20", "--reason", "cancelled"});
  ExpectJson(planned, {{"/planned", true}, {"/killed", false}});
  EXPECT_EQ(Text(StatusOf(job), "/planned_kill/reason"), "cancelled");
  Json({"wait", job, "--since", "0", "--watcher", "next"});
  EXPECT_TRUE(At(StatusOf(job), "/planned_kill").is_null());
  const auto late = Json({"kill", job, "--if-watcher", "stalled", "--delay", "20"});
  EXPECT_EQ(At(late, "/fenced"), value(true));
  EXPECT_EQ(StateOf(job), "RUNNING");
  EndAll();
  EXPECT_EQ(StateOf(job), "SUCCEEDED");
}

TEST_F(ContractTest, ADelayedKillThatNamesAWatcherIsExecutedIfNoOtherWatcherAppears) {
  const std::string job = StartHolding("first");
  Json({"wait", job, "--since", "0", "--watcher", "only"});
  const auto planned = Json({"kill", job, "--if-watcher", "only", "--delay", "0.5", "--reason", "cancelled"});
  EXPECT_EQ(At(planned, "/fenced"), value(false));
  EXPECT_EQ(Text(Json({"wait", job}, 1), "/verdict/message"), "cancelled");
  ExpectNothingLeft();
}

// ---- client activity

TEST_F(ContractTest, AJobWithoutClientActivityForItsWatchTimeoutIsKilledAsAbandoned) {
  const std::string job = Text(SubmitDetached(HoldUntilGo(), "first", {"--watch-timeout", "1"}), "/job");
  // Only reads files of the job, because a `tony status` would count as client activity.
  ASSERT_TRUE(WaitFor(
      [&] { return ReadText(box_.JobFolder(job) / "status.json").find("\"abandoned\"") != std::string::npos; }));
  EXPECT_EQ(Text(Json({"wait", job}, 1), "/verdict/class"), "abandoned");
  ExpectNothingLeft();
}

TEST_F(ContractTest, AJobWithAWaitingClientRunsLongerThanItsWatchTimeout) {
  const auto client = Hold(One(HoldUntilGo()) + Under("first", {"--watch-timeout", "1"}));
  Fails(69, {"wait", Job(), "--timeout", "3"});
  GoAndEnd(*client);
}

TEST_F(ContractTest, TheWaitCommandWithTheOptionSinceReturnsTheCurrentStatusAtItsTimeout) {
  const std::string job = StartHolding("first");
  value status = Json({"wait", job, "--since", "0"});
  while (!At(status, "/timed_out").is_bool())
    status = Json({"wait", job, "--since", std::to_string(tony::Number(status, "/seq")), "--timeout", "0.5"});
  ExpectJson(status, {{"/state", "RUNNING"}, {"/job", job}});
  EndAll();
}

TEST_F(ContractTest, TheWaitCommandWithTheOptionOwnerReturnsOnceTheJobHasAnotherOwner) {
  const std::string job = StartHolding("first");
  const auto waiting = box_.StartTony({"wait", job, "--owner", "first", "--json"});
  SubmitDetached(HoldUntilGo(), "second", {});
  const Ran ran = Ends(*waiting);
  EXPECT_EQ(Text(ParseJson(ran.out), "/owner"), "second");
  EXPECT_EQ(Text(Json({"wait", job, "--owner", "first"}), "/owner"), "second");
  EndAll();
}

// ---- finding jobs

TEST_F(ContractTest, TheStatusOfSeveralJobsIncludesAnErrorForAnUnknownJob) {
  const std::string job = RunToEnd("true", "first", 0);
  const Ran ran = Fails(66, {"status", "local-unknown", job, "--json"});
  const auto answer = ParseJson(ran.out);
  ExpectJson(answer, {{"/jobs/0/job", "local-unknown"},
                      {"/jobs/0/error/code", 66},
                      {"/jobs/0/error/class", "not_found"},
                      {"/jobs/1/state", "SUCCEEDED"}});
  const Ran text = Fails(66, {"status", "local-unknown", job});
  EXPECT_THAT(text.out, HasSubstr(job));
  EXPECT_EQ(CountLines(text.err), 1u) << text.err;
}

TEST_F(ContractTest, TheFindCommandReturnsTheNewestJobOfARequest) {
  Fails(66, {"find", "--request-id", kRequest});
  Fails(64, {"find"});
  RunToEnd("exit 1", "first", 1);
  const std::string job = Text(Json(One("true") + Under("second", Number(4))), "/job");
  Json(One("true") + Under("third", Number(4)));
  const auto found = Json({"find", "--request-id", kRequest});
  ExpectJson(found, {{"/job", job}, {"/state", "SUCCEEDED"}, {"/submission", 4}, {"/adopter", "third"}});
}

TEST_F(ContractTest, OnlyTheOwnerCanAcknowledgeAnEndedJob) {
  const std::string job = StartHolding("first");
  Fails(65, {"ack", job, "--owner", "first"});
  Fails(64, {"ack", job});
  EndAll();
  EXPECT_EQ(At(Json({"ack", job, "--owner", "other"}), "/acked"), value(false));
  EXPECT_EQ(At(Json({"ack", job, "--owner", "first"}), "/acked"), value(true));
  EXPECT_EQ(At(Json({"ack", job, "--owner", "first"}), "/acked"), value(true)) << "may be repeated";
}

// ---- recovery

class JobWithoutMasterTest : public ContractTest {
 protected:
  // Starts a job and kills its keeper and AM. Its task runs on.
  void SetUp() override {
    job_ = StartHolding("first");
    ASSERT_TRUE(WaitForFile(box_.JobFolder(job_) / "status.json"));
    ASSERT_TRUE(WaitFor([&] {
      // All processes are stopped first, so that neither program restarts the other.
      for (const int signal : {SIGSTOP, SIGKILL}) {
        for (const char* program : {"tony-keeper", "tony-am"}) SignalAll(program, signal);
      }
      return box_.Pids("tony-keeper").empty() && box_.Pids("tony-am").empty();
    }));
    ASSERT_EQ(At(StatusOf(job_), "/unruled"), value(true));
  }
  std::string job_;
};

TEST_F(JobWithoutMasterTest, TheRecoverCommandRestartsTheMaster) {
  const auto answer = Json({"recover"});
  ASSERT_EQ(At(answer, "/jobs").as_array().size(), 1u);
  ExpectJson(answer, {{"/jobs/0/job", job_}, {"/jobs/0/recovery", "brought_back"}});
  EXPECT_EQ(At(StatusOf(job_), "/am_reachable"), value(true));
  EXPECT_EQ(At(Json({"recover"}), "/jobs").as_array().size(), 0u);
  EXPECT_EQ(Text(Json({"recover", job_}), "/jobs/0/recovery"), "none");
  Fails(66, {"recover", "local-unknown"});
  EndAll();
  EXPECT_EQ(StateOf(job_), "SUCCEEDED");
}

TEST_F(JobWithoutMasterTest, ARepeatedSubmitRestartsTheMasterAndAttachesToTheJob) {
  const auto answer = SubmitDetached(HoldUntilGo(), "second", {});
  ExpectJson(answer, {{"/decision", "attached"}, {"/job", job_}});
  EXPECT_EQ(Text(StatusOf(job_), "/owner"), "second");
  EndAll();
}

TEST_F(JobWithoutMasterTest, AKillThatNamesTheOwnerRestartsTheMasterAndEndsTheJob) {
  EXPECT_EQ(At(Json({"kill", job_, "--if-owner", "other"}), "/fenced"), value(true));
  EXPECT_EQ(At(Json({"kill", job_, "--if-owner", "first"}), "/killed"), value(true));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
