// The process check: whether a process runs the job of a ledger entry, judged by what /proc shows of other users'
// processes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/ledger/ledger.h"

namespace tony {

LedgerKeeper ThisKeeper();

// A process as all users see it. The environment and the program file of another user's process are not readable. Its
// name and its command line are readable, and the process can choose both.
struct VisibleProcess {
  int64_t pid = 0;
  int64_t user = 0;
  std::string start;
  std::string name;          // e.g. "tony-keeper"
  std::string command_line;  // NUL after each argument
};
std::optional<VisibleProcess> ReadVisibleProcess(int64_t pid);  // nullopt: not found, or a zombie
// Describes the process for people, e.g. "process 1234 (python3) of mallory". A "?" replaces each character that cannot
// be printed.
std::string Describe(const VisibleProcess& process);

// Returns true if the process is a keeper or an executor of the job, judged by its user, name and command line.
bool Runs(const VisibleProcess& process, const LedgerEntry& entry);

// Returns the keeper of the job among the processes of `user`; nullopt: not found.
std::optional<VisibleProcess> FindKeeper(const JobId& job, int64_t user);

// Makes the process check for ledger entries. Reads /proc only as far as needed. Entries of this user and of root are
// accepted without a check, because these users can change anything in this process anyway.
class ProcessChecker {
 public:
  ProcessChecker();
  ProcessCheck Of(const LedgerEntry& entry);

 private:
  const std::string namespace_;
  const bool sees_all_users_;
  // The running processes of TonY's programs, of all users. The list is made from /proc when it is first needed.
  std::optional<std::vector<VisibleProcess>> programs_;
};

}  // namespace tony
