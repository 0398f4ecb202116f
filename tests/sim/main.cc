// tony-sim: runs simulated jobs. A seed says all that happens in a run; what was wrong with one can be seen again.
//
//   tony-sim [--seeds N] [--first S]   runs N seeds from S on (default: 1000 from 1); exit code 1 if any went wrong
//   tony-sim --seed X [--trace]        runs one, and prints all that happened in it
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/base/strings.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/world.h"

namespace tony::sim {
namespace {

constexpr int kUsage = 64;
constexpr char kHelp[] = "usage: tony-sim [--seeds N] [--first S] | --seed X [--trace]\n";

struct Options {
  int64_t seeds = 1000;
  int64_t first = 1;
  std::optional<int64_t> seed;
  bool trace = false;
};

std::optional<Options> ParseOptions(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--trace") {
      options.trace = true;
      continue;
    }
    const auto number = i + 1 < words.size() ? ParseInt(words[i + 1]) : std::nullopt;
    if (!number) return std::nullopt;
    if (words[i] == "--seeds") {
      options.seeds = *number;
    } else if (words[i] == "--first") {
      options.first = *number;
    } else if (words[i] == "--seed") {
      options.seed = *number;
    } else {
      return std::nullopt;
    }
    ++i;
  }
  return options;
}

bool RunSeed(int64_t seed, bool with_trace) {
  const Plan plan = PlanFor(static_cast<uint64_t>(seed));
  World world(plan, Flaw::kNone, with_trace);
  world.Run();
  const auto complaints = HistoryChecker::Check(plan.spec, world.history());
  if (with_trace) std::cout << world.history().trace();
  for (const std::string& complaint : complaints) std::cout << "seed " << seed << ": " << complaint << "\n";
  return complaints.empty();
}

int Main(const std::vector<std::string>& words) {
  const auto options = ParseOptions(words);
  if (!options) {
    std::cerr << kHelp;
    return kUsage;
  }
  if (options->seed) return RunSeed(*options->seed, options->trace) ? 0 : 1;
  int64_t wrong = 0;
  for (int64_t seed = options->first; seed < options->first + options->seeds; ++seed) {
    if (!RunSeed(seed, false)) ++wrong;
  }
  std::cout << options->seeds - wrong << " passed, " << wrong << " failed\n";
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tony::sim

int main(int argc, char** argv) { return tony::sim::Main({argv + 1, argv + argc}); }
