// The report on src_dir, which says what goes to the tasks and what does not, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/staged_files.h"

namespace tony {

// "12 files, 1.2 MB"; empty where the job has no such folder.
std::string AmountOf(const SourceSummary& sources);
// "left out: data, old.ckpt: 3 files, 1.5 GB (.gitignore: data/)", a line for each rule.
std::vector<std::string> LeftOutLines(const SourceSummary& sources);

// {"files":12,"bytes":1234,"left_out":[{"rule":".git","paths":[".git"],"files":31,"bytes":4000}]}; "" where there is
// none.
std::string SourceJson(const SourceSummary& sources);

std::string HumanSize(int64_t bytes);  // "53 bytes", "1.2 MB"

}  // namespace tony
