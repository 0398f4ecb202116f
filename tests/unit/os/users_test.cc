#include "runtime/os/users.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/os/start_program.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class UsersTest : public testing::Test {
 protected:
  UsersTest() {
    Write("passwd",
          "# comment\nroot:x:0:0:root:/root:/bin/sh\nbroken line\n+nis::::::\nann:x:1000:100:Ann,,:/home/ann:/bin/sh\n"
          "huge:x:4294967295:1::/:\n");
    Write("group", "root:x:0:\nusers:x:100:\ngpu:x:44:bob,ann\nother:x:45:anna\n");
    sources_ = {.passwd = Path("passwd"), .group = Path("group"), .getent = {}, .id = {}, .limit = Duration(20000)};
  }

  std::string Path(const std::string& name) const { return folder_.path() / name; }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(Path(name)) << text; }
  // Makes a program that records the arguments of each of its starts.
  std::string Program(const std::string& name, const std::string& lines) const {
    Write(name, "#!/bin/sh\necho \"$@\" >>" + Path(name + ".asked") + "\n" + lines + "\n");
    fs::permissions(Path(name), fs::perms::owner_all);
    return Path(name);
  }
  std::string Asked(const std::string& name) const {
    std::ifstream file(Path(name + ".asked"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempFolder folder_;
  UserSources sources_;
};

const UnixUser kAnn{.uid = 1000, .group = 100, .name = "ann", .folder = "/home/ann"};

TEST_F(UsersTest, AUserInThePasswdFileIsFoundByNumberAndByName) {
  EXPECT_EQ(*FindUser(1000, sources_), kAnn);
  EXPECT_EQ(*FindUser("ann", sources_), kAnn);
  EXPECT_EQ(*FindUser(1001, sources_), std::nullopt);
  EXPECT_EQ(*FindUser("nobody-here", sources_), std::nullopt);
  EXPECT_EQ(*FindUser("huge", sources_), std::nullopt) << "the number that stands for no user";
}

TEST_F(UsersTest, NoUserIsFoundWithoutAPasswdFile) {
  sources_.passwd = Path("missing");
  EXPECT_EQ(*FindUser(0, sources_), std::nullopt);
}

TEST_F(UsersTest, GroupsOfAUserAreThePrimaryGroupAndTheGroupsThatListTheUser) {
  EXPECT_THAT(*GroupsOf(kAnn, sources_), ElementsAre(44, 100));
}

TEST_F(UsersTest, TheDirectoryServiceIsQueriedOnlyOnceForAUser) {
  sources_.getent = {Path("missing"), Program("getent", "echo 'lea:*:70001:70000:Lea:/home/lea:/bin/bash'")};
  const UnixUser lea{.uid = 70001, .group = 70000, .name = "lea", .folder = "/home/lea"};
  EXPECT_EQ(*FindUser(70001, sources_), lea);
  EXPECT_EQ(*FindUser(70001, sources_), lea);
  EXPECT_EQ(*FindUser(1000, sources_), kAnn) << "files go first";
  EXPECT_EQ(Asked("getent"), "passwd 70001\n");
}

TEST_F(UsersTest, AUserUnknownToTheDirectoryServiceDoesNotExist) {
  sources_.getent = {Program("getent", "exit 2")};
  EXPECT_EQ(*FindUser(70002, sources_), std::nullopt);
  EXPECT_EQ(*FindUser("mia", sources_), std::nullopt);
}

TEST_F(UsersTest, AUserWhoseNameIsANumberIsNotFound) {
  sources_.getent = {Program("getent", "echo '70003:*:5:5::/:'")};
  EXPECT_EQ(*FindUser(70003, sources_), std::nullopt);
  EXPECT_EQ(*FindUser("70003", sources_), std::nullopt);
}

TEST_F(UsersTest, AFailureOfTheDirectoryServiceIsReturnedAsAnError) {
  sources_.getent = {Program("getent", "exit 1")};
  const auto user = FindUser(70004, sources_);
  ASSERT_FALSE(user.ok());
  EXPECT_EQ(user.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(user.error().message, HasSubstr("passwd 70004: exit code 1"));
}

TEST_F(UsersTest, AHangingDirectoryServiceIsQueriedOnlyOnceForAUser) {
  sources_.getent = {Program("getent", "exec sleep 120")};
  sources_.limit = Duration(100);
  EXPECT_THAT(FindUser(70005, sources_).error().message, HasSubstr("no answer within 100 ms"));
  EXPECT_FALSE(FindUser(70005, sources_).ok());
  EXPECT_EQ(Asked("getent"), "passwd 70005\n");
}

TEST_F(UsersTest, AGetentProgramThatCouldNotBeStartedIsRetried) {
  sources_.getent = {Program("getent", "exit 2")};
  Write("getent", "this is no program");
  EXPECT_FALSE(FindUser(70006, sources_).ok());
  sources_.getent = {Program("getent", "exit 2")};
  EXPECT_EQ(*FindUser(70006, sources_), std::nullopt);
}

TEST_F(UsersTest, GroupsFromTheDirectoryServiceAndTheGroupFileAreMerged) {
  sources_.id = {Program("id", "echo '100 44 70000'")};
  EXPECT_THAT(*GroupsOf(kAnn, sources_), ElementsAre(44, 100, 70000));
  EXPECT_EQ(Asked("id"), "-G ann\n");
}

TEST_F(UsersTest, AFailureOrMalformedOutputOfTheIdProgramIsAnError) {
  sources_.id = {Program("id", "echo 100; exit 1")};
  EXPECT_EQ(GroupsOf(kAnn, sources_).error().code, ErrorCode::kUnavailable);
  sources_.id = {Program("id2", "echo 100 what")};
  EXPECT_EQ(GroupsOf(kAnn, sources_).error().message, "\"what\" is not a group number");
}

TEST_F(UsersTest, RootIsFoundOnThisMachineAndAnUnknownUserIsNamedByNumber) {
  EXPECT_EQ((*FindUser(0))->name, "root");
  EXPECT_EQ(UserName(0), "root");
  EXPECT_EQ(UserName(3999999999), "3999999999");
}

TEST_F(UsersTest, RunProgramFailsForAProgramWithEndlessOutput) {
  const auto answer = RunProgram({"/usr/bin/yes"}, Duration(60000));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(RunProgram({Path("missing")}, Duration(60000)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", "kill -9 $$"}, Duration(60000))->exit_code, 137);
}

}  // namespace
}  // namespace tony
