#include "runtime/staging/relocation.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class VenvCheckTest : public StagingTest {
 protected:
  VenvCheckTest() {
    fs::create_directories(venv_ / "bin");
    Program(python311_);
    fs::create_symlink(python311_, venv_ / "bin/python3");
    fs::create_symlink("python3", venv_ / "bin/python");
    Configure("3.11.2");
  }
  void Program(const fs::path& path, const std::string& text =
                                         "\x7f"
                                         "ELF") const {
    Write(path, text);
    fs::permissions(path, fs::perms(0755));
  }
  void Configure(const std::string& version) const {
    Write(venv_ / "pyvenv.cfg", "home = " + (temp_.path() / "opt").string() + "\nversion = " + version + "\n");
  }
  std::string Check(const std::string& command) const {
    const Status checked = CheckVenvCommand(command, venv_);
    if (checked.ok()) return "";
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalid);
    return checked.error().message;
  }

  const fs::path venv_ = temp_.path() / "venv";
  const fs::path python311_ = temp_.path() / "opt/python3.11";
};

TEST_F(VenvCheckTest, EnvironmentOfThisMachineIsFine) {
  EXPECT_EQ(Check("venv/bin/python3 train.py"), "");
  EXPECT_EQ(Check("./venv/bin/python -u train.py"), "");
}

TEST_F(VenvCheckTest, OtherCommandsAreNobodysBusinessHere) {
  for (const char* command :
       {"python3 train.py", "/usr/bin/missing", "$VENV/bin/python9", "'venv/bin/python9' x", "echo venv/bin/python9"})
    EXPECT_EQ(Check(command), "") << command;
}

TEST_F(VenvCheckTest, ACommandThatUsesAnotherPythonIsNamed) {
  for (const char* command :
       {"python3 train.py", "env X=1 python -m pkg", "bash -c 'python3 train.py'", "torchrun train.py",
        "venv/bin/python3 x", "/usr/bin/env python3 x", "source venv/bin/activate; python3.9 x"})
    EXPECT_EQ(WhyVenvIsNotUsed(command, venv_), "") << command;
  EXPECT_EQ(WhyVenvIsNotUsed("/usr/bin/python3 x", venv_), "it runs /usr/bin/python3");
  EXPECT_EQ(WhyVenvIsNotUsed("python3.9 x", venv_), "there is no bin/python3.9 in it");
  EXPECT_EQ(WhyVenvIsNotUsed("bash -lc 'python3 x'", venv_), "bash -lc is a login shell, which sets PATH anew");
}

TEST_F(VenvCheckTest, MissingProgramIsNamedWithWhereThereIsOne) {
  EXPECT_EQ(Check("venv/Python/bin/python3 x"),
            "venv/Python/bin/python3: there is no such file in the Python environment; it has bin/python3");
  fs::rename(venv_ / "bin", temp_.path() / "bin");
  fs::create_directories(venv_ / "env");
  fs::rename(temp_.path() / "bin", venv_ / "env/bin");
  EXPECT_THAT(Check("venv/bin/python3;true"), HasSubstr("; it has env/bin/python3"));
  EXPECT_THAT(Check("venv/bin/ruby"), HasSubstr("no such file"));
}

TEST_F(VenvCheckTest, LinkToAPythonThatIsNotHereIsRefused) {
  fs::remove(python311_);
  EXPECT_EQ(Check("venv/bin/python x"), "venv/bin/python: it leads to " + python311_.string() +
                                            ", which is not on this machine; the environment was made for another "
                                            "Python");
}

TEST_F(VenvCheckTest, EnvironmentOfAnotherVersionIsRefused) {
  Configure("3.9.18");
  EXPECT_THAT(Check("venv/bin/python x"), HasSubstr("was made for Python 3.9, and " + python311_.string()));
}

TEST_F(VenvCheckTest, ConfigurationThatLeadsNowhereIsRefused) {
  Write(venv_ / "pyvenv.cfg", "home = /nowhere/bin\n");
  EXPECT_THAT(Check("venv/bin/python x"), HasSubstr("its pyvenv.cfg leads to /nowhere/bin"));
}

TEST_F(VenvCheckTest, ProgramThatMayNotBeExecutedIsRefused) {
  Write(venv_ / "bin/tool", "x");
  EXPECT_THAT(Check("venv/bin/tool"), HasSubstr("may not be executed"));
  EXPECT_THAT(Check("venv/bin"), HasSubstr("not a program"));
}

TEST_F(VenvCheckTest, ScriptOfAnInterpreterThatIsNotHereIsRefused) {
  Program(venv_ / "bin/torchrun", "#!/home/ada/venv/bin/python3 -E\nimport torch");
  EXPECT_THAT(Check("venv/bin/torchrun x"), HasSubstr("a script of /home/ada/venv/bin/python3, which is not"));
  Program(venv_ / "bin/fine", "#! /bin/sh\n");
  EXPECT_EQ(Check("venv/bin/fine"), "");
}

TEST_F(VenvCheckTest, StagingRefusesTheJobByIt) {
  fs::remove(python311_);
  JobSpec spec = Job();
  spec.python_venv = venv_.string();
  spec.roles[0].command = "venv/bin/python3 train.py";
  const auto staged = StageIt(spec);
  ASSERT_FALSE(staged.ok());
  EXPECT_THAT(staged.error().message, HasSubstr("python_venv " + venv_.string() + ": venv/bin/python3: it leads to"));
}

}  // namespace
}  // namespace tony
