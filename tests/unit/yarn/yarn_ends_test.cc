#include "runtime/yarn/yarn_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/base/strings.h"
#include "runtime/yarn/yarn_garbage.h"
#include "tests/support/script.h"
#include "tests/unit/records/hdfs/fake_hdfs.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Fate = FakeHdfs::Fate;

ContainerExited Exited(int exit_status, bool stopped = false, const std::string& diagnostics = "N/A") {
  return ExitedOf({.id = YarnId(2), .exit_status = exit_status, .diagnostics = diagnostics}, stopped);
}

TEST(YarnEndsTest, YarnExitCodes0And3AreReportedAsExitCodesOfTheProcess) {
  const auto exited = Exited(3, false, "Exception from container-launch.\n[x] a stack trace");
  EXPECT_EQ(exited.container.value, "container_1700000000000_0001_01_000002");
  EXPECT_EQ(exited.status, (ExitStatus{ExitStatus::Kind::kExited, 3}));
  EXPECT_EQ(exited.error, "");
  EXPECT_FALSE(exited.cls);
  EXPECT_EQ(Exited(0).status, (ExitStatus{ExitStatus::Kind::kExited, 0}));
}

TEST(YarnEndsTest, ExitCodes137And143AreReportedAsSignals9And15) {
  EXPECT_EQ(Exited(137).status, (ExitStatus{ExitStatus::Kind::kSignaled, 9}));
  EXPECT_EQ(Exited(143).status, (ExitStatus{ExitStatus::Kind::kSignaled, 15}));
  EXPECT_EQ(Exited(128).status, (ExitStatus{ExitStatus::Kind::kExited, 128}));
  EXPECT_EQ(Exited(255).status, (ExitStatus{ExitStatus::Kind::kExited, 255}));
  EXPECT_FALSE(Exited(154).status) << "its node began anew and did not see it";
}

TEST(YarnEndsTest, NegativeYarnExitCodesAreMappedToAnOutcomeClassAndAReason) {
  const struct {
    int code;
    OutcomeClass cls;
  } kCodes[] = {{-1000, OutcomeClass::kInfra},    {-100, OutcomeClass::kNodeLost},   {-101, OutcomeClass::kInfra},
                {-102, OutcomeClass::kPreempted}, {-103, OutcomeClass::kOom},        {-104, OutcomeClass::kOom},
                {-105, OutcomeClass::kKilled},    {-106, OutcomeClass::kInfra},      {-107, OutcomeClass::kKilled},
                {-108, OutcomeClass::kPreempted}, {-109, OutcomeClass::kUserConfig}, {-1, OutcomeClass::kInfra},
                {-999, OutcomeClass::kInfra}};
  for (const auto& [code, cls] : kCodes) {
    const auto exited = Exited(code);
    EXPECT_FALSE(exited.status) << code;
    EXPECT_EQ(exited.cls, cls) << code;
    EXPECT_NE(exited.error, "") << code;
  }
  EXPECT_EQ(Exited(-104, false, "is running beyond\nits limit").error,
            "the container used more memory than its limit: is running beyond; its limit");
}

const std::string kNoExec =
    "; if the node's disks for containers (yarn.nodemanager.local-dirs) are mounted noexec, remount them with exec";

TEST(YarnEndsTest, ExitCodes126And127AreReportedAsAFailureOfTheNodeToStartTheExecutor) {
  EXPECT_EQ(Exited(126, false,
                   "[2026-11-21 07:44:31.200]Exception from container-launch.\nExit code: 126\n"
                   "Last 4096 bytes of stderr :\nbash: ./tony-executor: Permission denied\n")
                .error,
            "the node cannot start the executor: exit code 126; bash: ./tony-executor: Permission denied" + kNoExec);
  EXPECT_EQ(Exited(126, false, "Exception from container-launch").error,
            "the node cannot start the executor: exit code 126");
  EXPECT_EQ(Exited(127).error, "the node cannot start the executor: exit code 127");
  EXPECT_EQ(Exited(126, /*stopped=*/true).error, "");
}

TEST(YarnEndsTest, ALongErrorIsCutAndNamesTheCommandThatShowsTheFullText) {
  const std::string error = Exited(-104, false, "beyond its limit\n\t|- 1 2 python3\n").error;
  EXPECT_EQ(error,
            "the container used more memory than its limit: beyond its limit (yarn logs -applicationId "
            "application_1700000000000_0001 -am "
            "ALL shows the whole text)");
  EXPECT_LT(Exited(-104, false, std::string(5000, 'x')).error.size(), 450u);
}

TEST(YarnEndsTest, TheEndOfAContainerOnALostNodeIsUncertainUnlessTheContainerWasStopped) {
  EXPECT_FALSE(Exited(-100).certain);
  EXPECT_TRUE(Exited(-100, /*stopped=*/true).certain) << "it was released";
  EXPECT_TRUE(Exited(-101).certain);
}

TEST(YarnEndsTest, TheExitStatusDecidesWhetherAContainerFailureIsBlamedOnItsNode) {
  const auto is_of_node = [](int exit_status, const std::string& diagnostics = "") {
    return IsNodeFailure({.id = YarnId(2), .exit_status = exit_status, .diagnostics = diagnostics});
  };
  for (const int of_node : {-1000, -100, -101, -1, 126, 127}) EXPECT_TRUE(is_of_node(of_node)) << of_node;
  for (const int other : {-102, -103, -104, -105, -106, 0, 1, 137}) EXPECT_FALSE(is_of_node(other)) << other;
  EXPECT_FALSE(is_of_node(-1000, "File does not exist: hdfs://nn/data"));
}

TEST(YarnEndsTest, AFileThatTheNodeCannotFetchFailsTheContainerWithClassUserConfigOrAuth) {
  const struct {
    const char* said;
    OutcomeClass cls;
    const char* told;
  } kEnds[] = {
      {"[2026-11-25 23:00:00.123]Resource hdfs://nn:8020/data/a b.txt changed on src filesystem - expected: "
       "\"2026-11-25T22:59:01.000+0000\", was: \"2026-11-25T22:59:02.000+0000\", current time: \"x\"\n"
       "java.io.IOException: Resource hdfs://nn:8020/data/a b.txt changed on src filesystem - expected\n\tat org.a.B\n",
       OutcomeClass::kUserConfig,
       "hdfs://nn:8020/data/a b.txt has changed since the job was submitted; submit the job again"},
      {"[x]File does not exist: hdfs://nn:8020/data/x\njava.io.FileNotFoundException: File does not exist: hdfs://nn\n",
       OutcomeClass::kUserConfig, "hdfs://nn:8020/data/x no longer exists"},
      {"[x]Permission denied: user=eve, access=READ, inode=\"/x\":root:supergroup:-rw-------\n\tat org.apache.Y\n",
       OutcomeClass::kAuth, "Permission denied: user=eve, access=READ, inode=\"/x\":root:supergroup:-rw-------"},
      {"org.apache.hadoop.security.token.SecretManager$InvalidToken: token (token for eve: ...) can't be found in "
       "cache",
       OutcomeClass::kAuth,
       "the job's token for HDFS has ended or was cancelled: token (token for eve: ...) can't be found in cache"},
      {"org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.security.token.SecretManager$InvalidToken): Token for "
       "real user: , can't be found in cache\n\tat org.apache.hadoop.ipc.Client",
       OutcomeClass::kAuth,
       "the job's token for HDFS has ended or was cancelled: Token for real user: , can't be found in cache"}};
  for (const auto& [said, cls, told] : kEnds) {
    const auto exited = Exited(-1000, false, said);
    EXPECT_EQ(exited.cls, cls) << said;
    EXPECT_EQ(exited.error, StrCat("the node did not start the container: ", told));
    EXPECT_NE(Exited(-104, false, said).cls, cls) << "only of one that never ran";
  }
}

TEST(YarnEndsTest, AContainerFailureCausedByALocalFaultOfTheNodeHasClassInfra) {
  for (const char* said : {"No space available in any of the local directories.",
                           "java.io.FileNotFoundException: File file:/data/nm-local-dir/x does not exist",
                           "java.io.FileNotFoundException: /data/nm/x (Permission denied)",
                           "java.net.ConnectException: Call From n1 to nn:8020 failed on connection exception",
                           "[x]Exception from container-launch"})
    EXPECT_EQ(Exited(-1000, false, said).cls, OutcomeClass::kInfra) << said;
}

// The texts are those of Hadoop 3.4.3.
TEST(YarnEndsTest, TheDeathOfAMasterIsReportedInOneLineWithTheNodesReason) {
  const std::string tail =
      "For more detailed output, check the application tracking page: http://rm:8088/cluster/app/application_1_0001 "
      "Then click on links to logs of each attempt.\n. Failing the application.";
  const auto died = [&](const std::string& times, int code, const std::string& said) {
    return MasterFailure(StrCat("Application application_1_0001 failed ", times,
                                " due to AM Container for appattempt_1_0001_000002 exited with  exitCode: ", code,
                                "\nFailing this attempt.Diagnostics: ", said, tail));
  };
  EXPECT_EQ(died("2 times", 137,
                 "[2026-11-25 23:00:00.123]Container killed on request. Exit code is 137\n[2026-11-25 23:00:00.124]"
                 "Container exited with a non-zero exit code 137. \n[2026-11-25 23:00:00.125]Killed by external "
                 "signal\n"),
            "the application master died 2 times: signal 9 (SIGKILL)");
  EXPECT_EQ(died("1 times (global limit =4; local limit is =1)", 126,
                 "[x]Exception from container-launch.\nContainer id: container_1_0001_01_000001\nExit code: 126\n\n[x]"
                 "Container exited with a non-zero exit code 126. Error file: prelaunch.err.\nLast 4096 bytes of "
                 "prelaunch.err :\n/bin/bash: line 1: ./tony/tony-yarn-am: Permission denied\n\n[x]Container exited "
                 "with a non-zero exit code 126. Error file: prelaunch.err.\nLast 4096 bytes of prelaunch.err :\n"
                 "/bin/bash: line 1: ./tony/tony-yarn-am: Permission denied\n\n"),
            "the application master died: exit code 126: /bin/bash: line 1: ./tony/tony-yarn-am: Permission denied" +
                kNoExec);
  EXPECT_EQ(died("2 times in previous 10000 milliseconds", -104,
                 "[x]Container [pid=7,containerID=c] is running 1B beyond the 'PHYSICAL' memory limit. Killing "
                 "container.\nDump of the process-tree for c :\n\t|- PID PPID PGRPID\n\t|- 7 5 7 7 (bash) 0 0\n"),
            "the application master died 2 times: the container used more memory than its limit: Container "
            "[pid=7,containerID=c] is running 1B beyond the 'PHYSICAL' memory limit. Killing container.");
  EXPECT_EQ(died("1 times", -1000, "[x]java.io.IOException: no space\n\tat org.apache.A(A.java:1)\n\tat b\n"),
            "the application master died: the node did not start the container: java.io.IOException: no space");
  EXPECT_EQ(died("1 times", 154, ""), "the application master died");
  EXPECT_EQ(MasterFailure("Application application_1_0001 failed 2 times due to ApplicationMaster for attempt "
                          "appattempt_1_0001_000002 timed out. Failing the application."),
            "the application master died 2 times: ApplicationMaster for attempt appattempt_1_0001_000002 timed out");
  EXPECT_EQ(
      MasterFailure("Application application_1_0001 failed 2 times due to Error launching appattempt_1_0001_000002"
                    ". Got exception: java.net.ConnectException: n1:8041\n\tat java.base/x\n. Failing the "
                    "application."),
      "the application master died 2 times: Error launching appattempt_1_0001_000002. Got exception: "
      "java.net.ConnectException: n1:8041");
  EXPECT_EQ(MasterFailure(""), "the application master ended without a verdict");
  EXPECT_EQ(MasterFailure("exitCode: x"), "the application master ended without a verdict: exitCode: x");
  EXPECT_LT(MasterFailure(std::string(5000, 'x')).size(), 400u);
}

TEST(YarnEndsTest, AKillInYarnIsReportedWithItsUserAndReason) {
  const auto killed = [](const std::string& diagnostics) {
    return KillInYarn({.user = "ann", .diagnostics = diagnostics});
  };
  const std::string text = "Application application_1_0001 was killed by user ";
  EXPECT_EQ(killed(text + "ann at 10.0.0.1 with diagnostic message: the job is too slow"), "the job is too slow");
  EXPECT_EQ(killed(text + "bob at 10.0.0.1 with diagnostic message: the job is too slow"),
            "killed in YARN by user bob at 10.0.0.1: the job is too slow");
  EXPECT_EQ(killed(text + "ann at 10.0.0.1"), "killed in YARN by user ann at 10.0.0.1");
  EXPECT_EQ(killed("x"), "killed in YARN: x");
  EXPECT_EQ(killed(""), "killed in YARN");
}

TEST(YarnEndsTest, AStoppedContainerEndsAsKilledUnlessItRanOutOfMemory) {
  for (const int code : {0, 3, 137, 143, -100, -105}) EXPECT_EQ(Exited(code, true).cls, OutcomeClass::kKilled) << code;
  EXPECT_EQ(Exited(-104, true).cls, OutcomeClass::kOom);
}

TEST(YarnEndsTest, TheVerdictOfAJobIsMappedToTheFinalStatusOfTheYarnApplication) {
  Verdict verdict{.state = FinalState::kFailed, .message = "worker:1 failed"};
  EXPECT_EQ(FinalStatusOf(verdict), hadoop::FinalStatus::kFailed);
  EXPECT_EQ(DiagnosticsOf(verdict), "worker:1 failed");
  verdict.attempt = Attempt(1);
  verdict.host = "n2";
  verdict.exit = ExitStatus{ExitStatus::Kind::kExited, 3};
  verdict.stderr_tail = "bad thing";
  EXPECT_EQ(DiagnosticsOf(verdict), "worker:1 failed\nworker:1#1 on n2: exit code 3\nbad thing");
  verdict.stderr_tail = std::string(1 << 20, 'x');
  EXPECT_LT(DiagnosticsOf(verdict).size(), 20'000u);
  verdict.state = FinalState::kKilled;
  EXPECT_EQ(FinalStatusOf(verdict), hadoop::FinalStatus::kKilled);
  verdict.state = FinalState::kSucceeded;
  EXPECT_EQ(FinalStatusOf(verdict), hadoop::FinalStatus::kSucceeded);
}

// ---- Garbage collection in a user's HDFS folder while others submit jobs: what is removed, and what stays.

const HdfsPlaces kPlaces{"/u/.tony",          "/u/.tony/jobs", "/u/.tony/staged",
                         "/u/.tony/programs", "/u/.tony/gc",   "/u/.tony/requests"};
constexpr const char* kOne = "application_1700000000000_0001";
constexpr const char* kTwo = "application_1700000000000_0002";
constexpr Duration kLongAgo = std::chrono::hours(100);

class GarbageBed {
 public:
  explicit GarbageBed(size_t tries = 4) : tries_(tries) {
    EXPECT_TRUE(hdfs->MakeFolders(kPlaces.jobs).ok());
    EXPECT_TRUE(hdfs->MakeFolders(kPlaces.staged).ok());
    hdfs->now = FromMillis(0) + kLongAgo;
  }
  // Stages an entry with this age.
  void Stage(const std::string& name, Duration age, const std::string& folder = kPlaces.staged) {
    const Instant now = std::exchange(hdfs->now, hdfs->now - age);
    EXPECT_TRUE(*hdfs->Create(folder + "/" + name, "bytes"));
    hdfs->now = now;
  }
  HdfsFiles FilesNamed(const std::vector<std::string>& names) {
    HdfsFiles files;
    for (const std::string& name : names) {
      const std::string path = kPlaces.staged + "/" + name;
      const auto entry = hdfs->GetEntry(path);
      if (entry.ok())
        files[name] = {.scheme = "hdfs", .path = path, .size = entry->length, .modified = entry->modified};
    }
    return files;
  }
  void AddJob(const std::string& id, const std::vector<std::string>& names, Duration age, bool is_whole = true) {
    const Instant now = std::exchange(hdfs->now, hdfs->now - age);
    EXPECT_TRUE(hdfs->MakeFolders(kPlaces.jobs + "/" + id).ok());
    const JobRecords records = RecordsAt({id});
    EXPECT_TRUE(PutRecord(records, kFilesRecord, ToJson(FilesNamed(names))).ok());
    if (is_whole) {
      EXPECT_TRUE(PutRecord(records, "submission.json", "{}").ok());
    }
    hdfs->now = now;
  }
  JobRecords RecordsAt(const JobId& job) const {
    const HdfsFolder folder{"", kPlaces.jobs + "/" + job.value, ""};
    return {job, folder.path, std::make_shared<HdfsRecordStore>(hdfs, folder, Tries(tries_))};
  }
  YarnGarbage Collector() const {
    return {hdfs, kPlaces, [this](const JobId& job) { return RecordsAt(job); }, Tries(tries_)};
  }
  Garbage Collect(const std::set<std::string>& going = {}, bool dry_run = false) {
    const auto garbage = Collector().Collect({.may_go = [&](const auto& job) { return going.count(job.job().value); },
                                              .before_jobs_go = [this] { return ++told_, Ok(); },
                                              .dry_run = dry_run});
    EXPECT_TRUE(garbage.ok()) << garbage.error().message;
    return garbage.ok() ? *garbage : Garbage();
  }
  std::vector<std::string> NamesIn(const std::string& folder) {
    std::vector<std::string> names;
    const auto entries = hdfs->List(folder);
    if (entries.ok())
      for (const hadoop::HdfsEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }

  const std::shared_ptr<FakeHdfs> hdfs = std::make_shared<FakeHdfs>();
  int told_ = 0;

 private:
  const size_t tries_;
};

class YarnGarbageTest : public testing::Test, protected GarbageBed {};

TEST_F(YarnGarbageTest, AJobIsRemovedWithTheStagedFilesThatNoOtherJobNeeds) {
  for (const char* name : {"aa", "bb", "cc"}) Stage(name, kLongAgo);
  AddJob(kOne, {"aa", "bb"}, kLongAgo);
  AddJob(kTwo, {"bb", "cc"}, kLongAgo);
  const Garbage garbage = Collect({kOne});
  EXPECT_TRUE(garbage.failure.ok()) << garbage.failure.error().message;
  EXPECT_THAT(garbage.jobs, ElementsAre(kOne));
  EXPECT_THAT(garbage.staged, ElementsAre("aa"));
  EXPECT_EQ(garbage.bytes, 5);
  EXPECT_EQ(told_, 1);
  EXPECT_THAT(NamesIn(kPlaces.jobs), ElementsAre(kTwo));
  EXPECT_THAT(NamesIn(kPlaces.staged), ElementsAre("bb", "cc"));
  EXPECT_THAT(NamesIn(kPlaces.collections), IsEmpty());
  EXPECT_THAT(NamesIn(kPlaces.root), ElementsAre("gc", "jobs", "staged"));
}

TEST_F(YarnGarbageTest, ADryRunReportsTheJobsAndFilesToRemoveAndRemovesNothing) {
  for (const char* name : {"aa", "bb"}) Stage(name, kLongAgo);
  AddJob(kOne, {"aa", "bb"}, kLongAgo);
  AddJob(kTwo, {"bb"}, kLongAgo, /*is_whole=*/false);
  const auto before = hdfs->Files();
  const Garbage garbage = Collect({kOne}, /*dry_run=*/true);
  EXPECT_THAT(garbage.jobs, ElementsAre(kOne));
  EXPECT_THAT(garbage.unfinished, ElementsAre(kTwo));
  EXPECT_THAT(garbage.staged, ElementsAre("aa"));
  EXPECT_EQ(told_, 0);
  EXPECT_EQ(hdfs->Files(), before);
}

TEST_F(YarnGarbageTest, GarbageCollectionSucceedsBeforeTheFirstJobIsSubmitted) {
  ASSERT_TRUE(*hdfs->Remove(kPlaces.root));
  const Garbage garbage = Collect();
  EXPECT_TRUE(garbage.failure.ok());
  EXPECT_THAT(hdfs->Files(), IsEmpty());
}

TEST_F(YarnGarbageTest, UnfinishedJobsAndUnusedFilesAreRemovedOnlyAfterOneHour) {
  Stage("old", kUnfinishedMayGo);
  Stage("young", kUnfinishedMayGo - Duration(1));
  Stage(".put-old", kUploadMayGo);
  Stage(".put-young", kUploadMayGo - Duration(1));
  AddJob(kOne, {}, kUnfinishedMayGo, /*is_whole=*/false);
  AddJob(kTwo, {"young"}, kUnfinishedMayGo - Duration(1), /*is_whole=*/false);
  const Garbage garbage = Collect();
  EXPECT_THAT(garbage.staged, ElementsAre("old"));
  EXPECT_THAT(garbage.unfinished, ElementsAre(kOne, ".put-old"));
  EXPECT_THAT(NamesIn(kPlaces.staged), ElementsAre(".put-young", "young"));
  EXPECT_THAT(NamesIn(kPlaces.jobs), ElementsAre(kTwo));
}

TEST_F(YarnGarbageTest, ProgramsThatNoJobNeedsAreRemovedLikeStagedFiles) {
  ASSERT_TRUE(hdfs->MakeFolders(kPlaces.programs).ok());
  for (const char* name : {"old", "used"}) Stage(name, kLongAgo, kPlaces.programs);
  Stage("used", kLongAgo);
  AddJob(kOne, {"used"}, kLongAgo);
  EXPECT_THAT(Collect().staged, ElementsAre("old"));
  EXPECT_THAT(NamesIn(kPlaces.programs), ElementsAre("used"));
}

TEST_F(YarnGarbageTest, StagedFilesOfAJobThatIsBeingSubmittedAreNotRemoved) {
  Stage("aa", kLongAgo);
  AddJob(kOne, {"aa"}, Duration(0), /*is_whole=*/false);
  EXPECT_THAT(Collect().staged, IsEmpty());
}

TEST_F(YarnGarbageTest, NoStagedFileIsRemovedIfTheFileListOfAJobIsUnreadable) {
  Stage("aa", kLongAgo);
  AddJob(kOne, {}, kLongAgo);
  ASSERT_TRUE(RecordsAt({kOne}).store().Replace(kFilesRecord, "{", kKept).ok());
  const Garbage garbage = Collect();
  ASSERT_FALSE(garbage.failure.ok());
  EXPECT_THAT(garbage.failure.error().message, HasSubstr("staged files were not removed: read "));
  EXPECT_THAT(NamesIn(kPlaces.staged), ElementsAre("aa"));
  EXPECT_THAT(NamesIn(kPlaces.collections), IsEmpty());
}

// The client was suspended, and finishes the job just before its folder is moved away.
TEST_F(YarnGarbageTest, AJobThatIsSubmittedDuringGarbageCollectionIsNotRemoved) {
  AddJob(kOne, {}, kLongAgo, /*is_whole=*/false);
  hdfs->before = [&](std::string_view call) {
    if (call != "RENAME") return;
    hdfs->before = nullptr;
    EXPECT_TRUE(PutRecord(RecordsAt({kOne}), "submission.json", "{}").ok());
  };
  EXPECT_THAT(Collect().unfinished, IsEmpty());
  EXPECT_THAT(NamesIn(kPlaces.jobs), ElementsAre(kOne));
}

TEST_F(YarnGarbageTest, ASubmitFailsAfterGarbageCollectionRemovedItsUnfinishedJobFolder) {
  AddJob(kOne, {}, kLongAgo, /*is_whole=*/false);
  EXPECT_THAT(Collect().unfinished, ElementsAre(kOne));
  EXPECT_FALSE(PutRecord(RecordsAt({kOne}), "submission.json", "{}").ok());
  EXPECT_THAT(NamesIn(kPlaces.jobs), IsEmpty());
}

// Dead collections have left renamed job folders and a folder of their own.
TEST_F(YarnGarbageTest, AnInterruptedGarbageCollectionIsFinishedByTheNextCollection) {
  AddJob(kOne, {}, kLongAgo, /*is_whole=*/false);
  AddJob(kTwo, {}, kLongAgo);
  for (const std::string id : {kOne, kTwo})
    ASSERT_TRUE(*hdfs->Rename(kPlaces.jobs + "/" + id, kPlaces.jobs + "/.old-" + id, hadoop::HdfsRename::kIfNew));
  hdfs->now = FromMillis(0);
  ASSERT_TRUE(hdfs->MakeFolders(kPlaces.collections + "/dead").ok());
  hdfs->now = FromMillis(0) + kLongAgo;
  ASSERT_TRUE(hdfs->MakeFolders(kPlaces.collections + "/at-work").ok());
  EXPECT_THAT(Collect().unfinished, ElementsAre(kOne));
  EXPECT_THAT(NamesIn(kPlaces.jobs), ElementsAre(kTwo));
  EXPECT_THAT(NamesIn(kPlaces.collections), ElementsAre("at-work"));
}

TEST_F(YarnGarbageTest, UnfinishedUploadsAreRemovedAfterTwoDays) {
  for (const std::string& folder : {kPlaces.jobs, kPlaces.requests}) {
    hdfs->now = FromMillis(0) + kLongAgo - kUploadMayGo;
    ASSERT_TRUE(hdfs->MakeFolders(folder + "/.put-old").ok());
    hdfs->now += Duration(1);
    ASSERT_TRUE(hdfs->MakeFolders(folder + "/.put-young").ok());
  }
  hdfs->now = FromMillis(0) + kLongAgo;
  EXPECT_TRUE(Collect().failure.ok());
  for (const std::string& folder : {kPlaces.jobs, kPlaces.requests})
    EXPECT_THAT(NamesIn(folder), ElementsAre(".put-young"));
}

TEST_F(YarnGarbageTest, AbandoningAnUnfinishedJobRemovesItsFolderAndPreventsFurtherRecords) {
  AddJob(kOne, {}, Duration(0), /*is_whole=*/false);
  EXPECT_TRUE(*Collector().GiveUp({kOne}));
  EXPECT_FALSE(PutRecord(RecordsAt({kOne}), "submission.json", "{}").ok());
  EXPECT_THAT(NamesIn(kPlaces.jobs), IsEmpty());
  AddJob(kTwo, {}, Duration(0));
  EXPECT_FALSE(*Collector().GiveUp({kTwo}));
  EXPECT_THAT(NamesIn(kPlaces.jobs), ElementsAre(kTwo));
}

// Another collector has moved the job's folder away, and moves it back now.
TEST_F(YarnGarbageTest, AbandoningAJobFailsIfAnotherGarbageCollectorRestoresTheJobFolder) {
  AddJob(kOne, {}, Duration(0));
  const std::string path = kPlaces.jobs + "/" + kOne, old = kPlaces.jobs + "/.old-" + kOne;
  ASSERT_TRUE(*hdfs->Rename(path, old, hadoop::HdfsRename::kIfNew));
  hdfs->before = [&](std::string_view call) {
    if (call != "GETFILESTATUS") return;
    hdfs->before = nullptr;
    ASSERT_TRUE(*hdfs->Rename(old, path, hadoop::HdfsRename::kIfNew));
  };
  EXPECT_FALSE(*Collector().GiveUp({kOne}));
}

TEST_F(YarnGarbageTest, ASubmitCannotReserveStagedFilesThatWereRemovedOrReplaced) {
  Stage("aa", kLongAgo);
  const HdfsFiles files = FilesNamed({"aa"});
  EXPECT_TRUE(*Collector().Hold(files));
  ASSERT_TRUE(*hdfs->Remove(kPlaces.staged + "/aa"));
  EXPECT_FALSE(*Collector().Hold(files));
  Stage("aa", Duration(0));
  EXPECT_FALSE(*Collector().Hold(files)) << "a node refuses a file of another time";
}

// Submits and collections interrupt each other at random calls, while answers get lost and abandoned calls are executed
// late. At the end each file that a submit found and holds still exists.
class SubmitRace {
 public:
  explicit SubmitRace(uint32_t seed) : random_(seed) {
    for (const char* name : {"aa", "bb"}) bed_.Stage(name, kLongAgo);
    bed_.hdfs->before = [this](std::string_view) {
      bed_.hdfs->now += Duration(1);
      while (OneOf(4) == 0 && bed_.hdfs->RunLate(random_())) {
      }
      if (depth_ < 3 && OneOf(12) == 0) Begin();
    };
    bed_.hdfs->fate = [this](std::string_view) {
      return OneOf(100) < 15 ? static_cast<Fate>(1 + OneOf(4)) : Fate::kAnswered;
    };
  }
  void Run() {
    for (int i = 0; i < 3; ++i) Begin();
    bed_.hdfs->before = nullptr;
    bed_.hdfs->fate = nullptr;
    while (bed_.hdfs->RunLate(random_())) {
    }
    for (const auto& [name, file] : held_) {
      const auto entry = bed_.hdfs->GetEntry(file.path);
      ASSERT_TRUE(entry.ok()) << name;
      ASSERT_EQ(entry->modified, file.modified) << name;
    }
  }

 private:
  uint32_t OneOf(uint32_t count) { return random_() % count; }
  template <class Call>
  static auto Until(Call call) {
    for (;;) {
      auto result = call();
      if (result.ok() || result.error().code != ErrorCode::kUnavailable) return result;
    }
  }

  void Begin() {
    ++depth_;
    if (OneOf(2)) {
      (void)bed_.Collector().Collect({.may_go = [](const JobRecords&) { return false; }});
    } else {
      Submit(jobs_++);
    }
    --depth_;
  }

  void Submit(int number) {
    const JobRecords records = bed_.RecordsAt({StrCat("application_1700000000000_", 1000 + number)});
    const std::string name = OneOf(2) ? "aa" : "bb", path = kPlaces.staged + "/" + name;
    const HdfsBytes bytes(bed_.hdfs, Tries(4));
    for (;;) {
      auto entry = Until([&] { return bed_.hdfs->GetEntry(path); });
      if (!entry.ok()) {
        (void)Until([&] { return bytes.Put(path, "bytes!", hadoop::HdfsRename::kIfNew); });
        entry = Until([&] { return bed_.hdfs->GetEntry(path); });
      }
      if (!entry.ok()) continue;
      const HdfsFiles files = {{name, {.path = path, .size = entry->length, .modified = entry->modified}}};
      ASSERT_TRUE(Until([&] { return bed_.hdfs->MakeFolders(records.place()); }).ok());
      ASSERT_TRUE(Until([&] { return records.store().Replace(kFilesRecord, ToJson(files), kKept); }).ok());
      const auto held = Until([&] { return bed_.Collector().Hold(files); });
      ASSERT_TRUE(held.ok()) << held.error().message;
      if (!*held) continue;
      held_[name] = files.at(name);
      return;
    }
  }

  std::mt19937 random_;
  GarbageBed bed_;
  int depth_ = 0, jobs_ = 0;
  HdfsFiles held_;
};

TEST_F(YarnGarbageTest, ReservingStagedFilesSucceedsEvenIfARemoteFileIsMissing) {
  Stage("aa", kLongAgo);
  HdfsFiles files = FilesNamed({"aa"});
  // The remote file does not exist; its node will report that.
  files["x-remote"] = {.scheme = "hdfs", .path = "/data/x", .size = 1};
  EXPECT_TRUE(*Collector().Hold(files));
}

TEST(YarnGarbageSeeds, AStagedFileReservedByASubmitIsNeverRemoved) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    SubmitRace(seed).Run();
    if (testing::Test::HasFailure()) return;
  }
}

// ---- Why a container was not granted yet

// A resource such as "8192/4/gpu=2/my-type=3G": memory, vcores, others.
hadoop::Resource ResourceIn(const std::string& text) {
  const auto parts = Split(text, '/');
  hadoop::Resource resource{*ParseInt(parts.at(0)), static_cast<int32_t>(*ParseInt(parts.at(1))), {}};
  for (size_t i = 2; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    const std::string type = parts[i].substr(0, equals);
    resource.others[type == "gpu" ? kGpuType : type] = *ParseAmount(parts[i].substr(equals + 1));
  }
  return resource;
}

class PendingWorld {
 public:
  static Deeds<PendingWorld> Its();
  ClusterRoom room;
  PendingRequest request;
};

Deeds<PendingWorld> PendingWorld::Its() {
  return {
      {"asks",
       [](auto& w, auto& its) {
         w.request = {ResourceIn(its[1]), its[2]};
         w.room = {.queue = "root.ml", .user = "eve"};
       }},
      {"node",
       // A host, what it has, what is in use, and its label.
       [](auto& w, auto& its) {
         hadoop::NodeReport node{.id = {its[1], 8041}, .state = hadoop::NodeReport::State::kRunning};
         node.capability = ResourceIn(its[2]);
         node.used = ResourceIn(its[3]);
         if (!its[4].empty()) node.labels = {its[4]};
         w.room.nodes.push_back(node);
       }},
      {"avoids", [](auto& w, auto& its) { w.room.avoided.insert(its[1]); }},
      {"left", [](auto& w, auto& its) { w.room.headroom = ResourceIn(its[1]); }},
      {"queue",
       // The used and the largest part of the cluster, in percent.
       [](auto& w, auto& its) {
         w.room.report = hadoop::QueueReport{.path = "root.ml", .most = its.Number(2) / 100.0};
         w.room.report->used = its.Number(1) / 100.0;
         w.room.report->is_fair = its[3] == "fair";
       }},
      {"why", [](auto& w, auto&) { return WhyNotGranted(w.request, w.room).value_or("not known"); }},
  };
}

const TestRow kReasons[] = {
    {"NoReasonIsGivenWithoutDataAboutNodesAndQueue", {{"asks 256/1 | why", "not known"}}},
    {"NoReasonIsGivenIfNodesAndQueueHaveRoom",
     {{"asks 256/1/gpu=1 | node n1 8192/8/gpu=4 0/0 | left 8192/8/gpu=4 | queue 10 50 | why", "not known"}}},
    {"ARequestLargerThanEveryNodeIsReportedWithTheLargestNode",
     {{"asks 256/1/gpu=4 | node n1 8192/8 0/0 | node n2 8192/8/gpu=2 0/0 | why",
       "no node has 4 GPUs: the most on one node is 2"},
      {"asks 9000/1 | node n1 8192/8 0/0 | why", "no node has 9000 MB of memory: the most on one node is 8192"},
      {"asks 256/9 | node n1 8192/8 0/0 | why", "no node has 9 vcores: the most on one node is 8"},
      {"asks 256/1/my-type=1 | node n1 8192/8 0/0 | why", "no node has 1 of my-type: the most on one node is 0"}}},
    {"ARequestThatNoSingleNodeCanHoldIsReportedWithAllItsResources",
     {{"asks 4096/1/gpu=1 | node n1 8192/8 0/0 | node n2 2048/8/gpu=2 0/0 | why",
       "no node has 4096 MB of memory, 1 GPU and 1 vcore at the same time"}}},
    {"TheReasonNamesAResourceThatNoNodeHasFreeInTheRequestedAmount",
     {{"asks 256/1/gpu=2 | node n1 8192/8 0/0 | node n2 8192/8/gpu=4 100/1/gpu=3 | left 8192/8/gpu=1 | why",
       "no node has 2 GPUs free: the most on one node is 1"},
      {"asks 256/1 | node n1 8192/8 8000/1 | why", "no node has 256 MB of memory free: the most on one node is 192"}}},
    {"LackOfRoomIsReportedIfTheOnlyFreeGpuIsOnANodeWithoutFreeMemory",
     {{"asks 4096/1/gpu=1 | node n1 8192/8 0/0 | node n2 8192/8/gpu=2 6000/1 | why",
       "no node has 4096 MB of memory, 1 GPU and 1 vcore free at the same time"}}},
    {"ResourceAmountsInDifferentUnitsAreConvertedBeforeComparison",
     {{"asks 256/1/my-type=2G | node n1 8192/8/my-type=3000M 0/0/my-type=0M | why", "not known"},
      {"asks 256/1/my-type=2G | node n1 8192/8/my-type=3000M 0/0/my-type=1500M | why",
       "no node has 2G of my-type free: the most on one node is 1500M"}}},
    {"ANodeLabelWithoutRunningNodesIsReported",
     {{"asks 256/1 big | node n1 8192/8 0/0 small | why", "no running node has the label big"},
      {"asks 256/1 | node n1 8192/8 0/0 small | why",
       "every running node has a label, and the container requests none"}}},
    {"NodesAvoidedAfterFailuresAreReportedAsTheReason",
     {{"asks 256/1/gpu=1 | node n1 8192/8 0/0 | node n2 8192/8/gpu=4 0/0 | avoids n2 | why",
       "the nodes with 256 MB of memory, 1 GPU and 1 vcore are avoided, because containers failed there"}}},
    {"AQueueAtItsMaximumCapacityIsReportedAsTheReason",
     {{"asks 256/1 | node n1 8192/8 0/0 | left 100/4 | queue 50 50 | why",
       "queue root.ml has 100 MB of memory left for the job, and a container requests 256 MB of memory: the queue is "
       "at its limit (maximum-capacity)"},
      {"asks 256/1/gpu=2 | node n1 8192/8/gpu=4 0/0 | left 8192/8/gpu=1 | queue 50 50 | why",
       "queue root.ml has 1 GPU left for the job, and a container requests 2 GPUs: the queue is at its limit "
       "(maximum-capacity)"}}},
    {"TheLimitOfTheUserIsReportedIfTheQueueIsBelowItsCapacity",
     {{"asks 256/1 | node n1 8192/8 0/0 | left 0/0 | queue 10 50 | why",
       "queue root.ml has 0 MB of memory left for the job, and a container requests 256 MB of memory: the limit of "
       "user eve in the queue (user-limit-factor, minimum-user-limit-percent)"}}},
    {"TheReasonNamesBothQueueAndUserLimitsIfEitherMayApply",
     {{"asks 256/1 | node n1 8192/8 0/0 | left 0/0 | queue 48 50 | why",
       "~: the limit of the queue (maximum-capacity), or the limit of user eve in the queue (user-limit-factor)"},
      {"asks 256/1 | node n1 8192/8 0/0 | left 0/0 | why",
       "~: the limit of the queue, or the limit of user eve in the queue"},
      {"asks 256/1 | node n1 8192/8 0/0 | left 0/0 | queue 100 100 fair | why",
       "~: the FairScheduler limits the job's share"}}},
    {"FullNodesAreReportedBeforeTheLimitsOfQueueAndUser",
     {{"asks 256/1 | node n1 8192/8 8192/8 | left 0/0 | queue 20 100 | why",
       "no node has 256 MB of memory free: the most on one node is 0"}}},
    {"ALabelledRequestIgnoresTheHeadroom", {{"asks 256/1 big | node n1 8192/8 0/0 big | left 0/0 | why", "not known"}}},
    {"AResourceThatFillsTheQueueIsNamedEvenIfTheJobDoesNotRequestThatResource",
     {{"asks 256/1 | node n1 8192/8/gpu=4 100/1/gpu=4 | node n2 8192/8 0/0 | left 8000/7/gpu=0 | queue 100 100 | why",
       "queue root.ml is at its limit (maximum-capacity): jobs use all 4 GPUs of the nodes"},
      {"asks 256/1 | node n1 8192/8 0/0 | left 8000/7 | queue 100 100 | why",
       "queue root.ml is at its limit (maximum-capacity)"}}},
    {"NoReasonIsGivenIfTheHeadroomOmitsTheRequestedResource",
     {{"asks 256/1/gpu=1 | node n1 8192/8/gpu=4 0/0 | left 8192/8 | why", "not known"}}},
};
TABLE_TEST(PendingReasonTest, kReasons, ScriptIn<PendingWorld>());

}  // namespace
}  // namespace tony
