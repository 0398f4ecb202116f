// The checks of `tony-azkaban doctor` on the files, the command and its folders, the users, and the executor server.
#include "azkaban-plugin/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "azkaban-plugin/executor_server.h"
#include "azkaban-plugin/plugin_folder.h"
#include "tests/support/table_test.h"
#include "tests/support/temp_folder.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;
using std::string_literals::operator""s;
using ::testing::HasSubstr;

constexpr int64_t kMuchMemory = 100'000;

PluginFiles Files(const std::string& server, const std::string& plugin) {
  PluginFiles files;
  files.server = *ParseServerProperties(server, "private.properties");
  files.plugin = *ParseServerProperties(plugin, "plugin.properties");
  files.complete = true;
  return files;
}

// The worst check, as "warn NAME: TEXT -> ADVICE"; "ok" if every check is healthy.
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

// Compares the worst check of one file. Given: "server: TEXT" (2000 MB of memory are free), "plugin: TEXT" or
// "defaults: TEXT".
void CheckFile(const RowCase& row) {
  const std::string which = row.given.substr(0, row.given.find(": ")), text = row.given.substr(which.size() + 2);
  ExpectText(row.expected, which == "server"   ? OfServer(text, 2000)
                           : which == "plugin" ? OfPlugin(text)
                                               : OfDefaults(text));
}

const std::string kProcessJob = "server: jobtype.class=azkaban.jobExecutor.ProcessJob\n",
                  kNoCheck = kProcessJob + "memCheck.enabled=false\n";

const TestRow kDoctorProperties[] = {
    {"AMissingOrUnexpectedJobtypeClassIsReported",
     {{"server: ", "~fail jobtype.class: not set"},
      {"server: jobtype.class=com.example.Own\nmemCheck.enabled=false", "~warn jobtype.class: com.example.Own"}}},
    {"AnEnabledMemoryCheckIsReportedWhen2000MbAreFree",
     {{kProcessJob, "~warn memCheck.enabled: on, and 2000 MB are free"}, {kNoCheck, "ok"}}},
    {"KeysThatLookLikeSecretsAreReported",
     {{kNoCheck + "db.password=hunter2", "~warn private.properties: db.password: looks like a secret"},
      {"plugin: env.API_TOKEN=x", "~warn plugin.properties: env.API_TOKEN: looks like a secret"}}},
    {"KeysWithoutEffectAreReported",
     {{"plugin: retries=3\nuser.to.proxy=x\njob.notification.success.1.url=y\ntony.a=b",
       "~warn plugin.properties: job.notification.success.1.url, retries, user.to.proxy: has no effect"},
      {"plugin: execute.as.user=false", "~-> move the key to private.properties"},
      {kNoCheck + "tony.x=1\ncommand=y", "~command, tony.x: has no effect here -> move the key to plugin.properties"}}},
    {"TextThatAzkabanWouldEvaluateIsReported",
     {{"plugin: tony.worker.command=echo $(date)", "~tony.worker.command: Azkaban evaluates $(...)"},
      {"plugin: tony.a=${b.c}/x", "~tony.a (${b.c}): a job that does not define this variable"},
      {"plugin: tony.a=${b}${plugin.dir}${azkaban.link.job.url}${not-a-key}\nb=1", "ok"},
      {"plugin: command.1=rm", "~command.1: Azkaban runs this command after the step"}}},
    {"SiteDefaultsAreCheckedLikeTheSettingsOfAStep",
     {{"defaults: tony.worker.memory=4g\ntony.ps.memory=1g\ntony.application.framework=pytorch", "ok"},
      {"defaults: tony.worker.memory=4q", "~fail site defaults: tony.worker.memory: \"4q\""},
      {"defaults: tony.worker.memroy=4g", "~warn site defaults: tony.worker.memroy"},
      {"defaults: tony.worker.memory=${memory}", "ok"},
      {"defaults: tony.azkaban.replace-older=maybe", "~fail site defaults: tony.azkaban.replace-old"}}},
};
TABLE_TEST(DoctorPropertiesTest, kDoctorProperties, CheckFile);

TEST(DoctorPropertiesTest, TheDoctorAcceptsTheInitiallyInstalledProperties) {
  EXPECT_EQ(OfServer(FirstPrivateText(), 0), "ok");
  EXPECT_EQ(OfPlugin(FirstPluginText("/opt/tony-azkaban")), "ok");
  EXPECT_EQ(OfDefaults(FirstPluginText("/opt/tony-azkaban")), "ok");
}

TEST(DoctorPropertiesTest, TheDoctorHidesSecretValuesAndAcceptsTheMemoryCheckWith100GbFree) {
  const std::string type = "jobtype.class=azkaban.jobExecutor.ProcessJob\n";
  EXPECT_THAT(OfServer(type + "db.password=hunter2"), testing::Not(HasSubstr("hunter2")));
  EXPECT_EQ(OfServer(type, kMuchMemory), "ok");
}

TEST(DoctorPropertiesTest, FreeMemoryIncludesBuffersCacheAndFreeSwapAsInAzkaban) {
  EXPECT_EQ(FreeMemoryMb("MemTotal: 9999999 kB\nMemFree:  1024 kB\nBuffers: 1024 kB\nCached: 2048 kB\nSwapCached: "
                         "999999 kB\nSwapFree: 4096 kB\n"),
            8);
}

// Acts as another user while it lives, because root may read everything.
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

TEST_F(DoctorFilesTest, PrivatePropertiesOverrideCommonPrivateProperties) {
  WriteBoth();
  Write("jobtypes/commonprivate.properties", "execute.as.user=false\nmemCheck.enabled=true\n");
  EXPECT_EQ(OfFiles(), "ok");
  EXPECT_TRUE(files_.complete);
  EXPECT_FALSE(files_.ExecutesAsUser());
  EXPECT_EQ(files_.ServerValue("memCheck.enabled", ""), "false");
}

TEST_F(DoctorFilesTest, AMissingUnreadableOrMalformedPropertiesFileFailsTheCheck) {
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

TEST_F(DoctorFilesTest, AnUnreadableFileIsReportedAsInvisibleInsteadOfMissing_NeedsRoot) {
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
  EXPECT_THAT(files, HasSubstr("is not visible to you: " + closed + " -> run the doctor as root or as azkaban"));
  EXPECT_FALSE(files_.complete);
  EXPECT_THAT(program, HasSubstr("warn command: "));
  EXPECT_THAT(helper, HasSubstr("warn execute.as.user: "));
  EXPECT_THAT(own_files, HasSubstr("fail private.properties: "));
  EXPECT_THAT(own_files, HasSubstr("cannot be reached by azkaban: " + closed));
}

TEST_F(DoctorFilesTest, TheCommandMustBeASingleExecutableWithAnAbsolutePath) {
  EXPECT_THAT(OfCommand(""), HasSubstr("fail command: not set"));
  EXPECT_THAT(OfCommand("command=tony-azkaban"), HasSubstr("is not an absolute path"));
  EXPECT_THAT(OfCommand("command=/x/tony-azkaban run"), HasSubstr("needs no arguments"));
  EXPECT_THAT(OfCommand("command=${home}/tony-azkaban"), HasSubstr("characters that Azkaban changes"));
  EXPECT_THAT(OfCommand("command=/none/tony-azkaban"), HasSubstr("no such file"));
  WriteBoth();
  Write("jobtypes/tony/bin/tony-azkaban", "", 0644);
  EXPECT_THAT(OfCommand("command=${plugin.dir}/bin/tony-azkaban"), HasSubstr("cannot be run by azkaban"));
}

TEST_F(DoctorFilesTest, ACommandRunnableOnlyByTheServerUserFailsTheCheckUnderExecuteAsUser) {
  Write("jobtypes/tony/bin/tony-azkaban", "", 0700);
  struct stat status = {};
  ASSERT_EQ(stat((folder_.path() / "jobtypes/tony/bin/tony-azkaban").c_str(), &status), 0);
  installation_.server.user.uid = status.st_uid;
  const std::string command = "command=${plugin.dir}/bin/tony-azkaban";
  EXPECT_THAT(OfCommand(command, "execute.as.user=true"), HasSubstr("fail command: "));
  EXPECT_THAT(OfCommand(command), HasSubstr("fail programs: "));  // the other programs are missing
  for (const std::string_view name : kPrograms) Write("jobtypes/tony/bin/" + std::string(name), "", 0755);
  EXPECT_THAT(OfCommand(command), HasSubstr("warn command: "));
}

TEST_F(DoctorFilesTest, StepsOnYarnNeedAReadableArchiveOfTheApplicationMaster) {
  const std::string command = "command=${plugin.dir}/bin/tony-azkaban\n", on_yarn = command + "tony.scheduler=yarn\n";
  for (const std::string_view name : kPrograms) Write("jobtypes/tony/bin/" + std::string(name), "", 0755);
  Write("jobtypes/tony/bin/tony-azkaban", "", 0755);
  EXPECT_THAT(OfCommand(command), testing::Not(HasSubstr("yarn"))) << "no step has to need it";
  EXPECT_THAT(OfCommand(on_yarn),
              testing::AllOf(HasSubstr("fail programs: "), HasSubstr("/tony-yarn-am.tar.gz: no such file")));
  Write("jobtypes/tony/bin/tony-yarn-am.tar.gz", "", 0600);
  Checks found = CheckCommand(installation_, Files("execute.as.user=false", command));
  EXPECT_THAT(found.back().text, HasSubstr("/tony-yarn-am.tar.gz: no such file, or not")) << "some steps might fail";
  EXPECT_EQ(found.back().health, Health::kWarn);
  chmod((folder_.path() / "jobtypes/tony/bin/tony-yarn-am.tar.gz").c_str(), 0644);
  EXPECT_THAT(OfCommand(on_yarn), testing::Not(HasSubstr("programs")));
}

TEST_F(DoctorFilesTest, StepsOnYarnNeedAReadableHadoopConfDir) {
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
  EXPECT_THAT(of(named), HasSubstr("yarn-site.xml: no such file, or not readable by azkaban"));
  chmod((folder_.path() / "hadoop/yarn-site.xml").c_str(), 0644);
  EXPECT_EQ(of(named + "tony.scheduler=yarn"), "ok");
  installation_.server.environment = {{"HADOOP_CONF_DIR", folder}};
  EXPECT_EQ(of("tony.scheduler=yarn"), "ok") << "steps inherit the server's";
}

TEST_F(DoctorFilesTest, ExecuteAsUserNeedsASetuidRootProgram) {
  EXPECT_EQ(OfHelper("execute.as.user=false"), "ok");
  EXPECT_THAT(OfHelper(""), HasSubstr("azkaban.native.lib is not set: every step fails"));
  EXPECT_THAT(OfHelper("azkaban.native.lib=native"), HasSubstr("native/execute-as-user: no such file"));
  Write("native/execute-as-user", "", 0755);
  EXPECT_THAT(OfHelper("azkaban.native.lib=native"), HasSubstr("is not setuid root"));
}

TEST_F(DoctorFilesTest, ASetuidProgramThatTheServerMayNotRunIsReported_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "a program of root's needs root";
  Write("native/execute-as-user", "", 06050);
  EXPECT_THAT(OfHelper("azkaban.native.lib=native"), HasSubstr("execute-as-user cannot be run by azkaban: "));
  installation_.server.user.groups = {0};
  EXPECT_EQ(OfHelper("azkaban.native.lib=native"), "ok");
}

TEST_F(DoctorFilesTest, LeftoversUnusedFoldersAndMissingJobTypeAliasesAreReported) {
  WriteBoth();
  EXPECT_THAT(Worst(CheckJobtypes(installation_)), HasSubstr("warn type TonyJob: no such job type"));
  fs::create_symlink("tony", installation_.jobtypes / "TonyJob");
  fs::create_symlink("tony", installation_.jobtypes / "TensorFlowJob");
  EXPECT_EQ(Worst(CheckJobtypes(installation_)), "ok");
  Write("jobtypes/spark/private.properties", "");
  EXPECT_EQ(Worst(CheckJobtypes(installation_)), "ok");
  Write("jobtypes/hive/plugin.properties", "");
  EXPECT_THAT(Worst(CheckJobtypes(installation_)), HasSubstr("because they have no private.properties: hive"));
  fs::remove_all(installation_.jobtypes / "hive");
  fs::create_directory(folder_.path() / ".tony-install-0123");
  EXPECT_THAT(Worst(CheckJobtypes(installation_)), HasSubstr("warn leftovers: "));
  fs::remove(installation_.jobtypes / "TonyJob");
  Write("jobtypes/TonyJob/private.properties", "");
  EXPECT_THAT(Worst(CheckJobtypes(installation_)), HasSubstr("is another job type"));
}

TEST_F(DoctorFilesTest, AServerWithoutKillInItsPathOrAzkabanInItsCommandLineIsReported) {
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
  EXPECT_THAT(Worst(CheckServer(server)), HasSubstr("fail executor: process 7 of azkaban runs /bin/bash, not Java"));
  server.command_line = {"java", "-jar", "other.jar"};
  EXPECT_THAT(Worst(CheckServer(server)), HasSubstr("does not name azkaban"));
}

// The folder in which each user's jobs are to have a folder of their own.
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

TEST_F(DoctorHomeTest, ASharedHomeOfRootWithMode1777IsHealthy_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "a folder of root's needs root";
  EXPECT_EQ(Found(), "ok");
}

TEST_F(DoctorHomeTest, ASharedHomeThatIsMissingOrHasWrongPermissionsIsReportedWithTheFix) {
  for (const mode_t mode : {0700, 0755, 0775}) {
    chmod(home_.c_str(), mode);
    EXPECT_THAT(Found(), HasSubstr("fail home: not every user can have a folder in " + home_.string()));
    EXPECT_THAT(Found(), HasSubstr(" -> run as its owner or as root: chmod 1777 " + home_.string()));
  }
  chmod(home_.c_str(), 0777);
  EXPECT_THAT(Found(), HasSubstr("has no sticky bit: users could replace each other's folders -> "));
  chmod(home_.c_str(), 01777);
  chmod(temp_.path().c_str(), 0700);
  EXPECT_THAT(Found(), HasSubstr("give the folders above it mode 0755"));
  chmod(temp_.path().c_str(), 0755);
  fs::remove(home_);
  EXPECT_THAT(Found(), HasSubstr("does not exist: the first user's job would create the folder, and other users could "
                                 "not write into it -> as root: install -d -m 1777 " +
                                 home_.string()));
}

TEST_F(DoctorHomeTest, AUserFolderOwnedByAnotherUserIsReported_NeedsRoot) {
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

TEST_F(DoctorHomeTest, UnknownUsersAndUsersThatAzkabanRefusesAreReported) {
  EXPECT_THAT(OfUser("no-such-user"), HasSubstr("fail user no-such-user: no such user on this machine"));
  EXPECT_THAT(OfUser("root"), HasSubstr("fail user root: Azkaban runs no step as this user"));
  EXPECT_THAT(OfUser("nobody", {}, "azkaban.server.blacklist.users=root,nobody"), HasSubstr("runs no step as this"));
}

TEST_F(DoctorHomeTest, AUserWhoCannotCreateAFolderInTheSharedHomeIsReportedWithTheFix) {
  EXPECT_THAT(OfUser("nobody", "/none/of/all"), HasSubstr("cannot have jobs in /none/of/all: / has mode "));
  chmod(home_.c_str(), 0755);
  EXPECT_THAT(OfUser("nobody", home_), HasSubstr("fail user nobody: home " + home_.string()));
  chmod(home_.c_str(), 01777);
  chmod(temp_.path().c_str(), 0700);
  EXPECT_THAT(OfUser("nobody", home_), HasSubstr("give the folders above it mode 0755, then as root: "));
}

TEST_F(DoctorHomeTest, TheSharedHomeIsHealthyIfTheUserCanCreateAFolderThere) {
  EXPECT_EQ(OfUser("nobody", home_), "ok");
}

// ---- the executor server

constexpr pid_t kPid = 4711;
constexpr uid_t kStranger = 54321;  // owns no file here

class ExecutorServerTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }
  // Makes a /proc with one process in it.
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
    // Opens the outermost folder, which is private to the test's user.
    chmod(folder_.path().c_str(), 0755);
    const User stranger{kStranger, {kStranger}, false, "stranger"};
    return Obstacle(folder_.path() / name, stranger, wanted);
  }

  TempFolder folder_;
};

TEST_F(ExecutorServerTest, TheServersUserIdWorkingFolderAndEnvironmentAreReadFromProc) {
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

TEST_F(ExecutorServerTest, ABashProcessIsNotAJavaServerAndAnUnknownPidIsNotFound) {
  EXPECT_FALSE(Server("/bin/bash\0/opt/java/run.sh\0"s).IsJava());
  const auto dead = ReadExecutorServer(12, folder_.path() / "proc");
  ASSERT_FALSE(dead.ok());
  EXPECT_EQ(dead.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(dead.error().message, testing::StartsWith("--executor 12: no such process"));
}

TEST_F(ExecutorServerTest, TheJobTypesFolderIsReadFromAzkabanProperties) {
  const ExecutorServer usual = Server("java\0"s);
  EXPECT_EQ(JobtypesOf(usual), folder_.path() / "az/plugins/jobtypes");
  Write("az/conf/azkaban.properties", "azkaban.jobtype.plugin.dir=/opt/types\n");
  EXPECT_EQ(JobtypesOf(usual), "/opt/types");
  Write("az/conf/azkaban.properties", "azkaban.jobtype.plugin.dir=types\n");
  EXPECT_EQ(JobtypesOf(usual), folder_.path() / "az/types");
  Write("az/conf/azkaban.properties", "azkaban.jobtype.plugin.dir=${home}/types\n");
  EXPECT_EQ(JobtypesOf(usual), folder_.path() / "az/plugins/jobtypes");
}

TEST_F(ExecutorServerTest, AzkabanPropertiesAreReadFromTheConfFolderOnTheCommandLine) {
  Write("elsewhere/azkaban.properties", "azkaban.jobtype.plugin.dir=/opt/types\n");
  const std::string conf = (folder_.path() / "elsewhere").string();
  EXPECT_EQ(JobtypesOf(Server("java\0Main\0-conf\0"s + conf + "\0"s)), "/opt/types");
}

TEST_F(ExecutorServerTest, TheFolderOrFileThatDeniesAUserAccessIsNamed) {
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

TEST_F(ExecutorServerTest, AccessIsCheckedByGroupBitsForMembersAndByExecuteBitsForRoot) {
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
