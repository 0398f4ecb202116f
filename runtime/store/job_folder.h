// The files of one job on this machine, and their names. Everything is private to the user (0700, 0600).
//
//   spec.json          the job spec; never changes
//   conf.json          what it was made of: each property with its origin, defaults too, secrets masked; never changes
//   submission.json    job id, user, host, its boot, limits, programs, time of submission; never changes
//   boot-id            the boot of the machine that its newest keeper belongs to
//   clock              the clock that its AMs share, on that boot
//   environment        "NAME=value\0..." of the submitter: what its processes start with, also after a recovery
//   secrets            the same of variables that only its tasks get, and that stand nowhere else; gone when it is
//                      finished; none: there are no such
//   token              the job's secret
//   page-token         what the address of the job's page begins with, so that only who knows it sees the page; a
//                      new one whenever the port is; none: no page
//   page-port          where the page is served, as long as the AM or the keeper lives; none: nowhere yet
//   staged.json        which entries of the store of staged content the job's tasks find in their folders; never
//                      changes; none: nothing. Jobs of the release before have a copy of the user's program in src/
//   journal            the AM's decisions
//   journal.written    how long the journal is at least; one that is shorter has been damaged
//   am.lease           the lease record (JSON): epoch, address, renewal number
//   am.3.sock          where the AM of epoch 3 listens
//   am.lock keeper.lock  locked by the ruling AM and keeper as long as they live
//   keeper.sock epoch am.deaths containers/  the keeper's
//   reserve            room on the disk for the job's last records, given up when they find no other
//   finished           nothing of the job is to be started again
//   kill-request.json  somebody wants the job ended; written before anyone is told
//   kill-requests/     the same with a condition or a time; each is removed once the AM has journalled what came of it,
//                      one that is taken at the end of the job; NAME.answer: the keeper's, where no AM can rule
//   claim.json         who owns and watches the job, as the AM has told others, for its keeper: claim_record.h
//   looked             the sign of those who look while no AM lives: looks.h
//   status.json        the status document: refreshed while the job runs, final when it has ended
//   acked.json         who has consumed the job's result, and when
//   logs/worker-3/1/{stdout,stderr,executor.log,outcome.json,usage.json}   work/worker-3/1/   by attempt
//   logs/worker-0/1/output.json   what the chief left: kept_outputs.h
//   outputs                       the same, as its master heard it
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/address.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/claim.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"
#include "runtime/job/kept_clock.h"
#include "runtime/store/staged_files.h"

namespace tony {

inline constexpr int kJobTokenBytes = 32;  // of the job's token, in hexadecimal digits twice as many

// Where an AM listens.
struct AmAddresses {
  Address own;
  // For executors that the release before this one started, who know nothing of sockets; for nobody else.
  std::optional<Endpoint> for_old_executors = std::nullopt;
  bool operator==(const AmAddresses&) const = default;
};

// The AM's socket, by epoch: a master that is late cannot remove its successor's. "am.3.sock".
SocketName SocketOf(Epoch epoch);
std::optional<Epoch> EpochOfSocket(const SocketName& socket);  // nothing: not an AM's

struct LeaseRecord {
  Epoch epoch;
  AmAddresses am;
  int64_t renewal = 0;  // grows with each renewal; readers judge freshness by their own clock: has it changed?
  bool operator==(const LeaseRecord&) const = default;
};

struct Submission {
  JobId job;
  std::string user;
  std::string host;
  Instant time;
  std::string boot;        // BootId() of the host then; "": not recorded
  int64_t open_files = 0;  // how many the submitter's processes might have open (soft limit); 0: not recorded
  RequestId request;       // empty: none
  int64_t number = 0;      // submission number under that id
  Claim claim;             // of the submitter; later ones are the AM's to know
  std::string programs;    // the entry of $TONY_HOME/programs that its processes are; "": those beside who starts them
};

class JobFolder {
 public:
  explicit JobFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  JobId job() const { return {path_.filename().string()}; }
  std::filesystem::path configuration() const { return path_ / "conf.json"; }  // jobs of earlier releases have none
  std::filesystem::path journal() const { return path_ / "journal"; }
  std::filesystem::path secrets() const { return path_ / "secrets"; }
  std::filesystem::path src() const { return path_ / "src"; }
  std::filesystem::path lease() const { return path_ / "am.lease"; }
  std::filesystem::path status() const { return path_ / "status.json"; }
  std::filesystem::path finished() const { return path_ / "finished"; }
  std::filesystem::path acked() const { return path_ / "acked.json"; }
  std::filesystem::path LogFolder(const AttemptId& attempt) const;   // logs/worker-3/1
  std::filesystem::path WorkFolder(const AttemptId& attempt) const;  // work/worker-3/1

  // Sets room aside for a job of so many tasks; kCannotWrite: there is none.
  Status MakeReserve(int tasks) const;
  void GiveUpReserve() const;  // harmless if it is gone; for the end of the job, when none of its tasks can fill it

  Result<JobSpec> ReadSpec() const;
  Result<Submission> ReadSubmission() const;
  Result<std::string> ReadToken() const;  // kInvalid: it is not what Create() has written, but cut off or emptied
  Result<std::vector<std::string>> ReadEnvironment() const;
  Result<std::vector<std::string>> ReadSecrets() const;   // "NAME=value"
  void RemoveSecrets() const;                             // harmless if there are none
  Result<std::optional<StagedFiles>> ReadStaged() const;  // nothing: the job has none, or a src/

  Status WriteClock(const KeptClock& clock) const;
  Result<std::optional<KeptClock>> ReadClock() const;  // nothing: no AM has ruled yet, or the file is not there

  Status WriteBoot(const std::string& boot) const;
  // Whether this machine, the job's own, has been started anew since the job was last kept: then nothing of it lives.
  // Not known: no.
  bool IsOfEarlierBoot() const;

  Status WriteLease(const LeaseRecord& record) const;    // by rename
  Result<std::optional<LeaseRecord>> ReadLease() const;  // nothing: no AM has ruled yet
  // The `asker` of a request that is read is the owner of its file. Root that writes here has the owner's rights.
  Status WriteKillRequest(const KillRequest& request) const;  // plain; by rename; a shorter grace replaces a longer
  Result<std::optional<KillRequest>> ReadKillRequest() const;
  // Those that are not plain. A file that cannot be read is left out, and said in the log.
  struct NamedKillRequest {
    std::string name;
    KillRequest request;
  };
  Status WriteConditionalKill(const std::string& name, const KillRequest& request) const;  // `name`: new, random
  Result<std::vector<NamedKillRequest>> ReadConditionalKills() const;
  Status RemoveConditionalKill(const std::string& name) const;      // harmless if it is gone
  Status WriteStatus(const JobStatus& status, bool durable) const;  // by rename; durable: survives a power cut
  Result<std::optional<JobStatus>> ReadStatus() const;

  // What an attempt's executor keeps until the AM has acknowledged it: logs/worker-3/1/outcome.json.
  Status WriteOutcome(const AttemptId& attempt, const Outcome& outcome) const;
  Result<std::optional<Outcome>> ReadOutcome(const AttemptId& attempt) const;

  // Takes the lock file `name` ("am.lock"), or says kUnavailable if it is held, by whomever. Held until the descriptor
  // is closed, copies of it in forked children included.
  Result<UniqueFd> Lock(const std::string& name) const;
  bool IsLocked(const std::string& name) const;  // only looks: never makes a Lock() elsewhere fail

 private:
  std::filesystem::path path_;
};

}  // namespace tony
