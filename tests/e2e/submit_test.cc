// `tony submit`, from the command line to tasks that run, and the environment of these tasks.
#include "tests/e2e/script.h"

namespace tony {
namespace {

const TestRow kSubmit[] = {
    {"ASuccessfulSubmitExitsWithZeroAndLeavesNoProcesses",
     {{"one `echo hello`", "out~%J\n && out~SUCCEEDED && out~logs: %F/logs"},
      {"left", ""},
      {"log worker-0 stdout", "out=hello\n"}}},
    {"ATaskStartsWithDefaultSignalHandlingAndOnlyStandardFileDescriptors",
     {{"one `grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/$$/fd; true`", ""},
      {"log worker-0 stdout", "out=SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n1\n2\n"}}},
    {"AJobFileMayBeHadoopXmlOrJavaProperties",
     {{"write job.xml `<?xml version=\"1.0\"?><configuration>\n"
       "<property><name>tony.application.framework</name><value>standalone</value></property>\n"
       "<property><name>tony.worker.instances</name><value>1</value></property>\n"
       "<property><name>tony.worker.command</name><value>echo a &gt; out.txt; cat out.txt</value></property>\n"
       "</configuration>`",
       ""},
      {"write job.properties `tony.application.framework = standalone\ntony.worker.instances: 1\n"
       "tony.worker.command=echo a > out.txt; \\\n  cat out.txt\n`",
       ""},
      {"plan -conf_file job.xml", "out~  worker      1  2048 MB      1     0  echo a > out.txt; cat out.txt\n"},
      {"plan job.properties", "out~  worker      1  2048 MB      1     0  echo a > out.txt; cat out.txt\n"},
      {"submit job.properties", ""},
      {"log worker-0 stdout", "out=a\n"}}},
    {"ARelativeSrcDirIsSearchedInTheCurrentFolderAndThenBesideTheJobFile",
     {{"write project/src/data `of the project\n`", ""},
      {"write project/job.properties `tony.application.framework=standalone\ntony.worker.instances=1\n"
       "tony.src-dir=src\ntony.worker.command=cat data\n`",
       ""},
      {"submit --json project/job.properties",
       "err~tony: tony.src-dir=src is taken from the folder of project/job.properties\n"},
      {"log worker-0 stdout", "out=of the project\n"},
      {"write src/data `of this folder\n`", ""},
      {"submit --logs %B/project/job.properties",
       "out~of this folder\n && "
       "err~tony: tony.src-dir=src is taken from this folder, not from the folder of %B/project/job.properties\n"}}},
    // The detached job does not hold the client's output open.
    {"ADetachedSubmitPrintsOnlyTheJobId",
     {{"one `%H` --detach", "out=%J\n"}, {"running 1", ""}, {"go", ""}, {"wait %J", ""}, {"left", ""}}},
    // The id is printed on standard error as soon as the job is recorded.
    {"ASubmitWithJsonPrintsExactlyTheFinalStatus",
     {{"one `exit 3` --json",
       "1 && outlines=1 && /schema=1 && /job=%J && /state=FAILED && /verdict/class=user_error && /verdict/exit_code=3 "
       "&& "
       "err~%J"}}},
    {"ADetachedSubmitWithJsonPrintsTheJobId", {{"one true --detach --json", "/job=%J"}, {"wait %J", ""}}},
    {"ThePlanCommandStartsNothingAndMasksSecrets",
     {{"plan -executes true tony.worker.instances=2 -shell_env DB_PASSWORD=hunter2 -container_env API_token=abc123 "
       "-shell_env PLACE=here --json",
       "!hunter2 && !abc123 && out~here && /spec/schema=1"},
      {"plan -executes true tony.worker.instances=2 -shell_env DB_PASSWORD=hunter2,PLACE=here",
       "out~job TonyApplication, tensorflow, on this machine\n && "
       "out~\n  in all 2 tasks, 4096 MB of memory, 2 cores, 0 GPUs\n && out~\n  variable: PLACE=here\n && !hunter2"},
      {"missing home/jobs", ""}}},
};
TABLE_TEST(SubmitTest, kSubmit, RunScript);

class SubmitTextTest : public TonyTest {};

TEST_F(SubmitTextTest, JobFoldersArePrivateWhateverTheUmask) {
  const mode_t before = umask(0);
  const Ran ran = box_.Tony(One("umask"));
  umask(before);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(LogText("worker-0", "stdout"), "0000\n") << "the task has the submitter's";
  for (const auto& entry : fs::recursive_directory_iterator(box_.JobFolder(Job())))
    EXPECT_EQ(entry.status().permissions() & fs::perms(077), fs::perms::none) << entry;
}

TEST_F(SubmitTextTest, ASubmitRunsAPythonFileWithTheCommandThatThePlanShows_NeedsPython) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  fs::create_directory(box_.File("src"));
  box_.Write("src/train.py", "import sys\nprint('trained', *sys.argv[1:])\n");
  const Words job = One("train.py") + Words{"-src_dir", "src", "-task_params", "--epochs 3"};
  Words plan = job;
  plan[0] = "plan";
  EXPECT_THAT(box_.Tony(plan).out, HasSubstr("  worker      1  2048 MB      1     0  python3 train.py --epochs 3\n"));
  EXPECT_THAT(box_.Tony(plan + Words{"--json"}).out, HasSubstr(R"("command":"python3 train.py --epochs 3")"));
  Succeeds(job);
  EXPECT_EQ(LogText("worker-0", "stdout"), "trained --epochs 3\n");
}

}  // namespace
}  // namespace tony
