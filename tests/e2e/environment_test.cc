// The environment of the user's process, as the contract defines it: each task of a real job writes its environment
// into a file.
#include "tests/e2e/script.h"

namespace tony {
namespace {

// The three ways to set datasets: properties of a step, tony.xml, and the command line. TonY let datasets override
// worker_env, and would have split their lists at commas.
const TestRow kEnvironment[] = {
    {"EveryTaskGetsTheDatasetsOfItsAzkabanStepAsVariables",
     {{"write train.job `type=tony\nazkaban.input.dataset=/data/a,/data/b\nazkaban.output.dataset=/out\n"
       "worker_env.AZKABAN_OUTPUT_DATASET=/other\ntony.application.framework=tensorflow\ntony.worker.instances=2\n"
       "executes=echo $AZKABAN_INPUT_DATASET $AZKABAN_OUTPUT_DATASET`",
       ""},
      {"submit train.job", ""},
      {"log worker-0 stdout", "out=/data/a;/data/b /out\n"},
      {"log worker-1 stdout", "out=/data/a;/data/b /out\n"}}},
    {"TheOptionShellEnvOverridesTheDatasetVariableOfTheAzkabanStep",
     {{"write train.job `type=tony\nazkaban.input.dataset=/data/a\ntony.application.framework=standalone\n"
       "tony.worker.instances=1\nexecutes=echo $AZKABAN_INPUT_DATASET`",
       ""},
      {"submit train.job -shell_env AZKABAN_INPUT_DATASET=/data/c;/data/d", ""},
      {"log worker-0 stdout", "out=/data/c;/data/d\n"}}},
    {"ATaskGetsADatasetVariableSetInTonyXml",
     {{"write tony.xml "
       "`<configuration><property><name>tony.execution.env.AZKABAN_INPUT_DATASET</name><value>/data/a;/data/b"
       "</value></property></configuration>`",
       ""},
      {"one `echo $AZKABAN_INPUT_DATASET`", ""},
      {"log worker-0 stdout", "out=/data/a;/data/b\n"}}},
    {"TheErrorForATooLongDatasetNamesTheFileAndTheLine",
     {{"write train.job `type=tony\ntony.application.framework=standalone\ntony.worker.instances=1\nexecutes=true\n"
       "azkaban.input.dataset=%L\n`",
       ""},
      {"submit train.job", "65 && refused && ~\"AZKABAN_INPUT_DATASET\" (from train.job:5) && !xxxx"}}},
};
TABLE_TEST(EnvironmentTest, kEnvironment, [](const TestRow& row) {
  RunScriptWith({{"%L", std::string(200'000, 'x')}}, row);
});

class TaskEnvironmentTest : public TonyTest {
 protected:
  std::string Dump(const std::string& then = "true") const {
    return "env -0 > " + box_.File("env-") + "$JOB_NAME-$TASK_INDEX-$TONY_ATTEMPT; " + then;
  }
  std::map<std::string, std::string> Dumped(const std::string& attempt) const {
    const std::string text = ReadText(box_.File("env-" + attempt));
    std::map<std::string, std::string> variables;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\0', at), equals = text.find('=', at);
      variables[text.substr(at, equals - at)] = text.substr(equals + 1, end - equals - 1);
      at = end + 1;
    }
    EXPECT_FALSE(variables.empty()) << attempt;
    return variables;
  }
};

TEST_F(TaskEnvironmentTest, TheEnvironmentOfATaskNamesTheJobTheTaskAndItsFiles) {
  Succeeds(Workers(2, Dump(), {"tony.ps.instances=1"}));
  const std::map<std::string, std::string> tasks = {{"worker-0-1", "worker:0"}, {"worker-1-1", "worker:1"}};
  for (const auto& [file, task] : tasks) {
    auto env = Dumped(file);
    const std::string index = task.substr(task.size() - 1);
    const std::string work = (box_.JobFolder(Job()) / "work" / ("worker-" + index) / "1").string();
    EXPECT_EQ(env["TONY_JOB_ID"], Job());
    EXPECT_EQ(env["TONY_TASK"], task);
    EXPECT_EQ(env["TONY_ATTEMPT"], "1");
    EXPECT_EQ(env["TONY_GENERATION"], "1");
    EXPECT_EQ(env["TONY_NOTICE_FILE"], work + "/tony-notice.json");
    EXPECT_EQ(env["TONY_ERROR_FILE"], work + "/tony-error.json");
    EXPECT_EQ(env["TONY_LOG_DIR"], (box_.JobFolder(Job()) / "logs" / ("worker-" + index) / "1").string());
    EXPECT_EQ(env["PWD"], work);
    EXPECT_EQ(env["JOB_NAME"], "worker");
    EXPECT_EQ(env["TASK_INDEX"], index);
    EXPECT_EQ(env["TASK_NUM"], "2");
    EXPECT_EQ(env["IS_CHIEF"], index == "0" ? "true" : "") << "TonY gave it to the chief alone";
    EXPECT_EQ(env["DISTRIBUTED_MODE"], "GANG");
    EXPECT_EQ(env["JOB_ID"], Job());
    EXPECT_EQ(env["APPID"], Job());
    EXPECT_EQ(env.count("CONTAINER_ID") + env.count("TONY_CONTAINER") + env.count("SESSION_ID"), 3u);
    EXPECT_EQ(Text(ParseJson(env["TF_CONFIG"]), "/task/type"), "worker");
    EXPECT_EQ(env.count("TONY_OUTPUT_FILE"), index == "0" ? 1u : 0u);
    EXPECT_EQ(env.count("TONY_CHECKPOINT_DIR") + env.count("TONY_RESUME_FROM") + env.count("NUM_AM_RETRIES"), 0u);
  }
  EXPECT_EQ(Dumped("worker-0-1")["TONY_OUTPUT_FILE"],
            (box_.JobFolder(Job()) / "work/worker-0/1/tony-output.json").string());
}

TEST_F(TaskEnvironmentTest, TheEnvironmentOfARestartedTaskHasTheAttemptNumberAndTheNewestCheckpoint) {
  const std::string saved = box_.File("saved");
  fs::create_directory(saved);
  Succeeds(One(Dump("touch $TONY_CHECKPOINT_DIR/step-3; test $TONY_ATTEMPT = 2"),
               {"tony.checkpoint.dir=" + saved, "tony.restart.task.budget=1"}));
  auto first = Dumped("worker-0-1"), second = Dumped("worker-0-2");
  EXPECT_EQ(first["TONY_CHECKPOINT_DIR"], saved);
  EXPECT_EQ(first.count("TONY_RESUME_FROM"), 0u);
  EXPECT_EQ(second["TONY_ATTEMPT"], "2");
  EXPECT_EQ(second["TONY_RESUME_FROM"], saved + "/step-3");
  EXPECT_EQ(second["TONY_OUTPUT_FILE"], (box_.JobFolder(Job()) / "work/worker-0/2/tony-output.json").string());
  EXPECT_NE(second["TONY_NOTICE_FILE"], first["TONY_NOTICE_FILE"]);
}

}  // namespace
}  // namespace tony
