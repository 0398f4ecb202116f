// `ApplicationViewers` finds out whether a user may view an application. The owner may view it, and so may the users
// and groups in its view ACL, and the administrators of its queue or of the cluster. If yarn.acl.enable is false, every
// user may. Only the ResourceManager knows the groups of users, so it is queried over HTTP in the user's own name. An
// answer is cached for 10 seconds. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/hadoop/log_bytes.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

class ApplicationViewers {
 public:
  using Done = std::function<void(const Result<bool>& may_see)>;

  // `rm_web`: the ResourceManager's web address, such as "http://rm.example.org:8088". `trust` is that of HttpCall.
  // `loop` must outlive this object.
  ApplicationViewers(EventLoop& loop, std::string rm_web, std::string application,
                     std::shared_ptr<const HttpTrust> trust = nullptr);

  // Calls `done` with true if the user may view the application. `user` is a percent-encoded name. If `user` is empty,
  // the request names no user, and the ResourceManager applies its default user. kInvalid: `user` is not
  // percent-encoded. kUnavailable: the ResourceManager gives no usable answer. `done` may be called from inside Ask().
  // It is not called after this object has been destroyed.
  void Ask(const std::string& user, Done done);

 private:
  struct Known {
    bool may_see;
    Instant until;
  };
  using Call = std::unique_ptr<EventLoop::Handle>;

  EventLoop& loop_;
  const std::string url_;
  const std::shared_ptr<const HttpTrust> trust_;
  std::map<std::string, Known> known_;
  HttpClient http_;
  std::list<Call> calls_;
};

// Values that Hadoop's daemons publish only on their web servers. These functions block; any thread.

// Sends a GET request to a daemon's web server. If the server asks for Kerberos, sends it again with the proof of the
// user's identity. Errors are those of HttpClient and of gss_context.h.
Result<HttpResponse> GetFromDaemon(const HttpCall& call);

// Returns the text at a JSON pointer ("/clusterInfo/state") in the document at `url`. nullopt if the document has no
// such text, or does not arrive within `limit`. `trust` is that of HttpCall.
std::optional<std::string> WebText(const std::string& url, const std::string& pointer, Duration limit,
                                   const std::shared_ptr<const HttpTrust>& trust);

// Returns a setting of the ResourceManager itself. The site files of clients may set another value, or none. `web` is
// empty or has the form "http://rm.example.org:8088". nullopt if the ResourceManager does not answer, or the key is not
// set.
std::optional<std::string> RmSetting(const std::string& web, const std::shared_ptr<const HttpTrust>& trust,
                                     const std::string& key, Duration limit);

// Returns the paths of those queues of the CapacityScheduler that create a child queue when a job names the child. The
// result is empty if the ResourceManager does not answer, or has another scheduler.
std::set<std::string> QueuesThatMakeQueues(const std::string& web, const std::shared_ptr<const HttpTrust>& trust,
                                           Duration limit);

std::string HostOfUrl(const std::string& url);  // "http://rm.example.org:8088" -> "rm.example.org"

// Reads container logs that NodeManagers leave in HDFS if yarn.log-aggregation-enable is on. The format is Hadoop's
// TFile (LogAggregationTFileController, the default of a cluster), or the indexed format (indexed_log.h). Each node
// writes one TFile per application. The file has an entry for each container, and the entry contains all logs of that
// container, one after the other.
//
//   file    magic, blocks, BCFile.index and other meta blocks, meta index, its offset (8), version (4), magic (16)
//   block   entries; uncompressed ("none"), or as one zlib stream ("gz")
//   entry   length of the key, key; value in chunks, where every chunk except the last has a negative length
//   value   for each log: name, length as digits, and that many bytes
//
// Numbers have TFile's own variable-length encoding. Names within keys and values are Java's: two bytes of length, then
// the text. In uncompressed blocks, bytes that are not needed are skipped without being read.

struct AggregatedLog {
  int64_t size = 0;  // bytes in the whole log
  std::string tail;  // last bytes of the log
  // False if the container has an entry in the file, and that entry has no log of the requested name.
  bool is_log = false;
};

// Returns at most `most` bytes from the end of the log `stream` of a container. `read` reads the aggregated file, which
// has `length` bytes; its last bytes show its format. kNotFound: the file has no entry for the container. kInvalid: the
// file has another format, is damaged, or has another compression. Errors of `read` are passed on.
Result<AggregatedLog> ReadAggregatedLog(const ReadRange& read, int64_t length, const std::string& container,
                                        const std::string& stream, int64_t most);

}  // namespace tony::hadoop
