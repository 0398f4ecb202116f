// What a task tells those that start after it, as the address at which a driver waits for its workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony {

using PublishedValues = std::map<std::string, std::string>;  // by name

// Every START of a later stage carries all values of the earlier ones: at most 256 KiB.
constexpr size_t kMostPublishedValues = 8;         // of one task
constexpr size_t kMostPublishedValuesOfJob = 256;  // of all its tasks
constexpr size_t kLongestPublishedValue = 1024;    // bytes
// But of what a preprocessing task hands on to all others, which one task has.
inline constexpr std::string_view kModelParams = "MODEL_PARAMS";
constexpr size_t kLongestModelParams = 32768;

size_t LongestValue(std::string_view name);
bool IsValueName(std::string_view name);  // capital letters, digits and underscores after a letter; 64 at most
// UTF-8 without control characters, and not too long; may be empty.
bool IsPublishable(std::string_view name, std::string_view value);

// Of a file of NAME=value lines those with one of these names and a value that may be published; of equal names the
// first. A line that is not ended is still being written, and is none.
PublishedValues ParsePublished(std::string_view text, const std::vector<std::string>& names);

// The JSON object that a chief left as its job's outputs: what is good of it, and what is not, by name. Pure.

struct OutputMember {
  std::string name;
  std::optional<std::string> text;  // of a string what it says, of anything else its JSON; nothing: null
  std::string json;                 // "name":value without blanks, strings and numbers as they were written
};

struct OutputProblem {
  std::string name;      // of the member; empty: of none alone
  std::string why;       // "line 2, offset 10: NaN is no JSON number"
  bool left_out = true;  // false: the member is there, with a text in place of what JSON has no value for
  bool operator==(const OutputProblem&) const = default;
};

struct Outputs {
  std::vector<OutputMember> members;    // in their order
  std::vector<OutputProblem> problems;  // the first 20; one more without a name says how many there are beside them
  int unnamed = 0;

  void Add(OutputProblem problem);
};

inline constexpr int64_t kLongestOutputs = 1 << 20;  // that is kept

// What of a chief's file is kept, and reported with its outcome.
struct KeptOutputs {
  std::string text;                     // the file; of one that was too long, the members that fit
  std::vector<OutputProblem> left_out;  // what is not in it
  std::string problem;                  // why there is no text; empty: there is
  bool operator==(const KeptOutputs&) const = default;
};

// Who gets TONY_OUTPUT_FILE: the chief; where no task can be one, the only tracked task, as of a job without roles.
bool LeavesOutputs(const JobSpec& spec, const TaskId& task);

// Leaves out the largest members so that the others have at most `most` bytes as an object.
void FitOutputs(Outputs& outputs, size_t most);

std::string ObjectOf(const Outputs& outputs);  // compact JSON

// For people, one line: `"b" is left out (line 1, offset 9: a number out of range)`.
std::string Describe(const OutputProblem& problem);

// [{"name","why","left_out"}]; "name" where there is one.
std::string ToJson(const std::vector<OutputProblem>& problems);
// Of {"problems":[...]}.
Result<std::vector<OutputProblem>> OutputProblemsFromJson(std::string_view json);

// Reads the JSON object that a chief left as its job's outputs. One bad value does not cost the others. Strict all the
// same: what one reader would take for something else than another does not pass. Pure.

// NaN and the infinities, which Python writes, become the texts "NaN", "Infinity" and "-Infinity": Python's float() and
// Java's parseDouble() read them. Left out, by name: a member that is there twice or has a name twice in it, a number
// beyond those of 64-bit floating point, text that is not UTF-8 or escaped wrongly, what nests deeper than 100. Where
// it ends to be JSON, the members before are kept. kInvalid: no object begins there, or there are none before.
Result<Outputs> ParseOutputs(std::string_view text);

}  // namespace tony
