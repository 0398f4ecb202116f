// Whether a process runs the job of an entry in the ledger: what /proc shows to any user of processes that are not his.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/ledger/ledger.h"

namespace tony {

LedgerKeeper ThisKeeper();  // this process

// A process as all users see it. Another user's environment and program file are not to be seen; the name and the
// command line are, and are the process's own to choose.
struct SeenProcess {
  int64_t pid = 0;
  int64_t user = 0;
  std::string start;
  std::string name;          // "tony-keeper"
  std::string command_line;  // NUL after each argument
};
std::optional<SeenProcess> LookAtProcess(int64_t pid);  // nothing: there is none, or it is a zombie
// "process 1234 (python3) of mallory"; what would not print is left out.
std::string Describe(const SeenProcess& process);

// Whether it is a keeper or an executor of the job, by its name and its command line.
bool Runs(const SeenProcess& process, const LedgerEntry& entry);

// The keeper of the job, as far as it is this user's; nothing: there is none.
std::optional<SeenProcess> FindKeeper(const JobId& job, int64_t user);

// One look at the machine's processes; reads no more of /proc than it must. Its own user's entries and root's are
// believed unseen: they could do anything to us anyway.
class Witnesses {
 public:
  Witnesses();
  Witness Of(const LedgerEntry& entry);

 private:
  const std::string namespace_;
  const bool sees_all_users_;
  std::optional<std::vector<SeenProcess>> programs_;  // of TonY, of all users; read at the first need
};

}  // namespace tony
