// The portal: the jobs of one user or of many in a browser, at one address. Paths below the address, or below BASE in
// it (visitor.h):
//
//   ./                    the list of jobs; ?q=&state=&user=&tag=&name=&sort=&page= (job_list.h)
//   ~USER/JOB/...         the pages of a job (page/job_page.h)
//   jobs/JOB/..., JOB/... lead to ~USER/JOB/...
//   compare?~USER/JOB=1&~USER/JOB=1   two jobs side by side
//   login                 POST token=...
//   page.css page.js
//
// The portal decides who the visitor is (visitor.h). The process of each user answers for this user's jobs, and decides
// which of them the visitor may see (job_reader.h). Loop thread only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/net/http_server.h"
#include "runtime/portal/compare.h"
#include "runtime/portal/job_list.h"
#include "runtime/portal/reader_process.h"
#include "runtime/portal/visitor.h"

namespace tony {

class Portal {
 public:
  struct User {
    std::string name;
    uid_t uid = 0;
    bool operator==(const User&) const = default;
  };
  struct Parts {
    EventLoop& loop;
    Door door;
    // Returns the users whose jobs are shown. Called for each list.
    std::function<std::vector<User>()> users;
    // Starts the process that reads the files of this user.
    std::function<Result<pid_t>(uid_t user, int socket)> start;
    ReaderLimits limits{};
  };
  explicit Portal(Parts parts) : parts_(std::move(parts)) {}

  void Serve(const HttpRequest& request, const HttpReply& reply);

 private:
  void Serve(const Visitor& visitor, const HttpRequest& request, const HttpReply& reply);
  struct Reader {
    uid_t uid = 0;
    std::unique_ptr<ReaderProcess> process;
  };
  void ServeList(const Visitor& visitor, const HttpRequest& request, const HttpReply& reply);
  void ServeJob(const Visitor& visitor, const HttpRequest& request, const HttpReply& reply);
  void FindJob(const Visitor& visitor, const HttpRequest& request, size_t at, const HttpReply& reply);
  void Compare(const Visitor& visitor, const HttpRequest& request, const HttpReply& reply);
  std::vector<std::string> UserNames();
  ReaderProcess* ReaderOf(const std::string& user);

  Parts parts_;
  std::map<std::string, Reader> readers_;
};

}  // namespace tony
