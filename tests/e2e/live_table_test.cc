// The table that a person at a terminal sees while a job runs.
#include "tests/e2e/terminal_run.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class LiveTableTest : public TonyTest {
 protected:
  static constexpr TerminalSize kSize = {24, 80};
  static size_t Count(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }
};

TEST_F(LiveTableTest, TheTerminalShowsLinksThenATableUpdatedInPlaceThenTheVerdict) {
  TerminalRun tony(box_, Workers(2, HoldUntilGo()), kSize, {{"TERM", "xterm"}});
  ASSERT_TRUE(tony.WaitForText("2 running")) << tony.screen().Text();
  const std::string screen = tony.screen().Text();
  EXPECT_THAT(screen, StartsWith(Job() + "\n"));
  EXPECT_LT(screen.find("follow: tony logs " + Job() + " -f\n"), screen.find("job RUNNING"));
  EXPECT_THAT(screen, HasAll({"\nworker:0  running ", "\nworker:1  running "}));
  Go();
  EXPECT_EQ(tony.Wait(), 0);
  const std::string all = tony.screen().ScrolledAway() + tony.screen().Text();
  EXPECT_EQ(Count(all, "worker:0 "), 1u) << all;
  EXPECT_THAT(all, HasAll({"\n  worker  2 succeeded\n", "job " + Job() + " SUCCEEDED after"}));
  EXPECT_THAT(tony.bytes(), HasSubstr("\x1b[1m")) << "in colour";
  ExpectNothingLeft();
}

TEST_F(LiveTableTest, TheTableIsRedrawnToFitAResizedTerminal) {
  TerminalRun tony(box_, Workers(2, HoldUntilGo()), kSize, {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  ASSERT_TRUE(tony.WaitForText("2 running")) << tony.screen().Text();
  tony.Resize({24, 40});
  ASSERT_TRUE(tony.WaitFor([](const ScreenReader& screen) {
    return screen.Text().find("ATTEMPT") == std::string::npos && screen.Text().find("TASK") != std::string::npos;
  })) << tony.screen().Text();
  EXPECT_EQ(Count(tony.screen().Text(), "worker:0 "), 1u) << tony.screen().Text();
  tony.Resize({24, 120});
  ASSERT_TRUE(tony.WaitForText("ATTEMPT")) << tony.screen().Text();
  Go();
  EXPECT_EQ(tony.Wait(), 0);
  EXPECT_EQ(Count(tony.screen().Text(), "worker:0 "), 1u) << tony.screen().Text();
  EXPECT_THAT(tony.bytes(), Not(HasSubstr("\x1b[1m")));
}

TEST_F(LiveTableTest, RestartMessagesStayVisibleAboveTheTable) {
  const Words arguments =
      One("if [ $TONY_ATTEMPT -lt 3 ]; then exit 3; fi", {"tony.restart.task.budget=5", "tony.restart.backoff-ms=10"});
  TerminalRun tony(box_, arguments, kSize, {{"TERM", "xterm"}});
  EXPECT_EQ(tony.Wait(), 0);
  const std::string all = tony.screen().ScrolledAway() + tony.screen().Text();
  EXPECT_THAT(all, HasAll({"\nrestart 1 (task): worker:0 failed", "\nrestart 2 (task): worker:0 failed"}));
  EXPECT_LT(all.find("restart 2"), all.find("job SUCCEEDED"));
}

TEST_F(LiveTableTest, TasksThatDoNotFitTheTerminalAreSummarizedInOneLine) {
  TerminalRun tony(box_, Workers(6, HoldUntilGo()), {8, 80}, {{"TERM", "xterm"}});
  ASSERT_TRUE(tony.WaitForText("... and 3 more: 3 running")) << tony.screen().Text();
  Go();
  EXPECT_EQ(tony.Wait(), 0);
}

TEST_F(LiveTableTest, CtrlCKillsTheJobAndTheKillIsReportedAboveTheTable) {
  TerminalRun tony(box_, Workers(2, HoldUntilGo()), kSize, {{"TERM", "xterm"}});
  ASSERT_TRUE(tony.WaitForText("2 running")) << tony.screen().Text();
  tony.Type("\x03");
  EXPECT_EQ(tony.Wait(), 130);
  const std::string all = tony.screen().ScrolledAway() + tony.screen().Text();
  EXPECT_THAT(all, HasAll({"SIGINT: killing job " + Job(), "KILLED"}));
  ExpectNothingLeft();
}

TEST_F(LiveTableTest, ATerminalHangUpEndsTheWaitCommandAndTheJobKeepsRunning) {
  Succeeds(Workers(2, HoldUntilGo()) + Words{"--detach"});
  TerminalRun tony(box_, {"wait", Job()}, kSize, {{"TERM", "xterm"}});
  ASSERT_TRUE(tony.WaitForText("2 running")) << tony.screen().Text();
  tony.HangUp();
  EXPECT_EQ(tony.Wait(), 129);
  EXPECT_THAT(box_.Tony({"status", Job()}).out, HasSubstr("RUNNING"));
  Go();
  Succeeds({"wait", Job()});
}

TEST_F(LiveTableTest, ATerminalPausedWithCtrlSDoesNotStopTheJob) {
  TerminalRun tony(box_, Workers(2, HoldUntilGo() + "; touch " + box_.File("over-") + "$TASK_INDEX"), kSize,
                   {{"TERM", "xterm"}});
  ASSERT_TRUE(tony.WaitForText("2 running")) << tony.screen().Text();
  tony.Type("\x13");  // Ctrl-S
  Go();
  ASSERT_TRUE(WaitFor([this] { return box_.Pids("tony-keeper").empty(); }));
  EXPECT_TRUE(WaitForFile(box_.File("over-0")));
  tony.Type("\x11");  // Ctrl-Q
  EXPECT_EQ(tony.Wait(), 0);
  EXPECT_THAT(tony.screen().Text(), HasSubstr("SUCCEEDED after"));
}

TEST_F(LiveTableTest, ADumbTerminalGetsPlainLinesWithoutEscapeSequences) {
  TerminalRun tony(box_, One("true"), kSize, {{"TERM", "dumb"}});
  EXPECT_EQ(tony.Wait(), 0);
  EXPECT_THAT(tony.screen().Text(), HasSubstr("\nworker:0 succeeded\n"));
  EXPECT_THAT(tony.bytes(), Not(HasSubstr("\x1b")));
}

TEST_F(LiveTableTest, EscapeSequencesOfTasksDoNotReachTheTerminal) {
  const std::string evil = R"(printf '\033]0;owned\007\033[2Jtext\n')";
  Fails(1, Workers(2, evil + "; " + evil + " >&2; [ $TASK_INDEX = 0 ] || exit 3"));
  for (const Words& arguments : {Words{"logs", Job()}, Words{"logs", Job(), "-f"}, Words{"logs", Job(), "worker:0"},
                                 Words{"status", Job()}, Words{"wait", Job()}, Words{"list"}}) {
    // The ScreenReader fails if it receives an escape sequence that must not reach a terminal.
    TerminalRun tony(box_, arguments, kSize, {{"TERM", "xterm"}});
    tony.Wait();
    EXPECT_EQ(tony.bytes().find('\a'), std::string::npos) << arguments[0];
    EXPECT_EQ(tony.bytes().find("\x1b]"), std::string::npos) << arguments[0];
  }
}

}  // namespace
}  // namespace tony
