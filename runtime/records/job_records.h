// The records of one job, with their types and names: what all of its processes read and write, wherever they run.
//
//   spec.json          the job spec; never changes
//   conf.json          what it was made of: each property with its origin, defaults too, secrets masked; never changes
//   submission.json    job id, user, host, its boot, limits, programs, time of submission; never changes
//   environment        "NAME=value\0..." of the submitter: what its processes start with, also after a recovery
//   secrets            the same of variables that only its tasks get, and that stand nowhere else; gone when it is
//                      finished; none: there are no such
//   token              the job's secret
//   staged.json        which entries of the store of staged content the job's tasks find in their folders; never
//                      changes; none: nothing. Jobs of the release before have a copy of the user's program in src/
//   journal            the AM's decisions
//   clock              the clock that its AMs share, on that boot
//   am.lease           the lease record (JSON): epoch, address, renewal number
//   kill-requests/     kills, each in a file that is written before anyone is told of it. A kill that is taken stays
//                      until the end of the job; another one is removed once the AM has journalled what came of it, or
//                      a keeper that no AM can follow has refused it. Clients of 0.1 write a kill without a condition
//                      into kill-request.json
//   status.json        the status document: refreshed while the job runs, final when it has ended
//   acked.json         who has consumed the job's result, and when
//   outputs            what the chief left, as its master heard it: kept_outputs.h
//   logs/              of logs that lie elsewhere, what is kept of those that failed and of the chief's: kept_outputs.h
//
// job_folder.h has what else a job has on this machine.
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

// The documents of a job's folder that are not shown to users. kInvalid names the field.
std::string ToJson(const LeaseRecord& record);
std::string ToJson(const Submission& submission);
std::string ToJson(const KillRequest& request);
Result<LeaseRecord> LeaseRecordFromJson(std::string_view json);
Result<Submission> SubmissionFromJson(std::string_view json);
Result<KillRequest> KillRequestFromJson(std::string_view json);
std::string JoinVariables(const std::vector<std::string>& variables);  // "NAME=value\0..."

struct RecordedKill {
  std::string name;  // of its file
  KillRequest request;
};

class JobRecords {
 public:
  // `place`: where the store keeps them, a folder here: for people, and for the programs of the job. `journal`: where
  // the journal is kept that is no record; null: it is one.
  JobRecords(JobId job, std::filesystem::path place, std::shared_ptr<const RecordStore> store,
             std::shared_ptr<const JournalStore> journal = nullptr)
      : job_(std::move(job)), place_(std::move(place)), store_(std::move(store)), journal_(std::move(journal)) {}

  const JobId& job() const { return job_; }
  const std::filesystem::path& place() const { return place_; }
  const RecordStore& store() const { return *store_; }
  const JournalStore* journal_store() const { return journal_.get(); }  // null: the journal is a record

  Result<JobSpec> ReadSpec() const;
  Result<Submission> ReadSubmission() const;
  Result<std::string> ReadToken() const;  // kInvalid: it is not what was written, but cut off or emptied
  Result<std::vector<std::string>> ReadEnvironment() const;
  Result<std::vector<std::string>> ReadSecrets() const;          // "NAME=value"
  void RemoveSecrets() const;                                    // harmless if there are none
  Result<std::optional<StagedFiles>> ReadStaged() const;         // nothing: the job has none, or a src/
  Result<std::optional<std::string>> ReadConfiguration() const;  // conf.json; jobs of earlier releases have none
  std::string PlaceOfConfiguration() const { return store_->PlaceOf("conf.json"); }
  Result<std::optional<std::string>> ReadJournal() const;                    // its bytes; nothing: no AM has begun one
  std::string PlaceOfJournal() const { return store_->PlaceOf("journal"); }  // for people

  Status WriteClock(const KeptClock& clock) const;
  Result<std::optional<KeptClock>> ReadClock() const;  // nothing: no AM has ruled yet, or it is lost

  Status WriteLease(const LeaseRecord& record) const;
  Result<std::optional<LeaseRecord>> ReadLease() const;  // nothing: no AM has ruled yet
  // The `asker` of a request that is read is the user who wrote it; root that writes here has the owner's rights. A
  // request that cannot be read is left out, and named in the log.
  Result<RecordedKill> WriteKill(const KillRequest& request) const;  // under a new name
  Result<std::vector<RecordedKill>> ReadKills() const;
  Result<bool> HasPlainKill() const;
  Status RemoveKill(const std::string& name) const;  // harmless if it is gone
  Status WriteStatus(const JobStatus& status, Durability durability) const;
  Result<std::optional<JobStatus>> ReadStatus() const;
  bool HasVerdict() const;     // false also where the status cannot be read
  void GiveUpReserve() const;  // for the end of the job: room for its last records; harmless if it is gone
  Status WriteAcked(const OwnerToken& owner, Instant now) const;  // harmless if somebody was first
  Result<bool> IsAcked() const;

 private:
  JobId job_;
  std::filesystem::path place_;
  std::shared_ptr<const RecordStore> store_;
  std::shared_ptr<const JournalStore> journal_;
};

// Of a job whose records are files in this folder, which has the job's name.
JobRecords LocalJobRecords(const std::filesystem::path& folder);

// Records of which a process knows some without asking: it wrote them itself, and they never have other bytes. Where
// the store is far away, who submits a job asks it for none of what it has just told it.

// By name; nothing: there is no such record, and there never will be.
using RecordsByName = std::map<std::string, std::optional<std::string>>;

// Get() of these comes from memory; all else goes to `store`. Any thread.
class KnownRecords : public RecordStore {
 public:
  KnownRecords(std::shared_ptr<const RecordStore> store, RecordsByName known)
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

// The jobs of one user, of one backend. Seam: LocalJobStore; the fake backend's in tests.

struct NewJob {
  JobSpec spec;
  std::vector<std::string> environment;  // of the submitter
  StagedFiles staged;
  JobId id{};  // empty: Create() makes one
  RequestId request{};
  int64_t number = 0;
  Claim claim{};
  std::string configuration{};  // for conf.json, secrets masked (runtime/spec/job_spec_parser.h); empty: none
  std::map<std::string, std::string> secrets{};  // variables of the tasks
  std::string programs{};                        // the entry of $TONY_HOME/programs; empty: none
  std::optional<RecordsByName> laid{};           // by JobStore::Lay(): the records that are there; else nothing
};

class JobStore {
 public:
  virtual ~JobStore() = default;
  virtual Result<JobId> NewId(Instant now) const = 0;
  // All of Create() that takes long, where that is not here: nobody finds the job yet, and Create() of what this
  // returns is one write. kUnavailable, too, when the watch has stopped it. What is not created is discarded, or an id
  // that is not used; where nobody does that, `tony gc` does.
  virtual Result<NewJob> Lay(NewJob job, Instant, const StageWatch&) const { return job; }
  virtual void DiscardLaid(const NewJob&) const {}
  // All of it or nothing, also where the submit dies half way. kCannotWrite names the place. kUnavailable: what was
  // laid has been taken away, by who thought that its submit had died.
  virtual Result<JobRecords> Create(const NewJob& job, Instant now) const = 0;
  virtual void Discard(const JobRecords& job) const = 0;  // one that was made, and cannot be started
  // kNotFound; kNotPermitted: it is somebody else's.
  virtual Result<JobRecords> Find(const JobId& job) const = 0;
  virtual Result<std::vector<JobRecords>> List() const = 0;  // newest first
  // All that may not have ended, and of the others the newest.
  struct NewestJobs {
    std::vector<JobRecords> jobs;  // newest first
    size_t left_out = 0;
  };
  virtual Result<NewestJobs> ListNewest(size_t most_finished) const = 0;
};

}  // namespace tony
