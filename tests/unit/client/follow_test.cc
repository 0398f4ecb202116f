#include "runtime/client/follow.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>

#include "runtime/keeper/lost_job.h"
#include "runtime/local/local_arbiter.h"
#include "runtime/net/sockets.h"
#include "runtime/os/files.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/last_status.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class FakeAmLauncher : public AmLauncher {
 public:
  Result<bool> Start(const JobRecords& records) override {
    ++starts;
    if (on_start) TRY(on_start(records));
    return !someone_else_does;
  }
  ArbiterView Look(const JobRecords& records) const override {
    ArbiterView view = local_.Look(records);
    if (up && !view.IsKept()) view.kind = ArbiterView::Kind::kStarting;
    if (!waits.empty()) view.kind = ArbiterView::Kind::kKept;
    view.waits = waits;
    view.oldest_epoch = oldest_epoch;
    return view;
  }
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override {
    return local_.UnwrittenEnd(records);
  }
  Status Settle(const JobRecords& records) const override { return local_.Settle(records); }
  std::string KeeperFailureHint(const JobRecords& records) const override { return local_.KeeperFailureHint(records); }
  Result<bool> EndBeforeFirstAm(const JobRecords&, const KillRequest& kill) const override {
    asked_to_end.push_back(kill.reason);
    return true;
  }
  Result<bool> EndInScheduler(const JobId&, const std::string& reason) const override {
    ended_in_scheduler.push_back(reason);
    return true;
  }
  Result<std::optional<JobStatus>> EndWithoutRecords(const JobId& job, const std::string& reason,
                                                     Duration) const override {
    JobStatus status;
    status.job = job;
    EndStatus(status, {.state = FinalState::kKilled, .cls = OutcomeClass::kKilled, .message = reason}, FromMillis(1));
    return std::optional(std::move(status));
  }
  Pulse LookAfter(const JobRecords&) override {
    Pulse seen = pulse;
    pulse.note.clear();
    return seen;
  }
  Pulse pulse;
  int starts = 0;
  bool up = false;
  bool someone_else_does = false;  // somebody else starts it
  // A job that waits has no master yet, and its records stay.
  std::string waits;
  Epoch oldest_epoch{};
  mutable std::vector<std::string> asked_to_end, ended_in_scheduler;
  std::function<Status(const JobRecords&)> on_start;
  std::function<Result<std::optional<TokenPush>>()> on_push;

  Result<std::optional<TokenPush>> PrepareTokenPush(const JobRecords&) const override {
    return on_push ? on_push() : std::optional<TokenPush>();
  }

 private:
  LocalArbiter local_;
};

// A job without any process. The test does what its keeper (supervisor) would do, in FakeAmLauncher.
class FollowTest : public testing::Test {
 protected:
  FollowTest() : records_(NewJob()) {}

  JobRecords NewJob(Duration startup_timeout = Duration(0), Instant submitted = FromMillis(0)) {
    JobSpec spec;
    spec.roles = {{.name = "worker", .command = "true"}};
    spec.startup_timeout = startup_timeout;
    auto folder = LocalJobStore(home_.path()).Create({spec, {}}, submitted);
    EXPECT_TRUE(folder.ok()) << folder.error().message;
    return *folder;
  }
  static JobStatus Ended() {
    JobStatus status;
    status.state = "SUCCEEDED";
    status.verdict = Verdict{};
    return status;
  }
  // Writes what a keeper leaves at the end of a job.
  static Status BeOver(const JobRecords& records) {
    std::ofstream(JobFolder(records).finished()) << "";
    return records.WriteStatus(Ended(), Durability::kLostWithPower);
  }
  FollowSink Sink() {
    return {.on_status =
                [this](const JobStatus& status) {
                  ++statuses_;
                  newest_ = status;
                },
            .on_note = [this](const std::string& note) { notes_.push_back(note); },
            .on_end = [this](const Result<JobStatus>& end) { end_ = end; }};
  }
  bool RunToEnd() {
    return RunUntil(loop_, [this] { return end_.has_value(); });
  }

  TempFolder home_;
  EventLoop loop_;
  JobRecords records_;
  FakeAmLauncher launcher_;
  int statuses_ = 0;
  JobStatus newest_;
  std::vector<std::string> notes_;
  std::optional<Result<JobStatus>> end_;
};

TEST_F(FollowTest, AJobWhoseMasterDoesNotStartWithinTheStartupTimeoutIsEnded) {
  const JobRecords late = NewJob(Duration(60'000));
  launcher_.waits = "waits for its application master: the queue is full";
  Follower follower(loop_, late, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [&] { return launcher_.asked_to_end.size() > 1; })) << "until it has ended";
  const std::string why =
      "the application master had not started 60.0 s after the submission (tony.am.startup-timeout=60000): the job "
      "waits for its application master: the queue is full";
  EXPECT_EQ(launcher_.asked_to_end.front(), why);
  EXPECT_EQ(notes_, std::vector<std::string>{why});
}

class RefusingStore : public LocalRecordStore {
 public:
  using LocalRecordStore::LocalRecordStore;
  Result<std::optional<StoredRecord>> Get(const std::string&) const override {
    ++calls;
    return NotPermittedError("the token has expired");
  }
  mutable int calls = 0;
};

TEST_F(FollowTest, RecordsThatThisClientMayNoLongerReadAreReportedOnce) {
  const auto store = std::make_shared<RefusingStore>(home_.path());
  const JobRecords records(JobId{"x"}, "x", store);
  launcher_.waits = "waits for its application master";
  Follower follower(loop_, records, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [&] { return store->calls > 10; }));
  EXPECT_EQ(notes_, std::vector<std::string>{
                        "job x cannot be followed until its records can be read: the token has expired"});
}

TEST_F(FollowTest, AHangingKeeperIsReportedAndAKillOfItsJobReturnsUnavailable) {
  launcher_.waits = "a keeper that hangs";
  launcher_.pulse = {.silent = true, .note = "waits for the keeper"};
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [this] { return !notes_.empty(); }));
  EXPECT_EQ(notes_, std::vector<std::string>{"waits for the keeper"});
  launcher_.pulse.hopeless = true;
  follower.SendKill({"", {.reason = "enough"}});
  ASSERT_TRUE(RunToEnd());
  ASSERT_FALSE(end_->ok());
  EXPECT_EQ(end_->error().code, ErrorCode::kUnavailable);
  EXPECT_NE(end_->error().message.find("does not respond"), std::string::npos) << end_->error().message;
}

TEST_F(FollowTest, AJobWhoseMasterIsQueuedIsNotEndedBeforeTheStartupTimeout) {
  const JobRecords in_time = NewJob(Duration(600'000), RealClock().Now());
  launcher_.waits = "waits for its application master: the queue is full";
  Follower follower(loop_, in_time, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [&] { return newest_.delay == launcher_.waits; }));
  launcher_.waits = "waits for its application master: the container of the application master is being started";
  ASSERT_TRUE(RunUntil(loop_, [&] { return newest_.delay == launcher_.waits; }));
  EXPECT_TRUE(launcher_.asked_to_end.empty());
}

TEST_F(FollowTest, AFollowerDestroyedBeforeItsFirstCheckLeavesNoCallbackOnTheEventLoop) {
  std::optional<Follower> first(std::in_place, loop_, records_, launcher_, Sink());
  first->Start(Duration(10'000));
  first.reset();
  ASSERT_TRUE(BeOver(records_).ok());
  Follower second(loop_, records_, launcher_, Sink());
  second.Start(Duration(10'000));
  ASSERT_TRUE(RunToEnd());
  EXPECT_TRUE(end_->ok());
}

TEST_F(FollowTest, AKeeperThatIsSlowToStartIsNotStartedTwice) {
  launcher_.on_start = [this](const JobRecords&) {
    launcher_.up = true;
    return Ok();
  };
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  EXPECT_FALSE(RunUntil(
      loop_, [this] { return end_ || launcher_.starts > 1; }, std::chrono::seconds(4)));
  launcher_.up = false;
  ASSERT_TRUE(BeOver(records_).ok());
  ASSERT_TRUE(RunToEnd());
  EXPECT_TRUE(end_->ok());
  EXPECT_EQ(launcher_.starts, 1);
}

TEST_F(FollowTest, AKeeperRestartByAnotherProcessIsNotReported) {
  launcher_.on_start = BeOver;
  launcher_.someone_else_does = true;
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunToEnd());
  EXPECT_TRUE(end_->ok());
  EXPECT_TRUE(notes_.empty());
}

TEST_F(FollowTest, EachChangeOfThePendingReasonIsReported) {
  launcher_.waits = "waits for its application master: the queue is full";
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [&] { return newest_.delay == launcher_.waits; }));
  EXPECT_EQ(newest_.state, "ACCEPTED");
  EXPECT_EQ(newest_.tasks.size(), 1u);
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return statuses_ > 1; }, std::chrono::milliseconds(700)))
      << "nothing changed";
  launcher_.waits = "waits for its application master: the container of the application master is being started";
  ASSERT_TRUE(RunUntil(loop_, [&] { return newest_.delay == launcher_.waits; }));
  EXPECT_EQ(statuses_, 2);
  EXPECT_EQ(launcher_.starts, 0);
}

TEST_F(FollowTest, AKillOfAJobWhoseFirstMasterHasNotStartedIsSentToTheScheduler) {
  launcher_.up = true;
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  EXPECT_FALSE(RunUntil(
      loop_, [this] { return !launcher_.asked_to_end.empty(); }, std::chrono::milliseconds(300)))
      << "nobody wants its end";
  follower.SendKill({"", {.reason = "enough"}});
  ASSERT_TRUE(RunUntil(loop_, [this] { return !launcher_.asked_to_end.empty(); }));
  EXPECT_EQ(launcher_.asked_to_end.front(), "enough");
}

// No process listens at the address of the lease, as after the death of an AM.
TEST_F(FollowTest, AKillIsSentToTheSchedulerIfNoMasterRunsAndTheOwnerMatches) {
  launcher_.waits =
      "has no application master; YARN is starting attempt 2: the container of the application master is being started";
  ASSERT_TRUE(records_.WriteLease({{1}, {SocketOf({1})}, 1}).ok());
  JobStatus status;
  status.state = "RUNNING";
  status.claim.owner = {"o2"};
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
  std::optional<KillAnswer> answer;
  FollowSink sink = Sink();
  sink.on_kill = [&](KillAnswer given) { answer = given; };
  Follower follower(loop_, records_, launcher_, std::move(sink));
  follower.Start(Duration(0));
  const auto fenced = records_.WriteKill({.reason = "late", .if_owner = {"o1"}});
  follower.SendKill(*fenced, Duration(100));
  ASSERT_TRUE(RunUntil(loop_, [&] { return answer == KillAnswer::kFenced; }));
  follower.SendKill(*records_.WriteKill({.reason = "later", .delay = Duration(600'000)}), Duration(0));
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return !launcher_.ended_in_scheduler.empty(); }, Duration(300)));
  follower.SendKill(*records_.WriteKill({.reason = "patient"}));
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return !launcher_.ended_in_scheduler.empty(); }, Duration(300)))
      << "an AM may come for half a minute";
  follower.SendKill(*records_.WriteKill({.reason = "ours", .if_owner = {"o2"}}), Duration(100));
  ASSERT_TRUE(RunUntil(loop_, [&] { return !launcher_.ended_in_scheduler.empty(); }));
  EXPECT_EQ(launcher_.ended_in_scheduler.front(), "ours");
  EXPECT_FALSE(end_) << "the records are read again for the verdict";
}

TEST_F(FollowTest, AnUnrecordedKillIsSentToTheSchedulerIfItNamesTheLastKnownOwner) {
  launcher_.waits = "its store is away";
  ASSERT_TRUE(records_.WriteLease({{1}, {SocketOf({1})}, 1}).ok());
  Follower follower(loop_, records_, launcher_, Sink());
  JobStatus known;
  known.claim.owner = {"o1"};
  known.tasks.resize(3);
  follower.Know(known);
  follower.Start(Duration(0));
  follower.SendKill({"", {.reason = "not ours", .if_owner = {"o2"}}}, Duration(0));
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return !launcher_.ended_in_scheduler.empty(); }, Duration(300)));
  follower.SendKill({"", {.reason = "ours", .if_owner = {"o1"}}}, Duration(0));
  launcher_.waits.clear();
  ASSERT_TRUE(RunToEnd());
  ASSERT_TRUE(end_->ok());
  EXPECT_EQ((*end_)->verdict->message, "ours");
}

TEST_F(FollowTest, AMasterThatTheSchedulerHasReplacedIsNotContacted) {
  launcher_.waits =
      "has no application master; YARN is starting attempt 2: the container of the application master is being started";
  launcher_.oldest_epoch = {2000};
  ASSERT_TRUE(records_.WriteLease({{1001}, {SocketOf({1001})}, 1}).ok());
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [&] { return newest_.delay == launcher_.waits; })) << "the reason is reported";
  EXPECT_TRUE(launcher_.asked_to_end.empty()) << "the limit of the first start does not count";
  EXPECT_EQ(launcher_.starts, 0);
}

TEST_F(FollowTest, FollowingAnEndedJobStartsNoKeeper) {
  ASSERT_TRUE(BeOver(records_).ok());
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunToEnd());
  EXPECT_TRUE(end_->ok());
  EXPECT_EQ(statuses_, 1);
  EXPECT_EQ(launcher_.starts, 0);
}

TEST_F(FollowTest, TheKeeperOfAJobWithoutAMasterIsRestartedOnce) {
  launcher_.on_start = BeOver;
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunToEnd());
  EXPECT_TRUE(end_->ok());
  EXPECT_EQ(launcher_.starts, 1);
  EXPECT_EQ(notes_.size(), 1u);
}

TEST_F(FollowTest, FollowingFailsWhenTheKeeperCannotBeStarted) {
  launcher_.on_start = [](const JobRecords&) { return Status(Error{ErrorCode::kUnavailable, "no keeper"}); };
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunToEnd());
  EXPECT_EQ(end_->error().message, "no keeper");
}

TEST_F(FollowTest, TheEndOfAJobIsReportedAfterItsKeeperHasExited) {
  auto lock = JobFolder(records_).Lock("keeper.lock");
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(BeOver(records_).ok());
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [this] { return statuses_ == 1; }));
  EXPECT_FALSE(end_.has_value());
  lock->Reset();
  ASSERT_TRUE(RunToEnd());
  EXPECT_EQ(launcher_.starts, 0);
}

TEST_F(FollowTest, ANewKeeperIsStartedToCleanUpIfKeeperAndMasterDiedAfterTheVerdict) {
  ASSERT_TRUE(records_.WriteStatus(Ended(), Durability::kLostWithPower).ok());
  launcher_.on_start = BeOver;
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunToEnd());
  EXPECT_TRUE(end_->ok());
  EXPECT_EQ(launcher_.starts, 1);
}

TEST_F(FollowTest, AJobWhoseMachineWasRebootedEndsAsNodeLostAndNoKeeperIsStarted) {
  ASSERT_TRUE(JobFolder(records_).WriteBoot("another").ok());
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunToEnd());
  ASSERT_TRUE(end_->ok());
  EXPECT_EQ((*end_)->verdict->cls, OutcomeClass::kNodeLost);
  EXPECT_EQ(launcher_.starts, 0);
  EXPECT_TRUE((*records_.ReadStatus())->verdict) << "it is written down";
}

// Another process may have the port by now, and would get the job's token.
TEST_F(FollowTest, AJobOfAnEarlierReleaseIsFollowedThroughItsFilesWithoutConnectingToItsMaster) {
  auto lock = JobFolder(records_).Lock("keeper.lock");
  ASSERT_TRUE(lock.ok());
  const UniqueFd impostor = *ListenOn({"127.0.0.1", 0});
  const Address port = Endpoint{"127.0.0.1", BoundAddress(impostor)->port};
  ASSERT_TRUE(records_.WriteLease({{1}, {port}, 1}).ok());
  JobStatus status;
  status.state = "RUNNING";
  status.seq = 1;
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [this] { return newest_.seq == 1; }));
  status.seq = 2;
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
  ASSERT_TRUE(RunUntil(loop_, [this] { return newest_.seq == 2; }));
  follower.SendKill({"", {.reason = "enough"}});
  status.seq = 3;
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
  ASSERT_TRUE(RunUntil(loop_, [this] { return newest_.seq == 3; }));
  ASSERT_TRUE(BeOver(records_).ok());
  lock->Reset();
  ASSERT_TRUE(RunToEnd());
  EXPECT_TRUE(end_->ok());
  ASSERT_EQ(notes_.size(), 1u) << "once is enough";
  EXPECT_NE(notes_[0].find("not sent over TCP; this command reads the job's files instead"), std::string::npos)
      << notes_[0];
  EXPECT_LT(::accept4(impostor.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), 0) << "not even connected";
}

TEST_F(FollowTest, ChangingTheOwnerOfAJobOfAnEarlierReleaseReturnsUnavailable) {
  auto lock = JobFolder(records_).Lock("keeper.lock");
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(records_.WriteLease({{1}, {Endpoint{"127.0.0.1", 1}}, 1}).ok());
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Attach({{"o2"}, Duration(0)});
  follower.Start(Duration(0));
  ASSERT_TRUE(RunToEnd());
  ASSERT_FALSE(end_->ok());
  EXPECT_EQ(end_->error().code, ErrorCode::kUnavailable);
}

TEST_F(FollowTest, AnErrorOfTheKeeperIsReportedOnceAndTheFollowerContinues) {
  auto lock = JobFolder(records_).Lock("keeper.lock");
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(records_.WriteStatus(*DegradedStatus(records_, "journal: damaged"), Durability::kLostWithPower).ok());
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  ASSERT_TRUE(RunUntil(loop_, [this] { return statuses_ == 1; }));
  EXPECT_EQ(newest_.trouble, "journal: damaged");
  std::ofstream(records_.place() / "touched") << "";
  EXPECT_FALSE(RunUntil(
      loop_, [this] { return statuses_ > 1 || end_; }, Duration(300)));
  ASSERT_TRUE(BeOver(records_).ok());
  lock->Reset();
  ASSERT_TRUE(RunToEnd());
  EXPECT_EQ(launcher_.starts, 0);
}

TEST_F(FollowTest, AKillRefusedByTheKeeperOfAJobWithoutAMasterReturnsUnavailable) {
  auto lock = JobFolder(records_).Lock("keeper.lock");
  ASSERT_TRUE(records_.WriteLease({{3}, {SocketOf({3})}, 1}).ok());
  ASSERT_TRUE(records_.WriteStatus(*DegradedStatus(records_, "journal: damaged"), Durability::kLostWithPower).ok());
  Follower follower(loop_, records_, launcher_, Sink());
  follower.Start(Duration(0));
  const auto kill = records_.WriteKill({.reason = "late", .if_owner = {"o1"}});
  follower.SendKill(*kill);
  EXPECT_FALSE(RunUntil(
      loop_, [this] { return end_.has_value(); }, Duration(300)));
  ASSERT_TRUE(records_.RemoveKill(kill->name).ok());
  ASSERT_TRUE(RunToEnd());
  ASSERT_FALSE(end_->ok());
  EXPECT_EQ(end_->error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(end_->error().message,
              testing::HasSubstr("has no application master (journal: damaged), and only an application master knows"));
  EXPECT_THAT(end_->error().message,
              testing::HasSubstr("; to end the job, kill it without --if-owner, --if-watcher and --delay"));
}

// ---- TokenPusher

class TokenPusherTest : public FollowTest {
 protected:
  // The status of a running job whose tokens end after `left`.
  static JobStatus Until(Duration left) {
    JobStatus status;
    status.state = "RUNNING";
    status.tokens_until = RealClock().Now() + left;
    return status;
  }
  void Pushes(const Arbiter::TokenPush& push) {
    launcher_.on_push = [this, push]() -> Result<std::optional<Arbiter::TokenPush>> {
      ++pushes_;
      return std::optional(push);
    };
  }
  static Arbiter::TokenPush Fresh(Duration left) { return {{7, RealClock().Now() + left, "fresh"}, std::nullopt}; }

  std::atomic<int> pushes_ = 0;
  TokenPusher pusher_{loop_, records_, launcher_, [this](const std::string& note) { notes_.push_back(note); },
                      Duration(0)};
};

TEST_F(TokenPusherTest, TokensForAMasterThatCannotBeReachedBecomeARecordOfTheJob) {
  Pushes(Fresh(Duration(60'000)));
  const auto pushed = PushFreshTokens(launcher_, records_);
  ASSERT_TRUE(pushed.ok() && *pushed);
  EXPECT_EQ((*pushed)->in_record, StrCat("job ", records_.job().value, " has no application master now"));
  const auto record = records_.store().Get(kTokensRecord);
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ((*record)->bytes, "fresh");
}

TEST_F(TokenPusherTest, AJobWithoutTokensGetsNone) {
  const auto pushed = PushFreshTokens(launcher_, records_);
  EXPECT_TRUE(pushed.ok() && !*pushed);
  JobStatus status = Until(Duration(0));
  status.tokens_until.reset();
  Pushes(Fresh(Duration(60'000)));
  pusher_.See(status, true);
  RunUntil(loop_, [this] { return pushes_ > 0; }, Duration(500));
  EXPECT_EQ(pushes_, 0);
}

TEST_F(TokenPusherTest, FreshTokensArePushedAgainAndAgainUntilTheJobHasEnded) {
  Pushes(Fresh(Duration(0)));
  pusher_.See(Until(Duration(0)), true);
  ASSERT_TRUE(RunUntil(loop_, [this] { return pushes_ == 2; })) << "pushes follow each other, because the tokens end at once";
  EXPECT_TRUE(notes_.empty());
  pusher_.See(Ended(), true);
  RunUntil(loop_, [this] { return pushes_ > 2; }, Duration(500));
  EXPECT_EQ(pushes_, 2);
}

TEST_F(TokenPusherTest, TokensArePushedWithinSecondsIfNoMasterLeadsTheJob) {
  Pushes(Fresh(std::chrono::hours(24)));
  const JobStatus status = Until(std::chrono::hours(24));
  pusher_.See(status, true);
  pusher_.OnAmLost();
  pusher_.See(status, true);
  EXPECT_FALSE(RunUntil(loop_, [this] { return pushes_ > 0; }, Duration(500))) << "the AM answers again";
  pusher_.OnAmLost();
  pusher_.See(status, false);
  EXPECT_TRUE(RunUntil(loop_, [this] { return pushes_ > 0; }));
}

TEST_F(TokenPusherTest, AClientThatFollowsTheJobOnlyForSecondsPushesAfterAQuarterOfTheTokensLife) {
  Pushes(Fresh(std::chrono::hours(24)));
  JobStatus status = Until(std::chrono::hours(19));
  status.tokens_issued = *status.tokens_until - std::chrono::hours(24);
  pusher_.See(status, true);
  EXPECT_FALSE(RunUntil(loop_, [this] { return pushes_ > 0; }, Duration(500)));
  TokenPusher other(loop_, records_, launcher_, [](const std::string&) {});
  status.tokens_until = *status.tokens_until - std::chrono::hours(2);
  status.tokens_issued = *status.tokens_issued - std::chrono::hours(2);
  other.See(status, true);
  EXPECT_TRUE(RunUntil(loop_, [this] { return pushes_ > 0; }));
}

TEST_F(TokenPusherTest, TokensThatAnotherClientHasPushedCountEvenIfTheyEndEarlierThanTheFirstOnes) {
  Pushes(Fresh(std::chrono::hours(24)));
  JobStatus status = Until(std::chrono::hours(24 * 7));
  status.tokens_issued = RealClock().Now() - Duration(1000);
  pusher_.See(status, true);
  JobStatus pushed = Until(Duration(800));
  pushed.tokens_issued = RealClock().Now();
  pusher_.See(pushed, true);
  EXPECT_TRUE(RunUntil(loop_, [this] { return pushes_ > 0; }));
}

TEST_F(TokenPusherTest, AFailedPushIsReportedOnceAndRetried) {
  launcher_.on_push = [this]() -> Result<std::optional<Arbiter::TokenPush>> {
    return NotPermittedError("no ticket, try ", ++pushes_);
  };
  const JobStatus status = Until(Duration(800));
  pusher_.See(status, true);
  ASSERT_TRUE(RunUntil(loop_, [this] { return pushes_ == 2; }));
  EXPECT_EQ(notes_, std::vector<std::string>{StrCat("job ", records_.job().value,
                                                    " gets no fresh tokens, so it can use the cluster only until ",
                                                    ToIso8601(*status.tokens_until), ": no ticket, try 1")});
}

}  // namespace
}  // namespace tony
