// The shell's one promise: what a turn decided is seen by nobody outside before the journal has it.
#include "am/application_master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// A disk as slow as the test wants.
class SlowJournal : public Journal {
 public:
  void Append(const std::vector<Decision>& decisions, bool durable, Done done) override {
    for (const Decision& decision : decisions) appended.emplace_back(Name(decision));
    any_durable |= durable;
    waiting_.push_back(std::move(done));
  }
  bool WriteOne(const Status& status = Ok()) {
    if (waiting_.empty()) return false;
    const Done done = std::move(waiting_.front());
    waiting_.pop_front();
    done(status);
    return true;
  }
  void WriteAll() {
    while (WriteOne()) continue;
  }

  std::vector<std::string> appended;
  bool any_durable = false;

 private:
  std::deque<Done> waiting_;
};

// Records its orders in the words of Orders().
class RecordingScheduler : public Scheduler {
 public:
  void Request(const std::vector<ContainerAsk>& asks) override { Record(RequestContainers{asks}); }
  void Launch(const ContainerId& id, const LaunchSpec& what) override {
    orders.push_back(StrCat("launch ", id.value, " ", what.argv.at(2)));
  }
  void Stop(const ContainerId& id, StopMode mode) override { Record(StopContainer{id, mode}); }
  void Finish(std::function<void()> done) override {
    orders.emplace_back("finish");
    finished = std::move(done);
  }

  std::vector<std::string> orders;
  std::function<void()> finished;

 private:
  void Record(const Action& action) { orders.push_back(Orders({action}).front()); }
};

template <class T>
struct Answered : Reply<T>::Sink {
  void Success(const T& answer) override { value = answer; }
  void Refuse(const Refusal& answer) override { refusal = answer; }
  void OnAbandoned(std::function<void()>) override {}
  bool open() const { return !value && !refusal; }
  std::optional<T> value;
  std::optional<Refusal> refusal;
};

constexpr char kToken[] = "secret";

class ApplicationMasterTest : public testing::Test {
 protected:
  ApplicationMasterTest() {
    const Status started = master_.Start(scheduler_, 4711, [this](const Status& status) { ended_ = status; });
    EXPECT_TRUE(started.ok()) << started.error().message;
  }

  Caller CallerOf(std::string_view task, std::string token = kToken) const {
    return {.job = {"job-1"},
            .attempt = AttemptOf(task),
            .container = ContainerOf(task),
            .epoch = {1},
            .token = std::move(token)};
  }
  void Grant(std::string_view task) {
    master_.OnScheduler(ContainerGranted{AttemptOf(task), ContainerOf(task), "node"});
  }
  std::shared_ptr<Answered<Epoch>> Register(std::string_view task, std::string token = kToken) {
    auto answer = std::make_shared<Answered<Epoch>>();
    master_.Register(CallerOf(task, std::move(token)), {EndpointOf(task)}, Reply<Epoch>(answer));
    return answer;
  }
  std::shared_ptr<Answered<Command>> Await(std::string_view task) {
    auto answer = std::make_shared<Answered<Command>>();
    master_.Await(CallerOf(task), /*since=*/0, Reply<Command>(answer));
    return answer;
  }
  std::shared_ptr<Answered<std::monostate>> Heartbeat(std::string_view task) {
    auto answer = std::make_shared<Answered<std::monostate>>();
    master_.Heartbeat(CallerOf(task), {Phase::kWaiting}, Reply<std::monostate>(answer));
    return answer;
  }
  std::shared_ptr<Answered<StatusAnswer>> Kill() {
    auto answer = std::make_shared<Answered<StatusAnswer>>();
    master_.Kill(kToken, "enough", Duration(-1), Reply<StatusAnswer>(answer));
    return answer;
  }
  void GrantBothAndRegisterOne() {
    Grant("worker:0");
    Grant("worker:1");
    Register("worker:0");
    journal_.WriteAll();
  }

  const TempFolder temp_;
  EventLoop loop_;
  SlowJournal journal_;
  RecordingScheduler scheduler_;
  std::optional<Status> ended_;
  ApplicationMaster master_{{.loop = loop_,
                             .folder = JobFolder(temp_.path()),
                             .submission = {},
                             .executor_program = "/x/tony-executor",
                             .token = kToken,
                             .epoch = {1},
                             .job = Job({"job-1"}, JobBuilder().Role("worker", 2).Build()),
                             .journal = journal_}};
};

TEST_F(ApplicationMasterTest, NothingIsOrderedBeforeItIsWritten) {
  EXPECT_THAT(journal_.appended, Contains("containers_requested"));
  EXPECT_THAT(scheduler_.orders, IsEmpty());

  journal_.WriteAll();

  EXPECT_THAT(scheduler_.orders, ElementsAre("request worker:0#1 worker:1#1"));
}

TEST_F(ApplicationMasterTest, ACallIsAnsweredWhenWhatItChangedIsWritten) {
  Grant("worker:0");
  journal_.WriteAll();

  const auto answer = Register("worker:0");
  EXPECT_TRUE(answer->open());
  journal_.WriteAll();

  EXPECT_EQ(answer->value, Epoch{1});
}

TEST_F(ApplicationMasterTest, ACallThatChangesNothingIsAnsweredAtOnce) {
  GrantBothAndRegisterOne();

  EXPECT_FALSE(Heartbeat("worker:0")->open());
}

TEST_F(ApplicationMasterTest, ACallBehindOneThatWaitsForTheDiskWaitsToo) {
  GrantBothAndRegisterOne();
  Register("worker:1");

  const auto answer = Heartbeat("worker:0");

  EXPECT_TRUE(answer->open());
  journal_.WriteAll();
  EXPECT_FALSE(answer->open());
}

TEST_F(ApplicationMasterTest, AParkedAwaitIsAnsweredWhenTheGangHasFormed) {
  GrantBothAndRegisterOne();
  const auto command = Await("worker:0");
  Register("worker:1");
  EXPECT_TRUE(command->open());

  journal_.WriteAll();

  ASSERT_TRUE(command->value);
  EXPECT_EQ(command->value->kind, Command::Kind::kStart);
  EXPECT_FALSE(journal_.any_durable) << "a start does not wait for a sync";
}

// Its executor would know a generation that no later master does, and would be refused by it for ever.
TEST_F(ApplicationMasterTest, AnAwaitThatWaitsForTheDiskIsNotToldWhatLaterTurnsDecided) {
  Grant("worker:0");
  Grant("worker:1");
  journal_.WriteAll();
  Register("worker:0");
  const auto command = Await("worker:0");
  Register("worker:1");
  ASSERT_EQ(journal_.appended.back(), "generation_formed");

  journal_.WriteOne();
  journal_.WriteOne();  // up to the Await

  EXPECT_TRUE(command->open()) << "the generation is not on the disk";
  journal_.WriteAll();
  EXPECT_TRUE(command->value);
}

TEST_F(ApplicationMasterTest, AWrongTokenIsRefusedAndChangesNothing) {
  Grant("worker:0");
  journal_.WriteAll();
  const size_t before = journal_.appended.size();

  const auto answer = Register("worker:0", "guess");

  ASSERT_TRUE(answer->refusal);
  EXPECT_EQ(answer->refusal->reason, RefusalReason::kBadToken);
  EXPECT_EQ(journal_.appended.size(), before);
}

TEST_F(ApplicationMasterTest, WithoutItsArbiterItAnswersNobodyUntilThatIsBack) {
  GrantBothAndRegisterOne();
  master_.OnScheduler(SchedulerLost{"no answer"});
  const auto refused = Heartbeat("worker:0");
  ASSERT_TRUE(refused->refusal);
  EXPECT_EQ(refused->refusal->reason, RefusalReason::kNotRuling);

  master_.OnScheduler(SchedulerReached{{ContainerOf("worker:0"), ContainerOf("worker:1")}});

  journal_.WriteAll();
  EXPECT_TRUE(Heartbeat("worker:0")->value);
}

TEST_F(ApplicationMasterTest, AnEndIsToldWhenItsStatusIsInTheFolderAndTheMasterLeavesWhenTheSchedulerKnows) {
  journal_.WriteAll();
  const auto killed = Kill();
  EXPECT_TRUE(killed->open());
  EXPECT_FALSE(std::filesystem::exists(JobFolder(temp_.path()).status()));

  journal_.WriteAll();

  const auto status = JobFolder(temp_.path()).ReadStatus();
  ASSERT_TRUE(status.ok() && *status);
  EXPECT_EQ((*status)->state, "KILLED");
  ASSERT_TRUE(killed->value);
  EXPECT_TRUE(killed->value->ended);
  EXPECT_EQ(scheduler_.orders.back(), "finish");
  EXPECT_FALSE(ended_);
  scheduler_.finished();
  ASSERT_TRUE(ended_);
  EXPECT_TRUE(ended_->ok());
  EXPECT_TRUE(journal_.any_durable);
}

TEST_F(ApplicationMasterTest, AFailedJournalEndsTheMasterAndOrdersNothing) {
  journal_.WriteAll();
  scheduler_.orders.clear();
  Grant("worker:0");

  journal_.WriteOne(Error{ErrorCode::kCannotWrite, "disk full"});

  ASSERT_TRUE(ended_);
  EXPECT_FALSE(ended_->ok());
  EXPECT_THAT(scheduler_.orders, IsEmpty());
}

TEST_F(ApplicationMasterTest, AKillRequestInTheFolderIsObeyed) {
  journal_.WriteAll();

  ASSERT_TRUE(JobFolder(temp_.path()).WriteKillRequest({.reason = "from the folder"}).ok());

  EXPECT_TRUE(RunUntil(loop_, [this] {
    journal_.WriteAll();
    return !scheduler_.orders.empty() && scheduler_.orders.back() == "finish";
  }));
}

}  // namespace
}  // namespace tony::am
