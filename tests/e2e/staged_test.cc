// Tasks with named ports that start in stages, with real processes. No property asks for the framework that has them: a
// job waits for room, gets it by its spec, and the master that replaces its first one goes by that.
#include <csignal>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using testing::HasSubstr;

// The driver listens at its port "control", publishes where, and greets two workers, who say whom they have met.
constexpr std::string_view kTask = R"(
if [ "$JOB_NAME" = driver ]; then
  control=${STAGED_PORTS#control=}
  echo $$ > running-driver
  until [ -e publish ]; do sleep 0.02; done
  exec python3 -c '
import os, socket, sys
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", int(sys.argv[1])))
server.listen()
with open(os.environ["TONY_PUBLISH_FILE"], "a") as file:
    print("ADDRESS=127.0.0.1:" + sys.argv[1], file=file)
for _ in range(2):
    server.accept()[0].sendall(b"hello\n")
' "${control%%,*}"
fi
echo "$STAGED_DATA" > "data-$TASK_INDEX"
address=${STAGED_ADDRESSES#driver:0=}
exec 3<> "/dev/tcp/${address%:*}/${address#*:}"
read -r greeting <&3
echo "$greeting from $STAGED_ADDRESSES" > "met-$TASK_INDEX"
)";

class StagedTest : public TonyTest {
 protected:
  void SetUp() override {
    box_.SetMachine(R"({"memory_mb":1000})");
    holder_ = box_.StartTony(One(HoldUntilGo()) + Conf("tony.worker.memory=600m"));
    ASSERT_TRUE(WaitForRunning(1)) << holder_->err();
    const std::string holding = Job();
    const std::string script = box_.Write("task.sh", "cd " + box_.folder().string() + "\n" + std::string(kTask));
    client_ =
        box_.StartTony(Words{"submit", "-executes", "bash " + script} + Conf("tony.application.framework=pytorch") +
                       Conf("tony.driver.instances=1") + Conf("tony.driver.memory=200m") +
                       Conf("tony.worker.instances=2") + Conf("tony.worker.memory=200m"));
    ASSERT_TRUE(WaitFor([&] { return client_->out().find('\n') != std::string::npos; })) << client_->err();
    job_ = client_->out().substr(0, client_->out().find('\n'));
    ASSERT_TRUE(WaitFor([&] { return Status().find("waits for ") != std::string::npos; })) << Status();
    MakeStaged();
    Go();
    EXPECT_EQ(holder_->Wait().exit, 0) << holder_->err();
    ASSERT_TRUE(WaitForFile(box_.File("running-driver"))) << DriverSays();
  }

  void MakeStaged() {
    const auto file = box_.JobFolder(job_) / "spec.json";
    std::string spec = ReadText(file);
    const std::string pytorch = R"("framework":"pytorch")";
    const size_t at = spec.find(pytorch);
    ASSERT_NE(at, std::string::npos) << spec;
    box_.Write("spec.json", spec.replace(at, pytorch.size(), R"("framework":"staged")"));
    std::filesystem::rename(box_.File("spec.json"), file);
    Kill("tony-am");
    ASSERT_TRUE(WaitFor([&] { return Epoch() == 2; })) << Status();
  }

  std::vector<pid_t> PidsOf(const std::string& program) const {
    std::vector<pid_t> pids;
    for (const Process& process : ProcessesWithMark(job_))
      if (process.program == program) pids.push_back(process.pid);
    return pids;
  }
  void Kill(const std::string& program) const {
    const std::vector<pid_t> pids = PidsOf(program);
    ASSERT_EQ(pids.size(), 1u) << program;
    kill(pids.front(), SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return PidsOf(program) != pids; }));
  }
  std::string DriverSays() const { return ReadText(box_.JobFolder(job_) / "logs" / "driver-0" / "1" / "stderr"); }
  std::string Status() const { return box_.Tony({"status", job_, "--json"}).out; }
  int64_t Epoch() const {
    const auto status = ParseJson(Status());
    return At(status, "/am_reachable") == boost::json::value(true) ? Number(status, "/epoch") : 0;
  }
  void LetTheDriverPublish() const { box_.Write("publish", ""); }

  void ExpectThatWorkersMetTheDriver() {
    const Ran ran = client_->Wait();
    EXPECT_EQ(ran.exit, 0) << ran.err << ran.out;
    for (const char* worker : {"met-0", "met-1"})
      EXPECT_THAT(ReadText(box_.File(worker)), HasSubstr("hello from driver:0=127.0.0.1:"));
    const std::string data = ReadText(box_.File("data-0"));
    for (const char* task : {"driver:0=127.0.0.1:", ",worker:0=127.0.0.1:", ",worker:1=127.0.0.1:"})
      EXPECT_THAT(data, HasSubstr(task));
    ExpectNothingLeft();
  }

  std::unique_ptr<Background> holder_, client_;
  std::string job_;
};

TEST_F(StagedTest, WorkersStartWithWhatTheDriverHasPublished) {
  ASSERT_TRUE(WaitFor([&] { return Status().find(R"("running")") != std::string::npos; })) << Status();
  EXPECT_FALSE(std::filesystem::exists(box_.File("data-0"))) << "the driver has published nothing yet";
  LetTheDriverPublish();
  ExpectThatWorkersMetTheDriver();
  const std::string history = box_.Tony({"history", job_, "--events"}).out;
  EXPECT_LT(history.find("values_published"), history.find("stage_opened")) << history;
  EXPECT_THAT(history, HasSubstr("driver:0#1: ADDRESS=127.0.0.1:"));
}

TEST_F(StagedTest, WhatIsPublishedWhileThereIsNoMasterIsToldToTheNext) {
  const std::vector<pid_t> keeper = PidsOf("tony-keeper");
  ASSERT_EQ(keeper.size(), 1u);
  kill(keeper.front(), SIGSTOP);  // it starts no master meanwhile
  const std::vector<pid_t> master = PidsOf("tony-am");
  ASSERT_EQ(master.size(), 1u);
  kill(master.front(), SIGKILL);
  LetTheDriverPublish();
  const auto work = box_.JobFolder(job_) / "work" / "driver-0" / "1" / "tony-publish";
  ASSERT_TRUE(WaitForFile(work));
  kill(keeper.front(), SIGCONT);
  ExpectThatWorkersMetTheDriver();
}

}  // namespace
}  // namespace tony
