#include "runtime/portal/reader_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "runtime/base/strings.h"
#include "runtime/os/start_program.h"
#include "tests/support/run_until.h"

namespace tony {
namespace {

using testing::HasSubstr;

const std::string kAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

TEST(ReadAnswerTest, AnAnswerIsReadWhenItIsWhole) {
  size_t used = 0;
  for (size_t length = 0; length < kAnswer.size(); ++length) {
    const auto part = ReadAnswer(kAnswer.substr(0, length), 100, used);
    ASSERT_TRUE(part.ok());
    EXPECT_FALSE(*part) << length;
  }
  const auto whole = ReadAnswer(kAnswer + "more", 100, used);
  ASSERT_TRUE(whole.ok() && *whole);
  EXPECT_EQ(used, kAnswer.size());
  EXPECT_EQ(*(*whole)->body, "{}");
  EXPECT_EQ((*whole)->content_type, "application/json");
}

TEST(ReadAnswerTest, AnAnswerIsNeverAScriptAndSetsNoHeaderOfItsOwn) {
  size_t used = 0;
  const auto answer = *ReadAnswer(
      "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nSet-Cookie: a=b\r\nLocation: http://evil/\r\n"
      "Content-Security-Policy: x\r\nX-Tony-Cursor: 7\r\nContent-Length: 0\r\n\r\n",
      100, used);
  EXPECT_EQ(answer->content_type, "text/plain; charset=utf-8");
  ASSERT_EQ(answer->headers.size(), 1u);
  EXPECT_EQ(answer->headers[0].first, "X-Tony-Cursor");
  EXPECT_EQ((*ReadAnswer("HTTP/1.1 308 x\r\nLocation: ./logs/\r\n\r\n", 100, used))->headers.size(), 1u);
  EXPECT_EQ((*ReadAnswer("HTTP/1.1 308 x\r\nLocation: ./../../x\r\n\r\n", 100, used))->headers.size(), 0u);
}

TEST(ReadAnswerTest, WrongAndLongAnswersAreRefused) {
  size_t used = 0;
  EXPECT_FALSE(ReadAnswer("garbage\r\n\r\n", 100, used).ok());
  EXPECT_FALSE(ReadAnswer("HTTP/1.1 99 x\r\n\r\n", 100, used).ok());
  EXPECT_FALSE(ReadAnswer(std::string(9000, 'x'), 100, used).ok());
  EXPECT_FALSE(ReadAnswer("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", 100, used).ok());
}

class ReaderProcessTest : public testing::Test {
 protected:
  // Runs a shell script as the process; its standard input is the socket.
  void Run(const std::string& script, ReaderLimits limits = {}) {
    process.emplace(
        loop,
        [this, script](int socket) {
          ++starts;
          return StartProgram({"/bin/sh", "-c", script}, environ, {.input = socket});
        },
        limits);
  }
  Result<HttpAnswer> Ask(const std::string& target = "/x") {
    std::optional<Result<HttpAnswer>> told;
    process->Ask(target, [&](Result<HttpAnswer> answer) { told = std::move(answer); });
    EXPECT_FALSE(told);
    EXPECT_TRUE(RunUntil(loop, [&] { return told.has_value(); }));
    return *std::move(told);
  }

  EventLoop loop;
  int starts = 0;
  std::optional<ReaderProcess> process;
};

constexpr char kServe[] =
    "exec 1<&0 >&0; while read -r line; do case $line in GET*) "
    "printf 'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok';; esac; done";

TEST_F(ReaderProcessTest, TheSameProcessAnswersManyRequests) {
  Run(kServe);
  for (int i = 0; i < 3; ++i) {
    const auto answer = Ask();
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(*answer->body, "ok");
  }
  EXPECT_EQ(starts, 1);
}

TEST_F(ReaderProcessTest, AProcessThatDiedIsStartedAgain) {
  Run(kServe);
  ASSERT_TRUE(Ask().ok());
  kill(process->pid(), SIGKILL);
  ASSERT_TRUE(RunUntil(loop, [&] { return process->pid() == 0; }));
  EXPECT_TRUE(Ask().ok());
  EXPECT_EQ(starts, 2);
}

TEST_F(ReaderProcessTest, AProcessThatDoesNotAnswerIsKilled) {
  Run("exec sleep 600", {.answer = Duration(100)});
  EXPECT_THAT(Ask().error().message, HasSubstr("did not answer"));
  EXPECT_EQ(process->pid(), 0);
}

TEST_F(ReaderProcessTest, AProcessThatEndsOrFloodsOrTakesMemoryOrAnswersTwiceFailsItsRequest) {
  Run("exit 1");
  EXPECT_THAT(Ask().error().message, HasSubstr("has ended"));
  Run("read -r line; exec cat /dev/zero >&0", {.answer_bytes = 1 << 20});
  EXPECT_FALSE(Ask().ok());
  Run("exec sleep 600", {.memory_bytes = 1000});
  EXPECT_THAT(Ask().error().message, HasSubstr("memory"));
  Run("read -r line; printf 'HTTP/1.1 200 OK\\r\\n\\r\\nmore' >&0; exec sleep 600");
  EXPECT_FALSE(Ask().ok());
}

TEST_F(ReaderProcessTest, AllWaitingRequestsFailTogetherAndTheirNumberIsLimited) {
  Run("exec sleep 600", {.answer = Duration(200), .waiting = 2});
  int failed = 0;
  for (int i = 0; i < 4; ++i)
    process->Ask("/x", [&](const Result<HttpAnswer>& answer) { failed += answer.ok() ? 0 : 1; });
  EXPECT_TRUE(RunUntil(loop, [&] { return failed == 4; }));
  EXPECT_EQ(starts, 1);
}

TEST_F(ReaderProcessTest, AnIdleProcessIsEnded) {
  Run(kServe, {.idle = Duration(50)});
  ASSERT_TRUE(Ask().ok());
  EXPECT_TRUE(RunUntil(loop, [&] { return process->pid() == 0; }));
}

}  // namespace
}  // namespace tony
