// Results are never stale: an edited program trains again, a repeated try does not. Each training of the test's program
// appends a line to a file.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

enum class Who { kPerson, kFirstTry, kLaterTry };

class DigestTest : public TonyTest {
 protected:
  DigestTest() {
    fs::create_directory(source_);
    Edit("first");
  }

  void Edit(const std::string& text) { box_.Write("src/train.sh", "echo " + text + " >>" + box_.File("trained")); }
  void EditToHold() { box_.Write("src/train.sh", HoldUntilGo()); }
  std::string Trained() const { return ReadText(box_.File("trained")); }

  Words Submit(Who who, const Words& more = {}) {
    const Words asker = who == Who::kPerson ? Words{} : Words{"--owner", "try-" + std::to_string(++tries_)};
    return One("sh train.sh") + Words{"--src_dir", source_, "--request-id", "engine://dag/run/train"} + asker +
           (who == Who::kFirstTry ? Words{"--first-try"} : Words{}) + more;
  }
  value Answer(const Words& words, int exit = 0) {
    const Ran ran = box_.Tony(words + Words{"--json"});
    EXPECT_EQ(ran.exit, exit) << ran.err << ran.out;
    return ParseJson(ran.out);
  }
  std::string Decision(Who who, const Words& more = {}) { return Text(Answer(Submit(who, more)), "/decision"); }
  // Acknowledges the result as the owner of the newest try.
  void Acknowledge() { Answer({"ack", Job(), "--owner", "try-" + std::to_string(tries_)}); }

  std::string source_ = box_.File("src");
  int tries_ = 0;
};

TEST_F(DigestTest, ASubmitThatIsNotARetryCreatesANewJobIfTheProgramWasEdited) {
  EXPECT_EQ(Decision(Who::kFirstTry), "created");
  Edit("second");
  EXPECT_EQ(Decision(Who::kFirstTry), "created");
  Edit("third");
  EXPECT_EQ(Decision(Who::kPerson), "created");
  EXPECT_EQ(Decision(Who::kPerson), "adopted");
  EXPECT_EQ(Trained(), "first\nsecond\nthird\n");
  ExpectNothingLeft();
}

TEST_F(DigestTest, OnlyARetryReusesAnAcknowledgedResult) {
  EXPECT_EQ(Decision(Who::kFirstTry), "created");
  EXPECT_EQ(Decision(Who::kFirstTry), "adopted") << "nobody has consumed it";
  Acknowledge();
  EXPECT_EQ(Decision(Who::kLaterTry), "adopted") << "its engine died before its own record of it";
  EXPECT_EQ(Trained(), "first\n");
  EXPECT_EQ(Decision(Who::kFirstTry), "created") << "a run that was deleted and made again";
  EXPECT_EQ(Trained(), "first\nfirst\n");
}

// The first try of a new run may die before it submits. Its later try must not get the result of the previous run.
TEST_F(DigestTest, ARetryDoesNotReuseTheResultOfAnotherWorkflowRun) {
  const Words monday = {"--run", "monday"}, tuesday = {"--run", "tuesday"};
  EXPECT_EQ(Decision(Who::kFirstTry, monday), "created");
  EXPECT_EQ(Decision(Who::kLaterTry, monday), "adopted");
  EXPECT_EQ(Decision(Who::kLaterTry, tuesday), "created");
  EXPECT_EQ(Decision(Who::kLaterTry, tuesday), "adopted");
  EXPECT_EQ(Trained(), "first\nfirst\n");
}

// The engine died after the end of the training and before its own record of the result.
TEST_F(DigestTest, ARetryReusesTheResultDespiteChangedEnvironmentVariablesAndFiles) {
  const Words first = {"-shell_env", "TRY=1", "-shell_env", "API_TOKEN=old"};
  const Words later = {"-shell_env", "TRY=2", "-shell_env", "API_TOKEN=new"};
  EXPECT_EQ(Decision(Who::kFirstTry, first), "created");
  box_.Write("src/model.bin", "what the program wrote beside itself");
  const value adopted = Answer(Submit(Who::kLaterTry, later));
  EXPECT_EQ(Text(adopted, "/decision"), "adopted");
  EXPECT_EQ(At(adopted, "/differs_in"), value({"environment", "files"})) << "and that is told";
  EXPECT_EQ(Trained(), "first\n");
}

TEST_F(DigestTest, AFirstTryReusesTheResultDespiteAChangedSecretJobNameTimeoutOrFolder) {
  EXPECT_EQ(Decision(Who::kFirstTry, {"-shell_env", "API_TOKEN=old"}), "created");
  fs::create_directory(source_ + "/__pycache__");
  box_.Write("src/__pycache__/train.cpython-311.pyc", "compiled");
  fs::last_write_time(source_ + "/train.sh", fs::file_time_type::clock::now());
  fs::rename(source_, box_.File("moved"));
  source_ = box_.File("moved");
  const Words others = {"-shell_env",      "API_TOKEN=new",
                        "-conf",           "tony.application.name=other",
                        "-conf",           "tony.application.timeout=600000",
                        "--watch-timeout", "600"};
  const value adopted = Answer(Submit(Who::kFirstTry, others));
  EXPECT_EQ(Text(adopted, "/decision"), "adopted");
  EXPECT_EQ(At(adopted, "/differs_in"), value(json::array())) << "a rotated token, a name, a limit, a folder";
  EXPECT_EQ(Trained(), "first\n");
}

TEST_F(DigestTest, OnlyAFirstTryReplacesARunningJobWhoseProgramWasEdited) {
  EditToHold();
  const std::string job = Text(Answer(Submit(Who::kFirstTry, {"--detach"})), "/job");
  ASSERT_TRUE(WaitForRunning(1));
  EXPECT_EQ(Text(Answer(Submit(Who::kFirstTry, {"--detach"})), "/job"), job) << "the same program";
  Edit("edited");

  const value later = Answer(Submit(Who::kLaterTry, {"--detach"}));
  EXPECT_EQ(Text(later, "/decision"), "attached");
  EXPECT_EQ(At(later, "/differs_in"), ParseJson(R"(["files"])"));
  EXPECT_THAT(Text(later, "/warnings/0"), HasSubstr("other files; it keeps those"));

  const value refused = Answer(Submit(Who::kPerson, {"--detach"}), 65);
  EXPECT_THAT(Text(refused, "/error/message"), HasSubstr("job " + job + " runs with other files"));
  EXPECT_EQ(Text(Answer({"status", job}), "/state"), "RUNNING");

  EXPECT_EQ(Decision(Who::kFirstTry), "created");
  EXPECT_THAT(Text(Answer({"status", job}), "/verdict/message"), HasSubstr("with other files"));
  EXPECT_EQ(Trained(), "edited\n");
  ExpectNothingLeft();
}

TEST_F(DigestTest, ARetryWithAnEmptySourceFolderAttachesToTheRunningJob) {
  EditToHold();
  const std::string job = Text(Answer(Submit(Who::kFirstTry, {"--detach"})), "/job");
  ASSERT_TRUE(WaitForRunning(1));
  fs::rename(source_, box_.File("away"));
  const Ran later = box_.Tony(Submit(Who::kLaterTry, {"--detach", "--json"}));
  // A missing source folder is refused before a job is searched.
  EXPECT_EQ(later.exit, 65) << later.out;
  fs::create_directory(source_);
  EXPECT_EQ(Text(Answer(Submit(Who::kLaterTry, {"--detach"})), "/job"), job);
  Go();
  Succeeds({"wait", job});
  ExpectNothingLeft();
}

// ---- secrets

class TaskSecretTest : public TonyTest {
 protected:
  static constexpr const char* kSecret = "s3cr3t-of-the-task";

  // Arguments of a shell that opens descriptor 9 and deletes the file before the job starts.
  Words Submit(const std::string& json, const std::string& command, const Words& more = {}) const {
    const std::string file = box_.Write("given.json", json);
    const std::string line = "exec 9<" + file + "; rm " + file + "; exec \"$0\" \"$@\"";
    return Words{"/bin/sh", "-c", line, ProgramFolder() + "/tony"} + One(command) + Words{"--secrets-fd", "9"} + more;
  }
  static std::string Given() { return std::string("{\"DB_PASSWORD\":\"") + kSecret + "\"}"; }
  Ran Run(const Words& words) const { return Background(words, box_.Environment(), box_.folder()).Wait(); }
  // Files below the sandbox's folder that contain the secret.
  std::vector<std::string> FilesWithIt() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(box_.folder())) {
      if (!entry.is_regular_file() || ReadText(entry.path()).find(kSecret) == std::string::npos) continue;
      found.push_back(entry.path().lexically_relative(box_.folder()).string());
    }
    return found;
  }
};

constexpr const char* kHasIt = "[ \"$DB_PASSWORD\" = s3cr3t-of-\"the-task\" ]";

TEST_F(TaskSecretTest, ATaskGetsTheSecretAndNoFileContainsTheSecretAfterTheJob) {
  const std::string look = "find " + box_.home().string() + " -name secrets -printf '%m\n'";
  const Ran ran = Run(Submit(Given(), std::string(kHasIt) + " && " + look + " && [ ! -e /proc/self/fd/9 ]"));
  EXPECT_EQ(ran.exit, 0) << ran.err << ran.out;
  EXPECT_EQ(LogText("worker-0", "stdout"), "600\n") << "while it runs, in one private file";
  EXPECT_THAT(FilesWithIt(), testing::IsEmpty());
}

TEST_F(TaskSecretTest, ATaskRestartedByTheNextMasterGetsTheSecretAgain) {
  const std::string once = box_.File("once");
  const std::string command = std::string(kHasIt) + " || exit 9; [ -e " + once + " ] && exit 0; touch " + once + "; " +
                              HoldUntilGo() + "; exit 3";
  Background submit(Submit(Given(), command, Conf("tony.worker.restart.budget=1")), box_.Environment(), box_.folder());
  ASSERT_TRUE(WaitForRunning(1));
  for (const pid_t am : box_.Pids("tony-am")) kill(am, SIGKILL);
  Go();
  const Ran ran = submit.Wait();
  EXPECT_EQ(ran.exit, 0) << ran.err << ran.out;
  EXPECT_THAT(FilesWithIt(), testing::IsEmpty());
}

TEST_F(TaskSecretTest, TheErrorForAnInvalidSecretDoesNotContainTheSecret) {
  const std::string secret = kSecret;
  for (const std::string& json : {"[\"" + secret + "\"]", "{\"A\":{\"b\":\"" + secret + "\"}}",
                                  "{\"TONY_TASK\":\"" + secret + "\"}", "{\"A\":\"" + secret}) {
    const Ran ran = Run(Submit(json, "true"));
    EXPECT_EQ(ran.exit, 65) << ran.err;
    EXPECT_THAT(ran.err, testing::Not(HasSubstr(secret)));
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
  }
  for (const char* word : {"x", "-1", "77", "99999999999"})
    EXPECT_EQ(box_.Tony(One("true") + Words{"--secrets-fd", word}).exit, 64) << word;
  EXPECT_TRUE(box_.Jobs().empty());
}

}  // namespace
}  // namespace tony
