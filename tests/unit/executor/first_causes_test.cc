// Failures of real programs under real launchers: each verdict has to name the cause of its label.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "executor/task_logs.h"
#include "runtime/base/strings.h"
#include "runtime/job/failure_rules.h"

namespace tony {
namespace {

struct Recorded {
  std::string name;
  Evidence evidence;
  // The verdict must not say `trap`, which may be empty.
  std::string cause, cls, trap;
};

void AddStream(const std::string& name, const std::string& text, Evidence& evidence) {
  executor::LastWords words = executor::LastWordsOf(text);
  (name == "stdout" ? evidence.stdout_tail : evidence.stderr_tail) = std::move(words.lines);
  (name == "stdout" ? evidence.stdout_text : evidence.stderr_text) = std::move(words.text);
}

ExitStatus EndOf(const std::string& text) {
  const auto words = Split(text, ' ');
  const auto kind = words.at(0) == "signal" ? ExitStatus::Kind::kSignaled : ExitStatus::Kind::kExited;
  return {kind, static_cast<int>(ParseInt(words.at(1)).value())};
}

Recorded Read(const std::filesystem::path& file) {
  Recorded recorded{.name = file.stem().string()};
  std::ifstream in(file);
  std::map<std::string, std::string> labels, streams;
  std::string stream;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("---- std")) {
      stream = line.substr(5);
    } else if (!stream.empty()) {
      streams[stream] += line + "\n";
    } else {
      const size_t colon = line.find(": ");
      labels[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  recorded.evidence.exit = EndOf(labels["end"]);
  for (const auto& [name, text] : streams) AddStream(name, text, recorded.evidence);
  recorded.cause = labels["cause"];
  recorded.cls = labels["class"];
  recorded.trap = labels["trap"];
  return recorded;
}

std::vector<Recorded> AllRecorded() {
  std::vector<Recorded> all;
  for (const auto& entry : std::filesystem::directory_iterator(TONY_FIRST_CAUSES)) {
    if (entry.path().extension() == ".log") all.push_back(Read(entry.path()));
  }
  std::ranges::sort(all, std::less(), &Recorded::name);
  return all;
}

TEST(FirstCausesTest, EachVerdictNamesTheCauseAndItsClassAndNotTheTrap) {
  const auto all = AllRecorded();
  EXPECT_GE(all.size(), 60u);
  size_t right = 0;
  for (const Recorded& recorded : all) {
    const Outcome outcome = Classify(recorded.evidence, {});
    const bool named = outcome.message.find(recorded.cause) != std::string::npos;
    const bool trapped = !recorded.trap.empty() && outcome.message.find(recorded.trap) != std::string::npos;
    EXPECT_TRUE(named) << recorded.name << ": " << outcome.message;
    EXPECT_FALSE(trapped) << recorded.name << ": " << outcome.message;
    EXPECT_EQ(ToString(outcome.cls), recorded.cls) << recorded.name << ": " << outcome.message;
    right += named && !trapped && ToString(outcome.cls) == recorded.cls ? 1 : 0;
  }
  EXPECT_EQ(right, all.size()) << "of " << all.size();
}

}  // namespace
}  // namespace tony
