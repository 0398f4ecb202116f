#include <array>
#include <cstdio>

#include "runtime/base/strings.h"
#include "runtime/staging/conda_environment.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CondaPrefixTest : public StagingTest {
 protected:
  CondaPrefixTest() {
    Script("bin/python3.11", "#!/bin/sh\necho \"python of ${0%/bin/*}:\" \"$@\"\n");
    fs::create_symlink("python3.11", made_ / "bin/python3");
  }

  void Script(const std::string& name, const std::string& text) const {
    Write(made_ / name, text);
    fs::permissions(made_ / name, fs::perms(0555));
  }
  void Relocate() const {
    const Status status = RelocateCondaEnvironment(made_, place_);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  static std::string Output(const std::string& command) {
    std::string text;
    FILE* const from = popen(command.c_str(), "r");
    for (std::array<char, 256> some; fgets(some.data(), some.size(), from) != nullptr;) text += some.data();
    pclose(from);
    return text;
  }

  const fs::path made_ = temp_.path() / "store/.new-environment", place_ = temp_.path() / "store/environment";
  const std::string as_long_ = temp_.path() / "store//////environment";
  const std::string old_ = made_.string();
};

TEST_F(CondaPrefixTest, ScriptsFindThePythonBesideThemWhereverTheyAre) {
  const std::string rest = "import this\n";
  Script("bin/short", StrCat("#!", old_, "/bin/python3.11\n", rest));
  Script("bin/options", StrCat("#!", old_, "/bin/python3.11 -sE\n", rest));
  Script("bin/env", "#!/usr/bin/env python3\n" + rest);
  Script("bin/long", StrCat("#!/bin/sh\n'''exec' \"", old_, "/bin/python3.11\" \"$0\" \"$@\" #'''\n", rest));
  Script("bin/pip", StrCat("#!/bin/sh\n'''exec' ", old_, "/bin/python3.11 -I \"$0\" \"$@\"\n' '''\n", rest));
  Relocate();
  const fs::path moved = temp_.path() / "with a space";
  fs::rename(made_, moved);
  for (const std::string name : {"short", "options", "env", "long", "pip"}) {
    const std::string options = name == "options" ? "-sE " : name == "pip" ? "-I " : "", script = moved / "bin" / name;
    EXPECT_EQ(Output(StrCat("'", script, "' one 'two three'")),
              StrCat("python of ", moved.string(), ": ", options, script, " one two three\n"));
    EXPECT_THAT(Text(script), HasSubstr("\n' '''\n" + rest)) << "not Python";
    EXPECT_NE(Mode(script) & 0100u, 0u);
  }
}

TEST_F(CondaPrefixTest, OtherScriptsStayWhatTheyAre) {
  Script("bin/shell", StrCat("#!/bin/sh\ncd ", old_, "\n"));
  Script("bin/perl", StrCat("#!", old_, "/bin/perl -w\n"));
  Script("bin/other", "#!/usr/bin/env python2\n");
  Script("bin/machines", "#!/usr/bin/python3\n");
  Script("bin/empty", "#!");
  Relocate();
  EXPECT_EQ(Text(made_ / "bin/shell"), StrCat("#!/bin/sh\ncd ", as_long_, "\n"));
  EXPECT_EQ(Text(made_ / "bin/perl"), StrCat("#!", as_long_, "/bin/perl -w\n"));
  EXPECT_EQ(Text(made_ / "bin/other"), "#!/usr/bin/env python2\n");
  EXPECT_EQ(Text(made_ / "bin/machines"), "#!/usr/bin/python3\n");
}

TEST_F(CondaPrefixTest, InOtherFilesTheNewPathIsAsLongAsTheOld) {
  const auto with = [](const std::string& path) {
    return StrCat(path, "/lib:", path, std::string("\0padding\0", 9), "x", path, "/share");
  };
  Script("lib/binary.so", with(old_));
  Write(made_ / "lib/other", "nothing of it");
  const struct stat before = Look(made_ / "lib/binary.so"), untouched = Look(made_ / "lib/other");
  Script("lib/path", old_);
  Relocate();
  EXPECT_EQ(Text(made_ / "lib/binary.so"), with(as_long_));
  EXPECT_EQ(Text(made_ / "lib/path"), as_long_);
  const struct stat after = Look(made_ / "lib/binary.so");
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec) << "bytecode of it would be stale";
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(Look(made_ / "lib/other").st_ctim.tv_nsec, untouched.st_ctim.tv_nsec) << "it was written to";
}

TEST_F(CondaPrefixTest, LinksLeadToTheNewPath) {
  Write(made_ / "lib/a.so", "a");
  fs::create_symlink(made_ / "lib/a.so", made_ / "lib/b.so");
  fs::create_symlink("a.so", made_ / "lib/c.so");
  Relocate();
  fs::rename(made_, place_);
  EXPECT_EQ(Text(place_ / "lib/b.so"), "a");
  EXPECT_EQ(fs::read_symlink(place_ / "lib/c.so"), "a.so");
}

TEST_F(CondaPrefixTest, ALongerPathIsRefused) {
  const Status status = RelocateCondaEnvironment(made_, place_.string() + "-and-more");
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(status.error().message, StartsWith("relocate /"));
}

TEST_F(CondaPrefixTest, APathAsLongAsTheOldOneWillDo) {
  const std::string other = StrCat(old_.substr(0, old_.size() - 1), "x");
  Script("lib/binary.so", old_ + "/lib");
  const Status status = RelocateCondaEnvironment(made_, other);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(Text(made_ / "lib/binary.so"), other + "/lib");
}

}  // namespace
}  // namespace tony
