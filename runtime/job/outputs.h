// Values that a task publishes for tasks that start later, e.g. the address at which a driver waits for its workers.
// The second part of this file is about the outputs that a chief leaves for its job.
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

using PublishedValues = std::map<std::string, std::string>;  // name -> value

// These limits keep START commands small. In a later stage, each START command carries all values of the earlier
// stages, at most 256 KiB.
constexpr size_t kMostPublishedValues = 8;         // values of one task
constexpr size_t kMostPublishedValuesOfJob = 256;  // values of all tasks together
constexpr size_t kLongestPublishedValue = 1024;    // bytes
// The name of the value that a preprocessing task publishes for all other tasks. This value may be longer than others,
// because only one task has it.
inline constexpr std::string_view kModelParams = "MODEL_PARAMS";
constexpr size_t kLongestModelParams = 32768;

size_t LongestValue(std::string_view name);
// Returns whether the name consists of an upper-case letter and then upper-case letters, digits or underscores, at most
// 64 characters in all.
bool IsValueName(std::string_view name);
// Returns whether the value is UTF-8 without control characters, and not too long. It may be empty.
bool IsPublishable(std::string_view name, std::string_view value);

// Reads a file with lines of NAME=value. Returns the values of `names` that may be published; if a name is repeated,
// its first value counts. A last line without a newline is still being written, and is ignored.
PublishedValues ParsePublished(std::string_view text, const std::vector<std::string>& names);

// ---- The JSON object that a chief leaves as its job's outputs: the members that can be read, and the problems of the
// others. Pure.

struct OutputMember {
  std::string name;
  // The value: the content of a string, or the JSON of any other value. Not set: the value is null.
  std::optional<std::string> text;
  // The whole member as JSON without blanks, "name":value. Strings and numbers are kept as they were written.
  std::string json;
};

struct OutputProblem {
  // The name of the member; empty if the problem concerns more than one member.
  std::string name;
  // The reason, e.g. "line 1, offset 9: a number out of range".
  std::string why;
  // True: the member is missing from the outputs. False: the member is present, with a text in place of a value that
  // JSON cannot express, e.g. NaN.
  bool left_out = true;
  bool operator==(const OutputProblem&) const = default;
};

struct Outputs {
  std::vector<OutputMember> members;  // in the order of the file
  // The first 20 problems. If further problems exist, one more entry without a name counts them.
  std::vector<OutputProblem> problems;
  int unnamed = 0;

  void Add(OutputProblem problem);
};

inline constexpr int64_t kLongestOutputs = 1 << 20;  // bytes of kept text

// The part of a chief's output file that is kept and reported with its outcome.
struct KeptOutputs {
  // The content of the file. If the file is too long: only the members that fit.
  std::string text;
  // The problems of the members that are not in `text`.
  std::vector<OutputProblem> left_out;
  // The reason why no text was kept; empty if a text was kept.
  std::string problem;
  bool operator==(const KeptOutputs&) const = default;
};

// The outputs of a trial are in its outcome, so that the journal and the status have the outputs of all trials.
inline constexpr size_t kLongestTrialOutputs = 4096;  // bytes

// Returns whether the task gets TONY_OUTPUT_FILE, the file for the job's outputs. Each trial of a sweep gets one. In
// another job the chief gets it. In a job whose
// roles cannot have a chief, the only tracked task gets it, e.g. the task of a job without roles.
bool IsOutputTask(const JobSpec& spec, const TaskId& task);

// Leaves out the largest members until the JSON object of the remaining ones has at most `most` bytes.
void TrimOutputs(Outputs& outputs, size_t most);

std::string ObjectOf(const Outputs& outputs);  // Returns the members as compact JSON.

// Returns one line for people: `"b" is left out (line 1, offset 9: a number out of range)`.
std::string Describe(const OutputProblem& problem);

// Writes [{"name","why","left_out"}]; "name" is missing if it is empty.
std::string ToJson(const std::vector<OutputProblem>& problems);
// Reads the problems from an object {"problems":[...]}.
Result<std::vector<OutputProblem>> OutputProblemsFromJson(std::string_view json);

// Reads the JSON object that a chief left as its job's outputs. A bad value does not affect the other members. The
// reader is strict: text that two JSON readers may understand differently is refused. Pure.
// NaN and the infinities, which Python writes, become the texts "NaN", "Infinity" and "-Infinity": Python's float() and
// Java's parseDouble() read these. The following members are left out, and reported by name: a member whose name occurs
// twice, or with a repeated name inside; a number beyond 64-bit floating point; text that is not UTF-8 or is escaped
// wrongly; a value nested deeper than 100 levels. If the text stops being JSON, the members before that point are kept.
// kInvalid: the text does not begin with an object, or no member comes before the mistake.
Result<Outputs> ParseOutputs(std::string_view text);

}  // namespace tony
