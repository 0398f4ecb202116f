// Tasks with named ports that start in stages, with real processes.
#include "tests/e2e/staged_test.h"

namespace tony {
namespace {

// The driver listens at its port "control", publishes the address, and greets two workers. Each worker writes the
// greeting and the driver's address into a file.
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

class StagedTest : public StagedJobTest {
 protected:
  void SetUp() override {
    Submit(kTask);
    ASSERT_TRUE(WaitForFile(box_.File("running-driver"))) << DriverSays();
  }

  std::string DriverSays() const { return ReadText(box_.JobFolder(job_) / "logs" / "driver-0" / "1" / "stderr"); }
  void LetTheDriverPublish() const { box_.Write("publish", ""); }

  void ExpectThatWorkersMetTheDriver() {
    const Ran ran = Ends(*client_);
    for (const char* worker : {"met-0", "met-1"})
      EXPECT_THAT(ReadText(box_.File(worker)), HasSubstr("hello from driver:0=127.0.0.1:"));
    const std::string data = ReadText(box_.File("data-0"));
    for (const char* task : {"driver:0=127.0.0.1:", ",worker:0=127.0.0.1:", ",worker:1=127.0.0.1:"})
      EXPECT_THAT(data, HasSubstr(task));
    ExpectNothingLeft();
  }
};

TEST_F(StagedTest, WorkersStartAfterTheDriverHasPublishedItsAddress) {
  ASSERT_TRUE(WaitFor([&] { return Status().find(R"("running")") != std::string::npos; })) << Status();
  EXPECT_FALSE(fs::exists(box_.File("data-0"))) << "the driver has published nothing yet";
  LetTheDriverPublish();
  ExpectThatWorkersMetTheDriver();
  const std::string history = box_.Tony({"history", job_, "--events"}).out;
  EXPECT_LT(history.find("values_published"), history.find("stage_opened")) << history;
  EXPECT_THAT(history, HasSubstr("driver:0#1: ADDRESS=127.0.0.1:"));
}

TEST_F(StagedTest, ValuesPublishedWhileNoMasterRunsReachTheNextMaster) {
  const std::vector<pid_t> keeper = PidsOf("tony-keeper");
  ASSERT_EQ(keeper.size(), 1u);
  kill(keeper.front(), SIGSTOP);  // the stopped keeper starts no master
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
