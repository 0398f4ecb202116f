// The records of one job in a folder of HDFS.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/records/journal_store.h"
#include "runtime/records/record_store.h"

namespace tony {

struct HdfsFolder {
  std::string file_system;  // shown to people, e.g. "hdfs://nn.example.org:8020"
  std::string path;         // e.g. "/user/eve/.tony/jobs/x"
  // The owner of the job. If the owner is unknown (empty), no record is reported as written by another user.
  std::string user;
  // The names of secret records. Their bytes are in files, because a NameNode's log has the attributes that it receives.
  std::set<std::string> secrets = {};
};

// Makes the folder, and the folders above it, with mode 0700. Existing folders stay as they are.
Status MakeRecordFolder(const std::shared_ptr<HdfsCalls>& calls, const HdfsFolder& folder);

// Implements RecordStore in HDFS, and repeats unanswered calls for a few seconds. A folder inside the job's folder is
// made together with its first record. The job's own folder is never made, because otherwise a late writer would create
// a removed job again. All records survive a power cut as far as HDFS does.
class HdfsRecordStore : public RecordStore {
 public:
  // `written_in` is the folder in which records are written before they get their names; empty: the folder of the
  // record itself. Once `written_in` was moved away, every write and every removal of this store fails with
  // kNotPermitted, however late it comes.
  HdfsRecordStore(std::shared_ptr<HdfsCalls> calls, HdfsFolder folder, HdfsRetryPolicy patience = {},
                  std::string written_in = "");

  Result<std::optional<StoredRecord>> Get(const std::string& name) const override;
  Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const override;
  Status Replace(const std::string& name, std::string_view bytes, Durability durability) const override;
  Status Remove(const std::string& name) const override;
  Result<std::vector<std::string>> List(const std::string& folder) const override;
  Result<std::unique_ptr<EventLoop::Handle>> Watch(EventLoop& loop, EventLoop::Callback fn) const override;
  std::string PlaceOf(const std::string& name) const override;

 private:
  Result<bool> Put(const std::string& name, std::string_view bytes, hadoop::HdfsRename how) const;
  Result<bool> PutOnce(const std::string& name, std::string_view bytes, hadoop::HdfsRename how) const;
  Status MakeFolderOf(const std::string& name) const;
  Status MoveToWrittenIn(std::string& path) const;
  std::string PathOf(const std::string& name) const { return name.empty() ? folder_.path : folder_.path + "/" + name; }

  HdfsBytes bytes_;
  HdfsFolder folder_;
  std::string written_in_;
};

// A journal in HDFS:
//
//   journal/3           the folder of epoch 3; Seal() renames it to journal/3.sealed, with everything in it
//   journal/3/from-25   an empty folder, whose attributes user.tony.25 to user.tony.48 are the records 25 to 48
//   journal/3/31        a record that is too large for an attribute
//   journal/3/.put-...  a file that is being written; the AM of the epoch also writes the job's other records here
//
// Every write names its path, and no write into an epoch's folder can create that folder. A writer that comes after the
// seal, however late, therefore gets the error that the folder does not exist. Folders are made under another name in
// journal/ and then renamed, because a late repetition of a direct creation would make a sealed folder again.
//
// from-25 is a folder and not a file, because CREATE of a file takes several calls to two servers. Each 24th step of a
// job would wait for them.

// Returns the folder of the epoch's records, which is renamed when the epoch is sealed. The AM of the epoch also writes
// the job's other records in this folder first, so none of them can get its final name after the seal.
std::string EpochFolder(const HdfsFolder& job, Epoch epoch);

// Keeps a journal in the folder of the job's records. Only this store may use `calls`, so that its calls never wait for
// others.
class HdfsJournalStore : public JournalStore {
 public:
  HdfsJournalStore(std::shared_ptr<HdfsCalls> calls, HdfsFolder job, HdfsRetryPolicy patience = {});

  Result<bool> Begin(Epoch epoch) const override;
  Result<std::vector<Epoch>> Epochs() const override;
  Result<bool> Add(Epoch epoch, int64_t number, std::string_view bytes) const override;
  Status Seal(Epoch epoch) const override;
  Result<std::vector<JournalRecord>> Read(Epoch epoch) const override;

 private:
  Result<bool> AddAttribute(Epoch epoch, int64_t number, std::string_view bytes) const;
  Result<bool> AddFile(Epoch epoch, int64_t number, std::string_view bytes) const;
  Result<std::vector<JournalRecord>> ReadFolder(const std::string& path) const;
  Status ReadAttributes(const std::string& path, std::vector<JournalRecord>& records) const;
  Result<bool> PutFolder(const std::string& path) const;
  std::string JournalFolder() const { return job_.path + "/journal"; }
  std::string PathOf(Epoch epoch) const { return EpochFolder(job_, epoch); }
  Error Named(Error error, const std::string& what, const std::string& path) const;

  HdfsBytes bytes_;
  HdfsFolder job_;
};

}  // namespace tony
