// The commit of the sources: the file behind this is made by scripts/commit_source.
#pragma once

namespace tony {

const char* Commit();  // 12 hexadecimal digits, "-changed" behind them if files were; "unknown" without a repository

}  // namespace tony
