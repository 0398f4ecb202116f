// The contract with workflow engines, through the built programs: a request finds its job, nobody ends another's job,
// and nothing is lost between a kill and a submit that pass each other.
#include <csignal>
#include <set>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using boost::json::value;
using testing::HasSubstr;

constexpr const char* kRequest = "airflow://nightly/run 1/train/-1";

class ContractTest : public TonyTest {
 protected:
  static Words Under(const std::string& owner, const Words& more = {}) {
    return Words{"--request-id", kRequest, "--owner", owner} + more;
  }
  static Words Number(int number) { return {"--submission", std::to_string(number)}; }
  static Words Policy(const std::string& policy) { return {"--on-existing", policy}; }

  value Json(const Words& arguments, int exit = 0) {
    const Ran ran = box_.Tony(arguments + Words{"--json"});
    EXPECT_EQ(ran.exit, exit) << ran.err << ran.out;
    EXPECT_EQ(CountLines(ran.out), 1u) << ran.out;
    return ParseJson(ran.out);
  }
  // Submits a job that runs until "go", and waits until it does.
  std::string StartHolding(const std::string& owner, const Words& more = {}) {
    const auto answer = Json(One(HoldUntilGo()) + Under(owner, more) + Words{"--detach"});
    EXPECT_EQ(Text(answer, "/decision"), "created");
    EXPECT_TRUE(WaitForRunning(1));
    return Text(answer, "/job");
  }
  // Submits a job of `command` and waits for its end.
  std::string RunToEnd(const std::string& command, const std::string& owner, int exit) {
    return Text(Json(One(command) + Under(owner), exit), "/job");
  }
  value SubmitDetached(const std::string& command, const std::string& owner, const Words& more) {
    return Json(One(command) + Under(owner, more) + Words{"--detach"});
  }
  value StatusOf(const std::string& job) { return Json({"status", job}); }
  std::string StateOf(const std::string& job) { return Text(StatusOf(job), "/state"); }
  void EndAll() {
    Go();
    for (const std::string& job : box_.Jobs()) box_.Tony({"wait", job});
    ExpectNothingLeft();
  }
};

// ---- the table

TEST_F(ContractTest, ARunningJobIsAttachedToUnderItsNewOwner) {
  const std::string job = StartHolding("first");
  for (const char* policy : {"adopt", "attach"}) {
    const std::string owner = std::string("of-") + policy;
    const auto answer = SubmitDetached(HoldUntilGo(), owner, Policy(policy));
    EXPECT_EQ(Text(answer, "/decision"), "attached");
    EXPECT_EQ(Text(answer, "/job"), job);
    EXPECT_EQ(Text(answer, "/request_id"), kRequest);
    EXPECT_EQ(tony::Number(answer, "/submission"), 0);
    EXPECT_EQ(At(answer, "/spec_differs"), value(false));
    EXPECT_EQ(Text(StatusOf(job), "/owner"), owner);
  }
  EndAll();
}

TEST_F(ContractTest, ADifferentSpecIsAWarning) {
  StartHolding("first");
  const Ran ran = box_.Tony(One("true") + Under("second") + Words{"--detach", "--json"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(At(ParseJson(ran.out), "/spec_differs"), value(true));
  EXPECT_EQ(At(ParseJson(ran.out), "/warnings").as_array().size(), 1u);
  EXPECT_THAT(ran.err, HasSubstr("other command, and keeps them"));
  EndAll();
}

TEST_F(ContractTest, WithNeverARunningJobIsReplaced) {
  const std::string old = StartHolding("first");
  const auto answer = SubmitDetached("true", "second", Policy("never"));
  EXPECT_EQ(Text(answer, "/decision"), "created");
  EXPECT_NE(Text(answer, "/job"), old);
  EXPECT_EQ(StateOf(old), "KILLED");
  EndAll();
}

TEST_F(ContractTest, AHigherNumberReplacesARunningJobThatIsGoneBeforeTheNewOnesTasksStart) {
  const std::string old = StartHolding("first");
  const pid_t task = std::stoi(ReadText(Running("worker-0")));
  const std::string look = "kill -0 " + std::to_string(task) + " 2>/dev/null && echo alive || echo gone";
  const auto answer = Json(One(look) + Under("second", Number(1)));
  EXPECT_EQ(Text(answer, "/decision"), "created");
  EXPECT_EQ(tony::Number(answer, "/submission"), 1);
  EXPECT_EQ(StateOf(old), "KILLED");
  EXPECT_THAT(Text(StatusOf(old), "/verdict/message"), HasSubstr("replaced by submission 1"));
  const auto logs = box_.JobFolder(Text(answer, "/job")) / "logs/worker-0/1/stdout";
  EXPECT_EQ(ReadText(logs), "gone\n");
  ExpectNothingLeft();
}

TEST_F(ContractTest, AfterAFailureOrAKillEveryPolicyCreates) {
  std::set<std::string> jobs = {RunToEnd("exit 3", "first", 1)};
  for (const char* policy : {"adopt", "attach", "never"}) {
    const auto answer = Json(One("exit 3") + Under("again", Policy(policy)), 1);
    EXPECT_EQ(Text(answer, "/decision"), "created") << policy;
    EXPECT_TRUE(jobs.insert(Text(answer, "/job")).second);
  }
  const std::string killed = StartHolding("holder");
  EXPECT_EQ(box_.Tony({"kill", killed}).exit, 0);
  EXPECT_EQ(Text(SubmitDetached("true", "last", {}), "/decision"), "created");
  EndAll();
}

TEST_F(ContractTest, ASuccessIsAdoptedAcknowledgedOrNotAndCreatesOtherwise) {
  const std::string job = RunToEnd("true", "first", 0);
  const auto adopted = Json(One("true") + Under("second"));
  EXPECT_EQ(Text(adopted, "/decision"), "adopted");
  EXPECT_EQ(Text(adopted, "/job"), job);
  EXPECT_EQ(Text(adopted, "/verdict/state"), "SUCCEEDED");
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

TEST_F(ContractTest, AnAdoptedResultWithoutJsonIsTheVerdictAtOnce) {
  const std::string job = RunToEnd("true", "first", 0);
  const Ran ran = box_.Tony(One("true") + Under("second"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::StartsWith(job + "\n"));
  EXPECT_THAT(ran.out, HasSubstr("SUCCEEDED"));
}

TEST_F(ContractTest, ALowerNumberThanTheNewestIsRefused) {
  EXPECT_EQ(Text(Json(One("true") + Under("first", Number(2))), "/decision"), "created");
  const Ran ran = box_.Tony(One("true") + Under("zombie", Number(1)));
  EXPECT_EQ(ran.exit, 77);
  EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("newer than 1"));
  EXPECT_EQ(box_.Jobs().size(), 1u);
}

// ---- races

TEST_F(ContractTest, TwentySubmitsOfOneRequestAtOnceMakeOneJob) {
  std::vector<std::unique_ptr<Background>> submits;
  for (int i = 0; i < 20; ++i)
    submits.push_back(box_.StartTony(One(HoldUntilGo()) + Under("owner-" + std::to_string(i)) + Words{"--detach"}));
  std::set<std::string> answers;
  for (const auto& submit : submits) {
    const Ran ran = submit->Wait();
    EXPECT_EQ(ran.exit, 0) << ran.err;
    answers.insert(ran.out);
  }
  EXPECT_EQ(answers, std::set<std::string>{Job() + "\n"});
  ASSERT_TRUE(WaitForRunning(1));
  EndAll();
}

TEST_F(ContractTest, AKillBeforeTheJobExistsRefusesTheLateSubmitOfThatOwnerAlone) {
  const auto killed = Json({"kill", "--request-id", kRequest, "--if-owner", "late"});
  EXPECT_TRUE(At(killed, "/job").is_null());
  EXPECT_EQ(At(killed, "/remembered"), value(true));
  EXPECT_EQ(At(killed, "/killed"), value(false));
  const Ran refused = box_.Tony(One("true") + Under("late"));
  EXPECT_EQ(refused.exit, 77);
  EXPECT_EQ(CountLines(refused.err), 1u) << refused.err;
  EXPECT_TRUE(box_.Jobs().empty());
  EXPECT_EQ(box_.Tony(One("true") + Under("other")).exit, 0);
  EXPECT_EQ(box_.Tony({"kill", "--request-id", "unheard of"}).exit, 66);
}

TEST_F(ContractTest, AKilledSubmitLeavesNothingOrAJobThatTheRequestFinds) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    const auto submit = box_.StartTony(One("true") + Under("first"));
    submit->Signal(signal);
    submit->Wait();
    const auto jobs = box_.Jobs();
    if (jobs.empty()) {
      EXPECT_EQ(box_.Tony({"find", "--request-id", kRequest}).exit, 66);
    } else {
      EXPECT_EQ(Text(Json({"find", "--request-id", kRequest}), "/job"), jobs.front());
    }
  }
  EXPECT_EQ(box_.Tony(One("true") + Under("second")).exit, 0);
  ExpectNothingLeft();
}

TEST_F(ContractTest, CtrlCKillsTheJobOnlyOfAClientThatStillOwnsIt) {
  const auto first = box_.StartTony(One(HoldUntilGo()) + Under("first"));
  ASSERT_TRUE(WaitForRunning(1));
  EXPECT_EQ(Text(SubmitDetached(HoldUntilGo(), "second", {}), "/decision"), "attached");
  first->Signal(SIGTERM);
  EXPECT_EQ(first->Wait().exit, 143) << first->err();
  EXPECT_EQ(StateOf(Job()), "RUNNING");
  const auto third = box_.StartTony(One(HoldUntilGo()) + Under("third"));
  ASSERT_TRUE(WaitFor([&] { return Text(StatusOf(Job()), "/owner") == "third"; }));
  ASSERT_TRUE(WaitFor([&] { return third->err().find("job running") != std::string::npos; })) << third->err();
  third->Signal(SIGTERM);
  EXPECT_EQ(third->Wait().exit, 143);
  EXPECT_EQ(StateOf(Job()), "KILLED");
  ExpectNothingLeft();
}

// ---- kill

TEST_F(ContractTest, ALateKillByAnOldOwnerDoesNothing) {
  const std::string job = StartHolding("first");
  SubmitDetached(HoldUntilGo(), "second", {});
  for (const Words& which : {Words{job}, Words{"--request-id", kRequest}}) {
    const auto late = Json(Words{"kill"} + which + Words{"--if-owner", "first"});
    EXPECT_EQ(At(late, "/killed"), value(false));
    EXPECT_EQ(At(late, "/fenced"), value(true));
  }
  EXPECT_EQ(StateOf(job), "RUNNING");
  const auto killed = Json({"kill", "--request-id", kRequest, "--if-owner", "second", "--reason", "cleared"});
  EXPECT_EQ(At(killed, "/killed"), value(true));
  EXPECT_EQ(Text(killed, "/verdict/message"), "cleared");
  ExpectNothingLeft();
  EXPECT_EQ(At(Json({"kill", job}), "/killed"), value(true)) << "may be repeated";
  EXPECT_EQ(At(Json({"kill", job, "--if-owner", "first"}), "/killed"), value(false));
}

TEST_F(ContractTest, AKillOfAJobThatHasSucceededKillsNothing) {
  const std::string job = RunToEnd("true", "first", 0);
  EXPECT_EQ(At(Json({"kill", job, "--if-owner", "first"}), "/killed"), value(false));
}

TEST_F(ContractTest, AKillWithoutWaitingIsRecordedAlsoWhereNobodyRules) {
  const std::string job = StartHolding("first");
  const auto killed = Json({"kill", job, "--if-owner", "first", "--no-wait"});
  EXPECT_EQ(At(killed, "/killed"), value(true));
  EXPECT_EQ(box_.Tony({"wait", job}).exit, 1);
  EXPECT_EQ(StateOf(job), "KILLED");
}

TEST_F(ContractTest, ADelayedKillIsVoidWhenAnotherWatcherLooks) {
  const std::string job = StartHolding("first");
  Json({"wait", job, "--since", "0", "--watcher", "stalled"});
  const auto planned =
      Json({"kill", job, "--if-owner", "first", "--if-watcher", "stalled", "--delay", "20", "--reason", "cancelled"});
  EXPECT_EQ(At(planned, "/planned"), value(true));
  EXPECT_EQ(At(planned, "/killed"), value(false));
  EXPECT_EQ(Text(StatusOf(job), "/planned_kill/reason"), "cancelled");
  Json({"wait", job, "--since", "0", "--watcher", "next"});
  EXPECT_TRUE(At(StatusOf(job), "/planned_kill").is_null());
  const auto late = Json({"kill", job, "--if-watcher", "stalled", "--delay", "20"});
  EXPECT_EQ(At(late, "/fenced"), value(true));
  EXPECT_EQ(StateOf(job), "RUNNING");
  EndAll();
  EXPECT_EQ(StateOf(job), "SUCCEEDED");
}

TEST_F(ContractTest, ADelayedKillIsDoneWhenNobodyElseLooks) {
  const std::string job = StartHolding("first");
  Json({"wait", job, "--since", "0", "--watcher", "only"});
  const auto planned = Json({"kill", job, "--if-watcher", "only", "--delay", "0.5", "--reason", "cancelled"});
  EXPECT_EQ(At(planned, "/fenced"), value(false));
  EXPECT_EQ(Text(Json({"wait", job}, 1), "/verdict/message"), "cancelled");
  ExpectNothingLeft();
}

// ---- watching

TEST_F(ContractTest, AJobThatNobodyLooksAtIsAbandoned) {
  const std::string job = Text(SubmitDetached(HoldUntilGo(), "first", {"--watch-timeout", "1"}), "/job");
  // Only its files are read, which is no look.
  ASSERT_TRUE(WaitFor(
      [&] { return ReadText(box_.JobFolder(job) / "status.json").find("\"abandoned\"") != std::string::npos; }));
  EXPECT_EQ(Text(Json({"wait", job}, 1), "/verdict/class"), "abandoned");
  ExpectNothingLeft();
}

TEST_F(ContractTest, AWaitingClientKeepsItsJobAlive) {
  const auto client = box_.StartTony(One(HoldUntilGo()) + Under("first", {"--watch-timeout", "1"}));
  ASSERT_TRUE(WaitForRunning(1));
  const Ran ran = box_.Tony({"wait", Job(), "--timeout", "3"});
  EXPECT_EQ(ran.exit, 69);
  Go();
  EXPECT_EQ(client->Wait().exit, 0) << client->err();
}

TEST_F(ContractTest, WaitSinceEndsAtItsTimeoutWithTheCurrentDocument) {
  const std::string job = StartHolding("first");
  value status = Json({"wait", job, "--since", "0"});
  while (!At(status, "/timed_out").is_bool())
    status = Json({"wait", job, "--since", std::to_string(tony::Number(status, "/seq")), "--timeout", "0.5"});
  EXPECT_EQ(Text(status, "/state"), "RUNNING");
  EXPECT_EQ(Text(status, "/job"), job);
  EndAll();
}

TEST_F(ContractTest, AWaitOfAFormerOwnerReturnsAtOnce) {
  const std::string job = StartHolding("first");
  const auto waiting = box_.StartTony({"wait", job, "--owner", "first", "--json"});
  SubmitDetached(HoldUntilGo(), "second", {});
  const Ran ran = waiting->Wait();
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(Text(ParseJson(ran.out), "/owner"), "second");
  EXPECT_EQ(Text(Json({"wait", job, "--owner", "first"}), "/owner"), "second");
  EndAll();
}

// ---- finding

TEST_F(ContractTest, OneUnknownJobAmongManyHidesNoneOfTheOthers) {
  const std::string job = RunToEnd("true", "first", 0);
  const Ran ran = box_.Tony({"status", "local-unknown", job, "--json"});
  EXPECT_EQ(ran.exit, 66);
  const auto answer = ParseJson(ran.out);
  EXPECT_EQ(Text(answer, "/jobs/0/job"), "local-unknown");
  EXPECT_EQ(tony::Number(answer, "/jobs/0/error/code"), 66);
  EXPECT_EQ(Text(answer, "/jobs/0/error/class"), "not_found");
  EXPECT_EQ(Text(answer, "/jobs/1/state"), "SUCCEEDED");
  const Ran text = box_.Tony({"status", "local-unknown", job});
  EXPECT_EQ(text.exit, 66);
  EXPECT_THAT(text.out, HasSubstr(job));
  EXPECT_EQ(CountLines(text.err), 1u) << text.err;
}

TEST_F(ContractTest, FindNamesTheNewestJobOfARequest) {
  EXPECT_EQ(box_.Tony({"find", "--request-id", kRequest}).exit, 66);
  EXPECT_EQ(box_.Tony({"find"}).exit, 64);
  RunToEnd("exit 1", "first", 1);
  const std::string job = Text(Json(One("true") + Under("second", Number(4))), "/job");
  Json(One("true") + Under("third", Number(4)));
  const auto found = Json({"find", "--request-id", kRequest});
  EXPECT_EQ(Text(found, "/job"), job);
  EXPECT_EQ(Text(found, "/state"), "SUCCEEDED");
  EXPECT_EQ(tony::Number(found, "/submission"), 4);
  EXPECT_EQ(Text(found, "/adopter"), "third");
}

TEST_F(ContractTest, AckIsForAnEndedJobAndItsOwner) {
  const std::string job = StartHolding("first");
  EXPECT_EQ(box_.Tony({"ack", job, "--owner", "first"}).exit, 65);
  EXPECT_EQ(box_.Tony({"ack", job}).exit, 64);
  EndAll();
  EXPECT_EQ(At(Json({"ack", job, "--owner", "other"}), "/acked"), value(false));
  EXPECT_EQ(At(Json({"ack", job, "--owner", "first"}), "/acked"), value(true));
  EXPECT_EQ(At(Json({"ack", job, "--owner", "first"}), "/acked"), value(true)) << "may be repeated";
}

// ---- recovery

class UnruledTest : public ContractTest {
 protected:
  // A job whose task runs, and whose keeper and AM do not.
  void SetUp() override {
    job_ = StartHolding("first");
    ASSERT_TRUE(WaitForFile(box_.JobFolder(job_) / "status.json"));
    ASSERT_TRUE(WaitFor([&] {
      for (const int signal : {SIGSTOP, SIGKILL}) {  // so that none brings the other back
        for (const char* program : {"tony-keeper", "tony-am"})
          for (const pid_t pid : box_.Pids(program)) kill(pid, signal);
      }
      return box_.Pids("tony-keeper").empty() && box_.Pids("tony-am").empty();
    }));
    ASSERT_EQ(At(StatusOf(job_), "/unruled"), value(true));
  }
  std::string job_;
};

TEST_F(UnruledTest, RecoverBringsItBack) {
  const auto answer = Json({"recover"});
  ASSERT_EQ(At(answer, "/jobs").as_array().size(), 1u);
  EXPECT_EQ(Text(answer, "/jobs/0/job"), job_);
  EXPECT_EQ(Text(answer, "/jobs/0/recovery"), "brought_back");
  EXPECT_EQ(At(StatusOf(job_), "/am_reachable"), value(true));
  EXPECT_EQ(At(Json({"recover"}), "/jobs").as_array().size(), 0u);
  EXPECT_EQ(Text(Json({"recover", job_}), "/jobs/0/recovery"), "none");
  EXPECT_EQ(box_.Tony({"recover", "local-unknown"}).exit, 66);
  EndAll();
  EXPECT_EQ(StateOf(job_), "SUCCEEDED");
}

TEST_F(UnruledTest, ASubmitUnderItsRequestBringsItBackAndAttaches) {
  const auto answer = SubmitDetached(HoldUntilGo(), "second", {});
  EXPECT_EQ(Text(answer, "/decision"), "attached");
  EXPECT_EQ(Text(answer, "/job"), job_);
  EXPECT_EQ(Text(StatusOf(job_), "/owner"), "second");
  EndAll();
}

TEST_F(UnruledTest, AConditionalKillBringsItBackAndEndsIt) {
  EXPECT_EQ(At(Json({"kill", job_, "--if-owner", "other"}), "/fenced"), value(true));
  EXPECT_EQ(At(Json({"kill", job_, "--if-owner", "first"}), "/killed"), value(true));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
