#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/properties.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::HasSubstr;

std::string XmlError(std::string_view text) {
  const auto parsed = ParseHadoopXml(text, "tony.xml");
  if (parsed.ok()) return "accepted";
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  return parsed.error().message;
}

std::string ValueOf(std::string_view text, std::string_view key) {
  const auto parsed = ParseHadoopXml(text, "tony.xml");
  if (!parsed.ok()) return parsed.error().message;
  const Property* property = parsed->Find(key);
  return property ? property->value : "not set";
}

constexpr std::string_view kTypical = R"(<?xml version="1.0"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<!-- a comment -->
<configuration>
  <property>
    <name> tony.worker.instances </name>
    <value>2</value>
    <description>how many</description>
  </property>
  <property><name>tony.worker.command</name><value>echo &quot;a&quot; &amp;&amp; b &lt; c</value><final>TRUE</final></property>
  <property name="tony.ps.instances" value="1"/>
</configuration>
)";

TEST(HadoopXmlTest, PropertiesKnowTheirLine) {
  const auto parsed = ParseHadoopXml(kTypical, "tony.xml");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->all().size(), 3u);
  EXPECT_EQ(parsed->Find("tony.worker.instances")->value, "2");
  EXPECT_EQ(parsed->Find("tony.worker.instances")->origin, "tony.xml:5");
  EXPECT_FALSE(parsed->Find("tony.worker.instances")->is_final);
  EXPECT_EQ(parsed->Find("tony.worker.command")->value, "echo \"a\" && b < c");
  EXPECT_TRUE(parsed->Find("tony.worker.command")->is_final);
  EXPECT_EQ(parsed->Find("tony.ps.instances")->value, "1");
}

TEST(HadoopXmlTest, TheLastOfTwoEqualNamesHoldsUnlessTheFirstWasFinal) {
  EXPECT_EQ(ValueOf("<configuration><property><name>a</name><value>1</value></property>"
                    "<property><name>a</name><value>2</value></property></configuration>",
                    "a"),
            "2");
  EXPECT_EQ(ValueOf("<configuration><property><name>a</name><value>1</value><final>true</final></property>"
                    "<property><name>a</name><value>2</value></property></configuration>",
                    "a"),
            "1");
}

TEST(HadoopXmlTest, AValueKeepsItsBlanksCdataAndTextAroundComments) {
  EXPECT_EQ(ValueOf("<configuration><property><name>a</name><value> x <!-- c "
                    "--><![CDATA[<y>&]]></value></property></configuration>",
                    "a"),
            " x <y>&");
  EXPECT_EQ(ValueOf("<configuration><property><name>a</name><value> </value></property></configuration>", "a"), " ");
  EXPECT_EQ(ValueOf("<configuration><property><name>a</name><value/></property></configuration>", "a"), "");
}

TEST(HadoopXmlTest, APropertyWithoutAValueSetsNothing) {
  EXPECT_EQ(ValueOf("<configuration><property><name>a</name></property></configuration>", "a"), "not set");
}

TEST(HadoopXmlTest, AVariableOfTheSameFileIsExpandedAndOthersStay) {
  EXPECT_EQ(ValueOf("<configuration><property><name>a</name><value>${b}/${HOME}</value></property>"
                    "<property><name>b</name><value>/x</value></property></configuration>",
                    "a"),
            "/x/${HOME}");
}

TEST(HadoopXmlTest, AByteOrderMarkAndWindowsLineEndsAreFine) {
  EXPECT_EQ(ValueOf("\xEF\xBB\xBF<configuration>\r\n<property><name>a</name>\r\n<value>1\r\n2</value></property>\r\n</"
                    "configuration>",
                    "a"),
            "1\n2");
}

TEST(HadoopXmlTest, MalformedXmlIsReportedWithItsLine) {
  EXPECT_EQ(XmlError("<configuration>\n<property>\n<name>a</nam>\n</configuration>"),
            "tony.xml:3: malformed XML: start-end tags mismatch");
  EXPECT_EQ(XmlError("<configuration>\n"), "tony.xml:1: malformed XML: start-end tags mismatch");
  EXPECT_EQ(XmlError(""), "tony.xml:1: expected <configuration>, but the file holds no element");
  EXPECT_EQ(XmlError("hello\nworld"), "tony.xml:2: expected <configuration>, but the file holds no element");
}

TEST(HadoopXmlTest, AnotherStructureIsReportedWithItsLine) {
  EXPECT_EQ(XmlError("<conf/>"), "tony.xml:1: expected <configuration>, not <conf>");
  EXPECT_EQ(XmlError("<configuration>\n<prop/></configuration>"), "tony.xml:2: expected <property>, not <prop>");
  EXPECT_EQ(XmlError("<configuration>\n<xi:include href='x'/></configuration>"),
            "tony.xml:2: include: no file may be included here");
  EXPECT_EQ(XmlError("<configuration>\n\n<property><value>1</value></property></configuration>"),
            "tony.xml:3: a <property> without a <name>");
  EXPECT_EQ(XmlError("<configuration><property><name>a</name>\n<value>x <b/></value></property></configuration>"),
            "tony.xml:2: <value> holds <b>; a < in a text is written &lt;");
  EXPECT_EQ(XmlError("<configuration/>\n<configuration><property/></configuration>"),
            "tony.xml:2: a <property> without a <name>");
}

// The UTF-8 text as `iconv` encodes it.
std::string Encoded(const std::string& text, const std::string& encoding) {
  const TempFolder folder;
  std::ofstream(folder.path() / "utf8") << text;
  const std::string out = (folder.path() / "out").string();
  EXPECT_EQ(
      std::system(("iconv -f UTF-8 -t " + encoding + " " + (folder.path() / "utf8").string() + " > " + out).c_str()),
      0);
  std::ifstream file(out);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(HadoopXmlTest, TheDeclaredEncodingIsReadAsJavaReadsIt) {
  const auto file = [](const std::string& encoding, const std::string& value) {
    return StrCat("<?xml version=\"1.0\" encoding=\"", encoding, "\"?>\n<configuration>",
                  "<property><name>a</name><value>", value, "</value></property>", "</configuration>");
  };
  for (const std::string encoding : {"ISO-8859-1", "latin1", "windows-1252", "UTF-8"})
    EXPECT_EQ(ValueOf(Encoded(file(encoding, "café"), encoding), "a"), "café") << encoding;
  for (const std::string encoding : {"GBK", "gb18030", "Big5", "UTF-16", "UTF-16LE", "UTF-16BE", "UTF-8"})
    EXPECT_EQ(ValueOf(Encoded(file(encoding, "中文"), encoding), "a"), "中文") << encoding;
  EXPECT_EQ(ValueOf("\xEF\xBB\xBF" + file("utf8", "中"), "a"), "中");
  EXPECT_EQ(ValueOf(file("UTF-16", "plain bytes"), "a"), "plain bytes");
  EXPECT_EQ(
      XmlError(file("no-such", "x")),
      "tony.xml: encoding \"no-such\": iconv does not know it, or the text is not in it; write the file in UTF-8");
  EXPECT_THAT(XmlError(file("GBK", "\xff\xff")), HasSubstr("\"GBK\": iconv does not know it, or the text is not in"));
  EXPECT_THAT(XmlError(file("a//TRANSLIT", "x")), HasSubstr("not the name of an encoding"));
}

TEST(HadoopXmlTest, NulAndBytesThatAreNotUtf8AreReportedWithTheirLine) {
  EXPECT_EQ(XmlError(std::string_view("<configuration>\n\0</configuration>", 33)), "tony.xml:2: a NUL character");
  EXPECT_EQ(XmlError("<configuration>\n\n\xFF</configuration>"), "tony.xml:3: not valid UTF-8");
  for (const std::string reference : {"&#0;", "&#000;", "&#x0;", "&#x000;"}) {
    EXPECT_EQ(XmlError("<configuration>\n<property><name>a</name><value>x" + reference +
                       "y</value></property></configuration>"),
              "tony.xml:2: a NUL character");
  }
  EXPECT_EQ(
      ValueOf("<configuration><property><name>a</name><value>&#65;&#x42;&#10;</value></property></configuration>", "a"),
      "AB\n");
}

TEST(HadoopXmlTest, EntitiesAreNeitherDeclaredNorExpanded) {
  EXPECT_EQ(
      XmlError("<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;\">]>\n<configuration>"
               "<property><name>a</name><value>&b;</value></property></configuration>"),
      "tony.xml:2: document type declarations are not accepted");
  EXPECT_EQ(XmlError("<!DOCTYPE c SYSTEM \"file:///etc/passwd\"><configuration/>"),
            "tony.xml:1: document type declarations are not accepted");
}

TEST(LineIndexTest, AnOffsetBelongsToTheLineThatItsLineEndEnds) {
  const LineIndex lines("ab\ncd\n");
  EXPECT_EQ(lines.LineOf(0), 1u);
  EXPECT_EQ(lines.LineOf(2), 1u);
  EXPECT_EQ(lines.LineOf(3), 2u);
  EXPECT_EQ(lines.LineOf(6), 3u);
}

}  // namespace
}  // namespace tony
