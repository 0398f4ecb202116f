// XInclude in Hadoop's XML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::HasSubstr;

class XmlIncludeTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& body) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << "<configuration>\n" << body << "\n</configuration>\n";
  }
  static std::string Set(const std::string& name, const std::string& value, const std::string& more = "") {
    return "<property><name>" + name + "</name><value>" + value + "</value>" + more + "</property>";
  }
  static std::string Include(const std::string& href, const std::string& inside = "") {
    return "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='" + href + "'>" + inside + "</xi:include>";
  }
  Result<Properties> Read(const std::string& name = "tony.xml") {
    const auto path = folder_.path() / name;
    const auto text = ReadTextFile(path);
    EXPECT_TRUE(text.ok()) << name;
    return ParseHadoopXmlOf(path, *text, name);
  }
  std::string ErrorOf(const std::string& name = "tony.xml") {
    const auto read = Read(name);
    return read.ok() ? "accepted" : read.error().message;
  }
  std::string ValueOf(const std::string& key) {
    const auto read = Read();
    if (!read.ok()) return read.error().message;
    const Property* property = read->Find(key);
    return property ? property->value + " from " + property->origin : "none";
  }

  const TempFolder folder_;
};

TEST_F(XmlIncludeTest, WhatIsIncludedStandsWhereItIsIncluded) {
  Write("tony.xml", Set("a", "1") + Set("b", "1") + Include("parts/more.xml") + "\n" + Set("c", "1"));
  Write("parts/more.xml", Set("b", "2") + "\n" + Set("c", "2"));
  EXPECT_EQ(ValueOf("a"), "1 from tony.xml:2");
  EXPECT_EQ(ValueOf("b"), "2 from parts/more.xml:2");
  EXPECT_EQ(ValueOf("c"), "1 from tony.xml:3");
}

TEST_F(XmlIncludeTest, AFinalValueOfAnIncludedFileStays) {
  Write("tony.xml", Include("more.xml") + Set("a", "1"));
  Write("more.xml", Set("a", "2", "<final>true</final>"));
  EXPECT_EQ(ValueOf("a"), "2 from more.xml:2");
}

TEST_F(XmlIncludeTest, APathIsRelativeToTheFileThatIncludes) {
  Write("tony.xml", Include("parts/one.xml"));
  Write("parts/one.xml", Include("two.xml") + Include("../three.xml"));
  Write("parts/two.xml", Set("two", "2"));
  Write("three.xml", Set("three", "3"));
  EXPECT_EQ(ValueOf("two"), "2 from parts/two.xml:2");
  EXPECT_EQ(ValueOf("three"), "3 from parts/../three.xml:2");
  Write("tony.xml", Include("file://" + (folder_.path() / "three.xml").string()));
  EXPECT_THAT(ValueOf("three"), HasSubstr("3 from /"));
}

TEST_F(XmlIncludeTest, AMissingFileIsAnErrorUnlessThereIsAFallback) {
  Write("tony.xml", "\n" + Include("none.xml"));
  EXPECT_EQ(ErrorOf(), "tony.xml:3: include none.xml: no such file");
  Write("tony.xml", Include("none.xml", "<xi:fallback>" + Set("a", "1") + "</xi:fallback>"));
  EXPECT_EQ(ValueOf("a"), "1 from tony.xml:2");
}

TEST_F(XmlIncludeTest, ABrokenFileIsNamedNotReplacedByItsFallback) {
  Write("tony.xml", Include("more.xml", "<xi:fallback/>"));
  Write("more.xml", "<property>");
  EXPECT_EQ(ErrorOf(), "more.xml:3: malformed XML: start-end tags mismatch");
}

TEST_F(XmlIncludeTest, ACycleIsNamed) {
  Write("tony.xml", Include("a.xml"));
  Write("a.xml", Include("b.xml"));
  Write("b.xml", Include("./a.xml"));
  EXPECT_EQ(ErrorOf(), "b.xml:2: include: a cycle: a.xml > b.xml > ./a.xml");
  Write("tony.xml", Include("tony.xml"));
  EXPECT_EQ(ErrorOf(), "tony.xml:2: include: a cycle: tony.xml > tony.xml");
  std::filesystem::create_symlink("tony.xml", folder_.path() / "link.xml");
  Write("tony.xml", Include("link.xml"));
  EXPECT_EQ(ErrorOf(), "tony.xml:2: include: a cycle: tony.xml > link.xml");
}

TEST_F(XmlIncludeTest, DepthAndSizeHaveLimits) {
  for (int i = 0; i < 40; ++i) Write(StrCat("f", i, ".xml"), Include(StrCat("f", i + 1, ".xml")));
  EXPECT_EQ(ErrorOf("f0.xml"), "f20.xml:2: include f21.xml: more than 20 files within one another");
  Write("big.xml", "<!--" + std::string(11u << 20, 'x') + "-->");
  Write("tony.xml", Include("big.xml") + Include("big.xml") + Include("big.xml"));
  EXPECT_EQ(ErrorOf(), "tony.xml:2: include big.xml: more than 32 MiB in all files");
}

TEST_F(XmlIncludeTest, WhatIsNoWholeLocalFileIsRefused) {
  Write("tony.xml", Include("http://host/a.xml"));
  EXPECT_EQ(ErrorOf(), "tony.xml:2: include http://host/a.xml: only local files can be included");
  Write("tony.xml", "<include/>");
  EXPECT_EQ(ErrorOf(), "tony.xml:2: include: expected href=\"FILE\"");
  Write("tony.xml", "<include href='a.xml' parse='text'/>");
  EXPECT_EQ(ErrorOf(), "tony.xml:2: include a.xml: only whole XML files can be included");
}

}  // namespace
}  // namespace tony
