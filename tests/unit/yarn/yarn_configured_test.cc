// Which cluster a job goes to, and where it is found: $HADOOP_CONF_DIR, a job's own site files, notes in $TONY_HOME.
#include "runtime/yarn/yarn_configured.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/yarn/yarn_cluster.h"
#include "runtime/yarn/yarn_garbage.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

const JobId kNoted{"application_1700000000000_0001"}, kAnotherJob{"application_1700000000000_0002"};

class YarnConfiguredTest : public testing::Test {
 protected:
  YarnConfiguredTest() {
    fs::create_directories(temp_.path() / "conf");
    Write("conf/core-site.xml", Set("fs.defaultFS", "hdfs://conf:9000"));
    Write("conf/yarn-site.xml", Set("yarn.resourcemanager.hostname", "conf"));
    setenv(kConfigurationVariable, Path("conf").c_str(), 1);
    setenv("HADOOP_USER_NAME", "eve", 1);
    setenv("TONY_HOME", Path("home").c_str(), 1);
  }

  std::string Path(const std::string& name) const { return (temp_.path() / name).string(); }
  std::string Write(const std::string& name, const std::string& properties) {
    std::ofstream(Path(name)) << "<configuration>\n" << properties << "</configuration>\n";
    return Path(name);
  }
  static std::string Set(const std::string& key, const std::string& value, const std::string& more = "") {
    return "<property><name>" + key + "</name><value>" + value + "</value>" + more + "</property>\n";
  }
  // Its ResourceManager and NameNode, or the error.
  template <class What>
  static std::string Of(const What& what) {
    const auto cluster = FindYarnCluster(what);
    if (cluster.ok()) return ToString(cluster->rm) + " " + ToString(cluster->name_node);
    return cluster.error().code == ErrorCode::kInvalid ? cluster.error().message : "another code than kInvalid";
  }
  // Written so long ago.
  void Note(const JobId& job, const std::string& rm, std::chrono::seconds age) {
    const YarnCluster cluster = {{rm, 1}, {rm, 2}, {rm, 3}, "http://" + rm + ":4", "eve", "/user/eve"};
    ASSERT_TRUE(NoteCluster(job, ToText(cluster)).ok());
    const fs::path file = temp_.path() / "home" / "yarn" / "clusters" / job.value;
    fs::last_write_time(file, fs::file_time_type::clock::now() - age);
  }

  const TempFolder temp_;
};

TEST_F(YarnConfiguredTest, AJobsOwnSiteFilesReplaceWhatTheVariableSays) {
  EXPECT_EQ(Of(SiteFiles()), "conf:8032 conf:9000");
  const std::string yarn = Write("y.xml", Set("yarn.resourcemanager.hostname", "own"));
  const std::string hdfs =
      Write("h.xml", Set("fs.defaultFS", "hdfs://own:1") + Set("yarn.resourcemanager.hostname", "h"));
  EXPECT_EQ(Of(SiteFiles{.yarn = yarn}), "own:8032 conf:9000");
  EXPECT_EQ(Of(SiteFiles{.hdfs = hdfs}), "h:8032 own:1");
  EXPECT_EQ(Of(SiteFiles{hdfs, yarn}), "own:8032 own:1") << "the yarn-site.xml is read last";
  unsetenv(kConfigurationVariable);
  EXPECT_EQ(Of(SiteFiles{hdfs, yarn}), "own:8032 own:1") << "and the variable is not needed";
  EXPECT_EQ(Of(SiteFiles{.yarn = yarn}), "core-default.xml: fs.defaultFS is \"file:///\", expected hdfs://HOST:PORT");
}

TEST_F(YarnConfiguredTest, WhatTheAdministratorMadeFinalStays) {
  Write("conf/yarn-site.xml", Set("yarn.resourcemanager.hostname", "conf", "<final>true</final>"));
  EXPECT_EQ(Of(SiteFiles{.yarn = Write("y.xml", Set("yarn.resourcemanager.hostname", "own"))}), "conf:8032 conf:9000");
}

TEST_F(YarnConfiguredTest, WhatIsWrongIsNamedByKeyAndFile) {
  EXPECT_EQ(Of(SiteFiles{.yarn = Path("none.xml")}),
            "tony.application.yarn-conf-path: " + Path("none.xml") + ": no such file");
  std::ofstream(Path("broken.xml")) << "<configuration>\n<property>";
  EXPECT_TRUE(Of(SiteFiles{.hdfs = Path("broken.xml")})
                  .starts_with("tony.application.hdfs-conf-path: " + Path("broken.xml") + ":"));
  setenv(kConfigurationVariable, Path("nowhere").c_str(), 1);
  EXPECT_TRUE(Of(SiteFiles()).starts_with("HADOOP_CONF_DIR: " + Path("nowhere") + ": expected core-site.xml"));
  unsetenv(kConfigurationVariable);
  EXPECT_TRUE(Of(SiteFiles()).starts_with("HADOOP_CONF_DIR is not set: expected"));
}

TEST_F(YarnConfiguredTest, AJobIsFoundWhereItWasSent) {
  Note(kNoted, "noted", std::chrono::seconds(0));
  EXPECT_EQ(Of(kNoted), "noted:1 noted:3") << "whatever the variable says";
  EXPECT_EQ(Of(kAnotherJob), "conf:8032 conf:9000");
  EXPECT_EQ(Of(JobId()), "conf:8032 conf:9000");
  EXPECT_TRUE(CheckYarnConfigured(kAnotherJob).ok());
  unsetenv(kConfigurationVariable);
  EXPECT_TRUE(CheckYarnConfigured(kNoted).ok());
  EXPECT_EQ(Of(kNoted), "noted:1 noted:3");
}

TEST_F(YarnConfiguredTest, WithoutTheVariableAJobThatTheListShowsIsFoundByItsId) {
  unsetenv(kConfigurationVariable);
  EXPECT_FALSE(CheckYarnConfigured(kAnotherJob).ok());
  EXPECT_TRUE(Of(kAnotherJob).starts_with("HADOOP_CONF_DIR is not set"));
  Note(kNoted, "noted", std::chrono::seconds(0));
  EXPECT_TRUE(CheckYarnConfigured(kAnotherJob).ok());
  EXPECT_EQ(Of(kAnotherJob), Of(JobId()));
}

TEST_F(YarnConfiguredTest, WithoutTheVariableTheNewestNoteSaysWhatToList) {
  unsetenv(kConfigurationVariable);
  EXPECT_FALSE(CheckYarnConfigured({}).ok());
  Note(kNoted, "older", std::chrono::seconds(60));
  Note(kAnotherJob, "newer", std::chrono::seconds(30));
  std::ofstream(Path("home/yarn/clusters/.cut-off")) << "x";
  EXPECT_TRUE(CheckYarnConfigured({}).ok());
  EXPECT_EQ(Of(JobId()), "newer:1 newer:3");
  ForgetCluster(kAnotherJob);
  EXPECT_EQ(Of(JobId()), "older:1 older:3");
}

TEST_F(YarnConfiguredTest, ADamagedNoteIsNamed) {
  ASSERT_TRUE(NoteCluster(kNoted, "rm:1").ok());
  EXPECT_EQ(Of(kNoted), Path("home/yarn/clusters/") + kNoted.value + ": \"rm:1\": expected six to eight words");
}

class NoteGarbageTest : public YarnConfiguredTest {
 protected:
  Garbage Collect(const JobsOfCluster& jobs_of, bool dry_run = false) {
    const GarbageOrder order{.not_since = RealClock().Now() - std::chrono::hours(1), .dry_run = dry_run};
    Garbage garbage;
    EXPECT_TRUE(CollectNotes(order, jobs_of, garbage).ok());
    return garbage;
  }
  std::string FileOf(const JobId& job) const { return Path("home/yarn/clusters/") + job.value; }
  bool IsNoted(const JobId& job) const { return fs::exists(FileOf(job)); }
};

TEST_F(NoteGarbageTest, WhatIsOldGoesWithItsJobAndTheRestIsTold) {
  const JobId gone{"application_1700000000000_0003"}, dead{"application_1700000000000_0004"};
  const JobId fresh{"application_1700000000000_0005"}, damaged{"application_1700000000000_0006"};
  Note(gone, "noted", std::chrono::hours(9));
  Note(kNoted, "noted", std::chrono::hours(8));
  Note(dead, "dead", std::chrono::hours(7));
  Note(fresh, "noted", std::chrono::minutes(5));
  ASSERT_TRUE(NoteCluster(damaged, "rm:1").ok());
  const auto hours_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(FileOf(damaged), hours_ago);
  const fs::path cut_off = Path("home/yarn/clusters/.cut-off");
  std::ofstream(cut_off) << "x";
  fs::last_write_time(cut_off, hours_ago);

  int asked = 0;
  const JobsOfCluster jobs_of = [&](const YarnCluster& cluster) -> Result<std::set<std::string>> {
    ++asked;
    if (cluster.rm.host == "dead") return Error{ErrorCode::kUnavailable, "dead: connect: refused"};
    return std::set<std::string>{kNoted.value};
  };
  const Garbage would = Collect(jobs_of, /*dry_run=*/true);
  EXPECT_TRUE(IsNoted(gone) && fs::exists(cut_off));
  EXPECT_EQ(asked, 2) << "each cluster once";

  const Garbage garbage = Collect(jobs_of);
  EXPECT_EQ(garbage.notes, std::vector{gone.value});
  EXPECT_EQ(garbage.kept, (std::vector{FileOf(kNoted) + ": the job is in /user/eve/.tony/jobs of noted:3",
                                       FileOf(dead) + ": dead: connect: refused",
                                       FileOf(damaged) + ": \"rm:1\": expected six to eight words"}));
  EXPECT_EQ(would.notes, garbage.notes);
  EXPECT_EQ(would.kept, garbage.kept);
  EXPECT_FALSE(IsNoted(gone) || fs::exists(cut_off));
  EXPECT_TRUE(IsNoted(kNoted) && IsNoted(dead) && IsNoted(fresh) && IsNoted(damaged));
}

TEST_F(NoteGarbageTest, WithoutNotesThereIsNothingToAsk) {
  const Garbage garbage = Collect([](const YarnCluster&) -> Result<std::set<std::string>> {
    ADD_FAILURE() << "asked";
    return std::set<std::string>();
  });
  EXPECT_TRUE(garbage.notes.empty() && garbage.kept.empty());
}

}  // namespace
}  // namespace tony
