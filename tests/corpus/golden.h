// The goldens: the expected result of each set of properties, as text.
//
//   {"warnings": ["..."], "spec": {...}}                    `spec`: only what differs from the spec of kBaseSet
//   {"error": {"code": 65, "message": "..."}}
//
// ${DIR} stands for the folder from which the set was read, and ${SET} for the set's file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

inline constexpr std::string_view kBaseSet = "minimal";  // its golden has the whole spec

std::filesystem::path CorpusFolder();
// Sorted, except that kBaseSet is first because the other goldens are differences from it.
std::vector<std::string> SetNames();
std::vector<std::string> GoldenNames();  // in the same order

// Returns a reader's result for `set` in the form of a golden. `file` is the set's file as origins and messages name
// it.
std::string AnswerText(std::string_view set, const Result<ParsedJobSpec>& answer, const std::string& directory,
                       const std::string& file);

// Removes the line numbers behind ${SET}, for readers that do not know the set's lines.
std::string WithoutLines(const std::string& text);

std::string ReadWhole(const std::filesystem::path& file);  // empty if the file is missing
void WriteWhole(const std::filesystem::path& file, std::string_view text);

}  // namespace tony
