#include "azkaban-plugin/plugin_folder.h"

#include <gtest/gtest.h>

namespace tony::azkaban {
namespace {

std::string ValueOf(const std::string& text, const std::string& key) {
  const auto parsed = ParseServerProperties(text, "file");
  if (!parsed.ok()) return parsed.error().message;
  const Property* found = parsed->Find(key);
  return found == nullptr ? "(none)" : found->value;
}

TEST(PluginFolderTest, TheFirstTextsSayWhatAzkabanNeeds) {
  EXPECT_EQ(ValueOf(FirstPrivateText(), "jobtype.class"), "azkaban.jobExecutor.ProcessJob");
  EXPECT_EQ(ValueOf(FirstPrivateText(), "memCheck.enabled"), "false");
  EXPECT_EQ(ValueOf(FirstPrivateText(), "execute.as.user"), "(none)");
  const auto plugin = ParseServerProperties(FirstPluginText("/opt/tony/bin/tony-azkaban"), "file");
  ASSERT_TRUE(plugin.ok());
  EXPECT_EQ(plugin->all().size(), 1u);
  EXPECT_EQ(plugin->Find("command")->value, "/opt/tony/bin/tony-azkaban");
}

TEST(PluginFolderTest, AFileIsReadAsJavaReadsIt) {
  EXPECT_EQ(ValueOf("name=caf\xE9\n", "name"), "caf\u00E9");
  EXPECT_EQ(ValueOf("bad=\\u12\n", "bad"), "file:1: malformed \\u escape: expected four hexadecimal digits");
}

TEST(PluginFolderTest, AnUpgradeChangesTheOneLineAndNoByteElse) {
  const std::string before = "# caf\xE9 \\\n!x\n\n  tony.a = 1\\\n   2\r\n", after = "tony.b:3\nenv.X=\xE9";
  EXPECT_EQ(WithValue(before + "command=/old\n" + after, "command", "/new"), before + "command=/new\n" + after);
  EXPECT_EQ(WithValue(before + " command : /old \\\n  more\n" + after, "command", "/new"),
            before + "command=/new\n" + after);
}

TEST(PluginFolderTest, AnUpgradeToTheSameChangesNothing) {
  const std::string text = "  command : /same\ntony.a=1";
  EXPECT_EQ(WithValue(text, "command", "/same"), text);
}

TEST(PluginFolderTest, OfSeveralLinesOneIsLeft) {
  EXPECT_EQ(WithValue("command=/a\nx=1\ncommand=/b\n", "command", "/c"), "command=/c\nx=1\n");
}

TEST(PluginFolderTest, AKeyThatIsNotThereIsAddedAtTheEnd) {
  EXPECT_EQ(WithValue("", "k", "v"), "k=v\n");
  EXPECT_EQ(WithValue("a=1", "k", "v"), "a=1\nk=v\n");
  EXPECT_EQ(ValueOf(WithValue("a=1\\\n", "k", "v"), "k"), "v");
  EXPECT_EQ(ValueOf(WithValue("a=1\\", "k", "v"), "k"), "v");
  EXPECT_EQ(ValueOf(WithValue("#k=1\\\n", "k", "v"), "k"), "v");
  EXPECT_EQ(ValueOf(WithValue("command.1=x\n", "command", "v"), "command.1"), "x");
}

TEST(PluginFolderTest, APathThatAzkabanWouldChangeMayNotStandInACommand) {
  EXPECT_TRUE(MayStandInCommand("/opt/tony-1.0/bin_x/tony-azkaban"));
  for (const char* path : {"/opt/my tony", "/opt/it's", "/opt/\"x\"", "/opt/$x", "/opt/a\\b", "/opt/\u00E9", "/a\tb"})
    EXPECT_FALSE(MayStandInCommand(path)) << path;
}

}  // namespace
}  // namespace tony::azkaban
