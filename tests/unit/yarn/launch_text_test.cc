#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <vector>

#include "runtime/yarn/executor_context.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/yarn/node_script.h"

namespace tony {
namespace {

std::string OutputOf(const std::string& script) {
  const TempFolder temp;
  std::ofstream(temp.path() / "script") << script;
  FILE* out = popen(StrCat("/bin/bash '", (temp.path() / "script").string(), "'").c_str(), "re");
  std::string output;
  for (int c = 0; (c = fgetc(out)) != EOF;) output += static_cast<char>(c);
  EXPECT_EQ(pclose(out), 0);
  return output;
}

// Texts that are of little but what shells and NodeManagers look for.
std::vector<std::string> NastyTexts(unsigned seed, int count) {
  static const std::vector<std::string> kPieces = {
      "$",     "\"",       "\\",    "`",       "'",     "{",    "}",  "{{", "}}", "<",        ">",    "<LOG_DIR>",
      "<CPS>", "{{HOME}}", "$HOME", "${HOME}", "$(id)", "`id`", "\n", " ",  "  ", "\t",       "!",    "*",
      "~",     "#",        ";",     "&",       "|",     "(",    ")",  "%",  "a",  "\xc3\xa9", "\xff", "-"};
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string text;
    for (unsigned pieces = random() % 12; pieces > 0; --pieces) text += kPieces[random() % kPieces.size()];
    texts.push_back(text);
  }
  return texts;
}

TEST(LaunchTextTest, AValueReachesTheContainerAsItIs) {
  const auto texts = NastyTexts(1, 2000);
  std::string script = "set -o pipefail -e\n", expected;
  for (const std::string& text : texts) {
    script += ExportLine("X", QuoteValue(text), "/logs") + "printf '%s\\0' \"$X\"\n";
    expected += text + '\0';
  }
  EXPECT_EQ(OutputOf(script), expected);
}

TEST(LaunchTextTest, AnArgumentReachesTheProgramAsItIs) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::string command = "exec printf '%s\\\\0'", expected;
    for (const std::string& text : NastyTexts(seed, 100)) {
      command += " " + QuoteArgument(text);
      expected += text + '\0';
    }
    EXPECT_EQ(OutputOf("set -o pipefail -e\n" + CommandLine(command, "/logs")), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tony
