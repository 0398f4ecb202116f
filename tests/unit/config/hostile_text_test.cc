// Texts from outside must never crash a parser or exhaust the memory: a wrong text is an error, and nothing else
// happens.
#include <gtest/gtest.h>

#include <random>

#include "runtime/config/properties.h"
#include "runtime/config/submit_flags.h"
#include "tests/support/mutated_text.h"

namespace tony {
namespace {

using Parser = Result<Properties> (*)(std::string_view, const std::string&);

void Mutate(Parser parse, const std::string& seed_text, const std::vector<std::string>& pieces) {
  std::mt19937 random(20261121);
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto parsed = parse(MutatedText(seed_text, pieces, random), "fuzz");
    if (parsed.ok()) ++accepted;
    if (!parsed.ok()) {
      EXPECT_TRUE(parsed.error().message.starts_with("fuzz:")) << parsed.error().message;
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(HostileTextTest, MutatedXmlIsParsedOrRefused) {
  Mutate(
      ParseHadoopXml,
      "<?xml version=\"1.0\"?>\n<configuration>\n<property><name>a.b</name><value>${c} &lt;x&#65;</value></property>\n"
      "<property><name>c</name><value><![CDATA[<>]]></value><final>true</final></property>\n<property name=\"d\" "
      "value='1'/><!-- n -->\n</configuration>\n",
      {"<", ">", "&#x", "&#0;", "]]>", "<!DOCTYPE a [", "<!--", "-->", "<property>", "</property>", "${", "}", "\"",
       "<?", "&amp", "<![CDATA["});
}

TEST(HostileTextTest, MutatedJavaPropertiesAreParsedOrRefused) {
  Mutate(
      ParseJavaProperties,
      "# comment\na.b = 1\nkey\\ with\\=escapes : value \\\n   continued\\u0041\\uD83D\\uDE00\n! x\nlast=\xC3\xA4\r\n",
      {"\\", "\\u", "\\uD800", "\\u00", "=", ":", "\\\n", "\r", "#", std::string(1, '\0'), "\xFF"});
}

TEST(HostileTextTest, MutatedStepPropertiesAreParsedOrRefused) {
  Mutate(ParseStepProperties, "#Sat\na.b=1\nkey\\ x\\==\\u00E4\\uD83D\\uDE00\\\n  b\nlast=\xE4\r\n",
         {"\\", "\\u", "\\uD800", "=", "\\\n", "\r", "#", std::string(1, '\0'), "\xFF", "\xC3\xA4"});
}

TEST(HostileTextTest, MutatedMainArgsAreParsedOrRefused) {
  const auto parse = [](std::string_view text, const std::string& name) -> Result<Properties> {
    const auto parsed = ParseMainArgs({std::string(text), name});
    if (!parsed.ok()) return Annotate(parsed.error(), name);
    return Properties();
  };
  Mutate(parse, "-conf a=1 --conf=b=2 -executes 'python \"x\" y' -shell_env A=1 -src_dir s --task_params \"-x 'y'\"",
         {"'", "\"", " ", "-", "--", "=", "-conf", "-=", "''", " -src_dir"});
}

TEST(HostileTextTest, DeeplyNestedXmlIsRefusedWithoutExhaustingTheStack) {
  std::string text = "<configuration>";
  for (int i = 0; i < 100'000; ++i) text += "<a>";
  const auto open = ParseHadoopXml(text, "deep");
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().message, "deep:1: malformed XML: start-end tags mismatch");
  for (int i = 0; i < 100'000; ++i) text += "</a>";
  const auto closed = ParseHadoopXml(text + "</configuration>", "deep");
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().message, "deep:1: expected <property>, not <a>");
}

TEST(HostileTextTest, TenMegabytesOfXmlAreParsed) {
  std::string text = "<configuration>\n";
  int count = 0;
  while (text.size() < 10u << 20) {
    text += "<property><name>key" + std::to_string(count++) + "</name><value>" + std::string(1000, 'v') +
            "</value></property>\n";
  }
  const auto parsed = ParseHadoopXml(text + "</configuration>", "large");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->all().size(), static_cast<size_t>(count));
  EXPECT_EQ(parsed->Find("key9")->origin, "large:11");
}

}  // namespace
}  // namespace tony
