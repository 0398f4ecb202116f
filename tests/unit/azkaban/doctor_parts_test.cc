#include "azkaban-plugin/doctor_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "azkaban-plugin/plugin_folder.h"
#include "tests/support/temp_folder.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int64_t kMuchMemory = 100'000;

PluginFiles Files(const std::string& server, const std::string& plugin) {
  PluginFiles files;
  files.server = *ParseServerProperties(server, "private.properties");
  files.plugin = *ParseServerProperties(plugin, "plugin.properties");
  files.complete = true;
  return files;
}

// The worst of them, as "warn NAME: TEXT -> ADVICE"; "ok" if all is well.
std::string Worst(const Checks& checks) {
  std::string worst = "ok";
  Health health = Health::kOk;
  for (const Check& check : checks) {
    if (check.health <= health) continue;
    health = check.health;
    worst = (health == Health::kFail ? "fail " : "warn ") + check.name + ": " + check.text + " -> " + check.advice;
  }
  return worst;
}

std::string OfServer(const std::string& text, int64_t memory = kMuchMemory) {
  return Worst(CheckServerProperties(Files(text, ""), memory));
}
std::string OfPlugin(const std::string& text) { return Worst(CheckPluginProperties(Files("", text))); }
std::string OfDefaults(const std::string& text) { return Worst(CheckSiteDefaults(Files("", text))); }

TEST(DoctorPropertiesTest, WhatWeInstallIsWell) {
  EXPECT_EQ(OfServer(FirstPrivateText(), 0), "ok");
  EXPECT_EQ(OfPlugin(FirstPluginText("/opt/tony-azkaban")), "ok");
  EXPECT_EQ(OfDefaults(FirstPluginText("/opt/tony-azkaban")), "ok");
}

TEST(DoctorPropertiesTest, TheClassThatRunsTheStepIsNamed) {
  EXPECT_THAT(OfServer(""), HasSubstr("fail jobtype.class: not set"));
  EXPECT_THAT(OfServer("jobtype.class=com.example.Own"), HasSubstr("warn jobtype.class: com.example.Own"));
}

TEST(DoctorPropertiesTest, AMemoryCheckThatHoldsStepsBackIsNamed) {
  const std::string type = "jobtype.class=azkaban.jobExecutor.ProcessJob\n";
  EXPECT_THAT(OfServer(type, 2000), HasSubstr("warn memCheck.enabled: not off, and 2000 MB are free"));
  EXPECT_EQ(OfServer(type, kMuchMemory), "ok");
  EXPECT_EQ(OfServer(type + "memCheck.enabled=false", 2000), "ok");
}

TEST(DoctorPropertiesTest, FreeMemoryIsWhatAzkabanCounts) {
  EXPECT_EQ(FreeMemoryMb("MemTotal: 9999999 kB\nMemFree:  1024 kB\nBuffers: 1024 kB\nCached: 2048 kB\n"
                         "SwapCached: 999999 kB\nSwapFree: 4096 kB\n"),
            8);
}

TEST(DoctorPropertiesTest, SecretsAreNamedWithoutTheirValue) {
  const std::string answer = OfServer("jobtype.class=azkaban.jobExecutor.ProcessJob\ndb.password=hunter2");
  EXPECT_THAT(answer, HasSubstr("warn private.properties: db.password: looks like a secret"));
  EXPECT_THAT(answer, testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(OfPlugin("env.API_TOKEN=x"), HasSubstr("warn plugin.properties: env.API_TOKEN: looks like a secret"));
}

TEST(DoctorPropertiesTest, KeysWithoutEffectAreNamed) {
  EXPECT_THAT(
      OfPlugin("retries=3\nuser.to.proxy=x\njob.notification.success.1.url=y\ntony.a=b"),
      HasSubstr("warn plugin.properties: job.notification.success.1.url, retries, user.to.proxy: has no effect"));
  EXPECT_THAT(OfPlugin("execute.as.user=false"), HasSubstr("-> it belongs into private.properties"));
  EXPECT_THAT(OfServer("jobtype.class=azkaban.jobExecutor.ProcessJob\ntony.x=1\ncommand=y"),
              HasSubstr("command, tony.x: has no effect here -> it belongs into plugin.properties"));
}

TEST(DoctorPropertiesTest, WhatAzkabanWouldEvaluateIsNamed) {
  EXPECT_THAT(OfPlugin("tony.worker.command=echo $(date)"), HasSubstr("tony.worker.command: Azkaban evaluates $(...)"));
  EXPECT_THAT(OfPlugin("tony.a=${b.c}/x"), HasSubstr("tony.a (${b.c}): a job that does not define it"));
  EXPECT_EQ(OfPlugin("tony.a=${b}${plugin.dir}${azkaban.link.job.url}${not-a-key}\nb=1"), "ok");
  EXPECT_THAT(OfPlugin("command.1=rm"), HasSubstr("command.1: Azkaban runs it after the step"));
}

TEST(DoctorPropertiesTest, SiteDefaultsAreReadAsAStepReadsThem) {
  EXPECT_EQ(OfDefaults("tony.worker.memory=4g\ntony.ps.memory=1g\ntony.application.framework=pytorch"), "ok");
  EXPECT_THAT(OfDefaults("tony.worker.memory=4q"), HasSubstr("fail site defaults: tony.worker.memory: \"4q\""));
  EXPECT_THAT(OfDefaults("tony.worker.memroy=4g"), HasSubstr("warn site defaults: tony.worker.memroy"));
  EXPECT_EQ(OfDefaults("tony.worker.memory=${memory}"), "ok");
  EXPECT_THAT(OfDefaults("tony.azkaban.replace-older=maybe"),
              HasSubstr("fail site defaults: tony.azkaban.replace-old"));
}

// What another user than root sees; as root it would see all.
class AsUser {
 public:
  explicit AsUser(uid_t user) { EXPECT_EQ(seteuid(user), 0); }
  ~AsUser() { EXPECT_EQ(seteuid(0), 0); }
};

class DoctorFilesTest : public testing::Test {
 protected:
  DoctorFilesTest() {
    chmod(folder_.path().c_str(), 0755);
    installation_.jobtypes = folder_.path() / "jobtypes";
    installation_.server.user = {54321, {54321}, false, "azkaban"};
    installation_.server.folder = folder_.path();
  }
  void Write(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    for (fs::path above = path.parent_path(); above != folder_.path(); above = above.parent_path())
      chmod(above.c_str(), 0755);
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
  }
  void WriteBoth() const {
    Write("jobtypes/tony/private.properties", FirstPrivateText());
    Write("jobtypes/tony/plugin.properties", "command=${plugin.dir}/bin/tony-azkaban\n");
  }
  std::string OfFiles() {
    files_ = {};
    return Worst(CheckPluginFiles(installation_, files_));
  }
  std::string OfCommand(const std::string& plugin, const std::string& server = "execute.as.user=false") const {
    return Worst(CheckCommand(installation_, Files(server, plugin)));
  }
  std::string OfHelper(const std::string& server) const {
    return Worst(CheckExecuteAsUser(installation_, Files(server, "")));
  }

  TempFolder folder_;
  Installation installation_;
  PluginFiles files_;
};

TEST_F(DoctorFilesTest, BothFilesAreReadAndThePrivateOneIsStrongerThanTheCommonOne) {
  WriteBoth();
  Write("jobtypes/commonprivate.properties", "execute.as.user=false\nmemCheck.enabled=true\n");
  EXPECT_EQ(OfFiles(), "ok");
  EXPECT_TRUE(files_.complete);
  EXPECT_FALSE(files_.ExecutesAsUser());
  EXPECT_EQ(files_.ServerValue("memCheck.enabled", ""), "false");
}

TEST_F(DoctorFilesTest, AMissingAnUnreadableAndABrokenFileFail) {
  EXPECT_THAT(OfFiles(), HasSubstr("fail private.properties: "));
  WriteBoth();
  chmod((installation_.folder() / "private.properties").c_str(), 0600);
  EXPECT_THAT(OfFiles(), HasSubstr("private.properties cannot be read by azkaban: "));
  chmod((installation_.folder() / "private.properties").c_str(), 0644);
  chmod(installation_.folder().c_str(), 0700);
  EXPECT_THAT(OfFiles(), HasSubstr("tony has mode 0700"));
  chmod(installation_.folder().c_str(), 0755);
  Write("jobtypes/tony/plugin.properties", "command=\\uXX\n");
  EXPECT_THAT(OfFiles(), HasSubstr("plugin.properties:1: malformed \\u escape"));
  EXPECT_FALSE(files_.complete);
}

TEST_F(DoctorFilesTest, AFileThatTheDoctorsUserMayNotLookAtIsNotMissing_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "being another user needs root";
  constexpr uid_t kDoctor = 54322;
  WriteBoth();
  chmod(installation_.folder().c_str(), 0700);
  const std::string closed = installation_.folder().string() + " has mode 0700 and belongs to root";
  const std::string command = "command=${plugin.dir}/bin/tony-azkaban";
  std::string files, own_files, program, helper;
  {
    const AsUser doctor(kDoctor);
    files = OfFiles();
    program = OfCommand(command);
    helper = OfHelper("azkaban.native.lib=jobtypes/tony");
    installation_.server.user.uid = kDoctor;
    own_files = OfFiles();
  }
  EXPECT_THAT(files, HasSubstr("warn private.properties: "));
  EXPECT_THAT(files, HasSubstr("cannot be looked at by you: " + closed + " -> run the doctor as root or as azkaban"));
  EXPECT_FALSE(files_.complete);
  EXPECT_THAT(program, HasSubstr("warn command: "));
  EXPECT_THAT(helper, HasSubstr("warn execute.as.user: "));
  EXPECT_THAT(own_files, HasSubstr("fail private.properties: "));
  EXPECT_THAT(own_files, HasSubstr("cannot be reached by azkaban: " + closed));
}

TEST_F(DoctorFilesTest, ACommandMustBeOneProgramThatEveryUserMayRun) {
  EXPECT_THAT(OfCommand(""), HasSubstr("fail command: not set"));
  EXPECT_THAT(OfCommand("command=tony-azkaban"), HasSubstr("is no absolute path"));
  EXPECT_THAT(OfCommand("command=/x/tony-azkaban run"), HasSubstr("needs no arguments"));
  EXPECT_THAT(OfCommand("command=${home}/tony-azkaban"), HasSubstr("does not leave as they are"));
  EXPECT_THAT(OfCommand("command=/none/tony-azkaban"), HasSubstr("no such file"));
  WriteBoth();
  Write("jobtypes/tony/bin/tony-azkaban", "", 0644);
  EXPECT_THAT(OfCommand("command=${plugin.dir}/bin/tony-azkaban"), HasSubstr("cannot be run by azkaban"));
}

TEST_F(DoctorFilesTest, WhatTheServersUserAloneMayRunIsEnoughWithoutExecuteAsUser) {
  Write("jobtypes/tony/bin/tony-azkaban", "", 0700);
  struct stat status = {};
  ASSERT_EQ(stat((folder_.path() / "jobtypes/tony/bin/tony-azkaban").c_str(), &status), 0);
  installation_.server.user.uid = status.st_uid;
  const std::string command = "command=${plugin.dir}/bin/tony-azkaban";
  EXPECT_THAT(OfCommand(command, "execute.as.user=true"), HasSubstr("fail command: "));
  EXPECT_THAT(OfCommand(command), HasSubstr("fail programs: "));  // none beside it
  for (const std::string_view name : kPrograms) Write("jobtypes/tony/bin/" + std::string(name), "", 0755);
  EXPECT_THAT(OfCommand(command), HasSubstr("warn command: "));
}

TEST_F(DoctorFilesTest, WhatAStepOnYarnNeedsIsThereAndReadable) {
  const std::string command = "command=${plugin.dir}/bin/tony-azkaban\n", on_yarn = command + "tony.scheduler=yarn\n";
  for (const std::string_view name : kPrograms) Write("jobtypes/tony/bin/" + std::string(name), "", 0755);
  Write("jobtypes/tony/bin/tony-azkaban", "", 0755);
  EXPECT_THAT(OfCommand(command), testing::Not(HasSubstr("yarn"))) << "no step has to need it";
  EXPECT_THAT(OfCommand(on_yarn), HasSubstr("fail programs: tony-yarn-am.tar.gz: not in "));
  Write("jobtypes/tony/bin/tony-yarn-am.tar.gz", "", 0600);
  Checks found = CheckCommand(installation_, Files("execute.as.user=false", command));
  EXPECT_THAT(found.back().text, HasSubstr("tony-yarn-am.tar.gz: not in ")) << "some steps might fail";
  EXPECT_EQ(found.back().health, Health::kWarn);
  chmod((folder_.path() / "jobtypes/tony/bin/tony-yarn-am.tar.gz").c_str(), 0644);
  EXPECT_THAT(OfCommand(on_yarn), testing::Not(HasSubstr("programs")));
}

TEST_F(DoctorFilesTest, AStepOnYarnFindsItsCluster) {
  const auto of = [&](const std::string& plugin) {
    return Worst(CheckHadoop(installation_, Files("execute.as.user=false", plugin)));
  };
  const std::string folder = (folder_.path() / "hadoop").string(), named = "env.HADOOP_CONF_DIR=" + folder + "\n";
  installation_.server.environment_known = true;
  EXPECT_EQ(of(""), "ok");
  EXPECT_THAT(of("tony.scheduler=yarn"), HasSubstr("fail HADOOP_CONF_DIR: not set, and every step has"));
  EXPECT_EQ(of("tony.scheduler=yarn\ntony.application.yarn-conf-path=/x"), "ok");
  EXPECT_THAT(of(named), HasSubstr("warn HADOOP_CONF_DIR: " + folder + "/core-site.xml: no such file"));
  EXPECT_THAT(of(named + "tony.scheduler=yarn"), HasSubstr("fail HADOOP_CONF_DIR: "));
  for (const char* file : {"core-site.xml", "hdfs-site.xml"}) Write(std::string("hadoop/") + file, "");
  Write("hadoop/yarn-site.xml", "", 0600);
  EXPECT_THAT(of(named), HasSubstr("yarn-site.xml: no such file, or not to be read by azkaban"));
  chmod((folder_.path() / "hadoop/yarn-site.xml").c_str(), 0644);
  EXPECT_EQ(of(named + "tony.scheduler=yarn"), "ok");
  installation_.server.environment = {{"HADOOP_CONF_DIR", folder}};
  EXPECT_EQ(of("tony.scheduler=yarn"), "ok") << "steps inherit the server's";
}

TEST_F(DoctorFilesTest, ExecuteAsUserNeedsItsSetuidProgram) {
  EXPECT_EQ(OfHelper("execute.as.user=false"), "ok");
  EXPECT_THAT(OfHelper(""), HasSubstr("azkaban.native.lib is not set: every step fails"));
  EXPECT_THAT(OfHelper("azkaban.native.lib=native"), HasSubstr("native/execute-as-user: no such file"));
  Write("native/execute-as-user", "", 0755);
  EXPECT_THAT(OfHelper("azkaban.native.lib=native"), HasSubstr("is not setuid root"));
}

TEST_F(DoctorFilesTest, ASetuidProgramThatTheServerMayNotRunIsNoUse_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "a program of root's needs root";
  Write("native/execute-as-user", "", 06050);
  EXPECT_THAT(OfHelper("azkaban.native.lib=native"), HasSubstr("execute-as-user cannot be run by azkaban: "));
  installation_.server.user.groups = {0};
  EXPECT_EQ(OfHelper("azkaban.native.lib=native"), "ok");
}

TEST_F(DoctorFilesTest, AliasesFoldersThatAreNoTypeAndLeftoversAreTold) {
  WriteBoth();
  EXPECT_THAT(Worst(CheckJobtypes(installation_)), HasSubstr("warn type TonyJob: no such job type"));
  fs::create_symlink("tony", installation_.jobtypes / "TonyJob");
  fs::create_symlink("tony", installation_.jobtypes / "TensorFlowJob");
  EXPECT_EQ(Worst(CheckJobtypes(installation_)), "ok");
  Write("jobtypes/spark/private.properties", "");
  EXPECT_EQ(Worst(CheckJobtypes(installation_)), "ok");
  Write("jobtypes/hive/plugin.properties", "");
  EXPECT_THAT(Worst(CheckJobtypes(installation_)), HasSubstr("warn folders: hive in "));
  fs::remove_all(installation_.jobtypes / "hive");
  fs::create_directory(folder_.path() / ".tony-install-0123");
  EXPECT_THAT(Worst(CheckJobtypes(installation_)), HasSubstr("warn leftovers: "));
  fs::remove(installation_.jobtypes / "TonyJob");
  Write("jobtypes/TonyJob/private.properties", "");
  EXPECT_THAT(Worst(CheckJobtypes(installation_)), HasSubstr("is a job type of its own"));
}

TEST_F(DoctorFilesTest, TheServersProcessIsJudgedByItsPathAndItsCommandLine) {
  ExecutorServer server;
  server.pid = 7;
  server.user = installation_.server.user;
  server.environment_known = true;
  server.command_line = {"/usr/bin/java", "azkaban.execapp.AzkabanExecutorServer"};
  server.environment = {{"PATH", "/none:" + (folder_.path() / "p").string()}};
  EXPECT_THAT(Worst(CheckServer(server)), HasSubstr("warn kill: no such program"));
  Write("p/kill", "", 0755);
  EXPECT_EQ(Worst(CheckServer(server)), "ok");
  server.command_line = {"/bin/bash"};
  EXPECT_THAT(Worst(CheckServer(server)), HasSubstr("fail executor: process 7 of azkaban is /bin/bash, not Java"));
  server.command_line = {"java", "-jar", "other.jar"};
  EXPECT_THAT(Worst(CheckServer(server)), HasSubstr("does not name azkaban"));
}

// A folder that each user's jobs are to have a folder in.
class DoctorHomeTest : public ::testing::Test {
 protected:
  DoctorHomeTest() {
    chmod(temp_.path().c_str(), 0755);
    fs::create_directory(home_);
    chmod(home_.c_str(), 01777);
  }
  std::string Found() const { return Worst(CheckHomeOfAll(home_)); }

  TempFolder temp_;
  const fs::path home_ = temp_.path() / "home";
};

TEST_F(DoctorHomeTest, WhatEveryUserMayUseIsWell_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "a folder of root's needs root";
  EXPECT_EQ(Found(), "ok");
}

TEST_F(DoctorHomeTest, WhatKeepsTheSecondUserOutIsNamedWithTheCommandThatMendsIt) {
  for (const mode_t mode : {0700, 0755, 0775}) {
    chmod(home_.c_str(), mode);
    EXPECT_THAT(Found(), HasSubstr("fail home: not every user can have a folder in " + home_.string()));
    EXPECT_THAT(Found(), HasSubstr(" -> its owner or root: chmod 1777 " + home_.string()));
  }
  chmod(home_.c_str(), 0777);
  EXPECT_THAT(Found(), HasSubstr("is not sticky: users could exchange each other's folders -> "));
  chmod(home_.c_str(), 01777);
  chmod(temp_.path().c_str(), 0700);
  EXPECT_THAT(Found(), HasSubstr("folders above it: mode 0755"));
  chmod(temp_.path().c_str(), 0755);
  fs::remove(home_);
  EXPECT_THAT(Found(), HasSubstr("is not there: it would be the first user's own, and closed to others -> as root: "
                                 "install -d -m 1777 " +
                                 home_.string()));
}

TEST_F(DoctorHomeTest, AUserWhoseNameSomebodyElseHasTakenIsNamed_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "giving files to others needs root";
  fs::create_directory(home_ / "70001");
  ASSERT_EQ(chown((home_ / "70001").c_str(), 70002, 70002), 0);
  EXPECT_THAT(Found(), HasSubstr("70001 belongs to uid 70002"));
  ASSERT_EQ(chown((home_ / "70001").c_str(), 70001, 70001), 0);
  EXPECT_EQ(Found(), "ok");
  ASSERT_EQ(chown(home_.c_str(), 70002, 70002), 0);
  EXPECT_THAT(Found(), HasSubstr("warn home: uid 70002, who owns " + home_.string()));
}

// ---- the users that steps run as

std::string OfUser(const std::string& name, const fs::path& home_of_all = {}, const std::string& server = "") {
  return Worst(CheckStepUser(name, Files(server, ""), home_of_all));
}

TEST_F(DoctorHomeTest, AUserWithoutAnAccountOrWhomAzkabanRefusesIsNamed) {
  EXPECT_THAT(OfUser("no-such-user"), HasSubstr("fail user no-such-user: no such user on this machine"));
  EXPECT_THAT(OfUser("root"), HasSubstr("fail user root: Azkaban runs no step as this user"));
  EXPECT_THAT(OfUser("nobody", {}, "azkaban.server.blacklist.users=root,nobody"), HasSubstr("runs no step as this"));
}

TEST_F(DoctorHomeTest, AUserWhoCannotHaveAHomeIsNamedWithWhatMendsIt) {
  EXPECT_THAT(OfUser("nobody", "/none/of/all"), HasSubstr("cannot have jobs in /none/of/all: / has mode "));
  chmod(home_.c_str(), 0755);
  EXPECT_THAT(OfUser("nobody", home_), HasSubstr("fail user nobody: home " + home_.string()));
  chmod(home_.c_str(), 01777);
  chmod(temp_.path().c_str(), 0700);
  EXPECT_THAT(OfUser("nobody", home_), HasSubstr("mode 0755 for the folders above"));
}

TEST_F(DoctorHomeTest, AUserWhoMayHaveAFolderInTheHomeOfAllIsWell) { EXPECT_EQ(OfUser("nobody", home_), "ok"); }

}  // namespace
}  // namespace tony::azkaban
