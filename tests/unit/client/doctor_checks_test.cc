#include "runtime/client/doctor_checks.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

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
