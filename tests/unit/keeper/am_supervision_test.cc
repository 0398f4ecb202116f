#include "runtime/keeper/am_supervision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/os/files.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/fake_process_runner.h"
#include "tests/support/living_process.h"
#include "tests/support/no_more_files.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ExitKind = ExitStatus::Kind;
using Kind = AmDeath::Kind;

constexpr Duration kNever = std::chrono::hours(100);

// A FakeProcessRunner that reads the epoch in the job's folder at each start, and returns `pid` as the process id if it
// is set.
class LookingRunner : public FakeProcessRunner {
 public:
  LookingRunner(EventLoop& loop, const JobRecords& records) : FakeProcessRunner(loop), records_(records) {}
  Result<pid_t> Start(const ProcessSpec& spec, OnExit on_exit) override {
    const auto epoch = ReadFile(records_.place() / "epoch");
    epochs.push_back(epoch.ok() ? std::string(Trim(*epoch)) : "none");
    auto given = FakeProcessRunner::Start(spec, std::move(on_exit));
    if (!given.ok()) return given;
    newest = *given;
    return pid ? *pid : newest;
  }
  std::vector<std::string> epochs;  // the folder's epoch at each start
  std::optional<pid_t> pid;
  pid_t newest = 0;

 private:
  const JobRecords& records_;
};

class AmSupervisionTest : public ::testing::Test {
 protected:
  AmSupervisionTest() {
    NewJob job;
    job.spec.roles.emplace_back().name = "worker";
    auto folder = LocalJobStore(temp_.path()).Create(job, FromMillis(0));
    EXPECT_TRUE(folder.ok());
    records_ = *std::move(folder);
    runner_ = std::make_unique<LookingRunner>(loop_, records_);
    options_ = {.program = "/bin/tony-am", .silence = kNever, .adoption = kNever, .farewell = kNever};
  }

  AmSupervision& Supervise() {
    AmSupervision::Listener listener;
    listener.on_start = [this] { said_.emplace_back("start"); };
    listener.before_judging = [this] {
      if (before_judging_) before_judging_();
    };
    listener.on_gave_up = [this](const std::string& why) { said_.push_back("gave up: " + why); };
    listener.on_unreadable = [this](const std::string& why) { said_.push_back("unreadable: " + why); };
    listener.on_retired = [this] { said_.emplace_back("retired"); };
    supervision_ = std::make_unique<AmSupervision>(loop_, *runner_, records_, environment_, options_, listener);
    return *supervision_;
  }
  void Exit(ExitStatus status) { runner_->Exit(runner_->newest, status); }
  bool WaitFor(const std::function<bool()>& condition) { return RunUntil(loop_, condition, std::chrono::seconds(30)); }
  // Waits until everything that is due now has happened.
  void Settle() {
    bool settled = false;
    EventLoop::Timer first = loop_.After(Duration(0), [&] { loop_.Post([&] { settled = true; }); });
    ASSERT_TRUE(WaitFor([&] { return settled; }));
  }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(records_.place() / name) << text; }
  std::string Content(const std::string& name) const {
    const auto text = ReadFile(records_.place() / name);
    return text.ok() ? *text : "";
  }
  std::string Mark() const { return StrCat(kAmMark, "=", records_.job().value); }
  std::string EpochOfStart(size_t i) const { return runner_->started.at(i).argv.at(2); }

  TempFolder temp_;
  EventLoop loop_;
  JobRecords records_ = LocalJobRecords("");
  std::unique_ptr<LookingRunner> runner_;
  std::vector<std::string> environment_;
  AmOptions options_;
  std::function<void()> before_judging_;
  std::vector<std::string> said_;
  std::unique_ptr<AmSupervision> supervision_;
};

TEST_F(AmSupervisionTest, TheEpochIsWrittenToTheEpochFileBeforeTheAmStarts) {
  Supervise().Begin();
  EXPECT_THAT(runner_->epochs, ElementsAre("1"));
  EXPECT_EQ(EpochOfStart(0), "1");
  EXPECT_THAT(said_, ElementsAre("start"));
}

TEST_F(AmSupervisionTest, TheNextAmGetsAnEpochAboveTheEpochFileAndTheLease) {
  Write("epoch", "3\n");
  ASSERT_TRUE(records_.WriteLease({.epoch = {7}, .am = {.own = Endpoint{"127.0.0.1", 1}}}).ok());
  Supervise().Begin();
  EXPECT_EQ(EpochOfStart(0), "8") << "a power cut took the newer file";
  Write("epoch", "9\n");
  Supervise().Begin();
  EXPECT_EQ(EpochOfStart(1), "10");
}

TEST_F(AmSupervisionTest, TheAmInheritsTheStatusPageSocketAndFindsItsDescriptorInTheEnvironment) {
  Supervise().Begin();
  const ProcessSpec& am = runner_->started.at(0);
  ASSERT_THAT(am.inherited, SizeIs(1));
  EXPECT_THAT(am.env, Contains(StrCat("TONY_PAGE_SOCKET=", am.inherited[0])));
}

TEST_F(AmSupervisionTest, EachDeathOfTheAmIsRecordedAsKilledOrCrashed) {
  Supervise().Begin();
  Exit({ExitKind::kSignaled, SIGKILL});
  ASSERT_TRUE(WaitFor([&] { return runner_->started.size() == 2; }));
  EXPECT_THAT(Content("am.deaths"), EndsWith(" killed\n"));
  Exit({ExitKind::kSignaled, SIGSEGV});
  ASSERT_TRUE(WaitFor([&] { return runner_->started.size() == 3; }));
  EXPECT_THAT(Content("am.deaths"), EndsWith(" crashed\n"));
  EXPECT_THAT(Split(Content("am.deaths"), '\n'), SizeIs(3)) << "two lines, and what is behind the last";
}

TEST_F(AmSupervisionTest, TheAmCrashLimitIncludesCrashesRecordedByAnEarlierKeeper) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(RecordDeath(records_, {loop_.Now()}).ok());
  Supervise().Begin();
  Exit({ExitKind::kExited, 70});
  ASSERT_TRUE(WaitFor([&] { return said_.size() == 2; }));
  EXPECT_EQ(said_[1], "gave up: the application master crashed 5 times within 5 min; the last cause: exit code 70");
  EXPECT_TRUE(supervision_->Gone());
  EXPECT_THAT(runner_->started, SizeIs(1));
}

TEST_F(AmSupervisionTest, TheKeeperStopsRestartingTheAmAfter200KillsWithin5Minutes) {
  for (size_t i = 1; i < DeathBudget::kMostKills; ++i)
    ASSERT_TRUE(RecordDeath(records_, {loop_.Now(), AmDeath::Kind::kKilled}).ok());
  Supervise().Begin();
  Exit({ExitKind::kSignaled, SIGKILL});
  ASSERT_TRUE(WaitFor([&] { return said_.size() == 2; }));
  EXPECT_THAT(said_[1], HasSubstr("the application master was killed 200 times within 5 min"));
}

TEST_F(AmSupervisionTest, AnAmStartThatFailsOnAFullDiskIsRetriedAndNotRecordedAsACrash) {
  runner_->failure = Error{ErrorCode::kCannotWrite, "no room"};
  Supervise().Begin();
  EXPECT_EQ(Content("am.deaths"), "");
  runner_->failure.reset();
  ASSERT_TRUE(WaitFor([&] { return runner_->started.size() == 2; }));
  EXPECT_THAT(said_, ElementsAre("start"));
}

TEST_F(AmSupervisionTest, AnAmProgramThatCannotBeStartedIsRecordedAsACrash) {
  runner_->failure = Error{ErrorCode::kNotFound, "no such program"};
  Supervise().Begin();
  EXPECT_THAT(Content("am.deaths"), EndsWith(" crashed\n"));
}

TEST_F(AmSupervisionTest, TheKeeperReportsTheJournalErrorFromTheAmsLog) {
  Write("am.log", "earlier\n12:00:00 error: journal: record 7 is damaged\n");
  Supervise().Begin();
  Exit({ExitKind::kExited, static_cast<int>(ErrorCode::kInvalid)});
  ASSERT_TRUE(WaitFor([&] { return said_.size() == 2; }));
  EXPECT_EQ(said_[1], "unreadable: journal: record 7 is damaged");
  EXPECT_EQ(Content("am.deaths"), "") << "no other will fare better: it is not one of several deaths";
}

TEST_F(AmSupervisionTest, PendingMessagesOfTheAmAreReadBeforeTheAmIsTreatedAsSilent) {
  options_.silence = Duration(20);
  int judged = 0;
  before_judging_ = [&] {
    ++judged;
    supervision_->OnRenewed();
  };
  Supervise().Begin();
  EXPECT_TRUE(WaitFor([&] { return judged == 4; }));
  Exit({ExitKind::kSignaled, SIGKILL});
  ASSERT_TRUE(WaitFor([&] { return runner_->started.size() == 2; }));
  EXPECT_THAT(Content("am.deaths"), EndsWith(" killed\n")) << "had it been silent, this were a crash";
}

TEST_F(AmSupervisionTest, ASilentAmIsKilledByPidEvenIfItsEnvironmentMarkIsMissing) {
  LivingProcess am("UNMARKED=1");
  runner_->pid = am.pid();
  options_.silence = Duration(0);
  Supervise().Begin();
  ASSERT_TRUE(WaitFor([&] { return am.End().has_value(); }));
  EXPECT_TRUE(WIFSIGNALED(*am.End()) && WTERMSIG(*am.End()) == SIGKILL);
  runner_->pid.reset();  // the next AM is another process
  Exit({ExitKind::kSignaled, SIGKILL});
  Settle();
  EXPECT_THAT(Content("am.deaths"), EndsWith(" crashed\n")) << "killed by the keeper, for its silence";
}

TEST_F(AmSupervisionTest, AnUnrecordedAmOfADeadKeeperIsKilledBeforeTheNextAmStarts) {
  LivingProcess am(Mark());
  const auto lock = Must(JobFolder(records_).Lock("am.lock"));
  Supervise().Begin();
  EXPECT_TRUE(WaitFor([&] { return am.End().has_value(); }));
  EXPECT_THAT(runner_->started, SizeIs(1));
}

TEST_F(AmSupervisionTest, ANewKeeperAdoptsALivingAmThatSendsAHelloWithTheCurrentEpoch) {
  Write("epoch", "4\n");
  LivingProcess am(Mark());
  Supervise().Begin();
  Settle();
  EXPECT_THAT(runner_->started, IsEmpty());
  EXPECT_FALSE(supervision_->OnHello({3}, am.pid())) << "of an earlier epoch";
  EXPECT_TRUE(supervision_->OnHello({4}, am.pid()));
  kill(am.pid(), SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return runner_->started.size() == 1; }));
  EXPECT_EQ(EpochOfStart(0), "5");
}

TEST_F(AmSupervisionTest, AnAmHelloThatFailedForLackOfDescriptorsSucceedsOnRetry) {
  Write("epoch", "4\n");
  LivingProcess am("A=1");
  const auto lock = Must(JobFolder(records_).Lock("am.lock"));
  Supervise().Begin();
  {
    const NoMoreFiles shortage;
    EXPECT_FALSE(supervision_->OnHello({4}, am.pid()));
  }
  EXPECT_TRUE(supervision_->OnHello({4}, am.pid()));
  kill(am.pid(), SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return runner_->started.size() == 1; })) << "its end was not seen";
}

TEST_F(AmSupervisionTest, AnAmThatExitsBeforeTheKeeperReadsItsHelloIsReplaced) {
  Write("epoch", "4\n");
  options_.adoption = Duration(1);
  const auto lock = Must(JobFolder(records_).Lock("am.lock"));
  Supervise().Begin();
  const pid_t gone = LivingProcess("A=1").pid();
  EXPECT_FALSE(supervision_->OnHello({4}, gone));
  EXPECT_TRUE(WaitFor([&] { return runner_->started.size() == 1; }));
}

TEST_F(AmSupervisionTest, RetirementIsReportedOnceAfterTheAmHasExited) {
  Supervise().Begin();
  supervision_->Retire();
  supervision_->Retire();
  Settle();
  EXPECT_THAT(said_, ElementsAre("start"));
  Exit({ExitKind::kExited, 0});
  ASSERT_TRUE(WaitFor([&] { return said_.size() == 2; }));
  EXPECT_EQ(said_[1], "retired");
  supervision_->Retire();
  Settle();
  EXPECT_THAT(said_, ElementsAre("start", "retired"));
}

TEST_F(AmSupervisionTest, RetirementIsReportedAtOnceIfNoAmRuns) {
  Supervise().Retire();
  ASSERT_TRUE(WaitFor([&] { return supervision_->Gone(); }));
  EXPECT_THAT(said_, ElementsAre("retired"));
}

TEST_F(AmSupervisionTest, ImmediateRetirementKillsTheAmAndIsReportedAfterTheAmsDeath) {
  LivingProcess am("UNMARKED=1");
  runner_->pid = am.pid();
  Supervise().Begin();
  supervision_->RetireAtOnce();
  ASSERT_TRUE(WaitFor([&] { return am.End().has_value(); }));
  Settle();
  EXPECT_THAT(said_, ElementsAre("start")) << "nobody has said yet that it ended";
  Exit({ExitKind::kSignaled, SIGKILL});
  ASSERT_TRUE(WaitFor([&] { return said_.size() == 2; }));
  EXPECT_EQ(said_[1], "retired");
}

TEST_F(AmSupervisionTest, RetirementWaitsForTheExitOfAnAmThatAnEarlierKeeperStarted) {
  LivingProcess am(Mark());
  Supervise().Retire();
  Settle();
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_FALSE(am.End());
  kill(am.pid(), SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return said_.size() == 1; }));
  EXPECT_EQ(said_[0], "retired");
}

// ---- deaths of the AM

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""min;

const Instant kNow = FromMillis(1795253415000);

TEST(DeathBudgetTest, EachCrashLengthensTheAmRestartDelayAndTheFifthCrashEndsRestarts) {
  DeathBudget budget;
  EXPECT_EQ(budget.Died({kNow}), 0ms);
  EXPECT_EQ(budget.Died({kNow + 1min}), 100ms);
  EXPECT_EQ(budget.Died({kNow + 2min}), 200ms);
  EXPECT_EQ(budget.Died({kNow + 3min}), 400ms);
  EXPECT_EQ(budget.Died({kNow + 5min}), std::nullopt);
}

TEST(DeathBudgetTest, TheAmIsRestartedAfterEachOfAHundredCrashesTwoMinutesApart) {
  DeathBudget budget;
  Instant now = kNow;
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(budget.Died({now}), std::nullopt);
    now += 2min;
  }
}

TEST(DeathBudgetTest, TheAmKillLimitOf200IsSeparateFromTheAmCrashLimit) {
  DeathBudget budget;
  for (size_t i = 1; i < DeathBudget::kMostKills; ++i) EXPECT_EQ(budget.Died({kNow, Kind::kKilled}), 0ms);
  EXPECT_EQ(budget.Died({kNow}), 0ms) << "the first crash";
  EXPECT_EQ(budget.Died({kNow, Kind::kKilled}), std::nullopt);
}

TEST(DeathBudgetTest, CrashesWithTimesInTheFutureAreForgottenAfterTheClockWasSetBack) {
  DeathBudget budget;
  for (int i = 0; i < 3; ++i) EXPECT_NE(budget.Died({kNow + 1000min}), std::nullopt);
  EXPECT_EQ(budget.Died({kNow}), 0ms);
}

TEST(AmDeathsTest, RecordedDeathsOfAnAmAreReadByTheNextKeeper) {
  const TempFolder temp;
  const JobRecords records = LocalJobRecords(temp.path());
  EXPECT_THAT(ReadDeaths(records), IsEmpty());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(RecordDeath(records, {kNow + i * 1ms}).ok());
  ASSERT_TRUE(RecordDeath(records, {kNow, Kind::kKilled}).ok());
  const auto deaths = ReadDeaths(records);
  ASSERT_THAT(deaths, SizeIs(5));
  EXPECT_EQ(deaths[3].time, kNow + 3ms);
  EXPECT_EQ(deaths[4].kind, Kind::kKilled);
  DeathBudget budget;
  budget.Restore(deaths);
  EXPECT_EQ(budget.Died({kNow + 4ms}), std::nullopt);
}

TEST(AmDeathsTest, MalformedLinesOfTheDeathsFileAreIgnored) {
  const TempFolder temp;
  std::ofstream(temp.path() / "am.deaths") << "x crashed\n12 sneezed\n\n12\n13 crashed\n14 cra";
  EXPECT_THAT(ReadDeaths(LocalJobRecords(temp.path())), SizeIs(1));
}

}  // namespace
}  // namespace tony::keeper
