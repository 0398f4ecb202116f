#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/config/properties.h"
#include "runtime/config/xml_text.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Properties With(const std::string& value, const std::string& key = "tony.worker.command") {
  Properties properties;
  properties.Set(key, value, "tony.xml:3");
  return properties;
}

std::string Expanded(const std::string& value) {
  return ExpandVariables(With(value))->Find("tony.worker.command")->value;
}

std::vector<std::string> WarningsOf(const Properties& properties) { return ExpandVariables(properties)->warnings(); }

TEST(HadoopVariablesTest, SystemPropertiesAreThoseOfTheSubmittingProcess) {
  EXPECT_EQ(Expanded("/x/${user.name}"), std::string("/x/") + getpwuid(getuid())->pw_name);
  EXPECT_EQ(Expanded("${user.home}"), getpwuid(getuid())->pw_dir);
  EXPECT_EQ(Expanded("${user.dir}"), std::filesystem::current_path().string());
  EXPECT_EQ(Expanded("${java.io.tmpdir}${file.separator}a${path.separator}b"), "/tmp/a:b");
  EXPECT_EQ(Expanded("${os.name}"), "Linux");
  EXPECT_EQ(Expanded("${os.arch}").find("x86"), std::string::npos);
}

TEST(HadoopVariablesTest, ASystemPropertyGoesBeforeAKeyOfItsName) {
  Properties properties = With("${java.io.tmpdir}");
  properties.Set("java.io.tmpdir", "/other", "tony.xml:4");
  EXPECT_EQ(ExpandVariables(properties)->Find("tony.worker.command")->value, "/tmp");
}

TEST(HadoopVariablesTest, TheEnvironmentIsReadByItsPrefix) {
  setenv("TONY_TEST_SET", "v", 1);
  setenv("TONY_TEST_EMPTY", "", 1);
  unsetenv("TONY_TEST_NONE");
  EXPECT_EQ(Expanded("${env.TONY_TEST_SET} ${env.TONY_TEST_NONE-d} ${env.TONY_TEST_EMPTY:-e}"), "v d e");
  EXPECT_EQ(Expanded("${env.TONY_TEST_NONE}"), "${env.TONY_TEST_NONE}");
}

TEST(HadoopVariablesTest, WhatNobodyKnowsStaysAndIsAWarningUnlessAShellMayKnowIt) {
  EXPECT_EQ(Expanded("${java.version}"), "${java.version}");
  EXPECT_THAT(WarningsOf(With("a ${java.version} ${java.version}")),
              ElementsAre("tony.worker.command (from tony.xml:3): ${java.version} is no key, and no system property or "
                          "variable that is known here: it stays as it is"));
  EXPECT_THAT(WarningsOf(With("${env.TONY_TEST_NONE}")), testing::SizeIs(1));
  for (const char* shells :
       {"${HOME}", "${x%.*}", "${x:-a.b}", "${x-a.b}", "${#x}", "${a[1.5]}", "$x.y", "${.x}", "${x.}"})
    EXPECT_THAT(WarningsOf(With(shells)), IsEmpty()) << shells;
  EXPECT_THAT(WarningsOf(With("${java.version}", "azkaban.note")), IsEmpty()) << "it says nothing to us";
  EXPECT_THAT(WarningsOf(With("${user.name}")), IsEmpty());
}

}  // namespace
}  // namespace tony
