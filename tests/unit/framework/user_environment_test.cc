#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/framework/task_command.h"

namespace tony {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class UserEnvironmentTest : public testing::Test {
 protected:
  UserEnvironmentTest() {
    spec_.framework = FrameworkKind::kTensorflow;
    spec_.roles = {{.name = "ps", .command = "x", .completion = Completion::kUntracked},
                   {.name = "worker", .instances = 2, .command = "x"}};
    cluster_ = {{4}, {{"ps", {{"h", 1}}}, {"worker", {{"h", 2}, {"h", 3}}}}};
  }
  std::vector<std::string> Variables(const TaskId& task, const std::vector<std::string>& inherited = {}) {
    return Make(task, inherited).variables;
  }
  UserEnvironment Make(const TaskId& task, const std::vector<std::string>& inherited = {}) {
    return MakeUserEnvironment(spec_, cluster_, {{"job-1"}, {task, 2}, {"c-7"}, {"/job/work", "/job/logs"}, ""},
                               inherited);
  }
  JobSpec spec_;
  ClusterSpec cluster_;
};

TEST_F(UserEnvironmentTest, TheEnvironmentOfATaskNamesItsJobAndAttemptAndContainer) {
  const auto variables = Variables({"worker", 1});
  for (const char* expected :
       {"TONY_JOB_ID=job-1", "TONY_TASK=worker:1", "TONY_ATTEMPT=2", "TONY_GENERATION=4", "TONY_LOG_DIR=/job/logs",
        "TONY_CONTAINER=job-1/c-7", "CONTAINER_ID=c-7", "JOB_ID=job-1", "APPID=job-1", "PWD=/job/work"}) {
    EXPECT_THAT(variables, Contains(expected));
  }
}

TEST_F(UserEnvironmentTest, AReproducedTaskHasTheVariablesOfItsAttempt) {
  spec_.reproduced = {{{{"TF_CONFIG", "kept"}, {"TONY_ATTEMPT", "7"}, {"TONY_TASK", "worker:5"}}}};
  const auto variables = Variables({"worker", 1});
  for (const char* expected : {"TF_CONFIG=kept", "TONY_ATTEMPT=7", "TONY_TASK=worker:5", "TONY_JOB_ID=job-1"})
    EXPECT_THAT(variables, Contains(expected));
  EXPECT_THAT(variables, Not(Contains("TONY_ATTEMPT=2")));
}

TEST_F(UserEnvironmentTest, TheEnvironmentOfATaskActivatesThePythonVenvOfTheJob) {
  EXPECT_THAT(Variables({"worker", 1}, {"PATH=/bin", "PYTHONHOME=/opt"}),
              AllOf(Contains("PATH=/bin"), Contains("PYTHONHOME=/opt"), Not(Contains(StartsWith("VIRTUAL_ENV=")))));
  spec_.python_venv = "/home/u/env";
  EXPECT_THAT(Variables({"worker", 1}, {"PATH=/bin", "PYTHONHOME=/opt", "VIRTUAL_ENV=/home/u/other"}),
              AllOf(Contains("PATH=/job/work/venv/bin:/bin"), Contains("VIRTUAL_ENV=/job/work/venv"),
                    Not(Contains(StartsWith("PYTHONHOME=")))));
  EXPECT_THAT(Variables({"worker", 1}), Contains(StartsWith("PATH=/job/work/venv/bin:/usr/local/sbin:")));
}

TEST_F(UserEnvironmentTest, PythonpathEntriesInTheSourceFolderAreRedirectedToTheTaskFolder) {
  spec_.src_dir = "/home/u/src";
  spec_.execution_env = {{"PYTHONPATH", "/home/u/src:/home/u/src/lib:/home/u/src2"}, {"OUT", "/home/u/src/out"}};
  EXPECT_THAT(Variables({"worker", 1}, {"PATH=/home/u/src/.venv/bin"}),
              AllOf(Contains("PYTHONPATH=/job/work:/job/work/lib:/home/u/src2"), Contains("OUT=/home/u/src/out"),
                    Contains("PATH=/home/u/src/.venv/bin")));
}

TEST_F(UserEnvironmentTest, TasksOfMxnetListenAtNumericAddressesOnly) {
  spec_.framework = FrameworkKind::kMxnet;
  spec_.roles = {{.name = "scheduler"}, {.name = "server"}, {.name = "worker"}};
  cluster_.roles = {{"scheduler", {{"10.0.0.1", 1}}}, {"server", {{"h2", 2}}}, {"worker", {{"10.0.0.3", 3}}}};
  const auto no_address = Not(Contains(StartsWith("DMLC_NODE_HOST=")));
  const auto not_all = Not(Contains(StartsWith("DMLC_USE_")));
  EXPECT_THAT(Variables({"scheduler", 0}), AllOf(Contains("DMLC_NODE_HOST=10.0.0.1"), not_all));
  EXPECT_THAT(Variables({"worker", 0}), AllOf(Contains("DMLC_NODE_HOST=10.0.0.3"), not_all));
  EXPECT_THAT(Variables({"server", 0}, {"DMLC_NODE_HOST=h9"}), AllOf(no_address, not_all));
  cluster_.roles["scheduler"] = {{"h1", 1}};
  EXPECT_THAT(Variables({"scheduler", 0}), AllOf(no_address, Contains("DMLC_USE_KUBERNETES=1")));
  spec_.execution_env = {{"DMLC_USE_KUBERNETES", "0"}};
  EXPECT_THAT(Variables({"scheduler", 0}), Contains("DMLC_USE_KUBERNETES=0"));
}

TEST_F(UserEnvironmentTest, EachProcessOfAMultiProcessTaskHasItsIndexAndItsErrorFile) {
  EXPECT_THAT(Variables({"worker", 0}), Not(Contains(StartsWith("TONY_PROCESS_"))));
  spec_.roles[1].processes = 3;
  AttemptPlace place = {{"job-1"}, {{"worker", 0}, 2}, {"c-7"}, {"/job/work", "/job/logs"}, ""};
  const std::vector<std::string> inherited = {"TONY_PROCESS_INDEX=7", "TONY_PROCESS_COUNT=9"};
  const auto first = MakeUserEnvironment(spec_, cluster_, place, inherited).variables;
  EXPECT_THAT(first, Contains("TONY_PROCESS_INDEX=0"));
  EXPECT_THAT(first, Contains("TONY_ERROR_FILE=/job/work/tony-error.json"));
  EXPECT_THAT(first, Contains("TONY_OUTPUT_FILE=/job/work/tony-output.json"));
  place.process = 2;
  const auto last = MakeUserEnvironment(spec_, cluster_, place, inherited).variables;
  EXPECT_THAT(last, Contains("TONY_PROCESS_INDEX=2"));
  EXPECT_THAT(last, Contains("TONY_PROCESS_COUNT=3"));
  EXPECT_THAT(last, Contains("TONY_ERROR_FILE=/job/work/tony-error-2.json"));
  EXPECT_THAT(last, Contains("TONY_NOTICE_FILE=/job/work/tony-notice.json"));
  EXPECT_THAT(last, Not(Contains(StartsWith("TONY_OUTPUT_FILE=")))) << "the first one leaves them";
}

TEST_F(UserEnvironmentTest, ATensorflowTaskHasTfConfigAndTaskIndex) {
  const auto variables = Variables({"worker", 1});
  EXPECT_THAT(variables, Contains("TASK_INDEX=1"));
  EXPECT_THAT(variables, Contains(StartsWith("TF_CONFIG={")));
}

TEST_F(UserEnvironmentTest, AUserSetCudaVisibleDevicesIsIgnoredIfTheRoleRequestsGpus) {
  spec_.roles[1].resources.gpus = 2;
  spec_.execution_env = {{"CUDA_VISIBLE_DEVICES", "7"}};
  const std::vector<std::string> inherited = {"CUDA_VISIBLE_DEVICES=0,1", "NVIDIA_VISIBLE_DEVICES=0,1"};
  EXPECT_THAT(Variables({"worker", 1}, inherited), Contains("CUDA_VISIBLE_DEVICES=0,1"));
  EXPECT_THAT(Variables({"worker", 1}, inherited), Contains("NVIDIA_VISIBLE_DEVICES=0,1"));
  EXPECT_THAT(Variables({"ps", 0}, {"CUDA_VISIBLE_DEVICES="}), Contains("CUDA_VISIBLE_DEVICES=7"));
}

TEST_F(UserEnvironmentTest, ARoleWithoutGpusInheritsCudaVisibleDevicesUnchanged) {
  EXPECT_THAT(Variables({"worker", 1}, {"CUDA_VISIBLE_DEVICES="}), Contains("CUDA_VISIBLE_DEVICES="));
  spec_.roles[1].resources.gpus = 2;
  EXPECT_THAT(Variables({"ps", 0}, {"CUDA_VISIBLE_DEVICES="}), Contains("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(Variables({"ps", 0}), Not(Contains(StartsWith("CUDA_VISIBLE_DEVICES="))));
}

TEST_F(UserEnvironmentTest, OnlyTheChiefTaskHasTonyOutputFileSet) {
  EXPECT_THAT(Variables({"worker", 0}), Contains("TONY_OUTPUT_FILE=/job/work/tony-output.json"));
  EXPECT_THAT(Variables({"worker", 1}, {"TONY_OUTPUT_FILE=/outer"}), Not(Contains(StartsWith("TONY_OUTPUT_FILE="))));
}

TEST_F(UserEnvironmentTest, TonyNoticeFileIsAPathInTheWorkFolderOfTheTask) {
  EXPECT_THAT(Variables({"ps", 0}, {"TONY_NOTICE_FILE=/outer"}),
              Contains("TONY_NOTICE_FILE=/job/work/tony-notice.json"));
}

TEST_F(UserEnvironmentTest, TonyErrorFileIsAPathInTheWorkFolderOfTheTask) {
  const auto variables = Variables({"ps", 0}, {"TONY_ERROR_FILE=/outer", "TORCHELASTIC_ERROR_FILE=/outer"});
  EXPECT_THAT(variables, Contains("TONY_ERROR_FILE=/job/work/tony-error.json"));
  EXPECT_THAT(variables, Not(Contains(StartsWith("TORCHELASTIC_ERROR_FILE="))));
}

TEST_F(UserEnvironmentTest, TorchelasticErrorFileEqualsTonyErrorFileUnlessTheUserSetsTheVariable) {
  spec_.framework = FrameworkKind::kPytorch;
  EXPECT_THAT(Variables({"worker", 0}, {"TORCHELASTIC_ERROR_FILE=/outer"}),
              Contains("TORCHELASTIC_ERROR_FILE=/job/work/tony-error.json"));
  spec_.execution_env = {{"TORCHELASTIC_ERROR_FILE", "/mine"}};
  EXPECT_THAT(Variables({"worker", 0}), Contains("TORCHELASTIC_ERROR_FILE=/mine"));
}

TEST_F(UserEnvironmentTest, DefaultVariablesOfTorchrunAreSetUnlessTheUserSetsThem) {
  spec_.framework = FrameworkKind::kPytorch;
  EXPECT_THAT(Variables({"worker", 0}), Contains("TORCH_NCCL_ASYNC_ERROR_HANDLING=1"));
  EXPECT_THAT(Variables({"worker", 0}), Not(Contains(StartsWith("OMP_NUM_THREADS="))));
  for (RoleSpec& role : spec_.roles) role.processes = 2;
  EXPECT_THAT(Variables({"worker", 0}), Contains("OMP_NUM_THREADS=1"));
  EXPECT_THAT(Variables({"worker", 0}, {"OMP_NUM_THREADS=3"}), Contains("OMP_NUM_THREADS=3"));
  spec_.execution_env = {{"OMP_NUM_THREADS", "4"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"}};
  EXPECT_THAT(Variables({"worker", 0}), Contains("OMP_NUM_THREADS=4"));
  EXPECT_THAT(Variables({"worker", 0}), Contains("TORCH_NCCL_ASYNC_ERROR_HANDLING=0"));
}

TEST_F(UserEnvironmentTest, ARestartedTaskHasTheCheckpointPathInTonyResumeFrom) {
  EXPECT_THAT(Variables({"worker", 0}), Not(Contains(StartsWith("TONY_CHECKPOINT_DIR="))));
  spec_.checkpoint.directory = "/saved";
  EXPECT_THAT(Variables({"worker", 0}), Contains("TONY_CHECKPOINT_DIR=/saved"));
  EXPECT_THAT(Variables({"worker", 0}), Not(Contains(StartsWith("TONY_RESUME_FROM="))));
  const AttemptPlace place{{"job-1"}, {{"worker", 0}, 2}, {"c-7"}, {"/job/work", "/job/logs"}, "/saved/ckpt-7"};
  EXPECT_THAT(MakeUserEnvironment(spec_, cluster_, place, {}).variables, Contains("TONY_RESUME_FROM=/saved/ckpt-7"));
}

TEST_F(UserEnvironmentTest, NumAmRetriesIsTheNumberOfGangRestarts) {
  EXPECT_THAT(Variables({"worker", 1}), Contains("NUM_AM_RETRIES=3"));
  cluster_.generation = {1};
  EXPECT_THAT(Variables({"worker", 1}, {"NUM_AM_RETRIES=2"}), Not(Contains(StartsWith("NUM_AM_RETRIES="))));
}

TEST_F(UserEnvironmentTest, VariablesSetByTheUserReplaceInheritedVariables) {
  spec_.container_env = {{"A", "container"}, {"B", "container"}};
  spec_.execution_env = {{"B", "execution"}};
  EXPECT_THAT(Variables({"worker", 0}, {"A=outer", "B=outer", "HOME=/home/ada", "ODD=a=b"}),
              AllOf(Contains("A=container"), Contains("B=execution"), Contains("HOME=/home/ada"), Contains("ODD=a=b")));
}

TEST_F(UserEnvironmentTest, PythonWritesNoBytecodeIntoASharedVenv) {
  const auto dont_write = [](const char* value) { return Contains(std::string("PYTHONDONTWRITEBYTECODE=") + value); };
  EXPECT_THAT(Variables({"worker", 0}), Not(dont_write("1")));
  spec_.python_venv = "/x/venv.zip";
  EXPECT_THAT(Variables({"worker", 0}), dont_write("1"));
  spec_.execution_env = {{"PYTHONDONTWRITEBYTECODE", ""}};
  EXPECT_THAT(Variables({"worker", 0}), dont_write(""));
}

TEST_F(UserEnvironmentTest, VariablesOfAnotherTonyJobAreNotInherited) {
  spec_.framework = FrameworkKind::kPytorch;
  const auto variables = Variables({"worker", 1}, {"TONY_JOB_ID=outer", "RANK=17", "CLUSTER_SPEC_FILE=/outer",
                                                   "TONY_RESUME_FROM=/x", "OLDPWD=/y", "TORCHELASTIC_RUN_ID=outer"});
  EXPECT_THAT(variables, Contains("TONY_JOB_ID=job-1"));
  EXPECT_THAT(variables, Contains("TORCHELASTIC_RUN_ID=job-1"));
  EXPECT_THAT(variables, Not(Contains("RANK=17")));
  EXPECT_THAT(variables, Not(Contains(StartsWith("TONY_RESUME_FROM="))));
  EXPECT_THAT(variables, Not(Contains(StartsWith("OLDPWD="))));
}

TEST_F(UserEnvironmentTest, PythonunbufferedIs1UnlessTheUserSetsPythonunbuffered) {
  EXPECT_THAT(Variables({"worker", 0}), Contains("PYTHONUNBUFFERED=1"));
  spec_.execution_env = {{"PYTHONUNBUFFERED", ""}};
  EXPECT_THAT(Variables({"worker", 0}), Contains("PYTHONUNBUFFERED="));
}

TEST_F(UserEnvironmentTest, ATfConfigOver128KibIsWrittenToAFileNamedByTfConfigFile) {
  auto& workers = cluster_.roles["worker"];
  for (int i = 2; i < 10'000; ++i) workers.push_back({"host-" + std::to_string(i) + ".example", 4711});
  spec_.roles[1].instances = 10'000;
  const auto environment = Make({"worker", 1}, {"TF_CONFIG=outer"});
  EXPECT_THAT(environment.variables, Contains("TF_CONFIG_FILE=/job/work/tony-tf_config"));
  EXPECT_THAT(environment.variables, Not(Contains(StartsWith("TF_CONFIG="))));
  for (const auto& variable : environment.variables) EXPECT_LT(variable.size(), 128u << 10);
  const auto config = std::ranges::find(environment.files, "/job/work/tony-tf_config", &TaskFile::path);
  ASSERT_NE(config, environment.files.end());
  EXPECT_GT(config->content.size(), 100'000u);
}

TEST_F(UserEnvironmentTest, AGangTaskHasAnMpiHostfileAndAnFcfsTaskHasNone) {
  const auto environment = Make({"worker", 1});
  EXPECT_THAT(environment.variables, Contains("TONY_HOSTFILE=/job/work/tony-hostfile"));
  ASSERT_EQ(environment.files.size(), 1u);
  EXPECT_EQ(environment.files[0].path, "/job/work/tony-hostfile");
  EXPECT_EQ(environment.files[0].content, "h slots=2\n");
  spec_.mode = DistributedMode::kFcfs;
  EXPECT_THAT(Variables({"worker", 1}), Not(Contains(StartsWith("TONY_HOSTFILE="))));
  EXPECT_THAT(Make({"worker", 1}).files, IsEmpty());
}

TEST_F(UserEnvironmentTest, TbPortIsSetOnlyInTheFirstProcessOfATaskWithATensorBoardPort) {
  AttemptPlace place = {{"job-1"}, {{"worker", 0}, 2}, {"c-7"}, {"/job/work", "/job/logs"}, ""};
  const auto made = [&] { return MakeUserEnvironment(spec_, cluster_, place, {"TB_PORT=7"}).variables; };
  EXPECT_THAT(made(), Not(Contains(StartsWith("TB_PORT="))));
  place.ports = {{"tensorboard", 6006}};
  EXPECT_THAT(made(), Contains("TB_PORT=6006"));
  place.process = 1;
  EXPECT_THAT(made(), Not(Contains(StartsWith("TB_PORT="))));
}

TEST_F(UserEnvironmentTest, VariablesOfATaskAreSortedAndUnique) {
  const auto variables = Variables({"worker", 0}, {"PATH=/a", "PATH=/b", "TASK_INDEX=9"});
  std::vector<std::string> names;
  for (const auto& variable : variables) names.push_back(variable.substr(0, variable.find('=')));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace tony
