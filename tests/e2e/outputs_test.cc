// What the chief leaves in $TONY_OUTPUT_FILE, and what `tony outputs` makes of it afterwards.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

class OutputsTest : public TonyTest {
 protected:
  // A job of one task that leaves what `command` does, and succeeds all the same.
  Ran Leave(const std::string& command) {
    const Ran ran = box_.Tony(One(command));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    ExpectNothingLeft();
    return ran;
  }
  boost::json::value Outputs() {
    const Ran ran = box_.Tony({"outputs", Job(), "--json"});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(CountLines(ran.out), 1u) << ran.out;
    return ParseJson(ran.out);
  }
  // They cannot be had, for the reason `why`; the job itself has succeeded, and says so.
  void ExpectRefused(const Ran& job, const std::string& why) {
    EXPECT_THAT(job.out, HasSubstr(why));
    const Ran ran = box_.Tony({"outputs", Job(), "--json"});
    EXPECT_EQ(ran.exit, 65);
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("worker:0#1"));
    EXPECT_THAT(ran.err, HasSubstr("logs/worker-0/1/output.json"));
    EXPECT_THAT(ran.err, HasSubstr(why));
    EXPECT_THAT(ran.err, HasSubstr("expected one JSON object"));
    EXPECT_EQ(Text(ParseJson(ran.out), "/error/class"), "spec_invalid");
    const auto status = ParseJson(box_.Tony({"status", Job(), "--json"}).out);
    EXPECT_EQ(Text(status, "/state"), "SUCCEEDED");
    EXPECT_THAT(Text(status, "/outputs_problem"), HasSubstr(why));
  }
};

TEST_F(OutputsTest, TheObjectOfTheChiefIsThereWhenAllHasExited) {
  const Ran ran = box_.Tony(
      Workers(2, R"(test $TASK_INDEX = 1 || printf '{"model": "/m/7",\n "loss": 0.10}\n' > $TONY_OUTPUT_FILE)"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("outputs")));
  ExpectNothingLeft();
  const auto outputs = Outputs();
  EXPECT_EQ(Number(outputs, "/schema"), 1);
  EXPECT_EQ(Text(outputs, "/job"), Job());
  EXPECT_EQ(Text(outputs, "/task"), "worker:0");
  EXPECT_EQ(Text(outputs, "/outputs/model"), "/m/7");
  EXPECT_EQ(box_.Tony({"outputs", Job()}).out, "{\n  \"model\": \"/m/7\",\n  \"loss\": 0.10\n}\n");
}

TEST_F(OutputsTest, TheJobsRecordServesWhereTheChiefsFolderIsGoneAndTheFolderWhereTheRecordIsDamaged) {
  Leave(R"(printf '{"a":1}' > $TONY_OUTPUT_FILE)");
  const std::filesystem::path folder = box_.JobFolder(Job()), copy = folder / "logs/worker-0/1/output.json";
  std::filesystem::rename(copy, folder / "aside");
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
  std::filesystem::rename(folder / "aside", copy);
  std::filesystem::remove(folder / "outputs");
  ASSERT_EQ(mkfifo((folder / "outputs").c_str(), 0600), 0);
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
}

TEST_F(OutputsTest, NothingWrittenIsNoMistake) {
  Leave("true");
  EXPECT_EQ(At(Outputs(), "/outputs"), boost::json::value(boost::json::object()));
  EXPECT_EQ(box_.Tony({"outputs", Job()}).out, "{}\n");
}

TEST_F(OutputsTest, WhatCameWithTheSourcesIsNotAnOutput) {
  std::filesystem::create_directory(box_.File("src"));
  box_.Write("src/tony-output.json", "{\"old\":1}");
  EXPECT_EQ(box_.Tony(One("true") + Words{"-src_dir", "src"}).exit, 0);
  EXPECT_EQ(At(Outputs(), "/outputs"), boost::json::value(boost::json::object()));
}

TEST_F(OutputsTest, BrokenJsonIsNamedWithItsPlace) {
  ExpectRefused(Leave(R"(printf '{"loss":\n 0.1.2}' > $TONY_OUTPUT_FILE)"), "line 2, offset 13: expected , or }");
}

TEST_F(OutputsTest, OneBadValueCostsOnlyItselfAndIsNamedEverywhere) {
  const Ran job = Leave(R"(printf '{"loss":NaN,"big":1e400,"a":1,"a":2,"model.path":"/m"}' > $TONY_OUTPUT_FILE)");
  const auto outputs = Outputs();
  EXPECT_EQ(boost::json::serialize(At(outputs, "/outputs")), R"({"loss":"NaN","model.path":"/m"})");
  EXPECT_EQ(Text(outputs, "/problems/0/name"), "loss");
  EXPECT_EQ(At(outputs, "/problems/0/left_out"), boost::json::value(false));
  EXPECT_EQ(Text(outputs, "/problems/1/name"), "big");
  EXPECT_EQ(Text(outputs, "/problems/2/name"), "a");
  const std::string told = ReadText(box_.JobFolder(Job()) / "logs/worker-0/1/executor.log");
  const auto status = ParseJson(box_.Tony({"status", Job(), "--json"}).out);
  const Ran text = box_.Tony({"outputs", Job()});
  EXPECT_EQ(text.exit, 0);
  for (const std::string& place : {job.out, told, Text(status, "/outputs_problem"), text.err}) {
    EXPECT_THAT(place, HasSubstr(R"("loss" is passed on as text (line 1, offset 8: NaN is no JSON number))"));
    EXPECT_THAT(place, HasSubstr(R"("big" is left out (line 1, offset 18: a number out of range))"));
    EXPECT_THAT(place, HasSubstr(R"("a" is left out (line 1, offset 30: the name is there twice))"));
  }
}

TEST_F(OutputsTest, AJobWithoutRolesLeavesOutputsToo) {
  const Ran ran = box_.Tony({"submit", "-executes", R"(printf '{"a":1}' > $TONY_OUTPUT_FILE)"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
}

TEST_F(OutputsTest, OfAFileThatIsTooLongWhatFitsIsKept) {
  Leave(
      R"((printf '{"model.path":"/m","big":"'; head -c 2000000 /dev/zero | tr '\0' x; printf '"}') > $TONY_OUTPUT_FILE)");
  const auto outputs = Outputs();
  EXPECT_EQ(boost::json::serialize(At(outputs, "/outputs")), R"({"model.path":"/m"})");
  EXPECT_EQ(Text(outputs, "/problems/0/name"), "big");
}

TEST_F(OutputsTest, AnythingButAnObjectIsRefused) {
  ExpectRefused(Leave("echo 42 > $TONY_OUTPUT_FILE"), "line 1, offset 0: no JSON object begins here");
}

TEST_F(OutputsTest, OfAFileThatIsTooLargeOnlyItsSizeIsKept) {
  ExpectRefused(Leave("truncate -s 3G $TONY_OUTPUT_FILE"), "it has 3221225472 bytes, and at most 1048576 are kept");
  EXPECT_FALSE(std::filesystem::exists(box_.JobFolder(Job()) / "logs/worker-0/1/output.json"));
}

TEST_F(OutputsTest, APipeInItsPlaceHoldsNobodyUp) {
  ExpectRefused(Leave("mkfifo $TONY_OUTPUT_FILE"), "it is no regular file");
}

TEST_F(OutputsTest, ALinkInItsPlaceShowsNobodyAnotherFile) {
  ExpectRefused(Leave("ln -s /etc/passwd $TONY_OUTPUT_FILE"), "it is a symbolic link");
}

TEST_F(OutputsTest, OfAChiefThatWasStartedAgainTheAttemptThatSucceededCounts) {
  const std::string twice = R"(printf '{"attempt":%s}' $TONY_ATTEMPT > $TONY_OUTPUT_FILE; test $TONY_ATTEMPT = 2)";
  const Ran ran = box_.Tony(One(twice) + Conf("tony.restart.task.budget=1"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(Number(Outputs(), "/outputs/attempt"), 2);
}

TEST_F(OutputsTest, AFailedChiefHasNone) {
  EXPECT_EQ(box_.Tony(One("echo '{\"a\":1}' > $TONY_OUTPUT_FILE; exit 3")).exit, 1);
  const auto outputs = Outputs();
  EXPECT_EQ(At(outputs, "/outputs"), boost::json::value(boost::json::object()));
  EXPECT_TRUE(At(outputs, "/task").is_null());
}

TEST_F(OutputsTest, TheyOutliveAnApplicationMasterThatDiesBetweenTheChiefsEndAndTheJobs) {
  const auto client = box_.StartTony(One(HoldUntilGo() + "; echo '{\"a\":1}' > $TONY_OUTPUT_FILE"));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
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
  EXPECT_EQ(client->Wait().exit, 0);
  EXPECT_EQ(Number(Outputs(), "/outputs/a"), 1);
}

TEST_F(OutputsTest, AJobThatHasNotEndedHasNoneYet) {
  const auto client = box_.StartTony(One(HoldUntilGo()));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  const Ran ran = box_.Tony({"outputs", Job()});
  EXPECT_EQ(ran.exit, 69);
  EXPECT_EQ(CountLines(ran.err), 1u);
  EXPECT_THAT(ran.err, HasSubstr("has not ended (RUNNING)"));
  Go();
  EXPECT_EQ(client->Wait().exit, 0);
  EXPECT_EQ(box_.Tony({"outputs", "no-such-job"}).exit, 66);
}

}  // namespace
}  // namespace tony
