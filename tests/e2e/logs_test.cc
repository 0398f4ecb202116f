// `tony logs` while a job runs and after its end.
#include "runtime/base/time.h"
#include "tests/e2e/script.h"

namespace tony {
namespace {

const TestRow kLogs[] = {
    {"EachLogLineOfAJobWithSeveralTasksNamesTheTask",
     {{"workers 2 `echo one $TASK_INDEX; printf 'no end'; echo problem $TASK_INDEX >&2`", ""},
      {"logs %J",
       "out~worker:0 | one 0\n && out~worker:0 | no end\n && out~worker:0 ! problem 0\n && out~worker:1 | one 1\n"},
      {"logs %J worker:1 --stdout", "out=one 1\nno end"},
      {"logs %J worker:1#1 --stderr", "out=problem 1\n"}}},
    {"TheLogsCommandWithFollowPrintsNewLinesUntilTheJobEnds",
     {{"& workers 2 `echo early; %H; echo late; printf last`", ""},
      {"running 2", ""},
      {"& logs %J -f", ""},
      {"says 1 `worker:0 | early\nworker:1 | early\n`", ""},
      {"go", ""},
      {"end 1", "out~worker:1 | late\n && out~worker:0 | last\n"},
      {"end 0", ""}}},
    {"FollowingLogsBeforeTheFirstTaskStartsPrintsEveryLine",
     {{"workers 2 `for i in $(seq 500); do echo line $i; done` --detach", ""},
      {"logs %J -f --stdout", "outlines=1000"},
      {"wait %J", ""}}},
    {"FollowingATaskLogContinuesWithTheNextAttempt",
     {{"one `echo attempt $TONY_ATTEMPT; if [ $TONY_ATTEMPT = 1 ]; then until [ -e %B/fail ]; do sleep 0.02; done; "
       "printf 'last words'; exit 3; fi` tony.restart.task.budget=1 --detach",
       ""},
      {"& logs %J worker:0 -f --stdout", ""},
      {"says 0 `attempt 1\n`", ""},
      {"write fail", ""},
      {"end", "out=attempt 1\nlast words\n==> worker:0#2 <==\nattempt 2\n"},
      {"wait %J", ""}}},
    {"TheLogOptionTailShowsTheLastLinesOfEachStream",
     {{"workers 2 `for i in 1 2 3 4; do echo out $i; echo err $i >&2; done; printf 'no end'`", ""},
      {"logs %J --tail 2",
       "out=worker:0 | out 4\nworker:0 | no end\nworker:0 ! err 3\nworker:0 ! err 4\nworker:1 | out 4\n"
       "worker:1 | no end\nworker:1 ! err 3\nworker:1 ! err 4\n"},
      {"logs %J worker:1 --stderr --tail 1", "out=err 4\n"},
      {"logs %J worker:1#1 --tail 0", "out="},
      {"logs %J worker:1 --stderr --tail 9 --max-bytes 13", "out=err 3\nerr 4\n"},
      {"logs %J worker:0 --stderr --tail 1 --json",
       "/entries/0/text=err 4\n && /eof=true && /cursor=worker:0#1/stderr=24"}}},
    // The cursor is at byte 10, behind the five lines of `seq 5`, each of two bytes.
    {"NewLogLinesAfterATailCanBeFollowedOrReadWithTheCursor",
     {{"& one `seq 5; %H; echo late`", ""},
      {"running 1", ""},
      {"& logs %J -f --tail 2", ""},
      {"logs %J --tail 1 --json",
       "/entries/0/text=5\n && /eof=false && /cursor=worker:0#1/stderr=0,worker:0#1/stdout=10"},
      {"says 1 `4\n5\n`", ""},
      {"go", ""},
      {"end 0", ""},
      {"end 1", "out=4\n5\nlate\n"},
      {"logs %J --cursor worker:0#1/stderr=0,worker:0#1/stdout=10 --json", "/entries/0/text=late\n"}}},
    {"FollowingALogWithATailOfZeroShowsOnlyNewLines",
     {{"& one `seq 5; until [ -e %B/go ]; do sleep 0.02; echo tick; done`", ""},
      {"until logs %0 --stdout", "out~tick"},
      {"& logs %J -f --tail 0", ""},
      {"says 1 `tick\ntick\n`", ""},
      {"go", ""},
      {"end 0", ""},
      {"end 1", "out~tick && out!1 && out!5"}}},
    {"TheLogOptionTailShowsTheLastLinesOfALogOf20MillionLines",
     {{"one `seq 20000000`", ""}, {"logs %J --tail 3", "out=19999998\n19999999\n20000000\n"}}},
    {"LogOptionsThatConflictWithTailAreRefused",
     {{"one true", ""},
      {"logs %J --tail 3 --cursor ``", "64 && line"},
      {"logs %J --tail 3 -f --max-bytes 9", "64 && line"},
      {"logs %J --tail 3 --since 1d --cursor ``", "64 && line"},
      {"logs %J --tail -1", "64"},
      {"logs %J --tail many", "64"}}},
    {"TheLogsCommandWithFollowPrintsTheVerdictAndReturnsTheJobsExitCode",
     {{"one `echo begun; exit 3` --detach", ""},
      {"logs %J --follow", "1 && out=begun\n && line && err~job %J FAILED: "},
      // Programs read the verdict in `tony status`, so the exit code is 0.
      {"logs %J -f --json", ""},
      {"logs %J", ""}}},
    {"LogsCanBeLimitedToSelectedRolesAndTasks",
     {{"workers 2 `echo $JOB_NAME $TASK_INDEX` tony.ps.instances=1 tony.chief.instances=1", ""},
      {"logs %J worker", "out=worker:0 | worker 0\nworker:1 | worker 1\n"},
      {"logs %J worker:1 ps", "out=ps:0     | ps 0\nworker:1 | worker 1\n"},
      {"logs %J chief", "out=chief 0\n"},
      {"logs %J -f ps chief:0#1", "outlines=2 && out~chief:0 | chief 0\n && out~ps:0    | ps 0\n"},
      {"logs %J worker evaluator",
       "66 && err~no role evaluator; its roles are chief (1 task), ps (1 task), worker (2 tasks)"}}},
    {"TheLogOptionGrepShowsOnlyMatchingLinesEvenWhileFollowing",
     {{"& one `for i in $(seq 30); do echo step $i; done; %H; echo step 31; echo loss; printf 'step end'`", ""},
      {"running 1", ""},
      {"logs %J --grep `^step .?[05]$` -n 3", "out=step 20\nstep 25\nstep 30\n"},
      {"& logs %J -f --grep `step (29|30|31|e)` -n 1", ""},
      {"says 1 `step 30\n`", ""},
      {"go", ""},
      {"end 0", ""},
      {"end 1", "out=step 30\nstep 31\nstep end"},
      {"logs %J --json --grep loss", "/entries/0/text=loss\n && /entries/1=null"},
      {"logs %J --grep a[bc", "64 && err~from character 2 on && line"}}},
    {"TheLogsOptionOfSubmitPrintsTheOutputOfAllTasks",
     {{"workers 2 `echo from $TASK_INDEX; echo problem >&2` --logs",
       "out~%J\n && out~\nworker:0 | from 0\n && out~\nworker:1 | from 1\n && out~\nworker:1 ! problem\n && "
       "out~SUCCEEDED after"},
      {"one `echo shown; exit 2` --logs --json", "1 && err~\nshown\n && outlines=1"},
      {"one true --logs --detach", "64"}}},
    {"TheLogsOptionOfSubmitPrintsTheVerdictAfterTheOutput",
     {{"one `echo last` --logs", "out~\nlast\njob %J SUCCEEDED after"}}},
    {"TheLogsCommandRefusesAnUnknownTask", {{"one true", ""}, {"logs %J worker:7", "66 && line && ~worker:7"}}},
};
TABLE_TEST(LogsTest, kLogs, RunScript);

class LogTextsTest : public TonyTest {};

TEST_F(LogTextsTest, ALogLineOfOneMegabyteIsPrintedWhole) {
  Succeeds(Workers(2, "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo short"));
  const Ran ran = box_.Tony({"logs", Job(), "worker:0", "--stdout"});
  EXPECT_EQ(ran.out, std::string(1000000, 'x') + "\nshort\n");
  const Ran both = box_.Tony({"logs", Job(), "--stdout"});
  EXPECT_EQ(both.out.substr(0, 1000012), "worker:0 | " + std::string(1000000, 'x') + "\n");
  EXPECT_EQ(CountLines(both.out), 4u);
}

TEST_F(LogTextsTest, LogsReadInPiecesByCursorAddUpToTheWholeLog) {
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

TEST_F(LogTextsTest, FollowingLogsAsJsonPrintsOneObjectPerLine) {
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

TEST_F(LogTextsTest, AClosedOutputPipeEndsALogsCommandThatFollowsAJob) {
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

// The first line is written, and its time noted, more than a second before the last line.
TEST_F(LogTextsTest, LogTimestampsAreTheTimesAtWhichTheTaskWroteTheLines) {
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

}  // namespace
}  // namespace tony
