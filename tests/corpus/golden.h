// The goldens: what each set of properties must come to, as text.
//
//   {"warnings": ["..."], "spec": {...}}                    `spec`: only what differs from the spec of kBaseSet
//   {"error": {"code": 65, "message": "..."}}
//
// ${DIR} stands for the folder that the set was read in, ${SET} for the set's file.
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
std::vector<std::string> SetNames();     // sorted, but kBaseSet first: the other goldens are told by it
std::vector<std::string> GoldenNames();  // the same

// What a reader made of `set`, as its golden says it. `file`: the set's file as origins and messages name it.
std::string AnswerText(std::string_view set, const Result<ParsedJobSpec>& answer, const std::string& directory,
                       const std::string& file);

// Without the numbers behind ${SET}: for readers that do not have the set's own lines.
std::string WithoutLines(const std::string& text);

std::string ReadWhole(const std::filesystem::path& file);  // empty if there is none
void WriteWhole(const std::filesystem::path& file, std::string_view text);

}  // namespace tony
