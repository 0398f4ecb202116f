// `tony logs` while a job runs and after its end.
#include "runtime/base/time.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class LogsTest : public TonyTest {};

TEST_F(LogsTest, EachLineOfSeveralTasksNamesItsTask) {
  Succeeds(Workers(2, "echo one $TASK_INDEX; printf 'no end'; echo problem $TASK_INDEX >&2"));
  const Ran all = Succeeds({"logs", Job()});
  for (const char* line : {"worker:0 | one 0\n", "worker:0 | no end\n", "worker:0 ! problem 0\n", "worker:1 | one 1\n"})
    EXPECT_THAT(all.out, HasSubstr(line));
  const Ran one = box_.Tony({"logs", Job(), "worker:1", "--stdout"});
  EXPECT_EQ(one.out, "one 1\nno end") << "of one task, the bytes as they are";
  const Ran attempt = box_.Tony({"logs", Job(), "worker:1#1", "--stderr"});
  EXPECT_EQ(attempt.out, "problem 1\n");
}

TEST_F(LogsTest, FollowingShowsLinesAsTheyComeAndEndsWithTheJob) {
  const auto client = Hold(Workers(2, "echo early; " + HoldUntilGo() + "; echo late; printf last"), 2);
  const auto logs = box_.StartTony({"logs", Job(), "-f"});
  ASSERT_TRUE(WaitFor([&] { return CountLines(logs->out()) == 2; }));
  EXPECT_EQ(logs->out(), "worker:0 | early\nworker:1 | early\n");
  const Ran ran = GoAndEnd(*logs);
  EXPECT_THAT(ran.out, HasAll({"worker:1 | late\n", "worker:0 | last\n"}));
  Ends(*client);
}

TEST_F(LogsTest, FollowingFromBeforeTheFirstTaskMissesNothing) {
  Succeeds(Workers(2, "for i in $(seq 500); do echo line $i; done") + Words{"--detach"});
  const Ran ran = Succeeds({"logs", Job(), "-f", "--stdout"});
  EXPECT_EQ(CountLines(ran.out), 1000u);
  Succeeds({"wait", Job()});
}

TEST_F(LogsTest, FollowingOneTaskGoesOnWithItsNextAttempt) {
  const std::string fail = "until [ -e " + box_.File("fail") + " ]; do sleep 0.02; done; printf 'last words'; exit 3; ";
  Succeeds(
      One("echo attempt $TONY_ATTEMPT; if [ $TONY_ATTEMPT = 1 ]; then " + fail + "fi", {"tony.restart.task.budget=1"}) +
      Words{"--detach"});
  const auto logs = box_.StartTony({"logs", Job(), "worker:0", "-f", "--stdout"});
  ASSERT_TRUE(WaitFor([&] { return logs->out() == "attempt 1\n"; })) << logs->err();
  box_.Write("fail", "");
  const Ran ran = Ends(*logs);
  EXPECT_EQ(ran.out, "attempt 1\nlast words\n==> worker:0#2 <==\nattempt 2\n");
  Succeeds({"wait", Job()});
}

TEST_F(LogsTest, ALineOfAMegabyteComesWhole) {
  Succeeds(Workers(2, "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo short"));
  const Ran ran = box_.Tony({"logs", Job(), "worker:0", "--stdout"});
  EXPECT_EQ(ran.out, std::string(1000000, 'x') + "\nshort\n");
  const Ran both = box_.Tony({"logs", Job(), "--stdout"});
  EXPECT_EQ(both.out.substr(0, 1000012), "worker:0 | " + std::string(1000000, 'x') + "\n");
  EXPECT_EQ(CountLines(both.out), 4u);
}

TEST_F(LogsTest, ACursorGoesOnWhereTheLastAnswerEnded) {
  Succeeds(One("for i in 1 2 3 4 5 6; do echo line-$i; done; printf '\\377\\n' >&2"));
  std::string text, cursor;
  bool eof = false;
  for (int answers = 0; !eof && answers < 20; ++answers) {
    const Ran ran = Succeeds({"logs", Job(), "--json", "--max-bytes", "15", "--cursor", cursor});
    const auto answer = ParseJson(ran.out);
    const auto entries = At(answer, "/entries");
    ASSERT_TRUE(entries.is_array()) << ran.out;
    for (const auto& entry : entries.as_array()) text += Text(entry, "/text");
    cursor = Text(answer, "/cursor");
    eof = At(answer, "/eof").as_bool();
  }
  EXPECT_EQ(text, "line-1\nline-2\nline-3\nline-4\nline-5\nline-6\n\xEF\xBF\xBD\n");
}

TEST_F(LogsTest, TheLastLinesOfEachStreamForPeopleAndForPrograms) {
  Succeeds(Workers(2, "for i in 1 2 3 4; do echo out $i; echo err $i >&2; done; printf 'no end'"));
  const Ran all = Succeeds({"logs", Job(), "--tail", "2"});
  std::string expected;
  for (const std::string task : {"worker:0", "worker:1"})
    expected += task + " | out 4\n" + task + " | no end\n" + task + " ! err 3\n" + task + " ! err 4\n";
  EXPECT_EQ(all.out, expected);
  EXPECT_EQ(box_.Tony({"logs", Job(), "worker:1", "--stderr", "--tail", "1"}).out, "err 4\n");
  EXPECT_EQ(box_.Tony({"logs", Job(), "worker:1#1", "--tail", "0"}).out, "");
  EXPECT_EQ(box_.Tony({"logs", Job(), "worker:1", "--stderr", "--tail", "9", "--max-bytes", "13"}).out,
            "err 3\nerr 4\n");
  const auto answer = ParseJson(box_.Tony({"logs", Job(), "worker:0", "--stderr", "--tail", "1", "--json"}).out);
  ExpectJson(answer, {{"/entries/0/text", "err 4\n"}, {"/eof", true}, {"/cursor", "worker:0#1/stderr=24"}});
}

TEST_F(LogsTest, TheLastLinesGoWithFollowingAndTheirCursorGoesOn) {
  const auto client = Hold(One("seq 5; " + HoldUntilGo() + "; echo late"));
  const auto logs = box_.StartTony({"logs", Job(), "-f", "--tail", "2"});
  const auto answer = ParseJson(box_.Tony({"logs", Job(), "--tail", "1", "--json"}).out);
  ExpectJson(answer, {{"/entries/0/text", "5\n"}, {"/eof", false}});
  ASSERT_TRUE(WaitFor([&] { return CountLines(logs->out()) == 2; })) << logs->out();
  GoAndEnd(*client);
  EXPECT_EQ(logs->Wait().out, "4\n5\nlate\n");
  const auto rest = ParseJson(box_.Tony({"logs", Job(), "--cursor", Text(answer, "/cursor"), "--json"}).out);
  EXPECT_EQ(Text(rest, "/entries/0/text"), "late\n");
}

TEST_F(LogsTest, FollowingFromNoLinesOnShowsWhatComesNow) {
  const auto client =
      box_.StartTony(One("seq 5; until [ -e " + box_.File("go") + " ]; do sleep 0.02; echo tick; done"));
  ASSERT_TRUE(WaitFor([&] { return !box_.Jobs().empty() && CountLines(LogText("worker-0", "stdout")) > 5; }));
  const auto logs = box_.StartTony({"logs", Job(), "-f", "--tail", "0"});
  ASSERT_TRUE(WaitFor([&] { return CountLines(logs->out()) > 1; })) << logs->err();
  GoAndEnd(*client);
  EXPECT_THAT(logs->Wait().out, testing::MatchesRegex("(tick\n)+"));
}

TEST_F(LogsTest, TheLastLinesOfALargeLogAreThereAtOnce) {
  Succeeds(One("seq 20000000"));
  const Ran ran = box_.Tony({"logs", Job(), "--tail", "3"});
  EXPECT_EQ(ran.out, "19999998\n19999999\n20000000\n");
}

TEST_F(LogsTest, WhatDoesNotGoWithTheLastLinesIsRefused) {
  Succeeds(One("true"));
  for (const Words& more :
       {Words{"--cursor", ""}, Words{"-f", "--max-bytes", "9"}, Words{"--since", "1d", "--cursor", ""}}) {
    FailsInALine(64, Words{"logs", Job(), "--tail", "3"} + more);
  }
  Fails(64, {"logs", Job(), "--tail", "-1"});
  Fails(64, {"logs", Job(), "--tail", "many"});
}

TEST_F(LogsTest, FollowingInJsonGivesOneObjectALine) {
  Succeeds(Workers(2, "echo out; echo err >&2"));
  const Ran ran = box_.Tony({"logs", Job(), "-f", "--json"});
  std::string seen;
  for (size_t at = 0; at < ran.out.size(); at = ran.out.find('\n', at) + 1) {
    const auto entry = ParseJson(ran.out.substr(at, ran.out.find('\n', at) - at));
    EXPECT_EQ(Number(entry, "/schema"), 1);
    EXPECT_THAT(Text(entry, "/cursor"), Not(testing::IsEmpty()));
    seen += Text(entry, "/task") + " " + Text(entry, "/stream") + " " + Text(entry, "/text");
  }
  EXPECT_EQ(seen, "worker:0 stdout out\nworker:0 stderr err\nworker:1 stdout out\nworker:1 stderr err\n");
}

TEST_F(LogsTest, AReaderThatLeavesEndsTheFollowing) {
  Succeeds(One("while :; do echo again; sleep 0.02; done") + Words{"--detach"});
  const auto head = std::make_unique<Background>(
      Words{"/bin/bash", "-c", ProgramFolder() + "/tony logs -f " + Job() + " | head -n 1"},
      Words{"PATH=/usr/bin:/bin", "TONY_HOME=" + box_.home().string(), "TONY_LEDGER=" + box_.ledger().string()},
      box_.folder());
  const Ran ran = head->Wait();
  EXPECT_FALSE(ran.timed_out);
  EXPECT_EQ(ran.out, "again\n");
  Succeeds({"kill", Job()});
  ExpectNothingLeft();
}

TEST_F(LogsTest, FollowingEndsWithTheVerdictAndItsExitCode) {
  const Words fails = One("echo begun; exit 3") + Words{"--detach"};
  Succeeds(fails);
  const Ran ran = Fails(1, {"logs", Job(), "--follow"});
  EXPECT_EQ(ran.out, "begun\n");
  EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
  EXPECT_THAT(ran.err, testing::StartsWith("job " + Job() + " FAILED: "));
  EXPECT_EQ(box_.Tony({"logs", Job(), "-f", "--json"}).exit, 0) << "to a program the status tells it";
  Succeeds({"logs", Job()});
}

TEST_F(LogsTest, RolesTasksAndSeveralOfThemAreChosen) {
  const Words two_roles = Words{"submit", "-executes", "echo $JOB_NAME $TASK_INDEX"} +
                          Confs({"tony.application.framework=tensorflow", "tony.worker.instances=2",
                                 "tony.ps.instances=1", "tony.chief.instances=1"});
  Succeeds(two_roles);
  EXPECT_EQ(box_.Tony({"logs", Job(), "worker"}).out, "worker:0 | worker 0\nworker:1 | worker 1\n");
  EXPECT_EQ(box_.Tony({"logs", Job(), "worker:1", "ps"}).out, "ps:0     | ps 0\nworker:1 | worker 1\n");
  EXPECT_EQ(box_.Tony({"logs", Job(), "chief"}).out, "chief 0\n");
  const std::string followed = box_.Tony({"logs", Job(), "-f", "ps", "chief:0#1"}).out;
  EXPECT_EQ(CountLines(followed), 2u);
  EXPECT_THAT(followed, HasAll({"chief:0 | chief 0\n", "ps:0    | ps 0\n"}));
  const Ran unknown = Fails(66, {"logs", Job(), "worker", "evaluator"});
  EXPECT_THAT(unknown.err, HasSubstr("no role evaluator; it has 1 chief, 1 ps, 2 worker"));
}

TEST_F(LogsTest, OnlyLinesThatMatchAreShownOnceAndWhileFollowing) {
  const auto client = Hold(One("for i in $(seq 30); do echo step $i; done; " + HoldUntilGo() +
                               "; echo step 31; echo loss; printf 'step end'"));
  EXPECT_EQ(box_.Tony({"logs", Job(), "--grep", "^step .?[05]$", "-n", "3"}).out, "step 20\nstep 25\nstep 30\n");
  const auto logs = box_.StartTony({"logs", Job(), "-f", "--grep", "step (29|30|31|e)", "-n", "1"});
  ASSERT_TRUE(WaitFor([&] { return logs->out() == "step 30\n"; })) << logs->out() << logs->err();
  GoAndEnd(*client);
  EXPECT_EQ(logs->Wait().out, "step 30\nstep 31\nstep end");
  const auto answer = ParseJson(box_.Tony({"logs", Job(), "--json", "--grep", "loss"}).out);
  EXPECT_EQ(At(answer, "/entries").as_array().size(), 1u);
  EXPECT_EQ(Text(answer, "/entries/0/text"), "loss\n");
  const Ran wrong = Fails(64, {"logs", Job(), "--grep", "a[bc"});
  EXPECT_THAT(wrong.err, HasSubstr("from character 2 on"));
  EXPECT_EQ(CountLines(wrong.err), 1u);
}

// The first line is written, and noted, a second and more before the last one.
TEST_F(LogsTest, LinesHaveTheTimesAtWhichTheyWereWritten) {
  const auto client = Hold(One("echo early; " + HoldUntilGo() + "; echo late"));
  const std::string times = (box_.JobFolder(Job()) / "logs/worker-0/1/stdout.times").string();
  ASSERT_TRUE(WaitFor([&] { return CountLines(ReadText(times)) == 1; }));
  const std::string noted = ReadText(times).substr(0, ReadText(times).find(' '));
  ASSERT_TRUE(WaitFor([&] { return WallNow() > FromMillis(std::stoll(noted)) + std::chrono::milliseconds(1100); }));
  const std::string between = ToIso8601(FromMillis(std::stoll(noted)) + std::chrono::milliseconds(50));
  GoAndEnd(*client);
  const std::string early = ToIso8601(FromMillis(std::stoll(noted))).substr(0, 19);
  const Ran stamped = box_.Tony({"logs", Job(), "--timestamps"});
  EXPECT_THAT(stamped.out, testing::StartsWith(early + "Z early\n20")) << stamped.out;
  EXPECT_THAT(stamped.out, testing::EndsWith("Z late\n"));
  EXPECT_GT(stamped.out.substr(stamped.out.find('\n') + 1, 19), early);
  EXPECT_EQ(box_.Tony({"logs", Job(), "--since", between}).out, "late\n");
  EXPECT_EQ(box_.Tony({"logs", Job(), "--since", "10m", "-n", "1"}).out, "late\n");
  EXPECT_EQ(box_.Tony({"logs", Job(), "--since", "1d", "-f"}).out, "early\nlate\n");
  EXPECT_EQ(box_.Tony({"logs", Job(), "--since", "0s"}).out, "");
  const auto answer = ParseJson(box_.Tony({"logs", Job(), "--json", "-t"}).out);
  EXPECT_EQ(Text(answer, "/entries/0/time"), ToIso8601(FromMillis(std::stoll(noted))));
  Fails(64, {"logs", Job(), "--since", "yesterday"});
}

TEST_F(LogsTest, ASubmitThatShowsLogsSaysWhatTheTasksWriteAndThenTheVerdict) {
  const Ran ran = Succeeds(Workers(2, "echo from $TASK_INDEX; echo problem >&2") + Words{"--logs"});
  EXPECT_THAT(ran.out, testing::StartsWith(Job() + "\n"));
  for (const char* line : {"\nworker:0 | from 0\n", "\nworker:1 | from 1\n", "\nworker:1 ! problem\n"})
    EXPECT_THAT(ran.out, HasSubstr(line));
  EXPECT_GT(ran.out.find("SUCCEEDED after"), ran.out.rfind("worker:")) << ran.out;
  const Ran json = Fails(1, One("echo shown; exit 2") + Words{"--logs", "--json"});
  EXPECT_THAT(json.err, HasSubstr("\nshown\n"));
  EXPECT_EQ(CountLines(json.out), 1u);
  Fails(64, One("true") + Words{"--logs", "--detach"});
}

TEST_F(LogsTest, ATaskThatTheJobDoesNotHaveIsNamed) {
  Succeeds(One("true"));
  const Ran ran = FailsInALine(66, {"logs", Job(), "worker:7"});
  EXPECT_THAT(ran.err, HasSubstr("worker:7"));
}

}  // namespace
}  // namespace tony
