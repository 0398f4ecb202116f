// What `status`, `list` and `wait` tell, as documents.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class StatusTest : public TonyTest {
 protected:
};

TEST_F(StatusTest, OfARunningJobItTellsEachTaskAndItsProcess) {
  const auto client = Hold(Workers(2, HoldUntilGo()), 2);
  // The client has heard of both, and of nothing else to come.
  ASSERT_TRUE(WaitFor([&] {
    const std::string err = client->err();
    return err.find("worker:0 running") != std::string::npos && err.find("worker:1 running") != std::string::npos &&
           err.find("job running") != std::string::npos;
  })) << client->err();
  const auto status = Json({"status", Job()});
  ExpectJson(status, {{"/state", "RUNNING"}, {"/am_reachable", true}, {"/tasks/1/attempt_state", "running"}});
  EXPECT_EQ(Number(status, "/tasks/0/pid"), std::stoi(ReadText(Running("worker-0"))));
  EXPECT_THAT(client->err(),
              HasSubstr("worker:0 running on 127.0.0.1 (pid " + std::to_string(Number(status, "/tasks/0/pid")) + ")"));
  const Ran text = box_.Tony({"status", Job()});
  EXPECT_THAT(text.out, HasSubstr("worker:1"));
  GoAndEnd(*client);
}

TEST_F(StatusTest, OfAnEndedJobItNeedsNoProcess) {
  Fails(1, One("echo oops >&2; exit 9"));
  ExpectNothingLeft();
  const auto status = Json({"status", Job()});
  ExpectJson(status, {{"/state", "FAILED"}, {"/verdict/exit_code", 9}});
  EXPECT_TRUE(At(status, "/verdict/retryable").is_bool());
  EXPECT_THAT(box_.Tony({"status", Job()}).out, HasSubstr("oops"));
}

TEST_F(StatusTest, ListShowsTheNewestFirst) {
  EXPECT_EQ(Json({"list"}).as_object().at("jobs").as_array().size(), 0u);
  Succeeds(One("true", {"tony.application.name=first"}));
  Fails(1, One("false", {"tony.application.name=second"}));
  const auto list = Json({"list"});
  ASSERT_EQ(At(list, "/jobs").as_array().size(), 2u);
  std::vector<std::string> names = {Text(list, "/jobs/0/name"), Text(list, "/jobs/1/name")};
  EXPECT_THAT(names, testing::UnorderedElementsAre("first", "second"));  // ids of one second sort by chance
  const Ran text = box_.Tony({"list"});
  EXPECT_THAT(text.out, HasAll({"SUCCEEDED", "FAILED"}));
  const auto jobs = box_.Jobs();
  EXPECT_EQ(At(Json({"status", jobs[0], jobs[1]}), "/jobs").as_array().size(), 2u);
}

TEST_F(StatusTest, WaitReturnsTheFinalDocumentAndTheJobsExitCode) {
  Succeeds(One("exit 2") + Words{"--detach"});
  const auto status = Json({"wait", Job()}, 1);
  EXPECT_EQ(Text(status, "/verdict/state"), "FAILED");
  EXPECT_EQ(Text(Json({"wait", Job()}, 1), "/verdict/state"), "FAILED") << "waiting for an ended job returns at once";
  ExpectNothingLeft();
}

TEST_F(StatusTest, WaitSinceReturnsAtTheNextChange) {
  HoldDetached(One(HoldUntilGo()));
  // The job comes to rest in the state in which every task runs.
  auto status = Json({"wait", Job(), "--since", "0"});
  while (Text(status, "/tasks/0/attempt_state") != "running")
    status = Json({"wait", Job(), "--since", std::to_string(Number(status, "/seq"))});
  const std::string seq = std::to_string(Number(status, "/seq"));
  const auto wait = box_.StartTony({"wait", Job(), "--since", seq, "--json"});
  Go();
  const Ran ran = wait->Wait();
  EXPECT_GT(Number(ParseJson(ran.out), "/seq"), std::stoll(seq)) << ran.err;
  Succeeds({"wait", Job()});
}

TEST_F(StatusTest, WaitGivesUpAfterItsTimeout) {
  HoldDetached(One(HoldUntilGo()));
  const Ran ran = Fails(69, {"wait", Job(), "--timeout", "0.3", "--json"});
  EXPECT_EQ(Text(ParseJson(ran.out), "/job"), Job()) << "the document is printed all the same";
  Go();
  Succeeds({"wait", Job()});
}

TEST_F(StatusTest, WaitFollowPrintsOneDocumentAChange) {
  Succeeds(One("true") + Words{"--detach"});
  const Ran ran = Succeeds({"wait", Job(), "--follow", "--json"});
  std::string last;
  int64_t seq = -1;
  for (size_t at = 0; at < ran.out.size(); at = ran.out.find('\n', at) + 1) {
    last = ran.out.substr(at, ran.out.find('\n', at) - at);
    const int64_t next = Number(ParseJson(last), "/seq");
    EXPECT_GE(next, seq);
    seq = next;
  }
  EXPECT_EQ(Text(ParseJson(last), "/verdict/state"), "SUCCEEDED");
}

TEST_F(StatusTest, AJobOfAnotherMachineIsNamedAsSuch) {
  HoldDetached(One(HoldUntilGo()));
  const auto submission = box_.JobFolder(Job()) / "submission.json";
  const std::string ours = ReadText(submission);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string theirs = ours;
  theirs.replace(theirs.find(host), std::string(host).size(), "elsewhere.example");
  fs::remove(submission);
  box_.Write("home/jobs/" + Job() + "/submission.json", theirs);
  const Ran ran = FailsInALine(69, {"status", Job()});
  EXPECT_THAT(ran.err, HasSubstr("elsewhere.example"));
  box_.Write("home/jobs/" + Job() + "/submission.json", ours);
  Go();
  Succeeds({"wait", Job()});
}

}  // namespace
}  // namespace tony
