#include "runtime/client/machine_check.h"

#include <unistd.h>

#include "runtime/base/strings.h"
#include "runtime/client/output.h"
#include "runtime/scheduler/local/ledger_folder.h"

namespace tony {

Status CheckMachine(const JobSpec& spec) {
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  TRY(folder.Make());
  TRY_ASSIGN(const LedgerView view, folder.Read());
  for (const std::string& warning : view.warnings) Say(StrCat("tony: warning: ", warning));
  TRY(CheckEverFits(spec, view.ledger.machine(), geteuid()));
  if (folder.is_private()) Say(StrCat("tony: ", folder.Announcement()));
  return Ok();
}

std::optional<std::string> MachineWarning(const JobSpec& spec) {
  const auto folder = LedgerFolder::FindHere();
  if (!folder.ok()) return folder.error().message;
  const auto view = folder->Read();
  if (!view.ok()) return view.error().message;
  const Status fits = CheckEverFits(spec, view->ledger.machine(), geteuid());
  if (fits.ok()) return std::nullopt;
  return fits.error().message;
}

}  // namespace tony
