// The verbs `status`, `list` and `wait`, also for jobs without an application master and for jobs that cannot be read.
#include "tests/e2e/script.h"

namespace tony {
namespace {

const TestRow kStatus[] = {
    // The client has to report both tasks before the status is compared.
    {"TheStatusOfARunningJobShowsEachTaskWithItsProcess",
     {{"& workers 2 `%H`", ""},
      {"running 2", ""},
      {"says 0 `worker:0 running on 127.0.0.1 (pid `", ""},
      {"says 0 `worker:1 running`", ""},
      {"says 0 `job running`", ""},
      {"status %J --json", "/state=RUNNING && /am_reachable=true && /tasks/1/attempt_state=running && /tasks/0/pid=%P"},
      {"says 0 `worker:0 running on 127.0.0.1 (pid %P)`", ""},
      {"status %J", "out~worker:1"},
      {"go", ""},
      {"end", ""}}},
    {"TheStatusOfAFailedJobShowsTheExitCodeAndTheErrorOutputOfTheTask",
     {{"one `echo oops >&2; exit 9`", "1 && verdict=user_error"},
      {"status %J --json", "/state=FAILED && /verdict/exit_code=9 && /verdict/retryable~e"},
      {"status %J", "out~oops"}}},
    // Ids of the same second sort at random.
    {"TheListCommandShowsAllEndedJobsWithTheirStates",
     {{"list --json", "/jobs=[]"},
      {"& one true tony.application.name=first", ""},
      {"end", ""},
      {"& one false tony.application.name=second", ""},
      {"end", "1"},
      {"list --json", "/jobs/2=null && ~\"name\":\"first\" && ~\"name\":\"second\""},
      {"list", "out~SUCCEEDED && out~FAILED"},
      {"status %0 %1 --json", "/jobs/0/job=%0 && /jobs/1/job=%1"}}},
    {"TheWaitCommandReturnsTheFinalStatusAndTheJobsExitCode",
     {{"one `exit 2` --detach", ""},
      {"wait %J --json", "1 && /verdict/state=FAILED"},
      // The second wait returns at once, because the job has ended.
      {"wait %J --json", "1 && /verdict/state=FAILED"},
      {"left", ""}}},
    // The status document is printed after a timeout, too.
    {"TheWaitCommandReturnsTheStatusAndExitCode69AtItsTimeout",
     {{"one `%H` --detach", ""},
      {"running 1", ""},
      {"wait %J --timeout 0.3 --json", "69 && /job=%J"},
      {"go", ""},
      {"wait %J", ""}}},
};
TABLE_TEST(StatusTest, kStatus, RunScript);

const TestRow kList[] = {
    {"TheListCommandMarksAJobThatHasNoMasterAndSuggestsTheWaitCommand",
     {{"one `%H` --detach", ""},
      {"running 1", ""},
      {"list", "out!unruled"},
      {"list --json", "out~\"unruled\":false"},
      {"killed", ""},
      {"list", "out~%J  unruled && out~no application master is running; tony wait %J starts one\n"},
      {"list --json", "out~\"unruled\":true"},
      {"go", ""},
      {"wait %J", ""}}},
    {"TheListCommandReportsAJobWithADamagedStatusAndStillShowsOtherJobs",
     {{"& one true", ""},
      {"end", ""},
      {"one true", ""},
      {"remove home/jobs/%0/status.json", ""},
      {"write home/jobs/%0/status.json {", ""},
      {"list", "65 && outlines=2 && lines=2 && err~tony: 1 of 2 jobs could not be read\n"}}},
    {"TheWaitCommandReadsTheFilesOfTheJobIfTheTokenIsMissing",
     {{"one `%H` --detach", ""},
      {"running 1", ""},
      {"remove home/jobs/%J/token", ""},
      {"& wait %J", ""},
      {"says 0 `this command reads the job's files instead`", ""},
      {"go", ""},
      {"end", "err~token: no such file or directory; this command reads the job's files instead\n"}}},
};
TABLE_TEST(ListTest, kList, RunScript);

class AnswerTest : public TonyTest {};

TEST_F(AnswerTest, TheWaitCommandWithTheOptionSinceReturnsAtTheNextStatusChange) {
  HoldDetached(One(HoldUntilGo()));
  // The status does not change any more once every task runs.
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

TEST_F(AnswerTest, TheWaitCommandWithFollowPrintsAStatusDocumentForEachChange) {
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

TEST_F(AnswerTest, TheStatusErrorForAJobOnAnotherMachineNamesTheMachine) {
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

TEST_F(AnswerTest, AQueryFailsAndASubmitSucceedsIfStandardOutputIsUnwritable) {
  const auto shell = [&](const std::string& words) {
    const std::string line = ProgramFolder() + "/tony " + words;
    return Background({"/bin/bash", "-c", line}, box_.Environment(), box_.folder()).Wait();
  };
  for (const std::string answer : {"list", "list --json", "history", "version", "help"}) {
    const Ran lost = shell(answer + " >/dev/full");
    EXPECT_EQ(lost.exit, 73) << answer;
    EXPECT_EQ(lost.err, "tony: cannot write to standard output: no space left on device\n") << answer;
  }
  for (const std::string answer : {"version >&-", "list <&- >&-"}) EXPECT_EQ(shell(answer).exit, 73) << answer;
  const Ran job = shell("submit -executes true -conf tony.worker.instances=1 -conf tony.worker.memory=16m >/dev/full");
  EXPECT_EQ(job.exit, 0);
  EXPECT_THAT(job.err, HasSubstr("tony: cannot write to standard output: no space left on device\n"));
  EXPECT_EQ(shell("outputs " + Job() + " >/dev/full").exit, 73);
}

TEST_F(AnswerTest, TheListCommandReportsADiskErrorInsteadOfAnEmptyList) {
  Succeeds(One("true"));
  fs::create_directory(box_.File("shim"));
  const Sandbox::Variables broken = WithShim("crash_shim", {{"SHIM_FOLDER", box_.File("shim")},
                                                            {"SHIM_PROGRAM", "tony"},
                                                            {"SHIM_ROOT", box_.home().string()},
                                                            {"SHIM_UNREADABLE", "1"}});
  const Ran list = Fails(69, {"list"}, broken);
  EXPECT_THAT(list.out, IsEmpty());
  EXPECT_THAT(list.err, HasAll({"tony: job " + Job() + " is not listed: ", "input/output error\n",
                                "tony: 1 of 1 jobs could not be read\n"}));
  const Ran json = Fails(69, {"list", "--json"}, broken);
  EXPECT_THAT(json.out, HasAll({R"("jobs":[])", R"("error":{"code":69)"}));
}

}  // namespace
}  // namespace tony
