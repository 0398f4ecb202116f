// Compares `tony plan --task` with /proc/PID/cmdline and /proc/PID/environ of the real process: all words and variables
// must be equal, with none missing and none added. Normalized() lists the values that no plan can know.
#include <regex>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr const char* kMask = "********";
// kPorts: variables with a port of the task or of its leader. kAddresses: variables with addresses, HOST:PORT.
constexpr const char* kPorts[] = {"LIGHTGBM_LOCAL_LISTEN_PORT", "MASTER_PORT", "TB_PORT", "DMLC_TRACKER_PORT"};
constexpr const char* kAddresses[] = {
    "CLUSTER_SPEC",      "INIT_METHOD", "JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_BIND_ADDRESS",
    "LIGHTGBM_MACHINES", "TF_CONFIG"};

struct Shape {
  std::string name;
  Words job;  // options of plan and submit
  std::map<std::string, std::string> secrets = {};
  // The arguments of a process that the planned shell starts itself.
  Words shells_child = {};
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class PlanTruthTest : public TonyTest, public testing::WithParamInterface<Shape> {
 protected:
  PlanTruthTest() {
    fs::create_directory(box_.File("src"));
    box_.Write("src/wait.sh", "while :; do sleep 0.1; done\n");
    fs::create_directories(box_.File("environment/lib"));
    fs::create_directory(box_.File("checkpoints"));
    box_.Write(
        "secret.json",
        R"({"executes":"while :; do sleep 0.1; done","framework":"standalone","tasks":{"worker":{"instances":1}},)"
        R"("secrets":{"LICENSE":"hunter2"},"env":{"MY_TOKEN":"hunter3","PLAIN":"seen"}})");
  }

  // Returns the pids of the job's task processes by name, e.g. "worker:1/0". Each task process leads a session of its
  // own.
  std::map<std::string, pid_t> TaskProcesses() const {
    std::map<std::string, pid_t> found;
    for (const Process& process : box_.Processes()) {
      if (getsid(process.pid) != process.pid || process.program.starts_with("tony")) continue;
      Environment environment = EnvironmentOf(process.pid);
      const std::string index = environment.contains("TONY_PROCESS_INDEX") ? environment["TONY_PROCESS_INDEX"] : "0";
      if (environment.contains("TONY_TASK")) found[environment["TONY_TASK"] + "/" + index] = process.pid;
    }
    return found;
  }

  static Words Strings(const std::string& file) {
    Words strings;
    const std::string text = ReadText(file);
    for (size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) strings.emplace_back(text.c_str() + at);
    return strings;
  }
  static Environment EnvironmentOf(pid_t pid) {
    Environment environment;
    for (const std::string& variable : Strings("/proc/" + std::to_string(pid) + "/environ")) {
      const size_t equals = variable.find('=');
      EXPECT_TRUE(environment.emplace(variable.substr(0, equals), variable.substr(equals + 1)).second) << variable;
    }
    return environment;
  }

  static std::string Replace(std::string text, const std::string& what, const std::string& with) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
      text.replace(at, what.size(), with);
    return text;
  }
  // Replaces the values of a real process that a plan cannot know or show: the job's id and folder, the container's id,
  // ports and secrets.
  Environment Normalized(Environment environment) const {
    const std::string container = environment["CONTAINER_ID"];
    EXPECT_EQ(environment["TONY_CONTAINER"], Job() + "/" + container);
    environment["CONTAINER_ID"] = "<container>";
    environment["TONY_CONTAINER"] = "<job>/<container>";
    for (auto& [name, value] : environment)
      value = Replace(Replace(value, box_.JobFolder(Job()).string(), "<folder>"), Job(), "<job>");
    for (const char* name : kPorts) {
      if (!environment.contains(name)) continue;
      EXPECT_GT(std::stoi(environment[name]), 1023) << name;
      environment[name] = "0";
    }
    for (const char* name : kAddresses)
      if (environment.contains(name))
        environment[name] = std::regex_replace(environment[name], std::regex(R"((127\.0\.0\.1):[1-9]\d+)"), "$1:0");
    for (const auto& [name, secret] : GetParam().secrets) {
      EXPECT_EQ(environment[name], secret);
      environment[name] = kMask;
    }
    return environment;
  }

  json::value Plan(const Words& more) const {
    const Ran ran = Succeeds(Words{"plan"} + GetParam().job + more + Words{"--json"});
    for (const auto& [name, secret] : GetParam().secrets) EXPECT_EQ(ran.out.find(secret), std::string::npos) << name;
    return ParseJson(ran.out);
  }
  // Returns the number of processes of the task.
  int ExpectAsPlanned(const std::string& task, const std::map<std::string, pid_t>& real) const {
    const json::value plan = Plan({"--task", task});
    const json::array processes = At(plan, "/task/processes").as_array();
    for (size_t i = 0; i < processes.size(); ++i) {
      const std::string name = task + "/" + std::to_string(i);
      if (!real.contains(name)) {
        ADD_FAILURE() << "no process " << name;
        continue;
      }
      const std::string proc = "/proc/" + std::to_string(real.at(name));
      EXPECT_EQ(json::value_to<Words>(processes[i].at("argv")), Strings(proc + "/cmdline")) << name;
      EXPECT_EQ(json::value_to<Environment>(processes[i].at("environment")), Normalized(EnvironmentOf(real.at(name))))
          << name;
      EXPECT_EQ(Replace(Text(plan, "/task/directory"), "<folder>", box_.JobFolder(Job()).string()),
                fs::read_symlink(proc + "/cwd").string());
    }
    return static_cast<int>(processes.size());
  }
};

TEST_P(PlanTruthTest, EachProcessRunsWithTheCommandAndVariablesThatThePlanShows) {
  Words tasks;
  const json::value roles = At(Plan({}), "/spec/roles");
  for (const json::value& role : roles.as_array())
    for (int64_t i = 0; i < Number(role, "/instances"); ++i)
      tasks.push_back(Text(role, "/name") + ":" + std::to_string(i));
  const auto client = box_.StartTony(Words{"submit"} + GetParam().job);
  ASSERT_TRUE(WaitFor([&] { return client->err().find("job running") != std::string::npos; })) << client->err();
  const auto all_run = [&] {
    const json::value all = At(Status(), "/tasks");
    for (const json::value& task : all.as_array())
      if (Text(task, "/attempt_state") != "running") return false;
    return true;
  };
  ASSERT_TRUE(WaitFor(all_run)) << client->err();
  const std::map<std::string, pid_t> real = TaskProcesses();
  int processes = 0;
  for (const std::string& task : tasks) processes += ExpectAsPlanned(task, real);
  EXPECT_EQ(static_cast<size_t>(processes), real.size()) << ToString(box_.Processes());
  if (!GetParam().shells_child.empty()) {
    std::vector<Words> all;
    for (const Process& process : box_.Processes())
      all.push_back(Strings("/proc/" + std::to_string(process.pid) + "/cmdline"));
    EXPECT_THAT(all, testing::Contains(GetParam().shells_child));
  }
  Succeeds({"kill", Job()});
  client->Wait();
  ExpectNothingLeft();
}

// All commands wait until they are killed: some in a shell, others in a program that replaces the shell.
const Words kWait = {"-executes", "sleep 1000"};
const Words kWaitInShell = {"-executes", "while :; do sleep 0.1; done"};
// A plan shows <READY> instead of a published value, so the head publishes that text.
const Words kReadyHead =
    kWaitInShell + Confs({"tony.head.instances=1", "tony.worker.instances=2", "tony.worker.depends-on=head:ready",
                          "tony.head.command=echo 'READY=<READY>' >> $TONY_PUBLISH_FILE; while :; do sleep 0.1; done"});

INSTANTIATE_TEST_SUITE_P(
    Shapes, PlanTruthTest,
    testing::Values(
        Shape{"JobWithoutRoles", kWait},
        Shape{"Standalone", kWaitInShell + Confs({"tony.application.framework=standalone", "tony.worker.instances=1"})},
        Shape{"ParameterServersAndWorkers", kWait + Confs({"tony.worker.instances=2", "tony.ps.instances=1"})},
        Shape{
            "ChiefEvaluatorAndSidecar",
            kWaitInShell + Confs({"tony.chief.instances=1", "tony.worker.instances=1", "tony.evaluator.instances=1",
                                  "tony.application.tensorboard-log-dir=/tmp", "tony.tensorboard.command=sleep 1000"})},
        Shape{"PytorchWithTwoProcessesPerWorker",
              kWait + Confs({"tony.application.framework=pytorch", "tony.worker.instances=2",
                             "tony.worker.nproc-per-node=2", "tony.chief.instances=1", "tony.db.instances=1",
                             "tony.application.untracked.jobtypes=db"})},
        Shape{"Jax", kWait + Confs({"tony.application.framework=jax", "tony.worker.instances=2"})},
        Shape{"Lightgbm", kWait + Confs({"tony.application.framework=lightgbm", "tony.worker.instances=2"})},
        Shape{"Xgboost", kWait + Confs({"tony.application.framework=xgboost", "tony.worker.instances=2",
                                        "tony.tracker.instances=1"})},
        Shape{"FirstComeFirstServed",
              kWaitInShell + Confs({"tony.application.distributed-mode=FCFS", "tony.worker.instances=2"})},
        Shape{"WorkersThatWaitForTheirHead", kReadyHead},
        Shape{"WorkersThatWaitForTheirHeadFirstComeFirstServed",
              kReadyHead + Confs({"tony.application.distributed-mode=FCFS"})},
        Shape{"CommandsWithQuotesBlanksAndComments",
              Words{"-executes", "sh wait.sh", "-task_params",
                    R"(--name 'two words' --list=a,b "--quote=\"q\"" --empty '' | cat)", "-src_dir", "src",
                    "-shell_env", "LIST=a,b;c", "-shell_env", "QUOTES='\"`$HOME", "-container_env",
                    "BLANKS= two  blanks ", "-container_env", "LINES=one\ntwo", "-container_env", "EMPTY="} +
                  Confs({"tony.worker.instances=1", "tony.ps.instances=1",
                         "tony.ps.command=  sleep\t'1000' | cat # a, comment"}),
              {},
              {"sh", "wait.sh", "--name", "two words", "--list=a,b", "--quote=\"q\"", "--empty", ""}},
        Shape{"EnvironmentFilesAndCheckpoints",
              kWait + Words{"-python_venv", "environment"} +
                  Confs({"tony.worker.instances=1", "tony.checkpoint.dir=${env.HOME}/checkpoints",
                         "tony.containers.resources=src"})},
        Shape{"Secrets", {"secret.json"}, {{"LICENSE", "hunter2"}, {"MY_TOKEN", "hunter3"}}}),
    [](const auto& shape) { return shape.param.name; });

class PlanTaskTest : public TonyTest {};

TEST_F(PlanTaskTest, ThePlanOfATaskShowsItsCommandAndVariables) {
  const Ran ran = Succeeds({"plan", "-executes", "a\nb", "-shell_env", "KEY_SECRET=x", "--task", "driver:0"});
  EXPECT_THAT(ran.out, testing::StartsWith("in <folder>/work/driver-0/1: /bin/bash -c a b\n  APPID=<job>\n"));
  EXPECT_THAT(ran.out, HasSubstr("\n  KEY_SECRET=********\n"));
}

TEST_F(PlanTaskTest, ThePlanCommandRefusesAnUnknownTask) {
  for (const char* task : {"worker:2", "ps:0", "worker", "worker:x"}) {
    const Ran ran = Fails(64, {"plan", "-executes", "true", "-conf", "tony.worker.instances=2", "--task", task});
    EXPECT_EQ(ran.err, std::string("tony: --task ") + task +
                           ": the job has no such task; expected ROLE:INDEX, and the roles are worker (2 tasks)\n");
  }
}

}  // namespace
}  // namespace tony
