// The address of a page, and who may use it.
//
// The first component of every address is a random token; any other address gets "not found". This is the only
// protection. Pages are served on the loopback device. Processes of other users can reach it, and so can scripts of web
// sites that a browser has open. A script cannot guess the token, even if its name was bound to 127.0.0.1 (DNS
// rebinding). Therefore the Host header is not checked, and a proxy in front may pass its own. No page passes the token
// on: no header contains it (Referrer-Policy), and a page loads nothing from elsewhere (Content-Security-Policy).
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

// Returns the token of the job's page. kNotFound: the job has no page.
Result<std::string> ReadPageToken(const JobRecords& records);

// Returns the token, from a private file, of pages that do not belong to a single job. The first caller makes the
// token; all later and simultaneous callers get the same. If the file is removed, the next caller makes a new token. An
// error: there was no token, and none could be made.
Result<std::string> KeepPageToken(const std::filesystem::path& file);

// Opens a new address for the job's page, at any port of `host`, and notes it in the folder. If the page had an address
// before, it gets a new token too: another process may have taken the old port, and a browser that returned there has
// sent it the old token. kNotFound: the job has no page. Call this only if no other process can be serving the page.
Result<PageSocket> ListenForPage(const JobRecords& records, const std::string& host);

// Adopts a socket that another process of the job has opened for its page. The address stays as long as one of the
// processes lives.
Result<PageSocket> AdoptPageSocket(UniqueFd listening);

// In this variable a keeper (the job's supervisor) passes the descriptor of the page's socket to the AM that it starts.
// Empty: the keeper passes no socket.
inline constexpr char kPageSocketVariable[] = "TONY_PAGE_SOCKET";
// Returns the socket that this process inherited, to the first caller only; otherwise a descriptor that is not valid.
UniqueFd InheritedPageSocket();

std::string PageUrl(const Endpoint& at, const std::string& token);  // "http://127.0.0.1:4711/TOKEN/"

bool HasToken(const HttpRequest& request, const std::string& token);

}  // namespace tony
