// A client's judgement of a job from the ResourceManager's answer and from the job's records.
#include "runtime/yarn/yarn_arbiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "runtime/hadoop/wire/client.pb.h"
#include "runtime/records/hdfs/hdfs_record_store.h"
#include "runtime/records/job_records.h"
#include "runtime/records/journal_format.h"
#include "runtime/records/last_status.h"
#include "runtime/yarn/container_launch.h"
#include "runtime/yarn/yarn_check.h"
#include "runtime/yarn/yarn_ends.h"
#include "runtime/yarn/yarn_jobs.h"
#include "runtime/yarn/yarn_submission.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/hadoop/fake_rpc_server.h"
#include "tests/unit/hadoop/served_name_node.h"
#include "tests/unit/records/hdfs/fake_hdfs.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
namespace wire = hadoop::wire;
using Kind = ArbiterView::Kind;
using hadoop::ApplicationReport;
using hadoop::ApplicationState;

const JobId kRuledJob{"application_1700000000000_0001"};

// The ResourceManager runs on a thread of its own, because an arbiter blocks until it answers. The job's records are
// local files.
class YarnArbiterTest : public testing::Test {
 protected:
  YarnArbiterTest() {
    rm_->on_call = [this](const hadoop::FakeRpcServer::Call& call) { Answer(call); };
    fs::create_directories(records_.place());
    fs::create_directories(temp_.path() / "conf");
    std::ofstream(temp_.path() / "conf" / "core-site.xml")
        << "<configuration><property><name>fs.defaultFS</name><value>hdfs://nn:8020</value></property><property><name>"
        << "yarn.resourcemanager.address</name><value>127.0.0.1:" << rm_->port()
        << "</value></property></configuration>";
    setenv("HADOOP_CONF_DIR", (temp_.path() / "conf").c_str(), 1);
    setenv("HADOOP_USER_NAME", "eve", 1);
    Put("submission.json", ToJson(tony::Submission{.job = kRuledJob,
                                                   .user = "eve",
                                                   .host = "here",
                                                   .time = FromMillis(5'000),
                                                   .claim = {.owner = {"try-1"}}}));
    JobSpec spec;
    spec.roles = {{.name = "worker", .instances = 2, .command = "true"}};
    spec.tags = {"Team", "caf\xC3\xA9"};
    spec.yarn = {.queue = "ml",
                 .type = "training",
                 .priority = 3,
                 .node_label = "big",
                 .am_node_label = "small",
                 .view_acl = "bob",
                 .am_memory_mb = 300,
                 .am_vcores = 2};
    spec.timeout = Duration(5'000);
    spec.timers.grace = Duration(2'000);
    Put("spec.json", ToJson(spec));
    server_ = std::jthread([this] { loop_.Run(); });
  }
  ~YarnArbiterTest() override {
    loop_.Stop();
    server_.join();
  }

  void Put(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(records_.store().Replace(name, bytes, Durability::kLostWithPower).ok());
  }
  // Sets the state that the ResourceManager reports to the arbiter's next query.
  void RmSays(wire::YarnApplicationState state, const std::string& diagnostics = "") {
    const std::lock_guard lock(mutex_);
    state_ = state;
    diagnostics_ = diagnostics;
  }
  // Sets the number of the AM attempt that the ResourceManager reports.
  void RmStartsAttempt(int attempt) {
    const std::lock_guard lock(mutex_);
    attempt_ = attempt;
  }
  void RmForgets() {
    const std::lock_guard lock(mutex_);
    state_.reset();
  }
  std::string Killed() {
    const std::lock_guard lock(mutex_);
    return killed_;
  }
  std::optional<wire::SubmitApplicationRequest> Submitted() {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }
  void RuledOnce() { ASSERT_TRUE(records_.WriteLease({.epoch = {1}, .am = {Endpoint{"10.0.0.1", 4000}}}).ok()); }
  void Answer(const hadoop::FakeRpcServer::Call& call) {
    const std::lock_guard lock(mutex_);
    if (call.method == "submitApplication") {
      submitted_.emplace().ParseFromString(call.request);
      state_ = wire::ACCEPTED;
      return rm_->Succeed(call, wire::SubmitApplicationResponse());
    }
    if (!state_) return rm_->Fail(call, "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", "no such");
    if (call.method == "forceKillApplication") {
      wire::KillApplicationRequest request;
      request.ParseFromString(call.request);
      killed_ = request.diagnostics();
      if (kill_ends_) state_ = wire::KILLED;
      diagnostics_ =
          "Application application_1700000000000_0001 was killed by user eve at 127.0.0.1 with diagnostic "
          "message: " +
          killed_;
      return rm_->Succeed(call, wire::KillApplicationResponse());
    }
    wire::GetApplicationReportResponse answer;
    auto& report = *answer.mutable_application_report();
    report.mutable_applicationid()->set_cluster_timestamp(1700000000000);
    report.mutable_applicationid()->set_id(1);
    report.set_yarn_application_state(*state_);
    report.set_diagnostics(diagnostics_);
    report.set_finishtime(9'000);
    report.set_final_application_status(final_status_);
    report.mutable_currentapplicationattemptid()->set_attemptid(attempt_);
    rm_->Succeed(call, answer);
  }

  TempFolder temp_;
  EventLoop loop_;
  std::unique_ptr<hadoop::FakeRpcServer> rm_ = std::make_unique<hadoop::FakeRpcServer>(loop_, std::nullopt);
  std::mutex mutex_;  // guards the next seven members
  std::optional<wire::YarnApplicationState> state_ = wire::RUNNING;
  std::string diagnostics_, killed_;
  int attempt_ = 1;
  // True: the ResourceManager ends an application in the call that kills it.
  bool kill_ends_ = false;
  wire::FinalApplicationStatus final_status_ = wire::APP_UNDEFINED;
  std::optional<wire::SubmitApplicationRequest> submitted_;
  const JobRecords records_ = LocalJobRecords(temp_.path() / kRuledJob.value);
  const YarnArbiter arbiter_{SubmissionOf};
  std::jthread server_;
};

TEST_F(YarnArbiterTest, AJobIsReportedLostOnceItsYarnApplicationHasEnded) {
  for (const auto state : {wire::NEW, wire::SUBMITTED, wire::ACCEPTED, wire::RUNNING}) {
    RmSays(state);
    EXPECT_EQ(arbiter_.Look(records_).kind, Kind::kKept) << state;
    EXPECT_FALSE(arbiter_.Look(records_).swept);
  }
  RmSays(wire::ACCEPTED, "[x] Application is Activated, waiting for resources to be assigned for AM.");
  EXPECT_TRUE(arbiter_.Look(records_).waits.starts_with("waits for its application master: "));
  RmSays(wire::RUNNING);
  EXPECT_EQ(arbiter_.Look(records_).waits, "");
  for (const auto state : {wire::FINISHED, wire::FAILED, wire::KILLED}) {
    RmSays(state);
    EXPECT_EQ(arbiter_.Look(records_).kind, Kind::kLost) << state;
    EXPECT_TRUE(arbiter_.Look(records_).swept);
  }
}

TEST_F(YarnArbiterTest, AJobContinuesBetweenTwoMasterAttemptsAndOlderMastersLoseLeadership) {
  RuledOnce();
  EXPECT_EQ(arbiter_.Look(records_).oldest_epoch, Epoch{0}) << "an older release's only master has epoch 1";
  RmSays(wire::ACCEPTED, "[x] Application is Activated, waiting for resources to be assigned for AM.");
  RmStartsAttempt(3);
  const ArbiterView seen = arbiter_.Look(records_);
  EXPECT_EQ(seen.kind, Kind::kKept);
  EXPECT_EQ(seen.oldest_epoch, Epoch{3000});
  EXPECT_TRUE(seen.waits.starts_with("has no application master; YARN is starting attempt 3: ")) << seen.waits;
  EXPECT_FALSE(*arbiter_.UnwrittenEnd(records_));
  ASSERT_TRUE(arbiter_.Settle(records_).ok());
  EXPECT_FALSE(*records_.ReadStatus());
  EXPECT_FALSE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "its next master decides"}));
  EXPECT_EQ(Killed(), "");
}

TEST_F(YarnArbiterTest, AJobWhoseMasterNeverRegisteredCanBeKilledBetweenMasterAttempts) {
  RmSays(wire::ACCEPTED);
  RmStartsAttempt(2);
  EXPECT_TRUE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "enough"}));
  EXPECT_EQ(Killed(), "enough");
}

TEST_F(YarnArbiterTest, AKillThroughYarnWithOnlyTheJobIdEndsTheJobAsKilled) {
  RmSays(wire::RUNNING);
  EXPECT_TRUE(*arbiter_.EndInScheduler(kRuledJob, "nobody answers"));
  EXPECT_EQ(Killed(), "nobody answers");
  const auto ending = arbiter_.EndWithoutRecords(kRuledJob, "enough", Duration(0));
  ASSERT_TRUE(ending.ok() && *ending);
  EXPECT_FALSE((*ending)->verdict);
  kill_ends_ = true;
  const auto ended = arbiter_.EndWithoutRecords(kRuledJob, "enough", Duration(0));
  ASSERT_TRUE(ended.ok() && *ended && (*ended)->verdict);
  EXPECT_EQ((*ended)->verdict->cls, OutcomeClass::kKilled);
  ASSERT_TRUE(arbiter_.Settle(records_).ok());
  const auto settled = records_.ReadStatus();
  ASSERT_TRUE(settled.ok() && *settled);
  EXPECT_EQ((*settled)->state, "KILLED");
  EXPECT_EQ((*settled)->tasks.size(), 2u);
  RmForgets();
  EXPECT_EQ(arbiter_.EndWithoutRecords(kRuledJob, "enough", Duration(0)).error().code, ErrorCode::kNotFound);
}

TEST_F(YarnArbiterTest, AVerdictRecordedOnlyInYarnIsWrittenToTheJobStatus) {
  RmSays(wire::FINISHED, "killed by its user\nworker:0#1 on n2");
  final_status_ = wire::APP_KILLED;
  ASSERT_TRUE(arbiter_.Settle(records_).ok());
  const auto status = records_.ReadStatus();
  ASSERT_TRUE(status.ok() && *status);
  EXPECT_EQ((*status)->state, "KILLED");
  EXPECT_EQ((*status)->verdict->message, "killed by its user");
}

TEST_F(YarnArbiterTest, TheSecretsTheTokenAndTheKeysOfAnEndedJobAreRemoved) {
  const std::vector<std::string> only_for_programs = {"secrets", "token", "tls.json", "clock"};
  for (const std::string& name : only_for_programs) Put(name, "x");
  ASSERT_TRUE(arbiter_.Settle(records_).ok());
  EXPECT_TRUE(*records_.store().Get("secrets")) << "the job runs";
  RmSays(wire::KILLED);

  ASSERT_TRUE(arbiter_.Settle(records_).ok());

  for (const std::string& name : only_for_programs) EXPECT_FALSE(*records_.store().Get(name)) << name;
  EXPECT_TRUE(*records_.store().Get("spec.json"));
}

TEST_F(YarnArbiterTest, AJobUnknownToYarnIsReportedLostOnlyIfTheJobEverHadAMaster) {
  RmForgets();
  EXPECT_EQ(arbiter_.Look(records_).kind, Kind::kNobody);
  EXPECT_FALSE(*arbiter_.UnwrittenEnd(records_));
  RuledOnce();
  EXPECT_EQ(arbiter_.Look(records_).kind, Kind::kLost);
  const auto end = arbiter_.UnwrittenEnd(records_);
  ASSERT_TRUE(end.ok() && *end);
  EXPECT_EQ((*end)->verdict->cls, OutcomeClass::kInfra);
}

TEST_F(YarnArbiterTest, AJobIsNotFinalizedWhileTheResourceManagerDoesNotAnswer) {
  std::ofstream(temp_.path() / "conf" / "yarn-site.xml")
      << "<configuration><property><name>yarn.resourcemanager.address</name><value>127.0.0.1:1</value></property>"
      << "</configuration>";
  RuledOnce();
  EXPECT_EQ(arbiter_.Look(records_).kind, Kind::kKept);
  EXPECT_FALSE(*arbiter_.UnwrittenEnd(records_));
  EXPECT_TRUE(arbiter_.Settle(records_).ok());
  EXPECT_FALSE(*records_.ReadStatus());
}

TEST_F(YarnArbiterTest, AJobWhoseMasterDiedFailsWithClassInfra) {
  RmSays(wire::FAILED, "AM Container exited with exitCode: 137\nFailing this attempt.");
  ASSERT_TRUE(arbiter_.Settle(records_).ok());
  const auto status = records_.ReadStatus();
  ASSERT_TRUE(status.ok() && *status);
  EXPECT_EQ((*status)->state, "FAILED");
  EXPECT_EQ((*status)->verdict->cls, OutcomeClass::kInfra);
  EXPECT_EQ((*status)->verdict->message, "the application master died: signal 9 (SIGKILL)");
  EXPECT_EQ((*status)->ended, FromMillis(9'000));
  EXPECT_EQ((*status)->tasks.size(), 2u);
}

TEST_F(YarnArbiterTest, AJobFailsWithClassUserConfigIfAFileOfItsMasterIsMissing) {
  RmSays(wire::FAILED,
         "Application application_1_0001 failed 1 times due to AM Container for appattempt_1_0001_000001 exited with  "
         "exitCode: -1000\nFailing this attempt.Diagnostics: [x]File does not exist: hdfs://nn:8020/data/x\njava.io");
  const auto end = arbiter_.UnwrittenEnd(records_);
  ASSERT_TRUE(end.ok() && *end);
  EXPECT_EQ((*end)->verdict->cls, OutcomeClass::kUserConfig);
  EXPECT_EQ((*end)->verdict->message, "the application master was not started: hdfs://nn:8020/data/x no longer exists");
  RmSays(wire::FAILED, "AM Container exited with exitCode: 1\nlast lines: File does not exist: /user/eve/x");
  EXPECT_EQ((**arbiter_.UnwrittenEnd(records_)).verdict->cls, OutcomeClass::kInfra);
}

TEST_F(YarnArbiterTest, TheVerdictAfterTheDeathOfAMasterQuotesTheNodesErrorInOneLine) {
  RmSays(wire::FAILED,
         "Application application_1_0001 failed 1 times due to AM Container for appattempt_1_0001_000001 exited with  "
         "exitCode: 126\nFailing this attempt.Diagnostics: [2026-11-21 07:44:31.200]Exception from "
         "container-launch.\nContainer id: container_1_0001_01_000001\nExit code: 126\nLast 4096 bytes of stderr :\n"
         "bash: ./tony-am/loader: Permission denied\n" +
             std::string(60, '\n') + "\tat org.apache.hadoop.X.y(X.java:1)\n. Failing the application.");
  const auto end = arbiter_.UnwrittenEnd(records_);
  ASSERT_TRUE(end.ok() && *end);
  EXPECT_EQ((*end)->verdict->message,
            "the application master died: exit code 126: bash: ./tony-am/loader: Permission denied; if the node's "
            "disks for containers (yarn.nodemanager.local-dirs) are mounted noexec, remount them with exec");
}

TEST_F(YarnArbiterTest, AJobKilledInYarnEndsAsKilled) {
  RmSays(wire::KILLED, "killed by user admin");
  const auto end = arbiter_.UnwrittenEnd(records_);
  ASSERT_TRUE(end.ok() && *end);
  EXPECT_EQ((*end)->state, "KILLED");
  EXPECT_EQ((*end)->verdict->message, "killed in YARN: killed by user admin");
}

TEST_F(YarnArbiterTest, AJobThatYarnKillsAfterItsLifetimeFailsWithClassTimeout) {
  RmSays(wire::KILLED, "Application is killed by ResourceManager as it has exceeded the lifetime period.");
  const auto end = arbiter_.UnwrittenEnd(records_);
  ASSERT_TRUE(end.ok() && *end);
  EXPECT_EQ((*end)->state, "FAILED");
  EXPECT_EQ((*end)->verdict->cls, OutcomeClass::kTimeout);
}

TEST_F(YarnArbiterTest, AVerdictInTheJobStatusIsNotReplacedByTheYarnState) {
  JobStatus status = *InitialStatus(records_);
  EndStatus(status, Verdict(), FromMillis(8'000));
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
  RmSays(wire::FAILED, "the master was slow to leave");
  EXPECT_FALSE(*arbiter_.UnwrittenEnd(records_));
  ASSERT_TRUE(arbiter_.Settle(records_).ok());
  EXPECT_EQ((**records_.ReadStatus()).state, "SUCCEEDED");
}

// The job's journal is in HDFS, as on a cluster.
class SettledTest : public YarnArbiterTest {
 protected:
  SettledTest() {
    EXPECT_TRUE(MakeRecordFolder(hdfs_, kJob).ok());
    EXPECT_TRUE(*journal_->Begin(Epoch{1}));
  }
  bool Decided(int64_t number, const std::vector<DecisionBody>& bodies) {
    std::vector<Decision> decisions;
    for (const DecisionBody& body : bodies) decisions.push_back({FromMillis(7'000 + number), body});
    const auto added =
        journal_->Add(Epoch{1}, number, StrCat(number == 1 ? EncodeHeader() : "", EncodeTurn(decisions)));
    return added.ok() && *added;
  }
  JobStatus Settled() {
    EXPECT_TRUE(arbiter_.Settle(job_).ok());
    const auto status = job_.ReadStatus();
    EXPECT_TRUE(status.ok() && *status);
    return status.ok() && *status ? **status : JobStatus();
  }

  const AttemptId attempt_{{"worker", 0}, 1};
  const std::shared_ptr<FakeHdfs> hdfs_ = std::make_shared<FakeHdfs>();
  const std::shared_ptr<const HdfsJournalStore> journal_ = std::make_shared<HdfsJournalStore>(hdfs_, kJob, Tries(2));
  const JobRecords job_{kRuledJob, records_.place(), std::make_shared<LocalRecordStore>(records_.place()), journal_};
};

TEST_F(SettledTest, NoDecisionIsAddedToTheJournalOfAFinalizedJob) {
  ASSERT_TRUE(Decided(1, {JobAccepted()}));
  RmSays(wire::RUNNING);
  ASSERT_TRUE(arbiter_.Settle(job_).ok());
  ASSERT_TRUE(Decided(2, {GangAllocated()})) << "a job that goes on is not settled";
  RmSays(wire::FAILED, "ApplicationMaster timed out");
  EXPECT_EQ(Settled().verdict->cls, OutcomeClass::kInfra);
  EXPECT_FALSE(Decided(3, {JobEnded()}));
}

TEST_F(SettledTest, TheVerdictInTheJournalOverridesTheStateInYarn) {
  Verdict verdict;
  verdict.state = FinalState::kFailed;
  verdict.cls = OutcomeClass::kUserError;
  verdict.message = "worker:0 failed";
  const Outcome failed{OutcomeClass::kUserError, std::nullopt, "exit code 3", ""};
  ASSERT_TRUE(Decided(1, {JobAccepted(), ContainerAssigned{attempt_, {"c"}, "node-1"}, AttemptLaunched{attempt_}}));
  ASSERT_TRUE(Decided(2, {AttemptEnded{attempt_, failed, true}, JobStopping{verdict, Duration(0)}}));
  ASSERT_TRUE(Decided(3, {JobEnded()}));
  RmSays(wire::KILLED, "killed by user admin");
  const JobStatus status = Settled();
  EXPECT_EQ(status.state, "FAILED");
  EXPECT_EQ(status.verdict->message, "worker:0 failed");
  EXPECT_EQ(status.ended, FromMillis(7'003));
  ASSERT_EQ(status.tasks.size(), 2u);
  EXPECT_EQ(status.tasks[0].attempt, 1);
  EXPECT_EQ(status.tasks[0].host, "node-1");
  EXPECT_EQ(status.tasks[0].outcome, failed);
  EXPECT_EQ(status.tasks[1].attempt, 0);
}

TEST_F(SettledTest, AJobWithADamagedJournalIsFinalizedOnlyWhileHdfsIsAvailable) {
  ASSERT_TRUE(*journal_->Add(Epoch{1}, 2, "the first one is missing"));
  RmSays(wire::FAILED, "gone");
  EXPECT_EQ(Settled().verdict->message, "the application master ended without a verdict: gone");
  hdfs_->refuses_all = Error{ErrorCode::kUnavailable, "no answer"};
  ASSERT_TRUE(job_.store().Remove("status.json").ok());
  EXPECT_EQ(arbiter_.Settle(job_).error().code, ErrorCode::kUnavailable)
      << "who knows what its master goes on to write";
  EXPECT_FALSE(*job_.ReadStatus());
}

// The ResourceManager restarts and forgets the application before the second client finalizes the job.
TEST_F(SettledTest, ASecondClientFinalizesTheJobWithTheSameStatusAsTheFirstClient) {
  RuledOnce();
  RmSays(wire::FAILED, "AM Container exited with exitCode: 137");
  const JobStatus first = Settled();
  // The first client died before it wrote the status.
  ASSERT_TRUE(job_.store().Remove("status.json").ok());
  RmForgets();
  const JobStatus second = Settled();
  EXPECT_EQ(ToJson(second), ToJson(first));
}

// The master's last status was still being written when the ResourceManager gave the master up.
TEST_F(SettledTest, FinalizingDoesNotReplaceAVerdictThatTheMasterWroteBeforeTheJournalWasSealed) {
  RmSays(wire::FAILED, "ApplicationMaster timed out");
  JobStatus status = *InitialStatus(records_);
  EndStatus(status, Verdict(), FromMillis(8'000));
  hdfs_->before = [&](std::string_view) {
    hdfs_->before = nullptr;
    ASSERT_TRUE(job_.WriteStatus(status, Durability::kLostWithPower).ok());
  };
  EXPECT_EQ(Settled().state, "SUCCEEDED");
}

TEST(YarnVerdictTest, AJobFailsWithClassTimeoutIfItsMasterDoesNotStartWithinTheStartupTimeout) {
  hadoop::ApplicationReport report;
  report.state = hadoop::ApplicationState::kKilled;
  report.diagnostics =
      "Application application_1_1 was killed by user ann at 10.0.0.1 with diagnostic message: the application master "
      "had not started 9.0 s after the submission (tony.am.startup-timeout=9000)";
  const Verdict verdict = VerdictWithoutMaster(report);
  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_EQ(verdict.cls, OutcomeClass::kTimeout);
  EXPECT_EQ(verdict.message,
            "the application master had not started 9.0 s after the submission (tony.am.startup-timeout=9000)");
}

TEST_F(YarnArbiterTest, AKillOfAWaitingJobIsSentToYarnOnlyIfAllConditionsOfTheKillAreMet) {
  RmSays(wire::ACCEPTED);
  EXPECT_FALSE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "fenced", .if_owner = {"try-0"}}));
  EXPECT_FALSE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "watched", .if_watcher = {"w"}}));
  EXPECT_FALSE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "later", .delay = Duration(60'000)}));
  EXPECT_EQ(Killed(), "");
  EXPECT_TRUE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "ours", .if_owner = {"try-1"}}));
  EXPECT_EQ(Killed(), "ours");
  EXPECT_TRUE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "plain"}));
  RmSays(wire::RUNNING);
  EXPECT_FALSE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "its master decides"}));
  EXPECT_EQ(Killed(), "plain");
}

TEST_F(YarnArbiterTest, AKillOfAJobUnknownToYarnSubmitsAndKillsAnUnmanagedApplicationOfTheSameId) {
  RmForgets();
  EXPECT_FALSE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "fenced", .if_owner = {"try-0"}}));
  EXPECT_FALSE(Submitted());
  EXPECT_TRUE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "ours", .if_owner = {"try-1"}}));
  const auto submitted = Submitted();
  ASSERT_TRUE(submitted);
  const auto& context = submitted->application_submission_context();
  EXPECT_TRUE(context.unmanaged_am()) << "its client's submit finds this one there";
  EXPECT_EQ(context.application_id().id(), 1);
  EXPECT_EQ(context.queue(), "ml");
  EXPECT_EQ(context.am_container_spec().command(0), "");
  EXPECT_EQ(Killed(), "ours");
}

TEST_F(YarnArbiterTest, AKillOfAJobUnknownToYarnSubmitsNoApplicationIfTheJobHadAMaster) {
  RmForgets();
  RuledOnce();
  EXPECT_FALSE(*arbiter_.EndBeforeFirstAm(records_, {.reason = "late"}));
  EXPECT_FALSE(Submitted());
}

TEST_F(YarnArbiterTest, AYarnSubmissionIsBuiltFromTheRecordsOfTheJobAndShowsNoSecret) {
  Put("token", std::string(2 * kJobTokenBytes, 'a'));
  const auto certificates =
      Must(MakeJobCertificates(kRuledJob.value, FromMillis(1'700'000'000'000), std::chrono::hours(1)));
  Put(kCertificatesRecord, ToJson(certificates));
  Put(kFilesRecord, ToJson(HdfsFiles{{kMasterFolder, {.scheme = "hdfs", .host = "nn", .port = 8020, .path = "/am"}}}));
  const YarnCluster cluster = {.rms = {{"rm", 1}},
                               .schedulers = {{"rm", 2}},
                               .name_node = {"nn", 3},
                               .webhdfs = {"http://nn:4"},
                               .user = "eve",
                               .home = "/user/eve"};
  const auto submission = Must(SubmissionOf(cluster, records_));
  EXPECT_EQ(hadoop::ToString(submission.id), kRuledJob.value);
  EXPECT_EQ(submission.queue, "ml");
  EXPECT_EQ(submission.tags, std::set<std::string>{"team"}) << "YARN takes ASCII, and keeps small letters";
  EXPECT_EQ(submission.type, "training");
  EXPECT_EQ(submission.priority, 3);
  EXPECT_EQ(submission.label, "big");
  EXPECT_EQ(submission.am_label, "small");
  EXPECT_EQ(submission.lifetime, Duration(67'000)) << "a minute and the grace behind its master's own";
  EXPECT_EQ(submission.am.view_acl, "bob");
  EXPECT_EQ(submission.am.modify_acl, " ") << "nobody but the user";
  EXPECT_EQ(submission.max_attempts, 0) << "the cluster's limit";
  EXPECT_EQ(submission.failure_validity, Duration(10'000));
  EXPECT_TRUE(submission.keep_containers);
  EXPECT_EQ(submission.am_resource, (hadoop::Resource{300, 2, {}}));
  EXPECT_EQ(submission.am.environment.at(kClusterVariable), ToText(cluster));
  for (const auto& [name, value] : submission.am.environment) {
    EXPECT_EQ(value.find("aaaa"), std::string::npos) << name;
    EXPECT_EQ(value.find("PRIVATE"), std::string::npos) << name;
  }
  const auto read = Must(ReadCertificates(records_));
  EXPECT_EQ(read.client, certificates.client);
}

// ---- Why an application has no master yet. The texts are those of a CapacityScheduler of Hadoop 3.4.3.

std::string Why(const std::string& diagnostics, ApplicationState state = ApplicationState::kAccepted) {
  return AmWaitReason({.state = state, .user = "eve", .queue = "ml", .diagnostics = diagnostics});
}

TEST(MasterWaitTest, AnExceededLimitForApplicationMastersIsReportedWithUsedAndRequestedAmounts) {
  const std::string details =
      "Details : AM Partition = <DEFAULT_PARTITION>; AM Resource Request = <memory:8192, vCores:32, yarn.io/gpu: 0>; "
      "Queue Resource Limit for AM = <memory:26240, vCores:103, yarn.io/gpu: 6>; User AM Resource Limit of the queue = "
      "<memory:13120, vCores:52, yarn.io/gpu: 3>; Queue AM Resource Usage = <memory:24576, vCores:96>; ";
  EXPECT_EQ(Why("[Thu Nov 26 03:20:43 +0000 2026] Application is added to the scheduler and is not yet activated. "
                "Queue's AM resource limit exceeded.  " +
                details),
            "waits for its application master: queue ml may have 26240 MB and 103 vcores for application masters "
            "(maximum-am-resource-percent), of which 24576 MB and 96 vcores are in use in the queue; the job's "
            "application master requests 8192 MB and 32 vcores");
  EXPECT_EQ(Why("User's AM resource limit exceeded. " + details),
            "waits for its application master: user eve in queue ml may have 13120 MB and 52 vcores for application "
            "masters (maximum-am-resource-percent), of which 24576 MB and 96 vcores are in use in the queue; the "
            "job's application master requests 8192 MB and 32 vcores");
}

TEST(MasterWaitTest, AFullQueueIsReportedWithItsUsedPercentageAndLimit) {
  EXPECT_EQ(Why("[x] Application is Activated, waiting for resources to be assigned for AM.  Details : AM Partition = "
                "<DEFAULT_PARTITION> ; Partition Resource = <memory:32768, vCores:128> ; Queue's Absolute capacity = "
                "50.0 % ; Queue's Absolute used capacity = 100.0 % ; Queue's Absolute max capacity = 100.0 % ; "),
            "waits for its application master: queue ml has no room for the application master: the queue uses 100.0 % "
            "of the cluster, and "
            "its limit is 100.0 %");
}

TEST(MasterWaitTest, AQueueBelowItsLimitIsNotReportedAsFull) {
  const std::string text =
      "[x] Application is Activated, waiting for resources to be assigned for AM.  Details : AM Partition = "
      "<DEFAULT_PARTITION> ; Partition Resource = <memory:32768, vCores:128> ; Queue's Absolute capacity = 50.0 % ; "
      "Queue's Absolute used capacity = 25.0 % ; Queue's Absolute max capacity = 100.0 % ; ";
  EXPECT_EQ(Why(text),
            "waits for its application master: queue ml has admitted the application, and the application master has "
            "no container yet; the "
            "ResourceManager does not report why: the queue uses 25.0 % of the cluster, and its limit is 100.0 %");
  const hadoop::ApplicationReport report{
      .state = ApplicationState::kAccepted, .user = "eve", .queue = "ml", .diagnostics = text};
  const auto why = [] { return std::optional<std::string>("jobs use all 4 GPUs of the nodes"); };
  EXPECT_EQ(AmWaitReason(report, why), "waits for its application master: jobs use all 4 GPUs of the nodes");
  hadoop::ApplicationReport full = report;
  full.diagnostics.replace(full.diagnostics.find("25.0 %"), 6, "100.0 %");
  EXPECT_EQ(AmWaitReason(full, why),
            "waits for its application master: queue ml has no room for the application master: the queue uses 100.0 % "
            "of the cluster, and "
            "its limit is 100.0 %; jobs use all 4 GPUs of the nodes");
}

TEST(MasterWaitTest, ANodeLabelWithoutRunningNodesIsReported) {
  EXPECT_EQ(
      Why("Application is Activated, waiting for resources to be assigned for AM.  Details : AM Partition = big ; "
          "Partition Resource = <memory:0, vCores:0> ; Queue's Absolute used capacity = 0.0 % ; "),
      "waits for its application master: no running node has the label big");
}

TEST(MasterWaitTest, EachPhaseOfAMasterStartHasItsOwnPendingReason) {
  EXPECT_EQ(Why("[x] Scheduler has assigned a container for AM, waiting for AM container to be launched"),
            "waits for its application master: the container of the application master is being started");
  EXPECT_EQ(Why("AM container is launched, waiting for AM container to Register with RM"),
            "waits for its application master: the container of the application master is started, and the application "
            "master has not registered yet");
  EXPECT_EQ(
      Why("AM Container for appattempt_1_0001_000001 exited with  exitCode: 75\nFailing this attempt.Diagnostics: "
          "[2026-11-21 07:44:31.200]Exception from container-launch.\nExit code: 75\nLast 4096 bytes of stderr "
          ":\nits journal is damaged\n"),
      "waits for its application master: the last container of the application master failed: exit code 75; its "
      "journal is damaged");
  EXPECT_EQ(Why("", ApplicationState::kSubmitted),
            "waits for its application master: queue ml has not accepted the application yet");
  EXPECT_EQ(Why("in words\nof another scheduler"), "waits for its application master: in words; of another scheduler");
}

TEST(MasterWaitTest, ARunningOrEndedJobHasNoPendingReason) {
  for (const auto state : {ApplicationState::kRunning, ApplicationState::kFinished, ApplicationState::kKilled})
    EXPECT_EQ(Why("AM container is launched", state), "");
}

TEST(QueuedJobsTest, RunningJobsAreListedFirstAndWaitingJobsFollowInQueueOrder) {
  const auto report = [](int number, ApplicationState state, int priority, int64_t started) {
    ApplicationReport report{.id = {1, number}, .state = state, .user = "eve", .queue = "ml"};
    report.priority = priority;
    report.started = FromMillis(started);
    report.used = {number * 100, 1, {{"yarn.io/gpu", 2}}};
    return report;
  };
  auto hidden = report(5, ApplicationState::kRunning, 0, 5);
  hidden.used = {-1, -1, {}};
  const auto jobs =
      QueuedJobs({report(1, ApplicationState::kAccepted, 0, 1), report(2, ApplicationState::kAccepted, 3, 2),
                  report(3, ApplicationState::kRunning, 0, 3), report(4, ApplicationState::kAccepted, 3, 1), hidden});
  std::vector<std::string> order;
  for (const QueuedJob& job : jobs) order.push_back(job.job.value.substr(job.job.value.size() - 1));
  EXPECT_EQ(order, (std::vector<std::string>{"3", "5", "4", "2", "1"}));
  EXPECT_TRUE(jobs[0].runs && jobs[0].why.empty() && !jobs[2].runs && !jobs[2].why.empty());
  EXPECT_EQ(jobs[0].memory_mb, 300);
  EXPECT_EQ(jobs[0].gpus, 2);
  EXPECT_EQ(jobs[1].memory_mb, 0) << "this user may not know";
}

TEST(MasterWaitTest, TheReportOfAFailedMasterAttemptContainsNoStackTrace) {
  EXPECT_EQ(Why("AM Container for appattempt_1_0001_000001 exited with exitCode: -1000\n"
                "Failing this attempt.Diagnostics: changed on src filesystem\njava.io.IOException: changed on src "
                "filesystem\n\tat a.B"),
            "waits for its application master: the last container of the application master failed: changed on src "
            "filesystem (yarn application "
            "-status application_0_0000 shows the whole text)");
}

// ---- yarn job place

const JobId kPlacedJob{"application_1700000000000_0001"};

class YarnJobPlaceTest : public hadoop::ServedNameNodeTest {
 protected:
  void Refuse() {
    OnServer([this] {
      node_.answers_all = hadoop::FakeNameNode::Refused(403, "AccessControlException", "Permission denied");
    });
  }
  static std::string Bytes(const JobRecords& records, const std::string& name) {
    return ServedNameNodeTest::Bytes(records.store(), name);
  }

  const YarnCluster cluster_{.name_node = {"nn", 8020}, .webhdfs = {node_.url()}, .user = "eve", .home = "/user/eve"};
};

TEST_F(YarnJobPlaceTest, PutRecordsStoresAllGivenRecordsOfAJob) {
  const std::string large(20'000, 'x');
  ASSERT_TRUE(
      PutRecords(cluster_, kPlacedJob, {{"token", "abc"}, {"conf.json", large}, {"secrets", std::nullopt}}).ok());
  const JobRecords records = RecordsOf(cluster_, kPlacedJob);
  EXPECT_EQ(Bytes(records, "token"), "abc");
  EXPECT_EQ(Bytes(records, "conf.json"), large);
  EXPECT_EQ(Bytes(records, "secrets"), "none");
}

TEST_F(YarnJobPlaceTest, ARecordThatHdfsRejectsIsNamedInTheError) {
  Refuse();
  const Status put = PutRecords(cluster_, kPlacedJob, {{"secrets", std::nullopt}, {"token", "abc"}});
  ASSERT_FALSE(put.ok());
  EXPECT_THAT(put.error().message, ::testing::HasSubstr(JobFolderOf(cluster_, kPlacedJob).path + "/token"));
}

TEST_F(YarnJobPlaceTest, ACachedRecordIsReadWithoutARequestToHdfs) {
  Refuse();
  const JobRecords records = RecordsOf(cluster_, kPlacedJob, {{"token", "abc"}});
  EXPECT_EQ(Bytes(records, "token"), "abc");
  EXPECT_FALSE(records.store().Get("spec.json").ok());
}

TEST_F(YarnJobPlaceTest, CertificatesAreReadAsTheyWereWritten) {
  const JobCertificates certificates{{"ca", "c1", "k1"}, {"ca", "c2", "k2"}, {"ca", "c3", "k3"}};
  ASSERT_TRUE(PutRecords(cluster_, kPlacedJob, {{kCertificatesRecord, ToJson(certificates)}}).ok());
  const auto read = Must(ReadCertificates(RecordsOf(cluster_, kPlacedJob)));
  EXPECT_EQ(read.master.key, "k1");
  EXPECT_EQ(read.executor.certificate, "c2");
  EXPECT_EQ(read.client.ca, "ca");
}

}  // namespace
}  // namespace tony
