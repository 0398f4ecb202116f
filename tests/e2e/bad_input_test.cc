// Bad input: one clear line with key, value and origin, the documented exit code, and nothing started or stored.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class BadInputTest : public TonyTest {
 protected:
  void ExpectRefused(const Words& arguments, int exit, const testing::Matcher<std::string>& message,
                     const Sandbox::Variables& variables = {}) {
    const Ran ran = box_.Tony(arguments, variables);
    EXPECT_EQ(ran.exit, exit) << ran.err;
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    EXPECT_THAT(ran.err, testing::StartsWith("tony: "));
    EXPECT_THAT(ran.err, message);
    EXPECT_EQ(ran.out, "");
    ExpectNothingLeft();
    EXPECT_TRUE(box_.Jobs().empty()) << "a job was stored";
  }
};

TEST_F(BadInputTest, MalformedXml) {
  box_.Write("broken.xml", "<configuration>\n<property><name>tony.worker.instances</name><value>1</property>\n");
  ExpectRefused({"submit", "broken.xml"}, 65, AllOf(HasSubstr("broken.xml"), HasSubstr("2")));
}

TEST_F(BadInputTest, MalformedProperties) {
  box_.Write("broken.properties", "tony.worker.instances=1\ntony.worker.command=\\u12G4\n");
  ExpectRefused({"submit", "broken.properties"}, 65, AllOf(HasSubstr("broken.properties"), HasSubstr("2")));
}

TEST_F(BadInputTest, UnknownOption) {
  ExpectRefused({"submit", "-excutes", "true"}, 64, AllOf(HasSubstr("-excutes"), HasSubstr("--executes")));
}

TEST_F(BadInputTest, StrayWord) {
  ExpectRefused({"submit", "-executes", "python", "train.py"}, 64, AllOf(HasSubstr("train.py"), HasSubstr("quotes")));
}

TEST_F(BadInputTest, UnknownCommand) {
  ExpectRefused({"sumbit", "-executes", "true"}, 64, AllOf(HasSubstr("sumbit"), HasSubstr("\"submit\"")));
}

TEST_F(BadInputTest, OptionWithoutItsValue) {
  ExpectRefused({"submit", "-executes"}, 64, HasSubstr("--executes needs a value"));
}

TEST_F(BadInputTest, BadSize) {
  ExpectRefused(One("true", {"tony.worker.memory=2x"}), 65,
                AllOf(HasSubstr("tony.worker.memory"), HasSubstr("2x"), HasSubstr("-conf"), HasSubstr("expected")));
}

TEST_F(BadInputTest, AllThatIsWrongIsToldAtOnceAndUnknownKeysBehindIt) {
  const Ran ran = Fails(65, One("true", {"tony.worker.memory=2x", "tony.worker.vcores=0", "tony.worker.memroy=1g"}));
  EXPECT_EQ(CountLines(ran.err), 3u) << ran.err;
  EXPECT_THAT(ran.err, HasAll({"tony: tony.worker.memory: \"2x\"", "tony: tony.worker.vcores: \"0\"",
                               "tony: warning: tony.worker.memroy"}));
  EXPECT_TRUE(box_.Jobs().empty());
}

TEST_F(BadInputTest, WithStrictAWarningIsAnError) {
  for (const char* verb : {"submit", "plan"}) {
    Words words = One("true", {"tony.worker.memroy=1g"}) + Words{"--strict"};
    words[0] = verb;
    const Ran ran = Fails(65, words);
    EXPECT_THAT(ran.err, HasAll({"tony.worker.memroy", "--strict"}));
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_TRUE(box_.Jobs().empty());
  Succeeds(One("true") + Words{"--strict"});
}

TEST_F(BadInputTest, FailureRulesThatCannotBe) {
  ExpectRefused(
      One("true", {"tony.failure.exit.3=broken"}), 65,
      AllOf(HasSubstr("tony.failure.exit.3"), HasSubstr("\"broken\" (from -conf)"), HasSubstr("user_config")));
  ExpectRefused(One("true", {"tony.failure.pattern.x=(a => oom"}), 65,
                AllOf(HasSubstr("tony.failure.pattern.x"), HasSubstr("regular expression"), HasSubstr("unmatched (")));
}

TEST_F(BadInputTest, ExitsThatDoNotExist) {
  ExpectRefused({"explain-exit", "300"}, 64, AllOf(HasSubstr("\"300\""), HasSubstr("expected an exit code")));
  ExpectRefused({"explain-exit", "-1001"}, 64, HasSubstr("\"-1001\""));
  ExpectRefused({"explain-exit", "1", "--job", "no-such-job"}, 66, HasSubstr("no-such-job"));
}

TEST_F(BadInputTest, RestartsAndCheckpointsThatCannotBe) {
  ExpectRefused(One("true", {"tony.worker.restart.scope=all"}), 65,
                AllOf(HasSubstr("tony.worker.restart.scope"), HasSubstr("all"), HasSubstr("gang")));
  ExpectRefused(One("true", {"tony.checkpoint.dir=hdfs:///saved"}), 65,
                AllOf(HasSubstr("tony.checkpoint.dir"), HasSubstr("hdfs:///saved"), HasSubstr("tony.scheduler=yarn")));
}

TEST_F(BadInputTest, BadNumberInAFile) {
  box_.Write("job.properties", "\ntony.worker.instances=two\ntony.worker.command=true\n");
  ExpectRefused({"submit", "job.properties"}, 65,
                AllOf(HasSubstr("tony.worker.instances"), HasSubstr("two"), HasSubstr("job.properties:2")));
}

TEST_F(BadInputTest, MissingSourceFolder) {
  ExpectRefused(One("true") + Words{"-src_dir", "no/such/folder"}, 65, HasSubstr("no/such/folder"));
}

TEST_F(BadInputTest, MissingConfFile) {
  ExpectRefused(One("true") + Words{"-conf_file", "missing.xml"}, 65,
                AllOf(HasSubstr("missing.xml"), HasSubstr("no such file")));
}

TEST_F(BadInputTest, MissingSpecFile) {
  ExpectRefused({"submit", "missing.properties"}, 65,
                AllOf(HasSubstr("missing.properties"), HasSubstr("no such file")));
}

TEST_F(BadInputTest, NoCommand) {
  ExpectRefused({"submit", "-conf", "tony.worker.instances=1"}, 65, HasSubstr("worker"));
}

TEST_F(BadInputTest, StandaloneWithSeveralTasks) {
  ExpectRefused(One("true", {"tony.ps.instances=1"}), 65, HasSubstr("standalone"));
}

TEST_F(BadInputTest, HomeThatCannotBeWritten) {
  const std::string file = box_.Write("file", "in the way");
  ExpectRefused(One("true"), 73, HasSubstr(file), {{"TONY_HOME", file + "/home"}});
}

TEST_F(BadInputTest, UnknownJob) {
  for (const char* verb : {"status", "wait", "kill", "logs"}) {
    ExpectRefused({verb, "local-20200101-000000-abcdef"}, 66, HasSubstr("local-20200101-000000-abcdef"));
    ExpectRefused({verb, "../jobs"}, 66, HasSubstr("../jobs"));
  }
}

TEST_F(BadInputTest, BadTimeout) {
  ExpectRefused({"wait", "local-x", "--timeout", "soon"}, 64, AllOf(HasSubstr("--timeout"), HasSubstr("soon")));
}

// The kernel takes 128 KiB for one string and a quarter of the stack for all of them together.
class BigInputTest : public BadInputTest {
 protected:
  std::string SpecWith(const std::string& lines) {
    return box_.Write("big.properties", "tony.application.framework=standalone\ntony.worker.instances=1\n" + lines);
  }
};

TEST_F(BigInputTest, ACommandLargerThanTheKernelTakes) {
  const std::string spec = SpecWith("tony.worker.command=: " + std::string(200 * 1024, 'x') + "\n");
  ExpectRefused({"submit", spec}, 65, AllOf(HasSubstr("tony.worker.command"), HasSubstr("big.properties:3")));
}

TEST_F(BigInputTest, AnEnvironmentLargerThanTheKernelTakes) {
  std::string lines = "tony.worker.command=true\n";
  for (int i = 0; i < 30; ++i)
    lines += "tony.execution.env.BIG_" + std::to_string(i) + "=" + std::string(100 * 1024, 'y') + "\n";
  ExpectRefused({"submit", SpecWith(lines)}, 65, HasSubstr("tony.execution.env"));
}

}  // namespace
}  // namespace tony
