// Scripts: rows of a table that list, step by step, the actions in a world and the expected answers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/base/strings.h"
#include "tests/support/table_test.h"

namespace tony {

// A part of a step: "launch 1-1 exit 3".
struct Words {
  std::string text;
  std::string operator[](size_t i) const {
    const auto words = Split(text, ' ');
    return i < words.size() ? words[i] : "";
  }
  std::string From(size_t i) const {  // word i and all later ones
    size_t at = 0;
    for (; i > 0; --i) {
      at = text.find(' ', at);
      if (at == std::string::npos) return "";
      ++at;
    }
    return text.substr(at);
  }
  int64_t Number(size_t i, int64_t usual = 0) const { return ParseInt((*this)[i]).value_or(usual); }
};

// The action of a word in a world. If it returns an answer, the answer describes what the test sees.
template <class World>
struct Deed {
  template <class Do>
  Deed(Do its) {  // NOLINT: a lambda is a deed
    run = [its](World& world, const Words& words) -> std::string {
      if constexpr (std::is_void_v<decltype(its(world, words))>) {
        its(world, words);
        return {};
      } else {
        return its(world, words);
      }
    };
  }
  std::function<std::string(World&, const Words&)> run;
};
template <class World>
using Deeds = std::map<std::string, Deed<World>>;

// Runs steps of the form {"part | part", "answer | answer"}. Each answer is compared by ExpectText; parts without an
// answer are left out.
template <class World>
void RunScript(World& world, const Deeds<World>& deeds, const std::vector<RowCase>& steps) {
  for (const RowCase& step : steps) {
    std::vector<std::string> answers;
    for (const std::string& part : PartsOf(step.given)) {
      SCOPED_TRACE(part);
      const auto deed = deeds.find(Words{part}[0]);
      ASSERT_NE(deed, deeds.end()) << "no such word";
      const std::string answer = deed->second.run(world, {part});
      if (!answer.empty()) answers.push_back(answer);
      if (testing::Test::HasFatalFailure() || testing::Test::IsSkipped()) return;
    }
    SCOPED_TRACE(StrCat(step.given, " => ", Join(answers, " | ")));
    const auto expected = PartsOf(step.expected);
    ASSERT_EQ(answers.size(), expected.size()) << "expected: " << step.expected;
    for (size_t i = 0; i < answers.size(); ++i) ExpectText(expected[i], answers[i]);
    if (testing::Test::HasFailure()) return;
  }
}

// Gives each row a World of its own, constructed from `args`. The World's words are World::Its().
template <class World, class... Args>
auto ScriptIn(Args... args) {
  return [=](const TestRow& row) {
    World world(args...);
    RunScript(world, World::Its(), row.cases);
  };
}

}  // namespace tony
