// The texts that a configuration is read from: Java's properties, Hadoop's XML with its includes, and ${...} in values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/properties.h"
#include "runtime/config/xml_text.h"
#include "tests/support/table_test.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// Returns all pairs as "key=value|key=value", or the error.
std::string PairsOf(const Result<Properties>& parsed) {
  if (!parsed.ok()) {
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
    return parsed.error().message;
  }
  std::string out;
  for (const auto& [key, property] : parsed->all()) out += StrCat(out.empty() ? "" : "|", key, "=", property.value);
  return out;
}
void CheckJava(const RowCase& row) { ExpectText(row.expected, PairsOf(ParseJavaProperties(row.given, "f"))); }

// Compares the pairs and origins of the properties that Azkaban hands to a step, as "key=value@origin|...".
void CheckStep(const RowCase& row) {
  const auto parsed = ParseStepProperties(row.given, "the step");
  std::string out = parsed.ok() ? "" : parsed.error().message;
  if (parsed.ok())
    for (const auto& [key, property] : parsed->all())
      out += StrCat(out.empty() ? "" : "|", key, "=", property.value, "@", property.origin);
  ExpectText(row.expected, out);
}

const std::string kMalformed = ": malformed \\u escape: expected four hexadecimal digits";
const std::string kHalf = ": half of a surrogate pair in \\u escapes";

const TestRow kJava[] = {
    {"APropertyKeyEndsAtTheFirstBlankOrEqualsSignOrColon",
     {{"a=1\nb:2\nc 3\nd = 4\ne\t:\t5\nf\f6", "a=1|b=2|c=3|d=4|e=5|f=6"},
      {"a==1\nb= =2\nc:=3\nd  x = y", "a==1|b==2|c==3|d=x = y"},
      {"alone\nempty=\n=value", "=value|alone=|empty="}}},
    {"BlankLinesAndCommentsAreSkipped",
     {{"# c\n ! c\n\n \t\f\na=1 # not a comment\n#x=\\\nb=2", "a=1 # not a comment|b=2"}}},
    {"LeadingBlanksAreRemovedAndTrailingBlanksAreKept", {{"  a = 1 \t\n", "a=1 \t"}}},
    {"AllLineEndingsAreAccepted", {{"a=1\r\nb=2\rc=3\nd=4", "a=1|b=2|c=3|d=4"}}},
    {"ALineThatEndsWithAnOddNumberOfBackslashesIsContinued",
     {{"a=1,\\\n   2,\\\r\n\t3\nb=4", "a=1,2,3|b=4"},
      {"a=1\\\\\nb=2", "a=1\\|b=2"},
      {"a=1\\\\\\\nb=2", "a=1\\b=2"},
      {"a=1\\\n# no comment here\nb=2", "a=1# no comment here|b=2"},
      {"a=1\\\n\nb=2", "a=1|b=2"},
      {"a=1\\", "a=1"}}},
    {"EscapesAreDecodedInKeysAndValues",
     {{"a\\ b\\=c\\:d=\\t\\n\\r\\f\\x\\\\\\#", "a b=c:d=\t\n\r\fx\\#"}, {"\\#a=1", "#a=1"}}},
    {"UnicodeEscapesIncludeSurrogatePairs",
     {{"a=\\u0041\\u20ac\\u20AC", "a=A€€"}, {"a=\\uD83D\\uDE00!", "a=\xF0\x9F\x98\x80!"}, {"\\u006b=ä", "k=ä"}}},
    {"BadUnicodeEscapesAreErrorsWithTheirLine",
     {{"a=1\nb=\\u12", "f:2" + kMalformed},
      {"b=\\u12G4", "f:1" + kMalformed},
      {"# c\n\\u=1", "f:2" + kMalformed},
      {"a=\\uD83D", "f:1" + kHalf},
      {"a=\\uDE00", "f:1" + kHalf},
      {"a=\\uD83Dx", "f:1" + kHalf},
      {"a=\\uD83D\\u0041", "f:1" + kHalf}}},
    {"ANulOrInvalidUtf8IsRefusedWithItsLineNumber",
     {{"a=1\nb=\0"s, "f:2: the text contains a NUL character"},
      {"a=1\n\nb=\xE9t\xE9", "f:3: not valid UTF-8"},
      {"a=\\u0000", "f:1: the text contains a NUL character"},
      {"a=\xE4", "f:1: not valid UTF-8"}}},
    {"AByteOrderMarkIsNotPartOfTheFirstKey",
     {{"\xEF\xBB\xBF"
       "a=1",
       "a=1"}}},
    {"AnEmptyTextHasNoProperties", {{"", ""}}},
};
TABLE_TEST(JavaPropertiesTest, kJava, CheckJava);

TEST(JavaPropertiesTest, TheOriginOfAContinuedValueIsItsFirstLine) {
  const auto parsed = ParseJavaProperties("# c\na=1\\\n 2\n\nb=3\nb=4", "f");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Find("a")->origin, "f:2");
  EXPECT_EQ(parsed->Find("b")->origin, "f:6");
  EXPECT_EQ(parsed->Find("b")->value, "4");
}

const TestRow kSteps[] = {
    {"TheOriginOfAStepPropertyHasNoLineNumber",
     {{"#Sat Nov 21 22:00:00 UTC 2026\nb=2\na\\ x=\\u00E4\\\n  b\n", "a x=äb@the step|b=2@the step"}}},
    {"AFileThatIsNotUtf8IsReadAsLatin1",
     {{"a=\xE4\xFF", "a=äÿ@the step"},
      {"a=\xC3\xA4", "a=ä@the step"},
      {"a=\xC3\xA4\nb=\xE4", "a=ä@the step|b=ä@the step"}}},  // the whole file has one encoding
    {"AnErrorNamesTheKeyAndNotTheValue",
     {{"a=1\nmy\\ key=hunter2\\u12", "the step: key my\\ key" + kMalformed},
      {"a\\u0000=1", "the step: key a\\u0000: the text contains a NUL character"},
      {"a=\0"s, "the step: the text contains a NUL character"},
      {std::string(100, 'k') + "=\\uD800", "the step: key " + std::string(60, 'k') + kHalf}}},
};
TABLE_TEST(StepPropertiesTest, kSteps, CheckStep);

TEST(StepPropertiesTest, Utf8ThatAzkabanDecodedAsLatin1IsRepairedWithAWarning) {
  const auto parsed = ParseStepProperties(
      "city=Z\\u00C3\\u00BCrich\nsum=5 \\u00E2\\u0082\\u00AC\ntable=\\u5730\\u7406\nlatin=\\u00FC\\u00C4\n",
      "the step");
  EXPECT_EQ(PairsOf(parsed), "city=Zürich|latin=üÄ|sum=5 €|table=地理")
      << "the last is a flow parameter, which Azkaban had right";
  ASSERT_EQ(parsed->warnings().size(), 1u);
  EXPECT_THAT(parsed->warnings()[0],
              StartsWith("city, sum: Azkaban read this UTF-8 text as ISO-8859-1, and TonY has restored "));
}

// ---- Hadoop's XML

std::string Configured(const std::string& inside) { return "<configuration>" + inside + "</configuration>"; }
std::string Set(const std::string& value, const std::string& name = "a", const std::string& more = "") {
  return "<property><name>" + name + "</name><value>" + value + "</value>" + more + "</property>";
}
const std::string kFinal = "<final>true</final>";

std::string Encoding(const std::string& encoding, const std::string& value) {
  return StrCat("<?xml version=\"1.0\" encoding=\"", encoding, "\"?>\n", Configured(Set(value)));
}

// Compares the value of "a", or the error.
void CheckXml(const RowCase& row) {
  for (const std::string& text : Alternatives(row.given)) {
    const auto parsed = ParseHadoopXml(text, "f");
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
    }
    const Property* property = parsed.ok() ? parsed->Find("a") : nullptr;
    ExpectText(row.expected, !parsed.ok() ? parsed.error().message : property ? property->value : "not set");
  }
}

const TestRow kXml[] = {
    {"TheLastOfTwoPropertiesWithTheSameNameWinsUnlessTheFirstIsFinal",
     {{Configured(Set("1") + Set("2")), "2"}, {Configured(Set("1", "a", kFinal) + Set("2")), "1"}}},
    {"AnXmlValueKeepsBlanksCdataAndTextAroundComments",
     {{Configured(Set(" x <!-- c --><![CDATA[<y>&]]>")), " x <y>&"},
      {Configured(Set(" ")), " "},
      {Configured("<property><name>a</name><value/></property>"), ""}}},
    {"APropertyWithoutAValueElementIsIgnored", {{Configured("<property><name>a</name></property>"), "not set"}}},
    {"AVariableThatNamesAKeyOfTheFileIsExpandedAndOtherVariablesStay",
     {{Configured(Set("${b}/${HOME}") + Set("/x", "b")), "/x/${HOME}"}}},
    {"AByteOrderMarkAndWindowsLineEndsAreAccepted",
     {{"\xEF\xBB\xBF" + Configured("\r\n<property><name>a</name>\r\n<value>1\r\n2</value></property>\r\n"), "1\n2"}}},
    {"MalformedXmlIsReportedWithItsLine",
     {{"<configuration>\n<property>\n<name>a</nam>\n</configuration>", "f:3: malformed XML: start-end tags mismatch"},
      {"<configuration>\n", "f:1: malformed XML: start-end tags mismatch"},
      {"", "f:1: expected <configuration>, but the file contains no element"},
      {"hello\nworld", "f:2: expected <configuration>, but the file contains no element"}}},
    {"UnexpectedXmlElementsAreReportedWithTheirLine",
     {{"<conf/>", "f:1: expected <configuration>, not <conf>"},
      {Configured("\n<prop/>"), "f:2: expected <property>, not <prop>"},
      {Configured("\n<xi:include href='x'/>"), "f:2: include: this file cannot include other files"},
      {Configured("\n\n<property><value>1</value></property>"), "f:3: this <property> has no <name>"},
      {Configured("<property><name>a</name>\n<value>x <b/></value></property>"),
       "f:2: <value> contains <b>; a < in a text is written &lt;"},
      {"<configuration/>\n<configuration><property/></configuration>", "f:2: this <property> has no <name>"}}},
    {"TheDeclaredEncodingIsUsedUnlessTheBytesContradictTheDeclaration",
     {{"\xEF\xBB\xBF" + Encoding("utf8", "中"), "中"},
      {Encoding("UTF-16", "plain bytes"), "plain bytes"},
      {Encoding("no-such", "x"),
       "f: encoding \"no-such\": iconv does not know this encoding, or the text is not valid in it; write the file in "
       "UTF-8"},
      {Encoding("GBK", "\xff\xff"), "~\"GBK\": iconv does not know this encoding, or the text is not"},
      {Encoding("a//TRANSLIT", "x"), "~not the name of an encoding"}}},
    {"NulAndBytesThatAreNotUtf8AreReportedWithTheirLine",
     {{Configured("\n\0"s), "f:2: the text contains a NUL character"},
      {Configured("\n\n\xFF"), "f:3: not valid UTF-8"},
      {Configured("\n" + Set("x{&#0;|&#000;|&#x0;|&#x000;}y")), "f:2: the text contains a NUL character"},
      {Configured(Set("&#65;&#x42;&#10;")), "AB\n"}}},
    {"DocumentTypeDeclarationsWithEntitiesAreRefused",
     {{"<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;\">]>\n" + Configured(Set("&b;")),
       "f:2: document type declarations are not accepted"},
      {"<!DOCTYPE c SYSTEM \"file:///etc/passwd\"><configuration/>",
       "f:1: document type declarations are not accepted"}}},
};
TABLE_TEST(HadoopXmlTest, kXml, CheckXml);

TEST(HadoopXmlTest, TheOriginOfAnXmlPropertyIsItsFileAndLine) {
  const auto parsed = ParseHadoopXml(R"(<?xml version="1.0"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<!-- a comment -->
<configuration>
  <property>
    <name> tony.worker.instances </name>
    <value>2</value>
    <description>how many</description>
  </property>
  <property><name>b</name><value>echo &quot;a&quot; &amp;&amp; b &lt; c</value><final>TRUE</final></property>
  <property name="tony.ps.instances" value="1"/>
</configuration>
)",
                                     "tony.xml");
  EXPECT_EQ(PairsOf(parsed), "b=echo \"a\" && b < c|tony.ps.instances=1|tony.worker.instances=2");
  EXPECT_EQ(parsed->Find("tony.worker.instances")->origin, "tony.xml:5");
  EXPECT_FALSE(parsed->Find("tony.worker.instances")->is_final);
  EXPECT_TRUE(parsed->Find("b")->is_final);
}

// Returns the text as `iconv` encodes it.
std::string Encoded(const std::string& text, const std::string& encoding) {
  const TempFolder folder;
  std::ofstream(folder.path() / "utf8") << text;
  const std::string in = (folder.path() / "utf8").string(), out = (folder.path() / "out").string();
  EXPECT_EQ(std::system(("iconv -f UTF-8 -t " + encoding + " " + in + " > " + out).c_str()), 0);
  std::ifstream file(out);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(HadoopXmlTest, TextInEachCommonEncodingIsDecodedByItsXmlDeclaration) {
  for (const std::string encoding : {"ISO-8859-1", "latin1", "windows-1252", "UTF-8"})
    CheckXml({Encoded(Encoding(encoding, "café"), encoding), "café"});
  for (const std::string encoding : {"GBK", "gb18030", "Big5", "UTF-16", "UTF-16LE", "UTF-16BE", "UTF-8"})
    CheckXml({Encoded(Encoding(encoding, "中文"), encoding), "中文"});
}

TEST(LineIndexTest, ANewlineCharacterBelongsToTheLineBeforeTheNewline) {
  const LineIndex lines("ab\ncd\n");
  EXPECT_EQ(lines.LineOf(0), 1u);
  EXPECT_EQ(lines.LineOf(2), 1u);
  EXPECT_EQ(lines.LineOf(3), 2u);
  EXPECT_EQ(lines.LineOf(6), 3u);
}

// ---- XInclude. The row gives files "name: body | name: body", of which tony.xml is read. It expects "a=1 from
// tony.xml:2", or the error.

std::string Include(const std::string& href, const std::string& inside = "") {
  return "<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='" + href + "'>" + inside + "</xi:include>";
}

void CheckInclude(const RowCase& row) {
  const TempFolder folder;
  const std::string here = folder.path().string();
  for (const std::string& file : PartsOf(Replaced(row.given, "@", here))) {
    const auto path = folder.path() / file.substr(0, file.find(": "));
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "<configuration>\n" << file.substr(file.find(": ") + 2) << "\n</configuration>\n";
  }
  std::filesystem::create_symlink("tony.xml", folder.path() / "link.xml");
  const auto path = folder.path() / "tony.xml";
  const auto read = ParseHadoopXmlWithIncludes(path, *ReadTextFile(path), "tony.xml");
  for (const std::string& expected : PartsOf(Replaced(row.expected, "@", here))) {
    const std::string key = expected.substr(0, expected.find('='));
    const Property* property = read.ok() ? read->Find(key) : nullptr;
    EXPECT_EQ(!read.ok() ? read.error().message
              : property ? StrCat(key, "=", property->value, " from ", property->origin)
                         : key + " is not set",
              expected);
  }
}

const TestRow kIncludes[] = {
    {"AnIncludedFileOverridesEarlierPropertiesAndIsOverriddenByLaterProperties",
     {{"tony.xml: " + Set("1") + Set("1", "b") + Include("parts/more.xml") + "\n" + Set("1", "c") +
           " | parts/more.xml: " + Set("2", "b") + "\n" + Set("2", "c"),
       "a=1 from tony.xml:2 | b=2 from parts/more.xml:2 | c=1 from tony.xml:3"}}},
    {"AFinalValueOfAnIncludedFileIsNotOverridden",
     {{"tony.xml: " + Include("more.xml") + Set("1") + " | more.xml: " + Set("2", "a", kFinal),
       "a=2 from more.xml:2"}}},
    {"AnIncludePathIsRelativeToTheIncludingFile",
     {{"tony.xml: " + Include("parts/one.xml") + " | parts/one.xml: " + Include("two.xml") + Include("../three.xml") +
           " | parts/two.xml: " + Set("2", "two") + " | three.xml: " + Set("3", "three"),
       "two=2 from parts/two.xml:2 | three=3 from parts/../three.xml:2"},
      {"tony.xml: " + Include("file://@/three.xml") + " | three.xml: " + Set("3", "three"),
       "three=3 from @/three.xml:2"}}},
    {"AMissingIncludedFileIsAnErrorUnlessAFallbackIsGiven",
     {{"tony.xml: \n" + Include("none.xml"), "tony.xml:3: include none.xml: no such file"},
      {"tony.xml: " + Include("none.xml", "<xi:fallback>" + Set("1") + "</xi:fallback>"), "a=1 from tony.xml:2"}}},
    {"AMalformedIncludedFileIsAnErrorDespiteAFallback",
     {{"tony.xml: " + Include("more.xml", "<xi:fallback/>") + " | more.xml: <property>",
       "more.xml:3: malformed XML: start-end tags mismatch"}}},
    {"AnIncludeCycleIsReportedWithItsFiles",
     {{"tony.xml: " + Include("a.xml") + " | a.xml: " + Include("b.xml") + " | b.xml: " + Include("./a.xml"),
       "b.xml:2: include: these files include one another in a cycle: a.xml > b.xml > ./a.xml"},
      {"tony.xml: " + Include("tony.xml"), "tony.xml:2: include: these files include one another in a cycle: tony.xml "
                                           "> tony.xml"},
      {"tony.xml: " + Include("link.xml"), "tony.xml:2: include: these files include one another in a cycle: tony.xml "
                                           "> link.xml"}}},
    {"IncludedFilesLargerThan32MibInTotalAreRefused",
     {{"tony.xml: " + Include("big.xml") + Include("big.xml") + Include("big.xml") + " | big.xml: <!--" +
           std::string(11u << 20, 'x') + "-->",
       "tony.xml:2: include big.xml: the included files have more than 32 MiB together"}}},
    {"OnlyWholeLocalXmlFilesCanBeIncluded",
     {{"tony.xml: " + Include("http://host/a.xml"),
       "tony.xml:2: include http://host/a.xml: only local files can be included"},
      {"tony.xml: <include/>", "tony.xml:2: include: expected href=\"FILE\""},
      {"tony.xml: <include href='a.xml' parse='text'/>",
       "tony.xml:2: include a.xml: only whole XML files can be included"}}},
};
TABLE_TEST(XmlIncludeTest, kIncludes, CheckInclude);

TEST(XmlIncludeTest, MoreThan20NestedIncludesAreRefused) {
  std::string files = "tony.xml: " + Include("f1.xml");
  for (int i = 1; i < 40; ++i) files += StrCat(" | f", i, ".xml: ", Include(StrCat("f", i + 1, ".xml")));
  CheckInclude({files, "f20.xml:2: include f21.xml: included files are nested more than 20 levels deep"});
}

// ---- ${...}. The row gives properties "key=value | key=value". The row expects the last one's value, or the error.

void CheckExpanded(const RowCase& row) {
  Properties properties;
  std::string key;
  for (const std::string& part : PartsOf(row.given)) {
    key = part.substr(0, part.find('='));
    properties.Set(key, part.substr(key.size() + 1), "f:1");
  }
  const auto expanded = ExpandVariables(properties);
  ExpectText(row.expected, expanded.ok() ? expanded->Find(key)->value : expanded.error().message);
}

const TestRow kVariables[] = {
    {"VariablesThatNameAKeyAreReplacedAndOtherVariablesStay",
     {{"dir=/data/${user} | user=ann | c=cd ${dir} && echo ${HOME} $PWD ${dir} ${} ${a b} ${",
       "cd /data/ann && echo ${HOME} $PWD /data/ann ${} ${a b} ${"}}},
    {"OnlyTheInnerVariableOfANestedVariableIsReplaced", {{"a=b | b=x | c=${${a}}", "${b}"}}},
    {"AKeyThatRefersToItselfIsAnErrorWithItsFileAndLine", {{"b=${a} | a=${b}", "f:1: ${a} refers to itself"}}},
};
TABLE_TEST(PropertiesTest, kVariables, CheckExpanded);

TEST(PropertiesTest, VariablesNestedMoreThan20DeepAreRefused) {
  std::string all = "k1000=x";
  for (int i = 999; i >= 0; --i) all += StrCat(" | k", i, "=${k", i + 1, "}");
  CheckExpanded({all, "~is nested more than 20 levels deep"});
}

TEST(PropertiesTest, ValuesThatGrowExponentiallyByExpansionAreRefused) {
  std::string all = "k0=" + std::string(1000, 'x');
  for (int i = 1; i < 19; ++i) all += StrCat(" | k", i, "=${k", i - 1, "}${k", i - 1, "}");
  CheckExpanded({all, "f:1: the values become too large when ${...} is replaced"});
}

TEST(PropertiesTest, ALaterFileReplacesAllValuesExceptFinalValues) {
  Properties first, later;
  first.Set("plain", "1", "a:1");
  first.Set("locked", {"1", "a:2", true});
  later.Set("plain", "2", "b:1");
  later.Set("locked", "2", "b:2");
  later.Set("new", "2", "b:3");
  first.Merge(later);
  EXPECT_EQ(first.Find("plain")->origin, "b:1");
  EXPECT_EQ(first.Find("locked")->value, "1");
  EXPECT_EQ(first.Find("new")->value, "2");
  EXPECT_EQ(first.Find("absent"), nullptr);
}

TEST(PropertiesTest, AnExpandedValueKeepsItsOrigin) {
  Properties properties;
  properties.Set("a", "${b}", "f:3");
  properties.Set("b", "x", "f:2");
  EXPECT_EQ(ExpandVariables(properties)->Find("a")->origin, "f:3");
}

const TestRow kSystem[] = {
    {"JavaSystemPropertiesHaveTheValuesOfTheSubmittingProcess",
     {{"c=/x/${user.name}", std::string("/x/") + getpwuid(getuid())->pw_name},
      {"c=${user.home}", getpwuid(getuid())->pw_dir},
      {"c=${user.dir}", std::filesystem::current_path().string()},
      {"c=${java.io.tmpdir}${file.separator}a${path.separator}b", "/tmp/a:b"},
      {"c=${os.name}", "Linux"}}},
    {"AJavaSystemPropertyOverridesAKeyOfTheSameName", {{"java.io.tmpdir=/other | c=${java.io.tmpdir}", "/tmp"}}},
};
TABLE_TEST(HadoopVariablesTest, kSystem, CheckExpanded);

TEST(HadoopVariablesTest, OsArchIsExpandedToTheJavaNameOfTheArchitecture) {
  Properties properties;
  properties.Set("c", "${os.arch}", "f:1");
  EXPECT_EQ(ExpandVariables(properties)->Find("c")->value.find("x86"), std::string::npos);
}

TEST(HadoopVariablesTest, VariablesWithThePrefixEnvAreReadFromTheEnvironment) {
  setenv("TONY_TEST_SET", "v", 1);
  setenv("TONY_TEST_EMPTY", "", 1);
  unsetenv("TONY_TEST_NONE");
  CheckExpanded({"c=${env.TONY_TEST_SET} ${env.TONY_TEST_NONE-d} ${env.TONY_TEST_EMPTY:-e}", "v d e"});
  CheckExpanded({"c=${env.TONY_TEST_NONE}", "${env.TONY_TEST_NONE}"});
}

TEST(HadoopVariablesTest, AnUnknownHadoopVariableCausesAWarningUnlessItIsShellSyntax) {
  const auto warnings = [](const std::string& value, const std::string& key = "tony.worker.command") {
    Properties properties;
    properties.Set(key, value, "tony.xml:3");
    return ExpandVariables(properties)->warnings();
  };
  CheckExpanded({"c=${java.version}", "${java.version}"});
  EXPECT_THAT(warnings("a ${java.version} ${java.version}"),
              ElementsAre("tony.worker.command (from tony.xml:3): ${java.version} is left unchanged, because no key, "
                          "system property or environment variable has this name"));
  EXPECT_THAT(warnings("${env.TONY_TEST_NONE}"), testing::SizeIs(1));
  for (const char* shells :
       {"${HOME}", "${x%.*}", "${x:-a.b}", "${x-a.b}", "${#x}", "${a[1.5]}", "$x.y", "${.x}", "${x.}", "${user.name}"})
    EXPECT_THAT(warnings(shells), IsEmpty()) << shells;
  EXPECT_THAT(warnings("${java.version}", "azkaban.note"), IsEmpty()) << "it says nothing to us";
}

}  // namespace
}  // namespace tony
