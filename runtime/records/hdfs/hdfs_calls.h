// A call of HDFS that a thread waits for, on a loop that is the caller's alone meanwhile.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/hadoop/webhdfs.h"

namespace tony {

// What the call that `start(done)` begins is answered with; the call's own limits end it.
template <class T, class Start>
T AwaitAnswer(EventLoop& loop, const Start& start) {
  return WithoutThrowing(
      [&] { return AnswerFrom<T>(loop, start); });  // the loop throws where there are no more descriptors
}

// HDFS as a thread asks it that waits for the answer: each call is asked once. Seam: WebHdfsCalls, and the tests'
// FakeHdfs, which loses answers and does late what nobody waits for any more.
//
// Any thread. Errors as hadoop::WebHdfs has them: after kUnavailable the work may be done, or may be done later.

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

// Bytes under a name in HDFS, whole or not there.
//
//   up to 12,000 bytes   CREATE .put-<random>, empty -> SETXATTR user.tony.bytes --+-> RENAME to its name
//   more                 CREATE .put-<random>, with them -> as long as they are? --+
//
// HDFS takes 20 ms or, every second time, 430 ms to close a file with bytes, and closes one that is cut off half way as
// if it were whole; an attribute is in the NameNode's own log after 5 ms (README.md has the figures). A file that has
// no bytes has them in its attribute, so a name says where its bytes are by its length. Where a NameNode refuses
// attributes, all are files; one that has them switched off is not asked again.
//
// What is not answered is asked again. A rename that was not answered is found by looking for .put-<random>, which
// nobody else touches: it is gone from a folder that is there, so it was renamed. That a write is done is only told
// when nothing of it can happen any more: a late repetition does not bring back what was replaced since.

// A NameNode takes 16 KiB with the name; twice as many characters are in the URL, of the 64 KiB that its server takes.
inline constexpr size_t kMostInAttribute = 12'000;

inline bool IsMissing(const Error& error) { return error.code == ErrorCode::kNotFound; }
// Whether what was asked for is there.
inline Result<bool> WasFound(const Result<hadoop::HdfsEntry>& entry) {
  if (entry.ok() || IsMissing(entry.error())) return entry.ok();
  return entry.error();
}

// How often what was not answered is asked again, and after which pauses. Nothing is asked again after `longest`.
struct HdfsPatience {
  std::vector<Duration> pauses = {Duration(100), Duration(400), Duration(1500)};
  Duration longest{20'000};
};

// Any thread. Errors as HdfsCalls.
class HdfsBytes {
 public:
  HdfsBytes(std::shared_ptr<HdfsCalls> calls, HdfsPatience patience)
      : calls_(std::move(calls)), patience_(std::move(patience)) {}

  struct Found {
    std::string bytes;
    std::string owner;
  };
  Result<std::optional<Found>> Get(const std::string& path) const;  // nothing: there is none
  // False (only kIfNew): somebody was first. kNotFound: there is no such folder, and none was made; what was written
  // there may have been moved away with it. `written_in`: the folder where .put-<random> is, "" for that of the path.
  Result<bool> Put(const std::string& path, std::string_view bytes, hadoop::HdfsRename how,
                   const std::string& written_in = "") const;
  // The same of a folder, made empty. It is made in the folder `place`, which MKDIRS would make anew, and then renamed.
  Result<bool> PutFolder(const std::string& path, const std::string& place) const;

  // Whether attributes may be tried: nothing has said yet that the NameNode has them switched off.
  bool MayHaveAttributes() const { return !*attributes_are_off_; }
  // Whether a file is to be tried after this error of an attribute.
  bool IsRefusedAttribute(const Error& error) const;

  // What `call(HdfsCalls&)` says, asked again while it is kUnavailable. It may be done twice.
  template <class Call>
  auto Ask(Call call) const {
    Tries tries(patience_);
    return Asked(tries, call);
  }

 private:
  class Tries {
   public:
    explicit Tries(const HdfsPatience& patience);
    bool MayAgain(const Error& error);  // after a pause

   private:
    const HdfsPatience& patience_;
    const Duration began_;
    size_t used_ = 0;
  };
  template <class Call>
  auto Asked(Tries& tries, Call call) const {
    for (;;) {
      auto answer = call(*calls_);
      if (answer.ok() || !tries.MayAgain(answer.error())) return answer;
    }
  }
  Result<std::string> Prepare(Tries& tries, const std::string& folder, std::string_view bytes) const;
  Status Write(const std::string& temporary, std::string_view bytes, bool in_attribute) const;
  Result<bool> Move(Tries& tries, const std::string& temporary, const std::string& path, hadoop::HdfsRename how) const;

  std::shared_ptr<HdfsCalls> calls_;
  HdfsPatience patience_;
  std::shared_ptr<std::atomic<bool>> attributes_are_off_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace tony
