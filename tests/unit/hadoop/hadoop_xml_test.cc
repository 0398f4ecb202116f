#include "runtime/hadoop/hadoop_xml.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/support/temp_folder.h"

namespace tony::hadoop {
namespace {

// Site files of a test, and the variables that they may refer to.
class HadoopXmlTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& properties) {
    std::ofstream(folder_.path() / name) << "<configuration>\n" << properties << "</configuration>\n";
  }
  static std::string Set(const std::string& key, const std::string& value, bool final = false) {
    return "<property><name>" + key + "</name><value>" + value + "</value>" + (final ? "<final>true</final>" : "") +
           "</property>\n";
  }
  Result<SiteConfiguration> Read() {
    return SiteConfiguration::Read(folder_.path(), [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
  }
  std::string TextOf(const std::string& key) {
    const auto site = Read();
    if (!site.ok()) return site.error().message;
    const auto text = site->Text(key);
    return text.ok() ? *text : text.error().message;
  }
  std::string Path(const std::string& name) { return (folder_.path() / name).string(); }

  std::map<std::string, std::string> variables;

 private:
  TempFolder folder_;
};

TEST_F(HadoopXmlTest, ALaterSiteFileOverridesAnEarlierValueUnlessTheEarlierValueIsFinal) {
  Write("core-site.xml", Set("a", "core") + Set("b", "core", true));
  Write("yarn-site.xml", Set("a", "yarn") + Set("b", "yarn"));
  EXPECT_EQ(TextOf("a"), "yarn");
  EXPECT_EQ(TextOf("b"), "core");
}

TEST_F(HadoopXmlTest, EachValueRecordsTheSiteFileOrDefaultFileThatItCameFrom) {
  Write("yarn-site.xml", Set("yarn.resourcemanager.hostname", "rm"));
  const auto site = Read();
  ASSERT_TRUE(site.ok()) << site.error().message;
  EXPECT_EQ((*site->Find("yarn.resourcemanager.hostname"))->origin, Path("yarn-site.xml") + ":2");
  const auto address = site->Find("yarn.resourcemanager.address");
  EXPECT_EQ((*address)->origin, "yarn-default.xml");
  EXPECT_EQ((*address)->text, "rm:8032");
  EXPECT_FALSE(site->Find("unknown")->has_value());
}

TEST_F(HadoopXmlTest, EnvironmentVariablesInSiteFileValuesAreReplacedByTheirValueOrDefault) {
  variables = {{"SET", "x"}, {"EMPTY", ""}};
  Write("core-site.xml", Set("a", "${env.SET}/${env.SET-d}/${env.SET:-d}/${env.NONE-d}/${env.NONE:-d}") +
                             Set("b", "[${env.EMPTY-d}][${env.EMPTY:-d}]") + Set("c", "${env.NONE}"));
  EXPECT_EQ(TextOf("a"), "x/x/x/d/d");
  EXPECT_EQ(TextOf("b"), "[][d]");
  EXPECT_EQ(TextOf("c"), "${env.NONE}");
}

TEST_F(HadoopXmlTest, AVariableNestedInAnotherVariableIsExpanded) {
  variables = {{"RACK", "r1"}};
  Write("core-site.xml", Set("a", "${host.${env.RACK}}:1") + Set("host.r1", "n1"));
  EXPECT_EQ(TextOf("a"), "n1:1");
}

TEST_F(HadoopXmlTest, ACircularReferenceFailsOnlyItsOwnKeyAndIsReportedWithFileAndKey) {
  Write("core-site.xml", Set("a", "${b}") + Set("b", "${a}x") + Set("c", "fine"));
  EXPECT_EQ(TextOf("a"), Path("core-site.xml") +
                             ":2: a: the value has more than 20 nested ${...}, or a ${...} that refers to itself");
  EXPECT_EQ(TextOf("c"), "fine");
}

TEST_F(HadoopXmlTest, MalformedVariablesAreNotExpanded) {
  Write("core-site.xml", Set("a", "x${b") + Set("b", "1") + Set("c", "${}${ b}${b}"));
  EXPECT_EQ(TextOf("a"), "x${b");
  EXPECT_EQ(TextOf("c"), "${}${ b}1");
}

TEST_F(HadoopXmlTest, AValueOfTheWrongTypeIsRejectedWithFileAndKey) {
  Write("core-site.xml", Set("n", " 12 ") + Set("m", "12s") + Set("t", "TRUE") + Set("u", "yes"));
  const auto site = Read();
  ASSERT_TRUE(site.ok());
  EXPECT_EQ(*site->Int("n"), 12);
  EXPECT_EQ(site->Int("m").error().message, Path("core-site.xml") + ":3: m is \"12s\", expected a whole number");
  EXPECT_TRUE(*site->Bool("t"));
  EXPECT_EQ(site->Bool("u").error().message, Path("core-site.xml") + ":5: u is \"yes\", expected true or false");
  EXPECT_EQ(site->Text("v").error().message, "Hadoop's site files: v is not set");
}

TEST_F(HadoopXmlTest, ReadingFailsIfTheFolderHasNoSiteFiles) { EXPECT_EQ(Read().error().code, ErrorCode::kNotFound); }

TEST_F(HadoopXmlTest, ASiteFileMayIncludeAnother) {
  Write("core-site.xml", Set("a", "${b}") + "<xi:include href='mounts.xml'/>\n");
  EXPECT_NE(Read().error().message.find(Path("core-site.xml") + ":3: include " + Path("mounts.xml")), std::string::npos)
      << Read().error().message;
  Write("mounts.xml", Set("b", "1"));
  EXPECT_EQ(TextOf("a"), "1");
}

TEST_F(HadoopXmlTest, AddressesOfASingleResourceManagerAreDerivedFromItsHostName) {
  Write("yarn-site.xml", Set("yarn.resourcemanager.hostname", "rm.example") +
                             Set("yarn.resourcemanager.scheduler.address", "0.0.0.0:18030"));
  const auto managers = ResourceManagers(*Read());
  ASSERT_TRUE(managers.ok()) << managers.error().message;
  ASSERT_EQ(managers->size(), 1u);
  EXPECT_EQ(ToString(managers->front().client), "rm.example:8032");
  EXPECT_EQ(ToString(managers->front().scheduler), "127.0.0.1:18030");
}

TEST_F(HadoopXmlTest, EachOfSeveralResourceManagersHasItsOwnAddresses) {
  Write("yarn-site.xml",
        Set("yarn.resourcemanager.ha.enabled", "true") + Set("yarn.resourcemanager.ha.rm-ids", "rm1, rm2") +
            Set("yarn.resourcemanager.hostname.rm1", "a") + Set("yarn.resourcemanager.hostname.rm2", "b") +
            Set("yarn.resourcemanager.address.rm2", "b:18032"));
  const auto managers = ResourceManagers(*Read());
  ASSERT_TRUE(managers.ok()) << managers.error().message;
  ASSERT_EQ(managers->size(), 2u);
  EXPECT_EQ(managers->at(0).id, "rm1");
  EXPECT_EQ(ToString(managers->at(0).client), "a:8032");
  EXPECT_EQ(ToString(managers->at(1).client), "b:18032");
  EXPECT_EQ(ToString(managers->at(1).scheduler), "b:8030");
}

TEST_F(HadoopXmlTest, ANodeHasAnAmRmProxyIfItsSiteFilesEnableItOrDistributedScheduling) {
  const auto proxy_with = [&](const std::string& settings) {
    Write("yarn-site.xml", settings);
    const auto proxy = AmRmProxyOf(*Read());
    if (!proxy.ok()) return proxy.error().message;
    return *proxy ? ToString(**proxy) : "none";
  };
  const std::string enabled = Set("yarn.nodemanager.amrmproxy.enabled", "true");
  EXPECT_EQ(proxy_with(Set("yarn.nodemanager.amrmproxy.address", "n1:8049")), "none");
  EXPECT_EQ(proxy_with(enabled), "127.0.0.1:8049");
  EXPECT_EQ(proxy_with(Set("yarn.nodemanager.distributed-scheduling.enabled", "true")), "127.0.0.1:8049");
  EXPECT_EQ(proxy_with(enabled + Set("yarn.nodemanager.hostname", "n1") +
                       Set("yarn.nodemanager.amrmproxy.address", "${yarn.nodemanager.hostname}:1234")),
            "n1:1234");
  EXPECT_EQ(proxy_with(enabled + Set("yarn.nodemanager.amrmproxy.address", "n1:0")),
            Path("yarn-site.xml") + ":3: yarn.nodemanager.amrmproxy.address is \"n1:0\", expected host:port");
}

TEST_F(HadoopXmlTest, AnAddressWithoutAValidPortIsRefused) {
  Write("yarn-site.xml", Set("yarn.resourcemanager.address", "rm:0") + Set("x", "rm:http") + Set("y", ":1"));
  EXPECT_EQ(ResourceManagers(*Read()).error().message,
            Path("yarn-site.xml") + ":2: yarn.resourcemanager.address is \"rm:0\", expected host:port");
  EXPECT_FALSE(Read()->Address("x", 1).ok());
  EXPECT_FALSE(Read()->Address("y", 1).ok());
}

}  // namespace
}  // namespace tony::hadoop
