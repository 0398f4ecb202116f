// The keeper, the machine's ledger (the queue of its jobs), and what the AM learns about its queue position.
#include <gmock/gmock.h>

#include "runtime/ledger/ledger_reservation.h"
#include "tests/support/results.h"
#include "tests/unit/keeper/keeper_script.h"

namespace tony {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A machine with 1000 MB, of which our job requests 600 MB. Another job of 600 MB, held by this process, may be in the
// ledger too.
class ClaimWorld : public KeeperWorld {
 public:
  ClaimWorld() {
    SetMachine(R"({"memory_mb": 1000, "gpus": [0, 1, 2, 3]})");
    SetTasks(2, {300, 1, 0});
  }
  void EnterOther() {
    auto claim = LedgerReservation::Enter(loop_, *LedgerFolder::FindFor(records_), {"other"}, {.memory_mb = 600}, false,
                                          {[this] { admitted_ = true; }, [](const std::string&) {}});
    ASSERT_TRUE(claim.ok());
    other_ = *std::move(claim);
  }
  std::string OtherIsAdmitted() {
    return Have(WaitFor([&] { return admitted_; }));
  }
  std::string Delay() const {
    const auto told = Told<ContainersPending>();
    if (told.empty()) return "not told";
    return told.back().reason.empty() ? "none" : Replaced(told.back().reason, ledger().string(), "LEDGER");
  }
  static Deeds<ClaimWorld> Its() {
    static constexpr char kHold[] = "echo $CUDA_VISIBLE_DEVICES >gpus-$N; while ! [ -e go-$N ]; do sleep 0.01; done";
    return WordsOf<ClaimWorld>({
        {"other", [](auto& w, auto&) { w.EnterOther(); }},
        {"other-admitted", [](auto& w, auto&) { return w.OtherIsAdmitted(); }},
        {"other-is-admitted", [](auto& w, auto&) { return Have(w.admitted_); }},
        {"other-early", [](auto& w, auto&) { return w.WithinAMoment([&] { return w.admitted_; }); }},
        {"other-leaves", [](auto& w, auto&) { w.other_->Leave(); }},
        {"ask",
         [](auto& w, auto&) {
           w.scheduler_->Request({{{{"worker", 0}, 1}, {}}});
         }},
        {"granted", [](auto& w, auto&) { w.Hear([&] { return !w.template Told<ContainerGranted>().empty(); }); }},
        {"grants", [](auto& w, auto&) { return StrCat(w.template Told<ContainerGranted>().size()); }},
        {"waits", [](auto& w, auto&) { w.Hear([&] { return w.Delay().find("600 MB") != std::string::npos; }); }},
        {"delayed", [](auto& w, auto&) { w.Hear([&] { return w.Delay() != "not told"; }); }},
        {"delay", [](auto& w, auto&) { return w.Delay(); }},
        {"break-ledger",
         [](auto& w, auto&) {
           std::filesystem::remove_all(w.ledger());
           std::ofstream(w.ledger()) << "";
         }},
        {"mend-ledger", [](auto& w, auto&) { std::filesystem::remove(w.ledger()); }},
        {"tasks-with-gpus",
         [](auto& w, auto& its) {
           w.SetTasks(2, {10, 1, static_cast<int>(its.Number(1))});
         }},
        // Launches a container that writes its GPUs to a file, and holds them until the file go-N exists.
        {"hold",
         [](auto& w, auto& its) {
           w.Launch("1-" + its[1], kHold, {"N=" + its[1]}, {10, 1, static_cast<int>(its.Number(2))});
         }},
        {"gpus",
         [](auto& w, auto& its) {
           w.Hear([&] { return w.Content("gpus-" + its[1]).ends_with("\n"); });
           return "GPUs " + std::string(Trim(w.Content("gpus-" + its[1])));
         }},
    });
  }
  std::unique_ptr<LedgerReservation> other_;
  bool admitted_ = false;
};

const TestRow kClaims[] = {
    {"AJobThatFitsIsAdmittedWithoutAPendingReason", {{"begin | ask | granted | delay", "not told"}}},
    {"ContainerRequestsWaitUntilTheJobIsAdmitted",
     {{"other | other-admitted | begin | ask | waits | delay | grants",
       "yes | ~waits for 600 MB of memory: 400 of 1000 MB are free | 0"},
      {"other-leaves | granted | delay", "none"}}},
    {"ARestartedAmOfAQueuedJobReceivesThePendingReason",
     {{"other | other-admitted | begin | waits | kill-am | ams 1,2 | am 2 | waits", "yes"}}},
    {"AContainerOfAQueuedJobStartsAtAdmissionUnlessAStopRequestArrivesFirst",
     {{"other | other-admitted | begin | launch 1-1 >ran1 | launch 1-2 >ran2 | waits | term 1-1 | end 1-1",
       "yes | unseen: the container was stopped before its launch"},
      {"is-started 1-2 | other-leaves | end 1-2 | is ran2 | is ran1", "no | code 0 | yes | no"}}},
    {"AQueuedJobWhoseKeeperIsKilledStaysQueued",
     {{"other | other-admitted | begin | ask | waits | next-keeper | grants | other-leaves | granted", "yes | 0"}}},
    {"ARunningJobWhoseKeeperIsKilledKeepsItsReservation",
     {{"begin | launch 1-1 exec sleep 1000 | started 1-1 | other | next-keeper | ask", ""},
      // the job kept its reservation
      {"granted | other-is-admitted | finish | finished | other-admitted", "no | yes"}}},
    {"ALivingExecutorKeepsTheReservationOfItsJobAfterTheKeepersDeath",
     {{"begin | launch 1-1 echo $$ >pid; exec sleep 1000 | filled pid | hang-up | kill-keeper | kill-am | other", ""},
      {"other-early | kill-pid pid | other-admitted", "no | yes"}}},
    {"ThePendingReasonNamesTheLedgerWhileItIsUnusable",
     {{"break-ledger | begin | ask | delayed | delay | delay | grants",
       "~waits for the ledger, which cannot be used:  | ~LEDGER | 0"},
      {"mend-ledger | granted | delay", "none"}}},
};
TABLE_TEST(KeeperClaimTest, kClaims, ScriptIn<ClaimWorld>());

const TestRow kGpus[] = {
    {"GpusAreAssignedToOneContainerAtATimeAndFreedAtItsExit",
     {{"tasks-with-gpus 2 | begin | hold 1 2 | hold 2 2 | gpus 1 | gpus 2", "GPUs 0,1 | GPUs 2,3"},
      // A container that requested no GPUs sees none and does not wait for any.
      {"hold 3 2 | hold 4 0 | gpus 4", "GPUs "},
      {"is-started 1-3 | write go-2 | gpus 3", "no | GPUs 2,3"}}},
    {"TheNextKeeperDoesNotReassignGpusOfContainersThatStillRun",
     {{"tasks-with-gpus 2 | begin | hold 1 2 | hold 2 2 | gpus 1 | gpus 2", "GPUs 0,1 | GPUs 2,3"},
      {"next-keeper | hold 3 2 | hold 4 0 | gpus 4 | is-started 1-3 | write go-1 | gpus 3", "GPUs  | no | GPUs 0,1"}}},
    {"LaunchingAContainerWithMoreGpusThanTheJobHasIsAnError",
     {{"tasks-with-gpus 2 | begin | hold 1 5 | end 1-1",
       "unseen: launch: the container requests 5 GPUs, and the job has only 4"}}},
};
TABLE_TEST(KeeperGpuTest, kGpus, ScriptIn<ClaimWorld>());

using KeeperTurnTest = ClaimWorld;

TEST_F(KeeperTurnTest, AJobThatExceedsItsUsersRunTimeLimitGetsAKillRequestWithTheLimitAsReason) {
  SetMachine(R"({"memory_mb": 1000, "gpus": [0, 1, 2, 3], "user_limits": {"run_minutes": 59}})");
  // The entry is as an earlier keeper of the job left it. The test holds the entry in place of an executor.
  LedgerEntry entry{.number = 1, .job = records_.job(), .ask = {.memory_mb = 600}, .place = Place::kAdmitted};
  entry.admitted_at = loop_.Now() - std::chrono::hours(1);
  const auto held = Must(LedgerFolder::FindFor(records_)->Lock()->Add(entry));
  StartKeeper();
  const auto asked = [this] {
    const auto kills = records_.ReadKills();
    return kills.ok() && !kills->empty() ? kills->front().request.reason : "";
  };
  ASSERT_TRUE(WaitFor([&] { return !asked().empty(); }));
  EXPECT_THAT(asked(), AllOf(HasSubstr("the job has run for 59 minutes, which is the limit for a job of "),
                             HasSubstr(" on this machine (run_minutes in machine.json)")));
}

// ---- processes that SIGKILL does not end

// Freezes a process like a disk that does not answer: the process stays in state D until it is thawed or this object is
// destroyed.
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

class FrozenTest : public ClaimWorld {
 protected:
  void SetUp() override {
    if (!frozen_.valid()) GTEST_SKIP() << "no freezer of cgroup v1 can be made";
    SetLimits({"QUICK_KEEPER_PATIENCE=200", "QUICK_KEEPER_FAREWELL=0"});
    Begin();
    Launch("1-1", "echo $$ >pid; exec sleep 1000");
    frozen_.Freeze(PidIn("pid"));
  }
  void FinishWhileItIsHeld() {
    scheduler_->Finish({}, [] {});
    EXPECT_TRUE(WaitFor([this] { return !JobFolder(records_).IsLocked("keeper.lock"); })) << "who waits goes on";
  }
  const Frozen frozen_;
};

TEST_F(FrozenTest, AFrozenProcessOfAFinishedJobKeepsTheReservationButNotTheKeeperLock_NeedsFreezer) {
  EnterOther();
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  EXPECT_THAT(EndOf("1-1"), AllOf(HasSubstr(" left"), HasSubstr("the kernel holds it (state D)")));
  FinishWhileItIsHeld();
  EXPECT_FALSE(keepers_[keeper_]);
  EXPECT_FALSE(admitted_) << "its memory is not free";
  frozen_.Thaw();
  EXPECT_EQ(OtherIsAdmitted(), "yes");
  EXPECT_TRUE(KeeperEnded(keeper_));
}

// The machine's owner may want the reservation back although the frozen process still exists.
TEST_F(FrozenTest, SigtermToTheKeeperFreesTheReservationThatAFrozenProcessKeeps_NeedsFreezer) {
  FinishWhileItIsHeld();
  kill(keeper_, SIGTERM);
  EXPECT_TRUE(KeeperEnded(keeper_));
  EnterOther();
  EXPECT_EQ(OtherIsAdmitted(), "yes");
}

}  // namespace
}  // namespace tony
