// Calls of HDFS for a thread that waits for the answer, on an event loop that belongs to the caller alone meanwhile.
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

// Returns the answer to the call that `start(done)` begins. The call's own limits end the wait. Errors that the loop
// throws are caught, because it throws if the process has no descriptors left.
template <class T, class Start>
T AwaitAnswer(EventLoop& loop, const Start& start) {
  return WithoutThrowing([&] { return RunUntilAnswer<T>(loop, start); });
}

// Calls of HDFS that block until the answer; each call is sent once. Interface, implemented by WebHdfsCalls, and by
// FakeHdfs in tests, which loses answers and executes calls late that the caller no longer waits for.
//
// Thread-safe. Errors are those of hadoop::WebHdfs: after kUnavailable the work may be done already, or may still be
// done later.

class HdfsCalls {
 public:
  using Xattrs = std::map<std::string, std::string>;
  virtual ~HdfsCalls() = default;

  virtual Status MakeFolders(const std::string& path) = 0;  // mode 0700; existing folders stay
  virtual Result<hadoop::HdfsEntry> GetEntry(const std::string& path) = 0;
  virtual Result<std::vector<hadoop::HdfsEntry>> List(const std::string& path) = 0;
  // Makes a file with mode 0600, in a folder that exists. Returns false if the name exists.
  virtual Result<bool> Create(const std::string& path, std::string_view bytes) = 0;
  // Returns the whole file as it was at one moment.
  virtual Result<std::string> Read(const std::string& path) = 0;
  virtual Result<bool> Rename(const std::string& from, const std::string& to, hadoop::HdfsRename how) = 0;
  // Removes a file, or a folder with its content. Returns false if the path did not exist.
  virtual Result<bool> Remove(const std::string& path) = 0;
  // Returns false if the attribute exists.
  virtual Result<bool> SetXattr(const std::string& path, const std::string& name, std::string_view value) = 0;
  virtual Result<Xattrs> GetXattrs(const std::string& path) = 0;
};

// Returns the limits for calls about records. A healthy NameNode answers in milliseconds, and other processes always
// wait. `answer` is the size of the largest record.
HttpCallLimits LimitsOfRecords();

// Uses WebHDFS, on an event loop of its own. Calls of several threads wait for each other, because they share the open
// connections. A component whose calls must not wait, such as a journal, has an object of its own.
class WebHdfsCalls : public HdfsCalls {
 public:
  explicit WebHdfsCalls(hadoop::WebHdfs::Options options);

  Status MakeFolders(const std::string& path) override;
  Result<hadoop::HdfsEntry> GetEntry(const std::string& path) override;
  // `action` is a text like "r-x". kNotPermitted: the user does not have these rights.
  Status CheckAccess(const std::string& path, const std::string& action);
  Result<std::vector<hadoop::HdfsEntry>> List(const std::string& path) override;
  Result<bool> Create(const std::string& path, std::string_view bytes) override;
  Result<std::string> Read(const std::string& path) override;
  // The arguments are those of WebHdfs::Read().
  Result<std::string> ReadPart(const std::string& path, int64_t offset, int64_t length);
  Result<bool> Rename(const std::string& from, const std::string& to, hadoop::HdfsRename how) override;
  Result<bool> Remove(const std::string& path) override;
  Result<bool> SetXattr(const std::string& path, const std::string& name, std::string_view value) override;
  Result<Xattrs> GetXattrs(const std::string& path) override;

 private:
  template <class T, class Start>
  T Ask(Start start);

  const int64_t largest_;
  std::mutex mutex_;
  EventLoop loop_;  // The mutex_ guards loop_ and hdfs_.
  hadoop::WebHdfs hdfs_;
};

// HdfsBytes keeps bytes under a name in HDFS: either all of them are there, or the name does not exist.
//
//   up to 12,000 bytes   CREATE .put-<random>, empty -> SETXATTR user.tony.bytes --+-> RENAME to its name
//   more                 CREATE .put-<random>, with them -> check their length ----+
//
// HDFS takes 20 ms or, every second time, 430 ms to close a file with bytes, and it closes a file that was cut off half
// way as if it were complete. An attribute is in the NameNode's own log after 5 ms (README.md has the figures). If a
// file is empty, its bytes are in the attribute; the file's length therefore says where the bytes are. If a NameNode
// refuses attributes, files are used for all sizes. If it has attributes switched off, they are not tried again.
//
// An unanswered call is repeated. After an unanswered rename, .put-<random> is checked, which no other process touches:
// if it is missing from a folder that exists, it was renamed. A write is reported as done only when no part of it can
// happen later, because a late repetition must not restore what was replaced since.

// A NameNode accepts 16 KiB, the attribute's name included. In the URL the value has twice as many characters, and the
// server accepts a URL of 64 KiB.
inline constexpr size_t kMostInAttribute = 12'000;

inline bool IsMissing(const Error& error) { return error.code == ErrorCode::kNotFound; }
// Returns true if the entry exists, and false if it is missing; other errors are returned.
inline Result<bool> WasFound(const Result<hadoop::HdfsEntry>& entry) {
  if (entry.ok() || IsMissing(entry.error())) return entry.ok();
  return entry.error();
}

// How often an unanswered call is repeated, and after which pauses. After `longest`, no call is repeated.
struct HdfsRetryPolicy {
  std::vector<Duration> pauses = {Duration(100), Duration(400), Duration(1500)};
  Duration longest{20'000};
};

// Thread-safe. Errors are those of HdfsCalls.
class HdfsBytes {
 public:
  HdfsBytes(std::shared_ptr<HdfsCalls> calls, HdfsRetryPolicy patience)
      : calls_(std::move(calls)), patience_(std::move(patience)) {}

  struct Found {
    std::string bytes;
    std::string owner;
  };
  Result<std::optional<Found>> Get(const std::string& path) const;  // nullopt: the path does not exist
  // Returns false if the name exists already (only with kIfNew). kNotFound: the folder is missing, and is not made; the
  // temporary file may have been moved away with its folder. `written_in` is the folder for .put-<random>; empty: the
  // folder of `path`.
  Result<bool> Put(const std::string& path, std::string_view bytes, hadoop::HdfsRename how,
                   const std::string& written_in = "") const;
  // Makes an empty folder in the same way: first under another name in the folder `place`, which MKDIRS makes if it is
  // missing, and then by a rename to `path`.
  Result<bool> PutFolder(const std::string& path, const std::string& place) const;

  // Returns false once the NameNode has reported that attributes are switched off.
  bool MayHaveAttributes() const { return !*attributes_are_off_; }
  // Returns true if a file is to be tried after this error of an attribute. Also notes whether attributes are switched
  // off.
  bool IsRefusedAttribute(const Error& error) const;

  // Returns the answer of `call(HdfsCalls&)`, which is repeated while it is kUnavailable. The call may be executed
  // twice.
  template <class Call>
  auto Ask(Call call) const {
    Tries tries(patience_);
    return Asked(tries, call);
  }

 private:
  class Tries {
   public:
    explicit Tries(const HdfsRetryPolicy& patience);
    // Returns true, after a pause, if the call may be repeated.
    bool MayAgain(const Error& error);

   private:
    const HdfsRetryPolicy& patience_;
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
  HdfsRetryPolicy patience_;
  std::shared_ptr<std::atomic<bool>> attributes_are_off_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace tony
