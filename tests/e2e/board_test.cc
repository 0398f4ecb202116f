// A TensorBoard that runs with a job. A shell command stands in for it and writes into a file when it starts.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class BoardTest : public TonyTest {
 protected:
  // The arguments of a job with two workers and a TensorBoard that runs `board`. Worker 1 fails once.
  Words Gang(const std::string& board) const {
    const std::string command = "[ $TASK_INDEX$TONY_ATTEMPT != 11 ] || until [ -e " + box_.File("fail") +
                                " ]; do sleep 0.02; done; [ $TASK_INDEX$TONY_ATTEMPT != 11 ] || exit 7; " +
                                HoldUntilGo();
    return Words{"submit", "-executes", command} +
           Confs({"tony.application.framework=pytorch", "tony.worker.instances=2", LittleMemory(),
                  "tony.restart.gang.budget=3", "tony.application.tensorboard-log-dir=" + box_.File("not-there-yet"),
                  "tony.tensorboard.memory=200m", "tony.tensorboard.command=" + board});
  }
  std::string PageOf(const std::string& url) const {
    const size_t path = url.find('/', 7);
    const std::string port = url.substr(url.find(':', 7) + 1, path - url.find(':', 7) - 1);
    const std::string ask = "exec 3<>/dev/tcp/127.0.0.1/" + port + "; printf 'GET " + url.substr(path) +
                            " HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3";
    return Background({"/bin/bash", "-c", ask}, box_.Environment(), box_.folder()).Wait().out;
  }
};

TEST_F(BoardTest, TensorBoardKeepsItsProcessAndAddressWhenTheGangRestarts) {
  const auto client = box_.StartTony(Gang("echo $TB_PORT $TB_LOG_DIR >> " + box_.File("starts") + "; exec sleep 600"));
  ASSERT_TRUE(WaitFor([&] { return !box_.Jobs().empty() && At(Status(), "/tensorboard_url").is_string(); }));
  const std::string url = Text(Status(), "/tensorboard_url");
  const int64_t pid = Number(Status(), "/tasks/0/pid");
  box_.Write("fail", "");
  ASSERT_TRUE(WaitForRunning(2)) << client->err();

  const auto status = Status();
  ExpectJson(
      status,
      {{"/generation", 2}, {"/restarts/0/scope", "gang"}, {"/tasks/0/task", "tensorboard:0"}, {"/tasks/0/attempt", 1}});
  EXPECT_EQ(Number(status, "/tasks/0/pid"), pid);
  ExpectJson(status, {{"/tensorboard_url", url}, {"/tasks/1/attempt", 2}});
  EXPECT_EQ(url,
            "http://127.0.0.1:" + ReadText(box_.File("starts")).substr(0, url.rfind('/') - url.rfind(':') - 1) + "/");
  EXPECT_EQ(CountLines(ReadText(box_.File("starts"))), 1u);
  EXPECT_THAT(PageOf(Text(status, "/tracking_url") + "tensorboard"), HasSubstr("Refresh: 0; url=" + url));
  EXPECT_THAT(box_.Tony({"status", Job()}).out, HasSubstr("  tensorboard: " + url + "\n"));
  GoAndEnd(*client);
  ExpectNothingLeft();
}

TEST_F(BoardTest, ATensorBoardThatCannotStartDoesNotFailTheJob) {
  const auto client = box_.StartTony(Gang("exec python3 -m tensorboard_that_is_not_installed"));
  box_.Write("fail", "");
  ASSERT_TRUE(WaitForRunning(2)) << client->err();
  ASSERT_TRUE(WaitFor([&] { return Text(Status(), "/tasks/0/state") == "done"; }));
  EXPECT_EQ(Number(Status(), "/restart_count"), 1) << "the worker's";
  EXPECT_THAT(PageOf(Text(Status(), "/tracking_url") + "tensorboard"), HasSubstr("The job has no TensorBoard"));
  const Ran ran = GoAndEnd(*client);
  EXPECT_THAT(ran.err + ran.out, HasSubstr("tensorboard:0 failed"));
}

}  // namespace
}  // namespace tony
