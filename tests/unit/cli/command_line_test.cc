#include "runtime/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const VerbSpec kVerb = {"run",
                        "FILE",
                        0,
                        1,
                        "for tests",
                        {{"executes", OptionSpec::Kind::kValue, "COMMAND", ""},
                         {"conf", OptionSpec::Kind::kRepeated, "KEY=VALUE", ""},
                         {"json", OptionSpec::Kind::kFlag, "", ""},
                         {"f", OptionSpec::Kind::kFlag, "", ""}}};

CommandLine Parsed(const Words& arguments) {
  auto line = CommandLine::Parse(kVerb, arguments);
  EXPECT_TRUE(line.ok()) << line.error().message;
  return line.ok() ? *line : CommandLine();
}

std::string Refused(const Words& arguments) {
  const auto line = CommandLine::Parse(kVerb, arguments);
  EXPECT_FALSE(line.ok());
  if (line.ok()) return "";
  EXPECT_EQ(line.error().code, ErrorCode::kUsage);
  return line.error().message;
}

TEST(CommandLineTest, OptionsAcceptOneOrTwoDashesAndAnOptionalEqualsSign) {
  for (const Words& form : {Words{"-executes", "a b"}, {"--executes", "a b"}, {"--executes=a b"}, {"-executes=a b"}})
    EXPECT_EQ(Parsed(form).Value("executes"), "a b");
}

TEST(CommandLineTest, AnOptionValueMayStartWithADash) {
  EXPECT_EQ(Parsed({"-executes", "--epochs=3"}).Value("executes"), "--epochs=3");
}

TEST(CommandLineTest, OptionValuesMayContainEqualsSigns) { EXPECT_EQ(Parsed({"--conf=a=b=c"}).Value("conf"), "a=b=c"); }

TEST(CommandLineTest, ValuesOfARepeatedOptionKeepTheirOrder) {
  EXPECT_THAT(Parsed({"-conf", "a=1", "--json", "--conf=b=2"}).Values("conf"), ElementsAre("a=1", "b=2"));
}

TEST(CommandLineTest, AFlagTakesNoValue) {
  const CommandLine line = Parsed({"--json", "spec.xml", "-f"});
  EXPECT_TRUE(line.Has("json"));
  EXPECT_TRUE(line.Has("f"));
  EXPECT_THAT(line.words(), ElementsAre("spec.xml"));
  EXPECT_THAT(Refused({"--json=yes"}), HasSubstr("takes no value"));
}

TEST(CommandLineTest, WordsAfterDashDashArePositional) { EXPECT_THAT(Parsed({"--", "-f"}).words(), ElementsAre("-f")); }

TEST(CommandLineTest, ALoneDashIsAPositionalArgument) { EXPECT_THAT(Parsed({"-"}).words(), ElementsAre("-")); }

TEST(CommandLineTest, ANegativeNumberIsNotAnOption) { EXPECT_THAT(Parsed({"-100"}).words(), ElementsAre("-100")); }

TEST(CommandLineTest, AnUnknownOptionIsRefusedWithTheNearestKnownOption) {
  EXPECT_THAT(Refused({"-exectes", "x"}), HasSubstr("\"-exectes\"; did you mean --executes?"));
  EXPECT_THAT(Refused({"--zzzzzzz"}), HasSubstr("tony help run"));
  EXPECT_THAT(Refused({"---json"}), HasSubstr("---json"));
}

TEST(CommandLineTest, AnExtraPositionalArgumentIsRefused) {
  EXPECT_THAT(Refused({"spec.xml", "train.py"}), HasSubstr("\"train.py\""));
}

TEST(CommandLineTest, AnOptionWithoutItsValueIsRefused) {
  EXPECT_THAT(Refused({"-executes"}), HasSubstr("needs a value: COMMAND"));
}

TEST(CommandLineTest, ANonRepeatableOptionIsRefusedIfItIsGivenTwice) {
  EXPECT_THAT(Refused({"-executes", "a", "--executes=b"}), HasSubstr("given twice"));
}

TEST(CommandLineTest, TheFirstOfRepeatedSrcDirOptionsWinsAndTheRepetitionIsReported) {
  const VerbSpec verb{.name = "run", .options = {{"src_dir", OptionSpec::Kind::kFirst, "PATH", "text"}}};
  const auto line = CommandLine::Parse(verb, {"-src_dir", "a", "--src_dir=b", "-src_dir", "c"});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->Value("src_dir"), "a");
  EXPECT_THAT(line->given_again(), ElementsAre("src_dir"));
  EXPECT_THAT(CommandLine::Parse(verb, {"-src_dir", "a"})->given_again(), testing::IsEmpty());
}

TEST(CommandLineTest, EverySubcommandHasAnOptionTableWithoutDuplicates) {
  for (const Verb& command : Verbs()) {
    std::vector<std::string_view> names;
    for (const OptionSpec& option : command.verb.options) {
      EXPECT_EQ(std::ranges::count(names, option.name), 0) << command.verb.name << " " << option.name;
      EXPECT_FALSE(option.text.empty()) << command.verb.name << " " << option.name;
      EXPECT_EQ(option.kind == OptionSpec::Kind::kFlag, option.value.empty())
          << command.verb.name << " " << option.name;
      names.push_back(option.name);
    }
  }
}

TEST(NearestTest, ATypoHasANearestWordAndAnUnrelatedWordHasNone) {
  EXPECT_EQ(Nearest("sumbit", {"submit", "status"}), "submit");
  EXPECT_EQ(Nearest("x", {"submit", "status"}), "");
  EXPECT_EQ(Nearest("", {"submit"}), "");
}

const VerbSpec kNumbers = {
    "n", "", 0, 0, "", {{"limit", OptionSpec::Kind::kValue, "S", ""}, {"since", OptionSpec::Kind::kValue, "N", ""}}};

TEST(NumbersTest, OptionsInSecondsAcceptFractionsAndUnits) {
  const auto seconds = [](const std::string& text) {
    return SecondsOption(*CommandLine::Parse(kNumbers, {"--limit", text}), "limit");
  };
  EXPECT_EQ(**seconds("2"), Duration(2000));
  EXPECT_EQ(**seconds("0.25"), Duration(250));
  EXPECT_EQ(**seconds("10m"), Duration(600'000));
  for (const char* bad : {"", "-1", "1 s", "nan", "inf", "1e400", "0x10", " 1"}) EXPECT_FALSE(seconds(bad).ok()) << bad;
  EXPECT_FALSE(SecondsOption(*CommandLine::Parse(kNumbers, {}), "limit")->has_value());
}

TEST(NumbersTest, NumberOptionsRefuseNegativeNumbersAndFractions) {
  const auto number = [](const std::string& text) {
    return NumberOption(*CommandLine::Parse(kNumbers, {"--since", text}), "since");
  };
  EXPECT_EQ(**number("12"), 12);
  for (const char* bad : {"", "-1", "1.5", "99999999999999999999"}) EXPECT_FALSE(number(bad).ok()) << bad;
}

}  // namespace
}  // namespace tony
