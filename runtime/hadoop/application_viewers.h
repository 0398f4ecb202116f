// Who may see an application, as the ResourceManager has it: its owner, whom its view ACL names, and who administers
// its queue or the cluster; everybody, where yarn.acl.enable is off. It is asked over HTTP, as the user himself would,
// and only so: it alone knows users' groups. An answer holds for some seconds. Loop thread only.
#pragma once

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

}  // namespace tony::hadoop
