// `tony sweep` runs trials with different parameters, compares them, and runs the missing ones again.
#include "runtime/base/strings.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class SweepRunTest : public TonyTest {
 protected:
  Ran Sweep(const Words& words) const {
    const Words command = Words{ProgramFolder() + "/tony", "sweep", "--memory", "150m"} + words;
    return Background(command, box_.Environment({}), box_.File("program")).Wait();
  }
  void SetUp() override { fs::create_directory(box_.File("program")); }
};

TEST_F(SweepRunTest, TrialsGetTheirParametersAndAreComparedByTheMetric) {
  box_.Write(
      "program/train.sh",
      "[ \"$1\" != 3 ] || exit 7\n[ \"$2\" = \"x=$tag\" ] || exit 8\necho \"{\\\"loss\\\":$1}\" > $TONY_OUTPUT_FILE\n");
  const Ran ran = Sweep({"-p", "loss=2,1,3", "-p", R"(tag=["$(exit 9) 'a' b"])", "--metric", "loss", "--parallel", "2",
                         "--", "sh", "train.sh", "{loss}", "x={tag}", "{other}"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, HasAll({"2 of 3 tracked tasks succeeded; 1 task failed: trial:2 failed", "exit code 7"}));
  EXPECT_LT(ran.out.find("trial:1"), ran.out.find("trial:0")) << ran.out;
  const value status = ParseJson(Succeeds({"status", "--json", "sweep"}).out);
  const auto& sweep = status.at("sweep");
  EXPECT_EQ(sweep.at("best").as_string(), "trial:1");
  EXPECT_EQ(sweep.at("parallel").as_int64(), 2);
  EXPECT_EQ(sweep.at("trials").at(0).at("outputs").at("loss").as_int64(), 1);
  EXPECT_EQ(sweep.at("trials").at(2).at("state").as_string(), "failed");
  EXPECT_THAT(Succeeds({"outputs", "sweep"}).out, HasSubstr("\"loss\": 1"));
  ExpectNothingLeft();
}

TEST_F(SweepRunTest, AResumedSweepRunsOnlyTheMissingTrials) {
  box_.Write("program/train.sh", StrCat("[ $1 = 1 ] || [ -e ", box_.File("fixed"), " ] || exit 7\necho $1 >> ",
                                        box_.File("ran"), "\necho \"{\\\"loss\\\":$1}\" > $TONY_OUTPUT_FILE\n"));
  EXPECT_EQ(Sweep({"-p", "k=1,2,3", "--metric", "loss:max", "--name", "first", "--", "sh", "train.sh", "{k}"}).exit, 0);
  box_.Write("fixed", "");
  const Ran again = Sweep({"--resume", "first"});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_THAT(again.out, HasAll({"trial:1  succeeded     3  3", "EARLIER JOB"}));
  EXPECT_EQ(CountLines(ReadText(box_.File("ran"))), 3u);
  EXPECT_THAT(Sweep({"--resume", "first"}).out, Not(IsEmpty()));
  ExpectNothingLeft();
}

TEST_F(SweepRunTest, ASweepFailsIfAllTrialsFailOrMoreThanTolerated) {
  EXPECT_EQ(Sweep({"-p", "x=1,2", "--", "false"}).exit, 1);
  EXPECT_EQ(Sweep({"-p", "x=0,1", "--tolerate", "0", "--", "exit {x}"}).exit, 1);
  EXPECT_EQ(Sweep({"-p", "x=0,1", "--", "exit {x}"}).exit, 0);
  EXPECT_EQ(Sweep({"--", "true"}).exit, 64);
  EXPECT_EQ(Sweep({"-p", "a b=1", "--", "true"}).exit, 65);
}

TEST_F(SweepRunTest, TasksBeyondTheLimitStartWhenOthersHaveEnded) {
  const Words keys = {"tony.application.distributed-mode=FCFS", "tony.worker.max-parallel=1", LittleMemory()};
  const std::string alone = StrCat("mkdir ", box_.File("alone"), " && sleep 0.05 && rmdir ", box_.File("alone"));
  Succeeds(Words{"submit", "-executes", alone} +
           Confs({"tony.application.framework=standalone", "tony.worker.instances=3"}) + Confs(keys));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
