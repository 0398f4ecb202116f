#include "runtime/framework/framework.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "runtime/base/strings.h"
#include "tests/support/places.h"

namespace tony {
namespace {

using enum FrameworkKind;
using enum Completion;

RoleSpec Role(const std::string& name, int instances, Completion completion = kTracked) {
  return {name, instances, {}, "true", completion};
}

JobSpec Spec(FrameworkKind framework, const std::vector<RoleSpec>& roles) {
  JobSpec spec;
  spec.framework = framework;
  spec.roles = roles;
  return spec;
}

JobSpec WithProcesses(JobSpec spec, const std::vector<int>& processes_of_roles) {
  for (size_t i = 0; i < processes_of_roles.size(); ++i) spec.roles[i].processes = processes_of_roles[i];
  return spec;
}

JobSpec Fcfs(JobSpec spec) {
  spec.mode = DistributedMode::kFcfs;
  return spec;
}

// Returns a cluster in which each task has its own port: 40000 + 100 * number of the role + index.
ClusterSpec ClusterOf(const JobSpec& spec) {
  ClusterSpec cluster{{1}, {}};
  int base = 40000;
  for (const auto& role : spec.roles) {
    for (int i = 0; i < role.instances; ++i) cluster.roles[role.name].push_back({StrCat("node-", role.name), base + i});
    for (const std::string& name : ValueNames(spec, {role.name, 0}))
      if (spec.framework == kHorovod || spec.framework == kRay) cluster.values[{role.name, 0}][name] = "4711";
    base += 100;
  }
  return cluster;
}

// Returns the environment of every task in the format of the golden files.
std::string Render(const JobSpec& spec) {
  std::string out;
  for (const auto& role : spec.roles) {
    for (int i = 0; i < role.instances; ++i) {
      const TaskId task{role.name, i};
      for (int process = 0; process < role.processes; ++process) {
        out += StrCat("[", NameForProcess(ToString(task), process), "]\n");
        for (const auto& [name, value] : FrameworkEnvironment(spec, ClusterOf(spec), task, process))
          out += StrCat(name, "=", value, "\n");
      }
    }
  }
  return out;
}

TEST(FrameworkTest, OnlyTheStagedFrameworkAssignsNamedPortsToTrainingTasks) {
  for (const FrameworkKind kind : {kStandalone, kTensorflow, kPytorch, kJax, kLightgbm, kXgboost})
    EXPECT_TRUE(PortNames(Spec(kind, {Role("worker", 2)}), {"worker", 1}).empty()) << ToString(kind);
  const JobSpec staged = Spec(kStaged, {Role("driver", 1), Role("worker", 1)});
  EXPECT_EQ(PortNames(staged, {"driver", 0}), (std::vector<std::string>{"control", "data"}));
  EXPECT_TRUE(PortNames(Fcfs(staged), {"driver", 0}).empty());
  for (const std::string& name : PortNames(staged, {"driver", 0})) EXPECT_TRUE(IsPortName(name)) << name;
}

TEST(FrameworkTest, TheFirstTaskOfARoleNotebookHasAPort) {
  const JobSpec spec = Spec(kStandalone, {Role("notebook", 2), Role("tensorboard", 1, kSidecar)});
  EXPECT_EQ(PortNames(spec, {"notebook", 0}), (std::vector<std::string>{"tensorboard"}));
  EXPECT_TRUE(PortNames(spec, {"notebook", 1}).empty());
  EXPECT_EQ(PortNames(spec, {"tensorboard", 0}), (std::vector<std::string>{"tensorboard"}));
}

TEST(FrameworkTest, AtMostOneTaskHasATensorBoardPort) {
  const auto servers = [](const JobSpec& spec) {
    std::vector<std::string> found;
    for (const RoleSpec& role : spec.roles)
      for (int i = 0; i < role.instances; ++i)
        if (!PortNames(spec, {role.name, i}).empty()) found.push_back(ToString(TaskId{role.name, i}));
    return Join(found, " ");
  };
  EXPECT_EQ(servers(Spec(kTensorflow, {Role("chief", 1), Role("worker", 2)})), "chief:0");
  EXPECT_EQ(servers(Fcfs(Spec(kTensorflow, {Role("ps", 1), Role("worker", 2)}))), "worker:0");
  EXPECT_EQ(servers(Spec(kPytorch, {Role("chief", 1), Role("tensorboard", 2, kSidecar)})), "tensorboard:0");
  EXPECT_EQ(servers(Spec(kPytorch, {Role("head", 1), Role("trainer", 1)})), "");
  JobSpec lone = Spec(kStandalone, {Role("driver", 1)});
  EXPECT_EQ(servers(lone), "");
  lone.roles[0].key_prefix = "tony.am";
  EXPECT_EQ(servers(lone), "driver:0");
}

TEST(FrameworkTest, TheEnvironmentOfATaskListsTheNamedPortsOfAllTasks) {
  const JobSpec spec = Spec(kStaged, {Role("driver", 1), Role("worker", 2)});
  ClusterSpec cluster = ClusterOf(spec);
  cluster.ports = {{{"driver", 0}, {{"control", 1}, {"data", 2}}}, {{"worker", 1}, {{"data", 3}}}};
  EXPECT_EQ(FrameworkEnvironment(spec, cluster, {"driver", 0}).at("STAGED_PORTS"), "control=1,data=2");
  EXPECT_EQ(FrameworkEnvironment(spec, cluster, {"worker", 0}).at("STAGED_PORTS"), "");
  EXPECT_EQ(FrameworkEnvironment(spec, cluster, {"worker", 1}).at("STAGED_DATA"),
            "driver:0=node-driver:2,worker:1=node-worker:3");
}

// ---- roles that wait for each other

constexpr Dependency::Until kReady = Dependency::Until::kReady;

JobSpec Prepared(FrameworkKind framework) {
  JobSpec spec = Spec(framework, {Role("data", 2), Role("db", 1, kUntracked), Role("worker", 2)});
  spec.roles[2].depends_on = {{"data"}};
  return spec;
}

TEST(FrameworkTest, ADependencyRoleIsNotPartOfTheTrainingCluster) {
  const JobSpec spec = Prepared(kPytorch);
  const ClusterSpec cluster = ClusterOf(spec);
  const Environment worker = FrameworkEnvironment(spec, cluster, {"worker", 1});
  EXPECT_EQ(worker.at("WORLD_SIZE"), "2");
  EXPECT_EQ(worker.at("RANK"), "1");
  EXPECT_EQ(worker.at("MASTER_ADDR"), "node-worker");
  EXPECT_EQ(worker.at("TASK_NUM"), "4");  // TonY's variable counts the whole job
  ClusterSpec first = cluster;
  first.roles.erase("worker");  // before the workers started
  EXPECT_EQ(FrameworkEnvironment(spec, first, {"data", 1}).at("WORLD_SIZE"), "2");
  EXPECT_EQ(FrameworkEnvironment(spec, first, {"db", 0}).at("MASTER_ADDR"), "node-data");
  EXPECT_EQ(FrameworkEnvironment(Prepared(kTensorflow), cluster, {"worker", 0}).at("CLUSTER_SPEC"),
            R"({"db":["node-db:40100"],"worker":["node-worker:40200","node-worker:40201"]})");
  const auto [with, known] = Together(spec, cluster, "worker");
  EXPECT_EQ(Hostfile(with, known), "node-worker slots=2\n");
}

TEST(FrameworkTest, ADependencyRoleGetsNoFrameworkVariables) {
  JobSpec spec = Spec(kXgboost, {Role("data", 2), Role("tracker", 1), Role("worker", 2)});
  EXPECT_FALSE(CheckFramework(Spec(kXgboost, {Role("data", 2)})).ok());
  spec.roles[1].depends_on = spec.roles[2].depends_on = {{"data"}};
  ASSERT_TRUE(CheckFramework(spec).ok());
  EXPECT_EQ(FrameworkEnvironment(spec, ClusterOf(spec), {"worker", 0}).at("DMLC_NUM_WORKER"), "2");
  EXPECT_FALSE(FrameworkEnvironment(spec, ClusterOf(spec), {"data", 0}).contains("DMLC_NUM_WORKER"));
  JobSpec alone = Spec(kStandalone, {Role("data", 2), Role("worker", 1)});
  EXPECT_FALSE(CheckFramework(alone).ok());
  alone.roles[1].depends_on = {{"data"}};
  EXPECT_TRUE(CheckFramework(alone).ok());
}

TEST(FrameworkTest, AllRolesOfACollectiveMustDependOnTheSameRoles) {
  JobSpec spec = Spec(kPytorch, {Role("chief", 1), Role("data", 1), Role("worker", 2)});
  spec.roles[2].depends_on = {{"data"}};
  const Status refused = CheckFramework(spec);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("roles chief and data would be connected to different tasks; set "),
            std::string::npos)
      << refused.error().message;
  spec.roles[0].depends_on = {{"data"}};
  EXPECT_TRUE(CheckFramework(spec).ok());
}

TEST(FrameworkTest, ATaskReceivesTheReadyValueOfTheRoleOnWhichItDepends) {
  JobSpec spec = Fcfs(Spec(kTensorflow, {Role("head", 1), Role("worker", 2)}));
  spec.roles[1].depends_on = {{"head", kReady}};
  EXPECT_EQ(ValueNames(spec, {"head", 0}), std::vector<std::string>{"READY"});
  EXPECT_EQ(AwaitedValues(spec, {"head", 0}), std::vector<std::string>{"READY"});
  EXPECT_TRUE(ValueNames(spec, {"worker", 0}).empty());
  ClusterSpec cluster{{1}, {{"head", {{"h", 1}}}}};
  cluster.values[{"head", 0}] = {{"READY", "h:7"}};
  const Environment worker = FrameworkEnvironment(spec, cluster, {"worker", 1});
  EXPECT_EQ(worker.at("TONY_READY_HEAD"), "h:7");
  EXPECT_EQ(worker.at("CLUSTER_SPEC"), R"({"head":["h:1"]})");
  EXPECT_EQ(worker.at("TF_CONFIG"), R"({"cluster":{"head":["h:1"]},"task":{"type":"worker","index":1}})");
  const auto reserved = ReservedVariables(spec);
  for (const std::string name : {"CLUSTER_SPEC", "TONY_READY_HEAD"})
    EXPECT_EQ(std::ranges::count(reserved, name), 1) << name;
}

TEST(FrameworkTest, ModelParamsPublishedByThePreprocessingTaskAreSetInTheWorkers) {
  JobSpec spec = Spec(kTensorflow, {Role("preprocess", 1), Role("worker", 1)});
  spec.roles[0].key_prefix = "tony.am";
  spec.roles[1].depends_on = {{"preprocess"}};
  ClusterSpec cluster = ClusterOf(spec);
  const Environment first = FrameworkEnvironment(spec, cluster, {"preprocess", 0});
  EXPECT_EQ(first.at("PREPROCESSING_JOB"), "true");
  EXPECT_FALSE(first.contains("TF_CONFIG"));
  EXPECT_EQ(ValueNames(spec, {"preprocess", 0}), std::vector<std::string>{"MODEL_PARAMS"});
  EXPECT_TRUE(AwaitedValues(spec, {"preprocess", 0}).empty());
  EXPECT_FALSE(FrameworkEnvironment(spec, cluster, {"worker", 0}).contains("MODEL_PARAMS"));
  cluster.values[{"preprocess", 0}] = {{"MODEL_PARAMS", "depth=3"}};
  const Environment worker = FrameworkEnvironment(spec, cluster, {"worker", 0});
  EXPECT_EQ(worker.at("MODEL_PARAMS"), "depth=3");
  EXPECT_EQ(worker.at("TASK_NUM"), "1");
  EXPECT_FALSE(worker.contains("PREPROCESSING_JOB"));
}

TEST(FrameworkTest, EachProcessOfATaskHasARankAndAPortOfItsOwn) {
  JobSpec spec = Spec(kStaged, {Role("driver", 1), Role("worker", 2)});
  spec.roles[1].processes = 3;
  EXPECT_EQ(PortNames(spec, {"worker", 1}), (std::vector<std::string>{"data", "process_0", "process_1", "process_2"}));
  ClusterSpec cluster = ClusterOf(spec);
  cluster.processes = {{"worker", 3}};
  cluster.ports = {{{"worker", 1}, {{"process_1", 7}, {"process_2", 8}}}};
  const Environment last = FrameworkEnvironment(spec, cluster, {"worker", 1}, 2);
  EXPECT_EQ(last.at("STAGED_RANK"), "6");
  EXPECT_EQ(last.at("STAGED_SIZE"), "7");
  EXPECT_EQ(last.at("STAGED_PROCESS_PORT"), "8");
  EXPECT_EQ(FrameworkEnvironment(spec, cluster, {"worker", 0}, 1).at("STAGED_RANK"), "2");
  const Environment driver = FrameworkEnvironment(spec, cluster, {"driver", 0});
  EXPECT_EQ(driver.at("STAGED_RANK"), "0");
  EXPECT_FALSE(driver.contains("STAGED_PROCESS_PORT"));
}

TEST(FrameworkTest, OnlyTheStagedFrameworkStartsRolesInStages) {
  for (const FrameworkKind kind : {kStandalone, kTensorflow, kPytorch, kJax, kLightgbm, kXgboost}) {
    const JobSpec spec = Spec(kind, {Role("driver", 1), Role("worker", 1)});
    EXPECT_EQ(StageOf(spec, "worker"), 0) << ToString(kind);
    EXPECT_TRUE(ValueNames(spec, {"driver", 0}).empty()) << ToString(kind);
  }
  const JobSpec staged = Spec(kStaged, {Role("driver", 1), Role("ps", 2), Role("worker", 1)});
  EXPECT_EQ(StageOf(staged, "driver"), 0);
  EXPECT_EQ(StageOf(staged, "ps"), 1);
  EXPECT_EQ(StageOf(staged, "worker"), 2);
  EXPECT_EQ(AwaitedValues(staged, {"ps", 1}), std::vector<std::string>{"ADDRESS"});
  EXPECT_TRUE(AwaitedValues(staged, {"worker", 0}).empty());
  EXPECT_EQ(StageOf(Fcfs(staged), "worker"), 0);
  EXPECT_TRUE(ValueNames(Fcfs(staged), {"driver", 0}).empty());
}

TEST(FrameworkTest, NoTaskWaitsForValuesPublishedByTheLastStage) {
  const JobSpec spec = Spec(kStaged, {Role("driver", 1), Role("ps", 1)});
  EXPECT_EQ(ValueNames(spec, {"ps", 0}), std::vector<std::string>{"ADDRESS"});
  EXPECT_TRUE(AwaitedValues(spec, {"ps", 0}).empty());
}

TEST(FrameworkTest, AJobThatPublishesOver256ValuesOrAwaitsValuesOfASidecarIsRejected) {
  const auto refused = [](const std::vector<RoleSpec>& roles) {
    const Status status = CheckFramework(Spec(kStaged, roles));
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(refused({Role("driver", 1), Role("ps", 255), Role("worker", 1)}), "");
  EXPECT_EQ(refused({Role("driver", 1), Role("ps", 256), Role("worker", 1)}),
            "framework staged: the tasks of this job publish 257 values, expected at most 256");
  EXPECT_EQ(refused({Role("driver", 1, kSidecar), Role("worker", 1)}),
            "role driver: a sidecar cannot publish values for which other roles wait; expected a tracked role");
  EXPECT_EQ(refused({Role("driver", 1), Role("ps", 1, kSidecar)}), "");
}

TEST(FrameworkTest, ATaskReceivesTheValuesThatEarlierStagesPublished) {
  const JobSpec spec = Spec(kStaged, {Role("driver", 1), Role("worker", 1)});
  ClusterSpec cluster = ClusterOf(spec);
  cluster.values = {{{"driver", 0}, {{"ADDRESS", "here:1"}}}};
  EXPECT_EQ(FrameworkEnvironment(spec, cluster, {"worker", 0}).at("STAGED_ADDRESSES"), "driver:0=here:1");
}

TEST(FrameworkTest, TheMpiHostfileListsHostsInRankOrderWithTheirTotalSlots) {
  JobSpec spec = WithProcesses(
      Spec(kPytorch, {Role("actor", 2), Role("chief", 1), Role("ps", 1, kUntracked), Role("worker", 1)}), {3, 1, 1, 2});
  spec.roles[3].resources.gpus = 4;
  const ClusterSpec cluster = {
      {1}, {{"actor", {{"a", 1}, {"b", 2}}}, {"chief", {{"b", 3}}}, {"ps", {{"c", 4}}}, {"worker", {{"a", 5}}}}};
  EXPECT_EQ(Hostfile(spec, cluster), "b slots=4\na slots=7\n");
  EXPECT_EQ(Hostfile(spec, {}), "");
  spec.roles[0].resources.vcores = 8;
  spec.roles[3].resources.vcores = 8;
  EXPECT_EQ(Hostfile(spec, cluster), "b slots=9\na slots=12\n") << "cores count where there are no GPUs";
}

struct GoldenCase {
  std::string file;
  JobSpec spec;
};
void PrintTo(const GoldenCase& golden, std::ostream* out) { *out << golden.file; }

std::vector<GoldenCase> GoldenCases() {
  return {
      {"tensorflow_workers", Spec(kTensorflow, {Role("worker", 2)})},
      {"tensorflow_ps_worker", Spec(kTensorflow, {Role("ps", 1, kUntracked), Role("worker", 2)})},
      {"tensorflow_all_roles", Spec(kTensorflow, {Role("chief", 1), Role("evaluator", 1), Role("ps", 1, kUntracked),
                                                  Role("tensorboard", 1, kSidecar), Role("worker", 1)})},
      {"tensorflow_chief_without_worker", Spec(kTensorflow, {Role("chief", 1), Role("ps", 1, kUntracked)})},
      {"pytorch_workers", Spec(kPytorch, {Role("worker", 2)})},
      {"pytorch_several_roles",
       Spec(kPytorch, {Role("actor", 2), Role("chief", 2), Role("ps", 1, kUntracked), Role("worker", 1)})},
      {"pytorch_neither_chief_nor_worker", Spec(kPytorch, {Role("head", 1), Role("trainer", 2)})},
      {"pytorch_several_processes",
       WithProcesses(Spec(kPytorch, {Role("chief", 1), Role("ps", 1, kUntracked), Role("worker", 2)}), {1, 2, 3})},
      {"jax_workers", Spec(kJax, {Role("worker", 2)})},
      {"jax_chief_and_sidecar", Spec(kJax, {Role("chief", 1), Role("tensorboard", 1, kSidecar), Role("worker", 1)})},
      {"lightgbm_workers", Spec(kLightgbm, {Role("worker", 3)})},
      {"lightgbm_several_roles",
       Spec(kLightgbm, {Role("actor", 1), Role("chief", 1), Role("tensorboard", 1, kSidecar), Role("worker", 1)})},
      {"xgboost_tracker_and_workers", Spec(kXgboost, {Role("tracker", 1), Role("worker", 2)})},
      {"xgboost_several_roles", Spec(kXgboost, {Role("chief", 1), Role("tensorboard", 1, kSidecar),
                                                Role("tracker", 1, kUntracked), Role("worker", 2)})},
      {"horovod_driver_and_workers",
       Spec(kHorovod, {Role("driver", 1, kUntracked), Role("tensorboard", 1, kSidecar), Role("worker", 2)})},
      {"mxnet_all_roles",
       Spec(kMxnet, {Role("scheduler", 1), Role("server", 1), Role("tensorboard", 1, kSidecar), Role("worker", 2)})},
      {"ray_head_and_nodes", Spec(kRay, {Role("head", 1), Role("worker", 2, kUntracked)})},
      {"fcfs_shards", Fcfs(Spec(kStandalone, {Role("worker", 3)}))},
      {"fcfs_tensorflow", Fcfs(Spec(kTensorflow, {Role("chief", 1), Role("worker", 1)}))},
      {"standalone", Spec(kStandalone, {Role("driver", 1)})},
  };
}

class GoldenTest : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenTest, EveryTaskHasTheEnvironmentOfTheGoldenFile) {
  const std::string path = StrCat(SourceFolder(), "/tests/unit/framework/golden/", GetParam().file, ".txt");
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(Render(GetParam().spec), golden.str()) << path;
}

TEST_P(GoldenTest, EveryVariableOfTheFrameworkIsInTheReservedListExactlyOnce) {
  const JobSpec& spec = GetParam().spec;
  const auto reserved = ReservedVariables(spec);
  EXPECT_TRUE(std::ranges::is_sorted(reserved));
  EXPECT_EQ(std::ranges::adjacent_find(reserved), reserved.end());
  for (const auto& role : spec.roles) {
    for (const auto& [name, value] : FrameworkEnvironment(spec, ClusterOf(spec), {role.name, 0})) {
      EXPECT_TRUE(std::ranges::binary_search(reserved, name)) << name;
    }
  }
}

TEST_P(GoldenTest, TheFrameworkAcceptsTheJobSpecOfTheGoldenFile) { EXPECT_TRUE(CheckFramework(GetParam().spec).ok()); }

INSTANTIATE_TEST_SUITE_P(Frameworks, GoldenTest, ::testing::ValuesIn(GoldenCases()),
                         [](const auto& golden) { return golden.param.file; });

TEST(FrameworkTest, AStandaloneJobWithThreeTasksIsRejected) {
  const auto two = CheckFramework(Spec(kStandalone, {Role("driver", 1), Role("worker", 2)}));
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(two.error().message,
            "framework standalone runs exactly one task, but the job has 3 (1 driver, 2 worker); for independent tasks "
            "set tony.application.distributed-mode=FCFS");
}

TEST(FrameworkTest, AStandaloneJobCanHaveSidecarsButNoUntrackedRole) {
  EXPECT_TRUE(CheckFramework(Spec(kStandalone, {Role("tensorboard", 1, kSidecar), Role("worker", 1)})).ok());
  EXPECT_FALSE(CheckFramework(Spec(kStandalone, {Role("ps", 1, kUntracked), Role("worker", 1)})).ok());
}

TEST(FrameworkTest, AnXgboostJobNeedsExactlyOneTrackerAndATrackedWorker) {
  const auto message = [](const std::vector<RoleSpec>& roles) {
    const auto status = CheckFramework(Spec(kXgboost, roles));
    return status.ok() ? "accepted" : status.error().message;
  };
  const auto wrong_trackers = [](int trackers) {
    return StrCat(
        "framework xgboost needs exactly one task of role tracker, which runs XGBoost's tracker, but the job "
        "has ",
        trackers, ": set tony.tracker.instances=1 and tony.tracker.command");
  };
  EXPECT_EQ(message({Role("worker", 2)}), wrong_trackers(0));
  EXPECT_EQ(message({Role("tracker", 2), Role("worker", 2)}), wrong_trackers(2));
  EXPECT_EQ(message({Role("tracker", 1)}), "framework xgboost needs a tracked role besides tracker, e.g. worker");
  EXPECT_EQ(message({Role("tracker", 1), Role("worker", 1, kUntracked)}),
            "framework xgboost needs a tracked role besides tracker, e.g. worker");
}

TEST(FrameworkTest, OnlyPytorchSupportsSeveralProcessesPerTask) {
  for (const auto framework : {kTensorflow, kJax, kLightgbm, kXgboost, kStandalone}) {
    const auto status = CheckFramework(WithProcesses(Spec(framework, {Role("worker", 1)}), {2}));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(status.error().message, StrCat("tony.worker.nproc-per-node=2: framework ", ToString(framework),
                                             " supports only one process for each task; expected 1, or framework "
                                             "pytorch"));
  }
}

TEST(FrameworkTest, FrameworksWithCollectivesRejectFcfsMode) {
  for (const auto framework : {kPytorch, kJax, kLightgbm, kXgboost}) {
    const auto status = CheckFramework(Fcfs(Spec(framework, {Role("tracker", 1), Role("worker", 2)})));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(status.error().message,
              StrCat("tony.application.distributed-mode FCFS: framework ", ToString(framework),
                     " needs tasks that start together; expected GANG, or framework standalone for independent tasks"));
  }
}

TEST(FrameworkTest, ALimitOfParallelTasksNeedsIndependentTasks) {
  JobSpec spec = Fcfs(Spec(kStandalone, {Role("trial", 5)}));
  spec.roles[0].max_parallel = 2;
  EXPECT_TRUE(CheckFramework(spec).ok());
  spec.roles[0].restart_scope = RestartScope::kGang;
  EXPECT_EQ(CheckFramework(spec).error().message,
            "restart scope gang of role trial: a role with max-parallel restarts only single tasks; set the scope to "
            "task");
  spec.roles[0].restart_scope.reset();
  spec.mode = DistributedMode::kGang;
  EXPECT_EQ(CheckFramework(spec).error().message,
            "tony.trial.max-parallel: the tasks of mode GANG start together; for independent tasks set "
            "tony.application.distributed-mode to FCFS");
}

TEST(FrameworkTest, TheEnvironmentOfAnFcfsTaskDoesNotDependOnTheClusterSpec) {
  const JobSpec spec = Fcfs(Spec(kTensorflow, {Role("chief", 1), Role("worker", 2)}));
  const ClusterSpec partial{{1}, {{"worker", {{"node", 40000}}}}};
  EXPECT_EQ(FrameworkEnvironment(spec, partial, {"worker", 1}), FrameworkEnvironment(spec, {}, {"worker", 1}));
}

TEST(FrameworkTest, LightgbmWorkersAndTheXgboostTrackerBindTheirPortsExclusively) {
  const JobSpec lightgbm = Spec(kLightgbm, {Role("tensorboard", 1, kSidecar), Role("worker", 2)});
  EXPECT_TRUE(BindsPortExclusively(lightgbm, {"worker", 1}));
  EXPECT_FALSE(BindsPortExclusively(lightgbm, {"tensorboard", 0}));
  const JobSpec xgboost = Spec(kXgboost, {Role("tracker", 1), Role("worker", 2)});
  EXPECT_TRUE(BindsPortExclusively(xgboost, {"tracker", 0}));
  EXPECT_FALSE(BindsPortExclusively(xgboost, {"worker", 0}));
  EXPECT_FALSE(BindsPortExclusively(Spec(kPytorch, {Role("worker", 2)}), {"worker", 0}));
}

TEST(FrameworkTest, AUserSetCudaVisibleDevicesIsRejectedIfARoleRequestsGpus) {
  JobSpec spec = Spec(kTensorflow, {Role("ps", 1), Role("worker", 1)});
  spec.execution_env["CUDA_VISIBLE_DEVICES"] = "-1";
  EXPECT_TRUE(CheckEnvironment(spec, {}).ok());
  spec.roles[1].resources.gpus = 1;
  const auto status = CheckEnvironment(spec, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(
      status.error().message,
      "worker_env.CUDA_VISIBLE_DEVICES, -shell_env CUDA_VISIBLE_DEVICES, tony.execution.env.CUDA_VISIBLE_DEVICES: "
      "TonY itself sets this variable in every task; choose another name");
}

TEST(FrameworkTest, AUserVariableIsRejectedWithItsNameIfTonySetsTheSameVariable) {
  const auto message = [](FrameworkKind framework, const std::string& name, bool container) {
    JobSpec spec = Spec(framework, {Role("worker", 1)});
    (container ? spec.container_env : spec.execution_env)[name] = "x";
    const auto status = CheckEnvironment(spec, {});
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  const auto of_task = [](const std::string& name) {
    return StrCat("worker_env.", name, ", -shell_env ", name, ", tony.execution.env.", name,
                  ": TonY itself sets this variable in every task; choose another name");
  };
  const auto of_container = [](const std::string& name) {
    return StrCat("-container_env ", name, ", tony.containers.env.", name,
                  ": TonY itself sets this variable in every task; choose another name");
  };
  EXPECT_EQ(message(kPytorch, "RANK", false), of_task("RANK"));
  EXPECT_EQ(message(kTensorflow, "TF_CONFIG", true), of_container("TF_CONFIG"));
  EXPECT_EQ(message(kStandalone, "JOB_NAME", false), of_task("JOB_NAME"));
  EXPECT_EQ(message(kJax, "TONY_JOB_ID", false), of_task("TONY_JOB_ID"));
  EXPECT_EQ(message(kLightgbm, "LIGHTGBM_MACHINES", false), of_task("LIGHTGBM_MACHINES"));
  EXPECT_EQ(message(kXgboost, "DMLC_TASK_ID", true), of_container("DMLC_TASK_ID"));
  EXPECT_EQ(message(kTensorflow, "RANK", false), "accepted");
  EXPECT_EQ(message(kPytorch, "TF_CONFIG", false), "accepted");
  EXPECT_EQ(message(kPytorch, "OMP_NUM_THREADS", false), "accepted");
}

TEST(GlobalRankTest, TheChiefHasRank0AndOtherTasksFollowInTheOrderOfTheSpec) {
  const JobSpec spec =
      Spec(kPytorch, {Role("actor", 2), Role("chief", 2), Role("ps", 2, kUntracked), Role("worker", 2)});
  const std::vector<TaskId> order = {{"chief", 0}, {"actor", 0},  {"actor", 1},
                                     {"chief", 1}, {"worker", 0}, {"worker", 1}};
  for (size_t rank = 0; rank < order.size(); ++rank) {
    EXPECT_EQ(GlobalRank(spec, order[rank]), static_cast<int>(rank)) << ToString(order[rank]);
  }
  EXPECT_EQ(GlobalRank(spec, {"ps", 0}), -1);
  EXPECT_EQ(GlobalRank(spec, {"nobody", 0}), -1);
}

TEST(GlobalRankTest, AnUntrackedChiefHasNoRank) {
  const JobSpec spec = Spec(kPytorch, {Role("chief", 1, kUntracked), Role("worker", 2)});
  EXPECT_EQ(GlobalRank(spec, {"chief", 0}), -1);
  EXPECT_EQ(GlobalRank(spec, {"worker", 0}), 0);
  EXPECT_EQ(GlobalRank(spec, {"worker", 1}), 1);
}

TEST(GlobalRankTest, TrackedTasksAreRankedFromZeroWithoutGaps) {
  for (const auto& golden : GoldenCases()) {
    std::vector<int> ranks;
    for (const auto& role : golden.spec.roles) {
      for (int i = 0; i < role.instances; ++i) {
        const int rank = GlobalRank(golden.spec, {role.name, i});
        EXPECT_EQ(rank < 0, role.completion != kTracked);
        if (rank >= 0) ranks.push_back(rank);
      }
    }
    std::ranges::sort(ranks);
    ASSERT_EQ(ranks.size(), static_cast<size_t>(golden.spec.TrackedTasks()));
    for (size_t i = 0; i < ranks.size(); ++i) EXPECT_EQ(ranks[i], static_cast<int>(i)) << golden.file;
  }
}

}  // namespace
}  // namespace tony
