// The report on src_dir, which says to people what goes to the tasks and what does not.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/staged_files.h"

namespace tony {

// "12 files, 1.2 MB"; empty where the job has no such folder.
std::string AmountOf(const SourceSummary& sources);
// "left out: data, old.ckpt: 3 files, 1.5 GB (.gitignore: data/)", a line for each rule.
std::vector<std::string> LeftOutLines(const SourceSummary& sources);

std::string HumanSize(int64_t bytes);  // "53 bytes", "1.2 MB"

}  // namespace tony
