// One look at all files of a ledger's folder. Bounded whatever strangers put there: files that are no entries cost a
// name, entries of one user beyond kMostOfOneUser are not opened, and no file is read beyond 64 KiB.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/ledger/machine.h"

namespace tony {

// `remove_dead`: what nobody holds and we may remove. Only under the ledger's lock.
Result<LedgerView> LookAtLedger(const std::filesystem::path& folder, bool remove_dead);

// machine.json in the folder. kInvalid where it cannot be used: then `detected` counts.
Result<StatedMachine> ReadStatedMachine(const std::filesystem::path& folder, const Machine& detected);

}  // namespace tony
