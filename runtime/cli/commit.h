// The commit of the sources. scripts/commit_source generates the file that defines Commit().
#pragma once

namespace tony {

// Returns 12 hexadecimal digits, with "-changed" appended if files were modified; "unknown" without a repository.
const char* Commit();

}  // namespace tony
