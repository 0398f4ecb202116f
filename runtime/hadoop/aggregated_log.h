// Who may see an application, as the ResourceManager has it: its owner, whom its view ACL names, and who administers
// its queue or the cluster; everybody, where yarn.acl.enable is off. It is asked over HTTP, as the user himself would,
// and only so: it alone knows users' groups. An answer holds for some seconds. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

class ApplicationViewers {
 public:
  using Done = std::function<void(const Result<bool>& may_see)>;

  // `rm_web`: "http://rm.example.org:8088". The loop outlives this.
  ApplicationViewers(EventLoop& loop, std::string rm_web, std::string application);

  // `user`: a name, percent-encoded; empty: whoever the ResourceManager takes for one without a name. kInvalid: it is
  // no encoded name. kUnavailable: the ResourceManager does not say. Calls `done` once, also from inside, or never.
  void Ask(const std::string& user, Done done);

 private:
  struct Known {
    bool may_see;
    Instant until;
  };
  using Call = std::unique_ptr<EventLoop::Handle>;

  EventLoop& loop_;
  const std::string url_;
  std::map<std::string, Known> known_;
  HttpClient http_;
  std::list<Call> calls_;
};

// A log out of what NodeManagers leave of an application in HDFS when yarn.log-aggregation-enable is on, in Hadoop's
// TFile format (LogAggregationTFileController, which is what a cluster has unless it says otherwise): a file for each
// node, in it an entry for each container, in it all its logs, one after the other.
//
//   file    magic, blocks, BCFile.index and other meta blocks, meta index, its offset (8), version (4), magic (16)
//   block   entries; as they are ("none"), or as one zlib stream ("gz")
//   entry   length of the key, key; value in chunks, of which all but the last have a length below 0
//   value   of each log: name, length as digits, and so many bytes
//
// Numbers are TFile's own variable-length ones. Names within keys and values are Java's: two bytes of length before
// them. What is not looked for is skipped without being read, where it is not compressed.

// Bytes of a file, from `offset` on: as many as are asked for.
using ReadRange = std::function<Result<std::string>(int64_t offset, int64_t length)>;

struct AggregatedLog {
  int64_t size = 0;     // of the log
  std::string tail;     // its last bytes
  bool is_log = false;  // else the container is there, and has no log of that name
};

// At most `most` bytes of the log `stream` of a container, out of a file of `length` bytes. kNotFound: it has nothing
// of the container. kInvalid: it is no such file, or not as it should be, or compressed in another way. Others: as of
// `read`.
Result<AggregatedLog> ReadAggregatedLog(const ReadRange& read, int64_t length, const std::string& container,
                                        const std::string& stream, int64_t most);

}  // namespace tony::hadoop
