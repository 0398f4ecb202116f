// The files of src_dir that travel: by the rules of ignore files, and by what the job names.
#include "runtime/staging/source_rules.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "runtime/base/strings.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SourceRulesTest : public StagingTest {
 protected:
  SourceListing List(const JobSpec& spec, bool as_tony = false) const {
    const auto listing = ListSource(src_, home_, SourcesOf(spec, as_tony).rules);
    EXPECT_TRUE(listing.ok()) << listing.error().message;
    return listing.ok() ? *listing : SourceListing();
  }
  // The files that travel.
  static std::set<std::string> Files(const SourceListing& listing) {
    std::set<std::string> names;
    for (const SourceItem& item : listing.items)
      if (item.kind != SourceItem::Kind::kFolder) names.insert(item.name);
    return names;
  }
  std::set<std::string> FilesOf(const std::string& command, bool as_tony = false) const {
    return Files(List(JobOf(command), as_tony));
  }
  JobSpec JobOf(const std::string& command) const {
    JobSpec spec = JobOfFolder();
    spec.roles[0].command = command;
    return spec;
  }
  void WriteAll(const std::vector<std::string>& names) const {
    for (const std::string& name : names) Write(src_ / name, "text");
  }
  void MakeEnvironment(const std::string& name) const {
    Write(src_ / name / "pyvenv.cfg", "home = /usr/bin\n");
    Write(src_ / name / ".gitignore", "*\n");  // uv and virtualenv write it
    Write(src_ / name / "bin/activate", "");
    Write(src_ / name / "bin/python", "");
  }
};

// Rules as they are written, with what git itself makes of them.
TEST_F(SourceRulesTest, GitHasTheSameAnswers) {
  if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no git here";
  WriteAll(
      {"a",         "a.py",        "b.o",          "foo/bar",    "foo/bar.py",   "foo/baz/bar",   "foo/baz/x/y/bar",
       "x/foo/bar", "x/y/z.log",   "#c",           "!d",         "sp ",          "build/out/a.o", "build/keep/b",
       "d/build",   "data/.keep",  "data/big.bin", "data/sub/k", "deep/a/b/c/d", "caf\xc3\xa9/x", "one[1]",
       "one1",      "back\\slash", ".hidden",      "x/.hidden"});
  const std::string git =
      StrCat("cd '", src_.string(), "' && git -c core.quotepath=off -c core.excludesFile=/dev/null ");
  ASSERT_EQ(std::system(StrCat(git, "init -q").c_str()), 0);
  for (const std::string rules : {"a\n",
                                  "/a\n",
                                  "*.o\n",
                                  "foo/bar\n",
                                  "/foo\n",
                                  "foo/\n",
                                  "build\n",
                                  "build/\n",
                                  "**/bar\n",
                                  "foo/**\n",
                                  "foo/**/bar\n",
                                  "a/**/d\n",
                                  "deep/**/d\n",
                                  "*\n!*.py\n",
                                  "*\n!*/\n!*.py\n",
                                  "data/*\n!data/.keep\n",
                                  "data\n!data/.keep\n",
                                  "# comment\n\\#c\n",
                                  "\\!d\n",
                                  "sp \n",
                                  "sp\\ \n",
                                  "\n \n",
                                  "x/*/z.log\n",
                                  "x/*\n",
                                  "?\n",
                                  "one[[]1]\n",
                                  "one[0-9]\n",
                                  "one[!0-9]*\n",
                                  "back\\\\slash\n",
                                  ".*\n!.gitignore\n",
                                  "foo/*/bar\n",
                                  "**\n!foo\n",
                                  "/**/bar\n",
                                  "*.py\n!a.py\n/a.py\n",
                                  "caf\xc3\xa9\n",
                                  "a.py\r\n",
                                  "\xEF\xBB\xBF"
                                  "a\n",
                                  "foo//bar\n",
                                  "**/\n",
                                  "build/**/b\n",
                                  "*/bar\n",
                                  "d/build/\n"}) {
    Write(src_ / ".gitignore", rules);
    Write(src_ / "foo/.gitignore", "!bar\nbaz/x\n");
    ASSERT_EQ(std::system(StrCat(git, "ls-files -z -o --exclude-standard > ../listed").c_str()), 0);
    std::set<std::string> expected;
    for (const std::string& name : Split(Text(temp_.path() / "listed"), '\0'))
      if (!name.empty()) expected.insert(name);
    EXPECT_EQ(FilesOf("true"), expected) << rules;
  }
}

TEST_F(SourceRulesTest, TonysOwnFileGoesBeforeGitsInItsFolderAndBelow) {
  WriteAll({"a.log", "b.txt", "sub/a.log", "sub/b.txt", "other/b.txt"});
  Write(src_ / ".gitignore", "*.log\n");
  Write(src_ / "sub/.tonyignore", "b.txt\n");
  Write(src_ / "sub/.gitignore", "a.log\n");
  EXPECT_THAT(FilesOf("true"), ElementsAre(".gitignore", "b.txt", "other/b.txt", "sub/.gitignore", "sub/.tonyignore"));
  Write(src_ / ".tonyignore", "other/\n");
  EXPECT_THAT(FilesOf("true"), ElementsAre(".gitignore", ".tonyignore", "a.log", "b.txt", "sub/.gitignore",
                                           "sub/.tonyignore", "sub/a.log"));
}

TEST_F(SourceRulesTest, ForTonysJobsOnlyItsOwnFileCounts) {
  WriteAll({"a.log", "b.txt", ".git/config"});
  MakeEnvironment(".venv");
  Write(src_ / ".gitignore", "*.log\n");
  EXPECT_THAT(FilesOf("true", /*as_tony=*/true), SizeIs(8));
  Write(src_ / ".tonyignore", "a.log\n");
  EXPECT_THAT(FilesOf("true", /*as_tony=*/true), Not(Contains("a.log")));
}

TEST_F(SourceRulesTest, WhatTheJobNamesTravelsWhateverARuleSays) {
  WriteAll({"data/x.csv", "data/y.csv", "w.bin", "v.bin", "big/1", "conf/a.yaml", "runs/1/m", "out/old"});
  fs::create_symlink("runs/1", src_ / "latest");
  Write(src_ / ".gitignore", "data/*\n*.bin\nbig/\nconf\nruns\nout\nlatest\n");
  EXPECT_THAT(FilesOf("true"), ElementsAre(".gitignore"));
  EXPECT_THAT(FilesOf("python3 t.py --data=data/x.csv w.bin"), ElementsAre(".gitignore", "data/x.csv", "w.bin"));
  EXPECT_THAT(FilesOf("python3 t.py --data ./data/"), ElementsAre(".gitignore", "data/x.csv", "data/y.csv"));
  EXPECT_THAT(FilesOf("cat data/*.csv"), ElementsAre(".gitignore", "data/x.csv", "data/y.csv"));
  EXPECT_THAT(FilesOf("cat \"$PWD/conf/a.yaml\""), ElementsAre(".gitignore", "conf/a.yaml"));
  EXPECT_THAT(FilesOf("cat " + (src_ / "big/1").string()), ElementsAre(".gitignore", "big/1"));
  EXPECT_THAT(FilesOf("cat latest/m"), ElementsAre(".gitignore", "latest", "runs/1/m")) << "through a link";
  EXPECT_THAT(FilesOf("python3 t.py --output-dir out"), ElementsAre(".gitignore")) << "to be written into";
  JobSpec spec = JobOf("true");
  spec.execution_env = {{"CONF", "conf"}};
  EXPECT_THAT(Files(List(spec)), ElementsAre(".gitignore", "conf/a.yaml"));
  Write(src_ / "run.sh", "exec python3 t.py --data data/y.csv\n");
  EXPECT_THAT(FilesOf("bash run.sh"), ElementsAre(".gitignore", "data/y.csv", "run.sh")) << "a script of it";
}

TEST_F(SourceRulesTest, AnEnvironmentTravelsWhereSomethingNamesIt) {
  WriteAll({"t.py"});
  MakeEnvironment(".venv");
  Write(src_ / ".gitignore", ".venv\n");
  EXPECT_THAT(FilesOf("python3 t.py"), ElementsAre(".gitignore", "t.py"));
  fs::remove(src_ / ".gitignore");
  EXPECT_THAT(FilesOf("python3 t.py"), ElementsAre("t.py"));
  Write(src_ / "run.sh", ". .venv/bin/activate\n");
  Write(src_ / "x.py", "#!" + (src_ / ".venv/bin/python").string() + "\n");
  Write(src_ / "y.py", "subprocess.run(['.venv/bin/python', 't.py'])\n");
  for (const std::string command : {"source .venv/bin/activate && python t.py", ".venv/bin/python t.py", "bash run.sh",
                                    "./x.py", "python3 y.py", "uv run t.py"})
    EXPECT_THAT(FilesOf(command), Contains(".venv/pyvenv.cfg")) << command;
  JobSpec spec = JobOf("python3 t.py");
  spec.python_venv = (src_ / ".venv").string();
  EXPECT_THAT(Files(List(spec)), Not(Contains(".venv/pyvenv.cfg"))) << "it is venv in the task's folder";
}

TEST_F(SourceRulesTest, GitsFolderAndTheJobsOwnCheckpointsStayWhereTheyAre) {
  WriteAll({"t.py", ".git/config", "sub/.git", "ckpt/old.pt", "ckpt/last.pt"});
  JobSpec spec = JobOf("python3 t.py --resume ckpt/last.pt --to ckpt");
  spec.checkpoint.directory = (src_ / "ckpt").string();
  const SourceListing listing = List(spec);
  EXPECT_THAT(Files(listing), ElementsAre("ckpt/last.pt", "t.py"));
  ASSERT_THAT(listing.left_out, SizeIs(2));
  EXPECT_EQ(listing.left_out[0], (LeftOut{".git", {".git", "sub/.git"}, 2, 8}));
  EXPECT_EQ(listing.left_out[1], (LeftOut{"written by the job", {"ckpt/old.pt"}, 1, 4}));
  Write(src_ / ".tonyignore", "!.git\n");
  EXPECT_THAT(Files(List(spec)), Contains(".git/config")) << "who wants it says so";
}

TEST_F(SourceRulesTest, WhatNobodyCanCopyIsLeftOutAndNamed) {
  WriteAll({"t.py"});
  ASSERT_EQ(mkfifo((src_ / "pipe").c_str(), 0600), 0);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  (src_ / "agent").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(fd);
  const auto staged = StageIt(JobOfFolder());
  ASSERT_TRUE(staged.ok()) << staged.error().message;
  const SourceSummary& sources = staged->sources;
  EXPECT_EQ(sources.files, 1);
  ASSERT_THAT(sources.left_out, SizeIs(1));
  EXPECT_EQ(sources.left_out[0], (LeftOut{"neither a file nor a folder nor a symbolic link", {"agent", "pipe"}, 2, 0}));
}

TEST_F(SourceRulesTest, AScriptWithLineEndsOfWindowsIsNamed) {
  Write(src_ / "outer.sh", "#!/bin/sh\n./inner\n");
  Write(src_ / "inner", "#!/bin/bash\r\necho\r\n");
  Write(src_ / "t.py", "print()\r\n");
  Write(src_ / "data.csv", "1,2\r\n");
  EXPECT_THAT(SourcesOf(JobOf("python3 t.py data.csv"), false).warnings, IsEmpty());
  EXPECT_THAT(SourcesOf(JobOf("sh outer.sh"), false).warnings,
              ElementsAre(HasSubstr("inner has line ends of Windows")));
}

}  // namespace
}  // namespace tony
