#include "runtime/client/doctor_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

TEST(DoctorOldJobsTest, JobsThatEndedLongAgoAreCountedWithTheCommandThatRemovesThem) {
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
  EXPECT_THAT(check.text, testing::EndsWith(", of which 1 ended more than 14 days ago"));
  EXPECT_THAT(check.advice, testing::StartsWith("tony gc --older-than 14d"));
}

TEST(DoctorServiceTest, AServiceOfTheSystemIsFoundInBothVersionsOfCgroups) {
  EXPECT_EQ(ServiceIn("0::/system.slice/airflow-worker.service\n"), "airflow-worker.service");
  EXPECT_EQ(ServiceIn("5:memory:/x\n1:name=systemd:/system.slice/azkaban.service/sub\n"), "azkaban.service");
}

TEST(DoctorServiceTest, TheUsersOwnManagerIsNoneButWhatItStartsIs) {
  const std::string manager = "0::/user.slice/user-1000.slice/user@1000.service/";
  EXPECT_EQ(ServiceIn(manager + "app.slice/notebook.service\n"), "notebook.service");
  EXPECT_EQ(ServiceIn(manager + "app.slice/run-u1.scope\n"), "");
}

TEST(DoctorServiceTest, ASessionAScopeAndAContainerAreNone) {
  for (const char* cgroups : {"0::/user.slice/user-1000.slice/session-3.scope\n", "0::/\n", "", "garbage", "0::\n:::",
                              "0::/system.slice/a.service/run-1.scope\n", "9:cpu:/system.slice/b.service\n"})
    EXPECT_EQ(ServiceIn(cgroups), "") << cgroups;
}

}  // namespace
}  // namespace tony
