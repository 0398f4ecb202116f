// Runs an ApplicationMaster among fakes: the disk writes when the test calls for it, and the scheduler records its
// orders.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "am/application_master.h"
#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "tests/support/job_builder.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::am {

// Keeps appends back until the test writes them.
class SlowJournal : public Journal {
 public:
  void Append(const std::vector<Decision>& decisions, Done done) override {
    for (const Decision& decision : decisions) appended.emplace_back(Name(decision));
    if (on_append) on_append();
    waiting_.push_back(std::move(done));
  }
  void SetFailureCallback(OnTrouble fn) override { trouble = std::move(fn); }
  bool WriteOne() {
    if (waiting_.empty()) return false;
    const Done done = std::move(waiting_.front());
    waiting_.pop_front();
    done();
    return true;
  }
  void WriteAll() {
    while (WriteOne()) continue;
  }

  OnTrouble trouble;
  std::function<void()> on_append;
  std::vector<std::string> appended;

 private:
  std::deque<Done> waiting_;
};

// Keeps calls to the record store back until the test answers them.
class SlowCalls : public RecordCalls {
 public:
  explicit SlowCalls(JobRecords records) : records_(std::move(records)) {}
  bool AnswerOne() {
    if (waiting_.empty()) return false;
    const auto call = std::move(waiting_.front());
    waiting_.pop_front();
    call(records_)();
    return true;
  }
  void AnswerAll() {
    while (AnswerOne()) continue;
  }

  size_t waiting() const { return waiting_.size(); }

  bool at_once = true;

 protected:
  void Do(std::function<Then(const JobRecords&)> call) override {
    waiting_.push_back(std::move(call));
    if (at_once) AnswerAll();
  }

 private:
  const JobRecords records_;
  std::deque<std::function<Then(const JobRecords&)>> waiting_;
};

// Records its orders in the format of Orders().
class RecordingScheduler : public Scheduler {
 public:
  bool Holds() const override { return holds; }
  void Request(const std::vector<ContainerRequest>& asks) override { Record(RequestContainers{asks}); }
  void Withdraw(const std::vector<AttemptId>& attempts) override { Record(WithdrawRequests{attempts}); }
  void Launch(const ContainerId& id, const ExecutorLaunch& what) override {
    orders.push_back(StrCat("launch ", id.value, " ", ToString(what.attempt.task)));
  }
  void Stop(const ContainerId& id, StopMode mode) override { Record(StopContainer{id, mode}); }
  void TellProgress(double done) override { progress = done; }
  void Finish(const Verdict& verdict, std::function<void()> done) override {
    if (on_finish) std::exchange(on_finish, nullptr)();
    orders.push_back(StrCat("finish ", ToString(verdict.state)));
    finished = std::move(done);
  }

  bool holds = true;
  std::vector<std::string> orders;
  double progress = -1;  // the progress reported last
  std::function<void()> on_finish, finished;

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

// A token with the length of real tokens.
inline constexpr char kToken[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

class ApplicationMasterTest : public testing::Test {
 protected:
  ApplicationMasterTest() : ApplicationMasterTest(JobBuilder().Role("worker", 2).Build()) {}
  explicit ApplicationMasterTest(const JobSpec& spec,
                                 std::optional<ApplicationMasterParts::Patience> patience = std::nullopt,
                                 const ClusterTokens& tokens = {})
      : master_({.loop = loop_,
                 .checkpoints = CheckpointsOnThisMachine(temp_.path(), spec.checkpoint),
                 .submission = {.job = {"job-1"}},
                 .token = kToken,
                 .epoch = {1},
                 .job = Job({"job-1"}, spec),
                 .journal = journal_,
                 .calls = calls_,
                 .patience = patience,
                 .tokens = tokens,
                 .store_tokens =
                     [this](const ClusterTokens& pushed) {
                       stored_tokens_.push_back(pushed);
                       return store_answer_;
                     }}) {
    master_.Start(scheduler_, {SocketOf({1})}, [this] { ended_ = true; });
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
  std::shared_ptr<Answered<std::monostate>> Report(std::string_view task, const Outcome& outcome) {
    auto answer = std::make_shared<Answered<std::monostate>>();
    master_.ReportOutcome(CallerOf(task), {outcome, {}}, Reply<std::monostate>(answer));
    return answer;
  }
  std::shared_ptr<Answered<StatusAnswer>> Watch(int64_t since) {
    auto answer = std::make_shared<Answered<StatusAnswer>>();
    master_.Watch(kToken, since, Duration(60000), {}, Reply<StatusAnswer>(answer));
    return answer;
  }
  std::shared_ptr<Answered<KillReply>> Kill(const KillRequest& request = {.reason = "enough"}) {
    auto answer = std::make_shared<Answered<KillReply>>();
    master_.Kill(kToken, request, Reply<KillReply>(answer));
    return answer;
  }
  void Pass(Duration time) {
    bool over = false;
    const auto timer = loop_.After(time, [&] { over = true; });
    ASSERT_TRUE(RunUntil(loop_, [&] { return over; }));
  }
  void GrantBothAndRegisterOne() {
    Grant("worker:0");
    Grant("worker:1");
    Register("worker:0");
    journal_.WriteAll();
  }

  static JobRecords MadeFolder(const std::filesystem::path& path) {
    EXPECT_TRUE(MakeFolder(path).ok());
    return LocalJobRecords(path);
  }

  const TempFolder temp_;  // $TONY_HOME
  const JobRecords records_ = MadeFolder(temp_.path() / "jobs/job-1");
  EventLoop loop_;
  SlowJournal journal_;
  SlowCalls calls_{records_};
  std::vector<ClusterTokens> stored_tokens_;
  Status store_answer_;
  RecordingScheduler scheduler_;
  bool ended_ = false;
  ApplicationMaster master_;
};

}  // namespace tony::am
