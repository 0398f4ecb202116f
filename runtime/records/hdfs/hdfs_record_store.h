// The records of one job in a folder of HDFS.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/records/journal_store.h"
#include "runtime/records/record_store.h"

namespace tony {

struct HdfsFolder {
  std::string file_system;  // "hdfs://nn.example.org:8020": for people
  std::string path;         // "/user/eve/.tony/jobs/x"
  std::string user;         // whose the job is; "": not known, and no record has another writer
};

// Also the folders above it. 0700; harmless if it is there.
Status MakeRecordFolder(const std::shared_ptr<HdfsCalls>& calls, const HdfsFolder& folder);

// As RecordStore says, and: what is not answered is asked again, for some seconds. A folder in the job's is made for
// its first record, but never the job's own: who writes late does not make a job anew that was removed. All records
// survive a power cut as HDFS does.
class HdfsRecordStore : public RecordStore {
 public:
  // `written_in`: the folder where records are while they are written, "" for where they will be. When that folder is
  // moved away nothing more is written by this store, however late: kNotPermitted.
  HdfsRecordStore(std::shared_ptr<HdfsCalls> calls, HdfsFolder folder, HdfsPatience patience = {},
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
  std::string PathOf(const std::string& name) const { return name.empty() ? folder_.path : folder_.path + "/" + name; }

  HdfsBytes bytes_;
  HdfsFolder folder_;
  std::string written_in_;
};

// A journal in HDFS.
//
//   journal/3           the epoch's folder; journal/3.sealed: renamed by Seal(), and with it all that is in it
//   journal/3/from-25   an empty folder, whose attributes user.tony.25 to user.tony.48 are the records 25 to 48
//   journal/3/31        a record that is too large for an attribute
//   journal/3/.put-...  being written; also of the job's other records, which its master writes
//
// All that is written names its path, and nothing in an epoch's folder is written in a way that would make that folder.
// So whoever writes after the seal is told that there is no such folder, however late. Folders are made in journal/
// under another name and renamed: a late repetition does not make them anew.
//
// from-25 is no file, because CREATE is several calls of two servers, and each 24th turn of a job would wait for them.

// Where the epoch's records are; gone when it is sealed. What else its master writes, it writes first in here:
// nothing of it gets its name after the seal.
std::string EpochFolder(const HdfsFolder& job, Epoch epoch);

// Beside the records of the job. `calls` are its own: see WebHdfsCalls.
class HdfsJournalStore : public JournalStore {
 public:
  HdfsJournalStore(std::shared_ptr<HdfsCalls> calls, HdfsFolder job, HdfsPatience patience = {});

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
