// The keeper, the machine's ledger, and what the AM is told of its turn.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_claim.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"
#include "tests/support/run_until.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A machine of 1000 MB; our job asks for 600 of them.
class KeeperClaimTest : public KeeperFixture {
 protected:
  KeeperClaimTest() {
    SetMachine(R"({"memory_mb": 1000, "gpus": [0, 1, 2, 3]})");
    SetTasks(2, {300, 1, 0});
  }

  // Another job on the machine, of this process.
  struct Other {
    std::unique_ptr<LedgerClaim> claim;
    bool admitted = false;
  };
  std::unique_ptr<Other> EnterOther() {
    auto other = std::make_unique<Other>();
    auto claim = LedgerClaim::Enter(loop_, *LedgerFolder::FindFor(records_), {"other"}, {.memory_mb = 600}, false,
                                    {[o = other.get()] { o->admitted = true; }, [](const std::string&) {}});
    EXPECT_TRUE(claim.ok());
    other->claim = *std::move(claim);
    return other;
  }
  bool IsAdmitted(const Other& other) {
    return WaitFor([&] { return other.admitted; });
  }
  void Ask() { scheduler_->Request({{{{"worker", 0}, 1}, {}}}); }
  bool Granted() {
    return WaitFor([this] { return !Told<ContainerGranted>().empty(); });
  }
  std::string Delay() const {
    const auto told = Told<ContainersDelayed>();
    return told.empty() ? "not told" : told.back().reason;
  }
  bool Waits() {
    return WaitFor([this] { return Delay().find("600 MB") != std::string::npos; });
  }
  bool ReachedAgain() {
    return WaitFor([this] { return Told<SchedulerReached>().size() == 2; });
  }
};

TEST_F(KeeperClaimTest, JobThatFitsIsAdmittedAndHearsOfNoDelay) {
  StartKeeper();
  BecomeAm({1});
  Ask();
  ASSERT_TRUE(Granted());
  EXPECT_THAT(Told<ContainersDelayed>(), IsEmpty());
}

TEST_F(KeeperClaimTest, RequestsWaitUntilTheJobIsAdmitted) {
  const auto other = EnterOther();
  ASSERT_TRUE(IsAdmitted(*other));
  StartKeeper();
  BecomeAm({1});
  Ask();
  ASSERT_TRUE(Waits());
  EXPECT_THAT(Delay(), HasSubstr("waits for 600 MB of memory: 400 of 1000 MB are free"));
  EXPECT_THAT(Told<ContainerGranted>(), IsEmpty());
  other->claim->Leave();
  ASSERT_TRUE(Granted());
  EXPECT_EQ(Delay(), "");
}

TEST_F(KeeperClaimTest, NewAmOfAWaitingJobIsToldToo) {
  const auto other = EnterOther();
  ASSERT_TRUE(IsAdmitted(*other));
  StartKeeper();
  BecomeAm({1});
  ASSERT_TRUE(Waits());
  SignalAll(WithEnvironment("TONY_AM=" + records_.job().value), SIGKILL);
  ASSERT_TRUE(WaitFor([this] { return Content("ams") == "1\n2\n"; }));
  BecomeAm({2});
  EXPECT_TRUE(Waits());
}

TEST_F(KeeperClaimTest, LaunchOfAJobThatIsNotAdmittedWaitsOrIsStopped) {
  const auto other = EnterOther();
  ASSERT_TRUE(IsAdmitted(*other));
  StartKeeper();
  BecomeAm({1});
  Launch("1-1", ">ran1");
  Launch("1-2", ">ran2");
  ASSERT_TRUE(Waits());
  scheduler_->Stop({"1-1"}, StopMode::kTerm);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_EQ(Exit("1-1")->error, "stopped before it was launched");
  EXPECT_FALSE(Started("1-2"));
  other->claim->Leave();
  ASSERT_TRUE(WaitFor([&] { return Exit("1-2"); }));
  EXPECT_TRUE(std::filesystem::exists(records_.place() / "ran2"));
  EXPECT_FALSE(std::filesystem::exists(records_.place() / "ran1"));
}

TEST_F(KeeperClaimTest, JobWhoseKeeperIsKilledKeepsWaiting) {
  const auto other = EnterOther();
  ASSERT_TRUE(IsAdmitted(*other));
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Ask();
  ASSERT_TRUE(Waits());
  KillKeeper(keeper);
  ASSERT_TRUE(ReachedAgain());
  EXPECT_THAT(Told<ContainerGranted>(), IsEmpty());
  other->claim->Leave();
  ASSERT_TRUE(Granted());
}

TEST_F(KeeperClaimTest, RunningJobWhoseKeeperIsKilledKeepsItsPlace) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "exec sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Started("1-1"); }));
  const auto other = EnterOther();
  KillKeeper(keeper);
  ASSERT_TRUE(ReachedAgain());
  Ask();
  ASSERT_TRUE(Granted()) << "what it has asked for is still its own";
  EXPECT_FALSE(other->admitted);
  bool finished = false;
  scheduler_->Finish({}, [&] { finished = true; });
  ASSERT_TRUE(WaitFor([&] { return finished; }));
  EXPECT_TRUE(IsAdmitted(*other));
}

TEST_F(KeeperClaimTest, ExecutorsHoldTheClaimOfADeadKeeper) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "echo $$ >pid; exec sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return !Content("pid").empty(); }));
  scheduler_.reset();
  KillKeeper(keeper);
  SignalAll(WithEnvironment("TONY_AM=" + records_.job().value), SIGKILL);
  const auto other = EnterOther();
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return other->admitted; }, Duration(300)));
  kill(static_cast<pid_t>(*ParseInt(Trim(Content("pid")))), SIGKILL);
  EXPECT_TRUE(IsAdmitted(*other));
}

TEST_F(KeeperClaimTest, LedgerThatCannotBeUsedIsNamedUntilItCanBe) {
  std::filesystem::remove_all(ledger());
  std::ofstream(ledger()) << "";
  StartKeeper();
  BecomeAm({1});
  Ask();
  ASSERT_TRUE(WaitFor([&] { return Delay() != "not told"; }));
  EXPECT_THAT(Delay(), AllOf(HasSubstr("waits for the ledger, which cannot be used: "), HasSubstr(ledger().string())));
  EXPECT_THAT(Told<ContainerGranted>(), IsEmpty());
  std::filesystem::remove(ledger());
  ASSERT_TRUE(Granted());
  EXPECT_EQ(Delay(), "");
}

TEST_F(KeeperClaimTest, JobPastItsUsersRunTimeIsAskedToEndWithTheLimitNamed) {
  SetMachine(R"({"memory_mb": 1000, "gpus": [0, 1, 2, 3], "user_limits": {"run_minutes": 59}})");
  // As an earlier keeper of the job left it; we are in the place of an executor.
  LedgerEntry entry{.number = 1, .job = records_.job(), .ask = {.memory_mb = 600}, .place = Place::kAdmitted};
  entry.admitted_at = loop_.Now() - std::chrono::hours(1);
  const auto held = LedgerFolder::FindFor(records_)->Lock()->Add(entry);
  ASSERT_TRUE(held.ok()) << held.error().message;
  StartKeeper();
  const auto asked = [this] {
    const auto kills = records_.ReadKills();
    return kills.ok() && !kills->empty() ? kills->front().request.reason : "";
  };
  ASSERT_TRUE(WaitFor([&] { return !asked().empty(); }));
  EXPECT_THAT(asked(), AllOf(HasSubstr("the job has run for 59 minutes, all that machine.json lets a job of "),
                             HasSubstr(" run here (run_minutes)")));
}

class KeeperGpuTest : public KeeperClaimTest {
 protected:
  static constexpr Resources kTwoGpus{10, 1, 2};
  static constexpr char kHold[] = "echo $CUDA_VISIBLE_DEVICES >gpus-$N; while ! [ -e go-$N ]; do sleep 0.01; done";
  KeeperGpuTest() { SetTasks(2, kTwoGpus); }
  void Hold(const std::string& number, const Resources& resources = kTwoGpus) {
    Launch("1-" + number, kHold, {"N=" + number}, resources);
  }
  void Go(const std::string& number) const { std::ofstream(records_.place() / ("go-" + number)) << ""; }
  std::string Gpus(const std::string& number) {
    EXPECT_TRUE(WaitFor([&] { return !Content("gpus-" + number).empty(); }));
    return Content("gpus-" + number);
  }
};

TEST_F(KeeperGpuTest, ContainersGetGpusOfTheirOwnAndGiveThemBack) {
  StartKeeper();
  BecomeAm({1});
  Hold("1");
  Hold("2");
  EXPECT_EQ(Gpus("1"), "0,1\n");
  EXPECT_EQ(Gpus("2"), "2,3\n");
  Hold("3");
  Hold("4", {10, 1, 0});
  EXPECT_EQ(Gpus("4"), "\n") << "one that asked for none sees none, and waits for none";
  EXPECT_FALSE(Started("1-3"));
  Go("2");
  EXPECT_EQ(Gpus("3"), "2,3\n");
}

TEST_F(KeeperGpuTest, LaterKeeperKnowsWhoHasWhich) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Hold("1");
  Hold("2");
  ASSERT_EQ(Gpus("1") + Gpus("2"), "0,1\n2,3\n");
  KillKeeper(keeper);
  ASSERT_TRUE(ReachedAgain());
  Hold("3");
  Hold("4", {10, 1, 0});
  Gpus("4");
  EXPECT_FALSE(Started("1-3"));
  Go("1");
  EXPECT_EQ(Gpus("3"), "0,1\n");
}

TEST_F(KeeperGpuTest, MoreThanTheJobHasIsAnError) {
  StartKeeper();
  BecomeAm({1});
  Launch("1-1", "exit 0", {}, {10, 1, 5});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_EQ(Exit("1-1")->error, "launch: 5 GPUs are asked for, the job has 4");
}

// ---- what SIGKILL does not end

// Freezes a process for good, as a disk that does not answer: state D, until this ends.
class Frozen {
 public:
  Frozen() : folder_(StrCat("/sys/fs/cgroup/freezer/tony-test-", getpid())) {
    std::error_code error;
    std::filesystem::create_directory(folder_, error);
    valid_ = std::filesystem::exists(folder_ / "freezer.state") && access((folder_ / "tasks").c_str(), W_OK) == 0;
  }
  ~Frozen() {
    if (!valid_) return;
    Thaw();
    EventLoop loop;
    RunUntil(loop, [this] { return rmdir(folder_.c_str()) == 0; });
  }
  bool valid() const { return valid_; }
  void Freeze(pid_t pid) const {
    std::ofstream(folder_ / "cgroup.procs") << pid;
    std::ofstream(folder_ / "freezer.state") << "FROZEN";
  }
  void Thaw() const { std::ofstream(folder_ / "freezer.state") << "THAWED"; }

 private:
  const std::filesystem::path folder_;
  bool valid_ = false;
};

TEST_F(KeeperClaimTest, NeedsFreezerWhatTheKernelHoldsKeepsThePlaceAndNobodyWaiting) {
  const Frozen frozen;
  if (!frozen.valid()) GTEST_SKIP() << "no freezer of cgroup v1 can be made";
  SetLimits({"QUICK_KEEPER_PATIENCE=200", "QUICK_KEEPER_FAREWELL=0"});
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "echo $$ >pid; exec sleep 1000");
  ASSERT_TRUE(WaitFor([this] { return Content("pid").ends_with("\n"); }));
  frozen.Freeze(static_cast<pid_t>(*ParseInt(Trim(Content("pid")))));
  const auto other = EnterOther();
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ASSERT_TRUE(WaitFor([this] { return Exit("1-1"); }));
  EXPECT_TRUE(Exit("1-1")->left);
  EXPECT_THAT(Exit("1-1")->error, HasSubstr("the kernel holds it (state D)"));
  scheduler_->Finish({}, [] {});
  EXPECT_TRUE(WaitFor([this] { return !JobFolder(records_).IsLocked("keeper.lock"); })) << "who waits goes on";
  EXPECT_FALSE(keepers_[keeper]);
  EXPECT_FALSE(other->admitted) << "its memory is not free";
  frozen.Thaw();
  EXPECT_TRUE(IsAdmitted(*other));
  EXPECT_TRUE(KeeperEnded(keeper));
}

// The owner of the machine may want the place more than he minds the process.
TEST_F(KeeperClaimTest, NeedsFreezerTermGivesSuchAPlaceBack) {
  const Frozen frozen;
  if (!frozen.valid()) GTEST_SKIP() << "no freezer of cgroup v1 can be made";
  SetLimits({"QUICK_KEEPER_PATIENCE=200", "QUICK_KEEPER_FAREWELL=0"});
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "echo $$ >pid; exec sleep 1000");
  ASSERT_TRUE(WaitFor([this] { return Content("pid").ends_with("\n"); }));
  frozen.Freeze(static_cast<pid_t>(*ParseInt(Trim(Content("pid")))));
  scheduler_->Finish({}, [] {});
  ASSERT_TRUE(WaitFor([this] { return !JobFolder(records_).IsLocked("keeper.lock"); }));
  kill(keeper, SIGTERM);
  EXPECT_TRUE(KeeperEnded(keeper));
  EXPECT_TRUE(IsAdmitted(*EnterOther()));
}

}  // namespace
}  // namespace tony
