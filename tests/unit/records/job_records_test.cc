#include "runtime/records/job_records.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_folder.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using std::chrono_literals::operator""s;

JobSpec SmallSpec() {
  JobSpec spec;
  RoleSpec worker;
  worker.name = "worker";
  worker.command = "true";
  spec.roles = {worker};
  spec.timers.grace = 10s;
  return spec;
}

class JobRecordsTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(temp_.path() / name, std::ios::binary) << content;
  }

  TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
};

TEST_F(JobRecordsTest, FoldersOfAnAttemptAreNamedByRoleTaskIndexAndAttemptNumber) {
  const AttemptId attempt{{"worker", 3}, 2};
  EXPECT_EQ(AttemptFolder(records_.place(), attempt).logs, temp_.path() / "logs/worker-3/2");
  EXPECT_EQ(AttemptFolder(records_.place(), attempt).work, temp_.path() / "work/worker-3/2");
}

TEST_F(JobRecordsTest, ReadLeaseReturnsNothingUntilALeaseIsWritten) {
  const auto none = records_.ReadLease();
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  const LeaseRecord record{{3}, {SocketName{"am.3.sock"}}, 42};
  ASSERT_TRUE(records_.WriteLease(record).ok());
  EXPECT_EQ(**records_.ReadLease(), record);
}

// The text was written by the last release, whose executors require each of these fields.
TEST_F(JobRecordsTest, ALeaseFileWithHostAndPortFromThePreviousReleaseIsRead) {
  Write("am.lease", R"({"schema":1,"epoch":3,"host":"127.0.0.1","port":4711,"renewal":42})");
  EXPECT_EQ(**records_.ReadLease(), (LeaseRecord{{3}, {Endpoint{"127.0.0.1", 4711}}, 42}));
}

TEST_F(JobRecordsTest, TheLeaseFileContainsHostAndPortForExecutorsOfThePreviousRelease) {
  const LeaseRecord record{{4}, {SocketName{"am.4.sock"}, Endpoint{"127.0.0.1", 4711}}, 1};
  ASSERT_TRUE(records_.WriteLease(record).ok());
  EXPECT_EQ(**records_.ReadLease(), record);
  const std::string text = *ReadFile(temp_.path() / "am.lease");
  for (const char* field : {"\"epoch\":4", "\"host\":\"127.0.0.1\"", "\"port\":4711", "\"renewal\":1"})
    EXPECT_NE(text.find(field), std::string::npos) << field << " in " << text;
}

TEST_F(JobRecordsTest, TheSocketNameOfAMasterContainsTheMastersEpoch) {
  EXPECT_EQ(SocketOf({3}), SocketName{"am.3.sock"});
  EXPECT_EQ(EpochOfSocket({"am.3.sock"}), Epoch{3});
  for (const char* other : {"am.lease", "am.lock", "am.sock", "am..sock", "am.x.sock", "am.0.sock", "keeper.sock", ""})
    EXPECT_EQ(EpochOfSocket({other}), std::nullopt) << other;
}

TEST_F(JobRecordsTest, AJobTokenOfTheWrongLengthIsRejectedWithTheLengthInTheError) {
  const std::string whole(64, 'a');
  Write("token", whole);
  EXPECT_EQ(*records_.ReadToken(), whole);
  for (const std::string& damaged :
       {std::string(), std::string(16, 'a'), whole.substr(1), whole + "a", whole.substr(1) + " "}) {
    Write("token", damaged);
    const auto token = records_.ReadToken();
    ASSERT_FALSE(token.ok()) << damaged;
    EXPECT_EQ(token.error().code, ErrorCode::kInvalid);
    const std::string expected =
        (temp_.path() / "token").string() + ": the job's token has " + std::to_string(damaged.size()) + " bytes";
    EXPECT_EQ(token.error().message.find(expected), 0u) << token.error().message;
  }
}

TEST_F(JobRecordsTest, TheRequesterOfAKillIsTheOwnerOfTheKillRequestFile_NeedsRoot) {
  Write("spec.json", ToJson(SmallSpec()));
  const auto kill = records_.WriteKill({.reason = "enough", .asker = "somebody who says so"});
  EXPECT_EQ(records_.ReadKills()->front().request.asker, "") << "the job's own user";
  if (geteuid() != 0) GTEST_SKIP() << "files of another user: needs root";
  ASSERT_EQ(chown((temp_.path() / "kill-requests" / (kill->name + ".json")).c_str(), 12345, 12345), 0);
  EXPECT_EQ(records_.ReadKills()->front().request.asker, "uid 12345");
}

TEST_F(JobRecordsTest, ADamagedLeaseIsRejectedWithItsFileAndField) {
  Write("am.lease", "{\"schema\":1,\"epoch\":\"x\"}");
  const auto lease = records_.ReadLease();
  ASSERT_FALSE(lease.ok());
  EXPECT_EQ(lease.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(lease.error().message.find("read " + (temp_.path() / "am.lease").string()), 0u) << lease.error().message;
  EXPECT_NE(lease.error().message.find("epoch"), std::string::npos) << lease.error().message;
  for (const char* damaged :
       {"", "{", "[]", "null", "{\"epoch\":1,\"host\":\"h\",\"port\":70000,\"renewal\":1}",
        "{\"epoch\":1,\"socket\":\"../am.1.sock\",\"renewal\":1}", "{\"epoch\":1,\"socket\":\"\",\"renewal\":1}"}) {
    Write("am.lease", damaged);
    EXPECT_FALSE(records_.ReadLease().ok()) << damaged;
  }
}

TEST_F(JobRecordsTest, EmptyAndMultilineEnvironmentValuesAreReadUnchanged) {
  Write("environment", std::string("A=1\0EMPTY=\0LINES=a\nb\0", 21));
  EXPECT_EQ(*records_.ReadEnvironment(), (std::vector<std::string>{"A=1", "EMPTY=", "LINES=a\nb"}));
  Write("environment", "");
  EXPECT_TRUE(records_.ReadEnvironment()->empty());
}

TEST_F(JobRecordsTest, SecretsOfAJobAreReadBackUntilTheSecretsFileIsRemoved) {
  EXPECT_TRUE(records_.ReadSecrets()->empty());
  Write("secrets", std::string("A=1\0B=x=y\0", 10));
  EXPECT_EQ(*records_.ReadSecrets(), (std::vector<std::string>{"A=1", "B=x=y"}));
  for (int i = 0; i < 2; ++i) {
    records_.RemoveSecrets();
    EXPECT_TRUE(records_.ReadSecrets()->empty());
  }
}

TEST_F(JobRecordsTest, KillRequestsWrittenByTheFirstAndTheCurrentReleaseAreRead) {
  EXPECT_TRUE(records_.ReadKills()->empty());
  const auto named = records_.WriteKill({.reason = "late", .if_owner = {"o1"}});
  EXPECT_FALSE(*records_.HasPlainKill());
  Write("kill-request.json", ToJson(KillRequest{.reason = "old"}));
  Write("kill-requests/cut.json", "{");
  EXPECT_TRUE(*records_.HasPlainKill());
  const auto kills = records_.ReadKills();
  ASSERT_EQ(kills->size(), 2u);
  EXPECT_EQ((*kills)[0].request.reason, "late");
  EXPECT_EQ((*kills)[1].request.reason, "old");
  for (const RecordedKill& kill : *kills) EXPECT_TRUE(records_.RemoveKill(kill.name).ok());
  EXPECT_TRUE(records_.ReadKills()->empty());
  EXPECT_TRUE(records_.RemoveKill(named->name).ok()) << "again";
}

TEST_F(JobRecordsTest, AWrittenJobStatusIsReadBack) {
  EXPECT_FALSE(records_.ReadStatus()->has_value());
  JobStatus status;
  status.job = records_.job();
  status.state = "RUNNING";
  status.seq = 7;
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kSurvivesPowerCut).ok());
  EXPECT_EQ((*records_.ReadStatus())->seq, 7);
}

TEST_F(JobRecordsTest, AJobLockIsHeldUntilItsFileDescriptorIsClosed) {
  EXPECT_FALSE(JobFolder(records_).IsLocked("am.lock"));
  {
    const auto lock = JobFolder(records_).Lock("am.lock");
    ASSERT_TRUE(lock.ok());
    EXPECT_TRUE(JobFolder(records_).IsLocked("am.lock"));
    EXPECT_FALSE(JobFolder(records_).IsLocked("keeper.lock"));
    const auto second = JobFolder(records_).Lock("am.lock");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(JobFolder(records_).IsLocked("am.lock")) << "closing another descriptor of the file has dropped it";
  }
  EXPECT_FALSE(JobFolder(records_).IsLocked("am.lock"));
}

TEST_F(JobRecordsTest, TheJobLockOfAKilledProcessIsReleased) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const auto lock = JobFolder(records_).Lock("am.lock");
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(lock.ok() ? 0 : 1);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(JobFolder(records_).IsLocked("am.lock"));
  EXPECT_FALSE(JobFolder(records_).Lock("am.lock").ok());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(JobFolder(records_).IsLocked("am.lock"));
  EXPECT_TRUE(JobFolder(records_).Lock("am.lock").ok());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(JobRecordsTest, ALockInAMissingJobFolderIsReportedAsNotHeld) {
  const JobRecords missing = LocalJobRecords(temp_.path() / "missing");
  EXPECT_EQ(JobFolder(missing).Lock("am.lock").error().code, ErrorCode::kCannotWrite);
  EXPECT_FALSE(JobFolder(missing).IsLocked("am.lock"));
}

}  // namespace
}  // namespace tony
