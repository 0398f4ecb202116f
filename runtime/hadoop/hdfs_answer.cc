#include "runtime/hadoop/hdfs_answer.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

struct Meaning {
  std::string_view exception;
  ErrorCode code;
};
constexpr Meaning kMeanings[] = {
    {"FileNotFoundException", ErrorCode::kNotFound},
    {"AccessControlException", ErrorCode::kNotPermitted},
    {"AuthorizationException", ErrorCode::kNotPermitted},
    {"SecurityException", ErrorCode::kNotPermitted},
    {"InvalidToken", ErrorCode::kNotPermitted},
    {"StandbyException", ErrorCode::kUnavailable},
    {"SafeModeException", ErrorCode::kUnavailable},
    {"RetriableException", ErrorCode::kUnavailable},
    {"ObserverRetryOnActiveException", ErrorCode::kUnavailable},
    {"ConnectException", ErrorCode::kUnavailable},
    {"SocketTimeoutException", ErrorCode::kUnavailable},
    {"InvalidPathException", ErrorCode::kInvalid},
    {"IllegalArgumentException", ErrorCode::kInvalid},
    {"HadoopIllegalArgumentException", ErrorCode::kInvalid},
    {"UnsupportedOperationException", ErrorCode::kInvalid},
};

ErrorCode CodeOfStatus(int status, bool writes) {
  if (status == 401 || status == 403) return ErrorCode::kNotPermitted;
  // A status 404 without a Hadoop exception comes from a server other than HDFS, or from a gateway that does not serve
  // HDFS yet. It does not mean that the path is missing, so the call counts as unavailable.
  if (status == 404 || status >= 500) return ErrorCode::kUnavailable;
  return writes ? ErrorCode::kCannotWrite : ErrorCode::kInvalid;
}

}  // namespace

bool IsStandbyException(std::string_view exception) {
  return exception == "StandbyException" || exception == "RetriableException" ||
         exception == "ObserverRetryOnActiveException";
}

// Hadoop has no exception class for an existing attribute, so the message is compared.
bool HdfsRefusal::IsAlreadyThere() const {
  return exception == "FileAlreadyExistsException" ||
         (exception == "IOException" && message.find("already exists") != std::string::npos);
}

// The exception may be the cause of another one, and then stands in its message.
bool HdfsRefusal::IsOfToken() const {
  return exception == "InvalidToken" || message.find("SecretManager$InvalidToken") != std::string::npos;
}

Error HdfsRefusal::ToError(std::string_view subject, bool writes) const {
  const auto* meaning = std::ranges::find(kMeanings, std::string_view(exception), &Meaning::exception);
  if (exception.empty())
    return {CodeOfStatus(status, writes),
            StrCat(subject, ": HTTP status ", status, message.empty() ? "" : ": ", message)};
  // The NameNode sends these messages if no DataNode has reported yet, or all are dead. The path is not the reason, and
  // the condition may pass.
  const bool no_data_node = message.find("Failed to find datanode") != std::string::npos ||
                            message.find("There are 0 datanode(s) running") != std::string::npos;
  // Other exceptions are IOException and its subclasses. WebHDFS sends status 403 for them, so 403 does not mean a
  // missing permission here.
  const ErrorCode code = meaning != std::end(kMeanings)            ? meaning->code
                         : writes && status < 500 && !no_data_node ? ErrorCode::kCannotWrite
                                                                   : ErrorCode::kUnavailable;
  return {code, StrCat(subject, ": ", exception, ": ", message)};
}

namespace {

class Listing : public EventLoop::Handle {
 public:
  Listing(std::string path, AskListing ask, Hdfs::Done<Result<std::vector<HdfsEntry>>> done)
      : path_(std::move(path)), ask_(std::move(ask)), done_(std::move(done)) {
    AskNext();
  }

 private:
  void AskNext() {
    running_ = ask_(entries_.empty() ? "" : entries_.back().name, [this](const auto& some) { TakeSome(some); });
  }
  void TakeSome(const Result<HdfsListing>& some) {
    // This is a copy, because the call may destroy this object.
    const auto done = done_;
    if (!some.ok()) return done(some.error());
    const std::vector<HdfsEntry>& more = (*some).entries;
    // The listing of a file is one entry without a name.
    if (more.size() == 1 && more[0].name.empty()) return done(Failed("the path is not a folder"));
    if (!entries_.empty() && !more.empty() && more[0].name == entries_[0].name)
      return done(Failed("the server ignores startAfter and returns the first entries again"));
    entries_.insert(entries_.end(), more.begin(), more.end());
    if (entries_.size() > kMostHdfsEntries)
      return done(Failed(StrCat("the folder has more than ", kMostHdfsEntries, " entries")));
    if ((*some).remaining == 0 || more.empty()) return done(std::move(entries_));
    AskNext();
  }
  Error Failed(std::string_view why) const { return InvalidError(path_, ": ", why); }

  const std::string path_;
  const AskListing ask_;
  const Hdfs::Done<Result<std::vector<HdfsEntry>>> done_;
  std::vector<HdfsEntry> entries_;
  Hdfs::Handle running_;
};

}  // namespace

Hdfs::Handle ListAll(const std::string& path, AskListing ask, Hdfs::Done<Result<std::vector<HdfsEntry>>> done) {
  return std::make_unique<Listing>(path, std::move(ask), std::move(done));
}

}  // namespace tony::hadoop
