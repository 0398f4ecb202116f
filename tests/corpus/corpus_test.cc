// Equal properties give the same job by each way into TonY: command line, Azkaban step, job document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "azkaban-plugin/step_request.h"
#include "runtime/base/strings.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/options.h"
#include "tests/corpus/golden.h"
#include "tests/corpus/java_store.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

// True if the goldens are to be rewritten from the result of the command line's reader.
bool IsUpdating() {
  const char* asked = std::getenv("TONY_UPDATE_GOLDENS");
  return asked && std::string_view(asked) == "1";
}

// Reads a file in the current folder as `tony plan FILE` does.
Result<ParsedJobSpec> ThroughCommandLine(const std::string& file) {
  TRY_ASSIGN(const CommandLine line,
             CommandLine::Parse({.name = "plan", .max_words = 1, .options = SpecOptions()}, {file}));
  return ReadJobSpec(line);
}

// Properties that each step needs, for sets that lack them.
constexpr struct {
  std::string_view key, value, tag;
} kOfEveryStep[] = {{"azkaban.flow.execid", "1", "azkaban.flow.execid:1"},
                    {"azkaban.flow.flowid", "flow", "azkaban.flow.flowid:flow"},
                    {"azkaban.job.id", "job", ""}};

// Properties with another name in the spec. A step's properties have no line numbers, so its messages name the
// property.
constexpr std::string_view kRenamed[] = {"executes",           "src_dir",     "task_params",
                                         "python_binary_path", "python_venv", "hdfs_classpath"};

// Returns a golden in a step's words: a property's name, or nothing, replaces the line number.
std::string AsOfStep(std::string golden, const Properties& set) {
  for (const auto& [key, property] : set.all()) {
    const bool is_renamed = std::ranges::find(kRenamed, key) != std::end(kRenamed);
    const std::string line = property.origin.substr(property.origin.find(':'));
    const std::regex place(StrCat(R"(\$\{SET\})", line, R"(\b)"));
    golden = std::regex_replace(golden, place, is_renamed ? StrCat(key, " of $${SET}") : "$${SET}");
  }
  return golden;
}

// Reads a file in the current folder as Azkaban's adapter does. Tags that come only from kOfEveryStep are removed
// again.
Result<ParsedJobSpec> ThroughStep(Properties properties, const std::string& file) {
  std::vector<std::string_view> added_tags;
  for (const auto& [key, value, tag] : kOfEveryStep) {
    if (properties.Find(key)) continue;
    properties.Set(std::string(key), std::string(value), "");
    if (!tag.empty()) added_tags.push_back(tag);
  }
  WriteWhole(file, StoreAsJava(properties));
  TRY_ASSIGN(azkaban::Step step, azkaban::ReadStep(file, std::filesystem::current_path()));
  for (const std::string_view tag : added_tags) EXPECT_EQ(std::erase(step.job.spec.tags, tag), 1u) << tag;
  return step.job;
}

constexpr std::string_view kDocumentsOrigin = "properties";

// Reads the set as a member of a job document, as `tony plan FILE.json` does.
Result<ParsedJobSpec> ThroughDocument(boost::json::value properties) {
  const std::string file = "document.json";
  WriteWhole(file, boost::json::serialize(boost::json::object{{kDocumentsOrigin, std::move(properties)}}));
  auto answer = ThroughCommandLine(file);
  if (answer.ok()) return answer;
  // For an unreadable text the error names the document.
  Error error = answer.error();
  const std::string place = file + ": ";
  if (error.message.starts_with(place)) error.message.erase(0, place.size());
  return error;
}

// Returns a golden in a document's words: its members have no file.
std::string AsOfDocument(const std::string& golden) {
  return std::regex_replace(golden, std::regex(R"(\$\{SET\})"), std::string(kDocumentsOrigin));
}

boost::json::value ObjectOf(const Properties& properties) {
  boost::json::object object;
  for (const auto& [key, property] : properties.all()) object[key] = property.value;
  return object;
}

// Expects that the JSON holds the whole spec: executors, a new AM and the goldens use only the JSON.
void ExpectJsonHoldsAll(const Result<ParsedJobSpec>& answer) {
  if (!answer.ok()) return;
  const auto again = JobSpecFromJson(ToJson(answer->spec));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, answer->spec);
}

// Each test runs in a folder of its own with a copy of files/, to which the sets refer. A test whose name begins with
// "bare-" runs in an empty folder.
class CorpusTest : public ::testing::TestWithParam<std::string> {
 protected:
  CorpusTest() : home_(std::filesystem::current_path()), golden_file_(CorpusFolder() / (set() + ".json")) {
    unsetenv("TONY_CONF_DIR");
    if (!set().starts_with("bare-")) {
      std::filesystem::copy(CorpusFolder() / "files", folder(), std::filesystem::copy_options::recursive);
    }
    std::filesystem::current_path(folder());
  }
  ~CorpusTest() override { std::filesystem::current_path(home_); }

  const std::string& set() const { return GetParam(); }
  const std::filesystem::path& folder() const { return temp_.path(); }
  std::string Text(const Result<ParsedJobSpec>& answer, const std::string& file) const {
    return AnswerText(set(), answer, std::filesystem::current_path(), file);
  }

  const TempFolder temp_;
  const std::filesystem::path home_;
  const std::filesystem::path golden_file_;
};

TEST_P(CorpusTest, TheSamePropertiesGiveTheSameJobInAFileAnAzkabanStepOrAJobDocument) {
  const std::string own_text = ReadWhole(CorpusFolder() / (set() + ".properties"));
  const std::string own_file = set() + ".properties";
  WriteWhole(own_file, own_text);
  const auto answer = ThroughCommandLine(own_file);
  ExpectJsonHoldsAll(answer);
  const std::string as_written = Text(answer, own_file);
  if (IsUpdating()) WriteWhole(golden_file_, as_written);
  const std::string golden = ReadWhole(golden_file_);
  EXPECT_EQ(as_written, golden) << "as it is written, on the command line";
  EXPECT_EQ(Text(ThroughDocument(boost::json::string(own_text)), "no file"), AsOfDocument(golden))
      << "as it is written, in a job document";

  const auto properties = ParseJavaProperties(own_text, own_file);
  if (!properties.ok()) return;  // only readable properties can be stored
  const std::string engine_file = "step.properties";
  WriteWhole(engine_file, StoreAsJava(*properties));
  EXPECT_EQ(WithoutLines(Text(ThroughCommandLine(engine_file), engine_file)), WithoutLines(golden))
      << "as an engine writes it, on the command line";
  const auto step = ThroughStep(*properties, set() + "_job_props_4711_tmp");
  EXPECT_EQ(Text(step, "the step's properties"), AsOfStep(golden, *properties)) << "as a step of Azkaban";
  EXPECT_EQ(Text(ThroughDocument(ObjectOf(*properties)), "no file"), AsOfDocument(AsOfStep(golden, *properties)))
      << "as an object in a job document";
}

// Reading these files fails at their text. The command line reports the line, and a step reports the key.
TEST(CorpusFormatTest, TheCommandLineAndAnAzkabanStepRefuseAMalformedPropertiesFileForTheSameReason) {
  const TempFolder folder;
  for (const char* set : {"bad-format-escape", "bad-format-nul", "bad-format-surrogate"}) {
    const std::filesystem::path file = CorpusFolder() / StrCat(set, ".properties");
    const auto job = ThroughCommandLine(file);
    const auto step = azkaban::ReadStep(file, folder.path());
    ASSERT_TRUE(!job.ok() && !step.ok()) << set;
    EXPECT_EQ(step.error().code, job.error().code) << set;
    const std::string& message = job.error().message;
    const std::string reason = message.substr(StrCat(file.string(), ":3: ").size());
    EXPECT_THAT(step.error().message, ::testing::StartsWith("the step's properties"));
    EXPECT_THAT(step.error().message, ::testing::EndsWith(StrCat("key tony.containers.command: ", reason)));
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, CorpusTest, ::testing::ValuesIn(SetNames()), [](const auto& param_info) {
  std::string name = param_info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(CorpusFolderTest, EveryPropertiesFileHasAGoldenFileAndViceVersa) {
  EXPECT_EQ(SetNames(), GoldenNames());
  EXPECT_GE(SetNames().size(), 45u);
}

TEST(CorpusFolderTest, PropertiesFilesAreRefusedExactlyIfTheirNamesBeginWithBad) {
  for (const std::string& set : SetNames()) {
    const bool is_refused = ReadWhole(CorpusFolder() / (set + ".json")).starts_with("{\n  \"error\"");
    EXPECT_EQ(is_refused, set.starts_with("bad-")) << set;
  }
}

TEST(CorpusFolderTest, EveryPropertiesFileBeginsWithAComment) {
  for (const std::string& set : SetNames()) {
    EXPECT_TRUE(ReadWhole(CorpusFolder() / (set + ".properties")).starts_with("# ")) << set;
  }
}

}  // namespace
}  // namespace tony
