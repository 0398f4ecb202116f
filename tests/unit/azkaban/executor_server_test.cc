#include "azkaban-plugin/executor_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;
using std::string_literals::operator""s;

constexpr pid_t kPid = 4711;
constexpr uid_t kStranger = 54321;  // owns nothing here

class ExecutorServerTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  // A /proc with one process in it.
  ExecutorServer Server(const std::string& command_line) const {
    Write("proc/4711/status", "Name:\tjava\nUid:\t1000\t54321\t0\t0\nGid:\t1\t7\t1\t1\nGroups:\t8 9 \n");
    Write("proc/4711/cmdline", command_line);
    Write("proc/4711/environ", "PATH=/x:/y\0HOME=/home/azkaban\0ODD\0"s);
    Write("proc/4711/cgroup", "0::/system.slice/azkaban-executor.service\n");
    fs::create_directory(folder_.path() / "az");
    fs::create_symlink(folder_.path() / "az", folder_.path() / "proc/4711/cwd");
    const auto server = ReadExecutorServer(kPid, folder_.path() / "proc");
    EXPECT_TRUE(server.ok());
    return server.ok() ? *server : ExecutorServer();
  }
  std::optional<std::string> StrangersObstacle(const std::string& name, int wanted) const {
    // The folder above them all is private to the test's user.
    chmod(folder_.path().c_str(), 0755);
    const User stranger{kStranger, {kStranger}, false, "stranger"};
    return Obstacle(folder_.path() / name, stranger, wanted);
  }

  TempFolder folder_;
};

TEST_F(ExecutorServerTest, IsReadFromProc) {
  const ExecutorServer server = Server("/usr/bin/java\0-cp\0x\0azkaban.execapp.AzkabanExecutorServer\0"s);
  EXPECT_EQ(server.pid, kPid);
  EXPECT_EQ(server.user.uid, kStranger);
  EXPECT_THAT(server.user.groups, testing::ElementsAre(7u, 8u, 9u));
  EXPECT_EQ(server.user.name, "uid 54321");
  EXPECT_EQ(server.folder, folder_.path() / "az");
  EXPECT_EQ(server.Variable("HOME"), "/home/azkaban");
  EXPECT_EQ(server.Variable("ODD"), "");
  EXPECT_TRUE(server.environment_known);
  EXPECT_TRUE(server.IsJava());
  EXPECT_EQ(server.command_line.size(), 4u);
  EXPECT_EQ(server.cgroups, "0::/system.slice/azkaban-executor.service\n");
}

TEST_F(ExecutorServerTest, AShellIsNotJavaAndNobodyIsNobody) {
  EXPECT_FALSE(Server("/bin/bash\0/opt/java/run.sh\0"s).IsJava());
  const auto dead = ReadExecutorServer(12, folder_.path() / "proc");
  ASSERT_FALSE(dead.ok());
  EXPECT_EQ(dead.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(dead.error().message, testing::StartsWith("--executor 12: no such process"));
}

TEST_F(ExecutorServerTest, LooksForJobTypesWhereItsConfigurationSays) {
  const ExecutorServer usual = Server("java\0"s);
  EXPECT_EQ(JobtypesOf(usual), folder_.path() / "az/plugins/jobtypes");
  Write("az/conf/azkaban.properties", "azkaban.jobtype.plugin.dir=/opt/types\n");
  EXPECT_EQ(JobtypesOf(usual), "/opt/types");
  Write("az/conf/azkaban.properties", "azkaban.jobtype.plugin.dir=types\n");
  EXPECT_EQ(JobtypesOf(usual), folder_.path() / "az/types");
  Write("az/conf/azkaban.properties", "azkaban.jobtype.plugin.dir=${home}/types\n");
  EXPECT_EQ(JobtypesOf(usual), folder_.path() / "az/plugins/jobtypes");
}

TEST_F(ExecutorServerTest, LooksIntoTheConfigurationThatItsCommandLineNames) {
  Write("elsewhere/azkaban.properties", "azkaban.jobtype.plugin.dir=/opt/types\n");
  const std::string conf = (folder_.path() / "elsewhere").string();
  EXPECT_EQ(JobtypesOf(Server("java\0Main\0-conf\0"s + conf + "\0"s)), "/opt/types");
}

TEST_F(ExecutorServerTest, WhatKeepsAUserFromAFileIsNamed) {
  Write("a/b/file", "");
  const fs::path a = folder_.path() / "a", file = a / "b/file";
  chmod(a.c_str(), 0755);
  chmod((a / "b").c_str(), 0711);
  chmod(file.c_str(), 0644);
  EXPECT_EQ(StrangersObstacle("a/b/file", R_OK), std::nullopt);
  EXPECT_EQ(Obstacle(file, Anybody(), R_OK), std::nullopt);
  EXPECT_THAT(*StrangersObstacle("a/b/file", X_OK), testing::HasSubstr("a/b/file has mode 0644"));
  chmod(a.c_str(), 0750);
  EXPECT_THAT(*StrangersObstacle("a/b/file", R_OK), testing::StartsWith(a.string() + " has mode 0750"));
  EXPECT_THAT(*StrangersObstacle("a/none", R_OK), testing::HasSubstr("a/none: no such file"));
}

TEST_F(ExecutorServerTest, TheOwnerTheGroupAndRootAreJudgedByTheirOwnBits) {
  Write("file", "");
  const fs::path file = folder_.path() / "file";
  chmod(folder_.path().c_str(), 0755);
  chmod(file.c_str(), 0640);
  struct stat status = {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(Obstacle(file, {kStranger, {status.st_gid}, false, ""}, R_OK), std::nullopt);
  EXPECT_NE(Obstacle(file, {kStranger, {status.st_gid}, false, ""}, W_OK), std::nullopt);
  EXPECT_EQ(Obstacle(file, {0, {}, false, "root"}, W_OK), std::nullopt);
  EXPECT_NE(Obstacle(file, {0, {}, false, "root"}, X_OK), std::nullopt);
  EXPECT_NE(Obstacle(file, Anybody(), R_OK), std::nullopt);
}

}  // namespace
}  // namespace tony::azkaban
