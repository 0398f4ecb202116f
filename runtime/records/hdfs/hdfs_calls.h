// HDFS calls that block a thread until the answer arrives. During a call, the thread runs an event loop that no other
// thread uses.
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
#include "runtime/hadoop/hdfs.h"

namespace tony {

// Calls `start(done)`, and returns the answer that is passed to `done`. The wait ends at the latest with the call's own
// limits. Exceptions of the loop are caught, because the loop throws if the process has no descriptors left.
template <class T, class Start>
T AwaitAnswer(EventLoop& loop, const Start& start) {
  return WithoutThrowing([&] { return RunUntilAnswer<T>(loop, start); });
}

// Calls of HDFS that block until the answer; each call is sent once. Interface, implemented by BlockingHdfs, and by
// FakeHdfs in tests. FakeHdfs also loses answers, and executes calls after the caller has stopped waiting.
//
// Thread-safe. Errors are those of hadoop::Hdfs. After kUnavailable the call may have been executed, or may still be
// executed later.

class HdfsCalls {
 public:
  using Xattrs = std::map<std::string, std::string>;
  virtual ~HdfsCalls() = default;

  virtual Status MakeFolders(const std::string& path) = 0;  // mode 0700; existing folders stay
  virtual Result<hadoop::HdfsEntry> GetEntry(const std::string& path) = 0;
  virtual Result<std::vector<hadoop::HdfsEntry>> List(const std::string& path) = 0;
  // Makes a file with mode 0600 in an existing folder. Returns false if the name exists already.
  virtual Result<bool> Create(const std::string& path, std::string_view bytes) = 0;
  // Returns the whole file, as it was at a single moment.
  virtual Result<std::string> Read(const std::string& path) = 0;
  virtual Result<bool> Rename(const std::string& from, const std::string& to, hadoop::HdfsRename how) = 0;
  // Removes a file, or a folder with its content. Returns false if the path did not exist.
  virtual Result<bool> Remove(const std::string& path) = 0;
  // Sets an attribute. Returns false if the attribute exists already.
  virtual Result<bool> SetXattr(const std::string& path, const std::string& name, std::string_view value) = 0;
  virtual Result<Xattrs> GetXattrs(const std::string& path) = 0;
};

// Returns the limits for calls that read or write records. They are short, because a healthy NameNode answers in
// milliseconds, and another process always waits for the answer. `answer` is the size of the largest record.
HttpCallLimits LimitsOfRecords();

// Uses an event loop of its own. All threads share the open connections, so a call waits while another
// thread's call runs. A component whose calls must not wait, such as a journal, has an object of its own.
class BlockingHdfs : public HdfsCalls {
 public:
  explicit BlockingHdfs(hadoop::Hdfs::Options options);

  Status MakeFolders(const std::string& path) override;
  Result<hadoop::HdfsEntry> GetEntry(const std::string& path) override;
  // Checks that this user has the rights `action`, a text like "r-x". kNotPermitted: the user does not have them.
  Status CheckAccess(const std::string& path, const std::string& action);
  Result<std::vector<hadoop::HdfsEntry>> List(const std::string& path) override;
  Result<bool> Create(const std::string& path, std::string_view bytes) override;
  Result<std::string> Read(const std::string& path) override;
  // Reads a part of the file; the arguments are those of Hdfs::Read().
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
  EventLoop loop_;  // mutex_ guards loop_ and hdfs_.
  const std::unique_ptr<hadoop::Hdfs> hdfs_;
};

// HdfsBytes keeps bytes under a name in HDFS: either all of them are there, or the name does not exist.
//
//   up to 12,000 bytes   CREATE .put-<random>, empty -> SETXATTR user.tony.bytes --+-> RENAME to its name
//   more                 CREATE .put-<random>, with them -> check their length ----+
//
// A small record is kept in an attribute of an empty file. The attribute is in the NameNode's own log after 5 ms. HDFS
// takes 20 ms or, every second time, 430 ms to close a file that has bytes, and it closes a half written file as if the
// file were complete (README.md has the figures). A reader knows by the file's length where the bytes are: those of an
// empty file are in the attribute. If a NameNode refuses an attribute, the bytes are put into a file instead. If
// attributes are switched off, they are not tried again.
//
// An unanswered call is repeated. After an unanswered rename, HdfsBytes checks .put-<random>, which no other process
// touches: if it is missing from a folder that exists, the rename was done. A write is reported as done only when no
// part of it can happen later, because a late repetition could overwrite what another process has written since.

// The maximum number of bytes in an attribute. A NameNode accepts 16 KiB, including the attribute's name, and the
// server accepts a URL of 64 KiB, in which the value has twice as many characters.
inline constexpr size_t kMostInAttribute = 12'000;
inline constexpr char kBytesAttribute[] = "user.tony.bytes";

inline bool IsMissing(const Error& error) { return error.code == ErrorCode::kNotFound; }
// Turns the answer for an entry into true (it exists) or false (it is missing); other errors are returned.
inline Result<bool> WasFound(const Result<hadoop::HdfsEntry>& entry) {
  if (entry.ok() || IsMissing(entry.error())) return entry.ok();
  return entry.error();
}

// The pauses before the repetitions of an unanswered call: a call is repeated at most once for each pause. No call is
// repeated when more than `longest` has passed since its first try.
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
  // Writes the bytes under the name `path`. Returns false if the name exists already (only with kIfNew). The bytes are
  // first written into a temporary file in `written_in`; empty: in the folder of `path`. If `may_be_attribute` is false,
  // the bytes are in the file. kNotFound: the folder of `path` is missing, and is not made, or the temporary file was
  // moved away together with its folder.
  Result<bool> Put(const std::string& path, std::string_view bytes, hadoop::HdfsRename how,
                   const std::string& written_in = "", bool may_be_attribute = true) const;
  // Makes an empty folder `path`: first under another name in the folder `place`, then by a rename to `path`. MKDIRS
  // also makes `place` if it is missing.
  Result<bool> PutFolder(const std::string& path, const std::string& place) const;

  // Returns false once the NameNode has reported that attributes are switched off.
  bool MayHaveAttributes() const { return !*attributes_are_off_; }
  // Returns true if this error means that the NameNode refuses the attribute, so the bytes should be put into a file.
  // Also records whether attributes are switched off.
  bool IsRefusedAttribute(const Error& error) const;

  // Returns the answer of `call(HdfsCalls&)`. The call is repeated while the answer is kUnavailable, so HDFS may
  // execute it twice.
  template <class Call>
  auto Ask(Call call) const {
    Tries tries(patience_);
    return Asked(tries, call);
  }

 private:
  class Tries {
   public:
    explicit Tries(const HdfsRetryPolicy& patience);
    // Waits and returns true if the call may be repeated after this error; otherwise returns false.
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
  Result<std::string> Prepare(Tries& tries, const std::string& folder, std::string_view bytes, bool in_attribute) const;
  Status Write(const std::string& temporary, std::string_view bytes, bool in_attribute) const;
  Result<bool> Move(Tries& tries, const std::string& temporary, const std::string& path, hadoop::HdfsRename how) const;

  std::shared_ptr<HdfsCalls> calls_;
  HdfsRetryPolicy patience_;
  std::shared_ptr<std::atomic<bool>> attributes_are_off_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace tony
