// What the chief leaves in $TONY_OUTPUT_FILE, and what `tony outputs` makes of it afterwards.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class OutputsTest : public TonyTest {
 protected:
  // A job of one task that leaves what `command` does, and succeeds all the same.
  Ran Leave(const std::string& command) {
    const Ran ran = Succeeds(One(command));
    ExpectNothingLeft();
    return ran;
  }
  json::value Outputs() {
    const Ran ran = Succeeds({"outputs", Job(), "--json"});
    EXPECT_EQ(CountLines(ran.out), 1u) << ran.out;
    return ParseJson(ran.out);
  }
  // They cannot be had, for the reason `why`; the job itself has succeeded, and says so.
  void ExpectRefused(const Ran& job, const std::string& why) {
    EXPECT_THAT(job.out, HasSubstr(why));
    const Ran ran = FailsInALine(65, {"outputs", Job(), "--json"});
    EXPECT_THAT(ran.err, HasAll({"worker:0#1", "logs/worker-0/1/output.json", why, "expected one JSON object"}));
    EXPECT_EQ(Text(ParseJson(ran.out), "/error/class"), "spec_invalid");
    const auto status = Status();
    EXPECT_EQ(Text(status, "/state"), "SUCCEEDED");
    EXPECT_THAT(Text(status, "/outputs_problem"), HasSubstr(why));
  }
};

TEST_F(OutputsTest, TheObjectOfTheChiefIsThereWhenAllHasExited) {
  const Ran ran = Succeeds(
      Workers(2, R"(test $TASK_INDEX = 1 || printf '{"model": "/m/7",\n "loss": 0.10}\n' > $TONY_OUTPUT_FILE)"));
  EXPECT_THAT(ran.out, Not(HasSubstr("outputs")));
  ExpectNothingLeft();
  const auto outputs = Outputs();
  ExpectJson(outputs, {{"/schema", 1}, {"/job", Job()}, {"/task", "worker:0"}, {"/outputs/model", "/m/7"}});
  EXPECT_EQ(box_.Tony({"outputs", Job()}).out, "{\n  \"model\": \"/m/7\",\n  \"loss\": 0.10\n}\n");
}

TEST_F(OutputsTest, TheJobsRecordServesWhereTheChiefsFolderIsGoneAndTheFolderWhereTheRecordIsDamaged) {
  Leave(R"(printf '{"a":1}' > $TONY_OUTPUT_FILE)");
  const fs::path folder = box_.JobFolder(Job()), copy = folder / "logs/worker-0/1/output.json";
  fs::rename(copy, folder / "aside");
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
  fs::rename(folder / "aside", copy);
  fs::remove(folder / "outputs");
  ASSERT_EQ(mkfifo((folder / "outputs").c_str(), 0600), 0);
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
}

TEST_F(OutputsTest, NothingWrittenIsNoMistake) {
  Leave("true");
  EXPECT_EQ(At(Outputs(), "/outputs"), value(json::object()));
  EXPECT_EQ(box_.Tony({"outputs", Job()}).out, "{}\n");
}

TEST_F(OutputsTest, WhatCameWithTheSourcesIsNotAnOutput) {
  fs::create_directory(box_.File("src"));
  box_.Write("src/tony-output.json", "{\"old\":1}");
  Succeeds(One("true") + Words{"-src_dir", "src"});
  EXPECT_EQ(At(Outputs(), "/outputs"), value(json::object()));
}

TEST_F(OutputsTest, BrokenJsonIsNamedWithItsPlace) {
  ExpectRefused(Leave(R"(printf '{"loss":\n 0.1.2}' > $TONY_OUTPUT_FILE)"), "line 2, offset 13: expected , or }");
}

TEST_F(OutputsTest, OneBadValueCostsOnlyItselfAndIsNamedEverywhere) {
  const Ran job = Leave(R"(printf '{"loss":NaN,"big":1e400,"a":1,"a":2,"model.path":"/m"}' > $TONY_OUTPUT_FILE)");
  const auto outputs = Outputs();
  EXPECT_EQ(json::serialize(At(outputs, "/outputs")), R"({"loss":"NaN","model.path":"/m"})");
  ExpectJson(outputs, {{"/problems/0/name", "loss"},
                       {"/problems/0/left_out", false},
                       {"/problems/1/name", "big"},
                       {"/problems/2/name", "a"}});
  const std::string told = ReadText(box_.JobFolder(Job()) / "logs/worker-0/1/executor.log");
  const auto status = Status();
  const Ran text = Succeeds({"outputs", Job()});
  for (const std::string& place : {job.out, told, Text(status, "/outputs_problem"), text.err}) {
    EXPECT_THAT(place, HasAll({R"("loss" is passed on as text (line 1, offset 8: NaN is no JSON number))",
                               R"("big" is left out (line 1, offset 18: a number out of range))",
                               R"("a" is left out (line 1, offset 30: the name is there twice))"}));
  }
}

TEST_F(OutputsTest, AJobWithoutRolesLeavesOutputsToo) {
  Succeeds({"submit", "-executes", R"(printf '{"a":1}' > $TONY_OUTPUT_FILE)"});
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
}

TEST_F(OutputsTest, OfAFileThatIsTooLongWhatFitsIsKept) {
  Leave(
      R"((printf '{"model.path":"/m","big":"'; head -c 2000000 /dev/zero | tr '\0' x; printf '"}') > $TONY_OUTPUT_FILE)");
  const auto outputs = Outputs();
  EXPECT_EQ(json::serialize(At(outputs, "/outputs")), R"({"model.path":"/m"})");
  EXPECT_EQ(Text(outputs, "/problems/0/name"), "big");
}

TEST_F(OutputsTest, AnythingButAnObjectIsRefused) {
  ExpectRefused(Leave("echo 42 > $TONY_OUTPUT_FILE"), "line 1, offset 0: no JSON object begins here");
}

TEST_F(OutputsTest, OfAFileThatIsTooLargeOnlyItsSizeIsKept) {
  ExpectRefused(Leave("truncate -s 3G $TONY_OUTPUT_FILE"), "it has 3221225472 bytes, and at most 1048576 are kept");
  EXPECT_FALSE(fs::exists(box_.JobFolder(Job()) / "logs/worker-0/1/output.json"));
}

TEST_F(OutputsTest, APipeInItsPlaceHoldsNobodyUp) {
  ExpectRefused(Leave("mkfifo $TONY_OUTPUT_FILE"), "it is no regular file");
}

TEST_F(OutputsTest, ALinkInItsPlaceShowsNobodyAnotherFile) {
  ExpectRefused(Leave("ln -s /etc/passwd $TONY_OUTPUT_FILE"), "it is a symbolic link");
}

TEST_F(OutputsTest, OfAChiefThatWasStartedAgainTheAttemptThatSucceededCounts) {
  const std::string twice = R"(printf '{"attempt":%s}' $TONY_ATTEMPT > $TONY_OUTPUT_FILE; test $TONY_ATTEMPT = 2)";
  Succeeds(One(twice, {"tony.restart.task.budget=1"}));
  EXPECT_EQ(Number(Outputs(), "/outputs/attempt"), 2);
}

TEST_F(OutputsTest, AFailedChiefHasNone) {
  Fails(1, One("echo '{\"a\":1}' > $TONY_OUTPUT_FILE; exit 3"));
  const auto outputs = Outputs();
  EXPECT_EQ(At(outputs, "/outputs"), value(json::object()));
  EXPECT_TRUE(At(outputs, "/task").is_null());
}

TEST_F(OutputsTest, TheyOutliveAnApplicationMasterThatDiesBetweenTheChiefsEndAndTheJobs) {
  const auto client = Hold(One(HoldUntilGo() + "; echo '{\"a\":1}' > $TONY_OUTPUT_FILE"));
  // The keeper cannot start a new one while it is stopped itself.
  const auto keeper = box_.Pids("tony-keeper"), master = box_.Pids("tony-am");
  ASSERT_EQ(keeper.size(), 1u);
  ASSERT_EQ(master.size(), 1u);
  kill(keeper.front(), SIGSTOP);
  kill(master.front(), SIGKILL);
  Go();
  const auto logs = box_.JobFolder(Job()) / "logs/worker-0/1";
  EXPECT_TRUE(WaitForFile(logs / "outcome.json"));
  EXPECT_EQ(ReadText(logs / "output.json"), "{\"a\":1}\n") << "before the outcome";
  EXPECT_EQ(box_.Tony({"outputs", Job()}).exit, 69) << "nobody has judged the job yet";
  kill(keeper.front(), SIGCONT);
  Ends(*client);
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
}

TEST_F(OutputsTest, AJobThatHasNotEndedHasNoneYet) {
  const auto client = Hold(One(HoldUntilGo()));
  const Ran ran = FailsInALine(69, {"outputs", Job()});
  EXPECT_THAT(ran.err, HasSubstr("has not ended (RUNNING)"));
  GoAndEnd(*client);
  Fails(66, {"outputs", "no-such-job"});
}

}  // namespace
}  // namespace tony
