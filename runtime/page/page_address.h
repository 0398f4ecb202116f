// The address of a page, which only clients with a secret token can use.
//
// The first component of every address is a random token; a request with another first component gets "not found". The
// token is the only protection. Pages are served on the loopback device. Processes of other users can connect to this
// device, and so can scripts of web sites that are open in a browser. A script cannot guess the token, even if the
// script's site has a name that resolves to 127.0.0.1 (DNS rebinding). Therefore the Host header is not checked, and a
// proxy may send a Host header of its own. A page does not disclose the token: browsers do not send it in a Referer
// header (Referrer-Policy), and the page loads nothing from other sites (Content-Security-Policy).
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/net/http_server.h"
#include "runtime/records/job_records.h"

namespace tony {

struct PageSocket {
  UniqueFd listening;
  Endpoint at;
};

// Returns the token of the job's page; kNotFound if the job has no page.
Result<std::string> ReadPageToken(const JobRecords& records);

// Returns the token for pages that do not belong to a single job. `file` is a private file that contains the token. The
// first caller makes the token; all later and simultaneous callers get the same token. If the file is removed, the next
// caller makes a new token. Returns an error if there was no token and no token could be made.
Result<std::string> KeepPageToken(const std::filesystem::path& file);

// Opens a new address for the job's page, at any free port of `host`, and notes the port in the job's folder. If the
// page had an address before, the page also gets a new token. Another process may have taken the old port, and a
// browser that returned there has sent the old token to that process. kNotFound: the job has no page. Call this only if
// no other process can be serving the page.
Result<PageSocket> ListenForPage(const JobRecords& records, const std::string& host);

// Takes over a socket that another process of the job has opened for the job's page. The address stays valid as long as
// a process that holds the socket lives.
Result<PageSocket> AdoptPageSocket(UniqueFd listening);

// The environment variable in which a keeper (the job's supervisor) passes the descriptor of the page's socket to the
// AM that it starts. If the variable is empty, no socket is passed.
inline constexpr char kPageSocketVariable[] = "TONY_PAGE_SOCKET";
// Returns the page's socket that this process inherited. Returns an invalid descriptor if the process inherited no
// socket, and at every later call.
UniqueFd InheritedPageSocket();

std::string PageUrl(const Endpoint& at, const std::string& token);  // e.g. "http://127.0.0.1:4711/TOKEN/"

bool HasToken(const HttpRequest& request, const std::string& token);

}  // namespace tony
