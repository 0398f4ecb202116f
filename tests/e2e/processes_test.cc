// Tasks of several processes: two workers of three processes each, and a driver of one process.
#include "tests/e2e/staged_test.h"

namespace tony {
namespace {

// The driver exits at once. Each process of a worker prints its rank, and writes its identity into a file; a test may
// append commands.
constexpr std::string_view kSayWho = R"(
if [ "$JOB_NAME" = driver ]; then
  echo ADDRESS=here >> "$TONY_PUBLISH_FILE"
  exit
fi
echo "out of $STAGED_RANK"
echo "err of $STAGED_RANK" >&2
echo "$STAGED_SIZE $TONY_TASK $TONY_PROCESS_INDEX $TONY_PROCESS_COUNT $STAGED_PROCESS_PORT" > "new-$STAGED_RANK"
mv "new-$STAGED_RANK" "rank-$STAGED_RANK-$TONY_ATTEMPT"
)";

// In the first attempt the second process of worker:1 fails once all six processes run, and the third one ignores
// SIGTERM.
constexpr std::string_view kFailOnce = R"(
[ "$TONY_ATTEMPT" = 1 ] || exit 0
[ "$STAGED_RANK" = 6 ] && trap '' TERM
touch "ready-$STAGED_RANK"
for rank in 1 2 3 4 5 6; do
  until [ -e "ready-$rank" ]; do sleep 0.02; done
done
if [ "$STAGED_RANK" = 5 ]; then
  echo "boom of $STAGED_RANK" >&2
  exit 3
fi
while :; do sleep 0.1; done
)";

class ProcessesTest : public StagedJobTest {
 protected:
  std::string Logs(const Words& more) const { return box_.Tony(Words{"logs", job_} + more).out; }

  // Checks the rank, the task and the port of each worker process. The ranks of workers follow the driver's rank.
  void ExpectRanks(int attempt) const {
    std::vector<std::string> ports;
    for (int rank = 1; rank <= 6; ++rank) {
      const std::string said = ReadText(box_.File("rank-" + std::to_string(rank) + "-" + std::to_string(attempt)));
      const std::string task = rank <= 3 ? "worker:0" : "worker:1";
      EXPECT_THAT(said, testing::StartsWith("7 " + task + " " + std::to_string((rank - 1) % 3) + " 3 ")) << rank;
      ports.push_back(said.substr(said.rfind(' ') + 1));
    }
    EXPECT_THAT(ports, Not(testing::Contains("\n"))) << "each has a port";
    EXPECT_NE(ports[0], ports[1]);
  }
};

TEST_F(ProcessesTest, EachProcessOfATaskHasItsOwnRankPortAndLogs) {
  Submit(kSayWho, 3);
  Ends(*client_);
  ExpectNothingLeft();
  ExpectRanks(1);
  const std::string all = Logs({});
  for (const char* line : {"worker:0 | out of 1\n", "worker:0/2 ! err of 3\n", "worker:1/1 | out of 5\n"})
    EXPECT_THAT(all, HasSubstr(line));
  EXPECT_EQ(Logs({"worker:1", "--stdout"}), "worker:1 | out of 4\nworker:1/1 | out of 5\nworker:1/2 | out of 6\n");
  EXPECT_THAT(Logs({"worker:1", "--json"}), HasSubstr(R"("stream":"stderr","process":2,"text":"err of 6\n")"));
}

TEST_F(ProcessesTest, AFailedProcessEndsTheOtherProcessesAndIsNamedInTheVerdict) {
  Submit(std::string(kSayWho) + std::string(kFailOnce), 3, Conf("tony.task.stop-grace-ms=1000"));
  const Ran ran = client_->Wait();
  EXPECT_NE(ran.exit, 0);
  ExpectNothingLeft();
  const auto status = ParseJson(Status());
  ExpectJson(status, {{"/verdict/task", "worker:1"}, {"/verdict/exit_code", 3}});
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("process 1: exit code 3"));
  EXPECT_THAT(Text(status, "/verdict/stderr_tail"), HasSubstr("boom of 5"));
  EXPECT_EQ(Number(status, "/tasks/2/outcome/process"), 1) << Status();
  EXPECT_THAT(Logs({"worker:1"}), HasSubstr("worker:1/1 ! boom of 5\n"));
}

TEST_F(ProcessesTest, AGangRestartRestartsAllProcessesOfEachTask) {
  Submit(std::string(kSayWho) + std::string(kFailOnce), 3,
         Confs({"tony.task.stop-grace-ms=1000", "tony.restart.gang.budget=1"}));
  Ends(*client_);
  ExpectNothingLeft();
  ExpectRanks(1);
  ExpectRanks(2);
  EXPECT_THAT(box_.Tony({"history", job_, "--events"}).out, HasSubstr("process 1: exit code 3"));
  EXPECT_THAT(Logs({"worker:1#1"}), HasSubstr("worker:1/1 ! boom of 5\n"));
  EXPECT_THAT(Logs({"worker:1"}), Not(HasSubstr("boom")));
}

}  // namespace
}  // namespace tony
