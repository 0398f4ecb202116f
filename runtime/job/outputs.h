// The JSON object that a chief left as its job's outputs: what is good of it, and what is not, by name. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony {

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

}  // namespace tony
