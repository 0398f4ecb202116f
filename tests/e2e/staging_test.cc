// The files of a job on their way from the user's folder to the folder of a task, through the built programs.
#include <cstdlib>

#include "tests/e2e/tony_test.h"
#include "tests/support/archive_builder.h"

namespace tony {
namespace {

using Kind = BuiltEntry::Kind;

class StagingTest : public TonyTest {
 protected:
  ~StagingTest() override {
    for (std::error_code error; const auto& entry : fs::recursive_directory_iterator(Store(), error)) {
      if (entry.is_directory() && !entry.is_symlink()) fs::permissions(entry, fs::perms::owner_all, error);
    }
  }
  fs::path Store() const { return box_.home() / "staged"; }
  void Write(const std::string& name, const std::string& text, fs::perms mode = fs::perms(0644)) const {
    fs::create_directories((box_.folder() / name).parent_path());
    fs::permissions(box_.Write(name, text), mode);
  }
  std::string Archive(const std::string& name, ArchiveForm form, const std::vector<BuiltEntry>& entries) const {
    BuildArchive(box_.File(name), form, entries);
    return box_.File(name);
  }
  // Makes the Python environment "env", which has a package of its own.
  void MakeEnvironment() const {
    const std::string make = "python3 -m venv --without-pip " + box_.File("env") + " && for site in " +
                             box_.File("env") +
                             "/lib/python3*/site-packages; do echo 'value = 42' > $site/packed.py; done";
    ASSERT_EQ(std::system(make.c_str()), 0);
  }
  // Returns the names, inodes and change times of all files in the store, which stay the same only if no file was
  // touched.
  std::map<std::string, std::pair<ino_t, int64_t>> StoreState() const {
    std::map<std::string, std::pair<ino_t, int64_t>> state;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(Store(), error)) {
      struct stat info {};
      lstat(entry.path().c_str(), &info);
      if (entry.path().filename() != ".lock")
        state[entry.path()] = {info.st_ino, info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec};
    }
    return state;
  }
  size_t StagedEntries() const {
    std::error_code error;
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(Store(), error)) {
      const std::string name = entry.path().filename();
      count += name != ".lock" && !name.starts_with(".manifest-");
    }
    return count;
  }
  std::string Out(const std::string& job, const std::string& task) const {
    return ReadText(box_.JobFolder(job) / "logs" / task / "1" / "stdout");
  }
};

TEST_F(StagingTest, ATaskGetsItsOwnCopyOfSrcDirAndASecondSubmitStagesNothing) {
  Write("app/train.py",
        "import pathlib, helper\nprint(helper.name, open('data/x.txt').read())\n"
        "print(pathlib.Path(helper.__file__).parent == pathlib.Path.cwd())\n"
        "open('config.ini', 'a').write('edited'); open('data/new', 'w').write('n')\n");
  Write("app/helper.py", "name = 'sibling'\n");
  Write("app/data/x.txt", "relative");
  Write("app/config.ini", "as it was;");
  Write("app/run.sh", "#!/bin/sh\nexec python3 train.py\n", fs::perms(0755));
  fs::create_symlink("run.sh", box_.folder() / "app/start");
  const Words submit = One("./start") + Words{"-src_dir", box_.File("app")};
  Succeeds(submit);
  const std::string job = Job();
  EXPECT_EQ(Out(job, "worker-0"), "sibling relative\nTrue\n");
  const fs::path work = box_.JobFolder(job) / "work/worker-0/1";
  EXPECT_EQ(ReadText(work / "config.ini"), "as it was;edited");
  EXPECT_EQ(StagedEntries(), 1u);
  const auto before = StoreState();
  const Ran second = Succeeds(submit);
  EXPECT_EQ(StoreState(), before) << "neither the tasks nor the second submit may touch it";
  EXPECT_EQ(ReadText(box_.folder() / "app/config.ini"), "as it was;");
}

TEST_F(StagingTest, AnArchiveAsSrcDirKeepsExecutableBitsAndLinks) {
  const std::vector<BuiltEntry> entries = {{.name = "bin/run.sh", .content = "#!/bin/sh\ncat value\n", .mode = 0755},
                                           {.name = "start", .kind = Kind::kSymlink, .content = "bin/run.sh"},
                                           {.name = "value", .content = "from the archive\n"}};
  for (const auto& [name, form] : {std::pair("app.zip", ArchiveForm::kZip), {"app.tar.gz", ArchiveForm::kTarGz}}) {
    Succeeds(One("./start >> " + box_.File("out")) + Words{"-src_dir", Archive(name, form, entries)});
  }
  EXPECT_EQ(ReadText(box_.File("out")), "from the archive\nfrom the archive\n");
}

TEST_F(StagingTest, EachRoleGetsOnlyItsConfiguredResourcesUnderTheGivenNames) {
  Write("data.csv", "1,2\n");
  Write("only.txt", "for ps\n");
  Write("folder/inner/deep.txt", "deep\n");
  const std::string model = Archive("model.zip", ArchiveForm::kZip, {{.name = "weights", .content = "w\n"}});
  const std::string look =
      "cat input.csv model.zip/weights folder/inner/deep.txt; test -e only.txt && cat only.txt || echo none";
  Succeeds(Workers(1, look,
                   {"tony.chief.instances=1",
                    "tony.containers.resources=" + box_.File("data.csv") + "::input.csv," + model + "#archive," +
                        box_.File("folder"),
                    "tony.chief.resources=" + box_.File("only.txt")}));
  EXPECT_EQ(LogText("worker-0", "stdout"), "1,2\nw\ndeep\nnone\n");
  EXPECT_EQ(LogText("chief-0", "stdout"), "1,2\nw\ndeep\nfor ps\n");
  struct stat info {};
  ASSERT_EQ(stat((box_.JobFolder(Job()) / "work/worker-0/1/input.csv").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0444u);
}

TEST_F(StagingTest, ThePlanAndSubmitCommandsReportStagedAndIgnoredFiles) {
  Write("app/run.sh", "ls *.txt; cat data/x\n");
  for (const std::string name : {"a.txt", "a.log", "data/x", "data/y", ".git/config"})
    Write("app/" + name, name + "\n");
  Write("app/.tonyignore", "*.log\ndata/\n");
  const std::string job = box_.Write("job.json", "{\"src_dir\": \"" + box_.File("app") +
                                                     "\", \"executes\": \"bash run.sh; cat data/x\", \"framework\": "
                                                     "\"standalone\", \"tasks\": {\"worker\": {\"instances\": 1, "
                                                     "\"memory\": \"64m\"}}}");
  const Ran plan = box_.Tony({"plan", job});
  EXPECT_THAT(plan.out, HasAll({": 4 files, 46 bytes\n", "    left out: .git: 1 file, 12 bytes (.git)\n",
                                "    left out: data/y: 1 file, 7 bytes (.tonyignore: data/)\n"}));
  const Ran submit = Succeeds({"submit", "--json", job});
  EXPECT_EQ(LogText("worker-0", "stdout"), "a.txt\ndata/x\ndata/x\n");
  EXPECT_THAT(submit.err, HasAll({"tony: src_dir " + box_.File("app") + ": 4 files, 46 bytes\n",
                                  "tony: left out: a.log: 1 file, 6 bytes (.tonyignore: *.log)\n"}));
  const auto planned = ParseJson(box_.Tony({"plan", "--json", job}).out);
  EXPECT_EQ(At(planned, "/sources"), At(ParseJson(submit.out), "/sources"));
  ExpectJson(planned, {{"/sources/files", 4}, {"/sources/left_out/0/rule", ".git"}});
}

TEST_F(StagingTest, AProgramRunsInAPythonEnvironmentGivenAsAnArchive) {
  MakeEnvironment();
  ASSERT_EQ(std::system(("tar czf " + box_.File("env.tar.gz") + " -C " + box_.File("env") + " .").c_str()), 0);
  Write("app/train.py", "import packed, sys\nprint(packed.value, sys.prefix != sys.base_prefix)\n");
  const Words venv = {"-python_venv", box_.File("env.tar.gz"), "-src_dir", box_.File("app")};
  Succeeds(One("train.py") + venv + Words{"-python_binary_path", "bin/python3"});
  EXPECT_EQ(LogText("worker-0", "stdout"), "42 True\n");
  const Ran by_name = Succeeds(One("env X=1 python3 train.py") + venv);
  EXPECT_EQ(Out(by_name.out.substr(0, by_name.out.find('\n')), "worker-0"), "42 True\n");
  const Ran other = box_.Tony(One("/usr/bin/python3 -c pass") + venv);
  EXPECT_THAT(other.err,
              HasSubstr("warning: role worker: its command does not use python_venv: it runs /usr/bin/python3"));
  const Ran wrong = FailsInALine(65, One("train.py") + venv + Words{"-python_binary_path", "Python/bin/python3"});
  EXPECT_THAT(wrong.err, HasSubstr("the environment has bin/python3"));
  EXPECT_EQ(box_.Jobs().size(), 3u) << "nothing was started";
}

TEST_F(StagingTest, PythonWritesNoBytecodeIntoTheStoreOfStagedFiles) {
  MakeEnvironment();
  Write("lib/shared.py", "value = 1\n");
  Succeeds(One("-c 'import sys; sys.path.insert(0, \"lib\"); import packed, shared'") +
           Words{"-python_venv", box_.File("env"), "-python_binary_path", "bin/python3"} +
           Conf("tony.containers.resources=" + box_.File("lib")));
  for (const auto& [path, state] : StoreState()) EXPECT_THAT(path, Not(HasSubstr("__pycache__")));
}

TEST_F(StagingTest, AnArchiveWithAnEntryInTheParentFolderIsRefusedBeforeAnythingStarts) {
  const std::string bad = Archive("bad.tar", ArchiveForm::kTar, {{.name = "../escaped", .content = "x"}});
  const Ran ran = Fails(65, One("true") + Words{"-src_dir", bad});
  EXPECT_EQ(ran.err, "tony: src_dir " + bad + ": \"../escaped\": the entry's name contains \"..\"\n");
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(box_.Jobs(), IsEmpty());
  EXPECT_EQ(StagedEntries(), 0u);
}

TEST_F(StagingTest, AMissingResourceIsReportedInOneLine) {
  Write("data.csv", "1");
  const Words job = One("true", {"tony.containers.resources=" + box_.File("data.csv")});
  Succeeds(Words{"plan"} + Words(job.begin() + 1, job.end()));
  fs::remove(box_.File("data.csv"));
  const Ran ran = FailsInALine(65, job);
  EXPECT_THAT(ran.err, HasSubstr(box_.File("data.csv")));
  EXPECT_THAT(box_.Jobs(), IsEmpty());
}

TEST_F(StagingTest, AnInterruptDuringStagingLeavesNoJobAndNoFiles) {
  Write("app/large", "");
  // The file has no blocks, so it needs no disk, and its hash takes minutes.
  fs::resize_file(box_.File("app/large"), int64_t{8} << 30);
  const auto submit = box_.StartTony(One("true") + Words{"-src_dir", box_.File("app")});
  ASSERT_TRUE(WaitFor([&] { return submit->err().find("staging src_dir") != std::string::npos; })) << submit->err();
  submit->Signal(SIGTERM);
  const Ran ran = Ends(*submit, 143);
  EXPECT_THAT(ran.err, HasAll({"nothing was submitted", " of 8.6 GB"}));
  EXPECT_THAT(box_.Jobs(), IsEmpty());
  EXPECT_EQ(StagedEntries(), 0u);
}

TEST_F(StagingTest, ASubmitRepairsADamagedStagedFolderThatARunningJobStillUses) {
  Write("data/part", "1");
  Write("data/whole", "2");
  const Words resource = Conf("tony.containers.resources=" + box_.File("data"));
  const auto living = Hold(One("cd data; " + HoldUntilGo() + "; cat whole") + resource);
  const std::string job = Job();
  const fs::path entry = fs::read_symlink(box_.JobFolder(job) / "work/worker-0/1/data");
  fs::permissions(entry, fs::perms::owner_all);
  fs::remove(entry / "part");
  fs::permissions(entry, fs::perms(0555));
  const Ran next = Succeeds(One("cat data/part data/whole >" + box_.File("seen")) + resource);
  EXPECT_THAT(next.err, HasSubstr("tony: the staged content of resource " + box_.File("data") +
                                  " is damaged (part is missing); it is staged again\n"));
  EXPECT_EQ(ReadText(box_.File("seen")), "12");
  Succeeds({"gc", "--older-than", "0m"});
  GoAndEnd(*living);
  EXPECT_EQ(Out(job, "worker-0"), "2") << "its folder is the one that it was in";
}

TEST_F(StagingTest, TheGcCommandRemovesEndedJobsAndKeepsRunningJobs) {
  fs::remove(box_.home() / "programs");  // the store that all tests share
  Write("app/train.sh", "true");
  const Words source = {"-src_dir", box_.File("app")};
  Succeeds(One("true") + source);
  const std::string ended = Job();
  const auto living = Hold(One(HoldUntilGo()) + source);
  EXPECT_EQ(
      box_.Tony({"gc", "--json"}).out,
      R"({"schema":1,"dry_run":false,"jobs":[],"staged":[],"programs":[],"unfinished":[],"notes":[],"kept":[],"stays":["1 staged entries that remaining jobs use","1 jobs that ended less than 14d ago","1 jobs that have not ended"],"history_lines":0,"requests":0,"bytes":0})"
      "\n");
  const Ran dry = box_.Tony({"gc", "--older-than", "0m", "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("job " + ended + "\nwould free "));
  EXPECT_EQ(box_.Jobs().size(), 2u);
  const Ran gc = Succeeds({"gc", "--older-than", "0m"});
  EXPECT_THAT(gc.out, HasAll({"job " + ended + "\nfreed ",
                              "\nkept 1 staged entries that remaining jobs use\nkept 1 jobs that have not ended\n"}));
  EXPECT_EQ(box_.Jobs().size(), 1u);
  EXPECT_EQ(StagedEntries(), 1u) << "the living job's, and younger than an hour";
  GoAndEnd(*living);
  for (const char* age : {"", "x", "5", "-1d", "3w"}) EXPECT_EQ(box_.Tony({"gc", "--older-than", age}).exit, 64) << age;
}

}  // namespace
}  // namespace tony
