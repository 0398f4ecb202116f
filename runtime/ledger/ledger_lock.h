// The lock of a ledger's folder, and who holds it: a flock on the folder itself, which any user may take who can read
// the folder. It keeps those who change the ledger from getting into each other's way; nobody's safety rests on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// `shared`: beside others who only read. kUnavailable: somebody has it; kNotFound: there is no such folder.
Result<UniqueFd> LockFolder(const std::filesystem::path& folder, bool shared);

// Processes that took the lock, without us. One that ended while a child of it holds the lock is not to be seen, nor is
// one of another container.
std::vector<int64_t> LockHolders(const std::filesystem::path& folder);
// The same from the text of /proc/locks. `device` and `inode`: of the folder.
std::vector<int64_t> LockHoldersIn(const std::string& locks, uint64_t device, uint64_t inode);

// "process 1234 (python3) of mallory", or that it cannot be seen.
std::string DescribeHolders(const std::vector<int64_t>& holders);

}  // namespace tony
