#include "runtime/local/local_am_launcher.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"
#include "runtime/records/job_folder.h"

namespace tony {
namespace {

// A keeper that is still silent this long after SIGKILL is reported as hopeless, because it is blocked in the kernel.
constexpr Duration kDying{10'000};

// Returns true if the folder contains all programs of a job, and no other user can have changed them.
bool HasAll(const std::filesystem::path& programs) {
  return IsPrivateToUser(programs.parent_path()) && IsPrivateToUser(programs) &&
         std::ranges::all_of(kJobPrograms, [&](std::string_view name) {
           return IsPrivateToUser(programs / name) && access((programs / name).c_str(), X_OK) == 0;
         });
}

// Returns the path of the job's own keeper program, even if this program's folder contains another keeper. If the job's
// own programs are missing, the keeper in this program's folder is used, because the job would be lost otherwise.
std::string KeeperOf(const JobRecords& records) {
  const std::string beside = SiblingProgram("tony-keeper");
  const auto submission = records.ReadSubmission();
  if (!submission.ok() || submission->programs.empty()) return beside;
  const std::filesystem::path name = std::filesystem::path(submission->programs).filename();
  // This program may be the job's own AM, which may reach the folder of programs through another path. Therefore only
  // the names of the folders are compared.
  if (std::filesystem::path(beside).parent_path().filename() == name) return beside;
  const std::filesystem::path own = JobFolder(records).home() / "programs" / name;
  if (HasAll(own)) return (own / "tony-keeper").string();
  LogWarn(StrCat("the programs of job ", records.job().value, " are missing in ", own.string(),
                 "; the job continues with ", beside));
  return beside;
}

// Returns true if the job needs no keeper any more: it is finished and no AM lives. A living AM may still wait for a
// reply of a keeper that has died.
bool IsOver(const JobFolder& folder) {
  std::error_code error;
  return std::filesystem::exists(folder.finished(), error) && !folder.IsLocked("am.lock");
}

}  // namespace

// Starts a keeper under the lock of the file keeper.start, which prevents two starts at the same time. This process
// takes the lock. The keeper inherits the lock and keeps it until it exits, even a keeper of an earlier release, which
// does not know the lock.
Result<bool> LocalAmLauncher::Start(const JobRecords& records) {
  const JobFolder folder(records);
  const auto lock = folder.Lock("keeper.start");
  if (!lock.ok() && lock.error().code == ErrorCode::kUnavailable) return false;
  if (!lock.ok()) return lock.error();
  if (folder.IsLocked("keeper.lock") || IsOver(folder)) return false;
  TRY_ASSIGN(const auto environment, records.ReadEnvironment());
  ProcessSpec keeper;
  keeper.argv = {KeeperOf(records), records.place().string()};
  keeper.env = WithoutMarks(environment);
  keeper.directory = records.place().string();
  keeper.stdout_file = keeper.stderr_file = (records.place() / "keeper.log").string();
  keeper.inherited = {lock->get()};
  TRY(runner_.Start(keeper, nullptr));
  return true;
}

AmLauncher::Pulse LocalAmLauncher::LookAfter(const JobRecords& records) {
  const Instant now = RealClock().Now();
  if (!pulse_) pulse_.emplace(records);
  const Duration silence = pulse_->Silence(now);
  if (silence < KeeperPulse::kWorthSaying) {
    ended_ = false;
    silent_since_ = {};
    return {};
  }
  const bool said = std::exchange(silent_since_, now - silence) != Instant();
  const bool too_long = silence >= KeeperPulse::kLongestSilence;
  const bool ends = too_long && !std::exchange(ended_, true);
  Pulse pulse{.silent = true, .hopeless = silence >= KeeperPulse::kLongestSilence + kDying};
  if (said && !ends) return pulse;
  const auto keepers = KeepersOf(records);
  const std::string who =
      StrCat("the keeper of job ", records.job().value, keepers.empty() ? "" : ", " + DescribeWithState(keepers[0]));
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(KeeperPulse::kLongestSilence).count();
  if (ends) {
    EndKeeper(records);
    pulse.note = StrCat(who, keepers.empty() ? "" : ",", " has not responded for ", limit,
                        " s; it is killed, and another keeper is started");
  } else {
    pulse.note = StrCat("waits for ", who, ", which has not responded since ", ToIso8601(silent_since_),
                        "; the keeper is replaced after ", limit, " s",
                        keepers.empty() ? "" : StrCat("; \"kill -CONT ", keepers[0], "\" resumes a stopped keeper"));
  }
  return pulse;
}

std::string LocalAmLauncher::DescribeBlocker(const JobRecords& records) const { return tony::DescribeBlocker(records); }

ArbiterView LocalAmLauncher::Look(const JobRecords& records) const { return arbiter_.Look(records); }

Result<std::optional<JobStatus>> LocalAmLauncher::UnwrittenEnd(const JobRecords& records) const {
  return arbiter_.UnwrittenEnd(records);
}

Status LocalAmLauncher::Settle(const JobRecords& records) const { return arbiter_.Settle(records); }

std::string LocalAmLauncher::KeeperFailureHint(const JobRecords& records) const {
  return arbiter_.KeeperFailureHint(records);
}

}  // namespace tony
