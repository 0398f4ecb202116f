// The users of these tests have no rights of root or of each other. Otherwise the other tests in this folder prove
// nothing.
#include <grp.h>

#include <stdexcept>

#include "tests/e2e/strangers/strangers_test.h"

namespace tony {
namespace {

using ::testing::SizeIs;

class OtherUserTest : public StrangersTest {};

std::string Privileges() {
  const std::string status = ReadText("/proc/self/status");
  const size_t begin = status.find("CapPrm:");
  return std::to_string(getuid()) + " " + std::to_string(geteuid()) + " " + std::to_string(getegid()) + " " +
         std::to_string(getgroups(0, nullptr)) + " " + status.substr(begin, status.find('\n', begin) - begin);
}

TEST_F(OtherUserTest, ATestUserHasNoExtraGroupsAndNoCapabilities) {
  const OtherUser user;
  const std::string id = std::to_string(user.uid());

  EXPECT_EQ(user.Do(Privileges).out, id + " " + id + " " + id + " 0 CapPrm:\t0000000000000000");
  const Ran program = user.Run({"sh", "-c", "id -u; id -g; id -G; grep CapPrm /proc/self/status; umask; pwd"});
  EXPECT_EQ(program.out,
            id + "\n" + id + "\n" + id + "\nCapPrm:\t0000000000000000\n0022\n" + user.home().string() + "\n")
      << program.err;
}

TEST_F(OtherUserTest, TestUsersCannotReadPrivateFilesOfEachOtherOrOfRoot) {
  const OtherUser one, two;
  const SharedFolder folder;
  const fs::path secret = folder.path() / "secret";
  std::ofstream(secret) << "root's";
  fs::permissions(secret, fs::perms::owner_read);

  EXPECT_NE(one.uid(), two.uid());
  EXPECT_TRUE(one.Write(one.home() / "private", "one's", 0600));
  EXPECT_TRUE(one.Write(one.home() / "public", "one's"));
  EXPECT_EQ(two.Read(one.home() / "private"), std::nullopt);
  EXPECT_EQ(two.Read(one.home() / "public"), "one's");
  EXPECT_FALSE(two.Write(one.home() / "planted", "two's"));
  EXPECT_EQ(two.Read(secret), std::nullopt);
}

TEST_F(OtherUserTest, FilesOfAJobRunByATestUserBelongToThatUser) {
  const OtherUser user;

  const Ran ran = user.Tony(One("true"));

  EXPECT_EQ(ran.exit, 0) << ran.err;
  struct stat status;
  ASSERT_EQ(stat((user.tony_home() / "jobs").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, user.uid());
  EXPECT_THAT(user.Processes(), IsEmpty());
}

TEST_F(OtherUserTest, AProgramOfATestUserRunsWithTheGivenLimitsAndVariables) {
  const OtherUser user;

  const Ran ran = user.Run({"sh", "-c", "ulimit -n; ulimit -v; umask; echo $NAME"},
                           {.variables = {{"NAME", "value"}}, .open_files = 8, .address_space = 1 << 30, .umask = 0});

  EXPECT_EQ(ran.out, "8\n1048576\n0000\nvalue\n") << ran.err;
}

TEST_F(OtherUserTest, FilesAndProcessesOfATestUserAreRemovedWithTheUser) {
  fs::path home;
  pid_t pid = 0;
  {
    const OtherUser user;
    home = user.home();
    const Ran ran = user.Run({"sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"});
    pid = static_cast<pid_t>(std::stol(ran.out));
    EXPECT_THAT(user.Processes(), SizeIs(1));
  }
  EXPECT_FALSE(fs::exists(home));
  const std::string status = ReadText("/proc/" + std::to_string(pid) + "/status");
  EXPECT_TRUE(status.empty() || status.find("\nState:\tZ") != std::string::npos) << status;
}

TEST_F(OtherUserTest, AFunctionRunAsATestUserIsKilledAtItsTimeLimit) {
  const OtherUser user;

  const Ran ran = user.Do([] { return std::string(pause() == 0 ? "" : "woken"); }, Limit(50));

  EXPECT_TRUE(ran.timed_out);
  EXPECT_EQ(ran.exit, 128 + 9);
  EXPECT_EQ(user.Do([]() -> std::string { throw std::runtime_error("why"); }).err, "why");
}

}  // namespace
}  // namespace tony
