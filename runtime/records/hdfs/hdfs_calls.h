// HDFS as a thread asks it that waits for the answer: each call is asked once. Seam: WebHdfsCalls, and the tests'
// FakeHdfs, which loses answers and does late what nobody waits for any more.
//
// Any thread. Errors as hadoop::WebHdfs has them: after kUnavailable the work may be done, or may be done later.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/webhdfs.h"

namespace tony {

class HdfsCalls {
 public:
  using Xattrs = std::map<std::string, std::string>;
  virtual ~HdfsCalls() = default;

  virtual Status MakeFolders(const std::string& path) = 0;  // 0700; harmless if there
  virtual Result<hadoop::HdfsEntry> GetEntry(const std::string& path) = 0;
  virtual Result<std::vector<hadoop::HdfsEntry>> List(const std::string& path) = 0;
  // 0600, in a folder that is there. False: there is one.
  virtual Result<bool> Create(const std::string& path, std::string_view bytes) = 0;
  virtual Result<std::string> Read(const std::string& path) = 0;  // the whole file, of one moment
  virtual Result<bool> Rename(const std::string& from, const std::string& to, hadoop::HdfsRename how) = 0;
  virtual Result<bool> Remove(const std::string& path) = 0;  // with what is in it. False: there was nothing
  // False: there is one.
  virtual Result<bool> SetXattr(const std::string& path, const std::string& name, std::string_view value) = 0;
  virtual Result<Xattrs> GetXattrs(const std::string& path) = 0;
};

// What a record's calls may take: a NameNode that is well answers in milliseconds, and there are always others who
// wait. `answer` is the largest record.
HttpCallLimits LimitsOfRecords();

// By WebHDFS, on a loop of its own. The calls of several threads wait for each other: they share the connections that
// are kept. Whose calls may not wait has one of these for itself, as a journal has.
class WebHdfsCalls : public HdfsCalls {
 public:
  explicit WebHdfsCalls(hadoop::WebHdfs::Options options);

  Status MakeFolders(const std::string& path) override;
  Result<hadoop::HdfsEntry> GetEntry(const std::string& path) override;
  Status CheckAccess(const std::string& path, const std::string& action);  // as "r-x"; kNotPermitted: the user may not
  Result<std::vector<hadoop::HdfsEntry>> List(const std::string& path) override;
  Result<bool> Create(const std::string& path, std::string_view bytes) override;
  Result<std::string> Read(const std::string& path) override;
  Result<std::string> ReadPart(const std::string& path, int64_t offset, int64_t length);  // as WebHdfs::Read
  Result<bool> Rename(const std::string& from, const std::string& to, hadoop::HdfsRename how) override;
  Result<bool> Remove(const std::string& path) override;
  Result<bool> SetXattr(const std::string& path, const std::string& name, std::string_view value) override;
  Result<Xattrs> GetXattrs(const std::string& path) override;

 private:
  template <class T, class Start>
  T Ask(Start start);

  const int64_t largest_;
  std::mutex mutex_;
  EventLoop loop_;  // guarded by mutex_, as is the next one
  hadoop::WebHdfs hdfs_;
};

}  // namespace tony
