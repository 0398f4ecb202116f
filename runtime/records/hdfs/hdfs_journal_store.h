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
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/records/hdfs/hdfs_bytes.h"
#include "runtime/records/hdfs/hdfs_record_store.h"
#include "runtime/records/journal_store.h"

namespace tony {

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
  std::string PathOf(Epoch epoch) const;
  Error Named(Error error, const std::string& what, const std::string& path) const;

  HdfsBytes bytes_;
  HdfsFolder job_;
};

}  // namespace tony
