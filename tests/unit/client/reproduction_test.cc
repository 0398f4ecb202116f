#include "runtime/client/reproduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/cli/reproduce_session.h"
#include "runtime/client/reproduction_pack.h"
#include "runtime/os/files.h"
#include "runtime/records/checkpoints.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;

JobSpec TwoWorkers(FrameworkKind framework = FrameworkKind::kPytorch) {
  return {.framework = framework, .roles = {{.name = "worker", .instances = 2, .command = "python train.py"}}};
}

AttemptId Worker(int index, int number) { return {{"worker", index}, number}; }

std::vector<Decision> At(const std::vector<DecisionBody>& bodies) {
  std::vector<Decision> decisions;
  for (const DecisionBody& body : bodies) decisions.push_back({{}, body});
  return decisions;
}

// The first attempts of two workers, then a restart of both.
std::vector<Decision> Restarted() {
  const Checkpoint first{.path = "/c/ckpt-1", .step = 1}, second{.path = "/c/ckpt-2", .step = 2};
  return At({CheckpointsListed{{.newest = first}}, AttemptRegistered{Worker(0, 1), {"node-1", 11}},
             AttemptRegistered{Worker(1, 1), {"node-2", 12}}, GenerationFormed{{1}}, AttemptRan{Worker(0, 1)},
             AttemptRan{Worker(1, 1)},
             AttemptEnded{Worker(1, 1), {.cls = OutcomeClass::kUserError, .exit = ExitStatus{.value = 3}}},
             CheckpointNoted{1, second}, AttemptRegistered{Worker(0, 2), {"node-1", 21}},
             AttemptRegistered{Worker(1, 2), {"node-3", 22}}, GenerationFormed{{2}}, AttemptRan{Worker(1, 2)}});
}

Reproduction Kept(JobSpec spec, const AttemptId& attempt) {
  Reproduction kept{.job = {"job-1"}, .spec = std::move(spec)};
  kept.ran = Must(FindAttempt(kept.spec, Restarted(), attempt));
  return kept;
}

TEST(ReproductionTest, AnAttemptIsFoundWithItsAddressesAndCheckpoint) {
  const JournalledAttempt newest = Must(FindAttempt(TwoWorkers(), Restarted(), Worker(1, 0)));
  EXPECT_EQ(newest.attempt, Worker(1, 2));
  EXPECT_EQ(newest.generation.value, 2);
  EXPECT_EQ(newest.resumed_from->path, "/c/ckpt-2");
  EXPECT_THAT(newest.cluster.roles.at("worker"), ElementsAre(Endpoint{"node-1", 21}, Endpoint{"node-3", 22}));
  EXPECT_FALSE(newest.outcome);
  const JournalledAttempt first = Must(FindAttempt(TwoWorkers(), Restarted(), Worker(1, 1)));
  EXPECT_EQ(first.resumed_from->path, "/c/ckpt-1");
  EXPECT_THAT(first.cluster.roles.at("worker"), ElementsAre(Endpoint{"node-1", 11}, Endpoint{"node-2", 12}));
  EXPECT_EQ(first.outcome->exit->value, 3);
  ExpectError(FindAttempt(TwoWorkers(), Restarted(), Worker(0, 2)), ErrorCode::kNotFound,
              "worker:0#2 was never started, so there is nothing to reproduce");
  ExpectError(FindAttempt(TwoWorkers(), Restarted(), Worker(2, 0)), ErrorCode::kNotFound,
              "the job has no task worker:2; its tasks are worker:0 to 1");
}

TEST(ReproductionTest, ATaskRunsAloneIfItNeedsNoOtherTask) {
  JobSpec spec = TwoWorkers();
  EXPECT_FALSE(RunsAlone(spec, spec.roles[0]));
  spec.mode = DistributedMode::kFcfs;
  EXPECT_TRUE(RunsAlone(spec, spec.roles[0]));
  EXPECT_TRUE(RunsAlone(TwoWorkers(FrameworkKind::kStandalone), spec.roles[0]));
  spec = TwoWorkers();
  spec.roles[0].instances = 1;
  spec.roles.insert(spec.roles.begin(), {.name = "board", .command = "x", .completion = Completion::kSidecar});
  EXPECT_TRUE(RunsAlone(spec, spec.roles[1]));
}

TEST(ReproductionTest, AJobForOneTaskHasTheVariablesOfTheWholeGang) {
  Reproduction kept = Kept(TwoWorkers(), Worker(1, 2));
  kept.ran.cluster = OnThisMachine(kept.ran.cluster, {"worker", 1});
  kept.spec.restart.levels[0].most = 5;
  kept.spec.scheduler = "yarn";
  kept.spec.history_folder = "/history";
  const JobSpec spec = ReproductionSpec(kept, {.checkpoints = "/copy", .resumes = true, .memory_mb = 64});
  EXPECT_EQ(spec.TotalTasks(), 1);
  EXPECT_EQ(spec.scheduler, "local");
  EXPECT_EQ(spec.history_folder, "");
  EXPECT_EQ(spec.restart.levels[0].most, 0);
  EXPECT_EQ(spec.roles[0].resources.memory_mb, 64);
  EXPECT_EQ(spec.checkpoint.directory, "/copy");
  EXPECT_TRUE(spec.checkpoint.resume_latest);
  ASSERT_EQ(spec.reproduced.size(), 1u);
  EXPECT_THAT(spec.reproduced[0].variables,
              IsSupersetOf({Pair("RANK", "1"), Pair("WORLD_SIZE", "2"), Pair("MASTER_ADDR", kLoopback),
                            Pair("MASTER_PORT", "21"), Pair("TONY_TASK", "worker:1"), Pair("TONY_ATTEMPT", "2"),
                            Pair("TONY_GENERATION", "2"), Pair("NUM_AM_RETRIES", "1")}));
  EXPECT_EQ(Must(JobSpecFromJson(ToJson(spec))), spec);
  kept.spec = spec;
  kept.ran.attempt = Worker(0, 1);
  EXPECT_EQ(ReproductionSpec(kept, {}).reproduced, spec.reproduced);
}

TEST(ReproductionTest, AJobOnAClusterRequestsWhatTheJobRequested) {
  Reproduction kept = Kept(TwoWorkers(), Worker(1, 2));
  kept.spec.scheduler = "yarn";
  kept.spec.yarn.queue = "training";
  kept.spec.yarn.keytab = "/here/ada.keytab";
  kept.spec.roles[0].node_label = "gpu";
  kept.spec.roles[0].resources.others["yarn.io/fpga"] = Amount(1);
  JobSpec spec = ReproductionSpec(kept, {.gang = true, .scheduler = "yarn"});
  EXPECT_EQ(spec.scheduler, "yarn");
  EXPECT_EQ(spec.yarn.queue, "training");
  EXPECT_EQ(spec.yarn.keytab, "");
  EXPECT_EQ(spec.roles[0].node_label, "gpu");
  EXPECT_EQ(spec.roles[0].resources.others.size(), 1u);
  EXPECT_EQ(ReproductionSpec(kept, {.scheduler = "yarn", .queue = "test"}).yarn.queue, "test");
  spec = ReproductionSpec(kept, {.gang = true});
  EXPECT_EQ(spec.yarn, YarnSpec());
  EXPECT_EQ(spec.roles[0].node_label, "");
}

TEST(ReproductionTest, ATimeLimitOfTheJobDoesNotEndASession) {
  Reproduction kept = Kept(TwoWorkers(), Worker(1, 2));
  kept.spec.timeout = Duration(1000);
  EXPECT_EQ(ReproductionSpec(kept, {}).timeout, Duration(1000));
  EXPECT_EQ(ReproductionSpec(kept, {.command = "wait"}).timeout, Duration(0));
}

TEST(ReproductionTest, EachProcessOfATaskHasItsOwnVariables) {
  Reproduction kept = Kept(TwoWorkers(), Worker(1, 1));
  kept.spec.roles[0].processes = 2;
  kept.ran.cluster.processes["worker"] = 2;
  const JobSpec spec = ReproductionSpec(kept, {});
  ASSERT_EQ(spec.reproduced.size(), 2u);
  EXPECT_EQ(spec.reproduced[1].variables.at("RANK"), "3");
}

TEST(ReproductionTest, AJobForTheGangHasNeitherEarlierRolesNorTheirDependencies) {
  JobSpec spec = TwoWorkers();
  spec.roles[0].depends_on = {{"data"}};
  spec.roles.insert(spec.roles.begin(), {.name = "data", .command = "x"});
  const Reproduction kept = Kept(spec, Worker(1, 2));
  const JobSpec gang = ReproductionSpec(kept, {.gang = true, .command = "wait"});
  ASSERT_EQ(gang.roles.size(), 1u);
  EXPECT_EQ(gang.roles[0].instances, 2);
  EXPECT_THAT(gang.roles[0].depends_on, IsEmpty());
  EXPECT_EQ(gang.roles[0].command,
            "if [ \"$TASK_INDEX/${TONY_PROCESS_INDEX:-0}\" = 1/0 ]; then\nwait\nfi\npython train.py");
  EXPECT_EQ(gang.reproduced[0].variables.count("RANK"), 0u);
  EXPECT_EQ(ReproducedTask(kept, {.gang = true}), (TaskId{"worker", 1}));
  EXPECT_EQ(ReproducedTask(kept, {}), (TaskId{"worker", 0}));
}

TEST(ReproductionTest, AnotherMachineGivesTheVariablesOfTheAccount) {
  Reproduction kept;
  kept.environment = {"HOME=/home/them", "LANG=C", "PATH=/their/bin", "TONY_HOME=/their/tony"};
  kept.left_out = {"API_KEY", "NO_KEY"};
  const std::vector<std::string> own = {"API_KEY=k", "HOME=/home/me", "LANG=de", "PATH=/my/bin", "TONY_LEDGER=/mine"};
  EXPECT_THAT(ReproductionEnvironment(kept, own, true),
              ElementsAre("API_KEY=k", "HOME=/home/me", "LANG=C", "PATH=/their/bin:/my/bin", "TONY_LEDGER=/mine"));
  EXPECT_THAT(ReproductionEnvironment(kept, own, false),
              ElementsAre("API_KEY=k", "HOME=/home/them", "LANG=C", "PATH=/their/bin", "TONY_LEDGER=/mine"));
}

class ReproductionPackTest : public testing::Test {
 protected:
  std::filesystem::path File(const std::string& name) const { return folder_.path() / name; }
  TempFolder folder_;
};

TEST_F(ReproductionPackTest, APackKeepsTheAttemptWithoutSecrets) {
  Must(MakeFolder(File("entry/sub")));
  Must(WriteNewFile(File("entry/sub/train.py"), "print(1)", false));
  Must(WriteNewFile(File("ckpt-2"), "weights", false));
  Reproduction kept = Kept(TwoWorkers(), Worker(1, 2));
  kept.user = "ada";
  kept.host = "node-1";
  kept.spec.execution_env = {{"COLOUR", "blue"}, {"API_KEY", "hidden"}};
  kept.environment = {"LANG=C", "MY_PASSWORD=hidden"};
  kept.secrets = {"PASS"};
  kept.ran.resumed_from->path = File("ckpt-2").string();
  kept.staged.job = {{.path = File("entry"), .form = StagedEntry::Form::kContents}};
  Must(WritePack(kept, File("rank.pack")));
  const auto pack = Must(ReadPack(File("rank.pack"), File("home")));
  const Reproduction& read = pack.kept;
  EXPECT_EQ(read.job, kept.job);
  EXPECT_EQ(read.user, "ada");
  EXPECT_EQ(read.ran.attempt, kept.ran.attempt);
  EXPECT_EQ(read.ran.generation, kept.ran.generation);
  EXPECT_EQ(read.ran.cluster, kept.ran.cluster);
  EXPECT_THAT(read.secrets, ElementsAre("PASS", "API_KEY"));
  EXPECT_THAT(read.left_out, ElementsAre("MY_PASSWORD"));
  EXPECT_THAT(read.environment, ElementsAre("LANG=C"));
  EXPECT_THAT(read.spec.execution_env, ElementsAre(Pair("COLOUR", "blue")));
  EXPECT_EQ(Must(ReadFile(read.ran.resumed_from->path)), "weights");
  EXPECT_EQ(Must(ReadFile(read.staged.job.at(0).path / "sub/train.py")), "print(1)");
  EXPECT_EQ(read.staged.job[0].path.parent_path(), File("home/staged"));
}

TEST_F(ReproductionPackTest, AnEnvironmentOfThisMachineIsNotPacked) {
  Reproduction kept = Kept(TwoWorkers(), Worker(1, 1));
  kept.ran.resumed_from.reset();
  kept.staged.job = {{.name = "venv", .path = File("0123-venv")}};
  ExpectError(WritePack(kept, File("rank.pack")), ErrorCode::kInvalid, "~made from a lock file on this machine");
  EXPECT_FALSE(IsThere(File("rank.pack")));
}

TEST_F(ReproductionPackTest, ACheckpointThatHasChangedIsNoticed) {
  Must(MakeFolder(File("ckpt-1")));
  Must(WriteNewFile(File("ckpt-1/weights.bin"), "a", false));
  const LocalCheckpointFolder folder(folder_.path().string());
  auto checkpoint =
      *Must(NewestCheckpoint(folder, {.directory = folder_.path().string()}, {.folder = folder_.path().string()}));
  EXPECT_EQ(CheckpointDamage(checkpoint, folder), "");
  checkpoint.modified -= Duration(5000);
  ExpectText("~ was overwritten at ", CheckpointDamage(checkpoint, folder));
  checkpoint.path += "-gone";
  ExpectText("~ckpt-1-gone was removed", CheckpointDamage(checkpoint, folder));
}

TEST(DebuggerTest, ADebuggerStartsASingleProgram) {
  const auto words = [](const std::string& command) {
    auto all = Must(DebuggerWords(command));
    return Join({all.begin() + 4, all.end()}, "|");
  };
  EXPECT_EQ(words("python train.py --lr 0.1"), "python|-m|pdb|train.py|--lr|0.1");
  EXPECT_EQ(words("venv/bin/python3.11 -u -X dev -m app 'a b' \"c d\""),
            "venv/bin/python3.11|-u|-X|dev|-m|pdb|-m|app|a b|c d");
  EXPECT_EQ(words("./train --fast"), "gdb|--args|./train|--fast");
  for (const char* command : {"cd x && python a.py", "python a.py > log", "python -c pass", "A=b python a.py",
                              "python \"$SCRIPT\"", "python 'a.py", ""})
    ExpectError(DebuggerWords(command), ErrorCode::kUsage, "~use --shell");
}

}  // namespace
}  // namespace tony
