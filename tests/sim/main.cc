// tony-sim: runs simulated jobs. A seed decides everything that happens in a run, so a wrong run can be repeated.
//
//   tony-sim [--seeds N] [--first S] [--jobs J]   runs N seeds from S on (default: 1000 from 1), J at a time (default:
//                                                 one for each processor); exit code 1 if any went wrong
//   tony-sim --seed X [--trace]                   runs one, and prints all that happened in it
//
// --requests: runs of submits, kills and watchers under one request id, instead of runs of one job
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/strings.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/request_checker.h"
#include "tests/sim/request_world.h"
#include "tests/sim/seed_plan.h"
#include "tests/sim/world.h"

namespace tony::sim {
namespace {

constexpr int kUsage = 64;
constexpr char kHelp[] = "usage: tony-sim [--seeds N] [--first S] [--jobs J] | --seed X [--trace]; and --requests\n";

struct Options {
  int64_t seeds = 1000;
  int64_t first = 1;
  int64_t jobs = std::max(1u, std::thread::hardware_concurrency());
  std::optional<int64_t> seed;
  bool trace = false;
  bool requests = false;
};

std::optional<Options> ParseOptions(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--trace" || words[i] == "--requests") {
      (words[i] == "--trace" ? options.trace : options.requests) = true;
      continue;
    }
    const auto number = i + 1 < words.size() ? ParseInt(words[i + 1]) : std::nullopt;
    if (!number) return std::nullopt;
    if (words[i] == "--seeds") {
      options.seeds = *number;
    } else if (words[i] == "--first") {
      options.first = *number;
    } else if (words[i] == "--jobs" && *number > 0) {
      options.jobs = *number;
    } else if (words[i] == "--seed") {
      options.seed = *number;
    } else {
      return std::nullopt;
    }
    ++i;
  }
  return options;
}

std::vector<std::string> OfJob(uint64_t seed, bool with_trace) {
  const Plan plan = PlanFor(seed);
  World world(plan, Flaw::kNone, with_trace, &std::cout);
  world.Run();
  return HistoryChecker::Check(plan.spec, world.history());
}

std::vector<std::string> OfRequest(uint64_t seed, bool with_trace) {
  const RequestPlan plan = RequestPlanFor(seed);
  RequestWorld world(plan);
  world.Run();
  if (with_trace) std::cout << world.history().Trace();
  return RequestChecker::Check(plan, world.history());
}

// The text to print if the run aborts.
thread_local std::string running;

void TellAborted(int) { (void)!write(STDERR_FILENO, running.data(), running.size()); }

// Returns what is wrong with the run of a seed, one line for each complaint.
std::string Complaints(const Options& options, int64_t seed, bool with_trace = false) {
  running = StrCat("seed ", seed, ": aborted\n");
  const auto complaints_about = options.requests ? OfRequest : OfJob;
  std::string text;
  for (const std::string& complaint : complaints_about(static_cast<uint64_t>(seed), with_trace)) {
    text += StrCat("seed ", seed, ": ", complaint, "\n");
  }
  return text;
}

int RunOne(const Options& options) {
  const std::string complaints = Complaints(options, *options.seed, options.trace);
  std::cout << complaints;
  return complaints.empty() ? 0 : 1;
}

// Runs share no state; each thread takes the next seed that is free.
int RunMany(const Options& options) {
  std::atomic<int64_t> next = options.first;
  std::atomic<int64_t> wrong = 0;
  std::mutex printing;
  const auto work = [&] {
    for (int64_t seed = next++; seed < options.first + options.seeds; seed = next++) {
      const std::string complaints = Complaints(options, seed);
      if (complaints.empty()) continue;
      ++wrong;
      const std::lock_guard lock(printing);
      std::cout << complaints << std::flush;  // a later run may abort
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int64_t i = 0; i < options.jobs; ++i) threads.emplace_back(work);
  }
  std::cout << options.seeds - wrong << " passed, " << wrong << " failed\n";
  return wrong == 0 ? 0 : 1;
}

int Main(const std::vector<std::string>& words) {
  const auto options = ParseOptions(words);
  if (!options) {
    std::cerr << kHelp;
    return kUsage;
  }
  // failed checks of the program itself abort
  std::signal(SIGABRT, TellAborted);
  return options->seed ? RunOne(*options) : RunMany(*options);
}

}  // namespace
}  // namespace tony::sim

int main(int argc, char** argv) { return tony::sim::Main({argv + 1, argv + argc}); }
