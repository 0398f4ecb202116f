// `tony-azkaban install` and `doctor` through the built programs: the files they make, the input they refuse, and that
// a death at any moment never leaves half a job type for Azkaban to read.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

const std::string kAdapter = ProgramFolder() + "/tony-azkaban";

class AzkabanInstallTest : public testing::Test {
 protected:
  AzkabanInstallTest() : jobtypes_(box_.folder() / "plugins/jobtypes") {
    fs::create_directories(jobtypes_);
    chmod(box_.folder().c_str(), 0755);
  }

  Ran Run(const Words& arguments, const Sandbox::Variables& variables = {}) const {
    return Background(Words{kAdapter} + arguments, box_.Environment(variables), box_.folder()).Wait();
  }
  Ran Install(const Words& options = {}, const Sandbox::Variables& variables = {}) const {
    return Run(Words{"install", jobtypes_.string()} + options, variables);
  }
  Ran Doctor(const Words& options = {}) const { return Run(Words{"doctor", jobtypes_.string()} + options); }

  std::string At(const std::string& name) const { return ReadText(jobtypes_ / name); }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((jobtypes_ / name).parent_path());
    std::ofstream(jobtypes_ / name) << text;
  }
  std::string Link(const std::string& name) const {
    std::error_code error;
    return fs::read_symlink(jobtypes_ / name, error).string();
  }
  static unsigned Mode(const fs::path& path) {
    struct stat status = {};
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }
  static Words Names(const fs::path& folder) {
    Words names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  void ExpectInstalled() const {
    EXPECT_EQ(Names(jobtypes_), (Words{"TensorFlowJob", "TonyJob", "tony"}));
    EXPECT_EQ(Link("TonyJob"), "tony");
    EXPECT_EQ(Link("TensorFlowJob"), "tony");
    EXPECT_THAT(At("tony/private.properties"), testing::HasSubstr("\njobtype.class=azkaban.jobExecutor.ProcessJob\n"));
    EXPECT_THAT(At("tony/plugin.properties"), testing::StartsWith("command=" + kAdapter + "\n"));
    EXPECT_EQ(Names(box_.folder() / "plugins"), Words{"jobtypes"});
  }
  static void ExpectOneLine(const Ran& ran, int exit, const std::string& words) {
    EXPECT_EQ(ran.exit, exit) << ran.out << ran.err;
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    EXPECT_THAT(ran.err, testing::HasSubstr(words));
  }

  Sandbox box_;
  const fs::path jobtypes_;
};

TEST_F(AzkabanInstallTest, TheInstallAndDoctorCommandsFailIfStandardOutputCannotBeWritten) {
  for (const std::string words : {"install ", "doctor --help "}) {
    const std::string line = kAdapter + " " + words + jobtypes_.string() + " >/dev/full";
    const Ran lost = Background({"/bin/bash", "-c", line}, box_.Environment(), box_.folder()).Wait();
    ExpectOneLine(lost, 73, "standard output: no space left on device");
  }
  ExpectInstalled();
}

TEST_F(AzkabanInstallTest, TheInstallCommandCreatesTheJobTypeWithAliasesAndChangesNothingWhenRepeated) {
  const Ran first = Install();
  EXPECT_EQ(first.exit, 0) << first.err;
  ExpectInstalled();
  struct stat before = {}, after = {};
  ASSERT_EQ(stat((jobtypes_ / "tony").c_str(), &before), 0);
  const Ran second = Install();
  EXPECT_EQ(second.exit, 0) << second.err;
  EXPECT_THAT(second.out, testing::HasSubstr("nothing was changed"));
  ASSERT_EQ(stat((jobtypes_ / "tony").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(AzkabanInstallTest, TheInstalledJobTypeIsReadableByAllUsersWhateverTheUmask) {
  const mode_t old = umask(0077);
  const Ran ran = Install();
  umask(old);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(Mode(jobtypes_ / "tony"), 0755u);
  EXPECT_EQ(Mode(jobtypes_ / "tony/private.properties"), 0644u);
  EXPECT_EQ(Mode(jobtypes_ / "tony/plugin.properties"), 0644u);
}

TEST_F(AzkabanInstallTest, AnUpgradeKeepsPropertiesAndFilesThatTheAdministratorAdded) {
  Write("tony/plugin.properties", "# ours\ntony.worker.memory=3g\ncommand=/old/bin/tony-azkaban\nenv.X=caf\xE9\n");
  Write("tony/private.properties", "jobtype.class=com.example.Own\nexecute.as.user=true\n");
  Write("tony/notes", "mine");
  const Ran ran = Install({"--no-execute-as-user"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(At("tony/plugin.properties"), "# ours\ntony.worker.memory=3g\ncommand=" + kAdapter + "\nenv.X=caf\xE9\n");
  EXPECT_EQ(At("tony/private.properties"), "jobtype.class=com.example.Own\nexecute.as.user=true\n");
  EXPECT_EQ(At("tony/notes"), "mine");
  EXPECT_THAT(ran.out, testing::HasSubstr("kept in plugin.properties: env.X, tony.worker.memory\n"));
  EXPECT_THAT(ran.out, testing::HasSubstr("kept in private.properties: execute.as.user, jobtype.class\n"));
  EXPECT_THAT(ran.out, testing::HasSubstr("kept files: notes\n"));
  EXPECT_THAT(Install().out, testing::HasSubstr("nothing was changed"));
}

TEST_F(AzkabanInstallTest, TheNoExecuteAsUserOptionSetsExecuteAsUserToFalse) {
  ASSERT_EQ(Install().exit, 0);
  const Ran ran = Install({"--no-execute-as-user"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(At("tony/private.properties"), testing::EndsWith("\nexecute.as.user=false\n"));
}

TEST_F(AzkabanInstallTest, TheWithProgramsOptionCopiesTheProgramsIntoTheFolderOfTheJobType) {
  const Ran ran = Install({"--with-programs"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(At("tony/plugin.properties"), testing::StartsWith("command=${plugin.dir}/bin/tony-azkaban\n"));
  for (const char* name : {"tony", "tony-am", "tony-azkaban", "tony-executor", "tony-keeper"})
    EXPECT_EQ(Mode(jobtypes_ / "tony/bin" / name), 0755u) << name;
  EXPECT_THAT(ran.out, testing::HasSubstr("needs Azkaban 3.65 or newer"));
  const std::string inside = (jobtypes_ / "tony/bin/tony-azkaban").string();
  const auto own = [&](const Words& options) {
    return Background(Words{inside, "install", jobtypes_.string()} + options, box_.Environment(), box_.folder()).Wait();
  };
  EXPECT_THAT(own({"--with-programs"}).out, testing::HasSubstr("nothing was changed"));
  ExpectOneLine(own({}), 64, "lies in the folder that would be replaced");
}

TEST_F(AzkabanInstallTest, AnInstallReplacesTheJobTypeOfLinkedInOnlyWithTheReplaceOption) {
  Write("TonyJob/private.properties", "jobtype.class=com.linkedin.tony.azkaban.TonyJob\n");
  Write("TonyJob/tony.jar", "jar");
  ExpectOneLine(Install(), 73,
                (jobtypes_ / "TonyJob").string() +
                    ": not installed by TonY (a folder, not a link to tony); --replace moves");
  EXPECT_EQ(Names(jobtypes_), Words{"TonyJob"});
  const Ran ran = Install({"--replace"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(Link("TonyJob"), "tony");
  EXPECT_EQ(ReadText(box_.folder() / "plugins/TonyJob.replaced-1/tony.jar"), "jar");
  EXPECT_THAT(ran.out, testing::HasSubstr("moved: " + (jobtypes_ / "TonyJob").string() + " to "));
  EXPECT_EQ(Names(box_.folder() / "plugins"), (Words{"TonyJob.replaced-1", "jobtypes"}));
}

TEST_F(AzkabanInstallTest, TheInstallCommandRefusesToOverwriteForeignFoldersFilesAndLinks) {
  Write("tony/private.properties", "jobtype.class=com.example.Tony\n");
  ExpectOneLine(Install(), 73, "jobtypes/tony: not installed by TonY (a job type without plugin.properties)");
  Write("tony/plugin.properties", "command=/bin/true\n");
  ExpectOneLine(Install(), 73, "jobtypes/tony: not installed by TonY (a job type whose command is not tony-azkaban)");
  fs::remove_all(jobtypes_ / "tony");
  Write("tony", "a file");
  ExpectOneLine(Install(), 73, "jobtypes/tony: not installed by TonY (a file)");
  fs::remove(jobtypes_ / "tony");
  fs::create_symlink("elsewhere", jobtypes_ / "TensorFlowJob");
  ExpectOneLine(Install(), 73, "jobtypes/TensorFlowJob: not installed by TonY (a link to elsewhere)");
  Write("tony/private.properties", "jobtype.class=com.example.Tony\n");
  EXPECT_EQ(Install({"--replace"}).exit, 0);
  EXPECT_EQ(Link("TensorFlowJob"), "tony");
  EXPECT_EQ(ReadText(box_.folder() / "plugins/tony.replaced-1/private.properties"), "jobtype.class=com.example.Tony\n");
}

TEST_F(AzkabanInstallTest, TheInstallCommandRefusesAPathThatIsNotAFolderOfJobTypes) {
  ExpectOneLine(Run({"install", box_.File("none")}), 66, "none: no such file or directory");
  ExpectOneLine(Run({"install", box_.Write("file", "")}), 66, "azkaban.jobtype.plugin.dir names");
  ExpectOneLine(Run({"install"}), 64, "JOBTYPES_FOLDER");
  ASSERT_EQ(Install().exit, 0);
  ExpectOneLine(Run({"install", (jobtypes_ / "tony").string()}), 64, "so it is one job type");
}

TEST_F(AzkabanInstallTest, TheInstallErrorNamesTheFolderThatIsNotWritable_NotAsRoot) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  chmod(jobtypes_.parent_path().c_str(), 0555);
  const Ran ran = Install();
  chmod(jobtypes_.parent_path().c_str(), 0755);
  ExpectOneLine(ran, 73, "so both must be writable");
  chmod(jobtypes_.c_str(), 0555);
  const Ran inner = Install();
  chmod(jobtypes_.c_str(), 0755);
  ExpectOneLine(inner, 73, "jobtypes/tony: permission denied");
  EXPECT_TRUE(fs::is_empty(jobtypes_));
}

TEST_F(AzkabanInstallTest, AnInstallOnAFullDiskChangesNothing) {
  ASSERT_EQ(Install().exit, 0);
  const std::string before = "command=/old/tony-azkaban\n";
  Write("tony/plugin.properties", before);
  fs::create_directory(box_.File("shim"));
  const Ran ran = Install({}, WithShim("crash_shim", {{"SHIM_FOLDER", box_.File("shim")},
                                                      {"SHIM_PROGRAM", "tony-azkaban"},
                                                      {"SHIM_ROOT", (box_.folder() / "plugins").string()},
                                                      {"SHIM_FULL_WHILE", box_.Write("full", "")}}));
  ExpectOneLine(ran, 73, "no space left on device");
  EXPECT_EQ(At("tony/plugin.properties"), before);
}

// The content of the job types folder before an installation, for the crash tests.
enum class Before { kNothing, kOlder, kForeign };

class AzkabanInstallCrashTest : public AzkabanInstallTest, public testing::WithParamInterface<Before> {
 protected:
  // Prepares the folder, then runs an installation that dies at the point `at`. Returns the points that the program
  // reached.
  Words RunOne(const std::string& at) {
    fs::remove_all(box_.File("shim"));
    fs::remove_all(box_.folder() / "plugins");
    fs::create_directories(jobtypes_);
    fs::create_directory(box_.File("shim"));
    if (GetParam() == Before::kOlder) {
      Write("tony/private.properties", "jobtype.class=old\n");
      Write("tony/plugin.properties", "command=/old/tony-azkaban\n");
    }
    if (GetParam() == Before::kForeign) Write("TonyJob/private.properties", "jobtype.class=linkedin\n");
    const Ran ran = Install({"--replace"}, WithShim("crash_shim", {{"SHIM_FOLDER", box_.File("shim")},
                                                                   {"SHIM_PROGRAM", "tony-azkaban"},
                                                                   {"SHIM_ROOT", (box_.folder() / "plugins").string()},
                                                                   {"SHIM_CRASH_AT", at}}));
    Words points;
    std::ifstream notes(box_.File("shim/points.1"));
    for (std::string line; std::getline(notes, line);) points.push_back(line);
    const bool died = !points.empty() && points.back() == "died";
    EXPECT_EQ(ran.exit, died ? 137 : 0) << ran.err;
    return points;
  }

  // Azkaban reads each folder in the job types folder: each must be a whole job type.
  void ExpectWholeJobTypes() const {
    for (const std::string& name : Names(jobtypes_)) {
      const bool foreign = GetParam() == Before::kForeign && name == "TonyJob" && Link(name).empty();
      const std::string server = At(name + "/private.properties"), plugin = At(name + "/plugin.properties");
      if (foreign) {
        EXPECT_EQ(server, "jobtype.class=linkedin\n");
      } else if (server == "jobtype.class=old\n") {
        EXPECT_TRUE(plugin == "command=/old/tony-azkaban\n" || plugin == "command=" + kAdapter + "\n") << plugin;
      } else {
        EXPECT_THAT(server, testing::EndsWith("#execute.as.user=false\n"));
        EXPECT_THAT(plugin, testing::HasSubstr("command=" + kAdapter + "\n"));
      }
      if (name != "tony" && !foreign) {
        EXPECT_EQ(Link(name), "tony");
      }
    }
    if (GetParam() == Before::kOlder) {
      EXPECT_FALSE(At("tony/plugin.properties").empty());
    }
    if (GetParam() == Before::kForeign) {
      const bool moved = fs::exists(box_.folder() / "plugins/TonyJob.replaced-1/private.properties");
      EXPECT_TRUE(moved || Link("TonyJob").empty());
    }
  }
};

TEST_P(AzkabanInstallCrashTest, AnInstallKilledAtAnyPointLeavesCompleteJobTypesAndCanBeRepeated) {
  const Words points = RunOne("0");
  ASSERT_GT(points.size(), 8u);
  // The last point is the end of the program.
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const bool is_write = points[i].find(" write ") != std::string::npos;
    const std::string number = points[i].substr(0, points[i].find(' '));
    for (const std::string& at : is_write ? Words{number, number + "h"} : Words{number}) {
      SCOPED_TRACE("killed at " + at + ": " + points[i]);
      EXPECT_EQ(RunOne(at).back(), "died");
      ExpectWholeJobTypes();
      const Ran next = Install({"--replace"});
      EXPECT_EQ(next.exit, 0) << next.err;
      EXPECT_EQ(Link("TonyJob"), "tony");
      EXPECT_EQ(Link("TensorFlowJob"), "tony");
      EXPECT_THAT(At("tony/plugin.properties"), testing::HasSubstr("command=" + kAdapter + "\n"));
      for (const std::string& name : Names(box_.folder() / "plugins"))
        EXPECT_FALSE(name.starts_with(".tony-install-")) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InstallInto, AzkabanInstallCrashTest,
                         testing::Values(Before::kNothing, Before::kOlder, Before::kForeign), [](const auto& test) {
                           return test.param == Before::kNothing ? "EmptyFolder"
                                  : test.param == Before::kOlder ? "FolderWithAnOlderInstallation"
                                                                 : "FolderWithTheJobTypeOfLinkedIn";
                         });

class AzkabanDoctorTest : public AzkabanInstallTest {
 protected:
  static bool Has(const Ran& ran, const std::string& line) { return ran.out.find(line) != std::string::npos; }
};

TEST_F(AzkabanDoctorTest, TheDoctorCommandSuggestsTheInstallCommandIfTheJobTypeIsMissing) {
  const Ran none = Doctor();
  EXPECT_EQ(none.exit, 1) << none.out;
  EXPECT_TRUE(Has(none, "fail  private.properties: ")) << none.out;
  EXPECT_TRUE(Has(none, "-> tony-azkaban install " + jobtypes_.string())) << none.out;
  ASSERT_EQ(Install({"--no-execute-as-user"}).exit, 0);
  const Ran ran = Doctor();
  EXPECT_EQ(ran.exit, 0) << ran.out;
  const std::string gpu = fs::exists(ProgramFolder() + "/tony-gpu-executor") ? ", tony-gpu-executor" : "";
  EXPECT_TRUE(Has(ran, "ok    programs: tony, tony-am, tony-executor, tony-keeper" + gpu + " next to tony-azkaban"))
      << ran.out;
  EXPECT_TRUE(Has(ran, "ok    type TonyJob: the same as tony")) << ran.out;
}

TEST_F(AzkabanDoctorTest, TheDoctorCommandFailsIfExecuteAsUserIsTrueAndAzkabanNativeLibIsNotSet) {
  ASSERT_EQ(Install().exit, 0);
  const Ran ran = Doctor();
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(Has(ran, "fail  execute.as.user: true (Azkaban's default)")) << ran.out;
}

TEST_F(AzkabanDoctorTest, TheDoctorCommandPrintsTheReportAsJsonIfTheOptionJsonIsSet) {
  ASSERT_EQ(Install({"--no-execute-as-user"}).exit, 0);
  const Ran ran = Doctor({"--json"});
  const auto document = ParseJson(ran.out);
  EXPECT_EQ(tony::At(document, "/healthy"), value(true)) << ran.out;
  EXPECT_EQ(Number(document, "/schema"), 1);
  EXPECT_EQ(ran.exit, 0);
}

TEST_F(AzkabanDoctorTest, TheDoctorCommandChangesNoFiles) {
  ASSERT_EQ(Install().exit, 0);
  const Words before = Names(box_.folder());
  Doctor();
  EXPECT_EQ(Names(box_.folder()), before);
  EXPECT_FALSE(fs::exists(box_.home() / "jobs"));
}

TEST_F(AzkabanDoctorTest, TheDoctorCommandChecksTheJobTypesAndTheEnvironmentOfARunningExecutorServer) {
  ASSERT_EQ(Install({"--no-execute-as-user"}).exit, 0);
  fs::create_symlink("/bin/sleep", box_.File("java"));
  const Background server({box_.File("java"), "1000"}, box_.Environment({{"PATH", "/none"}}), box_.folder());
  const std::string words = "/proc/" + std::to_string(server.pid()) + "/cmdline";
  ASSERT_TRUE(WaitFor([&] { return ReadText(words).find("java") != std::string::npos; }));
  const Ran ran = Run({"doctor", "--executor", std::to_string(server.pid())});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(Has(ran, "ok    job types: " + jobtypes_.string())) << ran.out;
  EXPECT_TRUE(Has(ran, "warn  kill: no such program")) << ran.out;
  EXPECT_TRUE(Has(ran, "ok    home: " + box_.home().string())) << ran.out;
}

TEST_F(AzkabanDoctorTest, TheDoctorCommandRejectsAProcessIdThatBelongsToNoJavaProcess) {
  const Background shell({"/bin/sleep", "1000"}, box_.Environment(), box_.folder());
  const std::string words = "/proc/" + std::to_string(shell.pid()) + "/cmdline";
  ASSERT_TRUE(WaitFor([&] { return ReadText(words).find("sleep") != std::string::npos; }));
  const Ran ran = Run({"doctor", "--executor", std::to_string(shell.pid())});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(Has(ran, " runs /bin/sleep, not Java, so it is not Azkaban's executor server")) << ran.out;
  ExpectOneLine(Run({"doctor", "--executor", "999999999"}), 66, "--executor 999999999: no such process");
  ExpectOneLine(Run({"doctor", "--executor", "x"}), 64, "--executor x: expected a process id");
}

TEST_F(AzkabanDoctorTest, TheDoctorCommandNamesAMissingFolderOfJobTypes) {
  const Ran ran = Run({"doctor", box_.File("none")});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(Has(ran, "fail  job types: " + box_.File("none") + ": no such folder")) << ran.out;
}

}  // namespace
}  // namespace tony
