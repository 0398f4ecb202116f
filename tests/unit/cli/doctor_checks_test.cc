#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/cli/doctor.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

TEST(DoctorOldJobsTest, JobsThatEndedOver14DaysAgoAreCountedAndTheGcCommandIsAdvised) {
  namespace fs = std::filesystem;
  const TempFolder home;
  setenv("TONY_HOME", home.path().c_str(), 1);
  EXPECT_EQ(CheckOldJobs().front().health, Health::kOk) << "no job at all";
  for (const char* job : {"runs", "new", "old"}) fs::create_directories(home.path() / "jobs" / job);
  for (const char* job : {"new", "old"}) std::ofstream(home.path() / "jobs" / job / "finished") << "";
  EXPECT_EQ(CheckOldJobs().front().health, Health::kOk);
  fs::last_write_time(home.path() / "jobs/old/finished",
                      fs::file_time_type::clock::now() - std::chrono::hours(15 * 24));
  const Check check = CheckOldJobs().front();
  unsetenv("TONY_HOME");
  EXPECT_EQ(check.health, Health::kWarn);
  EXPECT_THAT(check.text, testing::StartsWith("3 jobs in "));
  EXPECT_THAT(check.text, testing::EndsWith("; 1 ended more than 14 days ago"));
  EXPECT_THAT(check.advice, testing::StartsWith("tony gc --older-than 14d"));
}

TEST(DoctorHomeTest, ATonyHomeThatOtherUsersCouldReplaceIsReported) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  const fs::path shared = folder.path() / "shared", home = shared / "home";
  fs::create_directories(home);
  setenv("TONY_HOME", home.c_str(), 1);
  chmod(shared.c_str(), 0755);
  EXPECT_EQ(CheckHome().size(), 1U) << "the folder's disk is all there is to say";
  chmod(home.c_str(), 0775);
  EXPECT_EQ(CheckHome().back().text, home.string() + ": other users may replace its content");
  chmod(home.c_str(), 0755);
  chmod(shared.c_str(), 0777);
  const Check check = CheckHome().back();
  unsetenv("TONY_HOME");
  EXPECT_EQ(check.health, Health::kWarn);
  EXPECT_EQ(check.text,
            home.string() + " is reached through " + home.string() + ", which others can replace");
}

TEST(DoctorServiceTest, ASystemServiceIsFoundInCgroupsV1AndV2) {
  EXPECT_EQ(ServiceIn("0::/system.slice/airflow-worker.service\n"), "airflow-worker.service");
  EXPECT_EQ(ServiceIn("5:memory:/x\n1:name=systemd:/system.slice/azkaban.service/sub\n"), "azkaban.service");
}

TEST(DoctorServiceTest, AUserServiceIsFoundAndTheSystemdUserManagerIsIgnored) {
  const std::string manager = "0::/user.slice/user-1000.slice/user@1000.service/";
  EXPECT_EQ(ServiceIn(manager + "app.slice/notebook.service\n"), "notebook.service");
  EXPECT_EQ(ServiceIn(manager + "app.slice/run-u1.scope\n"), "");
}

TEST(DoctorServiceTest, NoServiceIsFoundForAProcessInALoginSessionAScopeOrAContainer) {
  for (const char* cgroups : {"0::/user.slice/user-1000.slice/session-3.scope\n", "0::/\n", "", "garbage", "0::\n:::",
                              "0::/system.slice/a.service/run-1.scope\n", "9:cpu:/system.slice/b.service\n"})
    EXPECT_EQ(ServiceIn(cgroups), "") << cgroups;
}

}  // namespace
}  // namespace tony
