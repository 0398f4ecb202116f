// The records of one job, with their types and names. All processes of the job read and write them, wherever they run.
//
//   spec.json          the job spec; never changes
//   conf.json          the configuration from which the spec was made: each property with its origin, also defaults,
//                      secrets masked; never changes
//   submission.json    job id, user, host, boot id of the host, limits, programs, time of submission; never changes
//   environment        "NAME=value\0..." of the submitter; the job's processes start with it, also after a recovery
//   secrets            "NAME=value\0..." of variables that only the job's tasks get, and that are stored nowhere else;
//                      removed when the job is finished; missing if the job has no such variables
//   token              the job's secret
//   staged.json        lists the entries of the store of staged content that tasks find in their folders; never
//                      changes; missing if there are none. Jobs of the previous release have a copy of the user's
//                      program in src/
//   journal            the AM's decisions
//   clock              the clock that the job's AMs share during one boot
//   am.lease           the lease record (JSON): epoch, address, renewal number
//   kill-requests/     kills, each in a file that is written before any process is notified. An accepted kill stays
//                      until the job ends. Any other kill is removed once the AM has journalled its result, or once the
//                      keeper (the job's supervisor) has refused it because no AM can run any more. Clients of release
//                      0.1 write a kill without a condition into kill-request.json
//   tokens             tokens of the cluster that a client has pushed and the AM has not taken: a token file
//   status.json        the status document: refreshed while the job runs, final when the job has ended
//   acked.json         who has consumed the job's result, and when
//   outputs            the outputs of the chief, as the AM received them: kept_outputs.h
//   logs/              excerpts of logs that lie elsewhere, from failed attempts and from the chief: kept_outputs.h
//
// job_folder.h lists the other files that a job has on this machine.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/claim.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"
#include "runtime/records/entry_store.h"
#include "runtime/records/journal_store.h"
#include "runtime/records/record_store.h"
#include "runtime/records/staged_files.h"

namespace tony {

inline constexpr char kTokensRecord[] = "tokens";
// A job's token consists of this many random bytes, written as twice as many hexadecimal digits.
inline constexpr int kJobTokenBytes = 32;

// The addresses at which an AM listens.
struct AmAddresses {
  Address own;
  // An address for executors that the previous release started, because they do not know Unix sockets. No other process
  // uses it.
  std::optional<Endpoint> for_old_executors = std::nullopt;
  bool operator==(const AmAddresses&) const = default;
};

// Returns the name of the socket of this epoch's AM, e.g. "am.3.sock". The epoch is in the name so that an AM that
// exits late cannot remove its successor's socket.
SocketName SocketOf(Epoch epoch);
std::optional<Epoch> EpochOfSocket(const SocketName& socket);  // nullopt: not such a socket

// The name of the lease record.
inline constexpr char kLeaseName[] = "am.lease";

struct LeaseRecord {
  Epoch epoch;
  AmAddresses am;
  // A number that grows with each renewal. A reader measures by its own clock how long the number has not changed.
  int64_t renewal = 0;
  bool operator==(const LeaseRecord&) const = default;
};

struct Submission {
  JobId job;
  std::string user;
  std::string host;
  Instant time;
  // The BootId() of `host` at submission; empty: not recorded.
  std::string boot;
  // The soft limit of open files of the submitter's processes; 0: not recorded.
  int64_t open_files = 0;
  RequestId request;   // empty: no request id
  int64_t number = 0;  // submission number within `request`
  // The ownership (owner and watch timeout) at submission. Later changes are known only to the AM.
  Claim claim;
  // The entry of $TONY_HOME/programs that has the programs of the job's processes. Empty: each process starts programs
  // from the folder in which its own program lies.
  std::string programs;
  // The names of the tasks' secret variables, whose values are kept nowhere after the job's end.
  std::vector<std::string> secrets{};
};

// The JSON forms of the records that users do not see. kInvalid: the message names the wrong field.
std::string ToJson(const LeaseRecord& record);
std::string ToJson(const Submission& submission);
std::string ToJson(const KillRequest& request);
Result<LeaseRecord> LeaseRecordFromJson(std::string_view json);
Result<Submission> SubmissionFromJson(std::string_view json);
Result<KillRequest> KillRequestFromJson(std::string_view json);
std::string JoinVariables(const std::vector<std::string>& variables);  // e.g. "NAME=value\0..."

struct RecordedKill {
  std::string name;  // name of the kill's file
  KillRequest request;
};

class JobRecords {
 public:
  // `place` is the store's location of the records, for people and for the job's programs; for a local job it is a
  // folder. `journal` is the store of the journal; null: the journal is a record like the others.
  JobRecords(JobId job, std::filesystem::path place, std::shared_ptr<const RecordStore> store,
             std::shared_ptr<const JournalStore> journal = nullptr)
      : job_(std::move(job)), place_(std::move(place)), store_(std::move(store)), journal_(std::move(journal)) {}

  const JobId& job() const { return job_; }
  const std::filesystem::path& place() const { return place_; }
  const RecordStore& store() const { return *store_; }
  const JournalStore* journal_store() const { return journal_.get(); }  // null: the journal is a record

  Result<JobSpec> ReadSpec() const;
  Result<Submission> ReadSubmission() const;
  Result<std::string> ReadToken() const;  // kInvalid: it is incomplete or empty
  Result<std::vector<std::string>> ReadEnvironment() const;
  Result<std::vector<std::string>> ReadSecrets() const;  // e.g. "NAME=value"
  void RemoveSecrets() const;                            // does nothing if none exist
  // Returns nullopt if the job has no staged files, or if an earlier release put its program into src/.
  Result<std::optional<StagedFiles>> ReadStaged() const;
  // Returns the content of conf.json; nullopt for jobs of earlier releases, which have none.
  Result<std::optional<std::string>> ReadConfiguration() const;
  std::string PlaceOfConfiguration() const { return store_->PlaceOf("conf.json"); }
  // Returns the bytes of the journal; nullopt if no AM has begun one.
  Result<std::optional<std::string>> ReadJournal() const;
  std::string PlaceOfJournal() const { return store_->PlaceOf("journal"); }  // shown to people

  Status WriteClock(const KeptClock& clock) const;
  // Returns nullopt if no AM has become leader yet, or if the clock was lost.
  Result<std::optional<KeptClock>> ReadClock() const;

  Status WriteLease(const LeaseRecord& record) const;
  Result<std::optional<LeaseRecord>> ReadLease() const;  // nullopt: no AM was leader yet
  // ReadKills() returns all kills that can be read, and logs the names of the others. If another user wrote the file of
  // a kill, the kill's `asker` names that user. Root writes with the owner's rights, so the file of a kill by root does
  // not show root.
  Result<RecordedKill> WriteKill(const KillRequest& request) const;  // under a new name
  Result<std::vector<RecordedKill>> ReadKills() const;
  Result<bool> HasPlainKill() const;
  Status RemoveKill(const std::string& name) const;  // does nothing if already removed
  Status WriteStatus(const JobStatus& status, Durability durability) const;
  Result<std::optional<JobStatus>> ReadStatus() const;
  bool HasVerdict() const;  // false if the status is unreadable
  // Frees the disk space that was reserved for the job's last records; does nothing if it was freed before.
  void FreeReserve() const;
  // Records that the owner has consumed the job's result. Does nothing if this is recorded already.
  Status WriteAcked(const OwnerToken& owner, Instant now) const;
  Result<bool> IsAcked() const;

 private:
  JobId job_;
  std::filesystem::path place_;
  std::shared_ptr<const RecordStore> store_;
  std::shared_ptr<const JournalStore> journal_;
};

// Returns the records of a job that are files in `folder`, which has the job's id as its name.
JobRecords LocalJobRecords(const std::filesystem::path& folder);

// A cache of records that this process wrote itself and whose bytes never change. If the store is far away, a submit
// thus need not read what it has just written.

// The bytes of records by name. nullopt: the record does not exist and will never exist.
using RecordsByName = std::map<std::string, std::optional<std::string>>;

// A store that answers Get() of known records from memory, and passes all other calls to `store`. Thread-safe.
class CachedRecords : public RecordStore {
 public:
  CachedRecords(std::shared_ptr<const RecordStore> store, RecordsByName known)
      : store_(std::move(store)), known_(std::move(known)) {}

  Result<std::optional<StoredRecord>> Get(const std::string& name) const override;
  Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const override {
    return store_->PutNew(name, bytes, durability);
  }
  Status Replace(const std::string& name, std::string_view bytes, Durability durability) const override {
    return store_->Replace(name, bytes, durability);
  }
  Status Remove(const std::string& name) const override { return store_->Remove(name); }
  Result<std::vector<std::string>> List(const std::string& folder) const override { return store_->List(folder); }
  Result<std::unique_ptr<EventLoop::Handle>> Watch(EventLoop& loop, EventLoop::Callback fn) const override {
    return store_->Watch(loop, std::move(fn));
  }
  std::string PlaceOf(const std::string& name) const override { return store_->PlaceOf(name); }

 private:
  const std::shared_ptr<const RecordStore> store_;
  const RecordsByName known_;
};

// All jobs of one user in one backend. Interface, implemented by LocalJobStore, by YarnJobs, and by the fake backend in
// tests.

struct NewJob {
  JobSpec spec;
  std::vector<std::string> environment;  // the submitter's variables, "NAME=value"
  StagedFiles staged;
  JobId id{};  // empty: Create() makes one
  RequestId request{};
  int64_t number = 0;
  Claim claim{};
  // The content of conf.json, with secrets masked (runtime/spec/job_spec_parser.h). Empty: the job has none.
  std::string configuration{};
  std::map<std::string, std::string> secrets{};  // secret variables of the tasks
  // The entry of $TONY_HOME/programs that has the programs of the job's processes; empty: the job has none.
  std::string programs{};
  std::vector<std::string> SecretNames() const;
  // The records that are in the store already. Set by JobStore::UploadJob(); otherwise nullopt.
  std::optional<RecordsByName> uploaded_records{};
};

class JobStore {
 public:
  virtual ~JobStore() = default;
  virtual Result<JobId> NewId(Instant now) const = 0;
  // Uploads the records of a job, which takes long if the store is far away. Until Create() no other process finds the
  // job. Create() of the returned job is then a single write. kUnavailable: the store did not answer, or `watch`
  // stopped the work. If the caller does not create the returned job, or creates it under another id, it must call
  // DiscardUploaded(). `tony gc` cleans up after a caller that died.
  virtual Result<NewJob> UploadJob(NewJob job, Instant, const StageWatch&) const { return job; }
  virtual void DiscardUploaded(const NewJob&) const {}
  // Makes the whole job or nothing, even if the submit dies half way. kCannotWrite names the place. kUnavailable:
  // another process removed the uploaded records, because it considered this submit dead.
  virtual Result<JobRecords> Create(const NewJob& job, Instant now) const = 0;
  // Removes a job that was created but cannot be started.
  virtual void Discard(const JobRecords& job) const = 0;
  // kNotFound: no such job. kNotPermitted: the job belongs to another user.
  virtual Result<JobRecords> Find(const JobId& job) const = 0;
  virtual Result<std::vector<JobRecords>> List() const = 0;  // newest first
  // All jobs that may not have ended, and the newest jobs that have ended.
  struct NewestJobs {
    std::vector<JobRecords> jobs;  // newest first
    size_t left_out = 0;
  };
  virtual Result<NewestJobs> ListNewest(size_t most_finished) const = 0;
};

}  // namespace tony
