// The records of one job in a folder of HDFS.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/records/hdfs/hdfs_bytes.h"
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

}  // namespace tony
