#include "runtime/ledger/ledger_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/ledger/ledger_files.h"
#include "runtime/ledger/ledger_lock.h"
#include "runtime/ledger/ledger_look.h"
#include "runtime/ledger/machine.h"

namespace tony {
namespace {

constexpr Duration kLook{2};

}  // namespace

Result<LedgerView> LedgerFolder::Read() const {
  Result<UniqueFd> lock = LockFolder(path_, /*shared=*/true);
  std::vector<int64_t> holders;
  if (!lock.ok() && lock.error().code == ErrorCode::kUnavailable) holders = LockHolders(path_);
  for (Duration waited{0}; !lock.ok() && lock.error().code == ErrorCode::kUnavailable && waited < kLockPatience;) {
    std::this_thread::sleep_for(kLook);
    waited += kLook;
    lock = LockFolder(path_, /*shared=*/true);
  }
  if (!lock.ok() && lock.error().code == ErrorCode::kNotFound) return LedgerView{Ledger(DetectMachine(), {}), 0, {}};
  TRY_ASSIGN(LedgerView view, LookAtLedger(path_, /*remove_dead=*/false));
  if (lock.ok() || lock.error().code != ErrorCode::kUnavailable) return view;
  view.went_without_lock = true;
  for (const int64_t pid : LockHolders(path_)) {
    if (std::ranges::count(holders, pid) > 0) view.lock_holders.push_back(pid);
  }
  return view;
}

Machine LedgerFolder::ReadMachine() const {
  const Machine detected = DetectMachine();
  auto stated = ReadStatedMachine(path_, detected);
  return stated.ok() ? std::move(stated->machine) : detected;
}

bool LedgerFolder::IsStill(const LedgerEntry& entry) const {
  const auto file = OpenFile(path_ / NameOf(entry), O_RDONLY);
  return file.ok() && *file && IsHeld((*file)->fd.get());
}

Result<LedgerSession> LedgerFolder::Lock() const {
  TRY_ASSIGN(UniqueFd lock, LockFolder(path_, /*shared=*/false));
  return LedgerSession(*this, std::move(lock));
}

Result<LedgerSession> LedgerFolder::GoWithoutLock() const { return LedgerSession(*this, UniqueFd()); }

void LedgerFolder::Remove(HeldEntry held) const { unlink((path_ / NameOf(held.entry)).c_str()); }

}  // namespace tony
